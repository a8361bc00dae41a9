package app

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/hazardd/hazardd/client"
	"github.com/hazardd/hazardd/internal/atlas/region"
	"github.com/hazardd/hazardd/internal/auth"
	"github.com/hazardd/hazardd/internal/auth/secret"
	"github.com/hazardd/hazardd/internal/geo"
	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/hazard/query"
	"github.com/hazardd/hazardd/internal/ingest/coverage"
	"github.com/hazardd/hazardd/internal/ingest/evidence"
	"github.com/hazardd/hazardd/internal/ingest/fuse"
	"github.com/hazardd/hazardd/internal/ingest/poll"
	"github.com/hazardd/hazardd/internal/ingest/source"
	"github.com/hazardd/hazardd/internal/ingest/sources/avalanchecanada"
	"github.com/hazardd/hazardd/internal/ingest/sources/avalancheorg"
	"github.com/hazardd/hazardd/internal/ingest/sources/bbk"
	"github.com/hazardd/hazardd/internal/ingest/sources/bmkg"
	"github.com/hazardd/hazardd/internal/ingest/sources/calfire"
	"github.com/hazardd/hazardd/internal/ingest/sources/cap"
	"github.com/hazardd/hazardd/internal/ingest/sources/cisa"
	"github.com/hazardd/hazardd/internal/ingest/sources/copernicus"
	"github.com/hazardd/hazardd/internal/ingest/sources/eafloods"
	"github.com/hazardd/hazardd/internal/ingest/sources/eaws"
	"github.com/hazardd/hazardd/internal/ingest/sources/emsc"
	"github.com/hazardd/hazardd/internal/ingest/sources/eonet"
	"github.com/hazardd/hazardd/internal/ingest/sources/gdacs"
	"github.com/hazardd/hazardd/internal/ingest/sources/geonet"
	"github.com/hazardd/hazardd/internal/ingest/sources/gvp"
	"github.com/hazardd/hazardd/internal/ingest/sources/hans"
	"github.com/hazardd/hazardd/internal/ingest/sources/ign"
	"github.com/hazardd/hazardd/internal/ingest/sources/jma"
	"github.com/hazardd/hazardd/internal/ingest/sources/jtwc"
	"github.com/hazardd/hazardd/internal/ingest/sources/koeri"
	"github.com/hazardd/hazardd/internal/ingest/sources/mirror"
	"github.com/hazardd/hazardd/internal/ingest/sources/nga"
	"github.com/hazardd/hazardd/internal/ingest/sources/nhc"
	"github.com/hazardd/hazardd/internal/ingest/sources/nifc"
	"github.com/hazardd/hazardd/internal/ingest/sources/nswrfs"
	"github.com/hazardd/hazardd/internal/ingest/sources/nws"
	"github.com/hazardd/hazardd/internal/ingest/sources/official"
	"github.com/hazardd/hazardd/internal/ingest/sources/reliefweb"
	"github.com/hazardd/hazardd/internal/ingest/sources/tsunami"
	"github.com/hazardd/hazardd/internal/ingest/sources/usgs"
	"github.com/hazardd/hazardd/internal/ingest/sources/vaac"
	"github.com/hazardd/hazardd/internal/ingest/sources/vigicrues"
	"github.com/hazardd/hazardd/internal/ingest/sources/whodon"
	"github.com/hazardd/hazardd/internal/store"
)

// builtIn lists the sources in this program. To add a source, add a line.
var builtIn = []func() source.Source{
	nws.Source,
	usgs.Source,
	emsc.Source,
	geonet.Source,
	bmkg.Source,
	koeri.Source,
	ign.Source,
	tsunami.Source,
	jma.Source,
	bbk.Source,
	gdacs.Source,
	nhc.Source,
	jtwc.Source,
	eonet.Source,
	hans.Source,
	gvp.Source,
	vaac.Source,
	nifc.Source,
	nswrfs.Source,
	calfire.Source,
	eafloods.Source,
	vigicrues.Source,
	eaws.Source,
	avalancheorg.Source,
	avalanchecanada.Source,
	nga.Source,
	whodon.Source,
	reliefweb.Source,
	cisa.Source,
	copernicus.Source,
}

