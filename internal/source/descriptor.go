package source

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"time"

	"github.com/hazardd/hazardd/internal/geo"
	"github.com/hazardd/hazardd/internal/hazard"
)

// Source describes one source: everything that the rest of the program knows about it. Each adapter
// returns one; poll, intake, mirror, GET /sources and docs/sources.md read it, and no other package
// names a source. It is immutable, and its functions are pure.
type Source struct {
	Name  string // as in reports and keys, never changed once in use: "usgs"
	Title string // for people
	Feeds []Feed
	// Parse reads a payload of any feed, and what Report.Detail and Batch.Links lead to, as of now.
	Parse func(payload []byte, now hazard.Instant) (Batch, error)

	// Hosts are hosts from which details and places may be fetched, beside those of the feeds: what a
	// payload says must not lead the poller anywhere else. "*.example.org" stands for the domain and all
	// hosts below it, at the usual port, and "*" for every host by https. "http://example.org" is a host that is asked in plain text, also
	// by a source that is read by https: its publisher gives the documents in no other way.
	Hosts []string
	// Private: the addresses hold a key. Only their hosts are shown and logged.
	Private bool
	// Warns: the source warns of what is to come or under way, so that each minute without it counts. It
	// is read at every start, and at least every two minutes while it fails.
	Warns bool
	// Off is why the source is not polled unless an operator names it; empty: it is.
	Off string
	// Shared: it is one of the many feeds of the catalog, of which many are at one host. Each has its own
	// moment in the interval, also after a restart, and one that keeps failing is asked every half hour.
	Shared bool

	// Covers says in a line what the source reports, for docs/sources.md.
	Covers string
	// Types are the types of hazards that it reports; nil: any.
	Types []hazard.Type
	// Countries are those that it covers, as ISO 3166-1 alpha-2 codes; nil: the world.
	Countries []string
	// Coverage says for which places the silence of the source means that it knows of nothing; nil: for
	// Countries, as Covered says.
	Coverage []Coverage
	// Languages are those of its texts, as RFC 5646 tags; nil: not known before a message is read.
	Languages []string
	// Home is the page for people about the feed.
	Home string
	// OID is the number of the authority in WMO's Register of Alerting Authorities, without "urn:oid:"; empty: not known.
	OID string
	// License is that of the data, as an SPDX identifier or in words, and Attribution how the publisher
	// is to be named.
	License, Attribution string

	// Rank is the authority of the source by type.
	Rank Ranks
	// Schemes are the schemes of Report.Refs that name its events, beside its own name, which always is one.
	Schemes []Scheme
	// Responds: a report of the source makes a hazard a RESPONSE. An operator may leave that to editors.
	Responds bool

	// Pushes are connections over which the source sends payloads as it issues them. All are kept open, and
	// a payload that comes twice is taken in once. Parse reads it. Polling goes on: at the interval of the
	// feeds while no connection is up, and once at least every Eased while one is.
	Pushes []Push
	Eased  time.Duration
	// Announces, if not nil, reads in a pushed message where it can be had by itself: the message and, of a
	// heartbeat, those before it, which are then fetched if they did not come. beat: it is a heartbeat and
	// nothing else.
	Announces func(message []byte) (links []Link, beat bool)

	// Absence is what it means that a whole list (Batch.Whole) does not name an active event.
	Absence Absence
	// Lasts, if not nil, reports whether an active event goes on only as long as a list names it
	// (Batch.Lasting): two consecutive lists that do not name it end it.
	Lasts func(event string, start, now hazard.Instant) bool
	// Missing, if not nil, is called for each active event that a feed, read completely, did not name.
	// It returns the address that tells what became of the event, or "" if its absence says nothing (it
	// grew older than the feed's window). The event is over if there is nothing at that address (404,
	// 409, 410), or if the report found there says so.
	Missing func(feed, event string, start, now hazard.Instant) string
	// Lives are how long events last for which the source says no end. Types that are not there have
	// the life of their hazard.TypeInfo.
	Lives []Life

	// PlaceURL is the address of the shape of a place that a report without geometry names, "" if there
	// is none or none is needed, and ParsePlace reads what is there. Both nil: the source names no places.
	PlaceURL   func(code string) string
	ParsePlace func(payload []byte) (code string, geometryGeoJSON []byte, name string, err error)
	// Places finds the shapes of places by their codes, with the help of those that were fetched; nil:
	// the source has none of its own.
	Places func(kept Kept) Places
	// PlaceCodes is the vocabulary of the codes in Report.Places that sources share, such as "UGC". It says that places are areas: those
	// that are built in, or that the operator gave, are found by package place; the others in Places, and last by the source that has
	// PlaceURL for that vocabulary. Where nobody knows one, the outline of the country stands in. Empty: places are no areas.
	PlaceCodes string
}

// Kept reads the GeoJSON geometry of a place that was fetched; an error if it never was.
type Kept func(ctx context.Context, code string) (string, error)

// Places finds the shapes of places that reports only name.
type Places interface {
	// Shape is the shape of the place with that code, and whether it is known.
	Shape(ctx context.Context, code string) (geo.Shape, bool)
}

