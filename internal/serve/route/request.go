package route

import (
	"net/http"

	"github.com/hazardd/hazardd/internal/net/trace"
)

// RequestHeader is the header with the request id, which log lines also contain.
const RequestHeader = "Hazardd-Request"

// Identified gives each request an id before next handles it.
func Identified(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ctx, id := trace.Begin(r.Context(), r.Header)
		w.Header()[RequestHeader] = id
		next.ServeHTTP(w, r.WithContext(ctx))
	})
}
