package hazard

import (
	"cmp"
	"encoding/binary"
	"maps"
	"slices"

	"github.com/google/uuid"
)

// Report is what one source says about one event at one time, in our terms, still under the source's own names for it.
//
// A source that speaks of an event in several messages, each for some places (the segments of an NWS event, the areas of
// a CAP chain), gives one Report per message, told apart by Part; Derive makes the event of them. A source that says
// everything anew each time has the one Part "".
type Report struct {
	Source string `json:"source"` // the source's name, such as "usgs"
	// Key is the source's own identity of the event. The hazard's uuid is EventUUID(Source, Key).
	Key string `json:"key"`
	// UUID is the uuid that the hazard has at the source; Nil: EventUUID(Source, Key).
	UUID uuid.UUID `json:"uuid,omitzero"`
	// Aliases are other keys under which the same source knows the same event: any of them leads to the hazard.
	Aliases []string `json:"aliases,omitzero"`
	// Earlier are keys under which the event may have begun, of another year for instance; followed only
	// to a hazard that still is active, and only for this report: Key stays free for another event.
	Earlier []string `json:"earlier,omitzero"`
	Part    string   `json:"part,omitzero"`
	// Version orders the reports of one Part, and of one place: the greatest is what the source says now. Usually the
	// milliseconds of its time of issue.
	Version int64 `json:"version"`

	Name        string   `json:"name"`
	Description string   `json:"description,omitzero"`
	Type        Type     `json:"type"`
	Severity    Severity `json:"severity"`
	Category    Category `json:"category,omitzero"` // empty: EVENT
	Start       Instant  `json:"start"`
	// End is when the event ends by what the source says, nil if it does not say.
	End *Instant `json:"end,omitzero"`
	// Life is how long the event lasts after Renewed (after Start without it) when End is nil; 0 is the life of its type.
	LifeMS  int64    `json:"life,omitzero"`
	Renewed *Instant `json:"renewed,omitzero"`
	// Ended, when not empty, says that this part is over since Version; "expired", that it is over at its end.
	Ended EndReason `json:"ended,omitzero"`
	// Successor is the source's key of the event that took the place of this one, where one did.
	Successor string `json:"successor,omitzero"`
	// EndedAt is when it was ended, where that is not Version.
	EndedAt *Instant `json:"ended_at,omitzero"`
	// Minor: too slight to make a hazard, but an update of one that exists.
	Minor bool `json:"minor,omitzero"`
	// Open: it lasts until the source ends it, and End is only an expectation.
	Open bool `json:"open,omitzero"`
	// Relayed: the source passes on what others said (another server of the base interface). Beside the word of anybody
	// else it does not count, so that what ended here does not go on because it came back.
	Relayed bool `json:"relayed,omitzero"`

	// Point is the source's own position. Without it the position follows from the areas.
	Point *Point `json:"point,omitzero"`
	Areas []Area `json:"areas,omitzero"`
	// Places are the codes of the places that the report speaks for (zones). A later report of the event that names one of
	// them replaces this one there. A report without places speaks for the whole event.
	Places []string `json:"places,omitzero"`
	// Replaces are parts of the event that this one takes the place of wholly, whatever places they speak for.
	Replaces []string `json:"replaces,omitzero"`
	// Within are codes of wider places (counties) that contain Places: they stand in for a place whose shape is not known.
	Within []string `json:"within,omitzero"`
	// Country is the country whose authority speaks, as an ISO 3166-1 alpha-2 code, where the message itself tells it. Its outline stands
	// in for Places of which nothing is known.
	Country string `json:"country,omitzero"`

	// Refs are names that other sources and registers gave the same event, as SCHEME:ID ("usgs:us6000tga9", "gdacs:EQ1559738",
	// "glide:EQ-2026-000123-CHN", "atcf:AL092021", "gvp:354006", "irwin:…"): they lead to the event of that source.
	Refs []string `json:"refs,omitzero"`
	// Called is the event's proper name where it has one: a storm's ("Lala"), a volcano's, a fire's.
	Called string `json:"called,omitzero"`
	// Level is the source's own word for how bad it is ("Orange", "Tropical Storm Warning"), kept beside ours.
	Level string `json:"level,omitzero"`

	// Measurements are what the source measured, each quantity once, in the order of names (source.Measure).
	Measurements []Measurement `json:"measurements,omitzero"`

	URL     string `json:"url,omitzero"`
	Comment string `json:"comment,omitzero"`
	Creator string `json:"creator,omitzero"`
	// Texts are what the authority says in each of its languages, the one that Name and Description are made of among them (Own).
	Texts []Text `json:"texts,omitzero"`
	// Products is the product tree, parents before children; nil if the report says nothing of products.
	Products []ReportProduct `json:"products,omitzero"`
	// Detail is the address of a fuller report of the same event, which alone has its products; empty if there is none.
	Detail string `json:"-"`
	// Kept are the versions of the reports of which this one keeps what it does not say itself; 0: it says it, or nobody did.
	Kept Kept `json:"kept,omitzero"`
	// Notes are sentences, each saying what of the report is a guess or could not be read although it
	// is shown: a type guessed from the category, a time without a zone.
	Notes []string `json:"notes,omitzero"`
	// Suspect, when not empty, says why the report is to be held instead of shown (decisions, "suspect reports").
	Suspect string `json:"-"`
}

