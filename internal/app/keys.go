package app

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"

	"github.com/hazardd/hazardd/internal/store"
	"github.com/hazardd/hazardd/internal/tell/channel"
	"github.com/hazardd/hazardd/internal/tell/subscription"
)

// Key is a key that a service may need to come back, which neither its store nor a backup holds.
type Key struct {
	Name    string // as GET /readyz names it
	File    string // its usual name in a data folder; empty: only settings name its files
	Setting string // the flags that name it elsewhere
	Table   string // of the store, with those who may need it
	What    string // what needs it, for people
	Without string // what happens without it
}

// Keys are all of them: a server, check, backup, restore and migrate read this list.
var Keys = []Key{
	{"addresses", subscription.KeyFile, "--address-key", "subscriptions", "subscriptions, whose addresses it encrypts", "get no messages"},
	{"webpush", channel.SeedFile, "--webpush-key", "subscriptions", "channels of Web Push, whose browsers take messages of no other", "get no messages"},
	{"cap", "", "--cap-key and --cap-certificate", "publishing", "organizations that publish CAP messages, which it signs", "publish messages that their readers may refuse"},
}

// NeededKey is a key that a store needs.
type NeededKey struct {
	Key
	Count   int // how many need it
	Missing int // how many of these lack it with the key at hand
}

// NeededKeys lists the keys that a store needs. addresses is the key at hand, push the public key of Web
// Push at hand; nil and empty: there is none. signs says whether there is a key for CAP messages.
func NeededKeys(ctx context.Context, s *store.Store, addresses *subscription.Key, push string, signs bool) ([]NeededKey, error) {
	n, err := addresses.Needs(ctx, s.Subscriptions, push)
	if err != nil {
		return nil, err
	}
	signed, err := s.Publishing.Signed(ctx)
	if err != nil {
		return nil, err
	}
	orgs, unsigned := 0, 0
	if signed {
		settings, err := s.Publishing.Settings(ctx)
		if err != nil {
			return nil, err
		}
		orgs = len(settings)
	}
	if !signs {
		unsigned = orgs
	}
	list := []NeededKey{{Keys[0], n.Subscriptions, n.Unread}, {Keys[1], n.Push, n.Unsigned}, {Keys[2], orgs, unsigned}}
	return slices.DeleteFunc(list, func(k NeededKey) bool { return k.Count == 0 }), nil
}

// KeysNeededBeside lists the keys that a store needs, and compares them with those in a data folder; empty:
// there is none. That of CAP messages is in none.
func KeysNeededBeside(ctx context.Context, s *store.Store, data string) ([]NeededKey, error) {
	var key *subscription.Key
	var push string
	if data != "" {
		var errKey, errPush error
		key, errKey = subscription.ReadKey(filepath.Join(data, subscription.KeyFile), false)
		push, errPush = channel.PushKeyIn(filepath.Join(data, channel.SeedFile))
		for _, err := range []error{errKey, errPush} {
			if err != nil && !errors.Is(err, fs.ErrNotExist) {
				return nil, err
			}
		}
	}
	return NeededKeys(ctx, s, key, push, false)
}

// Keep says where the key is that is to be kept apart from backups.
func (k *Key) Keep(data string) string {
	if k.File == "" {
		return "the files of " + k.Setting
	}
	return filepath.Join(data, k.File)
}

// Bring says what brings the key to a data folder, or to servers with a common database.
func (k *Key) Bring(data string, common bool) string {
	switch {
	case k.File == "":
		return fmt.Sprintf("start each server with %s and the old server's files (hazardd keys unsign if they are lost)", k.Setting)
	case common:
		return fmt.Sprintf("start the servers with %s and the old server's %s", k.Setting, k.File)
	}
	return fmt.Sprintf("copy the old server's %s to %s before you start the server", k.File, filepath.Join(data, k.File))
}

// text says what does not work without the key, and what mends it.
func (k *NeededKey) text(data string, common bool) string {
	return fmt.Sprintf("the key %s is missing: %d of the %d %s, %s. Stop the server, and %s", k.Name, k.Missing, k.Count, k.What, k.Without, k.Bring(data, common))
}
