package coverage_test

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/google/go-cmp/cmp"

	"github.com/hazardd/hazardd/internal/geo"
	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/ingest/coverage"
	"github.com/hazardd/hazardd/internal/ingest/source"
)

func described(name string, types []hazard.Type, covers ...source.Coverage) source.Source {
	s := source.Source{
		Name: name, Title: name, Covers: "x", License: "x", Attribution: "Office of " + name, Types: types, Coverage: covers, Rank: source.Ranks{"": source.National},
		Parse: func([]byte, hazard.Instant) (source.Batch, error) { return source.Batch{}, nil },
		Feeds: []source.Feed{{URL: "https://a.example/1", Every: time.Minute, MaxBytes: 1}, {URL: "https://a.example/2", Every: time.Minute, MaxBytes: 1}},
	}
	for i := range s.Coverage {
		s.Coverage[i].Cite = "a test"
	}
	if types != nil {
		s.Rank = source.Ranks{}
		for _, t := range types {
			s.Rank[t] = source.National
		}
	}
	return s
}

var (
	storms    = []hazard.Type{hazard.Storm, hazard.Flood}
	quakes    = []hazard.Type{hazard.Earthquake}
	cyclones  = []hazard.Type{hazard.Cyclone}
	tsunamis  = []hazard.Type{hazard.Tsunami}
	wildfires = []hazard.Type{hazard.Wildfire}
)

// world returns a world of a few sources: a weather service of Austria; one of Portugal with a
// large sea area; one of Switzerland without the types of its warnings; a fire service of Austria;
// cyclones of a basin; floods from a model; and earthquakes of the world.
func world(t *testing.T) *coverage.Map {
	t.Helper()
	all := []source.Source{
		described("austria", storms, source.Coverage{Role: source.RoleResponsible, Countries: []string{"AT"}}),
		described("portugal", storms, source.Coverage{Role: source.RoleResponsible, Countries: []string{"PT"}, Sea: 370}),
		described("swiss", nil, source.Coverage{Role: source.RoleResponsible, Countries: []string{"CH"}}),
		described("fires", wildfires, source.Coverage{Role: source.RoleResponsible, Countries: []string{"AT"}}),
		described("basin", cyclones, source.Coverage{Role: source.RoleResponsible, Areas: []source.Area{source.Box("basin", 160, 0, -140, 40)}}),
		described("model", append(slices.Clone(cyclones), hazard.Flood), source.Coverage{Role: source.RoleWatches, World: true}),
		described("quakes", quakes, source.Coverage{Role: source.RoleWatches, World: true, From: "M 4.5"}),
		described("waves", tsunamis,
			source.Coverage{Role: source.RoleResponsible, Countries: []string{"US"}, Within: []source.Area{source.Box("Hawaii", -162, 18, -154, 23)}, Feed: "https://a.example/2"},
			source.Coverage{Role: source.RoleResponsible, Countries: []string{"US"}, Within: []source.Area{source.Box("Alaska", 170, 50, -130, 72)}, Feed: "https://a.example/1"}),
		described("somewhere", nil, source.Coverage{Role: source.RoleUnknown}),
	}
	for i := range all {
		if err := all[i].Check(); err != nil {
			t.Fatal(err)
		}
	}
	m, err := coverage.New(all)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

var lastRead = time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)

// reading returns up-to-date readings, except for the named ones: "NAME" is stale, "-NAME" is not
// polled, and "NAME/2" has a second, stale feed.
func reading(faults ...string) coverage.Readings {
	r := coverage.Readings{}
	fresh := coverage.Reading{State: "ok", Polled: true, Fresh: true, LastSuccess: &lastRead}
	stale := coverage.Reading{State: "stale", Polled: true, LastSuccess: &lastRead}
	for _, name := range strings.Fields("austria portugal swiss fires basin model quakes waves somewhere") {
		s := coverage.Source{Reading: fresh, Feeds: []coverage.Reading{fresh, fresh}}
		switch {
		case slices.Contains(faults, name):
			s = coverage.Source{Reading: stale, Feeds: []coverage.Reading{stale, stale}}
		case slices.Contains(faults, "-"+name):
			s = coverage.Source{Reading: coverage.Reading{State: "disabled"}, Feeds: []coverage.Reading{{}, {}}}
		case slices.Contains(faults, name+"/2"):
			s = coverage.Source{Reading: stale, Feeds: []coverage.Reading{fresh, stale}}
		}
		r[name] = s
	}
	return r
}

