package model

import (
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/hazardd/hazardd/internal/hazard"
)

// tooLate is the longest time since an event's end after which a report of it still makes a hazard.
const tooLate = 7 * 24 * time.Hour

// Drawing is what a source draws for the event with a key. Without a text, the source no longer
// draws anything.
type Drawing struct {
	Key, Part string
	Version   int64
	Text      string
}

// Report processes a payload that a source sends now.
func (w *World) Report(source string, reports []hazard.Report, drawings []Drawing, at instant) {
	w.Pass(at)
	drawings = slices.DeleteFunc(slices.Clone(drawings), func(d Drawing) bool { return !w.mayDraw(source, d.Key, reports) })
	w.take(reports, drawings, false)
	for _, d := range drawings { // drawings of events without a report in the payload
		if e := w.latest(source, d.Key); e != nil && !slices.ContainsFunc(reports, func(r hazard.Report) bool { return names(&r, d.Key) }) {
			e.drawn = draws(e.drawn, []hazard.ShapesRef{d.ref(source)})
		}
	}
	w.settle(w.now)
}

func (d *Drawing) ref(source string) hazard.ShapesRef {
	return hazard.ShapesRef{Source: source, Part: d.Part, Version: d.Version, Digest: d.Text}
}

// names reports whether a report uses the key as a name of its event.
func names(r *hazard.Report, key string) bool { return r.Key == key || slices.Contains(r.Aliases, key) }

// mayDraw reports whether a drawing counts. It counts if the event is part of a hazard, or if a
// report of the payload may make a hazard of it.
func (w *World) mayDraw(source, key string, reports []hazard.Report) bool {
	return w.latest(source, key) != nil || slices.ContainsFunc(reports, func(r hazard.Report) bool { return names(&r, key) && !r.Minor && r.Suspect == "" })
}

// latest returns the event that a source means by a key without a time: the one that it reported
// last, or of those the one that began last. It returns nil if none is part of a hazard.
func (w *World) latest(source, key string) (last *event) {
	for n := 0; ; n++ {
		e := w.event(Name{source, epoch(key, n)})
		if e == nil || e.hazard == nil {
			return last
		}
		if last == nil || e.newest() > last.newest() || e.newest() == last.newest() && e.heard.start > last.heard.start {
			last = e
		}
	}
}

// newest returns the greatest version of what the source reported of an event.
func (e *event) newest() (version int64) {
	version = math.MinInt64
	for _, told := range e.told {
		if told.report != nil {
			version = max(version, told.report.Version)
		}
	}
	return version
}

// take processes the reports and drawings of a source. released means that a person accepted the
// report, even if it is very late.
func (w *World) take(reports []hazard.Report, drawings []Drawing, released bool) {
	topics := w.topics(reports, drawings)
	for _, t := range topics {
		w.lead(t)
	}
	for _, t := range topics {
		slight := !slices.ContainsFunc(t.reports, func(r hazard.Report) bool { return !r.Minor })
		var believed []hazard.Report
		for i, r := range t.reports {
			if r.Suspect == "" || w.believed(t.given[i]) {
				believed = append(believed, r)
			}
		}
		e := w.event(t.event)
		if e == nil && len(believed) == 0 {
			continue
		}
		if e == nil {
			e = &event{Name: t.event}
			w.events = append(w.events, e)
		}
		parts, known := e.parts(), e.names()
		began := hazard.MinInstant
		if len(parts) > 0 {
			began = e.began(parts)
		}
		e.keys = append(e.keys, t.names...)
		for _, name := range t.names { // numbers below that no event has mean it too
			plain, _, again := strings.Cut(name, "@")
			for n := 0; again && epoch(plain, n) != name; n++ {
				if o := w.event(Name{e.Source, epoch(plain, n)}); o == nil || o.hazard == nil {
					e.keys = append(e.keys, epoch(plain, n))
				}
			}
		}
		for _, o := range t.same {
			w.absorbEvent(e, o)
		}
		for _, key := range t.names {
			if o := w.slight(Name{e.Source, key}); o != nil && o != e && !slices.Contains(known, e.Source+":"+key) {
				for _, p := range o.parts() {
					e.told = append(e.told, telling{at: w.now, report: &p})
				}
				e.starts = append(e.starts, o.starts...)
			}
		}
		for _, r := range believed {
			r.Suspect = ""
			e.told = append(e.told, telling{at: w.now, report: &r})
			if r.Ended == "" {
				certain := r.Type == hazard.Earthquake || r.Relayed
				e.starts = append(e.starts, start{r.Part, r.Version, r.Start, certain || r.Version-int64(r.Start) > 3_600_000, certain})
			}
		}
		before := map[*Hazard]State{}
		for _, h := range w.Hazards {
			before[h] = *h.Now()
		}
		if e.hazard == nil || len(t.same) > 0 || !reflect.DeepEqual(e.parts(), parts) || !slices.Equal(e.names(), known) || e.began(e.parts()) != began {
			e.slight = slight
			w.heard(e, parts, released)
			e.alsoMade, e.put = nil, nil
		}
		if e.hazard != nil {
			e.drawn = draws(e.drawn, t.drawn)
			w.settle(w.now) // the next event may keep the hazard as it is now
		}
		for h, last := range before { // a change that the same event reverses at once never happened
			if s := *h.Now(); s.At > last.At {
				if s.LastUpdate = last.LastUpdate; same(&s, &last) {
					h.Past = h.Past[:len(h.Past)-1]
				}
			}
		}
	}
	w.settle(w.now)
}

