package hazard_test

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
	"pgregory.net/rapid"

	"github.com/hazardd/hazardd/internal/hazard"
)

const noon hazard.Instant = 1_795_262_400_000 // 2026-11-21T12:00:00Z

func TestHazardIsActiveUntilItsEndAndNotAtIt(t *testing.T) {
	for name, tt := range map[string]struct {
		h    hazard.Hazard
		want bool
	}{
		"a millisecond before its end":       {hazard.Hazard{Status: hazard.Active, AutoExpire: true, End: noon + 1}, true},
		"at its end":                         {hazard.Hazard{Status: hazard.Active, AutoExpire: true, End: noon}, false},
		"past its end, not ending by itself": {hazard.Hazard{Status: hazard.Active, End: noon - 1}, true},
		"ended, whatever its end_Date says":  {hazard.Hazard{Status: hazard.Expired, End: noon + 1}, false},
	} {
		t.Run(name, func(t *testing.T) {
			if got := tt.h.ActiveAt(noon); got != tt.want {
				t.Errorf("active %v, want %v", got, tt.want)
			}
		})
	}
}

func TestExpiryMovesLastUpdateToTheEndAndLeavesUpdateDate(t *testing.T) {
	h := hazard.Hazard{Status: hazard.Active, AutoExpire: true, End: noon, LastUpdate: noon - 9, Updated: noon - 9, Severity: hazard.Watch}
	got := h.ExpireAt(noon + 60_000)
	want := h
	want.Status, want.Reason, want.LastUpdate = hazard.Expired, hazard.EndExpired, noon
	if diff := cmp.Diff(want, *got); diff != "" {
		t.Error(diff)
	}
	if h.Status != hazard.Active {
		t.Error("the state itself was changed")
	}
}

func TestListsAreMostSevereThenLatestThenByNumber(t *testing.T) {
	want := []*hazard.Hazard{
		{ID: 4, Severity: hazard.Warning, LastUpdate: 1}, {ID: 1, Severity: hazard.Watch, LastUpdate: 9},
		{ID: 2, Severity: hazard.Watch, LastUpdate: 5}, {ID: 3, Severity: hazard.Watch, LastUpdate: 5},
		{ID: 5, Severity: hazard.Termination, LastUpdate: 9},
	}
	rapid.Check(t, func(t *rapid.T) {
		got := rapid.Permutation(want).Draw(t, "order")
		slices.SortFunc(got, hazard.Compare)
		if !slices.Equal(got, want) {
			t.Errorf("got %v", got)
		}
	})
}

func TestRestrictedProductIsVisibleToMembersAlone(t *testing.T) {
	p := hazard.Product{OrgIDs: []int64{3, 7}}
	for _, tt := range []struct {
		orgs []int64
		want bool
	}{{nil, false}, {[]int64{1, 2}, false}, {[]int64{7}, true}, {[]int64{1, 3}, true}} {
		if got := p.VisibleTo(tt.orgs); got != tt.want {
			t.Errorf("to members of %v: %v, want %v", tt.orgs, got, tt.want)
		}
	}
	if open := (&hazard.Product{}); !open.VisibleTo(nil) {
		t.Error("a product without organizations is hidden")
	}
}

func TestUUIDOfAnEventIsTheSameEverywhere(t *testing.T) {
	// These are fixed forever: another value would give every known event a new identity.
	if got, want := hazard.EventUUID("usgs", "us6000pi9w"), uuid.MustParse("9cf4e028-b03e-5134-a55e-703c79a5f79e"); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if hazard.EventUUID("ab", "c") == hazard.EventUUID("a", "bc") {
		t.Error("two events have one uuid")
	}
}

func TestCleanRemovesWhatDeceivesAndKeepsWhatScriptsNeed(t *testing.T) {
	for in, want := range map[string]string{
		"a\r\nb\rc":               "a\nb\nc",
		"\u202egnp.exe":           "gnp.exe",
		"a\x00b\x1b[31mc":         "ab[31mc",
		"\ufeffa\u200b":           "a",
		"می\u200cخواهم":           "می\u200cخواهم",
		"👩\u200d🚒":                "👩\u200d🚒",
		"bad \xff byte":           "bad  byte",
		"  tab\tstays \n inside ": "tab\tstays \n inside",
		"a\u2028b\u0085c":         "a\nb\nc",
	} {
		if got := hazard.Clean(in); got != want {
			t.Errorf("Clean(%q) = %q, want %q", in, got, want)
		}
	}
	if got := hazard.CleanLine(" a\n\tb  c "); got != "a b c" {
		t.Errorf("CleanLine: %q", got)
	}
}

