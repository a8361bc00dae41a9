package service

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"time"

	"hazardd/client"
	"hazardd/internal/auth"
	"hazardd/internal/geo"
	"hazardd/internal/hazard"
	"hazardd/internal/intake"
	"hazardd/internal/poll"
	"hazardd/internal/source"
	"hazardd/internal/source/cap"
	"hazardd/internal/source/copernicus"
	"hazardd/internal/source/emsc"
	"hazardd/internal/source/eonet"
	"hazardd/internal/source/gdacs"
	"hazardd/internal/source/gvp"
	"hazardd/internal/source/hans"
	"hazardd/internal/source/mirror"
	"hazardd/internal/source/nhc"
	"hazardd/internal/source/nifc"
	"hazardd/internal/source/nws"
	"hazardd/internal/source/tsunami"
	"hazardd/internal/source/usgs"
	"hazardd/internal/store"
)

// builtIn lists the sources that this program knows, by name. One more source is one more entry.
func builtIn() []poll.Source {
	return []poll.Source{
		{
			Name: nws.Name, Title: "US National Weather Service alerts", Feeds: nws.Feeds(), Parse: nws.Parse,
			EndsAtOnce: true, PlaceURL: nws.PlaceURL, ParsePlace: nws.ParseZone,
		},
		{Name: usgs.Name, Title: "USGS earthquakes", Feeds: usgs.Feeds(), Parse: usgs.Parse, Missing: missingQuake},
		{Name: emsc.Name, Title: "EMSC earthquakes", Feeds: emsc.Feeds(), Parse: emsc.Parse},
		{Name: tsunami.Name, Title: "US tsunami warning centres", Feeds: tsunami.Feeds(), Parse: tsunami.Parse},
		{
			Name: gdacs.Name, Title: "GDACS disaster alerts", Feeds: gdacs.Feeds(), Parse: gdacs.Parse,
			Lasts: func(e store.ActiveEvent, now hazard.Instant) bool { return gdacs.Lasts(e.Event, e.Start, now) },
		},
		{Name: nhc.Name, Title: "NHC tropical cyclones", Feeds: nhc.Feeds(), Parse: nhc.Parse, EndsAtOnce: true},
		{Name: eonet.Name, Title: "NASA EONET natural events", Feeds: eonet.Feeds(), Parse: eonet.Parse},
		{
			Name: hans.Name, Title: "USGS volcano notices", Feeds: hans.Feeds(), Parse: hans.Parse,
			EndsAtOnce: true, PlaceURL: hans.PlaceURL, ParsePlace: hans.ParsePlace,
		},
		{Name: gvp.Name, Title: "Smithsonian weekly volcanic activity", Feeds: gvp.Feeds(), Parse: gvp.Parse},
		{Name: nifc.Name, Title: "NIFC wildfires", Feeds: nifc.Feeds(), Parse: nifc.Parse},
		{Name: copernicus.Name, Title: "Copernicus EMS activations", Feeds: copernicus.Feeds(), Parse: copernicus.Parse},
	}
}

// missingQuake is where to ask what became of an earthquake that a summary does not name. It says something only of the summary of all
// earthquakes, and while the earthquake lies within its day: older ones leave it by age.
func missingQuake(feed string, e store.ActiveEvent, now hazard.Instant) string {
	const margin = time.Hour // the window's edge moves while the feed is made
	if !strings.Contains(feed, "/all_day") || e.Start < now.Add(margin-24*time.Hour) || e.Start > now.Add(-10*time.Minute) {
		return ""
	}
	return usgs.DetailURL(e.Event)
}

