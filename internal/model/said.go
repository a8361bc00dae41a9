package model

import (
	"cmp"
	"slices"
	"strings"

	"github.com/hazardd/hazardd/internal/hazard"
)

// event is what one source told under one key, in the order in which it came.
type event struct {
	Name
	told   []telling
	hazard *Hazard // nil: none was made of it yet
	why    reason
	keys   []string // other names of it at its source
	refs   []string // names that it was ever given
	// alsoMade are the hazards that events made which are this one now.
	alsoMade []*Hazard
	put      *Hazard            // where a decision had put an event that this one has turned out to be
	slight   bool               // all that was said of it at last is too slight to make a hazard
	drill    bool               // what it was first reported as, for ever
	heard    word               // what was said when the source was last heard, for comparisons with other events
	drawn    []hazard.ShapesRef // of each part what its source drew last
}

// reason is why an event is part of its hazard.
type reason string

const (
	made     reason = "" // it made it
	byRule   reason = "a rule or a name says so"
	byPerson reason = "a person says so"
)

// telling is a report, or (without one) that the source lists the event no longer.
type telling struct {
	at        instant
	report    *hazard.Report
	withdrawn hazard.EndReason
}

// parts is the present word of each part of the event, sorted from the oldest: the report of the
// greatest version. A source that lists an event no longer has ended every part that goes on then,
// until it reports it again.
func (e *event) parts() []hazard.Report {
	words := map[string]hazard.Report{}
	for i, told := range e.told {
		if told.report == nil {
			for name, p := range words {
				if p.Ended == "" && overAt(&p) > told.at {
					p.Ended, p.EndedAt = told.withdrawn, &told.at
					words[name] = p
				}
			}
			continue
		}
		r := *told.report
		renewed := r.Renewed != nil
		r.Renewed, r.Kept.Renewed = e.renewed(r.Part, e.told[:i+1])
		was, ok := words[r.Part]
		if ok && was.Version > r.Version {
			was.Renewed, was.Kept.Renewed = r.Renewed, r.Kept.Renewed
			was.Refs = union(was.Refs, r.Refs)
			words[r.Part] = was
			if was.Products == nil && r.Products != nil { // what the newer ones leave out is kept of the newest that told
				was.Products, was.Kept.Products = r.Products, r.Version
				words[r.Part] = was
			} else if was.Kept.Products != 0 && r.Products != nil && r.Version > was.Kept.Products {
				was.Products, was.Kept.Products = r.Products, r.Version
				words[r.Part] = was
			}
			if told := cmp.Or(was.Kept.Areas, was.Version); len(r.Places) == 0 && len(r.Areas) > 0 && len(was.Places) == 0 &&
				(len(was.Areas) == 0 || was.Kept.Areas != 0 && r.Version > told) {
				was.Areas, was.Kept.Areas = r.Areas, r.Version
				words[r.Part] = was
			}
			continue
		}
		if len(r.Areas) == 0 && len(r.Places) == 0 && len(was.Places) == 0 && len(was.Areas) > 0 {
			r.Areas, r.Kept.Areas = was.Areas, cmp.Or(was.Kept.Areas, was.Version)
		}
		if r.Products == nil && was.Products != nil {
			r.Products, r.Kept.Products = was.Products, cmp.Or(was.Kept.Products, was.Version)
		}
		r.Refs = union(was.Refs, r.Refs)
		if r.Ended == "" && lapsed(&was) && !renewed { // only a report that names the event on takes that back
			r.Ended, r.EndedAt = was.Ended, was.EndedAt
		}
		if ok && was.Version == r.Version && was.End != nil && r.End != nil {
			r.End = new(max(*was.End, *r.End))
		}
		words[r.Part] = r
	}
	var parts []hazard.Report
	for _, p := range words {
		parts = append(parts, p)
	}
	slices.SortFunc(parts, func(a, b hazard.Report) int {
		return cmp.Or(cmp.Compare(a.Version, b.Version), cmp.Compare(a.Part, b.Part))
	})
	return parts
}

