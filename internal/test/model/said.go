package model

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/hazardd/hazardd/internal/hazard"
)

// event is what one source reported under one key, in the order of arrival.
type event struct {
	Name
	told   []telling
	starts []start // what its reports said of its start, but for those that ended it
	hazard *Hazard // nil: the event is part of no hazard yet
	why    reason
	keys   []string // other names of it at its source
	refs   []string // names that it ever had
	// alsoMade are earlier hazards made by events that are now this event.
	alsoMade []*Hazard
	put      *Hazard            // the hazard to which a decision had moved an event that is now this event
	slight   bool               // its latest reports are too slight to make a hazard
	drill    bool               // decided by its first report, and never changed
	heard    word               // what was known when the source last reported, for comparisons with other events
	drawn    []hazard.ShapesRef // the latest drawing of the source for each part
}

// reason is why an event is part of its hazard.
type reason string

const (
	made     reason = "" // the event made the hazard
	byRule   reason = "a rule or a name says so"
	byPerson reason = "a person says so"
)

// start is what one report said of the start of its event.
type start struct {
	part    string
	version int64
	at      instant
	stated  bool // long before its issue, or certain
	certain bool // of an earthquake, or passed on
}

// compareStarts orders starts by part and issue. Of one issue a certain one counts, or else the
// earliest.
func compareStarts(a, b start) int {
	if c := cmp.Or(cmp.Compare(a.part, b.part), cmp.Compare(a.version, b.version)); c != 0 || a.certain == b.certain {
		return cmp.Or(c, cmp.Compare(a.at, b.at))
	}
	if a.certain {
		return -1
	}
	return 1
}

// telling is a report. Without one, it means that the source no longer lists the event.
type telling struct {
	at        instant
	report    *hazard.Report
	withdrawn hazard.EndReason
}