// CAPSource is a feed of CAP alerts that the operator has configured.
type CAPSource struct {
	cap.Config
	// PlacesFile is a file with the shapes of places that the alerts mention only by name
	// (cap.ReadPlaces); empty means none.
	PlacesFile string
}

// MirrorSource is another server with the base interface that the operator has configured.
type MirrorSource struct {
	Name, Title string
	URL         string // its base address
	Username    string
	Password    string
	Every       time.Duration // 0 means mirror.Every
	Fastest     time.Duration // while the list changes; 0 means mirror.Fastest, or Every if that is set
}

// Sources holds the sources of an installation: the built-in ones, the catalog of official feeds,
// and those that the operator has configured. It is immutable.
type Sources struct {
	polled []source.Source
	// catalog holds the catalog's feeds that are sources, by name. off holds those that are polled
	// only if the setting names them.
	catalog map[string]*official.Feed
	off     map[string]bool
	states  poll.States // the last decoded state
	// filed holds sources that take payloads from files only.
	filed     []source.Source
	mirrors   map[string]MirrorSource
	authority hazard.Authority
	schemes   source.Schemes
	coverage  func() (*coverage.Map, error)
	areas     region.Finder
	optional  []optionalFile // what the operator's settings name
}

// SourceSettings holds the operator's settings of the sources.
type SourceSettings struct {
	CAP     []CAPSource
	Mirrors []MirrorSource
	// Areas is the folder of the operator's own areas, by the codes used in alerts; empty means none.
	Areas string
	// NoResponse keeps an activation of Copernicus from moving a hazard from EVENT to RESPONSE.
	NoResponse bool
}

// NewSources builds the sources of an installation. Its error names the setting at fault.
func NewSources(set SourceSettings) (*Sources, error) {
	s := &Sources{mirrors: map[string]MirrorSource{}, catalog: map[string]*official.Feed{}, off: map[string]bool{}}
	if set.Areas != "" {
		own := &optional[*region.Own]{what: "the folder of own areas", lacks: "these places are not known", read: func() (*region.Own, error) { return region.ReadFolder(set.Areas) }}
		s.optional, s.areas.Own = append(s.optional, own), own.get
	}
	var own []source.Source // built in
	for _, describe := range builtIn {
		src := describe()
		if set.NoResponse && src.Responds {
			src.Parse = withoutResponse(src.Parse)
		}
		s.off[src.Name] = src.Off != ""
		own = append(own, src)
	}
	if err := check(own); err != nil {
		return nil, err
	}
	var err error
	if s.schemes, err = source.SchemesOf(own); err != nil {
		return nil, err
	}
	var named []source.Source // configured by the operator
	add := func(setting string, src source.Source, errs ...error) error {
		if slices.ContainsFunc(slices.Concat(own, named), func(p source.Source) bool { return p.Name == src.Name }) {
			errs = append(errs, fmt.Errorf("name: %q is the name of another source", src.Name))
		}
		if err := cmp.Or(errors.Join(errs...), src.Check()); err != nil {
			return fmt.Errorf("%s source %q: %w", setting, src.Name, err)
		}
		named = append(named, src)
		return nil
	}
	for _, c := range set.CAP {
		c.Practice = official.PracticeOf(c.URL)
		src := c.Source(cap.Places{})
		if c.PlacesFile != "" {
			places := &optional[cap.Places]{what: "the places of the source " + c.Name, lacks: "these places are not known", read: func() (cap.Places, error) { return readPlaces(c.PlacesFile) }}
			s.optional = append(s.optional, places)
			src.Places = func(source.Kept) source.Places { return places.get() }
		}
		if err := add("cap", src, c.Check(), knownCountries(c.Countries)); err != nil {
			return nil, err
		}
	}
	for _, m := range set.Mirrors {
		s.mirrors[m.Name] = m
		if err := add("mirror", mirror.Source(m.Name, m.Title, m.URL, m.Every, m.Fastest, s.schemes), m.check()); err != nil {
			return nil, err
		}
	}
	catalog, err := s.take(official.Feeds(), named)
	if err != nil {
		return nil, err
	}
	s.polled = slices.Concat(own, named, catalog)
	s.coverage = sync.OnceValues(func() (*coverage.Map, error) { return coverage.New(s.polled) })
	s.authority = source.AuthorityOf(slices.Concat(named, own, catalog)) // the operator's sources come first among equal ranks
	for _, src := range []source.Source{
		cap.Config{Name: "cap", Title: "CAP alerts from files"}.Source(cap.Places{}),
		mirror.Source(mirror.Name, "Lists of hazards from files", "", 0, 0, s.schemes),
	} {
		if !slices.ContainsFunc(s.polled, func(p source.Source) bool { return p.Name == src.Name }) {
			s.filed = append(s.filed, src)
		}
	}
	_ = s.Unread() // who serves says it, and asks again; who takes in files refuses to
	return s, nil
}

