package admin

import (
	"net/http"

	"github.com/go-json-experiment/json"

	"github.com/hazardd/hazardd/internal/serve/route"
)

// healthz reports that the process answers.
func (a *Operations) healthz(w http.ResponseWriter, _ *http.Request) error {
	h := w.Header()
	h["Content-Type"], h["Cache-Control"] = route.JSONType, route.NoStore
	_, _ = w.Write([]byte(`{"status":"ok"}`)) // fails only if the client has gone
	return nil
}

// Readiness is what GET /readyz says besides the age of the lists.
type Readiness struct {
	Reason  error // why the service is not ready; nil if it is
	Damaged int   // records that are damaged and left out
	// MissingKeys are the names of keys that the store needs and the server does not have:
	// "addresses", "webpush", "cap". Then it is not ready.
	MissingKeys []string
}

// readyz reports whether a load balancer should send requests here.
func (a *Operations) readyz(w http.ResponseWriter, _ *http.Request) error {
	now := a.Now()
	status, reason, code := "ready", "", http.StatusOK
	is := a.Ready()
	if is.Reason != nil {
		status, reason, code = "not ready", is.Reason.Error(), http.StatusServiceUnavailable
	}
	text, err := json.Marshal(struct {
		Ready   bool     `json:"ready"`
		Status  string   `json:"status"`
		Reason  string   `json:"reason,omitzero"`
		Damaged int      `json:"damaged"` // records that were left out; the rest is served
		Missing []string `json:"missing_keys"`
		Change  int64    `json:"change"`
		AgeMS   int64    `json:"view_age_ms"`
	}{code == http.StatusOK, status, reason, is.Damaged, append([]string{}, is.MissingKeys...), a.Live.View(now).Number(), max(0, int64(now-a.Live.ReadAt()))})
	if err != nil {
		return err
	}
	h := w.Header()
	h["Content-Type"], h["Cache-Control"] = route.JSONType, route.NoStore
	w.WriteHeader(code)
	_, _ = w.Write(text) // fails only if the client has gone
	return nil
}
