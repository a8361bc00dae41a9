package source

import (
	"errors"
	"fmt"
	"net/url"
	"time"
)

// Push is a connection over which a source sends payloads as it issues them, besides being polled.
type Push struct {
	// URL is its address. The scheme is the protocol:
	//   - wss, ws: a WebSocket (RFC 6455); each message is a payload.
	//   - tcp: a connection that is only read; payloads are XML documents, one after another, whose root element is Root.
	//   - mqtts, mqtt: a broker of MQTT 5; each message of Topics is a payload.
	URL string
	// Silence is how long nothing may arrive before the connection counts as broken: no message,
	// heartbeat or answer to a ping.
	Silence time.Duration
	// MaxBytes bounds one message.
	MaxBytes int64
	// Root is the root element of the documents of a tcp connection, without its prefix.
	Root string
	// Topics are the subscribed topics of a broker, User and Password its login. They are public.
	Topics         []string
	User, Password string
}

// PushKinds are the schemes of push addresses, with their usual ports; 0 means none.
var PushKinds = map[string]int{"wss": 443, "ws": 80, "tcp": 0, "mqtts": 8883, "mqtt": 1883}

// MaxPushed bounds Push.MaxBytes.
const MaxPushed = 16 << 20

// Address reads the address of the connection. Its errors do not repeat it.
func (p *Push) Address() (*url.URL, error) {
	u, err := url.Parse(p.URL)
	if err != nil {
		return nil, errors.New("not an address")
	}
	port, known := PushKinds[u.Scheme]
	switch {
	case !known || u.Hostname() == "":
		return nil, errors.New("expected an address beginning with wss://, ws://, tcp://, mqtts:// or mqtt://")
	case u.User != nil:
		return nil, errors.New("expected an address without user and password")
	case port == 0 && u.Port() == "":
		return nil, errors.New("expected an address with a port")
	}
	return u, nil
}

// check validates the description of the connection.
func (p *Push) check() error {
	u, err := p.Address()
	switch {
	case err != nil:
		return err
	case p.Silence <= 0:
		return errors.New("silence: missing")
	case p.MaxBytes <= 0 || p.MaxBytes > MaxPushed:
		return fmt.Errorf("limit of a message: %d bytes, expected at most %d", p.MaxBytes, MaxPushed)
	case (u.Scheme == "tcp") != (p.Root != ""):
		return errors.New("a root element is required for tcp, and not allowed otherwise")
	case (u.Scheme == "mqtts" || u.Scheme == "mqtt") != (len(p.Topics) > 0):
		return errors.New("topics are required for a broker, and not allowed otherwise")
	}
	return nil
}
