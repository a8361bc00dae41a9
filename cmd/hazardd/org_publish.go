package main

import (
	"context"
	"fmt"
	"io"
	"os"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/hazardd/hazardd/internal/auth"
	"github.com/hazardd/hazardd/internal/format/publisher"
	"github.com/hazardd/hazardd/internal/store"
)

type orgPublishCmd struct {
	Org       string   `arg:"" help:"Acronym or id of the organization."`
	From      string   `placeholder:"FILE" help:"Read the whole profile, as JSON, from a file; - is standard input. Other flags override it."`
	Sender    string   `placeholder:"ADDRESS" help:"Sender in CAP messages. It identifies the authority: never change it."`
	Name      string   `placeholder:"NAME" help:"Name of the authority for the public. Default: the name of the organization."`
	OID       string   `name:"oid" placeholder:"OID" help:"Object identifier of the authority; messages are named below it."`
	Contact   string   `name:"authority-contact" placeholder:"TEXT" help:"How to reach the authority; shown in its messages."`
	Web       string   `placeholder:"URL" help:"Page of the authority."`
	Languages []string `name:"language" placeholder:"TAG" help:"Language of the messages; repeat it for others. The first is that of hazard names and descriptions."`
	Profile   string   `placeholder:"PROFILE" help:"Rules beyond CAP 1.2: plain, google, ipaws, cap-cp or cap-au."`
	Test      *bool    `negatable:"" help:"Give every message the status Test."`
	Pause     *bool    `negatable:"" help:"Stop publishing changes; --no-pause resumes."`
}

// Run sets how the organization publishes.
func (o *orgPublishCmd) Run(ctx context.Context, c *console, g *globals) error {
	return g.withStore(ctx, func(s *store.Store) error {
		org, p, err := orgProfile(ctx, c, s, o.Org)
		if err != nil {
			return err
		}
		text := []byte("{}")
		if p != nil {
			if text, err = json.Marshal(p); err != nil {
				return err
			}
		}
		if o.From != "" {
			if text, err = readWhole(c, o.From); err != nil {
				return err
			}
		}
		if text, err = o.over(text); err != nil {
			return err
		}
		p, err = publisher.Parse(org.ID, org.Name, text)
		if err != nil {
			return err
		}
		by := consoleActor()
		err = s.Publishing.Set(ctx, p, auth.Audit{At: c.instant(), Actor: by.Name, Client: by.Client, Action: auth.ActionPublish, Subject: org.Acronym, Detail: p.Summary(), OK: true})
		if err != nil {
			return err
		}
		return c.print(p, func(w io.Writer) error {
			_, err := fmt.Fprintf(w, "%s: %s\n", oneLine(org.Acronym), oneLine(p.Summary()))
			return err
		})
	})
}

// over merges the flags into a profile.
func (o *orgPublishCmd) over(text []byte) ([]byte, error) {
	var members map[string]jsontext.Value
	if err := json.Unmarshal(text, &members); err != nil {
		return nil, fmt.Errorf("the profile is not a JSON object: %w", err)
	}
	set := func(name string, given bool, value any) error {
		if !given {
			return nil
		}
		v, err := json.Marshal(value)
		members[name] = v
		return err
	}
	for _, err := range []error{
		set("sender", o.Sender != "", o.Sender), set("name", o.Name != "", o.Name), set("oid", o.OID != "", o.OID), set("contact", o.Contact != "", o.Contact),
		set("web", o.Web != "", o.Web), set("languages", len(o.Languages) > 0, o.Languages), set("profile", o.Profile != "", o.Profile),
		set("test", o.Test != nil, o.Test), set("paused", o.Pause != nil, o.Pause),
	} {
		if err != nil {
			return nil, err
		}
	}
	return json.Marshal(members)
}

// readWhole reads a file, or standard input.
func readWhole(c *console, name string) ([]byte, error) {
	if name == "-" {
		return io.ReadAll(io.LimitReader(c.in, publisher.MaxProfile))
	}
	return os.ReadFile(name)
}

type orgProfileCmd struct {
	Org string `arg:"" help:"Acronym or id of the organization."`
}

// Run shows how the organization publishes.
func (o *orgProfileCmd) Run(ctx context.Context, c *console, g *globals) error {
	return g.withOldStore(ctx, func(s *store.Store) error {
		org, p, err := orgProfile(ctx, c, s, o.Org)
		if err != nil {
			return err
		}
		if p == nil {
			return fmt.Errorf("%s does not publish: hazardd org publish %s --sender ADDRESS", oneLine(org.Acronym), oneLine(org.Acronym))
		}
		return c.print(p, func(w io.Writer) error {
			text, err := json.Marshal(p, jsontext.WithIndent("  "))
			if err == nil {
				_, err = fmt.Fprintf(w, "%s\n", text)
			}
			return err
		})
	})
}

// orgProfile returns an organization and its publishing profile, nil if it does not publish.
func orgProfile(ctx context.Context, c *console, s *store.Store, name string) (auth.Org, *publisher.Profile, error) {
	org, err := orgNamed(ctx, c, s, name)
	if err != nil {
		return org, nil, err
	}
	settings, err := s.Publishing.Settings(ctx)
	return org, settings.Now(org.ID), err
}
