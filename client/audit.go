package client

import (
	"context"
	"iter"
	"net/url"
	"time"
)

// AuditRow is a row of the audit trail: an action of a user, or a refused attempt.
type AuditRow struct {
	ID      int64     `json:"id"`
	Time    time.Time `json:"time"`
	User    string    `json:"user"`
	Address string    `json:"address"`
	Client  string    `json:"client"`
	Action  string    `json:"action"`
	Subject string    `json:"subject"`
	Detail  string    `json:"detail"`
	OK      bool      `json:"ok"`      // false if the attempt was refused
	Request string    `json:"request"` // ID of the request, as in log lines and errors; empty if there was none
}

// AuditFilter selects rows of the audit trail. The zero AuditFilter selects all.
type AuditFilter struct {
	User         string // rows in which this user acted or was changed
	Action       string
	Request      string // ID of a request, or the trace ID: its first 32 digits
	Since, Until time.Time
}

// Audit yields the rows of the audit trail, newest first (role admin). It stops at the first error.
func (a Admin) Audit(ctx context.Context, f AuditFilter) iter.Seq2[AuditRow, error] {
	v := url.Values{}
	for name, value := range map[string]string{"user": f.User, "action": f.Action, "request": f.Request} {
		if value != "" {
			v.Set(name, value)
		}
	}
	for name, t := range map[string]time.Time{"since": f.Since, "until": f.Until} {
		if !t.IsZero() {
			v.Set(name, moment(t))
		}
	}
	return pages[AuditRow](ctx, a.c, v, "next", "/audit")
}
