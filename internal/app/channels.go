package app

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/hazardd/hazardd/internal/atlas/basemap"
	"github.com/hazardd/hazardd/internal/auth/secret"
	"github.com/hazardd/hazardd/internal/geo/lru"
	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/hazard/clock"
	"github.com/hazardd/hazardd/internal/lang"
	"github.com/hazardd/hazardd/internal/net/outbound"
	"github.com/hazardd/hazardd/internal/serve/admin"
	"github.com/hazardd/hazardd/internal/serve/page"
	"github.com/hazardd/hazardd/internal/store"
	"github.com/hazardd/hazardd/internal/tell"
	"github.com/hazardd/hazardd/internal/tell/channel"
	"github.com/hazardd/hazardd/internal/tell/message"
	"github.com/hazardd/hazardd/internal/tell/subscription"
	"github.com/hazardd/hazardd/web"
)

// Channels configures the channels that notify subscribers. All of them are off by default.
type Channels struct {
	// SMTP is the mail server, as in channel.MailConfig; if empty, no email is sent. SMTPPassword
	// is the file of its password, if the password is not in the address.
	SMTP, SMTPFrom, SMTPPassword string
	// WebPush is an https: or mailto: address at which push services can reach the operator; if
	// empty, Web Push is off. WebPushKey is the file of its key; if empty, the service creates one
	// in the data folder.
	WebPush, WebPushKey string
	// Folder holds the descriptions of the HTTP channels, one file each; empty means none.
	Folder string
	// Limits apply to email and to Web Push separately. HTTP channels have limits of their own.
	Limits channel.Limits
}

// channels holds the senders that the settings enable.
type channels struct {
	channel.Channels
	mail *channel.Mail
	push *channel.Push
	web  *channel.Web
}

// openChannels creates the senders. It opens no connections.
func openChannels(cfg *Config, store *store.Store) (*channels, error) {
	c, set := &channels{Channels: channel.Channels{}}, &cfg.Channels
	targets := outbound.Targets{Allow: cfg.WebhookAllow}
	var err error
	if set.SMTP != "" {
		password := ""
		if set.SMTPPassword != "" {
			text, err := os.ReadFile(set.SMTPPassword)
			if err != nil {
				return nil, fmt.Errorf("smtp-password-file: %w", err)
			}
			password = strings.TrimRight(string(text), "\r\n")
		}
		if c.mail, err = channel.NewMail(channel.MailConfig{Server: set.SMTP, From: set.SMTPFrom, Password: password, Now: cfg.Clock.Now}); err != nil {
			return nil, err
		}
		artist, err := newArtist(store)
		if err != nil {
			return nil, err
		}
		c.Channels[channel.Email] = channel.Limit(&pictured{c.mail, artist}, set.Limits)
	}
	if set.WebPush != "" {
		path := set.WebPushKey
		if path == "" && cfg.Database != "" {
			return nil, errors.New("webpush: all nodes of a database need the same key: set webpush-key")
		}
		seed, err := secret.Seed(cmp.Or(path, filepath.Join(cfg.DataDir, channel.SeedFile)), path == "", "send messages in our name")
		if err != nil && path == "" && store != nil && store.Unwritable() != nil {
			cfg.Logger.Error("Web Push is off: its key cannot be made before the disk can be written and the server is started again", "error", err)
			return c, c.openFolder(set.Folder, targets)
		}
		if err != nil {
			return nil, fmt.Errorf("key of Web Push: %w", err)
		}
		if c.push, err = channel.NewPush(channel.PushConfig{Seed: seed, Subject: set.WebPush, Targets: targets, Now: cfg.Clock.Now}); err != nil {
			return nil, err
		}
		c.Channels[channel.WebPush] = channel.Limit(c.push, set.Limits)
	}
	return c, c.openFolder(set.Folder, targets)
}

// openFolder creates the senders of HTTP channels.
func (c *channels) openFolder(folder string, targets outbound.Targets) error {
	if folder == "" {
		return nil
	}
	recipes, err := channel.Recipes(folder)
	if err != nil {
		return err
	}
	if c.web, err = channel.NewWeb(recipes, targets); err != nil {
		return err
	}
	c.Channels[channel.HTTP] = c.web
	return nil
}

// person reports whether the addresses of an HTTP channel are those of persons.
func (c *channels) person(name string) bool { return c.web != nil && c.web.Person(name) }