// take returns the feeds of the catalog as sources. The operator's sources take precedence: a
// catalog feed with the same name is left out, and one at the same address is polled only if the
// setting names it.
func (s *Sources) take(feeds []official.Feed, named []source.Source) (catalog []source.Source, err error) {
	for i := range feeds {
		f := &feeds[i]
		if slices.ContainsFunc(named, func(n source.Source) bool { return n.Name == f.Name }) {
			continue
		}
		src := f.Source()
		if err := src.Check(); err != nil {
			return nil, err
		}
		same := func(n source.Source) bool {
			return slices.ContainsFunc(n.Feeds, func(feed source.Feed) bool { return feed.URL == f.URL })
		}
		s.catalog[f.Name], s.off[f.Name] = f, !f.Default() || slices.ContainsFunc(named, same)
		catalog = append(catalog, src)
	}
	return catalog, nil
}

// Catalog returns the feeds of the catalog, ordered by name. The caller must not change them.
func (s *Sources) Catalog() []official.Feed { return official.Feeds() }

// check validates the built-in sources. No two may have the same rank for the same type in one
// country: only their order in the list would decide between them.
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

// apart reports whether two sources have no country in common.
func apart(a, b *source.Source) bool {
	return a.Countries != nil && b.Countries != nil && !slices.ContainsFunc(a.Countries, func(c string) bool { return slices.Contains(b.Countries, c) })
}

// Authority returns the order of the sources by type of hazard, and Schemes the schemes of their
// references. The caller must not change them.
func (s *Sources) Authority() hazard.Authority { return s.authority }
func (s *Sources) Schemes() source.Schemes     { return s.schemes }

// Coverage returns what the sources cover. It is built on the first call. Its error names the
// source and the unknown country.
func (s *Sources) Coverage() (*coverage.Map, error) { return s.coverage() }

// BuiltIn returns the sources of an installation without any configured by the operator.
func BuiltIn() *Sources {
	s, err := NewSources(SourceSettings{})
	if err != nil {
		panic(err) // the list is part of the program
	}
	return s
}

// withoutResponse wraps parse so that only editors set the category RESPONSE.
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

// knownCountries returns an error that names the codes that are not countries.
func knownCountries(codes []string) error {
	var errs []error
	for _, code := range codes {
		if _, ok := region.CountryByCode(code); !ok {
			errs = append(errs, fmt.Errorf("country: %.20q is not a country; expected a code such as AT (ISO 3166-1 alpha-2)", code))
		}
	}
	return errors.Join(errs...)
}

