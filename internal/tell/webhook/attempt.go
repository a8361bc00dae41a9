package webhook

import (
	"context"
	"net/http"
	"time"

	"github.com/hazardd/hazardd/internal/net/outbound"
)

// outcome is the result of an attempt.
type outcome struct {
	status int           // HTTP status; 0 without an answer
	fault  string        // kind of the error; empty if it was delivered
	retry  time.Duration // how long the receiver wants to be left alone
	took   time.Duration
	gone   bool // the receiver wants nothing more
}

// post sends a message once. Only the receiver's status is stored: the rest of the answer could
// show internal data to the owner of the webhook.
func (s *Service) post(ctx context.Context, address string, header http.Header, body string) outcome {
	began := time.Now()
	ctx, cancel := context.WithTimeout(ctx, outbound.AttemptTimeout)
	defer cancel()
	status, retry, err := s.targets.Post(ctx, s.clients, address, header, body)
	out := outcome{status: status, took: time.Since(began), gone: status == http.StatusGone}
	switch {
	case err != nil:
		out.fault = outbound.FaultOf(err)
	case status == http.StatusGone:
		out.fault = "gone"
	case status >= 300 && status < 400:
		out.fault = "redirect"
	case status < 200 || status > 299:
		out.fault = "status"
		if status == http.StatusTooManyRequests || status == http.StatusServiceUnavailable {
			out.retry = retry
		}
	}
	return out
}