// report returns a part of an event. By default it is in force for an hour after version.
func report(part string, version int64, places ...string) hazard.Report {
	return hazard.Report{Source: "x", Key: "k", Part: part, Version: version, Name: part, Type: hazard.Flood, Severity: hazard.Watch,
		Start: hazard.Instant(version), End: new(hazard.Instant(version) + 3_600_000), Places: places,
		Areas: []hazard.Area{{Role: hazard.AlertArea, Geometry: part}}}
}

func areas(s hazard.EventState) []string {
	var parts []string
	for _, a := range s.Head.Areas {
		parts = append(parts, a.Geometry)
	}
	slices.Sort(parts)
	return parts
}

func TestDerive(t *testing.T) {
	at := int64(noon)
	ended := func(r hazard.Report, why hazard.EndReason) hazard.Report { r.Ended = why; return r }
	replacing := func(r hazard.Report, parts ...string) hazard.Report { r.Replaces = parts; return r }
	level := func(r hazard.Report, s hazard.Severity) hazard.Report { r.Severity = s; return r }
	for name, tt := range map[string]struct {
		parts    []hazard.Report
		areas    []string
		severity hazard.Severity
		start    hazard.Instant
		end      hazard.Instant
		ended    hazard.EndReason
	}{
		"one report is what it says": {[]hazard.Report{report("a", at)}, []string{"a"}, hazard.Watch, noon, noon + 3_600_000, ""},
		"a later message takes over its places, the rest of the earlier stays": {
			[]hazard.Report{report("a", at-10, "A", "B"), level(report("b", at, "B"), hazard.Warning)},
			[]string{"a", "b"}, hazard.Warning, noon - 10, noon + 3_600_000, ""},
		"an earlier message whose places are all taken over is gone, but the event began with it": {
			[]hazard.Report{report("a", at-10, "A"), report("b", at, "A")}, []string{"b"}, hazard.Watch, noon - 10, noon + 3_600_000, ""},
		"a cancelled segment leaves the area, the others stay": {
			[]hazard.Report{report("a", at-10, "A", "B"), ended(report("b", at, "B"), hazard.EndCancelled)},
			[]string{"a"}, hazard.Watch, noon - 10, noon - 10 + 3_600_000, ""},
		"when all segments are cancelled the event is over since the last of them": {
			[]hazard.Report{ended(report("a", at-10, "A"), hazard.EndCancelled), ended(report("b", at-5, "B"), hazard.EndCancelled)},
			[]string{"b"}, hazard.Watch, noon - 5, 0, hazard.EndCancelled},
		"of two ends at once the one with a successor counts": {
			[]hazard.Report{ended(report("b", at, "B"), hazard.EndCancelled), ended(report("a", at, "A"), hazard.EndSuperseded)},
			[]string{"a", "b"}, hazard.Watch, noon, 0, hazard.EndSuperseded},
		"a message that says it will expire does so at its end, not before": {
			[]hazard.Report{ended(report("a", at, "A"), hazard.EndExpired)}, []string{"a"}, hazard.Watch, noon, noon + 3_600_000, ""},
		"a part whose end has come leaves the area": {
			[]hazard.Report{report("a", at-4_000_000, "A"), report("b", at, "B")}, []string{"b"}, hazard.Watch, noon - 4_000_000, noon + 3_600_000, ""},
		"when all ends have come, it stays what it was before the last of them": {
			[]hazard.Report{report("a", at-4_000_000, "A"), report("b", at-5_000_000, "B")}, []string{"a"}, hazard.Watch, noon - 5_000_000, noon - 400_000, ""},
		"a report without places speaks for the whole event": {
			[]hazard.Report{report("a", at-10, "A"), report("b", at)}, []string{"b"}, hazard.Watch, noon - 10, noon + 3_600_000, ""},
		"a message that replaces another takes all its places": {
			[]hazard.Report{report("a", at-10, "A", "B"), replacing(report("b", at, "B"), "a")}, []string{"b"}, hazard.Watch, noon - 10, noon + 3_600_000, ""},
		"what a replaced message had taken over does not come back": {
			[]hazard.Report{report("a", at-10, "A"), report("b", at-5, "A"), replacing(report("c", at, "B"), "b")}, []string{"c"}, hazard.Watch, noon - 10, noon + 3_600_000, ""},
		"messages that replace each other in a circle lose nothing": {
			[]hazard.Report{replacing(report("a", at-10, "A"), "b"), replacing(report("b", at, "B"), "a")}, []string{"b"}, hazard.Watch, noon - 10, noon + 3_600_000, ""},
	} {
		t.Run(name, func(t *testing.T) {
			state := hazard.Derive(tt.parts, noon)
			if got := areas(state); !slices.Equal(got, tt.areas) {
				t.Errorf("areas %v, want %v", got, tt.areas)
			}
			if state.Head.Severity != tt.severity || state.Head.Start != tt.start || state.Ended != tt.ended {
				t.Errorf("severity %s, start %s, ended %q; want %s, %s, %q", state.Head.Severity, state.Head.Start, state.Ended, tt.severity, tt.start, tt.ended)
			}
			if tt.ended == "" && state.End != tt.end {
				t.Errorf("end %s, want %s", state.End, tt.end)
			}
		})
	}
}

