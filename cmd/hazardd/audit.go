package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/hazardd/hazardd/internal/app"
	"github.com/hazardd/hazardd/internal/auth"
	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/hazard/query"
	"github.com/hazardd/hazardd/internal/net/trace"
	"github.com/hazardd/hazardd/internal/store"
)

type auditCmd struct {
	User    string `placeholder:"NAME" help:"Rows in which this user acted or was changed."`
	Action  string `placeholder:"ACTION" help:"Rows of this action, such as login."`
	Request string `placeholder:"ID" help:"Rows of this request id, from an error or a log line. The first 32 digits alone find all requests of the trace."`
	Since   string `placeholder:"TIME" help:"Rows at or after this time: RFC 3339, or an age such as 24h."`
	Until   string `placeholder:"TIME" help:"Rows before this time."`
	Limit   int    `default:"100" placeholder:"N" help:"Print at most this many rows, the latest ones."`
	Follow  bool   `short:"f" help:"Keep running and print new rows."`
}

// followEvery is how often --follow looks for new rows.
const followEvery = time.Second

// filter converts the flags to a filter.
func (a *auditCmd) filter(now time.Time) (f auth.TrailFilter, err error) {
	f = auth.TrailFilter{User: a.User, Action: a.Action, Request: a.Request, Limit: a.Limit}
	if a.Request != "" && !trace.IsID(a.Request) {
		return f, fmt.Errorf("--request: %q is neither %s", a.Request, trace.IDForm)
	}
	if a.Limit < 1 {
		return f, fmt.Errorf("--limit: %d is not above 0", a.Limit)
	}
	for _, m := range []struct {
		name, text string
		at         *hazard.Instant
	}{{"--since", a.Since, &f.Since}, {"--until", a.Until, &f.Until}} {
		if m.text == "" {
			continue
		}
		if ago, err := time.ParseDuration(m.text); err == nil && ago >= 0 {
			*m.at = hazard.At(now.Add(-ago))
			continue
		}
		at, ok := query.ReadMoment(m.text)
		if !ok {
			return f, fmt.Errorf("%s: %q is neither %s, nor how long ago, such as 24h", m.name, m.text, query.MomentForm)
		}
		*m.at = at
	}
	return f, nil
}

// Run prints the trail, oldest row first. With --follow, new rows are appended as they come.
func (a *auditCmd) Run(ctx context.Context, c *console, g *globals) error {
	f, err := a.filter(c.now())
	if err != nil {
		return err
	}
	return g.withOldStore(ctx, func(s *store.Store) error {
		trail, err := loadAuth(ctx, c, s, app.Config{})
		if err != nil {
			return err
		}
		rows, err := trail.Accounts().Trail(ctx, f)
		if err != nil {
			return err
		}
		slices.Reverse(rows)
		if !a.Follow {
			return printAudit(c, rows)
		}
		f.Limit = 1 << 20
		for {
			for _, r := range rows {
				if err := printAuditLine(c, r); err != nil {
					return err
				}
				f.After = r.ID
			}
			select {
			case <-ctx.Done():
				return nil
			case <-time.After(followEvery):
			}
			if rows, err = trail.Accounts().Trail(ctx, f); err != nil {
				if interrupted(ctx) {
					return nil
				}
				return err
			}
			slices.Reverse(rows)
		}
	})
}

func auditOutcome(ok bool) string {
	if ok {
		return "ok"
	}
	return "refused"
}

func printAudit(c *console, rows []auth.Audit) error {
	list := []auth.AuditRecord{}
	t := newTable("TIME", "USER", "ADDRESS", "ACTION", "SUBJECT", "", "DETAIL", "CLIENT")
	t.colours[5] = map[string]string{"refused": yellow}
	for _, r := range rows {
		row := r.Record()
		list = append(list, row)
		t.add(clock(row.Time), oneLine(row.User), row.Address, oneLine(row.Action), oneLine(row.Subject), auditOutcome(row.OK), cut(row.Detail, 100), cut(row.Client, 40))
	}
	return c.print(list, func(w io.Writer) error { return t.write(w, c.colour) })
}

// printAuditLine prints one row: text, or with --json a line of JSON.
func printAuditLine(c *console, r auth.Audit) error {
	row := r.Record()
	return c.print(row, func(w io.Writer) error {
		_, err := fmt.Fprintf(w, "%s  %s  %s  %s  %s  %s  %s  %s\n", clock(row.Time), oneLine(row.User), row.Address, oneLine(row.Action),
			oneLine(row.Subject), auditOutcome(row.OK), cut(row.Detail, 200), cut(row.Client, 40))
		return err
	})
}
