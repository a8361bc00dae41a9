package main

import (
	"context"
	"fmt"
	"io"
	"strconv"

	"github.com/hazardd/hazardd/internal/app"
	"github.com/hazardd/hazardd/internal/store"
)

type orgCmd struct {
	Add     orgAddCmd     `cmd:"" help:"Add an organization, and print its id."`
	List    orgListCmd    `cmd:"" help:"List all organizations."`
	Publish orgPublishCmd `cmd:"" help:"Publish an organization's hazards as CAP messages."`
	Profile orgProfileCmd `cmd:"" help:"Show how an organization publishes."`
}

type orgAddCmd struct {
	Acronym string `arg:"" help:"Short name."`
	Name    string `required:"" placeholder:"NAME" help:"Full name."`
}

// Run adds the organization.
func (o *orgAddCmd) Run(ctx context.Context, c *console, g *globals) error {
	return g.withStore(ctx, func(s *store.Store) error {
		a, err := loadAuth(ctx, c, s, app.Config{})
		if err != nil {
			return err
		}
		org, err := a.Accounts().AddOrg(ctx, consoleActor(), o.Acronym, o.Name, c.instant())
		if err != nil {
			return err
		}
		return c.print(orgJSON(org), func(w io.Writer) error {
			_, err := fmt.Fprintln(w, org.ID)
			return err
		})
	})
}

type orgListCmd struct{}

// Run lists the organizations.
func (*orgListCmd) Run(ctx context.Context, c *console, g *globals) error {
	return g.withOldStore(ctx, func(s *store.Store) error {
		a, err := loadAuth(ctx, c, s, app.Config{})
		if err != nil {
			return err
		}
		orgs := []orgJSON{}
		t := newTable("ID", "ACRONYM", "NAME")
		for _, o := range a.Accounts().Orgs() {
			orgs = append(orgs, orgJSON(o))
			t.add(strconv.FormatInt(o.ID, 10), oneLine(o.Acronym), oneLine(o.Name))
		}
		return c.print(orgs, func(w io.Writer) error { return t.write(w, c.colour) })
	})
}

// orgJSON is an organization as JSON.
type orgJSON struct {
	ID      int64  `json:"id"`
	Acronym string `json:"acronym"`
	Name    string `json:"name"`
}