// renewed is until when a part is named on, by the newest of what was told that says so, and the version of that.
func (e *event) renewed(part string, told []telling) (until *instant, version int64) {
	for _, t := range told {
		if t.report == nil || t.report.Part != part || t.report.Renewed == nil {
			continue
		}
		if v := cmp.Or(t.report.Kept.Renewed, t.report.Version); until == nil || v > version || v == version && *t.report.Renewed > *until {
			until, version = t.report.Renewed, v
		}
	}
	return until, version
}

// lapsed reports whether a list that names what goes on no longer names a part.
func lapsed(p *hazard.Report) bool {
	return p.Ended == hazard.EndExpired && p.EndedAt != nil && !p.Relayed
}

func union(a, b []string) []string {
	return slices.Compact(slices.Sorted(slices.Values(slices.Concat(a, b))))
}

// overAt is when a part is over: when its source ended it, else when it runs out, never if it is open.
func overAt(p *hazard.Report) instant {
	if p.Ended == "" && p.Open {
		return hazard.MaxInstant
	}
	return expectedEnd(p)
}

// expectedEnd is overAt, but for an open part when it is expected to be over.
func expectedEnd(p *hazard.Report) instant {
	from := p.Start
	if p.Renewed != nil {
		from = max(from, *p.Renewed)
	}
	runsOut := from.Add(life(p.Type))
	if p.LifeMS != 0 {
		runsOut = from + instant(p.LifeMS)
	}
	if p.End != nil {
		runsOut = *p.End
	}
	switch {
	case p.Ended == "":
		return runsOut
	case p.EndedAt != nil:
		return *p.EndedAt
	case p.Ended == hazard.EndExpired:
		return max(runsOut, instant(p.Version))
	}
	return instant(p.Version)
}

// word is what one or several sources say at a moment.
type word struct {
	head     hazard.Report // of who speaks
	name     string
	severity hazard.Severity
	category hazard.Category
	start    instant
	end      instant // expected
	open     bool
	ended    hazard.EndReason // empty: it goes on, or ran out
	endedAt  instant
	point    *hazard.Point
	areas    []hazard.Area
	placed   bool // it names places
	url      string
	called   string
	measured []hazard.Measurement // in the order of names
	texts    []hazard.Text
	drawn    []hazard.ShapesRef
}

// nowhere reports whether it does not say where it is: it makes no hazard.
func (s *word) nowhere() bool { return s.point == nil && len(s.areas) == 0 }

// over is when what was said is over.
func (s *word) over() instant {
	switch {
	case s.ended != "":
		return s.endedAt
	case s.open:
		return hazard.MaxInstant
	}
	return s.end
}

// word is what the source says of the event at t.
func (e *event) word(t instant) word {
	parts := e.parts()
	inForce, _ := e.inForce(t)
	over := overAt(&inForce[0]) <= t
	head, loud := inForce[len(inForce)-1], inForce[0]
	for _, p := range inForce { // the words are those of the highest level
		if p.Severity >= loud.Severity {
			loud = p
		}
	}
	head.Key, head.Name, head.Type, head.Description = e.Key, loud.Name, loud.Type, loud.Description
	s := word{head: head, name: head.Name, category: cmp.Or(head.Category, hazard.Event), point: head.Point, url: head.URL, called: head.Called,
		end: hazard.MinInstant, start: parts[len(parts)-1].Start}
	if len(parts[len(parts)-1].Places) > 0 { // each message says from when it holds itself
		for _, p := range parts {
			s.start = min(s.start, p.Start)
		}
	}
	before := t
	if over { // it stays what it was just before
		before = overAt(&inForce[0]) - 1
	}
	s.texts = textsAt(loud.Texts, before)
	s.drawn = e.drawn
	for _, p := range inForce {
		if p.Part != loud.Part {
			s.texts = append(s.texts, nobodysOwn(textsAt(p.Texts, before))...)
		}
		s.measured = worstOf(s.measured, p.Measurements)
		s.severity = max(s.severity, p.Severity)
		s.end = max(s.end, expectedEnd(&p))
		s.open = s.open || p.Open && p.Ended == ""
		s.areas = append(s.areas, p.Areas...)
		s.placed = s.placed || len(p.Places) > 0 && len(p.Areas) == 0
	}
	if over {
		s.ended, s.endedAt = why(inForce), overAt(&head)
	}
	s.texts = eachOnce(s.texts)
	for i := range s.measured {
		s.measured[i].Source = e.Source
	}
	return s
}