// Scheme is a scheme of Report.Refs, SCHEME:ID.
type Scheme struct {
	Name string // "atcf"
	// Type is the type of the events that it names; empty: any.
	Type hazard.Type
	// CausedBy: an ID names what caused the event, under this scheme of another source.
	CausedBy string
	// Bare, if not nil, is the form of an ID that servers of the base interface write without its scheme.
	Bare *regexp.Regexp
}

// Absence is what it means that a whole list does not name an event.
type Absence int

// The meanings of absence.
const (
	// AbsenceSaysNothing: lists hold what is new, or a window of time.
	AbsenceSaysNothing Absence = iota
	// AbsenceEndsAfterTwo: the event is over once two consecutive lists of all feeds do not name it.
	AbsenceEndsAfterTwo
	// AbsenceEnds: by the source's contract the event is over.
	AbsenceEnds
)

func (a Absence) String() string {
	return [...]string{"says nothing", "ends the event, after two lists", "ends the event"}[a]
}

// Life is how long events of a kind last for which the source says no end.
type Life struct {
	Of  string // which events, for people: "a WARNING"
	For time.Duration
}

// Rank orders sources by authority: the least is the most authoritative. It says what kind of a
// source speaks of a type of hazard, so that a new source finds its place without a look at the others.
type Rank int

// The ranks. 0 is none: a source has to state one for each type that it reports.
const (
	// Responsible is the office whose duty hazards of this type are: it measures or warns.
	Responsible Rank = iota + 1
	// Specialist is another institute or service that observes hazards of this type itself.
	Specialist
	// National is a national authority that passes on what its offices say: the rank of CAP feeds.
	National
	// Model estimates the impact from the observations of others.
	Model
	// Responder reports a response to a hazard, and has no level of its own.
	Responder
	// Curator collects what others report.
	Curator
	// Relay repeats what another server says.
	Relay
)

// rankNames are the ranks' names in settings and docs.
var rankNames = []string{"", "responsible", "specialist", "national", "model", "responder", "curator", "relay"}

func (r Rank) String() string {
	if r < 0 || int(r) >= len(rankNames) {
		return fmt.Sprintf("rank %d", int(r))
	}
	return rankNames[r]
}

// RankNames lists the names of the ranks, the most authoritative first.
func RankNames() []string { return slices.Clone(rankNames[1:]) }

// ParseRank reads a rank by its name.
func ParseRank(name string) (Rank, bool) {
	i := slices.Index(rankNames, name)
	return Rank(i), i > 0
}

// Ranks are the ranks of a source by type. The type "" stands for all that are not there.
type Ranks map[hazard.Type]Rank

// Of returns the rank for a type, and whether it is stated.
func (r Ranks) Of(t hazard.Type) (Rank, bool) {
	rank, ok := r[t]
	if !ok {
		rank, ok = r[""]
	}
	return rank, ok && rank >= Responsible && rank <= Relay
}

// Reports reports whether the source may report hazards of a type.
func (s *Source) Reports(t hazard.Type) bool { return s.Types == nil || slices.Contains(s.Types, t) }

// NameForm is the form of a source's name.
var NameForm = regexp.MustCompile(`^[a-z][a-z0-9-]{0,39}$`)

// Check says what the description lacks. Its errors name the source and the field.
func (s *Source) Check() error {
	var errs []error
	fault := func(format string, args ...any) {
		errs = append(errs, fmt.Errorf("source %q: "+format, append([]any{s.Name}, args...)...))
	}
	if !NameForm.MatchString(s.Name) {
		fault("name: expected at most 40 lowercase letters, digits and -, a letter first")
	}
	if s.Parse == nil {
		fault("Parse: missing")
	}
	for field, text := range map[string]string{"title": s.Title, "covers": s.Covers, "license": s.License, "attribution": s.Attribution} {
		if text == "" {
			fault("%s: missing", field)
		}
	}
	for _, info := range hazard.Types() {
		if _, ok := s.Rank.Of(info.ID); s.Reports(info.ID) && !ok {
			fault("rank: none for the type %s, which it reports", info.ID)
		}
	}
	for _, t := range s.Types {
		if _, ok := t.Info(); !ok {
			fault("types: %q is not a type of hazards", string(t))
		}
	}
	for t := range s.Rank {
		if _, ok := t.Info(); t != "" && !(ok && s.Reports(t)) {
			fault("rank: %q is not a type that it reports", string(t))
		}
	}
	if s.Absence < AbsenceSaysNothing || s.Absence > AbsenceEnds {
		fault("absence: %d is not one of the meanings", int(s.Absence))
	}
	s.checkCoverage(fault)
	for i := range s.Pushes {
		if err := s.Pushes[i].check(); err != nil {
			fault("push %d: %w", i+1, err)
		}
	}
	if s.Pushes != nil && s.Eased <= 0 {
		fault("eased: missing, expected the interval of polls beside a push")
	}
	if (s.PlaceURL == nil) != (s.ParsePlace == nil) {
		fault("PlaceURL and ParsePlace go together")
	}
	return errors.Join(errs...)
}
