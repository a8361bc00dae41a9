package service

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/hazardd/hazardd/client"
	"github.com/hazardd/hazardd/internal/auth"
	"github.com/hazardd/hazardd/internal/coverage"
	"github.com/hazardd/hazardd/internal/geo"
	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/intake"
	"github.com/hazardd/hazardd/internal/place"
	"github.com/hazardd/hazardd/internal/poll"
	"github.com/hazardd/hazardd/internal/source"
	"github.com/hazardd/hazardd/internal/source/cap"
	"github.com/hazardd/hazardd/internal/source/copernicus"
	"github.com/hazardd/hazardd/internal/source/emsc"
	"github.com/hazardd/hazardd/internal/source/eonet"
	"github.com/hazardd/hazardd/internal/source/gdacs"
	"github.com/hazardd/hazardd/internal/source/geonet"
	"github.com/hazardd/hazardd/internal/source/gvp"
	"github.com/hazardd/hazardd/internal/source/hans"
	"github.com/hazardd/hazardd/internal/source/mirror"
	"github.com/hazardd/hazardd/internal/source/nhc"
	"github.com/hazardd/hazardd/internal/source/nifc"
	"github.com/hazardd/hazardd/internal/source/nws"
	"github.com/hazardd/hazardd/internal/source/tsunami"
	"github.com/hazardd/hazardd/internal/source/usgs"
	"github.com/hazardd/hazardd/internal/store"
)

// builtIn lists the sources that this program knows. One more source is one more line.
var builtIn = []func() source.Source{
	nws.Source,
	usgs.Source,
	emsc.Source,
	geonet.Source,
	tsunami.Source,
	gdacs.Source,
	nhc.Source,
	eonet.Source,
	hans.Source,
	gvp.Source,
	nifc.Source,
	copernicus.Source,
}

// CAPSource is a feed of CAP alerts that an operator has named.
type CAPSource struct {
	cap.Config
	// PlacesFile is a file of the shapes of the places that the alerts only name (cap.ReadPlaces); empty: there is none.
	PlacesFile string
}

// MirrorSource is another server of the base interface that an operator has named.
type MirrorSource struct {
	Name, Title string
	URL         string // its base address
	Username    string
	Password    string
	Every       time.Duration // 0: mirror.Every
}

// Sources are the sources of an installation: those built in, and those that its operator has named. They are immutable.
type Sources struct {
	polled []source.Source
	// filed are known by name for payloads from files alone.
	filed     []source.Source
	mirrors   map[string]MirrorSource
	authority hazard.Authority
	schemes   source.Schemes
	coverage  func() (*coverage.Map, error)
}

// SourceSettings are what an operator can say of the sources.
type SourceSettings struct {
	CAP     []CAPSource
	Mirrors []MirrorSource
	// NoResponse: an activation of Copernicus does not move a hazard from EVENT to RESPONSE.
	NoResponse bool
}

// NewSources makes the sources of an installation. Its error names the setting at fault.
func NewSources(set SourceSettings) (*Sources, error) {
	s := &Sources{mirrors: map[string]MirrorSource{}}
	var own []source.Source // built in
	for _, describe := range builtIn {
		src := describe()
		if set.NoResponse && src.Responds {
			src.Parse = withoutResponse(src.Parse)
		}
		own = append(own, src)
	}
	if err := check(own); err != nil {
		return nil, err
	}
	var err error
	if s.schemes, err = source.SchemesOf(own); err != nil {
		return nil, err
	}
	var named []source.Source // by the operator
	add := func(setting string, src source.Source, errs ...error) error {
		if slices.ContainsFunc(slices.Concat(own, named), func(p source.Source) bool { return p.Name == src.Name }) {
			errs = append(errs, fmt.Errorf("name: %q is another source's", src.Name))
		}
		if err := cmp.Or(errors.Join(errs...), src.Check()); err != nil {
			return fmt.Errorf("%s source %q: %w", setting, src.Name, err)
		}
		named = append(named, src)
		return nil
	}
	for _, c := range set.CAP {
		places, err := readPlaces(c.PlacesFile)
		if err := add("cap", c.Source(places), c.Check(), err, knownCountries(c.Countries)); err != nil {
			return nil, err
		}
	}
	for _, m := range set.Mirrors {
		s.mirrors[m.Name] = m
		if err := add("mirror", mirror.Source(m.Name, m.Title, m.URL, m.Every, s.schemes), m.check()); err != nil {
			return nil, err
		}
	}
	s.polled = slices.Concat(own, named)
	s.coverage = sync.OnceValues(func() (*coverage.Map, error) { return coverage.New(s.polled) })
	s.authority = source.AuthorityOf(slices.Concat(named, own)) // the operator's before those of the same rank
	for _, src := range []source.Source{
		cap.Config{Name: "cap", Title: "CAP alerts from files"}.Source(cap.Places{}),
		mirror.Source(mirror.Name, "Lists of hazards from files", "", 0, s.schemes),
	} {
		if !slices.ContainsFunc(s.polled, func(p source.Source) bool { return p.Name == src.Name }) {
			s.filed = append(s.filed, src)
		}
	}
	return s, nil
}

