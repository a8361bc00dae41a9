package poll

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/intake"
	"github.com/hazardd/hazardd/internal/source"
)

// Intake is where what was read goes.
type Intake interface {
	// Apply takes in a batch. Taking in the same batch again changes nothing.
	Apply(ctx context.Context, src string, batch source.Batch, clock hazard.Clock, opts intake.Options) (intake.Result, error)
	// Withdraw ends the hazard of an event; last is 0 if it was over, or an editor has decided about it.
	Withdraw(ctx context.Context, src, event string, reason hazard.EndReason, clock hazard.Clock) (last int64, err error)
}

// Source is a source as this process polls it. Its functions are called by one goroutine at a time.
type Source struct {
	source.Source
	// Disabled sources are listed, and not polled.
	Disabled bool
	// Read, if not nil, asks the source in place of a GET of its one feed, whose address is only shown: a source that is no document but has to
	// be logged in to, and asked in steps. Its error should be a *Failure. Taken is called when what it read last was taken in.
	Read  func(ctx context.Context, now hazard.Instant) (source.Batch, error)
	Taken func()
}

// check tells what makes s impossible to poll.
func (s *Source) check() error {
	if s.Name == "" || s.Parse == nil || len(s.Feeds) == 0 {
		return fmt.Errorf("source %q: needs a name, a parser and a feed", s.Name)
	}
	if (s.Read == nil) != (s.Taken == nil) || s.Read != nil && len(s.Feeds) > 1 {
		return fmt.Errorf("source %s: Read and Taken go together, and with one feed", s.Name)
	}
	if (s.PlaceURL == nil) != (s.ParsePlace == nil) {
		return fmt.Errorf("source %s: PlaceURL and ParsePlace go together", s.Name)
	}
	for i, f := range s.Feeds {
		if _, err := parseURL(f.URL); err != nil {
			return fmt.Errorf("source %s: address of feed %d: %w", s.Name, i+1, err)
		}
		if f.Every <= 0 || f.MaxBytes <= 0 {
			return fmt.Errorf("source %s: feed %d: rhythm %s and limit %d must be positive", s.Name, i+1, f.Every, f.MaxBytes)
		}
		if slices.ContainsFunc(s.Feeds[:i], func(g source.Feed) bool { return g.URL == f.URL }) {
			return fmt.Errorf("source %s: feed %d is listed twice", s.Name, i+1)
		}
	}
	return nil
}

// parseURL reads an absolute http or https address. Its errors do not repeat the address, which may hold a key.
func parseURL(address string) (*url.URL, error) {
	u, err := url.Parse(address)
	if err != nil {
		if bad, ok := errors.AsType[*url.Error](err); ok {
			err = bad.Err
		}
		return nil, err
	}
	if u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return nil, errors.New("expected an absolute address beginning with http:// or https://")
	}
	return u, nil
}

// follows tells whether the source may be followed to an address that one of its payloads gave: one of its own hosts,
// and never from https to http.
func (s *Source) follows(address string) bool {
	u, err := parseURL(address)
	if err != nil || u.User != nil {
		return false
	}
	if slices.Contains(s.Hosts, "http://"+u.Host) {
		return true
	}
	for _, f := range s.Feeds {
		own, err := parseURL(f.URL)
		if err != nil || own.Scheme == "https" && u.Scheme != "https" {
			continue
		}
		at := authority(u)
		if at == authority(own) || slices.ContainsFunc(s.Hosts, func(host string) bool { return among(u, host) }) {
			return true
		}
	}
	return false
}

// among reports whether an address is on a host of source.Source.Hosts.
func among(u *url.URL, host string) bool {
	at := authority(u)
	if host == "*" { // any host that has a public address
		return at == authority(&url.URL{Scheme: "https", Host: u.Hostname()})
	}
	if domain, ok := strings.CutPrefix(host, "*."); ok {
		all := ":" + u.Scheme // the usual port
		return at == strings.ToLower(domain)+all || strings.HasSuffix(at, "."+strings.ToLower(domain)+all)
	}
	return at == authority(&url.URL{Scheme: u.Scheme, Host: host})
}

// authority is the host and port of an address, as two spellings of one address have it.
func authority(u *url.URL) string {
	port := u.Port()
	if port == "" {
		port = u.Scheme
	} else if port == "443" && u.Scheme == "https" || port == "80" && u.Scheme == "http" {
		port = u.Scheme
	}
	return strings.ToLower(u.Hostname()) + ":" + port
}

// shown is an address as it may be shown: without user, password and query, which may hold a key.
func (s *Source) shown(address string) string {
	u, err := parseURL(address)
	if err != nil {
		return "(no address)"
	}
	u = &url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}
	if s.Private {
		u.Path = "/"
	}
	return u.String()
}