// Nothing changes between two moments that Next returns, so a caller that checks at each of them
// misses nothing.
func TestDeriveAndCombineChangeOnlyAtNext(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var events [][]hazard.Report
		for e := range rapid.IntRange(1, 3).Draw(t, "events") {
			var parts []hazard.Report
			for i := range rapid.IntRange(1, 3).Draw(t, "parts") {
				r := report(string(rune('a'+i)), int64(noon)+rapid.Int64Range(0, 9).Draw(t, "version"),
					rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"A", "B"}), 0, 2, rapid.ID).Draw(t, "places")...)
				r.Key, r.Source = string(rune('k'+e)), rapid.SampledFrom([]string{"x", "y"}).Draw(t, "source")
				r.Severity = rapid.SampledFrom([]hazard.Severity{hazard.Information, hazard.Watch, hazard.Warning}).Draw(t, "level")
				r.End = new(noon + hazard.Instant(rapid.IntRange(10, 30).Draw(t, "end")))
				r.Open = rapid.IntRange(0, 9).Draw(t, "open") == 0
				parts = append(parts, r)
			}
			events = append(events, parts)
		}
		at := func(now hazard.Instant) hazard.EventState {
			var all []hazard.EventState
			for _, parts := range events {
				all = append(all, hazard.Derive(parts, now))
			}
			return hazard.Combine(all, nil, now)
		}
		was := at(noon + 9)
		for now := noon + 10; now <= noon+31; now++ {
			is := at(now)
			if now < was.Next {
				if diff := cmp.Diff(was, is); diff != "" {
					t.Fatalf("%d ms after noon, before its next change at %d: %s", now-noon, was.Next-noon, diff)
				}
			}
			was = is
		}
	})
}

func TestCombine(t *testing.T) {
	state := func(source, key string, level hazard.Severity, version int64, end hazard.Instant) hazard.Report {
		r := report("", version)
		r.Source, r.Key, r.Severity, r.Name, r.End = source, key, level, source+" "+key, new(end)
		return r
	}
	for name, tt := range map[string]struct {
		reports []hazard.Report
		level   hazard.Severity
		head    string
	}{
		"of two events of one source the highest level counts, and the latest speaks (B2)": {
			[]hazard.Report{state("x", "a", hazard.Information, 1, noon+9), state("x", "b", hazard.Warning, 2, noon+9)}, hazard.Warning, "x b"},
		"whichever key is the smaller": {
			[]hazard.Report{state("x", "b", hazard.Information, 2, noon+9), state("x", "a", hazard.Warning, 1, noon+9)}, hazard.Warning, "x b"},
		"an authority that has run out hides nothing that holds (B1)": {
			[]hazard.Report{state("nws", "a", hazard.Information, 1, noon), state("gdacs", "b", hazard.Warning, 1, noon+9)}, hazard.Warning, "gdacs b"},
		"an authority in force outranks a higher level": {
			[]hazard.Report{state("nws", "a", hazard.Information, 1, noon+1), state("gdacs", "b", hazard.Warning, 1, noon+9)}, hazard.Information, "nws a"},
		"when all is over it stays what it was last": {
			[]hazard.Report{state("nws", "a", hazard.Information, 1, noon-5), state("gdacs", "b", hazard.Warning, 1, noon-1)}, hazard.Warning, "gdacs b"},
	} {
		t.Run(name, func(t *testing.T) {
			var all []hazard.EventState
			for _, r := range tt.reports {
				all = append(all, hazard.Derive([]hazard.Report{r}, noon))
			}
			got := hazard.Combine(all, hazard.Authority{hazard.Flood: {"nws", "", "gdacs"}}, noon)
			if got.Head.Severity != tt.level || got.Head.Name != tt.head {
				t.Errorf("%s from %q, want %s from %q", got.Head.Severity, got.Head.Name, tt.level, tt.head)
			}
		})
	}
}

