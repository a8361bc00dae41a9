package main

import (
	"context"
	"fmt"
	"io"
	"time"

	"hazardd/internal/service"
	"hazardd/internal/store"
)

type tokenCmd struct {
	Name string `arg:"" help:"User."`
	tokenFlags
}

// Run prints the token.
func (t *tokenCmd) Run(ctx context.Context, c *console, g *globals) error {
	cfg := service.Config{}
	t.tokenFlags.set(&cfg)
	return g.withOldStore(ctx, func(s *store.Store) error {
		a, err := loadAuth(ctx, c, s, cfg)
		if err != nil {
			return err
		}
		now := c.instant()
		if err := a.Rotate(ctx, now); err != nil { // there is no key before the first start of a server
			return err
		}
		pair, err := a.Issue(ctx, commandLineActor, t.Name, now)
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
