package hazard

import (
	"cmp"
	"encoding/binary"
	"maps"
	"slices"
	"time"

	"github.com/google/uuid"
)

// Report is what one source reports about one event at one time, converted to our terms but still
// under the source's names.
//
// A source that reports an event in several messages, each for some places (segments of an NWS
// event, areas of a CAP chain), gives one Report per message, distinguished by Part. Derive
// combines them. A source that always reports everything has the single Part "".
type Report struct {
	Source string `json:"source"` // name of the source, such as "usgs"
	// Key identifies the event at the source. The hazard's UUID is EventUUID(Source, Key).
	Key string `json:"key"`
	// UUID is the hazard's UUID at the source; Nil means EventUUID(Source, Key).
	UUID uuid.UUID `json:"uuid,omitzero"`
	// Aliases are other keys of the same event at the same source. Each of them finds the hazard.
	Aliases []string `json:"aliases,omitzero"`
	// Earlier are keys under which the event may have begun, such as last year's. They only find a
	// hazard that is still active, and only for this report: another event may use Key.
	Earlier []string `json:"earlier,omitzero"`
	// Issue is what the issues of one warning have in common, if each has a key of its own and refers
	// to no other. The report is about the event with the same Issue that is active and overlaps in
	// time. Other warnings may use it at other times.
	Issue string `json:"issue,omitzero"`
	Part  string `json:"part,omitzero"`
	// Version orders the reports of one Part and of one place: the greatest is the present one. It
	// is usually the time of issue in milliseconds.
	Version int64 `json:"version"`

	Name        string   `json:"name"`
	Description string   `json:"description,omitzero"`
	Type        Type     `json:"type"`
	Severity    Severity `json:"severity"`
	Category    Category `json:"category,omitzero"` // empty means EVENT
	Start       Instant  `json:"start"`
	// Begun is what earlier reports of the part said about the start, and this one if it has ended
	// since; the earliest first. Only what may still count is kept; nil if that is Start alone.
	Begun []Began `json:"begun,omitzero"`
	// End is when the event ends according to the source; nil if the source does not say.
	End *Instant `json:"end,omitzero"`
	// EndGuessed means that the source does not say when the event ends: End is only when its message
	// runs out, or until when its data reach.
	EndGuessed bool `json:"end_guessed,omitzero"`
	// Instruction is what to do, in the source's words, if the report has no Texts that say it.
	Instruction string `json:"instruction,omitzero"`
	// Life is how long the event lasts after Renewed, or after Start without it, if End is nil. 0
	// means the life of its type.
	LifeMS  int64    `json:"life,omitzero"`
	Renewed *Instant `json:"renewed,omitzero"`
	// Ended, if not empty, says that this part has been over since Version, or with "expired" since
	// its end.
	Ended EndReason `json:"ended,omitzero"`
	// Successor is the source's key of the event that replaced this one, if any.
	Successor string `json:"successor,omitzero"`
	// EndedAt is when it ended, if that differs from Version.
	EndedAt *Instant `json:"ended_at,omitzero"`
	// Minor means that the report is too slight to create a hazard, but may update one.
	Minor bool `json:"minor,omitzero"`
	// Open means that the event lasts until the source ends it; End is then only an expectation.
	Open bool `json:"open,omitzero"`
	// Listed is until when a list holds this message in force, whatever its End, although no later
	// list can be read. nil means that no list holds it of which the source says that all in it is
	// in force (source.Lists).
	Listed *Instant `json:"listed,omitzero"`
	// Relayed means that the source passes on reports of others (another server of the base
	// interface). It does not count beside an original report, so that an ended hazard does not go
	// on because its report came back.
	Relayed bool `json:"relayed,omitzero"`

	// Point is the source's own position. Without it, the position is derived from the areas.
	Point *Point `json:"point,omitzero"`
	Areas []Area `json:"areas,omitzero"`
	// Places are codes of the places that the report covers (zones). It replaces an earlier report
	// of the event in these places. A report without places covers the whole event.
	Places []string `json:"places,omitzero"`
	// Replaces lists the parts of the event that this one replaces entirely, whatever their places.
	Replaces []string `json:"replaces,omitzero"`
	// Within are codes of wider places (counties) that contain Places. They are used if the shape
	// of a place is unknown.
	Within []string `json:"within,omitzero"`
	// Country is the country of the authority, as an ISO 3166-1 alpha-2 code, if the message says
	// it. Its outline is used for Places about which nothing is known.
	Country string `json:"country,omitzero"`

	// Refs are names of the same event at other sources and registers, as SCHEME:ID
	// ("usgs:us6000tga9", "gdacs:EQ1559738", "glide:EQ-2026-000123-CHN", "atcf:AL092021",
	// "gvp:354006", "irwin:…"). They find the event of that source.
	Refs []string `json:"refs,omitzero"`
	// Called is the event's proper name, if it has one: of a storm ("Lala"), a volcano or a fire.
	Called string `json:"called,omitzero"`
	// Level is the severity in the source's own words ("Orange", "Tropical Storm Warning"), beside
	// our Severity.
	Level string `json:"level,omitzero"`

	// Measurements holds each measured quantity once, in order of names (source.Measure).
	Measurements []Measurement `json:"measurements,omitzero"`

	URL     string `json:"url,omitzero"`
	Comment string `json:"comment,omitzero"`
	Creator string `json:"creator,omitzero"`
	// Texts are the authority's texts in each of its languages. The one with Own set is the origin
	// of Name and Description.
	Texts []Text `json:"texts,omitzero"`
	// Products is the product tree, parents before children; nil if the report says nothing about
	// products.
	Products []ReportProduct `json:"products,omitzero"`
	// Detail is the address of a detailed report of the same event, the only one with its products;
	// empty if there is none.
	Detail string `json:"-"`
	// Kept holds the versions of the earlier reports from which this one keeps data that it lacks
	// itself; 0 means none was needed or found.
	Kept Kept `json:"kept,omitzero"`
	// Notes are sentences. Each names a part of the report that is an estimate or was unreadable
	// although the report is shown: a type derived from the category, a time without a zone.
	Notes []string `json:"notes,omitzero"`
	// Suspect, if not empty, says why the report is held and not shown (decisions, "suspect
	// reports").
	Suspect string `json:"-"`
	// Full, if not nil, returns the whole report. This one is slight (Minor), and holds only what says
	// whether it concerns a known event: names, version, type, severity, start and life. Few do, so the
	// others need not be read.
	Full func() Report `json:"-"`
}

