package auth

import (
	"cmp"
	"context"
	"hash/fnv"
	"io"
	"net/url"
	"slices"
	"strconv"
	"unicode/utf8"

	"github.com/hazardd/hazardd/internal/hazard"
)

// maxDisplayName bounds a display name, in characters.
const maxDisplayName = 100

// Public implements hazard.Names: the display name of the user, or else the name of the record's
// organization, or else of the user's first one, or else the host of the installation. A login is
// never returned, also of a user that is unknown here, such as the operator on the console.
func (s *Service) Public(login string, org int64) string {
	p := s.current.Load()
	u := p.users[login]
	if u != nil && u.DisplayName != "" {
		return u.DisplayName
	}
	orgs := []int64{org}
	if u != nil {
		orgs = append(orgs, u.Orgs...)
	}
	for _, id := range orgs {
		if i, ok := slices.BinarySearchFunc(p.orgs, id, func(o Org, id int64) int { return cmp.Compare(o.ID, id) }); ok {
			return p.orgs[i].Name
		}
	}
	return hostOf(s.cfg.BaseURL)
}

// Names implements hazard.Names.
func (s *Service) Names() uint64 { return s.current.Load().names }

// namesOf returns a hash of everything that Public depends on; never 0.
func namesOf(d *Data) uint64 {
	h := fnv.New64a()
	add := func(text string) { io.WriteString(h, strconv.Quote(text)) }
	for i := range d.Users {
		add(d.Users[i].Name)
		add(d.Users[i].DisplayName)
		for _, id := range d.Users[i].Orgs {
			add(strconv.FormatInt(id, 10))
		}
	}
	for _, o := range d.Orgs {
		add(strconv.FormatInt(o.ID, 10))
		add(o.Name)
	}
	return max(h.Sum64(), 1)
}

// hostOf returns the host of an address, or the name of the program.
func hostOf(address string) string {
	if u, err := url.Parse(address); err == nil && u.Hostname() != "" {
		return u.Hostname()
	}
	return "hazardd"
}

// SetDisplayName sets the name under which readers without an account see the user; empty means the
// organization's. Errors: *hazard.InvalidError, hazard.ErrNotFound.
func (a Accounts) SetDisplayName(ctx context.Context, by Actor, name, display string, now hazard.Instant) error {
	if utf8.RuneCountInString(display) > maxDisplayName || hazard.CleanLine(display) != display {
		var bad hazard.InvalidError
		bad.Add("display_name", "must be one line of at most %d characters without spaces at either end; empty means the organization's name", maxDisplayName)
		return bad.Err()
	}
	return a.s.update(ctx, by, ActionDisplayName, name, display, now, func(u *User) { u.DisplayName = display })
}