// topic is everything that a payload says about one event.
type topic struct {
	source  string
	names   []string // its names in the payload
	reports []hazard.Report
	given   []hazard.Report // the same reports as the source sent them
	drawn   []hazard.ShapesRef
	event   Name     // the event, known or new
	same    []*event // the other events that its names meant until now
}

// inOrder returns the reports of a payload with those last that may follow others by earlier keys.
func inOrder(reports []hazard.Report) []hazard.Report {
	reports = slices.Clone(reports)
	slices.SortStableFunc(reports, func(a, b hazard.Report) int { return min(len(a.Earlier), 1) - min(len(b.Earlier), 1) })
	return reports
}

// topics groups the reports of a payload by event. Reports are about one event if they share a
// name, if their names mean one event, or if other reports of the payload link them so.
func (w *World) topics(reports []hazard.Report, drawings []Drawing) (list []*topic) {
	reports = inOrder(reports)
	for i, r := range w.epochs(reports) {
		t := &topic{source: r.Source, names: append([]string{r.Key}, r.Aliases...), reports: []hazard.Report{r}, given: reports[i : i+1 : i+1]}
		for _, d := range drawings {
			if names(&reports[i], d.Key) {
				t.drawn = append(t.drawn, d.ref(r.Source))
			}
		}
		if key := w.followed(&r, united(w.linked(t, list), t), list); key != "" {
			t.names = []string{key} // a drawing has no names of its own
		} else {
			t.reports[0].Refs = union(r.Refs, plain(&reports[i], &r))
		}
		linked := w.linked(t, list)
		if len(linked) == 0 && len(w.known(t)) == 0 && r.Minor && !w.mayJoin(&t.reports[0]) {
			continue
		}
		if len(linked) == 0 {
			list = append(list, t)
			continue
		}
		*linked[0] = *united(linked, t)
		list = slices.DeleteFunc(list, func(o *topic) bool { return slices.Contains(linked[1:], o) })
	}
	return list
}

// united returns the union of all topics that turned out to be about one event.
func united(list []*topic, t *topic) *topic {
	all := &topic{source: t.source}
	for _, o := range append(slices.Clone(list), t) {
		all.names, all.drawn = append(all.names, o.names...), append(all.drawn, o.drawn...)
		all.reports, all.given = append(all.reports, o.reports...), append(all.given, o.given...)
	}
	return all
}

// known lists the events that the names of a topic mean.
func (w *World) known(t *topic) (list []*event) {
	for _, key := range t.names {
		if e := w.event(Name{t.source, key}); e != nil && e.hazard != nil && !slices.Contains(list, e) {
			list = append(list, e)
		}
	}
	return list
}

// linked returns the topics about the same event as t.
func (w *World) linked(t *topic, list []*topic) (linked []*topic) {
	for _, o := range list {
		if slices.ContainsFunc(t.names, func(name string) bool { return slices.Contains(o.names, name) }) ||
			slices.ContainsFunc(w.known(t), func(e *event) bool { return slices.Contains(w.known(o), e) }) {
			linked = append(linked, o)
		}
	}
	return linked
}

// followed returns the key of an earlier year that assigns this one report to another event than
// its own names do. It returns the empty string if there is none. The key must lead to an active
// event. If the own names already mean an event, it counts only if that event has no part for the
// report's places, and the earlier one has.
func (w *World) followed(r *hazard.Report, own *topic, list []*topic) string {
	speaks := func(t *topic) bool {
		t = united(w.linked(t, list), t)
		parts := slices.Clone(t.reports)
		for _, e := range w.known(t) {
			parts = append(parts, e.parts()...)
		}
		return slices.ContainsFunc(parts, func(p hazard.Report) bool {
			return slices.ContainsFunc(p.Places, func(place string) bool { return slices.Contains(r.Places, place) })
		})
	}
	isNew := len(own.reports) == 1 && len(w.known(own)) == 0
	own.reports = own.reports[:len(own.reports)-1] // without the report itself
	for _, key := range r.Earlier {
		there := &topic{source: r.Source, names: []string{key}}
		o, begins := w.known(there), false // or begins in this payload
		for _, t := range w.linked(there, list) {
			begins = begins || slices.ContainsFunc(t.reports, func(r hazard.Report) bool { return overAt(&r) > w.now })
		}
		goesOn := len(o) > 0 && o[0].hazard.Now().Status == hazard.Active || len(o) == 0 && begins
		if goesOn && len(w.linked(there, []*topic{own})) == 0 && (isNew || !speaks(own) && speaks(there)) {
			return key
		}
	}
	return ""
}