// The events of one source count together, even if another source comes between their types in the
// order of authority (B2).
func TestEventsOfOneSourceCountTogetherWhateverTheirTypes(t *testing.T) {
	state := func(source, key string, kind hazard.Type, level hazard.Severity, version int64) hazard.EventState {
		r := report("", version)
		r.Source, r.Key, r.Type, r.Severity, r.Name, r.End = source, key, kind, level, source+" "+key, new(noon+9)
		return hazard.Derive([]hazard.Report{r}, noon)
	}
	order := hazard.Authority{hazard.Flood: {"nws", "cap"}, hazard.Tornado: {"cap", "nws"}}
	got := hazard.Combine([]hazard.EventState{
		state("nws", "a", hazard.Flood, hazard.Information, 1), state("cap", "b", hazard.Flood, hazard.Watch, 1), state("nws", "c", hazard.Tornado, hazard.Warning, 2),
	}, order, noon)
	if got.Head.Severity != hazard.Warning || got.Head.Name != "nws c" {
		t.Errorf("%s from %q, want the warning of nws", got.Head.Severity, got.Head.Name)
	}
}

// The result is the same for any order of reports.
func TestDeriveDoesNotDependOnOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		place := rapid.SampledFrom([]string{"A", "B", "C", "D"})
		parts := rapid.SliceOfNDistinct(rapid.Custom(func(t *rapid.T) hazard.Report {
			r := report(rapid.StringMatching(`[a-h]`).Draw(t, "part"), int64(noon)+rapid.Int64Range(-5, 5).Draw(t, "version")*1_000_000,
				rapid.SliceOfNDistinct(place, 0, 3, rapid.ID).Draw(t, "places")...)
			r.Ended = rapid.SampledFrom([]hazard.EndReason{"", "", hazard.EndCancelled, hazard.EndExpired, hazard.EndSuperseded}).Draw(t, "ended")
			r.Replaces = rapid.SliceOfN(rapid.StringMatching(`[a-h]`), 0, 2).Draw(t, "replaces")
			return r
		}), 1, 8, func(r hazard.Report) string { return r.Part }).Draw(t, "parts")
		want := hazard.Derive(parts, noon)
		got := hazard.Derive(rapid.Permutation(parts).Draw(t, "order"), noon)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("another order gives another result:\n%s", diff)
		}
	})
}

func TestLifeOfEveryTypeIsPositive(t *testing.T) {
	for _, info := range hazard.Types() {
		if info.Life < time.Hour {
			t.Errorf("%s lives %v", info.ID, info.Life)
		}
	}
}

