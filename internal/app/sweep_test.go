package app_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/hazardd/hazardd/internal/app"
	"github.com/hazardd/hazardd/internal/test/server"
)

// heard sends each line of a log to a channel.
type heard struct {
	slog.Handler
	lines chan string
}

func (h heard) Enabled(context.Context, slog.Level) bool { return true }

func (h heard) Handle(_ context.Context, r slog.Record) error {
	select {
	case h.lines <- r.Message:
	default: // nobody is receiving
	}
	return nil
}

func TestAStartSweepsFilesThatNothingNames(t *testing.T) {
	data := t.TempDir()
	put := func(text string, age time.Duration) string {
		sum := sha256.Sum256([]byte(text))
		digest := hex.EncodeToString(sum[:])
		path := filepath.Join(data, "files", digest[:2], digest)
		at := time.Now().Add(-age)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o600), os.Chtimes(path, at, at)); err != nil {
			t.Fatal(err)
		}
		return path
	}
	old, fresh := put("old", 2*time.Hour), put("new", time.Minute)
	lines := make(chan string, 100)
	server.ServeEmpty(t, data, func(cfg *app.Config) { cfg.Logger = slog.New(heard{slog.DiscardHandler, lines}) })
	for line := range lines {
		if line == "removed unreferenced product files" {
			break
		}
	}
	if _, err := os.Stat(old); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a file without a reference is still there: %v", err)
	}
	if _, err := os.Stat(fresh); err != nil {
		t.Errorf("a file that may still be in upload was removed: %v", err)
	}
}