func readPlaces(file string) (cap.Places, error) {
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

// check validates the settings for access to the server.
func (m MirrorSource) check() error {
	_, err := client.New(m.URL, client.Options{Username: m.Username, Password: m.Password})
	if err == nil && m.Username == "" {
		err = errors.New("user: missing")
	}
	return err
}

// ask gives src the client that a mirrored server needs.
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

// Names returns the names of the sources that are polled by default: the built-in ones, those that
// the operator has configured, and the working feeds of the catalog.
func (s *Sources) Names() []string {
	return s.names(func(src *source.Source) bool { return !s.off[src.Name] })
}

// Own returns the names of the sources that are built in or configured by the operator, without the
// catalog.
func (s *Sources) Own() []string {
	return s.names(func(src *source.Source) bool { return s.catalog[src.Name] == nil })
}

func (s *Sources) names(which func(*source.Source) bool) []string {
	var names []string
	for i := range s.polled {
		if which(&s.polled[i]) {
			names = append(names, s.polled[i].Name)
		}
	}
	return names
}

// title returns the title of a polled source, or "" if there is none of that name.
func (s *Sources) title(name string) string {
	if i := slices.IndexFunc(s.polled, func(src source.Source) bool { return src.Name == name }); i >= 0 {
		return s.polled[i].Title
	}
	return ""
}

// official reports whether a source is polled by default and carries the alerts of an authority in
// the catalog. It is a feed of the catalog, or a built-in source with the same alerts.
func (s *Sources) official(src *source.Source) bool {
	if s.catalog[src.Name] != nil {
		return !s.off[src.Name]
	}
	for _, f := range s.catalog {
		if f.By == src.Name {
			return !s.off[src.Name]
		}
	}
	return false
}

// The keywords of the setting that chooses the polled sources, besides names and countries.
const (
	wordAll      = "all"
	wordOfficial = "official"
	wordNone     = "none"
)

// Choose parses the setting that chooses the polled sources: "none" or "", or words separated by
// commas. A word is "all" (the sources that are on by default), "official" (among these, the
// official feeds of the catalog and the built-in sources that replace one), the name of a source,
// or an ISO 3166-1 alpha-2 country code (the country's sources that are on by default). The result
// is in the order of the sources.
func (s *Sources) Choose(setting string) ([]string, error) {
	chosen := map[string]bool{}
	words := strings.Split(setting, ",")
	for _, word := range words {
		word = strings.TrimSpace(word)
		var names []string
		switch country := strings.ToUpper(word); {
		case (word == wordNone || word == "") && len(words) > 1:
			return nil, fmt.Errorf("sources: %q combines %q with other words; expected one or more of all, official, a country or the name of a source, or none alone", setting, word)
		case word == wordNone || word == "":
		case word == wordAll:
			names = s.Names()
		case word == wordOfficial:
			names = s.names(s.official)
		case slices.ContainsFunc(s.polled, func(p source.Source) bool { return p.Name == word }):
			if f := s.catalog[word]; f != nil && !f.Readable() {
				return nil, fmt.Errorf("sources: %q cannot be polled: %s", word, f.WhyNot())
			}
			names = []string{word}
		case countryForm.MatchString(country):
			names = s.names(func(src *source.Source) bool { return !s.off[src.Name] && slices.Contains(src.Countries, country) })
			if names == nil {
				return nil, fmt.Errorf("sources: %q: no source of that country is on by default; hazardd source catalog lists all of them", word)
			}
		default:
			return nil, fmt.Errorf("sources: %q is not a source%s; expected all, official, none, a country such as de, or the name of a source from hazardd source list or hazardd source catalog",
				word, s.suggest(word))
		}
		for _, name := range names {
			chosen[name] = true
		}
	}
	return s.names(func(src *source.Source) bool { return chosen[src.Name] }), nil
}

var countryForm = regexp.MustCompile(`^[A-Z]{2}$`)

// suggest returns the clause "did you mean …" with the closest known word, or "".
func (s *Sources) suggest(word string) string {
	words := []string{wordAll, wordOfficial, wordNone}
	for i := range s.polled {
		words = append(words, s.polled[i].Name)
	}
	if near := query.NearestWord(word, words); near != "" {
		return fmt.Sprintf(", did you mean %s?", near)
	}
	return ""
}

// Find returns the source of that name. A source for files only has no feed that can be polled.
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
	return poll.Source{}, fmt.Errorf("%w: %q is not a source%s; the sources are: %s; for files only: %s; and those in hazardd source catalog", hazard.ErrNotFound, name,
		s.suggest(name), strings.Join(s.Own(), ", "), strings.Join(names, ", "))
}

// FindFeed returns the source of that name, or the source with a feed at that address and the
// feed's name.
func (s *Sources) FindFeed(name string) (src poll.Source, feed string, err error) {
	for _, p := range s.polled {
		if slices.ContainsFunc(p.Feeds, func(f source.Feed) bool { return f.URL == name }) {
			return poll.Source{Source: p}, name, nil
		}
	}
	src, err = s.Find(name)
	return src, "", err
}