// lead finds the event of a topic: the first known event that its names mean, or else a new one
// with its first name.
func (w *World) lead(t *topic) {
	t.event = Name{t.source, t.names[0]}
	if known := w.known(t); len(known) > 0 {
		t.event, t.same = known[0].Name, known[1:]
	}
}

// absorbEvent moves everything reported and decided about event o to event e, since both turned out
// to be the same.
func (w *World) absorbEvent(e, o *event) {
	for _, p := range o.parts() {
		e.told = append(e.told, telling{at: w.now, report: &p})
	}
	e.starts = append(e.starts, o.starts...)
	e.keys, e.refs, e.drawn = append(append(e.keys, o.Key), o.keys...), append(e.refs, o.refs...), draws(e.drawn, o.drawn)
	if w.maker(o.hazard) == o {
		e.alsoMade = append(e.alsoMade, o.hazard)
	}
	if o.why == byPerson {
		e.put = o.hazard
	}
	for pair, one := range maps.Clone(w.one) {
		for i, name := range pair {
			if other := w.event(pair[1-i]); name == o.Name {
				if delete(w.one, pair); other != nil && other != e {
					w.one[pairOf(e, other)] = one
				}
			}
		}
	}
	w.events = slices.DeleteFunc(w.events, func(x *event) bool { return x == o })
}

// keyLife is how long after the end of an event its names still mean that event.
const keyLife = 90 * day

// epochs renames reused names. If a report begins long after, or long before, all events of a name,
// it gets another name instead.
func (w *World) epochs(reports []hazard.Report) []hazard.Report {
	lives := map[string][]span{} // of the events with each name
	reports = slices.Clone(reports)
	for i := range reports {
		r := &reports[i]
		if r.UUID != uuid.Nil { // a uuid is never used for another event
			continue
		}
		names := append([]string{r.Key}, r.Aliases...)
		r.Aliases = nil
		for j, name := range names {
			if _, ok := lives[name]; !ok {
				lives[name], _ = w.lived(Name{r.Source, name})
			}
			all, covered := meant(lives[name], r)
			if r.Ended == "" {
				whole := span{from: r.Start, to: overAt(r)}
				switch {
				case !covered && all[0] == len(lives[name]):
					lives[name] = append(lives[name], whole)
				case !covered:
					lives[name][all[0]] = whole
				}
				for _, n := range all {
					whole = span{from: min(whole.from, lives[name][n].from), to: max(whole.to, lives[name][n].to)}
				}
				for _, n := range all {
					lives[name][n] = whole
				}
			}
			for k, n := range all {
				switch {
				case j == 0 && k == 0:
					r.Key = epoch(name, n)
				case r.Ended == "" || covered: // a report of an end adds nothing to events that ended long ago
					r.Aliases = append(r.Aliases, epoch(name, n))
				}
			}
		}
	}
	return reports
}

// plain returns the names of a report that were reused, so that its event has other names here.
// Other reports still use these names.
func plain(given, r *hazard.Report) (list []string) {
	for _, name := range append([]string{given.Key}, given.Aliases...) {
		if slices.ContainsFunc(append([]string{r.Key}, r.Aliases...), func(n string) bool { return strings.HasPrefix(n, name+"@") }) {
			list = append(list, r.Source+":"+name)
		}
	}
	return list
}

// meantAt returns the event that a name means at a moment: the nearest event of that name that was
// active within 90 days of it. It returns nil if there is none.
func (w *World) meantAt(name Name, at instant) *event {
	lives, events := w.lived(name)
	if len(events) == 0 {
		return nil
	}
	n := nearest(lives, at)
	if l := lives[n]; at > l.to.Add(keyLife) || l.from > at.Add(keyLife) {
		return nil
	}
	return events[n]
}

// lived returns the lives of the events of a name, and the events. One without a hazard before one that
// has one is gone.
func (w *World) lived(name Name) (lives []span, events []*event) {
	with := func(n int) *event {
		if e := w.event(Name{name.Source, epoch(name.Key, n)}); e != nil && e.hazard != nil {
			return e
		}
		return nil
	}
	for n := 0; with(n) != nil || with(n+1) != nil; n++ {
		life := span{gone: true}
		e := with(n)
		if e != nil {
			life = span{from: e.heard.start, to: max(e.heard.start, e.heard.over())}
		}
		lives, events = append(lives, life), append(events, e)
	}
	return lives, events
}

// span is the time from the start to the end of an event, which may be gone.
type span struct {
	from, to instant
	gone     bool
}