// Whole returns the whole report, under the names that it has now.
func (r *Report) Whole() Report {
	if r.Full == nil {
		return *r
	}
	whole := r.Full()
	whole.Key, whole.Aliases, whole.Refs = r.Key, r.Aliases, append(whole.Refs, r.Refs...)
	return whole
}

// Names returns the names of the event at the source: the key, then the aliases.
func (r *Report) Names() []string { return append([]string{r.Key}, r.Aliases...) }

// NoteBegins separates Notes in the description of a hazard.
const NoteBegins = "\n\nNote: "

// Prose returns the strings of the report that are only for people. They are never used to find,
// compare or decide anything.
func (r *Report) Prose() []*string {
	all := []*string{&r.Name, &r.Description, &r.Comment, &r.Instruction}
	for i := range r.Notes {
		all = append(all, &r.Notes[i])
	}
	for i := range r.Texts {
		t := &r.Texts[i]
		all = append(all, &t.Name, &t.Lead, &t.Event, &t.Headline, &t.Description, &t.Instruction, &t.Sender, &t.Contact, &t.Web, &t.Audience, &t.Area)
	}
	for i := range r.Products {
		p := &r.Products[i]
		all = append(all, &p.Title, &p.Data, &p.Comment)
	}
	return all
}

// AgainRef begins a Ref that two issues of the same alert have in common. It is derived from their
// content and never shown.
const AgainRef = "again:"

// AgainElsewhereRef begins an AgainRef that issues in several languages have in common, each from
// another source. It never joins two events of one source.
const AgainElsewhereRef = AgainRef + "elsewhere:"

// Kept holds the versions of a report's parts that come from earlier reports.
type Kept struct {
	Products int64 `json:"products,omitzero"`
	Areas    int64 `json:"areas,omitzero"`
	Renewed  int64 `json:"renewed,omitzero"`
}

// Lapsed reports whether the event ended because its source no longer lists it. Only a report that
// confirms the event (Renewed) reopens it.
func (r *Report) Lapsed() bool {
	return r.Ended == EndExpired && r.EndedAt != nil && r.Listed == nil && !r.Relayed
}

// Dropped reports whether the list that held the message dropped it. Such a message counts no more,
// nor does it replace others.
func (r *Report) Dropped() bool { return r.Listed != nil && r.Ended != "" }

// givesEnd reports whether the source says when it ends or ended. If it only fell silent, it does not,
// whatever end it expected.
func (r *Report) givesEnd() bool {
	if r.Ended != "" && r.Ended != EndExpired {
		return true
	}
	return r.End != nil && !r.EndGuessed && !r.Lapsed()
}

