package listen

import (
	"net"
	"time"
)

// How dead peers are noticed. A stream is written to every 15 seconds, so that a peer whose packets
// are lost is gone after 15 + deadPeer seconds at most; a connection that nothing is written to,
// after the keep-alives.
const (
	// deadPeer is how long sent bytes may remain unacknowledged. On Linux the same bounds how long a
	// peer may take nothing while there is something to send.
	deadPeer  = 25 * time.Second
	aliveIdle = 15 * time.Second
	aliveGap  = 5 * time.Second
	aliveMiss = 5
)

// Options are those of a listener whose connections end within 45 seconds when their peers vanish.
func Options() *net.ListenConfig {
	return &net.ListenConfig{
		Control:         giveUpDeadPeers,
		KeepAliveConfig: net.KeepAliveConfig{Enable: true, Idle: aliveIdle, Interval: aliveGap, Count: aliveMiss},
	}
}