// meant returns which of the events of a name a report means, several if it closes the gaps between
// them, and whether it falls into their lives. If it means none of them, it is the next event.
func meant(lives []span, r *hazard.Report) (all []int, covered bool) {
	next := len(lives) // the number of an event that is none of them
	for i, l := range slices.Backward(lives) {
		if l.gone && r.Start < lives[i+1].from {
			next = i
		}
	}
	covers := func(l span, from, to instant) bool {
		return !l.gone && from <= l.to.Add(keyLife) && l.from <= to.Add(keyLife)
	}
	to := overAt(r)
	if r.Ended == "" {
		for i, l := range lives {
			if covers(l, r.Start, to) {
				all = append(all, i)
			}
		}
		if all == nil {
			return []int{next}, false
		}
		return all, true
	}
	n := nearest(lives, to)
	if covered = len(lives) == 0 || covers(lives[n], to, to); !covered && !covers(lives[n], r.Start, r.Start) && r.Ended != hazard.EndWithdrawn {
		n = next // the event that it ends is not known yet
	}
	return []int{n}, covered
}

// nearest returns the event that goes on at a moment, or else the nearest in time; of several, the
// one that began last.
func nearest(lives []span, at instant) (n int) {
	apart := func(l span) instant { return max(0, l.from-at, at-l.to) }
	n = slices.IndexFunc(lives, func(l span) bool { return !l.gone })
	for i, l := range lives {
		if !l.gone && (apart(l) < apart(lives[n]) || apart(l) == apart(lives[n]) && l.from > lives[n].from) {
			n = i
		}
	}
	return max(n, 0)
}

// epoch returns the name here of the nth event, from 0, that uses a name.
func epoch(name string, n int) string {
	if n == 0 {
		return name
	}
	return fmt.Sprint(name, "@", n+1)
}

// Held is a report that looks wrong, and a person's decision about it.
type Held struct {
	Report   hazard.Report
	Decision string // empty, "released" or "dismissed"
}

// believed reports whether a suspect report counts, because a person has released the very same
// report. Otherwise it is held.
func (w *World) believed(r hazard.Report) bool {
	for _, h := range w.Held {
		if o := &h.Report; o.Source == r.Source && o.Key == r.Key && o.Part == r.Part && o.Version == r.Version {
			return h.Decision == "released"
		}
	}
	r.Suspect = ""
	w.Held = append(w.Held, &Held{Report: r})
	return false
}

// Decide releases or dismisses a held report for a person. It reports whether that is allowed.
func (w *World) Decide(h *Held, decision string, at instant) bool {
	w.Pass(at)
	if h.Decision != "" {
		return false
	}
	h.Decision = decision
	if decision == "released" {
		w.take([]hazard.Report{h.Report}, nil, true)
	}
	return true
}

// event returns what a source reported under key; nil if it reported nothing.
func (w *World) event(name Name) *event {
	for _, e := range w.events {
		if e.hazard != nil && (e.Name == name || e.Source == name.Source && slices.Contains(e.keys, name.Key)) {
			return e
		}
	}
	return w.slight(name)
}

// slight returns what is remembered under a key that is not part of a hazard; nil if nothing is.
func (w *World) slight(name Name) *event {
	i := slices.IndexFunc(w.events, func(e *event) bool { return e.hazard == nil && e.Name == name })
	if i < 0 {
		return nil
	}
	return w.events[i]
}

// heard updates hazards after reports about an event. known are the parts of the event before.
func (w *World) heard(e *event, known []hazard.Report, released bool) {
	if len(e.told) == 0 {
		return
	}
	e.heard = e.word(w.now)
	e.heard.point = w.where(&e.heard)
	if e.hazard == nil {
		e.drill = e.heard.category == hazard.Exercise
	}
	waits := false // the event has no place yet
	if old := e.hazard != nil; old || e.heard.ended != hazard.EndWithdrawn && (released || e.heard.over() >= w.now.Add(-tooLate)) {
		if !old {
			if e.hazard = w.ofUUID(e); e.hazard != nil {
				e.why = byPerson // treated like a person's decision
			}
		}
		w.regroup(e)
		e.refs = e.names() // they stay, even if the event is too slight
		waits = !(e.slight && e.heard.head.Minor)
	}
	if e.hazard == nil {
		// Reports of an end are kept under their own key, because the report that they end may
		// arrive later. Reports from before the event left a hazard are kept too, because
		// superseded ones must not come back. Events that wait for a place are kept.
		e.keys = nil
		for _, p := range e.parts() {
			isNew := !waits && !slices.ContainsFunc(known, func(o hazard.Report) bool { return o.Part == p.Part })
			if isNew && p.Ended == "" && slices.ContainsFunc(e.told, func(t telling) bool { return t.at == w.now && t.report.Part == p.Part }) {
				e.told = slices.DeleteFunc(e.told, func(t telling) bool { return t.report != nil && t.report.Part == p.Part })
				e.starts = slices.DeleteFunc(e.starts, func(s start) bool { return s.part == p.Part })
			}
		}
	}
}

