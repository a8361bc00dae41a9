package httpapi

import (
	"net/http"

	"github.com/hazardd/hazardd/internal/trace"
)

// requestHeader names the request in its answer, as log lines do.
const requestHeader = "Hazardd-Request"

// identified gives each request an id before next serves it.
func identified(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ctx, id := trace.Begin(r.Context(), r.Header)
		w.Header()[requestHeader] = id
		next.ServeHTTP(w, r.WithContext(ctx))
	})
}