// inForce is the parts that count at t, from the oldest, and the first of the places that each of
// them speaks for. When the last has left, the event stays what it was just before.
func (e *event) inForce(t instant) (parts []hazard.Report, places []string) {
	speaking := speakers(e.parts())
	last := hazard.MinInstant
	for _, s := range speaking {
		last = max(last, overAt(&s.Report))
	}
	for _, s := range speaking {
		if over := overAt(&s.Report); over > t || last <= t && over == last {
			parts, places = append(parts, s.Report), append(places, s.place)
		}
	}
	return parts, places
}

// speaker is a part, and the first of the places that it speaks for; "" is the whole event.
type speaker struct {
	hazard.Report
	place string
}

// speakers are the parts that speak for some place, or for the whole event, from the oldest. At each
// place the latest part that names it speaks, and nobody if another part has replaced that one.
func speakers(parts []hazard.Report) (list []speaker) {
	replacer := func(p hazard.Report) int { // the latest part that replaces p, -1 if none does
		by := -1
		for i, q := range parts {
			if q.Part != p.Part && slices.Contains(q.Replaces, p.Part) {
				by = i
			}
		}
		return by
	}
	for i, p := range parts {
		speaks := func(place string) bool {
			for j := i + 1; j < len(parts); j++ {
				q := parts[j]
				if by := replacer(q); by >= 0 && by < j { // replaced before it came
					continue
				}
				if len(q.Places) == 0 || slices.Contains(q.Places, place) {
					return false
				}
			}
			return true
		}
		places := p.Places
		if len(places) == 0 {
			places = []string{""}
		}
		if n := slices.IndexFunc(slices.Sorted(slices.Values(places)), speaks); replacer(p) < 0 && n >= 0 {
			list = append(list, speaker{p, slices.Sorted(slices.Values(places))[n]})
		}
	}
	if len(list) == 0 { // they replace each other in a circle
		return []speaker{{parts[len(parts)-1], ""}}
	}
	return list
}

// why is the reason for which an event ended whose last parts are given: none if one of them ran
// out. Of those that speak at once the strongest word counts.
func why(last []hazard.Report) (reason hazard.EndReason) {
	strength := []hazard.EndReason{hazard.EndExpired, hazard.EndAllClear, hazard.EndWithdrawn, hazard.EndCancelled, hazard.EndSuperseded}
	for _, p := range last {
		if p.Ended == "" {
			return ""
		}
	}
	newest := last[len(last)-1].Version
	for _, p := range last {
		if p.Version == newest && slices.Index(strength, p.Ended) >= slices.Index(strength, reason) {
			reason = p.Ended
		}
	}
	return reason
}

// rank is the place of a source in the order for a type.
func (w *World) rank(t hazard.Type, source string) int {
	order, ok := w.sources.Order[t]
	if !ok {
		order = w.sources.Order[""]
	}
	if i := slices.Index(order, source); i >= 0 {
		return i
	}
	return slices.Index(order, "")
}

