package poll

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/ingest/fuse"
	"github.com/hazardd/hazardd/internal/ingest/source"
)

// Intake receives what was read.
type Intake interface {
	// Apply processes a batch. Processing the same batch again changes nothing.
	Apply(ctx context.Context, src string, batch source.Batch, clock hazard.Clock, opts fuse.Options) (fuse.Result, error)
	// Withdraw ends the hazard of an event. last is 0 if it had already ended, or if an editor has
	// decided about it.
	Withdraw(ctx context.Context, src, event string, parts []string, reason hazard.EndReason, clock hazard.Clock) (last int64, err error)
	Hold(ctx context.Context, src, event string, parts []string, at hazard.Instant, patience time.Duration, clock hazard.Clock) (last int64, err error)
}

// Source is a source as this process polls it. Its functions are called by one goroutine at a time.
type Source struct {
	source.Source
	// Disabled sources are listed but not polled.
	Disabled bool
	// Read, if not nil, replaces the GET request of the source's only feed, whose address is then
	// only for display. It is for a source that needs a login and several requests. Its error
	// should be a *Failure. Taken is called after the last result of Read has been processed.
	Read  func(ctx context.Context, now hazard.Instant) (source.Batch, error)
	Taken func()
}

// check returns an error if s cannot be polled.
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

// parseURL parses an absolute http or https address. Errors do not repeat the address, which may
// contain a key.
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

// follows reports whether an address from a payload may be followed: it must be on a host of the
// source, and never lead from https to http.
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
	if host == "*" { // "*" means any host with a public address
		return at == authority(&url.URL{Scheme: "https", Host: u.Hostname()})
	}
	if domain, ok := strings.CutPrefix(host, "*."); ok {
		all := ":" + u.Scheme // the usual port
		return at == strings.ToLower(domain)+all || strings.HasSuffix(at, "."+strings.ToLower(domain)+all)
	}
	return at == authority(&url.URL{Scheme: u.Scheme, Host: host})
}

// authority returns the host and port of an address in canonical form.
func authority(u *url.URL) string {
	port := u.Port()
	if port == "" {
		port = u.Scheme
	} else if port == "443" && u.Scheme == "https" || port == "80" && u.Scheme == "http" {
		port = u.Scheme
	}
	return strings.ToLower(u.Hostname()) + ":" + port
}

// shown returns an address without user, password and query, which may contain a key.
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