func TestTheWordForAPlace(t *testing.T) {
	m := world(t)
	const (
		vienna, bern, lisbon, chad = "16.37,48.21", "7.45,46.95", "-9.14,38.72", "15.05,12.11"
		pacific, atlantic          = "-150,20", "-12,38.7" // 250 km off Portugal
		honolulu, anchorage        = "-157.86,21.31", "-149.9,61.22"
	)
	for name, tt := range map[string]struct {
		at     string
		faults string
		types  []hazard.Type
		want   coverage.Word
	}{
		"a weather service that is read":                       {at: vienna, want: "covered"},
		"a weather service that has gone silent":               {at: vienna, faults: "austria", want: "stale"},
		"one that nobody polls says nothing":                   {at: vienna, faults: "-austria", want: "unknown"},
		"one silent duty of several is seen at large":          {at: vienna, faults: "fires", want: "stale"},
		"the silence of models is not":                         {at: vienna, faults: "model quakes", want: "covered"},
		"another type than the silent one":                     {at: vienna, faults: "fires", types: storms, want: "covered"},
		"the silent type":                                      {at: vienna, faults: "fires", types: wildfires, want: "stale"},
		"the worst of the types that are asked for":            {at: vienna, faults: "fires", types: append(slices.Clone(storms), wildfires...), want: "stale"},
		"a type that nobody is responsible for":                {at: vienna, types: cyclones, want: "unknown"},
		"warnings of what is not stated are warnings at large": {at: bern, want: "covered"},
		"and they are of no type for certain":                  {at: bern, types: storms, want: "unknown"},
		"what is not stated, silent":                           {at: bern, faults: "swiss", want: "stale"},
		"a model makes no place covered":                       {at: chad, types: []hazard.Type{hazard.Flood}, want: "unknown"},
		"nor do earthquakes":                                   {at: chad, want: "unknown"},
		"earthquakes are only ever watched":                    {at: chad, types: quakes, want: "covered"},
		"earthquakes that nobody watches now":                  {at: chad, faults: "quakes", types: quakes, want: "stale"},
		"a coast":                                              {at: lisbon, want: "covered"},
		"as far off it as is stated":                           {at: atlantic, want: "covered"},
		"farther":                                              {at: "-20,38.7", want: "unknown"},
		"a basin is of its type":                               {at: pacific, types: cyclones, want: "covered"},
		"and no warnings at large":                             {at: pacific, want: "unknown"},
		"a basin across the antimeridian":                      {at: "179.9,10", types: cyclones, want: "covered"},
		"on the antimeridian":                                  {at: "180,10", types: cyclones, want: "covered"},
		"on its other side":                                    {at: "-180,10", types: cyclones, want: "covered"},
		"beyond the basin":                                     {at: "150,10", types: cyclones, want: "unknown"},
		"the north pole":                                       {at: "0,90", want: "unknown"},
		"the south pole":                                       {at: "0,-90", types: quakes, want: "covered"},
		"a part of a country":                                  {at: honolulu, types: tsunamis, want: "covered"},
		"by the feed of that part, silent":                     {at: honolulu, faults: "waves/2", types: tsunamis, want: "stale"},
		"by the feed of another part":                          {at: anchorage, faults: "waves/2", types: tsunamis, want: "covered"},
		"a part that neither feed is for":                      {at: "-90,40", types: tsunamis, want: "unknown"},
	} {
		t.Run(name, func(t *testing.T) {
			var lon, lat float64
			if _, err := fmt.Sscanf(tt.at, "%g,%g", &lon, &lat); err != nil {
				t.Fatal(err)
			}
			j := m.Judge(m.At(lon, lat), reading(strings.Fields(tt.faults)...), tt.types...)
			if j.Word != tt.want {
				t.Errorf("%s, want %s: %+v", j.Word, tt.want, j)
			}
			for _, w := range j.Types {
				if (w.Word == coverage.Unknown) != (len(w.Sources) == 0) {
					t.Errorf("%s is %s by %v", w.Type, w.Word, w.Sources)
				}
			}
		})
	}
}

