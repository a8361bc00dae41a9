package main

import (
	"context"
	"fmt"
	"io"

	"github.com/hazardd/hazardd/client"
)

type draftCmd struct {
	List    draftListCmd    `cmd:"" help:"List the drafts that you may decide about or wrote, latest first."`
	Show    draftShowCmd    `cmd:"" help:"Show a draft: its text, whom it reaches, and the request."`
	Approve draftApproveCmd `cmd:"" help:"Publish another editor's draft, in your name."`
	Refuse  draftRefuseCmd  `cmd:"" help:"Refuse to publish a draft, and say why."`
}

// draftFlags are the flags of all draft commands.
type draftFlags struct{ serverFlags }

// Validate reports contradicting flags before any password prompt.
func (f *draftFlags) Validate() error { return f.needed() }

// with logs in at the server and calls do.
func (f *draftFlags) with(ctx context.Context, c *console, do func(*client.Client) error) error {
	server, err := f.client(ctx, c, "hazardd-draft")
	if err != nil {
		return err
	}
	return f.explain(do(server))
}

type draftListCmd struct {
	All   bool `help:"Also list drafts of the last 30 days that were decided or have expired, latest first."`
	Limit int  `default:"100" placeholder:"N" help:"How many at most."`
	draftFlags
}

// Run lists drafts.
func (l *draftListCmd) Run(ctx context.Context, c *console) error {
	return l.with(ctx, c, func(server *client.Client) error {
		list, err := server.Editor().Drafts(ctx, l.All, l.Limit)
		if err != nil {
			return err
		}
		return c.print(list, func(out io.Writer) error {
			t := newTable("ID", "STATE", "AUTHOR", "CREATED", "WHAT", "SEVERITY", "PEOPLE", "SUBSCRIBERS", "NAME")
			t.colours[1] = map[string]string{"waiting": yellow, "approved": green, "refused": red}
			for _, d := range list {
				t.add(d.ID, d.State, d.Author, d.Created, d.Deed, severityPrinted(&d), peoplePrinted(d.Reach.People), fmt.Sprint(d.Reach.Subscribers), cut(oneLine(d.HazardName), 40))
			}
			return t.write(out, c.colour)
		})
	})
}

// severityPrinted shows the new severity of a hazard, after its present one if they differ.
func severityPrinted(d *client.Draft) string {
	if d.SeverityBefore == "" || d.SeverityBefore == d.SeverityID {
		return d.SeverityID
	}
	return d.SeverityBefore + " > " + d.SeverityID
}

func peoplePrinted(n *int64) string {
	if n == nil {
		return "unknown"
	}
	return fmt.Sprint(*n)
}

type draftShowCmd struct {
	ID string `arg:"" placeholder:"DRAFT" help:"ID of the draft."`
	draftFlags
}

// Run shows a draft.
func (s *draftShowCmd) Run(ctx context.Context, c *console) error {
	return s.with(ctx, c, func(server *client.Client) error {
		d, err := server.Editor().Draft(ctx, s.ID)
		if err != nil {
			return err
		}
		return c.print(d, func(out io.Writer) error {
			kind := d.Deed
			if d.New {
				kind += " (new)"
			}
			_, err := fmt.Fprintf(out, "%s, by %s, %s\n%s: %s %s %s, %s\nreaches %s people and %d subscribers\ncan be decided until %s\n%s\n", d.State, d.Author, d.Created, kind, severityPrinted(&d), d.TypeID,
				oneLine(d.HazardName), d.CategoryID, peoplePrinted(d.Reach.People), d.Reach.Subscribers, d.Expires, oneLine(string(d.Request)))
			if err == nil && d.DecidedBy != "" {
				_, err = fmt.Fprintf(out, "%s by %s, %s %s\n", d.State, d.DecidedBy, d.Decided, oneLine(d.Reason))
			}
			return err
		})
	})
}

type draftApproveCmd struct {
	ID string `arg:"" placeholder:"DRAFT" help:"ID of the draft."`
	draftFlags
}

// Run approves a draft.
func (a *draftApproveCmd) Run(ctx context.Context, c *console) error {
	return a.with(ctx, c, func(server *client.Client) error {
		h, err := server.Editor().ApproveDraft(ctx, a.ID)
		if err != nil {
			return err
		}
		return c.print(h, func(out io.Writer) error {
			_, err := fmt.Fprintf(out, "published: hazard %d, %s %s %s\n", h.HazardID, h.SeverityID, h.TypeID, oneLine(h.HazardName))
			return err
		})
	})
}

type draftRefuseCmd struct {
	ID     string `arg:"" placeholder:"DRAFT" help:"ID of the draft."`
	Reason string `arg:"" placeholder:"REASON" help:"Reason for the author."`
	draftFlags
}

// Run refuses a draft.
func (r *draftRefuseCmd) Run(ctx context.Context, c *console) error {
	return r.with(ctx, c, func(server *client.Client) error {
		d, err := server.Editor().RefuseDraft(ctx, r.ID, r.Reason)
		if err != nil {
			return err
		}
		return c.print(d, func(out io.Writer) error {
			_, err := fmt.Fprintf(out, "refused: %s of %s is not published\n", oneLine(d.HazardName), d.Author)
			return err
		})
	})
}