// said is what all sources say of a hazard now, nil if no event is part of it.
func (w *World) said(h *Hazard) *word {
	var words []word
	for _, e := range w.events {
		if e.hazard == h {
			words = append(words, e.word(w.now))
		}
	}
	if len(words) == 0 {
		return nil
	}
	words = counting(words)
	slices.SortFunc(words, func(a, b word) int {
		x, y := &a.head, &b.head
		return cmp.Or(cmp.Compare(w.rank(x.Type, x.Source), w.rank(y.Type, y.Source)), cmp.Compare(x.Source, y.Source), cmp.Compare(x.Key, y.Key))
	})
	last := hazard.MinInstant
	for _, s := range words {
		last = max(last, s.over())
	}
	inForce := slices.DeleteFunc(slices.Clone(words), func(s word) bool { return s.over() <= w.now })
	over := len(inForce) == 0
	if over { // it stays what it was just before the last source left
		inForce = slices.DeleteFunc(slices.Clone(words), func(s word) bool { return s.over() != last })
	}
	var all word
	for i, s := range bySource(inForce) {
		if i == 0 {
			all = s
			continue
		}
		// What the more authoritative ones leave open.
		if len(all.areas) == 0 && !all.placed {
			if all.point == nil {
				all.point = s.point
			}
			all.areas, all.placed = s.areas, s.placed
		}
		for _, m := range s.measured {
			if !slices.ContainsFunc(all.measured, func(o hazard.Measurement) bool { return o.Name == m.Name }) {
				all.measured = append(all.measured, m)
			}
		}
		spoken := slices.Clone(all.texts)
		for _, text := range nobodysOwn(s.texts) { // those in other languages
			if !slices.ContainsFunc(spoken, func(o hazard.Text) bool { return strings.EqualFold(o.Language, text.Language) }) {
				all.texts = append(all.texts, text)
			}
		}
		all.texts = eachOnce(all.texts)
		all.url, all.called = cmp.Or(all.url, s.url), cmp.Or(all.called, s.called)
		all.end, all.open = max(all.end, s.end), all.open || s.open
	}
	if over {
		all.ended, all.endedAt, all.end = inForce[0].ended, last, last
		if slices.ContainsFunc(inForce, func(s word) bool { return s.ended == "" }) {
			all.ended = ""
		}
	}
	slices.SortFunc(all.measured, func(a, b hazard.Measurement) int { return cmp.Compare(a.Name, b.Name) })
	all.drawn = nil
	for _, s := range inForce {
		for _, ref := range s.drawn {
			if ref.Digest != "" && len(all.drawn) < mostShapes {
				all.drawn = append(all.drawn, ref)
			}
		}
	}
	// The name of some types says which one it is: the best outlives the report that gave it.
	if t := all.head.Type; t == hazard.Earthquake || t == hazard.Volcano || t == hazard.Wildfire {
		named := slices.IndexFunc(words, func(s word) bool { return s.head.Type == t && s.ended != hazard.EndWithdrawn && !s.head.Minor })
		if named >= 0 && words[named].head.Source != all.head.Source && words[named].name != all.name {
			all.name, all.texts = words[named].name, nobodysOwn(all.texts)
		}
	}
	// A cyclone keeps its class, whoever gives it.
	if storm, ok := strings.CutPrefix(all.name, "Tropical Cyclone "); ok && all.head.Type == hazard.Cyclone && all.called != "" {
		classed := func(s word) bool {
			i := strings.Index(strings.ToLower(s.head.Name), " "+strings.ToLower(all.called))
			return i > 0 && s.ended == "" && slices.Contains(w.sources.Classes, s.head.Name[:i])
		}
		if i := slices.IndexFunc(words, classed); i >= 0 {
			all.name = words[i].head.Name[:strings.Index(strings.ToLower(words[i].head.Name), " "+strings.ToLower(all.called))+1] + storm
		}
	}
	for _, s := range words {
		if s.category == hazard.Response && all.category != hazard.Exercise {
			all.category = hazard.Response
		}
	}
	return &all
}

// counting are those who speak for themselves; where there is none, those who relay that it is over, and of them the first, else those
// who relay.
func counting(words []word) []word {
	isOver := func(s word) bool { return s.ended != "" }
	for _, counts := range []func(word) bool{
		func(s word) bool { return !s.head.Relayed },
		func(s word) bool {
			return isOver(s) && !slices.ContainsFunc(words, func(o word) bool { return isOver(o) && o.endedAt < s.endedAt })
		},
	} {
		if kept := slices.DeleteFunc(slices.Clone(words), func(s word) bool { return !counts(s) }); len(kept) > 0 {
			return kept
		}
	}
	return words
}

// bySource makes one word of all that each source says: of its latest event, at the highest level.
func bySource(words []word) (list []word) {
	for len(words) > 0 {
		source := words[0].head.Source
		own := slices.DeleteFunc(slices.Clone(words), func(s word) bool { return s.head.Source != source })
		s := slices.MaxFunc(own, func(a, b word) int {
			return cmp.Or(cmp.Compare(a.head.Version, b.head.Version), cmp.Compare(a.head.Key, b.head.Key))
		})
		s.areas, s.texts, s.measured = nil, slices.Clone(s.texts), nil
		for _, o := range own {
			if o.head.Key != s.head.Key {
				s.texts = append(s.texts, nobodysOwn(o.texts)...)
			}
			s.measured = worstOf(s.measured, o.measured)
			s.severity, s.start, s.end, s.open = max(s.severity, o.severity), min(s.start, o.start), max(s.end, o.end), s.open || o.open
			s.areas, s.placed = append(s.areas, o.areas...), s.placed || o.placed
		}
		s.texts = eachOnce(s.texts)
		list, words = append(list, s), slices.DeleteFunc(slices.Clone(words), func(s word) bool { return s.head.Source == source })
	}
	return list
}