func TestAJudgementNamesWhoSpeaks(t *testing.T) {
	m := world(t)
	j := m.Judge(m.At(16.37, 48.21), reading("fires"))
	var got []string
	for _, v := range j.Sources {
		got = append(got, fmt.Sprint(v.Name, " ", v.Authority, " ", v.Role, " ", v.Types, " ", v.State))
	}
	want := []string{
		"austria Office of austria responsible [STORM FLOOD] ok", "fires Office of fires responsible [WILDFIRE] stale",
		"model Office of model watches [CYCLONE FLOOD] ok", "quakes Office of quakes watches [EARTHQUAKE] ok",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	got = nil
	for _, w := range j.Types {
		got = append(got, fmt.Sprint(w.Type, " ", w.Word, " ", w.Role, " ", w.Sources))
	}
	want = []string{"EARTHQUAKE covered watches [quakes]", "FLOOD covered responsible [austria]", "STORM covered responsible [austria]", "CYCLONE unknown unknown []",
		"WILDFIRE stale responsible [fires]"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// At sea, a place belongs to the nearer of two coasts; on land, never to a neighbor.
func TestSeasEndAtTheMedianLineAndLandAtTheBorder(t *testing.T) {
	m := world(t)
	for at, want := range map[[2]float64]string{
		{16.37, 48.21}: "AT", {9.6, 47.4}: "CH", // at the Rhine, 2 km from Austria
		{-7.3, 37.0}: "PT", {-6.9, 37.1}: "ES", // off both sides of the Guadiana
		{-30, 45}: "",
	} {
		p := m.At(at[0], at[1])
		got := ""
		if len(p.Countries) > 0 {
			got = p.Countries[0].Code
		}
		if got != want {
			t.Errorf("%v: %v, want %s", at, p.Countries, want)
		}
	}
	if w := m.Word(m.At(-6.9, 37.1), reading()); w != coverage.Unknown { // 25 km off Portugal, whose area reaches 370 km
		t.Errorf("off Spain: %s", w)
	}
}

func TestTheSummaryOfARegion(t *testing.T) {
	m := world(t)
	box := func(west, south, east, north float64) geo.Box {
		return geo.Box{West: west, South: south, East: east, North: north}
	}
	for name, tt := range map[string]struct {
		box    geo.Box
		holds  func(lon, lat float64) bool
		faults string
		types  []hazard.Type
		want   string
	}{
		"one place":                    {box: box(16.37, 48.21, 16.37, 48.21), want: `covered; covered=1; stale=0; unknown=0; sources="austria"`},
		"a town":                       {box: box(16.3, 48.1, 16.4, 48.2), want: `covered; covered=4; stale=0; unknown=0; sources="austria"`},
		"two countries, one is silent": {box: box(8.5, 47.1, 11, 47.2), faults: "swiss", want: `stale; covered=6; stale=4; unknown=0; lacking="CH"; sources="austria,swiss"`},
		"and one that nobody reads":    {box: box(7, 45.5, 15, 47.5), faults: "swiss", want: `unknown; covered=7; stale=7; unknown=11; lacking="CH,IT,SI"; sources="austria,swiss"`},
		"the sea is left aside":        {box: box(-16, 37.5, -7.5, 41), want: `covered; covered=5; stale=0; unknown=0; sea=20; sources="portugal"`},
		"but not where there is only":  {box: box(-50, 20, -40, 30), want: "unknown; covered=0; stale=0; unknown=25"},
		"a type at sea":                {box: box(175, 20, -175, 25), types: cyclones, want: `covered; covered=25; stale=0; unknown=0; sources="basin"`},
		"part of the box":              {box: box(7, 46.5, 15, 47.5), holds: func(lon, _ float64) bool { return lon > 12 }, want: `unknown; covered=9; stale=0; unknown=1; lacking="IT"; sources="austria"`},
		"a part that the grid misses":  {box: box(7, 46.5, 15, 47.5), holds: func(float64, float64) bool { return false }, want: `covered; covered=1; stale=0; unknown=0; sources="austria"`},
		"the world":                    {box: box(-180, -90, 180, 90), want: ""},
	} {
		t.Run(name, func(t *testing.T) {
			got := m.Summary(m.Over(tt.box, tt.holds, 14, 47), reading(strings.Fields(tt.faults)...), tt.types...)
			if tt.want == "" && strings.HasPrefix(got, "unknown; ") {
				return
			}
			if got != tt.want {
				t.Errorf("%s, want %s", got, tt.want)
			}
		})
	}
}

func TestTheLayerHasAWordForEachCountry(t *testing.T) {
	m := world(t)
	var out bytes.Buffer
	if err := m.Layer(&out, reading("swiss", "basin"), coverage.Part{}); err != nil {
		t.Fatal(err)
	}
	var layer struct {
		World struct {
			Types map[string]string `json:"types"`
		} `json:"world"`
		Features []struct {
			ID         string     `json:"id"`
			BBox       [4]float64 `json:"bbox"`
			Properties struct {
				State       string            `json:"state"`
				Types       map[string]string `json:"types"`
				Responsible []string          `json:"responsible"`
			} `json:"properties"`
		} `json:"features"`
	}
	if err := json.Unmarshal(out.Bytes(), &layer); err != nil {
		t.Fatal(err)
	}
	words := map[string]string{}
	for _, f := range layer.Features {
		words[f.ID] = fmt.Sprint(f.Properties.State, " ", f.Properties.Types, " ", f.Properties.Responsible)
	}
	for id, want := range map[string]string{
		"country:AT": "covered map[EARTHQUAKE:covered FLOOD:covered STORM:covered WILDFIRE:covered] [austria fires]",
		"country:CH": "stale map[EARTHQUAKE:covered] [swiss]",
		"country:TD": "unknown map[EARTHQUAKE:covered] []",
		"area:basin": "stale map[CYCLONE:stale] [basin]",
	} {
		if words[id] != want {
			t.Errorf("%s: %s, want %s", id, words[id], want)
		}
	}
	if len(words) != len(layer.Features) || len(words) < 240 || layer.World.Types["EARTHQUAKE"] != "covered" {
		t.Errorf("%d features, %d names, world %v", len(layer.Features), len(words), layer.World)
	}
	if most := 1 << 20; out.Len() > most {
		t.Errorf("%d bytes, expected at most %d", out.Len(), most)
	}
}

// A map made of the outlines and the words, read apart, equals the layer.
func TestTheOutlinesAreThoseOfTheLayer(t *testing.T) {
	m := world(t)
	var out, bare bytes.Buffer
	if err := errors.Join(m.Outlines(&out), m.Layer(&bare, reading(), coverage.Part{Bare: true})); err != nil {
		t.Fatal(err)
	}
	var got struct {
		Transform struct {
			Scale [2]float64 `json:"scale"`
		} `json:"transform"`
		Objects struct {
			Coverage struct {
				Geometries []struct {
					ID         string `json:"id"`
					Properties struct {
						Kind string `json:"kind"`
						Code string `json:"code"`
						Name string `json:"name"`
					} `json:"properties"`
					Arcs [][][]int `json:"arcs"`
				} `json:"geometries"`
			} `json:"coverage"`
		} `json:"objects"`
		Arcs [][][2]float64 `json:"arcs"`
	}
	if err := json.Unmarshal(out.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	for _, line := range got.Arcs {
		for i := range line[1:] {
			line[i+1][0] += line[i][0]
			line[i+1][1] += line[i][1]
		}
	}
	i := 0
	for f := range m.Features(reading()) {
		o := got.Objects.Coverage.Geometries[i]
		i++
		var polygons [][][][2]float64
		for _, lines := range o.Arcs {
			var rings [][][2]float64
			for _, ring := range lines {
				var whole [][2]float64
				for _, n := range ring {
					line := got.Arcs[max(n, ^n)]
					if line = slices.Clone(line); n < 0 {
						slices.Reverse(line)
					}
					if len(whole) > 0 {
						if whole[len(whole)-1] != line[0] {
							t.Fatalf("%s: a line begins at %v, the one before ends at %v", f.ID, line[0], whole[len(whole)-1])
						}
						line = line[1:]
					}
					whole = append(whole, line...)
				}
				for k := range whole {
					for j := range whole[k] {
						whole[k][j] = math.Round(whole[k][j]*got.Transform.Scale[j]*1e6) / 1e6
					}
				}
				rings = append(rings, whole)
			}
			polygons = append(polygons, rings)
		}
		text, err := json.Marshal(map[string]any{"type": "MultiPolygon", "coordinates": polygons})
		if err != nil {
			t.Fatal(err)
		}
		shape, err := geo.ParseLoose(text)
		if err != nil {
			t.Fatal(err)
		}
		if o.ID != f.ID || o.Properties.Kind != f.Properties.Kind || o.Properties.Code != f.Properties.Code || o.Properties.Name != f.Properties.Name || shape.GeoJSON() != f.Geometry {
			t.Errorf("the outline of %s is another: %s, %.200s, want %.200s", f.ID, o.ID, shape.GeoJSON(), f.Geometry)
		}
	}
	if i != len(got.Objects.Coverage.Geometries) {
		t.Errorf("%d outlines of %d features", len(got.Objects.Coverage.Geometries), i)
	}
	if strings.Contains(bare.String(), "coordinates") || strings.Count(bare.String(), `"geometry":null`) != i {
		t.Errorf("without outlines: %.300s", bare.String())
	}
	if out.Len() > 550_000 || bare.Len() > 80_000 {
		t.Errorf("outlines have %d bytes, words %d", out.Len(), bare.Len())
	}
}

// Sources name their areas by themselves: two may mean the same area, and two may use one name for different ones.
func TestFeaturesOfTheLayerHaveIDsOfTheirOwn(t *testing.T) {
	responsible := func(areas ...source.Area) source.Coverage {
		return source.Coverage{Role: source.RoleResponsible, Areas: areas}
	}
	m, err := coverage.New([]source.Source{
		described("basin", cyclones, responsible(source.Box("sea", 160, 0, -140, 40), source.Box("lake", 10, 0, 20, 10))),
		described("fires", wildfires, responsible(source.Box("sea", 0, 0, 10, 10), source.Box("sea-2", 40, 0, 50, 10))),
		described("waves", tsunamis, responsible(source.Box("sea", 160, 0, -140, 40), source.Box("sea-2", 60, 0, 70, 10))),
	})
	if err != nil {
		t.Fatal(err)
	}
	got, seen := []string{}, map[string]bool{}
	for f := range m.Features(reading()) {
		if seen[f.ID] {
			t.Errorf("two features have the id %s", f.ID)
		}
		seen[f.ID] = true
		if f.Properties.Kind == "area" {
			got = append(got, fmt.Sprint(f.ID, " ", f.Properties.Sources))
		}
	}
	want := []string{"area:sea [basin waves]", "area:lake [basin]", "area:sea-2 [fires]", "area:sea-2-2 [fires]", "area:sea-2-3 [waves]"}
	if !slices.Equal(got, want) {
		t.Errorf("the areas are %q, want %q", got, want)
	}
}

func TestACountryThatNobodyKnowsIsRefused(t *testing.T) {
	_, err := coverage.New([]source.Source{described("x", nil, source.Coverage{Role: source.RoleResponsible, Countries: []string{"ZZ"}})})
	if err == nil || !strings.Contains(err.Error(), `source "x": countries: "ZZ" is not a country`) {
		t.Errorf("error %v", err)
	}
}

func BenchmarkOver(b *testing.B) {
	m, err := coverage.New([]source.Source{described("portugal", storms, source.Coverage{Role: source.RoleResponsible, Countries: []string{"PT"}, Sea: 370})})
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		m.Over(geo.Box{West: -16, South: 30, East: 0, North: 44}, nil, 0, 0)
	}
}
