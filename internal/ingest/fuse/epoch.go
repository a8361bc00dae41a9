package fuse

import (
	"context"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/store"
)

// keyLife is how long after its end a name still means the same event. It is longer than the life
// of any type, and as long as the breaks within one eruption of a volcano (volcano.si.edu, "current
// eruptions": no breaks of more than three months).
const keyLife = 90 * 24 * time.Hour

// epoch is the duration of one of several successive events with the same name at a source; gone is
// set for one that has no hazard any more, of which nothing is known but that the number is used.
type epoch struct {
	from, to hazard.Instant
	gone     bool
}

// apart returns how long before the event began, or after it ended, a moment is; 0 for one within.
func (e epoch) apart(at hazard.Instant) hazard.Instant { return max(0, e.from-at, at-e.to) }

// nearest returns the index of the event that an end at a moment ends, whatever its own start: one
// that goes on then, the latest, or else the nearest, which may only be announced by then. It is -1
// if there is none.
func nearest(all []epoch, at hazard.Instant) int {
	n := -1
	for i, e := range all {
		if !e.gone && (n < 0 || e.apart(at) < all[n].apart(at) || e.apart(at) == all[n].apart(at) && e.from > all[n].from) {
			n = i
		}
	}
	return n
}

// covers reports whether the period from … to belongs to the event.
func (e epoch) covers(from, to hazard.Instant) bool {
	return !e.gone && from <= e.to.Add(keyLife) && e.from <= to.Add(keyLife)
}

// meant returns the events under names, according to the store.
func (in *Intake) meant(ctx context.Context, src string, names []string) (map[string]store.Named, error) {
	return meant(func(src string, names []string) (map[string]store.Named, error) {
		return in.store.Reports.Named(ctx, src, names)
	}, src, names)
}

// meant returns a source's events under names. The second event under the name "332010" is under
// "332010@2", and so on.
func meant(named func(src string, names []string) (map[string]store.Named, error), src string, names []string) (map[string]store.Named, error) {
	all := map[string]store.Named{}
	for n := 0; len(names) > 0; n += 2 { // the one before may have lost its hazard
		var ask, more []string
		for _, name := range names {
			ask = append(ask, epochName(name, n), epochName(name, n+1))
		}
		found, err := named(src, ask)
		if err != nil {
			return nil, err
		}
		maps.Copy(all, found)
		for _, name := range names {
			_, first := found[epochName(name, n)]
			if _, second := found[epochName(name, n+1)]; first || second {
				more = append(more, name)
			}
		}
		names = more
	}
	return all, nil
}

// numbered returns the known events under a name, by number. One without a Key has no hazard any more:
// the next has.
func numbered(known map[string]store.Named, name string) (all []store.Named) {
	for n := 0; ; n++ {
		e, ok := known[epochName(name, n)]
		if _, next := known[epochName(name, n+1)]; !ok && !next {
			return all
		}
		all = append(all, e)
	}
}

// epochsOf returns the durations of events.
func epochsOf(events []store.Named) (all []epoch) {
	for _, e := range events {
		all = append(all, epoch{e.Start, max(e.Start, e.End), e.Key == ""})
	}
	return all
}

// free returns the number of an event that begins at a moment and is none of the known ones: that of
// one that has no hazard any more, if the next began later, or else the next number. So a report of
// the time of the former finds what is remembered of it.
func free(all []epoch, from hazard.Instant) int {
	for i, e := range all {
		if e.gone && from < all[i+1].from {
			return i
		}
	}
	return len(all)
}

// latest returns the known event that a name means now: the one that its source reported last, by
// the versions of its reports, or of those the one that began last. Its Key is empty if there is none.
func latest(newest func(src, event string) (int64, error), src string, known map[string]store.Named, name string) (last store.Named, err error) {
	all := numbered(known, name)
	if len(all) == 1 {
		return all[0], nil
	}
	var since int64
	for _, e := range all {
		if e.Key == "" {
			continue
		}
		version, err := newest(src, e.Key)
		if err != nil {
			return last, err
		}
		if last.Key == "" || version > since || version == since && e.Start > last.Start {
			last, since = e, version
		}
	}
	return last, nil
}

// latest returns the known event that a name means now, according to the store.
func (in *Intake) latest(ctx context.Context, src string, known map[string]store.Named, name string) (store.Named, error) {
	return latest(func(src, event string) (int64, error) { return in.store.Reports.Newest(ctx, src, event) }, src, known, name)
}

