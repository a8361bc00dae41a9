package poll

import (
	"syscall"

	"code.dny.dev/ssrf"
)

// public allows connections to public addresses only, on any port, because the operator chooses the
// sources' ports.
var public = ssrf.New(ssrf.WithAnyPort())

// guard checks each address at connection time. So neither a name that resolves differently the
// second time nor an unusual spelling of an address can reach the internal network.
func guard(network, address string, c syscall.RawConn) error { return public.Safe(network, address, c) }
