package app

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"github.com/hazardd/hazardd/internal/store"
	"github.com/hazardd/hazardd/internal/tell/channel"
	"github.com/hazardd/hazardd/internal/tell/subscription"
)

// NeededKey is a key that a service needs to come back, which neither its store nor a backup holds. These
// are all: a server, check, backup, restore and migrate read the same list.
type NeededKey struct {
	Name    string // "addresses", "webpush"
	File    string // its usual name in a data folder
	Setting string // the flag that names it elsewhere
	What    string // what needs it, for people
	Count   int    // how many of these there are
	Missing int    // how many of these get no messages with the key at hand
}

const pushKeyName = "webpush"

// NeededKeys lists the keys that a store needs. addresses is the key at hand, push the public key of Web
// Push at hand; nil and empty: there is none.
func NeededKeys(ctx context.Context, s *store.Store, addresses *subscription.Key, push string) ([]NeededKey, error) {
	n, err := addresses.Needs(ctx, s.Subscriptions, push)
	if err != nil {
		return nil, err
	}
	var list []NeededKey
	if n.Subscriptions > 0 {
		list = append(list, NeededKey{"addresses", subscription.KeyFile, "--address-key", "subscriptions, whose addresses it encrypts", n.Subscriptions, n.Unread})
	}
	if n.Push > 0 {
		list = append(list, NeededKey{pushKeyName, channel.SeedFile, "--webpush-key", "channels of Web Push, whose browsers take messages of no other", n.Push, n.Unsigned})
	}
	return list, nil
}

// KeysNeededBeside lists the keys that a store needs, and compares them with those in a data folder; empty:
// there is none.
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
	return NeededKeys(ctx, s, key, push)
}

// Bring says what brings the key to a data folder, or to servers with a common database.
func (k *NeededKey) Bring(data string, common bool) string {
	if common {
		return fmt.Sprintf("start the servers with %s and the old server's %s", k.Setting, k.File)
	}
	return fmt.Sprintf("copy the old server's %s to %s before you start the server", k.File, filepath.Join(data, k.File))
}

// text says what does not work without the key, and what mends it.
func (k *NeededKey) text(data string, common bool) string {
	return fmt.Sprintf("the key %s is missing: %d of the %d %s, get no messages. Stop the server, and %s", k.Name, k.Missing, k.Count, k.What, k.Bring(data, common))
}