// ofUUID returns the hazard that already has the uuid of a new event, if a server relays either of
// them, or the hazard into which it was merged. It returns nil if there is none.
func (w *World) ofUUID(e *event) *Hazard {
	id := e.heard.head.UUID
	if id == uuid.Nil {
		id = hazard.EventUUID(e.Source, e.Key)
	}
	i := slices.IndexFunc(w.Hazards, func(h *Hazard) bool { return h.UUID == id })
	if i < 0 {
		return nil
	}
	h, relayed := w.Hazards[i], e.heard.head.Relayed
	for range 10 {
		if s := h.Now(); s.Reason == hazard.EndMerged {
			h = w.hazard(s.Successor)
		}
	}
	events := w.partOf(h)
	if h.drill != e.drill || !relayed && (len(events) == 0 || slices.ContainsFunc(events, func(o *event) bool { return !o.word(w.now).head.Relayed })) {
		return nil
	}
	if slices.ContainsFunc(events, func(o *event) bool { one, decided := w.one[pairOf(e, o)]; return decided && !one }) {
		return nil // a person has separated them
	}
	if len(events) == 0 && h.kept != nil { // it has an event again
		h.kept = nil
	}
	for _, o := range events { // the new event always stays with that event
		if id == o.word(w.now).head.UUID || id == hazard.EventUUID(o.Source, o.Key) {
			w.one[pairOf(e, o)] = true
		}
	}
	return h
}

// mayJoin reports whether a report that is too slight to make a hazard may add to a hazard of other
// reports.
func (w *World) mayJoin(r *hazard.Report) bool {
	return len(r.Refs) > 0 || slices.ContainsFunc(w.events, func(e *event) bool {
		return e.Name != (Name{r.Source, r.Key}) && slices.Contains(e.refs, r.Source+":"+r.Key) || e.hazard != nil && (e.Source != r.Source || r.Type == hazard.Cyclone) && e.heard.head.Type == r.Type && together(r.Type, e.heard.start, r.Start)
	})
}

// Withdraw records that a source no longer lists an event.
func (w *World) Withdraw(name Name, reason hazard.EndReason, at instant) {
	w.Pass(at)
	if e := w.event(name); e != nil && e.hazard != nil {
		e.told = append(e.told, telling{at: at, withdrawn: reason})
		if over := e.word(at); over.over() != e.heard.over() { // other events are compared with its state after the withdrawal
			e.heard.open, e.heard.end, e.heard.ended, e.heard.endedAt = over.open, over.end, over.ended, over.endedAt
		}
	}
	w.settle(at)
}

// Create makes a hazard for an editor. It reports whether that is allowed.
func (w *World) Create(id uuid.UUID, fields map[string]any, at instant) bool {
	w.Pass(at)
	h := &Hazard{UUID: id, made: at, org: w.By.org(), creator: w.By.Name, decided: []*decision{{fields: maps.Clone(fields)}}, drill: fields["category_ID"] == hazard.Exercise}
	s := w.state(h)
	if s.End < s.Start || s.Status == hazard.Expired {
		return false
	}
	w.Hazards = append(w.Hazards, h)
	w.settle(at)
	return true
}

// Patch sets fields of a hazard for an editor. It reports whether that is allowed.
func (w *World) Patch(h *Hazard, fields map[string]any, at instant) bool {
	w.Pass(at)
	was, draft := h.Now(), *h.Now()
	differ := map[string]any{}
	for field, value := range fields {
		if !reflect.DeepEqual(was.get(field), value) {
			differ[field] = value
			draft.set(field, value)
		}
	}
	over := was.Status == hazard.Expired
	switch {
	case !w.By.owns(h.org), draft.End < draft.Start,
		draft.Category != was.Category && !(was.Category == hazard.Event && draft.Category == hazard.Response),
		over && draft.End != was.End && draft.End > at, // an ended hazard cannot be extended
		over && was.AutoExpire && !draft.AutoExpire:    // nor made to stay open
		return false
	}
	d := &decision{fields: differ, marks: slices.Sorted(maps.Keys(differ))}
	_, lat := differ["latitude"]
	if _, lon := differ["longitude"]; lat || lon { // latitude and longitude are set together
		differ["latitude"], differ["longitude"] = draft.Latitude, draft.Longitude
	}
	w.decide(h, d)
	return true
}

// decide stores a decision. A hazard that was merged into another keeps its state, apart from the
// decision.
func (w *World) decide(h *Hazard, d *decision) {
	before := *h.Now()
	h.decided = append(h.decided, d)
	w.settle(w.now)
	after := h.Now()
	if after.Status == hazard.Expired && after.Reason != hazard.EndMerged && (before.Status == hazard.Active || before.Reason != after.Reason) {
		h.Ends = append(h.Ends, &End{At: w.now, Reason: after.Reason, hazard: h, since: len(h.decided) - 1, before: before, after: *after})
	}
}

