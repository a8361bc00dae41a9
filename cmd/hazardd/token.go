package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/hazardd/hazardd/internal/app"
	"github.com/hazardd/hazardd/internal/auth"
	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/store"
)

type tokenCmd struct {
	Name string `arg:"" optional:"" help:"User or program."`
	tokenFlags
	ReadOnly bool   `help:"Create a read-only key for clients that cannot send headers: it is part of the URL. It is valid until it is revoked."`
	Title    string `placeholder:"TEXT" help:"What the key is for; with --read-only or --service."`
	Service  bool   `help:"Create a token for a program, valid until it is revoked. The name is that of the program, not of a user."`
	Scope    string `placeholder:"read|metrics|drafts|write:ORG" help:"What the program may do; with --service. An organization is named by its acronym or id."`
	List     bool   `xor:"keys" help:"List the read-only keys and the tokens of programs; of one user or program if named."`
	Revoke   string `xor:"keys" placeholder:"ID" help:"Revoke a read-only key or the token of a program."`
}

// Validate reports contradicting flags.
func (t *tokenCmd) Validate() error {
	switch {
	case t.Name == "" && !t.List && t.Revoke == "":
		return errors.New("expected the name of a user")
	case (t.ReadOnly || t.Service) && (t.List || t.Revoke != ""), t.Title != "" && !t.ReadOnly && !t.Service, t.ReadOnly && t.Service:
		return errors.New("--title needs --read-only or --service; --read-only, --service, --list and --revoke exclude each other")
	case t.Service != (t.Scope != ""):
		return errors.New("--service and --scope need each other: --scope read, metrics, drafts, or write:ORG")
	case t.ReadOnly && t.Title == "":
		return errors.New("--read-only: --title is missing; say what the key is for")
	}
	return nil
}

// Run prints the token.
func (t *tokenCmd) Run(ctx context.Context, c *console, g *globals) error {
	if t.ReadOnly || t.Service || t.List || t.Revoke != "" {
		return t.keys(ctx, c, g)
	}
	cfg := app.Config{}
	t.tokenFlags.set(&cfg)
	if cfg.AccessLife > auth.LongestAccess {
		c.note("the token is valid for %v, the longest life that every server accepts; renew it, or create a read-only key (--read-only)", auth.LongestAccess)
		cfg.AccessLife = auth.LongestAccess
	}
	return g.withOldStore(ctx, func(s *store.Store) error {
		a, err := loadAuth(ctx, c, s, cfg)
		if err != nil {
			return err
		}
		now := c.instant()
		if err := a.Rotate(ctx, now); err != nil { // before the first start of a server there is no key
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
			Expires      time.Time `json:"expires"` // when the access token expires
		}{pair.Access, pair.Refresh, caller.Expires.Time()}
		return c.print(result, func(w io.Writer) error {
			_, err := fmt.Fprintln(w, pair.Access)
			return err
		})
	})
}

// keyRow is a read-only key. Key is set only for a new one.
type keyRow struct {
	ID      string    `json:"id"`
	User    string    `json:"user"`
	Title   string    `json:"title"`
	Scope   string    `json:"scope,omitzero"` // set for a program; User is then "service:" and its name
	Created time.Time `json:"created"`
	Used    time.Time `json:"last_used,omitzero"` // set for a program, accurate to a minute
	Key     string    `json:"key,omitzero"`
}

// keys creates, lists and revokes read-only keys and tokens of programs.
func (t *tokenCmd) keys(ctx context.Context, c *console, g *globals) error {
	return g.withOldStore(ctx, func(s *store.Store) error {
		a, err := loadAuth(ctx, c, s, app.Config{})
		if err != nil {
			return err
		}
		switch {
		case t.List:
			rows := []keyRow{}
			table := newTable("ID", "USER", "SCOPE", "TITLE", "CREATED", "LAST USED")
			for _, k := range append(a.ReadKeys(t.Name), a.ServiceTokens(t.Name)...) {
				row := keyRow{ID: k.ID.String(), User: k.User, Title: k.Title, Scope: string(k.Scope), Created: k.Created.Time()}
				used := "–"
				if k.Used != 0 {
					row.Used = k.Used.Time()
					used = ago(row.Used, c.now())
				}
				rows = append(rows, row)
				table.add(row.ID, k.User, cmp.Or(shownScope(a, k.Scope), "key"), oneLine(k.Title), ago(row.Created, c.now()), used)
			}
			return c.print(rows, func(w io.Writer) error { return table.write(w, c.colour) })
		case t.Revoke != "":
			id, err := uuid.Parse(t.Revoke)
			if err != nil {
				return fmt.Errorf("%q is not the id of a key; hazardd token --list shows them", t.Revoke)
			}
			theirs := append(a.ReadKeys(t.Name), a.ServiceTokens(t.Name)...)
			if !slices.ContainsFunc(theirs, func(k auth.ReadKey) bool { return k.ID == id }) {
				return fmt.Errorf("%w: key %s", hazard.ErrNotFound, id)
			}
			if err := a.RevokeReadKey(ctx, consoleActor(), "", id, c.instant()); err != nil {
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
		if t.Service {
			scope, err := scopeOf(a, t.Scope)
			if err != nil {
				return err
			}
			k, text, err := a.CreateServiceToken(ctx, consoleActor(), t.Name, t.Title, scope, c.instant())
			if err != nil {
				return err
			}
			row := keyRow{ID: k.ID.String(), User: k.User, Title: k.Title, Scope: string(k.Scope), Created: k.Created.Time(), Key: string(text)}
			return c.print(row, func(w io.Writer) error {
				_, err := fmt.Fprintln(w, row.Key)
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

// shownScope formats a scope with the acronym of its organization, as --scope takes it.
func shownScope(a *auth.Service, scope auth.Scope) string {
	org, _ := strings.CutPrefix(string(scope), string(auth.ScopeWrite))
	for _, o := range a.Accounts().Orgs() {
		if strconv.FormatInt(o.ID, 10) == org {
			return string(auth.ScopeWrite) + o.Acronym
		}
	}
	return string(scope)
}

// scopeOf parses a scope; its organization may be an acronym.
func scopeOf(a *auth.Service, text string) (auth.Scope, error) {
	org, writes := strings.CutPrefix(text, string(auth.ScopeWrite))
	if !writes {
		return auth.Scope(text), nil // package auth rejects unknown scopes
	}
	for _, o := range a.Accounts().Orgs() {
		if strings.EqualFold(o.Acronym, org) || strconv.FormatInt(o.ID, 10) == org {
			return auth.ScopeWrite + auth.Scope(strconv.FormatInt(o.ID, 10)), nil
		}
	}
	return "", fmt.Errorf("--scope: there is no organization %q; hazardd org list shows them", org)
}