// Hold notes that a list made at a moment holds the message in force, and for how long without a
// further list. The new Listed is a round time, so that a list that goes on holding it changes it
// only now and then. A message that the list had dropped is in force again.
func (r *Report) Hold(at Instant, patience time.Duration) {
	if r.Dropped() {
		r.Ended, r.EndedAt = "", nil
	}
	if r.Ended != "" {
		return
	}
	until := max(r.end().Add(patience), at.Add(patience).Ceil(patience/2))
	if r.Listed == nil || *r.Listed < until {
		r.Listed = &until
	}
}

// Drop ends a message that its source has deleted or no longer lists, as of now. A message that was
// listed past its stated end expired then. An empty reason means that only the list no longer holds it.
func (r *Report) Drop(reason EndReason, now Instant) {
	if reason != "" {
		r.Begun, _ = r.said()
	}
	switch {
	case reason == "":
		r.Listed = nil
	case r.Listed != nil && r.End != nil && *r.End <= now:
		r.Ended, r.EndedAt = EndExpired, new(*r.End)
	default:
		r.Ended, r.EndedAt = reason, &now
	}
}

// Point is a position in degrees, WGS84.
type Point struct {
	Lon float64 `json:"lon"`
	Lat float64 `json:"lat"`
}

// ReportProduct is a product in a source's report: a folder, a text or a url.
type ReportProduct struct {
	Key     string      `json:"key"`             // identifies it within the event; never changes
	UUID    uuid.UUID   `json:"uuid,omitzero"`   // its UUID at the source; Nil means ProductUUID
	Parent  string      `json:"parent,omitzero"` // Key of its folder; empty means the root
	Title   string      `json:"title"`
	Type    ProductType `json:"type"`
	Data    string      `json:"data,omitzero"`
	Comment string      `json:"comment,omitzero"`
	Time    Instant     `json:"time"`            // its position on a timeline
	Hidden  bool        `json:"hidden,omitzero"` // for user interfaces (is_Hidden)
	WKT     string      `json:"wkt,omitzero"`    // geo_Locations, longitude latitude
}

// namespace is the UUID namespace of this service. It must never change, because the UUIDs of all
// reported events depend on it.
var namespace = uuid.MustParse("0e3ebed3-65be-4575-8d9f-ff5a52b85a6c")

// EventUUID returns the UUID of the event that a source has under key. It is the same in every
// installation (a UUIDv5 of the source's name and the key, RFC 9562 section 5.5).
func EventUUID(source, key string) uuid.UUID { return named("hazard", source, key) }

// ProductUUID returns the UUID of a source's product of an event.
func ProductUUID(source, key, product string) uuid.UUID {
	return named("product", source, key, product)
}

// named hashes words with their lengths, so that different lists of words never give the same UUID.
func named(words ...string) uuid.UUID {
	var name []byte
	for _, w := range words {
		name = binary.AppendUvarint(name, uint64(len(w)))
		name = append(name, w...)
	}
	return uuid.NewSHA1(namespace, name)
}

// EventState is the present state of an event according to one source, all parts combined.
type EventState struct {
	// Head is the latest report in force. Its name and description come from the latest part with
	// the highest level. Start, End, Areas, Products, Notes and Texts combine all parts in force;
	// Measurements holds the worst values; Refs come from all parts.
	Head Report
	// End is when the event ends. If Ended is not empty, the event ended at EndedAt for that
	// reason.
	End Instant
	// EndGiven means that the source said End.
	EndGiven bool
	Ended    EndReason
	EndedAt  Instant
	// Owned holds the parts that still cover a place, or did when a list dropped them; later parts
	// have replaced the others.
	Owned map[string]bool
	// Open means that the event goes on until somebody ends it, whatever End says, but not longer
	// than Until.
	Open  bool
	Until Instant
	// Places are the places that Head covers and that came without a geometry; Within are wider
	// places that contain them.
	Places, Within []string
	// PlacesOf is the source that defines the codes.
	PlacesOf string
	// Sources are the names of all reporting sources, sorted. Combine sets them.
	Sources []string
	// Shapes are the source's shapes of the event; after Combine, those of all sources that count.
	// Derive leaves them empty.
	Shapes []ShapesRef
	// Next is the next moment at which this state can change without a new report, because a part
	// ends. MaxInstant means never.
	Next Instant
	// Ending means that a source has given a reason for an end in the future.
	Ending bool
}

// Over returns when the event is over according to its reports.
func (s *EventState) Over() Instant {
	switch {
	case s.Ended != "":
		return s.EndedAt
	case s.Open:
		return s.Until
	}
	return s.End
}

