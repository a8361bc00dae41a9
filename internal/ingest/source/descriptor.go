package source

import (
	"cmp"
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
	Title string // name of the source for people
	Feeds []Feed
	// Parse parses a payload of any feed, or a document from Report.Detail or Batch.Links, as of
	// now.
	Parse func(payload []byte, now hazard.Instant) (Batch, error)

	// Hosts are hosts from which details and places may be fetched, besides those of the feeds;
	// addresses in a payload cannot make the poller connect to any other host. "*.example.org"
	// means the domain and all hosts below it, at the usual port, and "*" every host by https.
	// "http://example.org" allows plain http, also for a source that is polled by https, if its
	// publisher offers nothing else.
	Hosts []string
	// Private means that the addresses contain a key. Only their hosts are shown and logged.
	Private bool
	// Warns means that the source warns of present or coming danger, so that each minute counts. It
	// is polled at every start, and at least every two minutes while it fails.
	Warns bool
	// Off says why the source is not polled by default; empty if it is polled.
	Off string
	// Shared means that it is one of the many catalog feeds, of which many share a host. Each has
	// its own offset in the interval, also after a restart, and one that keeps failing is polled
	// every half hour.
	Shared bool

	// Covers is one line about what the source reports, for docs/sources.md.
	Covers string
	// Types are the types of hazards that it reports; nil means any.
	Types []hazard.Type
	// Countries are the countries that it covers, as ISO 3166-1 alpha-2 codes; nil means the world.
	Countries []string
	// Coverage lists the places where silence of the source means that it knows of no hazard; nil
	// means Countries, as Covered returns them.
	Coverage []Coverage
	// Languages are the languages of its texts, as RFC 5646 tags; nil means unknown until a message
	// is read.
	Languages []string
	// Home is the web page about the feed.
	Home string
	// OID is the number of the authority in WMO's Register of Alerting Authorities, without
	// "urn:oid:"; empty if unknown.
	OID string
	// License is the license of the data, as an SPDX identifier or in words. Attribution is how to
	// credit the publisher.
	License, Attribution string

	// Rank is the authority of the source by type.
	Rank Ranks
	// Schemes are the schemes of Report.Refs for its events, besides its own name.
	Schemes []Scheme
	// Responds means that a report of the source makes a hazard a RESPONSE. An operator may leave
	// that to editors.
	Responds bool

	// Pushes are connections over which the source sends payloads as it issues them. All are kept
	// open, and a payload that arrives twice is processed once. Parse parses it. Polling continues
	// at the feeds' interval while no connection is up, and at least once every Eased while one is.
	Pushes []Push
	Eased  time.Duration
	// Announces, if not nil, returns where the messages listed in a pushed message can be fetched:
	// the message itself and, for a heartbeat, the messages before it, which are fetched if they
	// did not arrive. beat reports that the message is only a heartbeat.
	Announces func(message []byte) (links []Link, beat bool)

	// Lists is what the lists of the source say beyond their entries.
	Lists Lists
	// Repeats means that it is unknown how a later message of the same warning is known, so that two
	// events of the source may be one warning.
	Repeats bool
	// Lasts, if not nil, reports whether an active event lasts only as long as a list contains it
	// (Batch.Lasting). Two consecutive lists without the event end it.
	Lasts func(event string, start, now hazard.Instant) bool
	// Missing, if not nil, is called for each active event that a completely read feed did not
	// contain. It returns the address that says what happened to the event. It returns "" if the
	// absence means nothing, for example if the event is older than the feed's window. The event is
	// over if the address returns 404, 409 or 410, or if the report there says so.
	Missing func(feed, event string, start, now hazard.Instant) string
	// Slight says which reports are too slight for a hazard of their own (Report.Minor); empty if
	// there are none, or only those that end an event.
	Slight string
	// Lives are how long events last if the source gives no end. Other types have the life of their
	// hazard.TypeInfo.
	Lives []Life

	// PlaceURL returns the address of the shape of a place in a report without geometry, or "" if
	// there is none or none is needed. ParsePlace parses the response. Both are nil if the source
	// names no places.
	PlaceURL   func(code string) string
	ParsePlace func(payload []byte) (code string, geometryGeoJSON []byte, name string, err error)
	// Places finds the shapes of places by code, also among the fetched ones; nil means that the
	// source has no shapes of its own.
	Places func(kept Kept) Places
	// PlaceCodes is the shared vocabulary of the codes in Report.Places, such as "UGC". It means
	// that places are areas. Built-in areas and the operator's areas are found by package region;
	// others in Places, and last by the source with PlaceURL for that vocabulary. If none knows the
	// place, the outline of the country is used. Empty means that places are not areas.
	PlaceCodes string
}

// Kept returns the GeoJSON geometry of a fetched place, or an error if it was never fetched.
type Kept func(ctx context.Context, code string) (string, error)