func TestInvalidErrorNamesEveryFault(t *testing.T) {
	bad := &hazard.InvalidError{}
	if bad.Err() != nil {
		t.Error("no fault is an error")
	}
	bad.Add("latitude", "%v is not a number", "x")
	bad.Add("type_ID", "is missing")
	if got, want := bad.Err().Error(), "latitude: x is not a number; type_ID: is missing"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// The name and the level of an event come from one part, the highest in force, until it ends.
func TestDeriveNamesByTheHighestInForce(t *testing.T) {
	part := func(name string, version int64, s hazard.Severity, end hazard.Instant) hazard.Report {
		return hazard.Report{Source: "tsunami", Key: "x", Part: name, Places: []string{name}, Version: version, Name: name, Level: name, Type: hazard.Tsunami, Severity: s, End: &end}
	}
	parts := []hazard.Report{part("Tsunami Warning", 1, hazard.Warning, 100), part("Tsunami Watch", 2, hazard.Watch, 200), part("Tsunami Information", 3, hazard.Information, 300)}
	for now, want := range map[hazard.Instant]string{50: "Tsunami Warning", 150: "Tsunami Watch", 250: "Tsunami Information"} {
		if head := hazard.Derive(parts, now).Head; head.Name != want || head.Level != want {
			t.Errorf("at %d: %s %s, want %s", now, head.Severity, head.Name, want)
		}
	}
	again := part("Tsunami Warning for Alaska", 4, hazard.Warning, 100)
	if head := hazard.Derive(append(parts, again), 50).Head; head.Name != again.Name {
		t.Errorf("of two of one level: %s, want the latest", head.Name)
	}
}

// A join does not remove the class from the name.
func TestCombineKeepsTheClassOfACyclone(t *testing.T) {
	state := func(source, name, called string) hazard.EventState {
		return hazard.Derive([]hazard.Report{{Source: source, Key: "k", Version: 1, Name: name, Called: called, Type: hazard.Cyclone, Severity: hazard.Watch, End: new(hazard.Instant(100))}}, 0)
	}
	gdacs := state("gdacs", "Tropical Cyclone Dolphin - Japan", "Dolphin")
	for name, tt := range map[string]struct {
		other hazard.EventState
		want  string
	}{
		"the same storm":  {state("eonet", "Super Typhoon Dolphin", "Dolphin"), "Super Typhoon Dolphin - Japan"},
		"another storm":   {state("eonet", "Super Typhoon Lala", "Lala"), "Tropical Cyclone Dolphin - Japan"},
		"without a class": {state("eonet", "Dolphin", "Dolphin"), "Tropical Cyclone Dolphin - Japan"},
	} {
		if got := hazard.Combine([]hazard.EventState{gdacs, tt.other}, hazard.Authority{hazard.Cyclone: {"gdacs", "eonet"}}, 50).Head.Name; got != tt.want {
			t.Errorf("%s: %q, want %q", name, got, tt.want)
		}
	}
}

// A center that gives a storm another number goes on to speak of one storm: where it is now, how
// strong it is now, and since when.
func TestAStormWithTwoNumbersIsWhatItsLatestOneSays(t *testing.T) {
	numbered := func(key string, version int64, level hazard.Severity, wind float64) hazard.EventState {
		r := report("", version)
		r.Source, r.Key, r.Type, r.Severity, r.Called, r.Start, r.End = "nhc", key, hazard.Cyclone, level, "Bonnie", noon+hazard.Instant(version), new(noon+90)
		r.Measurements = []hazard.Measurement{{Name: hazard.Wind, Value: wind}}
		return hazard.Derive([]hazard.Report{r}, noon+50)
	}
	atlantic, pacific := numbered("al022022", 1, hazard.Warning, 130), numbered("ep042022", 2, hazard.Watch, 85)
	withdrawn := atlantic
	withdrawn.Ended, withdrawn.EndedAt = hazard.EndWithdrawn, noon+40
	for name, first := range map[string]hazard.EventState{"still listed": atlantic, "withdrawn": withdrawn} {
		got := hazard.Combine([]hazard.EventState{pacific, first}, nil, noon+50)
		if got.Ended != "" || got.Head.Key != "ep042022" || got.Head.Severity != hazard.Watch || got.Head.Start != noon+1 || got.Head.Measurements[0].Value != 85 {
			t.Errorf("%s: %q %s %v since %v, ended %q, want the watch of ep042022 at 85 km/h since the first start", name, got.Head.Key, got.Head.Severity,
				got.Head.Measurements, got.Head.Start, got.Ended)
		}
	}
}

// Language tags are case-insensitive, so the same text under both spellings is one text.
func TestTheSameWordsInALanguageAreOneText(t *testing.T) {
	texts := hazard.BoundTexts([]hazard.Text{{Language: "fr-CA", Name: "Tempête"}, {Language: "fr-ca", Name: "Tempête"}, {Language: "FR-CA", Name: "Vent"}, {Language: "en", Name: "Tempête"}})
	if len(texts) != 3 || texts[0].Language != "fr-CA" || texts[1].Name != "Vent" || texts[2].Language != "en" {
		t.Errorf("they are %+v", texts)
	}
}

func TestCeil(t *testing.T) {
	for in, want := range map[hazard.Instant]hazard.Instant{0: 0, 1: 900_000, 900_000: 900_000, -1: 0, -900_001: -900_000} {
		if got := in.Ceil(15 * time.Minute); got != want {
			t.Errorf("%d: %d, want %d", in, got, want)
		}
	}
}

// What a list held, and no list has held any more for too long, ends by itself then.
func TestWhatAListHeldEndsWhenNoListIsRead(t *testing.T) {
	until := hazard.Instant(48 * 3_600_000)
	p := hazard.Report{Source: "a", Key: "k", Part: "p", Version: 1, Name: "n", Type: hazard.Flood, Severity: hazard.Watch, LifeMS: 3_600_000, Listed: &until}
	if s := hazard.Derive([]hazard.Report{p}, until-1); !s.Open || s.Over() != until {
		t.Errorf("before: open %t, over at %v", s.Open, s.Over())
	}
	if s := hazard.Derive([]hazard.Report{p}, until); s.Open || s.Over() > until {
		t.Errorf("then: open %t, over at %v", s.Open, s.Over())
	}
}
