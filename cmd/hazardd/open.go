package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"hazardd/internal/auth"
	"hazardd/internal/service"
	"hazardd/internal/store"
)

// withStore opens the store for as long as use takes. The store need not be there yet.
func (g *globals) withStore(ctx context.Context, use func(*store.Store) error) (err error) {
	s, err := store.Open(ctx, g.Data, g.Database)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	return use(s)
}

// withOldStore is withStore where a store that is not there is a mistake: to make one would hide that the name of the
// folder is wrong.
func (g *globals) withOldStore(ctx context.Context, use func(*store.Store) error) error {
	if _, err := os.Stat(g.Data); errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("there is no data folder %s: name the server's with --data, or start hazardd serve first", g.Data)
	}
	return g.withStore(ctx, use)
}

// loadAuth makes the users of a store ready for use.
func loadAuth(ctx context.Context, c *console, s *store.Store, cfg service.Config) (*auth.Service, error) {
	cfg.Logger = c.logger()
	a := service.NewAuth(s, cfg)
	return a, a.Reload(ctx)
}

// whoever has the command line administers without a name.
var commandLineActor = auth.Actor{}
