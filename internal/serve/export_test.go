package serve

import (
	"net/http"
	"net/netip"
)

// Unexported values that tests use.
var (
	CleanFileName = cleanFileName
	Disposition   = disposition
	MediaType     = mediaType
)

// MaxFileName is the maximum length of a file name in bytes.
const MaxFileName = maxFileName

// ClientAddr returns the client's address of a request if those proxies are trusted.
func ClientAddr(trusted []netip.Prefix, r *http.Request) netip.Addr {
	return (&API{Config: Config{TrustedProxies: trusted}}).clientAddr(r)
}

// LocalPath returns the path to which a visitor with that next is redirected.
func LocalPath(next string) string { return localPath(next) }

// Patterns returns the patterns of all routes.
func Patterns() []string {
	a := &API{mux: http.NewServeMux(), probe: http.NewServeMux()}
	a.routes()
	return a.patterns
}

// RefusedEvery is how often a limit is logged.
const RefusedEvery = refusedEvery
