package source_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/ingest/source"
)

func floods(name string, rank source.Rank) source.Source {
	return source.Source{
		Name: name, Title: "Floods", Covers: "floods", License: "CC0-1.0", Attribution: "The office",
		Parse: func([]byte, hazard.Instant) (source.Batch, error) { return source.Batch{}, nil },
		Feeds: []source.Feed{{URL: "https://a.example/feed", Every: time.Minute, MaxBytes: 1 << 20}},
		Types: []hazard.Type{hazard.Flood, hazard.Storm},
		Rank:  source.Ranks{hazard.Flood: rank, hazard.Storm: rank},

		Countries: []string{"AT"},
	}
}

// D2, D9: a missing rank is an error that names the source and the type.
func TestADescriptionThatLacksSomethingIsRefused(t *testing.T) {
	good := floods("floods", source.Model)
	if err := good.Check(); err != nil {
		t.Fatal(err)
	}
	for want, spoil := range map[string]func(*source.Source){
		`source "floods": rank: none for the type STORM`:         func(s *source.Source) { delete(s.Rank, hazard.Storm) },
		`source "floods": rank: none for the type FLOOD`:         func(s *source.Source) { s.Rank[hazard.Flood] = 0 },
		`source "floods": rank: "VOLCANO" is not a type that it`: func(s *source.Source) { s.Rank[hazard.Volcano] = source.Model },
		`source "floods": rank: none for the type ACCIDENT`:      func(s *source.Source) { s.Types = nil },
		`source "floods": types: "RAIN" is not a type`:           func(s *source.Source) { s.Types = append(s.Types, "RAIN") },
		`source "Floods": name: expected at most 40 lowercase`:   func(s *source.Source) { s.Name = "Floods" },
		`feed 1: 2m0s while it changes, expected at most 1m0s`:   func(s *source.Source) { s.Warns, s.Feeds[0].Fastest = true, 2*time.Minute },
		`feed 1: 30s while it changes, expected at most 1m0s, a`: func(s *source.Source) { s.Feeds[0].Fastest = 30 * time.Second },
		`source "floods": license: missing`:                      func(s *source.Source) { s.License = "" },
		`source "floods": lists: 0 and 3, expected Unknown`:      func(s *source.Source) { s.Lists.Complete = 3 },
		`source "floods": Parse: missing`:                        func(s *source.Source) { s.Parse = nil },
		`source "floods": coverage: missing`:                     func(s *source.Source) { s.Countries = nil },
		`coverage 1: countries: "at" is not two capital letters`: func(s *source.Source) { s.Countries = []string{"at"} },
		`coverage 1: no places; expected countries`:              func(s *source.Source) { s.Coverage = []source.Coverage{{Role: source.RoleWatches, Cite: "x"}} },
		`coverage 1: cite: missing`:                              func(s *source.Source) { s.Coverage = []source.Coverage{{Role: source.RoleWatches, World: true}} },
		`coverage 1: role: 0 is none of responsible`:             func(s *source.Source) { s.Coverage = []source.Coverage{{World: true, Cite: "x"}} },
		`coverage 1: places are not allowed if`: func(s *source.Source) {
			s.Coverage = []source.Coverage{{Role: source.RoleUnknown, World: true, Cite: "x"}}
		},
		`coverage 1: types: "TSUNAMI" is not a type that the`: func(s *source.Source) {
			s.Coverage = []source.Coverage{{Role: source.RoleWatches, World: true, Types: []hazard.Type{hazard.Tsunami}, Cite: "x"}}
		},
		`coverage 1: areas: "a" is not an area`: func(s *source.Source) {
			s.Coverage = []source.Coverage{{Role: source.RoleWatches, Areas: []source.Area{source.Box("a", 10, 20, 11, 10)}, Cite: "x"}}
		},
		`coverage 1: sea: 1000 km, expected 0 to 500`: func(s *source.Source) {
			s.Coverage = []source.Coverage{{Role: source.RoleWatches, Countries: []string{"AT"}, Sea: 1000, Cite: "x"}}
		},
		`coverage 1: feed: "b" is none of the source's`: func(s *source.Source) {
			s.Coverage = []source.Coverage{{Role: source.RoleWatches, World: true, Feed: "b", Cite: "x"}}
		},
		`source "floods": PlaceURL and ParsePlace go together`: func(s *source.Source) { s.PlaceURL = func(string) string { return "" } },
	} {
		s := floods("floods", source.Model)
		spoil(&s)
		if err := s.Check(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %s", err, want)
		}
	}
}

func TestAuthorityFollowsRanks(t *testing.T) {
	quakes := floods("quakes", source.Responsible)
	quakes.Types, quakes.Rank = []hazard.Type{hazard.Earthquake}, source.Ranks{hazard.Earthquake: source.Responsible}
	order := source.AuthorityOf([]source.Source{
		floods("z", source.National), floods("a", source.National), floods("model", source.Model), quakes, floods("office", source.Responsible),
	})
	if diff := cmp.Diff([]string{"office", "z", "a", "", "model"}, order[hazard.Flood]); diff != "" {
		t.Error(diff)
	}
	if order.Rank(hazard.Flood, "unknown") != order.Rank(hazard.Flood, "model")-1 || order.Rank(hazard.Earthquake, "quakes") != 0 {
		t.Errorf("ranks of sources: %v", order)
	}
}

func TestASchemeBelongsToOneSource(t *testing.T) {
	a, b := floods("a", source.Model), floods("b", source.Curator)
	a.Schemes = []source.Scheme{{Name: "register", Type: hazard.Flood}}
	schemes, err := source.SchemesOf([]source.Source{a, b})
	if err != nil || len(schemes) != 3 || schemes["register"].Type != hazard.Flood || schemes["b"].Name != "b" {
		t.Errorf("%v, %v", schemes, err)
	}
	b.Schemes = []source.Scheme{{Name: "register"}}
	if _, err := source.SchemesOf([]source.Source{a, b}); err == nil || !strings.Contains(err.Error(), `source "b": scheme "register" is declared by the source "a"`) {
		t.Errorf("error %v", err)
	}
}

// If a source only states countries, its role for them follows from its ranks.
func TestCountriesAloneAreCoveredByRank(t *testing.T) {
	office := floods("office", source.National)
	office.Rank[hazard.Storm] = source.Model
	all := office.Covered()
	if len(all) != 2 || all[0].Role != source.RoleResponsible || all[0].Types[0] != hazard.Flood || all[1].Role != source.RoleWatches || all[1].Types[0] != hazard.Storm {
		t.Errorf("%+v", all)
	}
	// A national authority that does not state its types is responsible, for unknown types.
	alerts := floods("alerts", 0)
	alerts.Types, alerts.Rank = nil, source.Ranks{"": source.National}
	about := alerts.About().Coverage
	if len(about) != 1 || about[0].Role != "responsible" || about[0].TypesStated || len(about[0].Types) != 0 {
		t.Errorf("%+v", about)
	}
}
