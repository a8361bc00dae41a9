package main

import (
	"context"
	"fmt"
	"io"

	"github.com/hazardd/hazardd/internal/app"
	"github.com/hazardd/hazardd/internal/auth"
	"github.com/hazardd/hazardd/internal/store"
)

type keysCmd struct {
	Rotate keysRotateCmd `cmd:"" help:"Replace the keys that sign tokens after a leak. Within a second all nodes revoke every token, and all users must log in again. Servers also replace the keys regularly by themselves; users do not notice that."`
	Unsign keysUnsignCmd `cmd:"" help:"Publish CAP messages without signatures from now on, because the key that signed them is lost or given up. Servers that lack it are then ready again."`
}

type keysRotateCmd struct{}

// Run replaces the keys.
func (*keysRotateCmd) Run(ctx context.Context, c *console, g *globals) error {
	return g.withOldStore(ctx, func(s *store.Store) error {
		a, err := loadAuth(ctx, c, s, app.Config{})
		if err != nil {
			return err
		}
		if err := a.ReplaceKeys(ctx, consoleActor(), c.instant()); err != nil {
			return err
		}
		result := struct {
			Rotated bool `json:"rotated"`
		}{true}
		return c.print(result, func(w io.Writer) error {
			_, err := fmt.Fprintln(w, "the signing keys are replaced; all tokens are revoked, and all users must log in again")
			return err
		})
	})
}

type keysUnsignCmd struct{}

// Run records that CAP messages are not signed any more.
func (*keysUnsignCmd) Run(ctx context.Context, c *console, g *globals) error {
	return g.withStore(ctx, func(s *store.Store) error {
		by := consoleActor()
		if err := s.Publishing.Unsign(ctx, auth.Audit{At: c.instant(), Actor: by.Name, Client: by.Client, Action: auth.ActionUnsign, OK: true}); err != nil {
			return err
		}
		result := struct {
			Signed bool `json:"signed"`
		}{false}
		return c.print(result, func(w io.Writer) error {
			_, err := fmt.Fprintln(w, "CAP messages need no signature any more: a server without --cap-key is ready after its next start")
			return err
		})
	})
}