// offered returns the channels that subscribers can choose.
func (c *channels) offered() admin.Channels {
	out := admin.Channels{Email: c.mail != nil}
	if c.push != nil {
		out.PushKey = c.push.PublicKey()
	}
	if c.web != nil {
		out.HTTP = c.web.Names()
	}
	return out
}

// close closes the idle connections.
func (c *channels) close() {
	if c == nil {
		return
	}
	if c.mail != nil {
		c.mail.Close()
	}
	if c.push != nil {
		c.push.Close()
	}
	if c.web != nil {
		c.web.Close()
	}
}

// pictured adds a map of each hazard to the emails that another sender sends.
type pictured struct {
	channel.Sender
	*artist
}

// Send sends the message with its maps.
func (p *pictured) Send(ctx context.Context, to channel.Address, n message.Notice) error {
	items := make([]message.Item, len(n.Items))
	for i, it := range n.Items {
		if it.Picture == nil {
			h := it.Hazard
			it.Picture = func(width int) ([]byte, error) { return p.draw(ctx, &h, width) }
		}
		items[i] = it
	}
	n.Items = items
	return p.Sender.Send(ctx, to, n)
}

// artist draws maps, one at a time, and caches the latest: many subscribers get the same hazard.
type artist struct {
	store  *store.Store
	ground *basemap.Archive // nil if the binary is built without the map
	drawn  *lru.Cache[string, []byte]
	pencil chan struct{}
}

// maxDrawn bounds the cached maps, in bytes.
const maxDrawn = 4 << 20

func newArtist(store *store.Store) (*artist, error) {
	a := &artist{store: store, drawn: lru.New[string, []byte](maxDrawn), pencil: make(chan struct{}, 1)}
	if archive := web.NewHandler().Basemap(); archive != nil {
		var err error
		if a.ground, err = basemap.Open(archive); err != nil {
			return nil, err
		}
	}
	return a, nil
}

func (a *artist) draw(ctx context.Context, h *hazard.Hazard, width int) ([]byte, error) {
	select {
	case a.pencil <- struct{}{}:
		defer func() { <-a.pencil }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	key := fmt.Sprintf("%s %d %s %s %v %s %d", h.UUID, h.LastUpdate, h.Status, h.Category, h.Severity, h.ExposureKey(), width)
	if picture, ok := a.drawn.Get(key); ok {
		return picture, nil
	}
	areas, err := a.store.Log.Areas(ctx, h.Areas)
	if err != nil {
		return nil, err
	}
	m := page.Map{Hazard: h, Areas: areas, Ground: a.ground, Over: h.Status == hazard.Expired}
	picture, err := m.PNG(width)
	if err != nil {
		return nil, err
	}
	a.drawn.Put(key, picture, len(picture))
	return picture, nil
}

// TestChannel sends one test message as a service configured by cfg would: by email, by webpush, or
// over the HTTP channel of that name. It never creates a key. The error concerns the settings or
// the address; it is channel.ErrDisabled if the settings do not enable the channel. The answer says
// how the attempt ended.
func TestChannel(ctx context.Context, cfg Config, name, to string, wish lang.Wish, now time.Time) (done tell.Tested, err error) {
	if cfg.Clock == nil {
		cfg.Clock = clock.New(nil)
	}
	if cfg.Channels.WebPushKey == "" && cfg.Database == "" {
		cfg.Channels.WebPushKey = filepath.Join(cfg.DataDir, channel.SeedFile) // use the server's key: browsers refuse messages that another key signed
	}
	address := channel.Address{Kind: name, To: strings.TrimSpace(to)}
	switch name {
	case channel.Email:
		cfg.Channels.WebPush, cfg.Channels.Folder = "", ""
	case channel.WebPush:
		cfg.Channels.SMTP, cfg.Channels.Folder = "", ""
	default:
		cfg.Channels.SMTP, cfg.Channels.WebPush = "", ""
		address.Kind, address.Template = channel.HTTP, name
	}
	senders, err := openChannels(&cfg, nil)
	if err != nil {
		return done, err
	}
	defer senders.close()
	if err := senders.Check(address); err != nil {
		return done, err
	}
	n := message.Notice{ID: uuid.NewString(), Kind: message.Test, At: now}
	for _, tag := range wish.Tags() {
		n.Language = append(n.Language, tag.String())
	}
	return subscription.Try(ctx, senders, address, n)
}
