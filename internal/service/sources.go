package service

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"hazardd/internal/auth"
	"hazardd/internal/hazard"
	"hazardd/internal/intake"
	"hazardd/internal/poll"
	"hazardd/internal/source"
	"hazardd/internal/source/copernicus"
	"hazardd/internal/source/emsc"
	"hazardd/internal/source/eonet"
	"hazardd/internal/source/gdacs"
	"hazardd/internal/source/gvp"
	"hazardd/internal/source/hans"
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
		{Name: tsunami.Name, Title: "US tsunami warning centres", Feeds: tsunami.Feeds(), Parse: parseTsunami},
		{Name: gdacs.Name, Title: "GDACS disaster alerts", Feeds: gdacs.Feeds(), Parse: gdacs.Parse},
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

// parseTsunami reads a bulletin, or the index that leads to the latest one.
func parseTsunami(payload []byte, now hazard.Instant) (source.Batch, error) {
	batch, err := tsunami.Parse(payload, now)
	if err != nil {
		return batch, err
	}
	links, err := tsunami.Links(payload)
	for _, l := range links {
		batch.Links = append(batch.Links, l.URL)
	}
	return batch, err
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

// SourceNames lists the names of the built-in sources.
func SourceNames() []string {
	var names []string
	for _, s := range builtIn() {
		names = append(names, s.Name)
	}
	return names
}

// ChooseSources reads the setting of which sources are polled: "all", "none", or names separated by commas.
func ChooseSources(setting string) ([]string, error) {
	known := SourceNames()
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

// FindSource is the built-in source of that name.
func FindSource(name string) (poll.Source, error) {
	for _, s := range builtIn() {
		if s.Name == name {
			return s, nil
		}
	}
	return poll.Source{}, fmt.Errorf("%w: %q is no source; these are: %s", hazard.ErrNotFound, name, strings.Join(SourceNames(), ", "))
}

// chosen are the built-in sources, those not named disabled.
func chosen(names []string) []poll.Source {
	sources := builtIn()
	for i := range sources {
		sources[i].Disabled = !slices.Contains(names, sources[i].Name)
	}
	return sources
}

// SourceStatuses reads the state of every source; those not named are disabled.
func SourceStatuses(ctx context.Context, s *store.Store, names []string, now hazard.Instant) ([]poll.Status, error) {
	return poll.Statuses(ctx, s, now, chosen(names))
}

// NewIntake makes the intake of a store, for the server and for the command line beside it.
func NewIntake(s *store.Store) *intake.Intake {
	kept := func(name string) func(ctx context.Context, code string) (string, error) {
		return func(ctx context.Context, code string) (string, error) { return s.Place(ctx, name, code) }
	}
	return intake.New(s, map[string]intake.Places{
		nws.Name:  nws.Places{Kept: kept(nws.Name)},
		hans.Name: hans.Places{Kept: kept(hans.Name)},
		// The centres name the coasts by the codes of the weather service.
		tsunami.Name: nws.Places{Kept: kept(nws.Name)},
	})
}

// NewPoller makes the poller of the sources that cfg names.
func NewPoller(s *store.Store, in *intake.Intake, cfg Config) (*poll.Poller, error) {
	return poll.New(poll.Config{Store: s, Intake: in, Sources: chosen(cfg.Sources), Log: cfg.Logger, Version: cfg.Version, Contact: cfg.Contact, ProxyURL: cfg.ProxyURL})
}

// NewAuth makes the users, tokens and keys of a store. Tokens name the installation, not its address: they stay good when that changes,
// and those that the command line makes are good at the server.
func NewAuth(s *store.Store, cfg Config) *auth.Service {
	return auth.New(s.Auth(), auth.Config{Issuer: s.Installation(), AccessLife: cfg.AccessLife, RefreshLife: cfg.RefreshLife, Log: cfg.Logger})
}
