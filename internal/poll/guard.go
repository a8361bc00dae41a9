package poll

import (
	"syscall"

	"code.dny.dev/ssrf"
)

// public lets connections through to public addresses alone, on any port: which ports a source uses is the operator's business.
var public = ssrf.New(ssrf.WithAnyPort())

// guard is asked before each connection about the very address that is connected to, so no name that resolves differently the
// second time, and no spelling of an address, leads inside.
func guard(network, address string, c syscall.RawConn) error { return public.Safe(network, address, c) }
