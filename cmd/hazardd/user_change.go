package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/hazardd/hazardd/internal/app"
	"github.com/hazardd/hazardd/internal/auth"
	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/store"
)

type userPasswdCmd struct {
	Name string `arg:"" help:"User."`
	passwordFlags
}

// Run sets the password.
func (u *userPasswdCmd) Run(ctx context.Context, c *console, g *globals) error {
	p, err := u.passwordFlags.read(ctx, c)
	if err != nil {
		return err
	}
	return changeUser(ctx, c, g, u.Name, p, "password changed; earlier tokens are revoked", func(a *auth.Service, now hazard.Instant) error {
		return a.Accounts().SetPassword(ctx, consoleActor(), u.Name, p.text, u.ends(now), now)
	})
}

type userDisableCmd struct {
	Name string `arg:"" help:"User."`
}

// Run disables the user.
func (u *userDisableCmd) Run(ctx context.Context, c *console, g *globals) error {
	return changeUser(ctx, c, g, u.Name, password{}, "disabled", func(a *auth.Service, now hazard.Instant) error {
		return a.Accounts().Disable(ctx, consoleActor(), u.Name, now)
	})
}

type userEnableCmd struct {
	Name string `arg:"" help:"User."`
}

// Run enables the user.
func (u *userEnableCmd) Run(ctx context.Context, c *console, g *globals) error {
	return changeUser(ctx, c, g, u.Name, password{}, "may log in", func(a *auth.Service, now hazard.Instant) error {
		return a.Accounts().Enable(ctx, consoleActor(), u.Name, now)
	})
}

type userRemoveCmd struct {
	Name string `arg:"" help:"User."`
}

// Run removes the user.
func (u *userRemoveCmd) Run(ctx context.Context, c *console, g *globals) error {
	return g.withOldStore(ctx, func(s *store.Store) error {
		a, err := loadAuth(ctx, c, s, app.Config{})
		if err != nil {
			return err
		}
		if err := a.Accounts().RemoveUser(ctx, consoleActor(), u.Name, c.instant()); err != nil {
			return knownUsers(err)
		}
		result := struct {
			Removed string `json:"removed"`
		}{u.Name}
		return c.print(result, func(w io.Writer) error {
			_, err := fmt.Fprintf(w, "user %s: removed; hazards and products of this user keep the name, and it cannot be used again\n", u.Name)
			return err
		})
	})
}

type userRoleCmd struct {
	Name string `arg:"" help:"User."`
	Role string `arg:"" enum:"reader,editor,admin" help:"reader, editor or admin."`
}

// Run sets the role.
func (u *userRoleCmd) Run(ctx context.Context, c *console, g *globals) error {
	return changeUser(ctx, c, g, u.Name, password{}, "role "+u.Role, func(a *auth.Service, now hazard.Instant) error {
		return a.Accounts().SetRole(ctx, consoleActor(), u.Name, auth.Role(u.Role), now)
	})
}

type userFactorCmd struct {
	Name       string `arg:"" help:"User."`
	Remove     bool   `help:"Remove the second factor of a user who lost it."`
	AddressKey string `type:"path" env:"HAZARDD_ADDRESS_KEY" placeholder:"FILE" help:"File with the key that encrypts the addresses of subscriptions: 32 random bytes in base64, mode 0600, the same on all nodes. Default: addresses.key in the data folder, created if missing; with --database there is no default, and without a key there are no subscriptions."`
}

// Run adds or removes the factor.
func (u *userFactorCmd) Run(ctx context.Context, c *console, g *globals) error {
	return g.withOldStore(ctx, func(s *store.Store) error {
		cfg := app.Config{}
		cfg.DataDir, cfg.Database, cfg.AddressKey = g.Data, g.Database, u.AddressKey
		a, err := loadAuth(ctx, c, s, cfg)
		if err != nil {
			return err
		}
		if u.Remove {
			if err := a.Factors().Remove(ctx, consoleActor(), u.Name, c.instant()); err != nil {
				return knownUsers(err)
			}
			return printUser(c, a, u.Name, password{}, "logs in without a second factor")
		}
		setup, err := a.Factors().AddApp(ctx, consoleActor(), u.Name, c.instant())
		if err != nil {
			return knownUsers(err)
		}
		result := struct {
			Kind     string   `json:"kind"`
			Secret   string   `json:"secret"`
			URI      string   `json:"uri"`
			Recovery []string `json:"recovery_codes"`
		}{"totp", setup.Secret, setup.URI, setup.Recovery}
		return c.print(result, func(w io.Writer) error {
			_, err := fmt.Fprintf(w, "user %s: logins need a code of an authenticator app from now on\nsecret, shown only once: %s\naddress for a QR code: %s\nrecovery codes, each good once: %s\n",
				u.Name, setup.Secret, setup.URI, strings.Join(setup.Recovery, " "))
			return err
		})
	})
}

type userDisplayCmd struct {
	Name    string `arg:"" help:"User."`
	Display string `arg:"" optional:"" help:"The name; without it, readers without an account see the organization's name."`
}

// Run sets the display name.
func (u *userDisplayCmd) Run(ctx context.Context, c *console, g *globals) error {
	done := "shown to readers without an account as " + u.Display
	if u.Display == "" {
		done = "shown to readers without an account by the organization's name"
	}
	return changeUser(ctx, c, g, u.Name, password{}, done, func(a *auth.Service, now hazard.Instant) error {
		return a.Accounts().SetDisplayName(ctx, consoleActor(), u.Name, u.Display, now)
	})
}

type userOrgsCmd struct {
	Name string  `arg:"" help:"User."`
	Orgs []int64 `arg:"" optional:"" name:"id" help:"New list of the user's organizations; without any, the user has none."`
}

// Run sets the organizations.
func (u *userOrgsCmd) Run(ctx context.Context, c *console, g *globals) error {
	return changeUser(ctx, c, g, u.Name, password{}, fmt.Sprintf("organizations %v", u.Orgs), func(a *auth.Service, now hazard.Instant) error {
		return a.Accounts().SetOrgs(ctx, consoleActor(), u.Name, u.Orgs, now)
	})
}

// changeUser applies a change to a user and reports it.
func changeUser(ctx context.Context, c *console, g *globals, name string, p password, done string, change func(*auth.Service, hazard.Instant) error) error {
	return g.withOldStore(ctx, func(s *store.Store) error {
		a, err := loadAuth(ctx, c, s, app.Config{})
		if err != nil {
			return err
		}
		if err := change(a, c.instant()); err != nil {
			return knownUsers(err)
		}
		return printUser(c, a, name, p, done)
	})
}

// knownUsers adds the advice to list the users, for an unknown name.
func knownUsers(err error) error {
	if errors.Is(err, hazard.ErrNotFound) {
		return fmt.Errorf("%w; hazardd user list shows who there is, and who is disabled", err)
	}
	return err
}