// End ends a hazard for an editor: it is over or, if it is retracted with a note, it never existed.
// End reports whether that is allowed.
func (w *World) End(h *Hazard, reason hazard.EndReason, note string, at instant) bool {
	w.Pass(at)
	s := h.Now()
	switch {
	case !w.By.owns(h.org):
		return false
	case reason == hazard.EndAllClear && s.Status == hazard.Expired, s.Reason == hazard.EndRetracted:
		return true // nothing to do
	}
	end := s.End
	if s.Status == hazard.Active {
		end = max(at, s.Start)
	}
	w.decide(h, &decision{ended: reason, end: end, note: note, successor: s.Successor})
	return true
}

// Merge records that a person considers hazard from the same as hazard into. It reports whether
// that is allowed.
func (w *World) Merge(from, into *Hazard, at instant) bool {
	w.Pass(at)
	if !w.By.owns(from.org) || !w.By.owns(into.org) || from == into || from.Now().Reason == hazard.EndMerged || from.drill != into.drill || into.Now().Status != hazard.Active {
		return false
	}
	return w.try(func() bool {
		w.merge(from, into)
		return from.Now().Reason == hazard.EndMerged // otherwise both together have already ended
	})
}

func (w *World) merge(from, into *Hazard) {
	var parted [][2]Name // pairs that a person had declared separate
	staying := w.partOf(into)
	for _, e := range w.partOf(from) {
		for _, o := range staying {
			if one, decided := w.one[pairOf(e, o)]; decided && !one {
				parted = append(parted, pairOf(e, o))
			}
			w.one[pairOf(e, o)] = true
		}
		w.move(e, into)
		e.why = byPerson
	}
	was, since, absorbed := from.kept, from.keptDecisions, from.absorbed
	w.keep(from)
	taken := w.carry(from, into)
	w.regroup(nil)
	if into.Now().Status != hazard.Active {
		return
	}
	w.absorb(from, into, true)
	end := from.Ends[len(from.Ends)-1]
	end.parted, end.kept, end.keptDecisions, end.absorbed, end.carried = parted, was, since, was != nil && absorbed, taken
	from.carried = append(slices.Clone(from.carried), taken...)
	w.settle(w.now)
}

// try runs happen. If it returns false, try undoes all of its changes.
func (w *World) try(happen func() bool) bool {
	before := *w
	before.one, before.removed, before.changed, before.folders, before.gave = maps.Clone(w.one), maps.Clone(w.removed), maps.Clone(w.changed), maps.Clone(w.folders), maps.Clone(w.gave)
	before.Hazards, before.events, before.products = slices.Clone(w.Hazards), slices.Clone(w.events), slices.Clone(w.products)
	var back []func()
	for _, h := range w.Hazards {
		past := slices.Clone(h.Past)
		back = append(back, saved(h), saved(h.kept), func() { h.Past = past })
		for _, d := range h.decided {
			fields := maps.Clone(d.fields)
			back = append(back, saved(d), func() { d.fields = fields })
		}
	}
	for _, e := range w.events {
		back = append(back, saved(e))
	}
	for _, p := range w.products {
		back = append(back, saved(p))
	}
	if happen() {
		return true
	}
	*w = before
	for _, restore := range back {
		restore()
	}
	return false
}

// saved returns a function that restores the current value.
func saved[T any](p *T) (restore func()) {
	if p == nil {
		return func() {}
	}
	v := *p
	return func() { *p = v }
}

// Split records that a person considers an event of a hazard separate from the others. It reports
// whether that is allowed.
func (w *World) Split(h *Hazard, name Name, at instant) bool {
	w.Pass(at)
	e := w.event(name)
	if !w.By.owns(h.org) || e == nil || e.hazard != h || len(w.partOf(h)) == 1 {
		return false
	}
	return w.try(func() bool {
		split := &Split{Hazard: h, event: e, why: e.why, before: map[[2]Name]bool{}}
		events, folders := w.partOf(h), map[*Product]*Product{}
		for _, p := range w.products {
			if p.hazard == h && p.parent != nil {
				folders[p] = p.parent
			}
		}
		slices.SortFunc(events, (*event).before)
		for _, o := range events {
			split.moves = append(split.moves, move{event: o, why: o.why, drawn: o.drawn})
			if o != e {
				if one, decided := w.one[pairOf(e, o)]; decided {
					split.before[pairOf(e, o)] = one
				}
				split.parted = append(split.parted, pairOf(e, o))
				w.one[pairOf(e, o)] = false
			}
		}
		if e.why == byPerson {
			e.why = byRule
		}
		w.regroup(nil)
		w.settle(at)
		if h.kept == nil {
			h.touch(at)
		}
		for i := range split.moves {
			split.moves[i].to = split.moves[i].event.hazard
		}
		split.moves = slices.DeleteFunc(split.moves, func(m move) bool { return m.to == h })
		for _, p := range w.products {
			if p.parent == nil && folders[p] != nil {
				split.loose = append(split.loose, carried{product: p, parent: folders[p]})
			}
		}
		if len(w.partOf(h)) > 0 { // otherwise it has become part of another
			h.Splits = append(h.Splits, split)
		}
		return e.hazard != nil // otherwise it is too slight for a hazard of its own
	})
}

