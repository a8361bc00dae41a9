package page

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/lang/words"
)

// TestPagesSayWhatThereAreWordsFor compares the keys in templates and code with the files of words:
// no language lacks a key or has an unused one.
func TestPagesSayWhatThereAreWordsFor(t *testing.T) {
	made := regexp.MustCompile(`^(reason|why|response|ago|in|area|change)[A-Z]|^(field|quantity|word|shape|important)_`) // put together in code
	used := map[string]bool{}
	files, err := filepath.Glob("*")
	if err != nil {
		t.Fatal(err)
	}
	handlers, err := filepath.Glob("browser/*")
	if err != nil {
		t.Fatal(err)
	}
	asks := regexp.MustCompile(`(?:\{\{t |\bt |say\(|Say\()"(\w+)"|"(\w+)"`)
	files = append(files, handlers...)
	all := ""
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") || !strings.HasSuffix(name, ".go") && !strings.HasSuffix(name, ".html") {
			continue
		}
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		all += string(text)
		for _, m := range asks.FindAllStringSubmatch(string(text), -1) {
			if m[1] != "" {
				used[m[1]] = true
				for _, l := range words.All() {
					if !l.Knows(m[1]) && !made.MatchString(m[1]+"X") && m[1] != "reason" && m[1] != "why" && m[1] != "response" && m[1] != "ago" && m[1] != "in" {
						t.Errorf("%s uses the key %q, which is missing in %s", name, m[1], l.ID)
					}
				}
			}
			used[m[2]] = true
		}
	}
	for _, key := range words.English().Keys() {
		if !strings.Contains(key, ".") && !used[key] && !made.MatchString(key) {
			t.Errorf("nothing says %q", key)
		}
	}
	for _, kind := range kinds {
		for _, l := range words.All() {
			if !l.Knows(kind) {
				t.Errorf("%s has no words for %s", l.ID, kind)
			}
		}
	}
	for _, key := range labels {
		if !words.English().Knows(key) {
			t.Errorf("no words for the field %s", key)
		}
	}
	for _, l := range words.All() {
		for _, info := range hazard.Quantities() {
			keys := []string{"quantity_" + string(info.Name)}
			for _, word := range info.Words {
				keys = append(keys, "word_"+word)
			}
			for _, key := range keys {
				if !l.Knows(key) {
					t.Errorf("%s has no words for %s", l.ID, key)
				}
			}
		}
		for _, role := range []hazard.ShapeRole{hazard.AreaShape, hazard.ExtentShape, hazard.ConeShape, hazard.AshShape, hazard.WindShape, hazard.PerimeterShape, hazard.ContourShape, "impact"} {
			if key := "shape_" + strings.ReplaceAll(string(role), " ", "_"); !l.Knows(key) {
				t.Errorf("%s has no words for %s", l.ID, key)
			}
		}
		for _, cause := range []hazard.CauseKind{hazard.ByLevel, hazard.ByKind, hazard.ByPeople, hazard.ByShaking, hazard.ByWind, hazard.TornadoEmergency, hazard.FlashFlood, hazard.Catastrophe, hazard.ParticularlyDanger} {
			if !l.Knows("important_" + string(cause)) {
				t.Errorf("%s has no words for the cause %s", l.ID, cause)
			}
		}
	}
	for _, key := range reasons {
		if !words.English().Knows("why"+key) || !words.English().Knows("reason"+key) {
			t.Errorf("no words for the reason %s", key)
		}
	}
	for _, key := range roles {
		if !words.English().Knows(key) || !words.English().Knows(key+"What") {
			t.Errorf("no words for the area %s", key)
		}
	}
}

func TestAPageIsInTheLanguageOfItsReader(t *testing.T) {
	english := pageOf(t, func(*Hazard) {})
	for _, l := range words.All() {
		html := pageOf(t, func(c *Hazard) { c.Language = l })
		if !strings.Contains(html, `<html lang="`+l.ID+`" dir="`+l.Dir+`">`) || !strings.Contains(html, l.NameOf("type", "FLOOD")) || !strings.Contains(html, l.Say("known")) {
			t.Errorf("%s: %.300s", l.ID, html)
		}
		if said := strings.Contains(html, l.Say("unchecked")); said == l.Checked {
			t.Errorf("%s: the note that its words are unchecked: %v", l.ID, said)
		}
		if l == words.English() {
			continue
		}
		for _, word := range []string{"What is known", "Position<", "History <", "Began", "There are no products", "minutes", "Reload", "21 Nov"} {
			if !strings.Contains(english, word) {
				t.Errorf("English does not say %q", word)
			}
			if strings.Contains(html, word) && l.Say("position") != "Position" {
				t.Errorf("%s says %q", l.ID, word)
			}
		}
	}
}

func TestTimesAreAlsoInTheZoneOfTheReader(t *testing.T) {
	zone, err := time.LoadLocation("Asia/Kolkata")
	if err != nil {
		t.Fatal(err)
	}
	japanese := words.All()[slices.IndexFunc(words.All(), func(l *words.Language) bool { return l.ID == "ja" })]
	for want, f := range map[string]*Frame{"21 Nov 2026, 11:30 IST": {Zone: zone}, "2026-11-21 11:30 IST": {Zone: zone, Language: japanese}, "": {Zone: time.UTC}} {
		if m := f.at(now, now); m.Local != want || !strings.HasSuffix(m.Words, " UTC") {
			t.Errorf("%+v, want %q", m, want)
		}
	}
	if m := (&Frame{Language: japanese}).at(now.Add(-3*time.Hour), now); m.Words != "2026-11-21 03:00 UTC" || m.Relative != "3時間前" || m.Local != "" {
		t.Errorf("%+v", m)
	}
}

func TestTheStatusSaysWhatIsNotKnown(t *testing.T) {
	ok := SourceStatus{Source: Source{Name: "usgs", Title: "USGS earthquakes", State: "ok", Read: now.Add(-time.Minute)}, Changed: now.Add(-time.Hour), Delay: 2500 * time.Millisecond, Slowest: 3 * time.Hour}
	stale, off, starting := ok, ok, ok
	stale.State, off.State, starting.State = "stale", "disabled", "starting"
	starting.Source.Read, off.Title = 0, "Off"
	for name, tt := range map[string]struct {
		s         Status
		want, not []string
	}{
		"good":         {Status{Sources: []SourceStatus{ok, off}, Active: 7}, []string{"Everything that is read is up to date", "1 minute ago", "60 minutes ago", "2.5 s / 10,800 s", ">7<", "Off"}, []string{"not up to date"}},
		"stale":        {Status{Sources: []SourceStatus{ok, stale}}, []string{"1 source is not up to date", "out of date"}, []string{"Everything"}},
		"nothing read": {Status{Sources: []SourceStatus{starting, off}}, []string{"This does not mean that all is well", "never"}, []string{"Everything"}},
		"no source":    {Status{}, []string{"This does not mean that all is well"}, []string{"Everything"}},
		"away":         {Status{Away: true, Sources: []SourceStatus{ok}}, []string{"The database cannot be reached", "unreachable"}, []string{"Everything"}},
	} {
		t.Run(name, func(t *testing.T) {
			tt.s.Now = hazard.Instant(now)
			html, err := tt.s.HTML()
			if err != nil {
				t.Fatal(err)
			}
			for _, want := range tt.want {
				if !strings.Contains(string(html), want) {
					t.Errorf("without %q: %s", want, html)
				}
			}
			for _, not := range tt.not {
				if strings.Contains(string(html), not) {
					t.Errorf("with %q", not)
				}
			}
		})
	}
}
