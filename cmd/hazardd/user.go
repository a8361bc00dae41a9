package main

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/hazardd/hazardd/internal/app"
	"github.com/hazardd/hazardd/internal/auth"
	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/store"
)

type userCmd struct {
	Add     userAddCmd     `cmd:"" help:"Add a user, who can log in at once."`
	List    userListCmd    `cmd:"" help:"List all users."`
	Passwd  userPasswdCmd  `cmd:"" help:"Change a user's password and revoke the user's tokens."`
	Disable userDisableCmd `cmd:"" help:"Disable a user and revoke all tokens; running servers follow within a second."`
	Enable  userEnableCmd  `cmd:"" help:"Let a disabled user log in again."`
	Remove  userRemoveCmd  `cmd:"" help:"Remove a user with all rights, tokens and read keys, permanently; the name cannot be used again."`
	Role    userRoleCmd    `cmd:"" help:"Change what a user may do."`
	Factor  userFactorCmd  `cmd:"" help:"Give a user a second factor (TOTP) with recovery codes, or take it away."`
	Display userDisplayCmd `cmd:"" help:"Set the name that readers without an account see instead of the organization's."`
	Orgs    userOrgsCmd    `cmd:"" help:"Change the organizations of a user."`
}

type userAddCmd struct {
	Name string  `arg:"" help:"Name to log in with: a to z, 0 to 9 and . _ @ -"`
	Role string  `required:"" enum:"reader,editor,admin" placeholder:"reader|editor|admin" help:"What the user may do."`
	Org  []int64 `placeholder:"ID" help:"Organizations of the user."`
	passwordFlags
}

// Run adds the user.
func (u *userAddCmd) Run(ctx context.Context, c *console, g *globals) error {
	password, err := u.passwordFlags.read(ctx, c)
	if err != nil {
		return err
	}
	return g.withStore(ctx, func(s *store.Store) error {
		a, err := loadAuth(ctx, c, s, app.Config{})
		if err != nil {
			return err
		}
		now := c.instant()
		err = a.Accounts().AddUser(ctx, consoleActor(), auth.NewUser{
			Name: u.Name, Role: auth.Role(u.Role), Orgs: u.Org, Password: password.text, PasswordEnds: u.ends(now),
		}, now)
		if err != nil {
			return err
		}
		return printUser(c, a, u.Name, password, "added, role "+u.Role)
	})
}

type userListCmd struct{}

// Run lists the users.
func (*userListCmd) Run(ctx context.Context, c *console, g *globals) error {
	return g.withOldStore(ctx, func(s *store.Store) error {
		a, err := loadAuth(ctx, c, s, app.Config{})
		if err != nil {
			return err
		}
		users := []auth.UserRecord{}
		t := newTable("NAME", "ROLE", "ORGS", "STATE", "CREATED", "PASSWORD SET")
		t.colours[3] = map[string]string{"active": green, "disabled": dim, "no access at the provider": dim, "password ended": yellow}
		acronyms := map[int64]string{}
		for _, o := range a.Accounts().Orgs() {
			acronyms[o.ID] = o.Acronym
		}
		for _, u := range a.Accounts().Users() {
			users = append(users, u.Record())
			var orgs []string
			for _, id := range u.Orgs {
				orgs = append(orgs, fmt.Sprintf("%d %s", id, acronyms[id]))
			}
			t.add(u.Name, string(u.Role), oneLine(strings.Join(orgs, ", ")), userState(u, c.instant()), clock(u.Created.Time()), ago(u.PasswordChanged.Time(), c.now()))
		}
		return c.print(users, func(w io.Writer) error { return t.write(w, c.colour) })
	})
}

func userState(u auth.User, now hazard.Instant) string {
	switch {
	case u.Disabled:
		return "disabled"
	case u.Lapsed != 0:
		return "no access at the provider"
	case u.PasswordEnds != 0 && now >= u.PasswordEnds:
		return "password ended"
	}
	return "active"
}

func userWithPassword(u auth.User, p auth.Password) auth.UserRecord {
	j := u.Record()
	j.Password = string(p)
	return j
}

// printUser reports a change of a user, with the password if it was generated.
func printUser(c *console, a *auth.Service, name string, p password, done string) error {
	var result auth.UserRecord
	for _, u := range a.Accounts().Users() {
		if u.Name == name {
			result = u.Record()
		}
	}
	if p.random {
		result.Password = string(p.text)
	}
	return c.print(result, func(w io.Writer) error {
		if _, err := fmt.Fprintf(w, "user %s: %s\n", name, done); err != nil || !p.random {
			return err
		}
		_, err := fmt.Fprintf(w, "password, shown only once: %s\n", string(p.text))
		return err
	})
}
