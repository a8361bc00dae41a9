package nws

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/hazardd/hazardd/internal/hazard"
)

func TestEveryPublishedEventNameHasItsRow(t *testing.T) {
	names := map[string]bool{}
	var types struct{ EventTypes []string }
	if err := json.Unmarshal(recordings(t, "alert-types-20260727.json")[0].payload, &types); err != nil {
		t.Fatal(err)
	}
	if len(types.EventTypes) != 111 {
		t.Errorf("%d event names, want 111", len(types.EventTypes))
	}
	for _, n := range types.EventTypes {
		names[n] = true
	}
	var feed struct {
		Features []struct{ Properties struct{ Event string } }
	}
	if err := json.Unmarshal(recordings(t, "every-event-name.json")[0].payload, &feed); err != nil {
		t.Fatal(err)
	}
	for _, f := range feed.Features {
		names[f.Properties.Event] = true
	}
	for n := range names {
		e, ok := byName[strings.ToLower(n)]
		if !ok {
			t.Errorf("%s has no row", n)
			continue
		}
		if e.typ == "" != (e.level == hazard.NoSeverity) {
			t.Errorf("%s: type %q with level %v", n, e.typ, e.level)
		}
	}
}

func TestTableIsSound(t *testing.T) {
	names, codes := map[string]bool{}, map[string]bool{}
	for _, r := range table {
		if _, ok := r.typ.Info(); !ok && r.typ != "" {
			t.Errorf("%q is no configured type", r.typ)
		}
		if r.basis == "" {
			t.Errorf("the row of %v %s cites nothing", r.names, r.codes)
		}
		for _, n := range r.names {
			if key := strings.ToLower(n.event); names[key] {
				t.Errorf("%s is in two rows", n.event)
			} else {
				names[key] = true
			}
			if r.typ != "" && levels[n.level] == hazard.NoSeverity {
				t.Errorf("%s has no level", n.event)
			}
		}
		for c := range strings.FieldsSeq(r.codes) {
			if codes[c] || len(c) != 2 {
				t.Errorf("%s is in two rows, or no phenomenon", c)
			}
			codes[c] = true
		}
	}
}

func TestClassify(t *testing.T) {
	for name, tt := range map[string]struct {
		event string
		code  string // phenomenon and significance
		want  kind
	}{
		"by name":                                 {"Tornado Warning", "", kind{typ: hazard.Tornado, level: hazard.Warning}},
		"in whatever case":                        {"tornado WATCH", "", kind{typ: hazard.Tornado, level: hazard.Watch}},
		"a severe thunderstorm":                   {"Severe Thunderstorm Warning", "SV.W", kind{typ: hazard.Storm, level: hazard.Warning}},
		"a statement continues a warning":         {"Severe Weather Statement", "TO.W", kind{typ: hazard.Tornado, level: hazard.Warning}},
		"a flood statement continues an advisory": {"Flood Statement", "FA.Y", kind{typ: hazard.Flood, level: hazard.Advisory}},
		"a statement alone is information":        {"Flash Flood Statement", "", kind{typ: hazard.Flood, level: hazard.Information}},
		"a rip current statement":                 {"Rip Current Statement", "RP.S", kind{typ: hazard.HighSurf, level: hazard.Information}},
		"a snow squall is winter":                 {"Snow Squall Warning", "SQ.W", kind{typ: hazard.WinterStorm, level: hazard.Warning}},
		"an inland hurricane is a cyclone":        {"Inland Hurricane Warning", "HI.W", kind{typ: hazard.Cyclone, level: hazard.Warning}},
		"an inland tropical storm is a cyclone":   {"Inland Tropical Storm Warning", "TI.W", kind{typ: hazard.Cyclone, level: hazard.Warning}},
		"a storm surge is inundation":             {"Storm Surge Warning", "SS.W", kind{typ: hazard.Flood, level: hazard.Warning}},
		"dense smoke is no wildfire":              {"Dense Smoke Advisory", "SM.Y", kind{typ: hazard.Occurrence, level: hazard.Advisory}},
		"dense smoke at sea is marine":            {"Dense Smoke Advisory", "MS.Y", kind{typ: hazard.Marine, level: hazard.Advisory}},
		"ash at sea is marine":                    {"Ashfall Advisory", "MH.Y", kind{typ: hazard.Marine, level: hazard.Advisory}},
		"red flag is capped at watch":             {"Red Flag Warning", "FW.W", kind{typ: hazard.Wildfire, level: hazard.Watch}},
		"by name too":                             {"Red Flag Warning", "", kind{typ: hazard.Wildfire, level: hazard.Watch}},
		"fire weather watch at advisory":          {"Fire Weather Watch", "FW.A", kind{typ: hazard.Wildfire, level: hazard.Advisory}},
		"extreme fire danger at watch":            {"Extreme Fire Danger", "", kind{typ: hazard.Wildfire, level: hazard.Watch}},
		"a fire warning is a fire":                {"Fire Warning", "", kind{typ: hazard.Wildfire, level: hazard.Warning}},
		"wind chill is temperature":               {"Wind Chill Warning", "WC.W", kind{typ: hazard.ExtremeTemperature, level: hazard.Warning}},
		"civil danger is no unrest":               {"Civil Danger Warning", "", kind{typ: hazard.Incident, level: hazard.Warning}},
		"an outlook is nothing":                   {"Hydrologic Outlook", "", kind{}},
		"nor is it with a code":                   {"Flood Watch", "HY.O", kind{}},
		"a test is nothing":                       {"Test", "", kind{}},
		"a test with a code is nothing":           {"test", "UP.W", kind{}},
		"a search for a child is no hazard":       {"Child Abduction Emergency", "", kind{}},
		"name and code of different types":        {"Tsunami Warning", "UP.W", kind{typ: hazard.Tsunami, level: hazard.Warning, foreign: true}},
		"and the name's level":                    {"Wind Advisory", "UP.W", kind{typ: hazard.HighWind, level: hazard.Advisory, foreign: true}},
		"a new name with a code":                  {"Excessive Surf Warning", "SU.W", kind{typ: hazard.HighSurf, level: hazard.Warning}},
		"a new code with a name":                  {"Flood Warning", "QQ.A", kind{typ: hazard.Flood, level: hazard.Watch}},
		"neither is known":                        {"Meteor Warning", "QQ.A", kind{typ: hazard.Occurrence, level: hazard.Watch, unknown: true}},
		"a new name alone":                        {"Meteor Warning", "", kind{typ: hazard.Occurrence, level: hazard.Warning, unknown: true}},
	} {
		t.Run(name, func(t *testing.T) {
			var v *vtec
			if tt.code != "" {
				v = &vtec{phenomenon: tt.code[:2], significance: tt.code[3]}
			}
			if got := classify(tt.event, v); got != tt.want {
				t.Errorf("classify(%q, %s) = %+v, want %+v", tt.event, tt.code, got, tt.want)
			}
		})
	}
}