// Split is a person's decision that an event is separate from the rest of a hazard.
type Split struct {
	Hazard *Hazard
	event  *event
	why    reason           // why the event was part of the hazard
	parted [][2]Name        // its pairs with each other event
	before map[[2]Name]bool // earlier decisions about these pairs
	moves  []move           // the events that left; to is nil if they are too slight for a hazard
	loose  []carried        // the people's products that lost their folder by the split
}

// Unsplit undoes a person's split. The earlier decisions about the events apply again. The events
// that left return to the hazard, if their current data allows. It reports whether that is allowed.
func (w *World) Unsplit(s *Split, at instant) bool {
	w.Pass(at)
	h := s.Hazard
	if !w.By.owns(h.org) || h.Now().Reason == hazard.EndMerged || !slices.Contains(w.events, s.event) || s.event.hazard == nil ||
		slices.ContainsFunc(s.parted, func(pair [2]Name) bool { one, decided := w.one[pair]; return !decided || one }) ||
		!slices.ContainsFunc(s.moves, func(m move) bool { return m.event == s.event }) && s.event.hazard != h ||
		slices.ContainsFunc(s.moves, func(m move) bool {
			return m.to != nil && (!w.By.owns(m.to.org) || m.event.hazard != m.to || !slices.Contains(w.events, m.event))
		}) {
		return false
	}
	return w.try(func() bool {
		for _, pair := range s.parted {
			delete(w.one, pair)
		}
		maps.Copy(w.one, s.before)
		if s.event.hazard == h {
			s.event.why = s.why
		}
		folders := map[*Product]*Product{} // the folders before the events went back
		for _, p := range w.products {
			folders[p] = p.parent
		}
		var left []*Hazard
		first := map[*Hazard]*event{} // first event that left for each hazard
		for _, m := range s.moves {
			if m.to == nil && (m.event.hazard != nil || len(m.event.parts()) == 0) {
				continue
			}
			if m.to != nil && (first[m.to] == nil || m.event == s.event) {
				first[m.to] = m.event
			}
			if m.to == nil {
				m.event.drawn = m.drawn
			}
			w.move(m.event, h)
			m.event.why = m.why
			h.kept = nil // it has an event again
		}
		for _, x := range w.Hazards {
			if first[x] != nil && len(w.partOf(x)) == 0 && x.source != "" && x.kept == nil {
				w.keep(x)
				left = append(left, x)
			}
		}
		active := slices.DeleteFunc(slices.Clone(w.Hazards), func(x *Hazard) bool { return first[x] == nil || x.kept != nil || x.Now().Status != hazard.Active })
		w.regroup(nil)
		if slices.ContainsFunc(active, func(x *Hazard) bool {
			return x.kept != nil && x.Now().Status != hazard.Active && x.Now().Reason != hazard.EndMerged
		}) {
			return false // events that joined in the meantime would be part of an ended hazard
		}
		for _, l := range s.loose {
			there := slices.ContainsFunc(w.Products(), func(p *Product) bool { return p.UUID == l.parent.UUID && p.hazard == h })
			if there && slices.Contains(w.products, l.product) && l.product.hazard == h && l.product.parent == nil {
				l.product.parent = l.parent
			}
		}
		for _, x := range left {
			if x.kept == nil { // it stays separate
				continue
			}
			into := first[x].hazard
			if x.kept.Status == hazard.Active && into.Now().Status != hazard.Active {
				return false
			}
			w.absorb(x, into, false)
			for _, c := range x.carried { // the products return to these folders if the merge is undone
				c.parent = folders[c.product]
			}
		}
		w.settle(at)
		h.touch(at)
		h.Splits = slices.DeleteFunc(slices.Clone(h.Splits), func(o *Split) bool { return o == s })
		return true
	})
}

// touch records a change of a hazard, even if its data is the same.
func (h *Hazard) touch(at instant) {
	if s := *h.Now(); s.At != at {
		s.At, s.LastUpdate = at, at
		h.Past = append(h.Past, s)
	}
}

// End is an end by a person, or a merge into another hazard.
type End struct {
	At            instant
	Reason        hazard.EndReason
	hazard        *Hazard
	since         int   // first of the decisions about the hazard that came with the end or later
	before        State // for an end by a person: the state before and after
	after         State
	into          *Hazard // for a merge: the hazard merged into; nil for an end by a person
	moves         []move
	parted        [][2]Name  // for a merge by a person: events that had been declared separate
	carried       []*carried // people's products that moved with it
	kept          *State     // the state that was kept before, or nil
	keptDecisions int
	absorbed      bool // an earlier merge had already ended the hazard
}

// move is an event's departure from a hazard.
type move struct {
	event *event
	to    *Hazard
	why   reason             // why it was part of that hazard
	drawn []hazard.ShapesRef // for a split: the drawings of its source
}

