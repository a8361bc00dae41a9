package poll

import (
	"errors"
	"fmt"
	"syscall"

	"code.dny.dev/ssrf"
)

// public allows connections to public addresses only, on any port, because the operator chooses the
// sources' ports.
var public = ssrf.New(ssrf.WithAnyPort())

// guard checks each address at connection time. So neither a name that resolves differently the
// second time nor an unusual spelling of an address can reach the internal network.
func guard(network, address string, c syscall.RawConn) error {
	err := public.Safe(network, address, c)
	if errors.Is(err, ssrf.ErrProhibitedIP) {
		return fmt.Errorf("%w; the setting private-sources allows sources at private and loopback addresses", err)
	}
	return err
}
