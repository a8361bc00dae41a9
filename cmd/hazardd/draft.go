package main

import (
	"context"
	"fmt"
	"io"

	"github.com/hazardd/hazardd/client"
)

type draftCmd struct {
	List    draftListCmd    `cmd:"" help:"List the drafts that you may decide about and that wait, the oldest first."`
	Show    draftShowCmd    `cmd:"" help:"Show a draft: what it says, whom it reaches, and the request."`
	Approve draftApproveCmd `cmd:"" help:"Publish what another editor has drafted, in your name."`
	Refuse  draftRefuseCmd  `cmd:"" help:"Decide that a draft is not published, and say why."`
}

// draftFlags are those of every draft command.
type draftFlags struct{ serverFlags }

// Validate refuses what does not go together, before anything is asked for.
func (f *draftFlags) Validate() error { return f.needed() }

// with lets do talk to the server.
func (f *draftFlags) with(ctx context.Context, c *console, do func(*client.Client) error) error {
	server, err := f.client(ctx, c, "hazardd-draft")
	if err != nil {
		return err
	}
	return f.explain(do(server))
}

type draftListCmd struct {
	All   bool `help:"Also those of the last 30 days that were decided or have lapsed, the latest first."`
	Limit int  `default:"100" placeholder:"N" help:"How many at most."`
	draftFlags
}

// Run lists drafts.
func (l *draftListCmd) Run(ctx context.Context, c *console) error {
	return l.with(ctx, c, func(server *client.Client) error {
		list, err := server.Drafts(ctx, l.All, l.Limit)
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

// severityPrinted is the severity that a hazard would have, and before it that which it has, if that is another.
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
		d, err := server.Draft(ctx, s.ID)
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
		h, err := server.ApproveDraft(ctx, a.ID)
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
	Reason string `arg:"" placeholder:"REASON" help:"Why it is not published, for its author."`
	draftFlags
}

// Run refuses a draft.
func (r *draftRefuseCmd) Run(ctx context.Context, c *console) error {
	return r.with(ctx, c, func(server *client.Client) error {
		d, err := server.RefuseDraft(ctx, r.ID, r.Reason)
		if err != nil {
			return err
		}
		return c.print(d, func(out io.Writer) error {
			_, err := fmt.Fprintf(out, "refused: %s of %s is not published\n", oneLine(d.HazardName), d.Author)
			return err
		})
	})
}