// The made-up feed gives nearly every name the VTEC string UP.W of a heavy freezing spray warning.
// If the name has another type, the name has precedence, and the message is a separate event. For a
// marine name or a statement, the string has precedence.
func TestEveryEventNameBecomesItsType(t *testing.T) {
	rec := recordings(t, "every-event-name.json")[0]
	b := parsed(t, rec.payload, at(t, "2026-08-16T05:20:00Z"))
	if len(b.Rejects) != 0 || b.Whole {
		t.Fatalf("rejects %v, whole %v, want none and the list of a state", b.Rejects, b.Whole)
	}
	var feed struct {
		Features []struct {
			Properties struct {
				ID, Event  string
				Parameters struct{ VTEC []string }
			}
		}
	}
	if err := json.Unmarshal(rec.payload, &feed); err != nil {
		t.Fatal(err)
	}
	i, ignored := 0, 0
	keys := map[string]string{}
	for _, f := range feed.Features {
		p := f.Properties
		want := byName[strings.ToLower(p.Event)]
		if want.typ == "" {
			ignored++
			continue
		}
		r := b.Reports[i]
		i++
		own := true
		if len(p.Parameters.VTEC) == 1 && strings.Contains(p.Parameters.VTEC[0], ".UP.W.") {
			own = want.typ != hazard.Marine && !strings.HasSuffix(p.Event, "statement")
			if !own {
				want = entry{hazard.Marine, hazard.Warning}
			}
		}
		if r.Part != p.ID || r.Type != want.typ || r.Severity != want.level {
			t.Errorf("%s: %s %v, want %v", p.Event, r.Type, r.Severity, want)
		}
		if own && strings.Contains(r.Key, ".UP.W.") {
			t.Errorf("%s: an event of another kind has the key %s", p.Event, r.Key)
		}
		keys[r.Key] = p.Event
	}
	if b.Ignored != ignored || i != len(b.Reports) {
		t.Errorf("%d ignored and %d reports, want %d and %d", b.Ignored, len(b.Reports), ignored, i)
	}
	t.Logf("%d records, %d reports, %d keys, %d ignored", b.Read, len(b.Reports), len(keys), b.Ignored)
}
