package app

import (
	"context"
	"errors"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hazardd/hazardd/internal/atlas/region"
	"github.com/hazardd/hazardd/internal/geo"
	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/store"
	"github.com/hazardd/hazardd/internal/tell/channel"
	"github.com/hazardd/hazardd/internal/tell/message"
	"github.com/hazardd/hazardd/internal/tell/subscription"
)

// addressKey returns the path of the key that encrypts addresses and second factors, and whether to make a missing
// one: not if subscriptions need the key that was lost. The path is empty if there is no key, as with a common
// database, whose nodes need a common key.
func addressKey(ctx context.Context, s *store.Store, cfg *Config) (path string, make bool, err error) {
	if cfg.AddressKey != "" || cfg.Database != "" || cfg.DataDir == "" {
		return cfg.AddressKey, false, nil
	}
	any, err := s.Subscriptions.Any(ctx)
	return filepath.Join(cfg.DataDir, subscription.KeyFile), !any, err
}

// newNotify creates the service that notifies subscribers. A key is only made for a store without
// subscriptions: those of another server were encrypted with its key.
func (s *Service) newNotify(ctx context.Context) (*subscription.Service, error) {
	cfg := &s.cfg
	var sender channel.Sender = s.channels
	if cfg.Sender != nil {
		sender = cfg.Sender
	}
	c := subscription.Config{Store: s.Store, Tail: s.tail, Sender: sender, Standing: s.Auth.Standing, Org: s.org, Region: cfg.Known.outline, Authority: s.authorityOf, Counting: s.counting,
		Links: s.linked, BaseURL: cfg.PublicURL, Storm: cfg.Storm, Confirmations: cfg.Confirmations, Now: cfg.Clock.Now, Logger: cfg.Logger,
		Person: s.channels.person, PushKey: s.channels.offered().PushKey,
		Text: func(n message.Notice) string { return n.Text() }}
	path, make, err := addressKey(ctx, s.Store, cfg)
	if err != nil {
		return nil, err
	}
	if path == "" {
		c.NoKey = "this server keeps no subscriptions: its nodes need a common key for addresses (setting address-key)"
		return subscription.New(c), nil
	}
	key, err := subscription.ReadKey(path, make)
	switch {
	case errors.Is(err, fs.ErrNotExist) && !make && cfg.AddressKey == "":
		c.NoKey = "the key of the addresses is missing: copy it from the old server to " + path
	case err != nil && make && s.Store.Unwritable() != nil:
		c.NoKey = "the key of the addresses cannot be made before the disk can be written and the server is started again"
	case err != nil:
		return nil, err
	}
	c.Key = key
	return subscription.New(c), nil
}

// checkKeys finds the keys that the store needs and this server does not have.
func (s *Service) checkKeys(ctx context.Context) error {
	if err := s.noteSigned(ctx); err != nil {
		return err
	}
	needed, err := NeededKeys(ctx, s.Store, s.notify.Key, s.channels.offered().PushKey, s.signer != nil)
	if err != nil {
		return err
	}
	var missing []NeededKey
	for _, k := range needed {
		if k.Missing == 0 || k.Name == Keys[1].Name && s.channels.push == nil { // Web Push is off: what waits says so
			continue
		}
		missing = append(missing, k)
		if before := s.missing.Load(); before == nil || !slices.Contains(*before, k) {
			s.cfg.Logger.Error("a key is missing", "key", k.Name, "consequence", k.text(s.cfg.DataDir, s.cfg.Database != ""))
		}
	}
	s.missing.Store(&missing)
	return nil
}

// missingKeys returns what checkKeys has found last.
func (s *Service) missingKeys() []NeededKey {
	if missing := s.missing.Load(); missing != nil {
		return *missing
	}
	return nil
}

// authorityOf returns who reports a hazard: the title of its source, or the name of the organization
// of its editors; empty if unknown.
func (s *Service) authorityOf(h *hazard.Hazard) string {
	if h.Source != "" {
		return s.cfg.Known.title(h.Source)
	}
	for _, o := range s.Auth.Accounts().Orgs() {
		if o.ID == h.OrgID {
			return o.Name
		}
	}
	return ""
}

// org returns the id of the organization with that acronym.
func (s *Service) org(acronym string) (int64, bool) {
	for _, o := range s.Auth.Accounts().Orgs() {
		if o.Acronym == acronym {
			return o.ID, true
		}
	}
	return 0, false
}

// coast is the distance in meters from a country's outline within which a point counts as in that
// country. The outlines are drawn for a world map and leave out the coastal sea.
const coast = 25_000

// outline returns the area of a country by its ISO 3166-1 code, or of a subdivision by its ISO
// 3166-2 code: a state of the US, or a subdivision whose area the operator provides.
func (s *Sources) outline(code string) (geo.Shape, float64, bool) {
	if len(code) == 2 {
		shape := region.Outline(code)
		return shape, coast, !shape.IsZero()
	}
	if shape, ok := s.areas.Shape(context.Background(), "ISO3166-2:"+code); ok { // in memory
		return shape, 0, true
	}
	if state, ok := strings.CutPrefix(code, "US-"); ok {
		shape, ok := region.Area(region.ParseCode("UGC:" + state + "C000"))
		return shape, coast, ok
	}
	return geo.Shape{}, 0, false
}