// parts returns the present report of each part of the event, which is the one with the greatest
// version, sorted from the oldest. If a source no longer lists an event, that ends all its active
// parts until the source reports it again.
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
			if was.Products == nil && r.Products != nil { // newer reports without products keep those of the newest report that has some
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
		if r.Ended == "" && lapsed(&was) && !renewed { // only a report that renews the event revokes this
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

// renewed returns the time until which a part is renewed, from the newest report that gives one,
// and the version of that report.
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

// lapsed reports whether a part is no longer in a list of active events.
func lapsed(p *hazard.Report) bool {
	return p.Ended == hazard.EndExpired && p.EndedAt != nil && !p.Relayed
}

func union(a, b []string) []string {
	return slices.Compact(slices.Sorted(slices.Values(slices.Concat(a, b))))
}

// overAt returns the end of a part: when its source ended it, or else when it expires. An open part
// never ends.
func overAt(p *hazard.Report) instant {
	if p.Ended == "" && p.Open {
		return hazard.MaxInstant
	}
	return expectedEnd(p)
}

// expectedEnd is overAt, but for an open part it returns the expected end.
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
	head     hazard.Report // the report that speaks for all
	name     string
	severity hazard.Severity
	category hazard.Category
	start    instant
	end      instant // expected end
	open     bool
	ended    hazard.EndReason // empty: it is active, or it expired
	endedAt  instant
	point    *hazard.Point
	areas    []hazard.Area
	placed   bool // it names places
	url      string
	called   string
	measured []hazard.Measurement // sorted by name
	texts    []hazard.Text
	drawn    []hazard.ShapesRef
}

// nowhere reports whether a word has no place. Such a word makes no hazard.
func (s *word) nowhere() bool { return s.point == nil && len(s.areas) == 0 }

// over returns the end of the event.
func (s *word) over() instant {
	switch {
	case s.ended != "":
		return s.endedAt
	case s.open:
		return hazard.MaxInstant
	}
	return s.end
}

// word returns what the source says about the event at t.
func (e *event) word(t instant) word {
	parts := e.parts()
	inForce, _ := e.inForce(t)
	over := overAt(&inForce[0]) <= t
	head, loud := inForce[len(inForce)-1], inForce[0]
	for _, p := range inForce { // the text is that of the highest level
		if p.Severity >= loud.Severity {
			loud = p
		}
	}
	head.Key, head.Name, head.Type, head.Description = e.Key, loud.Name, loud.Type, loud.Description
	s := word{head: head, name: head.Name, category: cmp.Or(head.Category, hazard.Event), point: head.Point, url: head.URL, called: head.Called,
		end: hazard.MinInstant, start: e.began(parts)}
	before := t
	if over { // it stays as it was just before the end
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

// began returns when the event began. The reports are read in the order of their issue. The first
// start stays, but for one that had not come when another was given, an earlier one, and one that its
// source states: more than an hour before the issue, or certain (of an earthquake, or passed on). Only
// what is stated moves a certain one. A report that
// ends the event says nothing of its start, unless there are no others. One about some places only
// says when it takes effect there.
func (e *event) began(parts []hazard.Report) instant {
	last := parts[len(parts)-1]
	whole := map[int64]bool{}    // issues that are about the whole event
	first := map[int64]start{}   // what counts of each issue
	stated := map[string]start{} // part → the last that states its start
	placed := map[string]bool{}
	for _, p := range parts {
		placed[p.Part] = len(p.Places) > 0
		whole[p.Version] = whole[p.Version] || !placed[p.Part]
	}
	starts := slices.SortedFunc(slices.Values(e.starts), compareStarts)
	starts = slices.CompactFunc(starts, func(a, b start) bool { return a.part == b.part && a.version == b.version })
	for _, said := range starts {
		if said.stated { // they are sorted
			stated[said.part] = said
		}
	}
	for _, said := range starts {
		if s, ok := stated[said.part]; ok && (said.version < s.version || said.version > s.version && s.certain) {
			continue
		}
		if at, ok := first[said.version]; !ok || said.certain && !at.certain || said.certain == at.certain && said.at < at.at {
			first[said.version] = said
		}
		whole[said.version] = whole[said.version] || !placed[said.part]
	}
	if len(first) == 0 {
		return last.Start
	}
	began := start{at: hazard.MaxInstant}
	for _, version := range slices.Sorted(maps.Keys(first)) {
		said := first[version]
		if moves := said.at < began.at || whole[version] && (said.stated || began.at > instant(version)); moves && (said.stated || !began.certain) {
			began = said
		}
	}
	return began.at
}

// inForce returns the parts that count at t, from the oldest, and for each the first of the places
// for which it counts. After the end of the last part, the event stays as it was just before.
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

// speaker is a part, and the first of the places for which it counts; "" is the whole event.
type speaker struct {
	hazard.Report
	place string
}

// speakers returns the parts that count for some place, or for the whole event, from the oldest.
// For each place the latest part that names it counts, but none counts if another part has replaced
// that one.
func speakers(parts []hazard.Report) (list []speaker) {
	replacer := func(p hazard.Report) int { // the latest part that replaces p, or -1
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
				if by := replacer(q); by >= 0 && by < j { // it was replaced before it arrived
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
	if len(list) == 0 { // they replace each other in a cycle
		return []speaker{{parts[len(parts)-1], ""}}
	}
	return list
}

// why returns why an event ended, from its last parts. It returns the empty reason if one of them
// expired. If several end at once, the strongest reason counts.
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

// rank returns the place of a source in the order for a type.
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

// said returns what all sources say about a hazard now; nil if it has no event.
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
	words = eachStorm(words)
	last := hazard.MinInstant
	for _, s := range words {
		last = max(last, s.over())
	}
	inForce := slices.DeleteFunc(slices.Clone(words), func(s word) bool { return s.over() <= w.now })
	over := len(inForce) == 0
	if over { // it stays as it was just before the last source left
		inForce = slices.DeleteFunc(slices.Clone(words), func(s word) bool { return s.over() != last })
	}
	var all word
	for i, s := range bySource(inForce) {
		if i == 0 {
			all = s
			continue
		}
		// Take what the more authoritative sources do not give.
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
		for _, text := range nobodysOwn(s.texts) { // texts in other languages
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
	// For some types, the name identifies the hazard. The best name is kept even after its report
	// has ended.
	if t := all.head.Type; t == hazard.Earthquake || t == hazard.Volcano || t == hazard.Wildfire {
		named := slices.IndexFunc(words, func(s word) bool { return s.head.Type == t && s.ended != hazard.EndWithdrawn && !s.head.Minor })
		if named >= 0 && words[named].head.Source != all.head.Source && words[named].name != all.name {
			all.name, all.texts = words[named].name, nobodysOwn(all.texts)
		}
	}
	// A cyclone keeps its class, whichever source gives the name.
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

// counting returns the words that count: those not relayed. If all are relayed, it returns the
// first that reports an end, or else all.
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

// eachStorm leaves out what a source said about a storm before it gave it another number. The storm
// began when the first of its numbers did.
func eachStorm(words []word) (list []word) {
	for _, s := range words {
		older := slices.ContainsFunc(words, func(o word) bool {
			return sameStorm(&s, &o) && (o.head.Version > s.head.Version || o.head.Version == s.head.Version && o.head.Key > s.head.Key)
		})
		if older {
			continue
		}
		for _, o := range words {
			if sameStorm(&s, &o) {
				s.start = min(s.start, o.start)
			}
		}
		list = append(list, s)
	}
	return list
}

func sameStorm(a, b *word) bool {
	return a.head.Type == hazard.Cyclone && b.head.Type == hazard.Cyclone && a.head.Source == b.head.Source && a.called != "" && strings.EqualFold(a.called, b.called)
}

// bySource combines everything that each source says into one word: of its latest event, at the
// highest level.
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

// textsAt returns the texts that have not expired at t.
func textsAt(texts []hazard.Text, t instant) []hazard.Text {
	return slices.DeleteFunc(slices.Clone(texts), func(x hazard.Text) bool { return x.Until != 0 && x.Until <= t })
}

// nobodysOwn returns the texts that are not used for the hazard's name.
func nobodysOwn(texts []hazard.Text) []hazard.Text {
	texts = slices.Clone(texts)
	for i := range texts {
		texts[i].Own = false
	}
	return texts
}

// The maximum number of texts of a hazard, and their maximum size in bytes.
const (
	mostTexts     = 24
	mostTextBytes = 128 << 10
)

// eachOnce leaves out duplicate texts, and texts for which there is no room. The first text of each
// language has priority over the others.
func eachOnce(texts []hazard.Text) (list []hazard.Text) {
	for _, t := range texts {
		if !slices.ContainsFunc(list, func(o hazard.Text) bool {
			return strings.EqualFold(o.Language, t.Language) && o.Name == t.Name && o.Description == t.Description
		}) {
			list = append(list, t)
		}
	}
	var first, rest, all []int // indexes into texts
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

// worstOf returns the worst measurement of each quantity. If two are equally bad, the one with the
// first scale wins.
func worstOf(a, b []hazard.Measurement) (list []hazard.Measurement) {
	for _, m := range slices.Concat(a, b) {
		i := slices.IndexFunc(list, func(o hazard.Measurement) bool { return o.Name == m.Name })
		if i < 0 {
			list = append(list, m)
			continue
		}
		worse := cmp.Compare(m.Value, list[i].Value)
		if m.Name == hazard.Depth || m.Name == hazard.Pressure || m.Name == hazard.Containment { // for these, lower is worse
			worse = -worse
		}
		if worse > 0 || worse == 0 && m.Scale < list[i].Scale {
			list[i] = m
		}
	}
	return list
}

// The maximum number of parts that a source may draw for an event, and of those of a hazard.
const (
	mostParts  = 8
	mostShapes = 32
)

// draws adds new drawings of a source to those of an event. For each part the greatest version
// counts, and for equal versions the last to arrive. If there are too many parts, those with the
// greatest versions stay.
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