// chosen returns the named sources as enabled and all others as disabled. Feeds of the catalog that
// are not named are left out.
func (s *Sources) chosen(names []string) []poll.Source {
	named := map[string]bool{}
	for _, n := range names {
		named[n] = true
	}
	var sources []poll.Source
	for _, src := range s.polled {
		if named[src.Name] || s.catalog[src.Name] == nil {
			sources = append(sources, poll.Source{Source: src, Disabled: !named[src.Name]})
		}
	}
	return sources
}

// Statuses reads the state of every source that can be polled. Sources not in names are disabled.
func (s *Sources) Statuses(ctx context.Context, st *store.Store, names []string, now hazard.Instant) ([]poll.Status, error) {
	kept, err := st.Sources.States(ctx)
	if err != nil {
		return nil, err
	}
	return s.statusesOf(kept, names, now), nil
}

// statusesOf does the same as Statuses from states that were read before.
func (s *Sources) statusesOf(kept map[string][]byte, names []string, now hazard.Instant) []poll.Status {
	return s.states.Statuses(kept, now, s.chosen(names))
}

// Intake creates the intake of a store, for the server and for the command line.
func (s *Sources) Intake(st *store.Store) *fuse.Intake {
	places, shared, countries, repeats := map[string]source.Places{}, map[string]source.Places{}, map[string][]string{}, map[string]bool{}
	all := slices.Concat(s.polled, s.filed)
	for _, src := range all {
		repeats[src.Name] = src.Repeats
		if src.Places != nil {
			places[src.Name] = src.Places(func(ctx context.Context, code string) (string, error) { return st.Sources.Place(ctx, src.Name, code) })
		}
		if src.PlaceCodes != "" && src.PlaceURL != nil {
			shared[src.PlaceCodes] = places[src.Name]
		}
	}
	for _, src := range all {
		if src.PlaceCodes == "" {
			continue
		}
		// The operator's places take precedence over fetched ones, which need a query.
		if src.PlaceURL == nil {
			places[src.Name] = either{places[src.Name], s.areas, shared[src.PlaceCodes]}
		} else {
			places[src.Name] = either{s.areas, places[src.Name]}
		}
		countries[src.Name] = src.Countries
	}
	return fuse.New(st, fuse.Known{Authority: s.authority, Schemes: s.schemes, Places: places, Countries: countries, Repeats: repeats})
}

// either looks a place up in each of them in turn. nil knows no place.
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

// NewPoller creates the poller of the sources that cfg names. keeper stores their payloads; it may
// be nil.
func NewPoller(s *store.Store, in *fuse.Intake, keeper *evidence.Keeper, cfg Config) (*poll.Poller, error) {
	pc := poll.Config{Store: s, Intake: in, Evidence: keeper, Sources: cfg.Known.chosen(cfg.Sources), Log: cfg.Logger, Version: cfg.Version, Contact: cfg.Contact, ProxyURL: cfg.ProxyURL,
		AllowPrivate: cfg.PrivateSources, NoPush: cfg.NoPush, Delays: cfg.delays}
	if cfg.Clock != nil {
		pc.Now = cfg.Clock.Now
	}
	if len(cfg.Known.mirrors) > 0 {
		transport, err := poll.NewTransport(&pc)
		if err != nil {
			return nil, err
		}
		transport.DisableCompression = false // the client bounds the decompressed size
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

// NewAuth creates the users, tokens and keys of a store. Tokens name the installation, not its
// address: they stay valid when the address changes, and the server accepts those that the command
// line creates.
func NewAuth(s *store.Store, cfg Config) *auth.Service {
	seed := func() ([]byte, error) {
		path, make, err := addressKey(context.Background(), s, &cfg)
		if err != nil {
			return nil, err
		}
		if path == "" {
			return nil, errors.New("this server has none: its nodes need a common key (setting address-key)")
		}
		return secret.Seed(path, make, "read second factors")
	}
	return auth.New(s.Accounts, auth.Config{Issuer: s.Installation(), BaseURL: cfg.PublicURL, AccessLife: cfg.AccessLife, RefreshLife: cfg.RefreshLife, ProviderLife: cfg.ProviderLife, KeepTrail: cfg.Retention.on(), FactorSeed: seed, FactorRoles: cfg.FactorRoles, Log: cfg.Logger})
}
