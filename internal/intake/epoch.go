package intake

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

// keyLife is how long after the end of an event a name still means that event: longer than the life of any type of hazard, and as long as
// a volcano may be quiet within one eruption (volcano.si.edu, "current eruptions": no breaks of more than three months).
const keyLife = 90 * 24 * time.Hour

// epoch is how long one of the events went on that a source has had under one name, one after the other.
type epoch struct{ from, to hazard.Instant }

// covers reports whether what holds from … to belongs to the event.
func (e epoch) covers(from, to hazard.Instant) bool {
	return from <= e.to.Add(keyLife) && e.from <= to.Add(keyLife)
}

// meant is meant, by what is known now.
func (in *Intake) meant(ctx context.Context, src string, names []string) (map[string]store.Named, error) {
	return meant(func(src string, names []string) (map[string]store.Named, error) {
		return in.store.Named(ctx, src, names)
	}, src, names)
}

// meant returns the events that a source has had under names, by these; the second one under name "332010" by "332010@2", and so on.
func meant(named func(src string, names []string) (map[string]store.Named, error), src string, names []string) (map[string]store.Named, error) {
	all, err := named(src, names)
	found := all
	for n := 1; err == nil && len(found) > 0; n++ {
		var next []string
		for _, name := range names {
			if _, ok := found[epochName(name, n-1)]; ok {
				next = append(next, epochName(name, n))
			}
		}
		if found, err = named(src, next); err == nil {
			maps.Copy(all, found)
		}
	}
	return all, err
}

// latest is the one of known events that began last under a name: what the name means now. Its Key is empty if there is none.
func latest(known map[string]store.Named, name string) (last store.Named) {
	for n := 0; ; n++ {
		e, ok := known[epochName(name, n)]
		if !ok {
			return last
		}
		if last.Key == "" || e.Start > last.Start {
			last = e
		}
	}
}

// meantAt is the event that a source means by a name at a moment: of those under it the first in whose life, or near it, the moment lies. Its Key
// is empty if there is none by now.
func (w *writer) meantAt(src, name string, at hazard.Instant) (store.Named, error) {
	known, err := meant(w.tx.Named, src, []string{name})
	for n := 0; ; n++ {
		e, ok := known[epochName(name, n)]
		if !ok || (epoch{e.Start, max(e.Start, e.End)}).covers(at, at) {
			return e, err
		}
	}
}

// epochs gives reports that use a name of an event again, long after it or long before, another name in place of that (findings D32, D33).
func epochs(reports []hazard.Report, known map[string]store.Named) []hazard.Report {
	lives := map[string][]epoch{}
	reports = slices.Clone(reports)
	for i := range reports {
		r := &reports[i]
		if r.UUID != uuid.Nil { // names of other servers are uuids
			continue
		}
		r.Key, _ = epochOf(lives, known, r.Key, r)
		var aliases []string
		for _, name := range r.Aliases {
			// What ends something says nothing new of what was over long ago.
			if alias, covered := epochOf(lives, known, name, r); covered || r.Ended == "" {
				aliases = append(aliases, alias)
			}
		}
		r.Aliases = aliases
	}
	return reports
}

// epochOf is what a name of a report is called at the time of the report, and whether an event has that name then. lives are the events
// under each name, those of the reports before this one among them.
func epochOf(lives map[string][]epoch, known map[string]store.Named, name string, r *hazard.Report) (called string, covered bool) {
	all, read := lives[name]
	for n := 0; !read; n++ {
		e, ok := known[epochName(name, n)]
		if !ok {
			break
		}
		all = append(all, epoch{e.Start, max(e.Start, e.End)})
	}
	from, to, n := r.Start, r.OverAt(), -1
	if r.Ended != "" {
		for i, e := range all { // an end may give any start: it ends what went on before it
			if n < 0 || e.from <= to && (all[n].from > to || e.from > all[n].from) {
				n = i
			}
		}
		covered = n < 0 || all[n].covers(to, to)
	} else {
		n = slices.IndexFunc(all, func(e epoch) bool { return e.covers(from, to) })
		if covered = n >= 0; !covered {
			n, all = len(all), append(all, epoch{from, to})
		}
		all[n] = epoch{min(all[n].from, from), max(all[n].to, to)}
	}
	lives[name] = all
	return epochName(name, max(n, 0)), covered
}

// plainNames are the names of a report, SCHEME:ID, that an earlier event has had, and that epochs has replaced. Other sources call the event by these.
func plainNames(given, r *hazard.Report) (plain []string) {
	was := given.Names()
	for _, name := range r.Names() {
		if p := plainName(name); p != name && slices.Contains(was, p) {
			plain = append(plain, r.Source+":"+p)
		}
	}
	return plain
}

// epochName is what the nth event, from 0, under a name is called.
func epochName(name string, n int) string { return nth(name, "@", n) }

// nth is the nth, from 0, of the names that are made of one: "key", "key#2", "key#3" …
func nth(name, mark string, n int) string {
	if n == 0 {
		return name
	}
	return name + mark + strconv.Itoa(n+1)
}

// plainName is the name of which name is an epochName.
func plainName(name string) string {
	if at := strings.LastIndexByte(name, '@'); at > 0 {
		if _, err := strconv.Atoi(name[at+1:]); err == nil {
			return name[:at]
		}
	}
	return name
}
