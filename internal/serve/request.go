package serve

import (
	"net/http"

	"github.com/hazardd/hazardd/internal/net/trace"
)

// requestHeader is the header with the request id, which log lines also contain.
const requestHeader = "Hazardd-Request"

// identified gives each request an id before next handles it.
func identified(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ctx, id := trace.Begin(r.Context(), r.Header)
		w.Header()[requestHeader] = id
		next.ServeHTTP(w, r.WithContext(ctx))
	})
}
