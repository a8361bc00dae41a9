package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/google/uuid"

	"github.com/hazardd/hazardd/internal/auth"
	"github.com/hazardd/hazardd/internal/service"
	"github.com/hazardd/hazardd/internal/store"
)

type tokenCmd struct {
	Name string `arg:"" optional:"" help:"User."`
	tokenFlags
	ReadOnly bool   `help:"Make a key that only reads, for clients that can send no header: it stands in the address, until it is revoked."`
	Title    string `placeholder:"TEXT" help:"What the key is for; with --read-only."`
	List     bool   `xor:"keys" help:"List the read-only keys, of the user if one is named."`
	Revoke   string `xor:"keys" placeholder:"ID" help:"Revoke a read-only key."`
}

// Validate refuses what cannot be meant together.
func (t *tokenCmd) Validate() error {
	switch {
	case t.Name == "" && !t.List && t.Revoke == "":
		return errors.New("expected the name of a user")
	case t.ReadOnly && (t.List || t.Revoke != ""), t.Title != "" && !t.ReadOnly:
		return errors.New("--title goes with --read-only, and --read-only with neither --list nor --revoke")
	case t.ReadOnly && t.Title == "":
		return errors.New("--read-only: --title is missing: what the key is for")
	}
	return nil
}

// Run prints the token.
func (t *tokenCmd) Run(ctx context.Context, c *console, g *globals) error {
	if t.ReadOnly || t.List || t.Revoke != "" {
		return t.keys(ctx, c, g)
	}
	cfg := service.Config{}
	t.tokenFlags.set(&cfg)
	if cfg.AccessLife > auth.LongestAccess {
		c.note("the token lives %v, the longest that every server accepts; renew it, or make a key that only reads (--read-only)", auth.LongestAccess)
		cfg.AccessLife = auth.LongestAccess
	}
	return g.withOldStore(ctx, func(s *store.Store) error {
		a, err := loadAuth(ctx, c, s, cfg)
		if err != nil {
			return err
		}
		now := c.instant()
		if err := a.Rotate(ctx, now); err != nil { // there is no key before the first start of a server
			return err
		}
		pair, err := a.Issue(ctx, consoleActor(), t.Name, now)
		if err != nil {
			return knownUsers(err)
		}
		caller, err := a.Verify(pair.Access, now)
		if err != nil {
			return err
		}
		result := struct {
			AccessToken  string    `json:"accessToken"`
			RefreshToken string    `json:"refreshToken"`
			Expires      time.Time `json:"expires"` // the access token
		}{pair.Access, pair.Refresh, caller.Expires.Time()}
		return c.print(result, func(w io.Writer) error {
			_, err := fmt.Fprintln(w, pair.Access)
			return err
		})
	})
}

// keyRow is a read-only key. Key is there only when it was just made.
type keyRow struct {
	ID      string    `json:"id"`
	User    string    `json:"user"`
	Title   string    `json:"title"`
	Created time.Time `json:"created"`
	Key     string    `json:"key,omitzero"`
}

// keys deals with read-only keys.
func (t *tokenCmd) keys(ctx context.Context, c *console, g *globals) error {
	return g.withOldStore(ctx, func(s *store.Store) error {
		a, err := loadAuth(ctx, c, s, service.Config{})
		if err != nil {
			return err
		}
		switch {
		case t.List:
			rows := []keyRow{}
			table := newTable("ID", "USER", "TITLE", "CREATED")
			for _, k := range a.ReadKeys(t.Name) {
				rows = append(rows, keyRow{ID: k.ID.String(), User: k.User, Title: k.Title, Created: k.Created.Time()})
				table.add(k.ID.String(), k.User, oneLine(k.Title), ago(k.Created.Time(), c.now()))
			}
			return c.print(rows, func(w io.Writer) error { return table.write(w, c.colour) })
		case t.Revoke != "":
			id, err := uuid.Parse(t.Revoke)
			if err != nil {
				return fmt.Errorf("%q is not the id of a key; hazardd token --list shows them", t.Revoke)
			}
			if err := a.RevokeReadKey(ctx, consoleActor(), t.Name, id, c.instant()); err != nil {
				return err
			}
			result := struct {
				Revoked string `json:"revoked"`
			}{id.String()}
			return c.print(result, func(w io.Writer) error {
				_, err := fmt.Fprintln(w, "revoked")
				return err
			})
		}
		k, text, err := a.CreateReadKey(ctx, consoleActor(), t.Name, t.Title, c.instant())
		if err != nil {
			return knownUsers(err)
		}
		row := keyRow{ID: k.ID.String(), User: k.User, Title: k.Title, Created: k.Created.Time(), Key: string(text)}
		return c.print(row, func(w io.Writer) error {
			_, err := fmt.Fprintln(w, row.Key)
			return err
		})
	})
}
