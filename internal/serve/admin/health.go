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

// readyz reports whether a load balancer should send requests here.
func (a *Operations) readyz(w http.ResponseWriter, _ *http.Request) error {
	now := a.Now()
	status, reason, code := "ready", "", http.StatusOK
	if err := a.Ready(); err != nil {
		status, reason, code = "not ready", err.Error(), http.StatusServiceUnavailable
	}
	text, err := json.Marshal(struct {
		Status string `json:"status"`
		Reason string `json:"reason,omitzero"`
		Change int64  `json:"change"`
		AgeMS  int64  `json:"view_age_ms"`
	}{status, reason, a.Live.View(now).Number(), max(0, int64(now-a.Live.ReadAt()))})
	if err != nil {
		return err
	}
	h := w.Header()
	h["Content-Type"], h["Cache-Control"] = route.JSONType, route.NoStore
	w.WriteHeader(code)
	_, _ = w.Write(text) // fails only if the client has gone
	return nil
}
