package app

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/uuid"

	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/hazard/clock"
	"github.com/hazardd/hazardd/internal/store"
	"github.com/hazardd/hazardd/internal/tell/channel"
	"github.com/hazardd/hazardd/internal/tell/message"
)

func TestChannelsAreThoseThatTheOperatorEnables(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "ntfy.yaml"), []byte("template: ntfy\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	cfg := Config{Clock: clock.New(nil), Settings: Settings{DataDir: dir, Channels: Channels{SMTP: "smtp://127.0.0.1:25", SMTPFrom: "a@example.org", WebPush: "mailto:a@example.org", Folder: dir}}}
	c, err := openChannels(&cfg, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer c.close()
	for address, want := range map[channel.Address]bool{{Kind: channel.Email, To: "a@example.org"}: true, {Kind: channel.HTTP, Template: "ntfy", To: "https://ntfy.sh/topic"}: true,
		{Kind: channel.HTTP, Template: "slack", To: "https://hooks.slack.com/x"}: false, {Kind: channel.WebPush, To: "{}"}: false} {
		if err := c.Check(address); (err == nil) != want {
			t.Errorf("%s: %v", address.Kind, err)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, channel.SeedFile)); err != nil {
		t.Error(err)
	}
	none, err := openChannels(&Config{Settings: Settings{DataDir: dir}, Clock: cfg.Clock}, nil)
	if err != nil || len(none.Channels) != 0 {
		t.Errorf("%v, %v", none, err)
	}
	for what, change := range map[string]func(*Config){
		"no sender":           func(c *Config) { c.Channels.SMTPFrom = "" },
		"no file of password": func(c *Config) { c.Channels.SMTPPassword = filepath.Join(dir, "none") },
		"nodes without a key": func(c *Config) { c.Database = "postgres://" },
		"no folder":           func(c *Config) { c.Channels.Folder = filepath.Join(dir, "none") },
	} {
		bad := cfg
		change(&bad)
		if c, err := openChannels(&bad, nil); err == nil {
			c.close()
			t.Errorf("%s: taken", what)
		}
	}
}

// sink is a Sender that records its messages.
type sink struct {
	t    *testing.T
	drew [][]byte
}

func (s *sink) Send(_ context.Context, _ channel.Address, n message.Notice) error {
	m, err := n.Mail()
	if err != nil {
		return err
	}
	for _, p := range m.Pictures {
		s.drew = append(s.drew, p.PNG)
	}
	return nil
}
func (*sink) Check(channel.Address) error { return nil }

func TestAMailHasTheMapOfItsHazard(t *testing.T) {
	if testing.Short() {
		t.Skip("opens a store")
	}
	st, err := store.Open(t.Context(), t.TempDir(), "sqlite:?synchronous=off")
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	a, err := newArtist(st)
	if err != nil {
		t.Fatal(err)
	}
	to := &sink{t: t}
	p := &pictured{to, a}
	h := hazard.Hazard{UUID: uuid.MustParse("0190a3c8-7b1e-7000-8000-000000000007"), Name: "Flood", Type: hazard.Flood, Severity: hazard.Warning, Category: hazard.Event, Status: hazard.Active, Longitude: 20, Latitude: 10}
	over := h
	over.Status = hazard.Expired
	for _, h := range []hazard.Hazard{h, h, over} {
		if err := p.Send(t.Context(), channel.Address{}, message.Notice{Kind: message.First, Items: []message.Item{{Hazard: h}}}); err != nil {
			t.Fatal(err)
		}
	}
	if len(to.drew) != 3 || !bytes.HasPrefix(to.drew[0], []byte("\x89PNG")) || &to.drew[0][0] != &to.drew[1][0] || bytes.Equal(to.drew[0], to.drew[2]) {
		t.Errorf("%d pictures, want one for the hazard, and a new one for its end", len(to.drew))
	}
}