// inForce reports whether the event is in force at now.
func (s *EventState) inForce(now Instant) bool { return s.Over() > now }

// Derive combines the latest report of each part of an event to the source's state of the event at
// now. parts has at least one report, in any order. For each place, the latest report that names it
// counts, of those that no list has dropped; a report without places replaces all earlier ones. A
// part leaves the event at its end. When the last part has left, the event is over and keeps its
// state from just before.
//
// Derive depends on its arguments only. So late, repeated and reordered reports give the same
// result in the end, and it can compute the state at any moment. EventState.Next is when to call it
// again.
func Derive(parts []Report, now Instant) EventState {
	parts = slices.Clone(parts)
	slices.SortFunc(parts, func(a, b Report) int { return cmp.Or(cmp.Compare(a.Version, b.Version), cmp.Compare(a.Part, b.Part)) })
	all := parts
	parts = undropped(parts, now)

	state := EventState{Owned: map[string]bool{}, Next: MaxInstant}
	owned := owners(parts)
	if len(parts) < len(all) {
		for i := range owners(all) {
			state.Owned[all[i].Part] = true
		}
	}
	counted, last := state.count(parts, owned, now)
	spoken, over := now, len(counted) == 0 // the moment as of which texts count
	if over {
		spoken = last - 1
		counted = slices.DeleteFunc(slices.Sorted(maps.Keys(owned)), func(i int) bool { return parts[i].OverAt() != last })
		state.Ended, state.EndedAt = lastWord(parts, counted)
	}
	state.Head = parts[counted[len(counted)-1]]
	head := &state.Head
	state.PlacesOf = head.Source
	head.Start = firstStart(all)
	head.Areas, head.Products, head.Notes, head.Refs, head.Measurements = nil, nil, nil, allRefs(all), nil
	loudest := counted[0] // the latest with the highest level: level and texts must come from the same part
	for _, i := range counted {
		if parts[i].Severity >= parts[loudest].Severity {
			loudest = i
		}
	}
	p := &parts[loudest]
	head.Severity, head.Level, head.Type, head.Name, head.Description, head.Instruction = p.Severity, p.Level, p.Type, p.Name, p.Description, p.Instruction
	var until Instant
	head.Texts, until = addTexts(nil, p.Texts, spoken, true)
	state.Next = min(state.Next, until)
	state.End, state.Until = parts[counted[0]].endAt(), last
	for _, i := range counted {
		p := parts[i]
		if at := p.endAt(); at >= state.End {
			state.End, state.EndGiven = at, p.givesEnd()
		}
		state.Open = state.Open || !over && p.Ended == "" && (p.Open || p.Listed != nil)
		head.Areas = append(head.Areas, p.Areas...)
		head.Notes = addNotes(head.Notes, p.Notes)
		head.Measurements = worst(head.Measurements, p.Measurements)
		if i != loudest {
			head.Texts, until = addTexts(head.Texts, p.Texts, spoken, false)
			state.Next = min(state.Next, until)
		}
		if len(p.Areas) == 0 && len(p.Places) > 0 {
			state.Places = append(state.Places, owned[i]...)
			state.Within = append(state.Within, p.Within...)
		}
		head.Products = mergeProducts(head.Products, p.Products, owned[i][0])
	}
	if head.Products == nil && slices.ContainsFunc(parts, func(p Report) bool { return p.Products != nil }) {
		head.Products = []ReportProduct{} // the parts with products have left, and their products with them
	}
	for i := range head.Measurements {
		head.Measurements[i].Source = head.Source
	}
	head.Texts = BoundTexts(head.Texts)
	if over {
		state.Next = MaxInstant
	}
	state.Within = each(state.Within)
	return state
}

// count returns the parts that are not over and cover a place, and the end of the last part that covers one.
func (state *EventState) count(parts []Report, owned map[int][]string, now Instant) (counted []int, last Instant) {
	last = MinInstant
	for i := range parts {
		if len(owned[i]) == 0 {
			continue
		}
		state.Owned[parts[i].Part] = true
		over := parts[i].OverAt()
		if last = max(last, over); over > now {
			counted = append(counted, i)
			state.Next = min(state.Next, over)
			state.Ending = state.Ending || parts[i].Ended != ""
		}
	}
	return counted, last
}