// CAPSource is a feed of CAP alerts that an operator has named.
type CAPSource struct {
	cap.Config
	// Hosts are further hosts that the index may lead to, beside its own.
	Hosts []string
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
	polled []poll.Source
	// filed are known by name for payloads from files alone.
	filed   []poll.Source
	places  map[string]intake.Places
	mirrors map[string]MirrorSource
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
	s := &Sources{polled: builtIn(), places: map[string]intake.Places{}, mirrors: map[string]MirrorSource{}}
	if set.NoResponse {
		i := slices.IndexFunc(s.polled, func(p poll.Source) bool { return p.Name == copernicus.Name })
		s.polled[i].Parse = withoutResponse(copernicus.Parse)
	}
	add := func(setting string, src poll.Source, errs ...error) error {
		if slices.ContainsFunc(s.polled, func(p poll.Source) bool { return p.Name == src.Name }) {
			errs = append(errs, fmt.Errorf("name: %q is another source's", src.Name))
		}
		if err := errors.Join(errs...); err != nil {
			return fmt.Errorf("%s source %q: %w", setting, src.Name, err)
		}
		s.polled = append(s.polled, src)
		return nil
	}
	for _, c := range set.CAP {
		places, err := readPlaces(c.PlacesFile)
		s.places[c.Name] = places
		if err := add("cap", capSource(c.Config, c.Hosts), c.Check(), err); err != nil {
			return nil, err
		}
	}
	for _, m := range set.Mirrors {
		s.mirrors[m.Name] = m
		src, err := mirrorSource(m)
		if err := add("mirror", src, err); err != nil {
			return nil, err
		}
	}
	for _, src := range []poll.Source{
		capSource(cap.Config{Name: "cap", Title: "CAP alerts from files"}, nil),
		{
			Name: mirror.Name, Title: "Lists of hazards from files",
			Parse: func(payload []byte, now hazard.Instant) (source.Batch, error) {
				return mirror.Parse(payload, mirror.Name, now)
			},
		},
	} {
		if !slices.ContainsFunc(s.polled, func(p poll.Source) bool { return p.Name == src.Name }) {
			s.filed = append(s.filed, src)
		}
	}
	return s, nil
}

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

func capSource(c cap.Config, hosts []string) poll.Source {
	title := c.Title
	if title == "" {
		title = "CAP alerts of " + c.Name
	}
	return poll.Source{
		Name: c.Name, Title: title, Feeds: c.Feeds(), Hosts: hosts,
		Parse: func(payload []byte, now hazard.Instant) (source.Batch, error) { return cap.Parse(c, payload, now) },
	}
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

// mirrorSource is a server to be mirrored, without the means to ask it, which the poller has.
func mirrorSource(m MirrorSource) (poll.Source, error) {
	every, title := m.Every, m.Title
	if every == 0 {
		every = mirror.Every
	}
	if title == "" {
		title = "Hazards of another server"
	}
	_, err := client.New(m.URL, client.Options{Username: m.Username, Password: m.Password})
	if err == nil && m.Username == "" {
		err = errors.New("user: missing")
	}
	return poll.Source{
		Name: m.Name, Title: title, Feeds: []source.Feed{{URL: strings.TrimRight(m.URL, "/") + "/hazards/active", Every: every, MaxBytes: client.DefaultMaxBody}},
		Parse: func(payload []byte, now hazard.Instant) (source.Batch, error) {
			return mirror.Parse(payload, m.Name, now)
		},
		// The list is complete by the interface, and says of each hazard that is missing how it ended where it can be asked.
		EndsAtOnce: true,
	}, err
}

// ask gives a source that is asked in its own way the means to be asked.
func (m MirrorSource) ask(src *poll.Source, transport http.RoundTripper, agent string) error {
	server, err := client.New(m.URL, client.Options{Username: m.Username, Password: m.Password, HTTPClient: &http.Client{Transport: transport}, UserAgent: agent})
	if err != nil {
		return err
	}
	replica := mirror.New(m.Name, server)
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
			return p, nil
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
			return p, name, nil
		}
	}
	src, err = s.Find(name)
	return src, "", err
}

// chosen are the sources that can be polled, those not named disabled.
func (s *Sources) chosen(names []string) []poll.Source {
	sources := slices.Clone(s.polled)
	for i := range sources {
		sources[i].Disabled = !slices.Contains(names, sources[i].Name)
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
	kept := func(name string) func(ctx context.Context, code string) (string, error) {
		return func(ctx context.Context, code string) (string, error) { return st.Place(ctx, name, code) }
	}
	american := nws.Places{Kept: kept(nws.Name)}
	places := map[string]intake.Places{
		nws.Name:  american,
		hans.Name: hans.Places{Kept: kept(hans.Name)},
		// The centres name the coasts by the codes of the weather service.
		tsunami.Name: american,
		"cap":        american,
	}
	for name, own := range s.places {
		places[name] = either{own, american}
	}
	return intake.New(st, places)
}

// either finds a place where the first of them knows it.
type either []intake.Places

func (e either) Shape(ctx context.Context, code string) (geo.Shape, bool) {
	for _, places := range e {
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
				if err := m.ask(&pc.Sources[i], transport, pc.UserAgent()); err != nil {
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