// meantAt returns the event that a source means by a name at a moment: the nearest one with that name
// whose life includes the moment, or nearly so. Its Key is empty if there is none.
func (w *writer) meantAt(src, name string, at hazard.Instant) (store.Named, error) {
	known, err := meant(w.tx.Events.Named, src, []string{name})
	all := epochsOf(numbered(known, name))
	if n := nearest(all, at); n >= 0 && all[n].covers(at, at) {
		return known[epochName(name, n)], err
	}
	return store.Named{}, err
}

// epochs renames reports that reuse a name long before or after its event.
func epochs(reports []hazard.Report, known map[string]store.Named) []hazard.Report {
	lives := map[string][]epoch{}
	reports = slices.Clone(reports)
	for i := range reports {
		r := &reports[i]
		if r.UUID != uuid.Nil { // names from other servers are UUIDs
			continue
		}
		key, _ := epochOf(lives, known, r.Key, r)
		aliases := key[1:]
		for _, name := range r.Aliases {
			// An end so long after the event adds nothing.
			if alias, covered := epochOf(lives, known, name, r); covered || r.Ended == "" {
				aliases = append(aliases, alias...)
			}
		}
		r.Key, r.Aliases = key[0], aliases
	}
	return reports
}

// epochOf returns the distinct name that a name has at the time of a report, and whether an event has
// it at that time. If the report closes the gap between events, they become one event, and epochOf
// returns all their names. lives holds the events under each name, including those of earlier reports.
func epochOf(lives map[string][]epoch, known map[string]store.Named, name string, r *hazard.Report) (called []string, covered bool) {
	all, read := lives[name]
	if !read {
		all = epochsOf(numbered(known, name))
	}
	from, to := r.Start, r.OverAt()
	if r.Ended != "" {
		lives[name] = all
		n := nearest(all, to)
		if covered = n < 0 || all[n].covers(to, to); !covered && !all[n].covers(from, from) && r.Ended != hazard.EndWithdrawn {
			return []string{epochName(name, free(all, from))}, false // it waits for the event that it ends
		}
		return []string{epochName(name, max(n, 0))}, covered
	}
	var one []int // the events that are one by this report
	whole := epoch{from: from, to: to}
	for i, e := range all {
		if e.covers(from, to) {
			one, whole = append(one, i), epoch{from: min(whole.from, e.from), to: max(whole.to, e.to)}
		}
	}
	if covered = one != nil; !covered {
		n := free(all, from)
		if one = []int{n}; n == len(all) {
			all = append(all, whole)
		}
	}
	for _, i := range one {
		all[i] = whole
		called = append(called, epochName(name, i))
	}
	lives[name] = all
	return called, covered
}

// plainNames returns the original names of a report, as SCHEME:ID, that epochs has replaced because
// an earlier event had them. Other sources use these names.
func plainNames(given, r *hazard.Report) (plain []string) {
	was := given.Names()
	for _, name := range r.Names() {
		if p := plainName(name); p != name && slices.Contains(was, p) {
			plain = append(plain, r.Source+":"+p)
		}
	}
	return plain
}

// lower returns the names with lower numbers than the new names of a group. Those that no event has
// mean its event too, so that the numbers of a name have no hole: of two events that one payload names
// alike, the first may make no hazard. A number that is part of a name as the source gave it counts nothing.
func (w *writer) lower(g *group) (names []string) {
	given := map[string]bool{}
	for _, j := range g.from {
		for _, name := range w.given[j].Names() {
			given[name] = true
		}
	}
	for _, fresh := range g.fresh {
		name := plainName(fresh)
		if given[fresh] || !given[name] {
			continue
		}
		for n := 0; epochName(name, n) != fresh; n++ {
			names = append(names, epochName(name, n))
		}
	}
	return names
}

// epochName returns the name of the nth event, from 0, with the same original name.
func epochName(name string, n int) string { return nth(name, "@", n) }

// nth returns the nth name, from 0, derived from one: "key", "key#2", "key#3" …
func nth(name, mark string, n int) string {
	if n == 0 {
		return name
	}
	return name + mark + strconv.Itoa(n+1)
}

// plainName undoes epochName.
func plainName(name string) string {
	if at := strings.LastIndexByte(name, '@'); at > 0 {
		if _, err := strconv.Atoi(name[at+1:]); err == nil {
			return name[:at]
		}
	}
	return name
}
