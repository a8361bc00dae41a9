package main

import (
	"context"
	"fmt"
	"io"

	"github.com/hazardd/hazardd/internal/app"
	"github.com/hazardd/hazardd/internal/store"
)

type keysCmd struct {
	Rotate keysRotateCmd `cmd:"" help:"Replace the keys that sign tokens after a leak. Within a second all nodes revoke every token, and all users must log in again. Servers also replace the keys regularly by themselves; users do not notice that."`
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