// textsAt are the texts that are not over at t.
func textsAt(texts []hazard.Text, t instant) []hazard.Text {
	return slices.DeleteFunc(slices.Clone(texts), func(x hazard.Text) bool { return x.Until != 0 && x.Until <= t })
}

// nobodysOwn are texts that the hazard's name is not made of.
func nobodysOwn(texts []hazard.Text) []hazard.Text {
	texts = slices.Clone(texts)
	for i := range texts {
		texts[i].Own = false
	}
	return texts
}

// The most texts that a hazard has, and the most bytes of them.
const (
	mostTexts     = 24
	mostTextBytes = 128 << 10
)

// eachOnce leaves out the texts that say again what one before says, and those for which there is no room: room is given to the first text of each
// language, then to the rest.
func eachOnce(texts []hazard.Text) (list []hazard.Text) {
	for _, t := range texts {
		if !slices.ContainsFunc(list, func(o hazard.Text) bool {
			return strings.EqualFold(o.Language, t.Language) && o.Name == t.Name && o.Description == t.Description
		}) {
			list = append(list, t)
		}
	}
	var first, rest, all []int // places in the list
	for i, t := range list {
		if slices.ContainsFunc(list[:i], func(o hazard.Text) bool { return strings.EqualFold(o.Language, t.Language) }) {
			rest = append(rest, i)
		} else {
			first = append(first, i)
		}
	}
	bytes := 0
	for _, i := range slices.Concat(first, rest) {
		t := list[i]
		size := len(t.Language) + len(t.Name) + len(t.Description)
		if len(all) < mostTexts && bytes+size <= mostTextBytes {
			all, bytes = append(all, i), bytes+size
		}
	}
	slices.Sort(all)
	var kept []hazard.Text
	for _, i := range all {
		kept = append(kept, list[i])
	}
	return kept
}

// worstOf is the worst of what was measured of each quantity; of two that are as bad the one whose scale comes first.
func worstOf(a, b []hazard.Measurement) (list []hazard.Measurement) {
	for _, m := range slices.Concat(a, b) {
		i := slices.IndexFunc(list, func(o hazard.Measurement) bool { return o.Name == m.Name })
		if i < 0 {
			list = append(list, m)
			continue
		}
		worse := cmp.Compare(m.Value, list[i].Value)
		if m.Name == hazard.Depth || m.Name == hazard.Pressure || m.Name == hazard.Containment { // the less, the worse
			worse = -worse
		}
		if worse > 0 || worse == 0 && m.Scale < list[i].Scale {
			list[i] = m
		}
	}
	return list
}

// The most parts of what a source draws of an event, and the most of a hazard.
const (
	mostParts  = 8
	mostShapes = 32
)

// draws adds to what a source drew of an event: of each part the greatest version counts, of the same version what came last. Of more parts than
// there is room for those of the greatest versions count.
func draws(have, came []hazard.ShapesRef) []hazard.ShapesRef {
	have = slices.Clone(have)
	for _, ref := range came {
		i := slices.IndexFunc(have, func(o hazard.ShapesRef) bool { return o.Part == ref.Part })
		switch {
		case i < 0:
			have = append(have, ref)
		case ref.Version >= have[i].Version:
			have[i] = ref
		}
	}
	for len(have) > mostParts {
		oldest := slices.MinFunc(have, func(a, b hazard.ShapesRef) int {
			return cmp.Or(cmp.Compare(a.Version, b.Version), cmp.Compare(b.Part, a.Part))
		})
		have = slices.DeleteFunc(have, func(o hazard.ShapesRef) bool { return o.Part == oldest.Part })
	}
	slices.SortFunc(have, func(a, b hazard.ShapesRef) int { return cmp.Compare(a.Part, b.Part) })
	return have
}