// Names are the names that the report gives its event: the key, then the aliases.
func (r *Report) Names() []string { return append([]string{r.Key}, r.Aliases...) }

// NoteBegins is what stands before each of a report's Notes in the description of its hazard.
const NoteBegins = "\n\nNote: "

// Prose are the strings of the report that are for people alone: nothing is found, compared or decided by them.
func (r *Report) Prose() []*string {
	all := []*string{&r.Name, &r.Description, &r.Comment}
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

// AgainRef begins a Ref that two issues of the same alert share. It is made of what they say, is no
// name that anybody uses, and is shown to nobody.
const AgainRef = "again:"

// AgainElsewhereRef begins an AgainRef that issues in several languages share, each in a source of its own: two of one source are
// never one for it.
const AgainElsewhereRef = AgainRef + "elsewhere:"

// Kept names the versions that parts of a report come from, where they differ from the report's own version.
type Kept struct {
	Products int64 `json:"products,omitzero"`
	Areas    int64 `json:"areas,omitzero"`
	Renewed  int64 `json:"renewed,omitzero"`
}

// Lapsed reports whether the event was ended because its source no longer lists it as going on. Only a
// report that says that it goes on (Renewed) takes that back.
func (r *Report) Lapsed() bool { return r.Ended == EndExpired && r.EndedAt != nil && !r.Relayed }

// Point is a position in degrees, WGS84.
type Point struct {
	Lon float64 `json:"lon"`
	Lat float64 `json:"lat"`
}

// ReportProduct is a product as a source gives it: a folder, a text or a url.
type ReportProduct struct {
	Key     string      `json:"key"`             // stable within the event, whatever else changes
	UUID    uuid.UUID   `json:"uuid,omitzero"`   // that it has at the source; Nil: ProductUUID
	Parent  string      `json:"parent,omitzero"` // Key of the folder that holds it; empty: the root
	Title   string      `json:"title"`
	Type    ProductType `json:"type"`
	Data    string      `json:"data,omitzero"`
	Comment string      `json:"comment,omitzero"`
	Time    Instant     `json:"time"`            // its place on a timeline
	Hidden  bool        `json:"hidden,omitzero"` // for user interfaces (is_Hidden)
	WKT     string      `json:"wkt,omitzero"`    // geo_Locations, longitude latitude
}

// namespace is the UUID under which this service makes names. It must never change: all uuids of reported events follow from it.
var namespace = uuid.MustParse("0e3ebed3-65be-4575-8d9f-ff5a52b85a6c")

// EventUUID is the uuid of the event that a source knows under key: the same in every installation (UUIDv5, RFC 9562
// section 5.5, of the source's name and the key).
func EventUUID(source, key string) uuid.UUID { return named("hazard", source, key) }

// ProductUUID is the uuid of a source's product of an event.
func ProductUUID(source, key, product string) uuid.UUID {
	return named("product", source, key, product)
}

// named hashes words with their lengths, so that no two lists of words make the same name.
func named(words ...string) uuid.UUID {
	var name []byte
	for _, w := range words {
		name = binary.AppendUvarint(name, uint64(len(w)))
		name = append(name, w...)
	}
	return uuid.NewSHA1(namespace, name)
}

// Said is what a source says of an event now, all parts taken together.
type Said struct {
	// Head is the latest report among those in force, with the words of the latest of the highest level, Start, End, Areas,
	// Products, Notes and Texts of all of them, the worst of their Measurements, and the Refs of all parts.
	Head Report
	// End is when the event ends; it is over at EndedAt, for Ended, when Ended is not empty.
	End     Instant
	Ended   EndReason
	EndedAt Instant
	// Owned are the parts that still speak for some place: the others are superseded for good.
	Owned map[string]bool
	// Open: it goes on until somebody ends it, whatever End says.
	Open bool
	// Places, and the wider ones Within which they lie, are those that Head speaks for and that came without a geometry.
	Places, Within []string
	// PlacesOf is the source whose codes they are.
	PlacesOf string
	// Sources are the names of all sources that said something, sorted, after Combine.
	Sources []string
	// Shapes are those that the source gives of the event; after Combine, of all that counts. Derive does not know them.
	Shapes []ShapesRef
	// Next is the first moment after the one asked about at which this can change although nobody
	// says anything: a part runs out. MaxInstant if there is none.
	Next Instant
	// Ending: a source has said why it will be over, and that moment is still to come.
	Ending bool
}

// Over is when the event is over by what was said.
func (s *Said) Over() Instant {
	switch {
	case s.Ended != "":
		return s.EndedAt
	case s.Open:
		return MaxInstant
	}
	return s.End
}

// inForce reports whether it goes on at now.
func (s *Said) inForce(now Instant) bool { return s.Over() > now }

// Derive returns what a source says of one event at now, given the latest report of each of its
// parts (at least one), in any order. For each place the latest report that names it counts, and a
// report without places takes the place of all before it. A part leaves the event when its end
// comes. When the last part has left, the event is over and stays what it was just before.
//
// Derive depends on its arguments alone, so late, repeated and reordered reports come to the same
// in the end, and the state at any moment, past or future, can be asked for: Said.Next is when to
// ask again.
func Derive(parts []Report, now Instant) Said {
	parts = slices.Clone(parts)
	slices.SortFunc(parts, func(a, b Report) int { return cmp.Or(cmp.Compare(a.Version, b.Version), cmp.Compare(a.Part, b.Part)) })

	said := Said{Owned: map[string]bool{}, Next: MaxInstant}
	owned := owners(parts)
	last := MinInstant // when the last part that speaks for a place is over
	var counted []int
	for i := range parts {
		if len(owned[i]) == 0 {
			continue
		}
		said.Owned[parts[i].Part] = true
		over := parts[i].OverAt()
		if last = max(last, over); over > now {
			counted = append(counted, i)
			said.Next = min(said.Next, over)
			said.Ending = said.Ending || parts[i].Ended != ""
		}
	}
	spoken, over := now, len(counted) == 0 // at which moment texts count
	if over {
		spoken = last - 1
		counted = slices.DeleteFunc(slices.Sorted(maps.Keys(owned)), func(i int) bool { return parts[i].OverAt() != last })
		said.Ended, said.EndedAt = lastWord(parts, counted)
	}
	said.Head = parts[counted[len(counted)-1]]
	head := &said.Head
	said.PlacesOf = head.Source
	head.Start = firstStart(parts)
	head.Areas, head.Products, head.Notes, head.Refs, head.Measurements = nil, nil, nil, allRefs(parts), nil
	loudest := counted[0] // the latest of the highest: the level and the words for it are of one part
	for _, i := range counted {
		if parts[i].Severity >= parts[loudest].Severity {
			loudest = i
		}
	}
	p := &parts[loudest]
	head.Severity, head.Level, head.Type, head.Name, head.Description = p.Severity, p.Level, p.Type, p.Name, p.Description
	var until Instant
	head.Texts, until = addTexts(nil, p.Texts, spoken, true)
	said.Next = min(said.Next, until)
	said.End = parts[counted[0]].endAt()
	for _, i := range counted {
		p := parts[i]
		said.End = max(said.End, p.endAt())
		said.Open = said.Open || p.Open && p.Ended == ""
		head.Areas = append(head.Areas, p.Areas...)
		head.Notes = addNotes(head.Notes, p.Notes)
		head.Measurements = worst(head.Measurements, p.Measurements)
		if i != loudest {
			head.Texts, until = addTexts(head.Texts, p.Texts, spoken, false)
			said.Next = min(said.Next, until)
		}
		if len(p.Areas) == 0 && len(p.Places) > 0 {
			said.Places = append(said.Places, owned[i]...)
			said.Within = append(said.Within, p.Within...)
		}
		head.Products = mergeProducts(head.Products, p.Products, owned[i][0])
	}
	if head.Products == nil && slices.ContainsFunc(parts, func(p Report) bool { return p.Products != nil }) {
		head.Products = []ReportProduct{} // those that gave some have left, and these go with them
	}
	for i := range head.Measurements {
		head.Measurements[i].Source = head.Source
	}
	head.Texts = BoundTexts(head.Texts)
	if over {
		said.Next = MaxInstant
	}
	said.Within = each(said.Within)
	return said
}

// each is the words of a list, sorted, each once.
func each(list []string) []string {
	slices.Sort(list)
	return slices.Compact(list)
}

// owners lists, for each of the parts (oldest first), the places that it still speaks for, sorted; ""
// is the whole event. A part that another replaces speaks for none, and so does what it took the
// place of before.
func owners(parts []Report) map[int][]string {
	owner := map[string]int{}
	replacedBy := map[string]int{} // part → the latest that replaces it
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
	if len(owned) == 0 { // they replace each other in a circle: nothing is lost for that
		owned[len(parts)-1] = []string{""}
	}
	return owned
}

// lastWord is why and when an event ended whose last parts, over at the same moment, are given: by
// itself if one of them simply ran out, else for the reason that the latest of them gives, and of
// those that speak at once that another took its place, before a cancellation, before an expiry.
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

// OverAt returns when the report's part is over: since it was said, if the source has ended it.
func (r *Report) OverAt() Instant {
	if r.Open && r.Ended == "" {
		return MaxInstant
	}
	return r.endAt()
}

// endAt is OverAt, but when it is expected to be over where the source has left that open.
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

// end is when the report's part ends.
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

// firstStart is when an event of several messages began: each message only says from when it holds itself.
func firstStart(parts []Report) Instant {
	if last := parts[len(parts)-1]; len(last.Places) == 0 {
		return last.Start
	}
	start := parts[0].Start
	for _, p := range parts {
		start = min(start, p.Start)
	}
	return start
}

// allRefs lists the names that any of the parts gives the event, sorted.
func allRefs(parts []Report) (refs []string) {
	for _, p := range parts {
		refs = append(refs, p.Refs...)
	}
	return each(refs)
}

// addNotes adds the notes that are not there yet.
func addNotes(all, more []string) []string {
	for _, n := range more {
		if !slices.Contains(all, n) {
			all = append(all, n)
		}
	}
	return all
}

// mergeProducts adds the products of a part that speaks for place. Folders are common to all parts.
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
