package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/user"
	"path/filepath"
	"strings"

	"github.com/hazardd/hazardd/internal/app"
	"github.com/hazardd/hazardd/internal/auth"
	"github.com/hazardd/hazardd/internal/auth/secret"
	"github.com/hazardd/hazardd/internal/ingest/evidence"
	"github.com/hazardd/hazardd/internal/store"
	"github.com/hazardd/hazardd/internal/store/blob"
)

// withStore opens the store, calls use and closes the store. It creates a store that does not
// exist.
func (g *globals) withStore(ctx context.Context, use func(*store.Store) error) (err error) {
	place, err := g.files()
	if err != nil {
		return err
	}
	if file := g.sqliteFile(); file != "" {
		if _, err := os.Stat(file); errors.Is(err, fs.ErrNotExist) && ofAnother(filepath.Dir(file)) {
			return fmt.Errorf("there is no database %s, and its folder belongs to another user: start the service first, which makes one (systemctl start hazardd)", file)
		}
	}
	s, err := store.Open(ctx, g.Data, g.Database, store.WithFiles(place))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	return use(s)
}

// withOldStore is withStore for an existing store. It does not create one: that would hide a wrong
// folder name.
func (g *globals) withOldStore(ctx context.Context, use func(*store.Store) error) error {
	if g.Database == "" {
		if _, err := os.Stat(g.Data); errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("there is no data folder %s: name the server's with --data, or start hazardd serve first", g.Data)
		}
	}
	if strings.HasPrefix(g.Database, "sqlite:") {
		file := g.sqliteFile()
		if _, err := os.Stat(file); errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("there is no database %s: name the server's, or start hazardd serve first", file)
		}
	}
	return g.withStore(ctx, use)
}

// withEvidence is withOldStore for commands that also need the payloads that were kept.
func (g *globals) withEvidence(ctx context.Context, cfg app.Config, use func(*store.Store, *evidence.Keeper) error) error {
	return g.withOldStore(ctx, func(s *store.Store) (err error) {
		keeper, err := g.evidence(s, cfg)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, keeper.Close()) }()
		return use(s, keeper)
	})
}

// files returns where the product files are. The keys of a bucket are never flags, because other
// users of the machine can read those.
func (g *globals) files() (s blob.Settings, err error) {
	if s.URL = g.Files; s.URL == "" {
		return s, nil
	}
	for name, key := range map[string]*string{"S3_ACCESS_KEY": &s.AccessKey, "S3_SECRET_KEY": &s.SecretKey} {
		if *key, err = secretVariable(variablePrefix + name); err != nil {
			return s, err
		}
	}
	return s, nil
}

// evidence opens the evidence of the store with the limits in cfg.
func (g *globals) evidence(s *store.Store, cfg app.Config) (*evidence.Keeper, error) {
	place, err := g.files()
	if err != nil {
		return nil, err
	}
	cfg.DataDir, cfg.Files = g.Data, place
	return app.OpenEvidence(s, cfg)
}

// secretVariable returns the value of a variable, or the content of the file named by the variable
// with the suffix _FILE. It returns "" if neither is set.
func secretVariable(name string) (string, error) {
	value, file := os.Getenv(name), os.Getenv(name+"_FILE")
	if file == "" {
		return value, nil
	}
	if value != "" {
		return "", fmt.Errorf("%s and %s_FILE are both set: unset one of them", name, name)
	}
	text, err := os.ReadFile(secret.Path(file))
	if err != nil {
		return "", fmt.Errorf("%s_FILE: %w", name, err)
	}
	if value = strings.TrimSpace(string(text)); value == "" {
		return "", fmt.Errorf("%s_FILE: %s is empty", name, file)
	}
	return value, nil
}

// loadAuth loads the users of a store.
func loadAuth(ctx context.Context, c *console, s *store.Store, cfg app.Config) (*auth.Service, error) {
	cfg.Logger = c.logger()
	a := app.NewAuth(s, cfg)
	return a, a.Reload(ctx)
}

// consoleActor returns who runs the command, for the audit trail: the operating system's user, and
// under sudo also the user who called it.
func consoleActor() auth.Actor {
	by := auth.Actor{Name: "unknown", Client: "console"}
	if u, err := user.Current(); err == nil {
		by.Name = u.Username
	}
	if name := os.Getenv("SUDO_USER"); name != "" && by.Name != name {
		by.Client = "console, sudo by " + oneLine(name)
	}
	return by
}