// Shape returns the shape of a fetched place, and whether it was fetched and can be read. So Kept is
// the Places of a source without built-in shapes.
func (k Kept) Shape(ctx context.Context, code string) (geo.Shape, bool) {
	text, err := k(ctx, code)
	if err != nil {
		return geo.Shape{}, false
	}
	s, err := geo.ParseLoose([]byte(text))
	return s, err == nil
}

// Places finds the shapes of places that reports only name.
type Places interface {
	// Shape returns the shape of a place by code, and whether it is known.
	Shape(ctx context.Context, code string) (geo.Shape, bool)
}

// Scheme is a scheme of Report.Refs, SCHEME:ID.
type Scheme struct {
	Name string // "atcf"
	// Type is the type of its events; empty means any.
	Type hazard.Type
	// CausedBy is another source's scheme in which an ID names the cause of the event.
	CausedBy string
	// Bare, if not nil, matches an ID that servers of the base interface write without its scheme.
	Bare *regexp.Regexp
}

// Lists is what the lists of a source say beyond their entries. The zero value is "unknown", which
// errs towards showing: what is listed counts until its own end, and absence ends nothing.
type Lists struct {
	// InForce says whether what is listed is in force, whatever its own end says.
	InForce Answer
	// Complete says whether what is no longer listed is over. Only a list that was read to its end
	// counts (Batch.Whole).
	Complete Answer
	// Confirm is how many consecutive lists of the feed that listed a message must lack it. 0 means 2.
	Confirm int
	// Silence is how long what is in force only because it was listed goes on after its own end
	// while no list can be read. 0 means DefaultSilence.
	Silence time.Duration
	// Cut is the number of entries at which the list is cut. A list of that many is not whole. 0
	// means unknown.
	Cut int
	// Identity is how a later message of the same event is known, for docs/first-source.md:
	// "VTEC", "references", "incidents".
	Identity string
	// NoEnd is what a missing or impossible end means, for the same table.
	NoEnd string
	// Cite is the evidence for all this.
	Cite string
}

// DefaultSilence is Lists.Silence of a source that states none.
const DefaultSilence = 2 * time.Hour

// Patience returns Lists.Silence, or its default.
func (l *Lists) Patience() time.Duration { return cmp.Or(l.Silence, DefaultSilence) }

// Confirmations returns Lists.Confirm, or its default.
func (l *Lists) Confirmations() int { return cmp.Or(l.Confirm, 2) }

// Absence says what it means when a whole list does not contain an active event.
func (l *Lists) Absence() string {
	switch {
	case l.Complete != Yes:
		return "says nothing"
	case l.Confirmations() == 1:
		return "ends the event"
	case l.Confirmations() == 2:
		return "ends the event, after two lists"
	}
	return "ends the event, after several lists"
}

// Answer is what is known of a question about a source.
type Answer int

// The answers.
const (
	Unknown Answer = iota
	Yes
	No
)

func (a Answer) String() string { return [...]string{"unknown", "yes", "no"}[a] }

// Life is how long events of a kind last if the source gives no end.
type Life struct {
	Of  string // which events, for people: "a WARNING"
	For time.Duration
}

// Rank orders sources by authority: the lowest is the most authoritative. It describes the kind of
// source for a type of hazard, so that a new source can be ranked without looking at others.
type Rank int

// The ranks. 0 is invalid: a source must state a rank for each type that it reports.
const (
	// Responsible is an office that is officially responsible for hazards of this type: it measures
	// or warns.
	Responsible Rank = iota + 1
	// Specialist is another institute or service that observes hazards of this type itself.
	Specialist
	// National is a national authority that passes on messages of its offices: the rank of CAP
	// feeds.
	National
	// Model estimates the impact from the observations of others.
	Model
	// Responder reports a response to a hazard, and gives no level of severity.
	Responder
	// Curator collects reports of others.
	Curator
	// Relay repeats reports of another server.
	Relay
)

// rankNames are the names of the ranks in settings and docs.
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

// Ranks are the ranks of a source by type. The type "" stands for all unlisted types.
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

// NameForm matches the name of a source.
var NameForm = regexp.MustCompile(`^[a-z][a-z0-9-]{0,39}$`)

// Check validates the description. Its error names the source and the field.
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
	if l := s.Lists; l.InForce < Unknown || l.InForce > No || l.Complete < Unknown || l.Complete > No {
		fault("lists: %d and %d, expected Unknown, Yes or No", int(l.InForce), int(l.Complete))
	}
	if l := s.Lists; l.Confirm < 0 || l.Silence < 0 || l.Cut < 0 {
		fault("lists: confirm %d, silence %v, cut %d, expected none below 0", l.Confirm, l.Silence, l.Cut)
	}
	for i, f := range s.Feeds {
		if f.Fastest < 0 || f.Fastest > f.Every || f.Fastest > 0 && !s.Warns {
			fault("feed %d: %v while it changes, expected at most %v, and only of a source that warns", i+1, f.Fastest, f.Every)
		}
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