// check says what the sources that are built in lack: each of them, and two of one rank for one type in
// one country, which only their order in the list would decide.
func check(own []source.Source) error {
	var errs []error
	for i := range own {
		errs = append(errs, own[i].Check())
		for _, info := range hazard.Types() {
			for j := range own[:i] {
				a, ok := own[i].Rank.Of(info.ID)
				b, also := own[j].Rank.Of(info.ID)
				if ok && also && a == b && own[i].Reports(info.ID) && own[j].Reports(info.ID) && !apart(&own[i], &own[j]) {
					errs = append(errs, fmt.Errorf("source %q: rank: %s for the type %s, as has the source %q", own[i].Name, a, info.ID, own[j].Name))
				}
			}
		}
	}
	return errors.Join(errs...)
}

// apart reports whether two sources cover countries of which none is the same.
func apart(a, b *source.Source) bool {
	return a.Countries != nil && b.Countries != nil && !slices.ContainsFunc(a.Countries, func(c string) bool { return slices.Contains(b.Countries, c) })
}

// Authority is the order of the sources by type of hazard, and Schemes are the schemes of their references. The caller
// must not change them.
func (s *Sources) Authority() hazard.Authority { return s.authority }
func (s *Sources) Schemes() source.Schemes     { return s.schemes }

// Coverage is what the sources cover. It is made when it is first asked for. Its error names a source and a country that nobody knows.
func (s *Sources) Coverage() (*coverage.Map, error) { return s.coverage() }

// BuiltIn are the sources of an installation whose operator has named none.
func BuiltIn() *Sources {
	s, err := NewSources(SourceSettings{})
	if err != nil {
		panic(err) // our own list
	}
	return s
}

// withoutResponse leaves the category to editors.
func withoutResponse(parse func([]byte, hazard.Instant) (source.Batch, error)) func([]byte, hazard.Instant) (source.Batch, error) {
	return func(payload []byte, now hazard.Instant) (source.Batch, error) {
		batch, err := parse(payload, now)
		for i := range batch.Reports {
			if r := &batch.Reports[i]; r.Category == hazard.Response {
				r.Category = hazard.Event
			}
		}
		return batch, err
	}
}

// knownCountries says which of some codes are of no country.
func knownCountries(codes []string) error {
	var errs []error
	for _, code := range codes {
		if _, ok := place.CountryByCode(code); !ok {
			errs = append(errs, fmt.Errorf("country: %.20q is no country, expected a code such as AT (ISO 3166-1 alpha-2)", code))
		}
	}
	return errors.Join(errs...)
}

func readPlaces(file string) (cap.Places, error) {
	if file == "" {
		return cap.Places{}, nil
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return cap.Places{}, fmt.Errorf("places: %w", err)
	}
	places, err := cap.ReadPlaces(text)
	if err != nil {
		return places, fmt.Errorf("places: %s: %w", file, err)
	}
	return places, nil
}

// check says what is wrong with the means to ask a server.
func (m MirrorSource) check() error {
	_, err := client.New(m.URL, client.Options{Username: m.Username, Password: m.Password})
	if err == nil && m.Username == "" {
		err = errors.New("user: missing")
	}
	return err
}

// ask gives a source that is asked in its own way the means to be asked.
func (m MirrorSource) ask(src *poll.Source, schemes source.Schemes, transport http.RoundTripper, agent string) error {
	server, err := client.New(m.URL, client.Options{Username: m.Username, Password: m.Password, HTTPClient: &http.Client{Transport: transport}, UserAgent: agent})
	if err != nil {
		return err
	}
	replica := mirror.New(m.Name, schemes, server)
	src.Taken = replica.Taken
	src.Read = func(ctx context.Context, now hazard.Instant) (source.Batch, error) {
		batch, err := replica.Read(ctx, now)
		if answer, ok := errors.AsType[*client.Problem](err); ok {
			return batch, poll.Answered(answer.Status, answer.Detail, answer.RetryAfter)
		}
		return batch, err
	}
	return nil
}

// Names lists the names of the sources that can be polled.
func (s *Sources) Names() []string {
	var names []string
	for _, p := range s.polled {
		names = append(names, p.Name)
	}
	return names
}

// Choose reads the setting of which sources are polled: "all", "none", or names separated by commas.
func (s *Sources) Choose(setting string) ([]string, error) {
	known := s.Names()
	switch setting {
	case "all":
		return known, nil
	case "none", "":
		return nil, nil
	}
	var names []string
	for name := range strings.SplitSeq(setting, ",") {
		name = strings.TrimSpace(name)
		if !slices.Contains(known, name) {
			return nil, fmt.Errorf("sources: %q is no source; these are: all, none, %s", name, strings.Join(known, ", "))
		}
		names = append(names, name)
	}
	return names, nil
}