func (w *World) move(e *event, to *Hazard) {
	if e.hazard != nil && e.hazard != to {
		w.moved[e.hazard] = append(w.moved[e.hazard], move{event: e, to: to, why: e.why})
		for _, p := range w.products {
			if p.of == e && p.hazard == e.hazard {
				p.hazard, p.parent = to, nil
			}
		}
	}
	e.hazard = to
}

// Undo undoes an end for a person: the hazard continues as if it had not ended. Changes to its
// status, level and end since then are void; other changes stay. It reports whether that is
// allowed.
func (w *World) Undo(end *End, at instant) bool {
	w.Pass(at)
	h, now := end.hazard, end.hazard.Now()
	if !w.By.owns(h.org) || end.into != nil && !w.By.owns(end.into.org) || h.Ends[len(h.Ends)-1] != end || now.Reason != end.Reason {
		return false
	}
	older := h.kept != nil && end.since < h.keptDecisions // the end came before the events left
	if end.into == nil && (now.Status != end.after.Status || now.End != end.after.End || now.Severity != end.after.Severity || older && end.before.Status == hazard.Active) {
		return false
	}
	both := now.EditedField("start_Date") && (end.before.EditedField("end_Date") || end.before.EditedField("status"))
	if (h.source == "" || older || both) && end.before.End < now.Start { // since then an editor has moved the start after the end
		return false
	}
	if b := &end.before; b.Reason == hazard.EndMerged && w.hazard(b.Successor).Now().Status != hazard.Active { // only an active hazard can absorb others
		return false
	}
	if end.into != nil && !w.takeBack(end) {
		return false
	}
	h.Ends = h.Ends[:len(h.Ends)-1]
	h.void(end.since)
	h.goesOn = end.into == nil && end.before.Status == hazard.Active || end.into != nil && h.wasActive
	if end.into == nil && older {
		h.kept.unend(&end.before)
	}
	w.settleOne(h) // its events are compared with others in this state
	w.regroup(nil)
	w.settle(at)
	h.touch(at)
	return true
}

// unend restores the status, the level and the end from before an end.
func (k *State) unend(b *State) {
	k.Status, k.Severity, k.End, k.AutoExpire, k.Reason, k.Successor, k.Note = b.Status, b.Severity, b.End, b.AutoExpire, b.Reason, b.Successor, b.Note
	k.Edited = slices.DeleteFunc(slices.Clone(k.Edited), func(m string) bool {
		return slices.Contains([]string{"status", "end_Date", "autoexpire", "severity_ID"}, m) && !b.EditedField(m)
	})
}

// void discards decisions about the status, the level and the end of a hazard, from the given
// decision on.
func (h *Hazard) void(from int) {
	for _, d := range h.decided[from:] {
		d.ended = ""
		for _, field := range []string{"end_Date", "autoexpire", "severity_ID"} {
			delete(d.fields, field)
			d.marks = slices.DeleteFunc(slices.Clone(d.marks), func(m string) bool { return m == field })
		}
	}
}

func (w *World) hazard(id uuid.UUID) *Hazard {
	return w.Hazards[slices.IndexFunc(w.Hazards, func(h *Hazard) bool { return h.UUID == id })]
}

// takeBack returns to a hazard the events that moved to the hazard it was merged into, and
// separates them from the other events there. Events that left for a third hazard are matched by
// their data.
func (w *World) takeBack(merge *End) bool {
	moves := slices.DeleteFunc(slices.Clone(merge.moves), func(m move) bool { return m.to != merge.into })
	if merge.into.Now().Reason == hazard.EndMerged || slices.ContainsFunc(moves, func(m move) bool { return m.event.hazard != m.to || !slices.Contains(w.events, m.event) }) ||
		slices.ContainsFunc(merge.carried, func(c *carried) bool { return slices.Contains(w.products, c.product) && c.product.hazard != c.to }) {
		return false
	}
	none := merge.hazard.source != "" && merge.kept == nil && len(moves) == 0 // its events are now names of other events
	if none && merge.before.Status == hazard.Active {
		return false
	}
	if left := len(w.partOf(merge.into)) - len(moves); left == 0 && merge.into.source != "" { // their events have been joined into one
		return false
	}
	var events []*event
	for _, m := range moves {
		events = append(events, m.event)
	}
	w.bringBack(merge.hazard, merge.carried, events...)
	for _, m := range moves {
		m.event.hazard, m.event.why = merge.hazard, m.why
	}
	for _, pair := range merge.parted {
		w.one[pair] = false
	}
	for _, m := range moves {
		for _, o := range w.partOf(merge.into) {
			w.one[pairOf(m.event, o)] = false
		}
	}
	if none {
		merge.hazard.kept.unend(&merge.before)
		return true
	}
	merge.hazard.kept, merge.hazard.keptDecisions, merge.hazard.absorbed = merge.kept, merge.keptDecisions, merge.absorbed
	return true
}