// undropped returns the parts that no list has dropped, and that did not run out by themselves, if
// the event goes on longer with these alone: what such a message had replaced counts again, if a list
// holds it. Otherwise it returns all parts.
func undropped(parts []Report, now Instant) []Report {
	kept := slices.DeleteFunc(slices.Clone(parts), func(p Report) bool {
		return p.Name == "" || p.Dropped() || p.Ended == "" && p.OverAt() <= now
	})
	held := slices.ContainsFunc(kept, func(p Report) bool { return p.Listed != nil && p.Ended == "" })
	if !held || len(kept) == len(parts) || lastOver(kept) <= lastOver(parts) {
		return parts
	}
	return kept
}

// lastOver returns the end of the last part that covers a place.
func lastOver(parts []Report) Instant {
	last := MinInstant
	for i := range owners(parts) {
		last = max(last, parts[i].OverAt())
	}
	return last
}

// each returns the distinct words of a list, sorted.
func each(list []string) []string {
	slices.Sort(list)
	return slices.Compact(list)
}

// owners returns, for each part (oldest first), the places that it still covers, sorted; "" is the
// whole event. A part that was replaced covers none, and neither do the parts that it had replaced.
func owners(parts []Report) map[int][]string {
	owner := map[string]int{}
	replacedBy := map[string]int{} // part → the latest part that replaces it
	for i, p := range parts {
		for _, r := range p.Replaces {
			if r != p.Part {
				replacedBy[r] = i
			}
		}
	}
	for i, p := range parts {
		by, replaced := replacedBy[p.Part]
		if replaced && by < i {
			continue
		}
		places := p.Places
		if len(places) == 0 {
			clear(owner)
			places = []string{""}
		}
		for _, place := range places {
			if delete(owner, place); !replaced {
				owner[place] = i
			}
		}
	}
	owned := map[int][]string{}
	for place, i := range owner {
		owned[i] = append(owned[i], place)
	}
	for _, places := range owned {
		slices.Sort(places)
	}
	if len(owned) == 0 { // the parts replace each other in a circle: ignore that, so that nothing is lost
		owned[len(parts)-1] = []string{""}
	}
	return owned
}

// lastWord returns why and when an event ended, given its last parts, which ended at the same
// moment. If one of them simply ran out, the event expired. Otherwise the latest part gives the
// reason; among simultaneous ones, a successor goes before a cancellation, and that before an
// expiry.
func lastWord(parts []Report, last []int) (reason EndReason, at Instant) {
	weight := []EndReason{EndExpired, EndAllClear, EndWithdrawn, EndCancelled, EndSuperseded}
	var version int64
	for n, i := range last {
		p := &parts[i]
		if p.Ended == "" {
			return "", 0
		}
		if n == 0 || p.Version > version || p.Version == version && slices.Index(weight, p.Ended) > slices.Index(weight, reason) {
			version, reason = p.Version, p.Ended
		}
		at = max(at, p.OverAt())
	}
	return reason, at
}

// OverAt returns when the report's part is over. If the source ended it, that is the time of the
// ending.
func (r *Report) OverAt() Instant {
	switch {
	case r.Ended != "":
	case r.Open:
		return MaxInstant
	case r.Listed != nil:
		return max(r.end(), *r.Listed)
	}
	return r.endAt()
}

// endAt is OverAt, but for an open or listed report it returns the expected end.
func (r *Report) endAt() Instant {
	switch {
	case r.Ended == "":
		return r.end()
	case r.EndedAt != nil:
		return *r.EndedAt
	case r.Ended == EndExpired:
		return max(Instant(r.Version), r.end())
	}
	return Instant(r.Version)
}

// end returns when the report's part ends.
func (r *Report) end() Instant {
	if r.End != nil {
		return *r.End
	}
	from := r.Start
	if r.Renewed != nil {
		from = max(from, *r.Renewed)
	}
	life := Instant(r.LifeMS)
	if life == 0 {
		info, _ := r.Type.Info()
		life = Instant(info.Life.Milliseconds())
	}
	return from + life
}

// allRefs returns the names of the event in all parts, sorted.
func allRefs(parts []Report) (refs []string) {
	for _, p := range parts {
		refs = append(refs, p.Refs...)
	}
	return each(refs)
}

// addNotes adds the notes that are missing in all.
func addNotes(all, more []string) []string {
	for _, n := range more {
		if !slices.Contains(all, n) {
			all = append(all, n)
		}
	}
	return all
}

// mergeProducts adds the products of a part that covers place. All parts share folders.
func mergeProducts(all, more []ReportProduct, place string) []ReportProduct {
	for _, p := range more {
		if p.Type != FolderProduct && place != "" {
			p.Key += "/" + place
		}
		if !slices.ContainsFunc(all, func(q ReportProduct) bool { return q.Key == p.Key }) {
			all = append(all, p)
		}
	}
	return all
}