// Find is the source of that name, which may be one for files alone: it then has no feeds, or none that can be polled.
func (s *Sources) Find(name string) (poll.Source, error) {
	for _, p := range slices.Concat(s.polled, s.filed) {
		if p.Name == name {
			return poll.Source{Source: p}, nil
		}
	}
	var names []string
	for _, p := range s.filed {
		names = append(names, p.Name)
	}
	return poll.Source{}, fmt.Errorf("%w: %q is no source; these are: %s; and for files alone: %s", hazard.ErrNotFound, name,
		strings.Join(s.Names(), ", "), strings.Join(names, ", "))
}

// FindFeed is the source of a name, or of the address of one of its feeds, which it returns too.
func (s *Sources) FindFeed(name string) (src poll.Source, feed string, err error) {
	for _, p := range s.polled {
		if slices.ContainsFunc(p.Feeds, func(f source.Feed) bool { return f.URL == name }) {
			return poll.Source{Source: p}, name, nil
		}
	}
	src, err = s.Find(name)
	return src, "", err
}

// chosen are the sources that can be polled, those not named disabled.
func (s *Sources) chosen(names []string) []poll.Source {
	sources := make([]poll.Source, len(s.polled))
	for i, src := range s.polled {
		sources[i] = poll.Source{Source: src, Disabled: !slices.Contains(names, src.Name)}
	}
	return sources
}

// Statuses reads the state of every source that can be polled; those not named are disabled.
func (s *Sources) Statuses(ctx context.Context, st *store.Store, names []string, now hazard.Instant) ([]poll.Status, error) {
	kept, err := st.SourceStates(ctx)
	if err != nil {
		return nil, err
	}
	return s.statusesOf(kept, names, now), nil
}

// statusesOf is Statuses by what was read before.
func (s *Sources) statusesOf(kept map[string][]byte, names []string, now hazard.Instant) []poll.Status {
	return poll.Statuses(kept, now, s.chosen(names))
}

// Intake makes the intake of a store, for the server and for the command line beside it.
func (s *Sources) Intake(st *store.Store) *intake.Intake {
	places, shared := map[string]source.Places{}, map[string]source.Places{}
	all := slices.Concat(s.polled, s.filed)
	for _, src := range all {
		if src.Places != nil {
			places[src.Name] = src.Places(func(ctx context.Context, code string) (string, error) { return st.Place(ctx, src.Name, code) })
		}
		if src.PlaceCodes != "" && src.PlaceURL != nil {
			shared[src.PlaceCodes] = places[src.Name]
		}
	}
	for _, src := range all {
		if of := shared[src.PlaceCodes]; of != nil && src.PlaceURL == nil {
			places[src.Name] = either{places[src.Name], of}
		}
	}
	return intake.New(st, intake.Known{Authority: s.authority, Schemes: s.schemes, Places: places})
}

// either finds a place where the first of them knows it; nil knows none.
type either []source.Places

func (e either) Shape(ctx context.Context, code string) (geo.Shape, bool) {
	for _, places := range e {
		if places == nil {
			continue
		}
		if s, ok := places.Shape(ctx, code); ok {
			return s, true
		}
	}
	return geo.Shape{}, false
}

// NewPoller makes the poller of the sources that cfg names.
func NewPoller(s *store.Store, in *intake.Intake, cfg Config) (*poll.Poller, error) {
	pc := poll.Config{Store: s, Intake: in, Sources: cfg.Known.chosen(cfg.Sources), Log: cfg.Logger, Version: cfg.Version, Contact: cfg.Contact, ProxyURL: cfg.ProxyURL,
		AllowPrivate: cfg.PrivateSources}
	if cfg.Clock != nil {
		pc.Now = cfg.Clock.Now
	}
	if len(cfg.Known.mirrors) > 0 {
		transport, err := poll.NewTransport(&pc)
		if err != nil {
			return nil, err
		}
		transport.DisableCompression = false // the client bounds what comes out
		for i := range pc.Sources {
			if m, ok := cfg.Known.mirrors[pc.Sources[i].Name]; ok {
				if err := m.ask(&pc.Sources[i], cfg.Known.schemes, transport, pc.UserAgent()); err != nil {
					return nil, err
				}
			}
		}
	}
	return poll.New(pc)
}

// NewAuth makes the users, tokens and keys of a store. Tokens name the installation, not its address: they stay good when that changes,
// and those that the command line makes are good at the server.
func NewAuth(s *store.Store, cfg Config) *auth.Service {
	return auth.New(s.Auth(), auth.Config{Issuer: s.Installation(), AccessLife: cfg.AccessLife, RefreshLife: cfg.RefreshLife, Log: cfg.Logger})
}
