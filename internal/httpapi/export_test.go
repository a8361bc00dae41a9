package httpapi

import (
	"net/http"
	"net/netip"
)

// What tests look at by itself.
var (
	CleanFileName = cleanFileName
	Disposition   = disposition
	MediaType     = mediaType
)

// MaxFileName bounds a file's name, in bytes.
const MaxFileName = maxFileName

// ClientAddr returns where a request comes from when those proxies are trusted.
func ClientAddr(trusted []netip.Prefix, r *http.Request) netip.Addr {
	return (&API{Config: Config{TrustedProxies: trusted}}).clientAddr(r)
}

// LocalPath returns where a visitor is led who asks for next.
func LocalPath(next string) string { return localPath(next) }

// Patterns returns the patterns of all routes.
func Patterns() []string {
	a := &API{mux: http.NewServeMux(), probe: http.NewServeMux()}
	a.routes()
	return a.patterns
}

// RefusedEvery is how often a limit is logged.
const RefusedEvery = refusedEvery
