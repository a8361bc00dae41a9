package cap

import (
	"slices"
	"strings"
	"testing"

	"github.com/hazardd/hazardd/internal/hazard"
)

// shared returns the names that two reports have in common and that join events of several sources.
func shared(a, b hazard.Report) (both []string) {
	for _, r := range a.Refs {
		if strings.HasPrefix(r, hazard.AgainRef) && slices.Contains(b.Refs, r) {
			both = append(both, r)
		}
	}
	return both
}

// Two feeds of one country issue the same alert, each in its language and with its own identifier.
func TestIssuesInOtherLanguagesAreOneHazard(t *testing.T) {
	const code = "<eventCode><valueName>profile</valueName><value>flood</value></eventCode><effective>"
	coded := func(alert string, changes ...string) string {
		alert = strings.Replace(alert, "<effective>", code, 1)
		if !strings.Contains(alert, code) {
			alert = strings.Replace(alert, "<onset>", strings.TrimSuffix(code, "<effective>")+"<onset>", 1)
		}
		return strings.NewReplacer(changes...).Replace(alert)
	}
	read := func(language, alert string) hazard.Report {
		t.Helper()
		cfg := Config{Name: "xx-" + language, Spoken: language, Siblings: []string{"en", "fr", "ar"}}
		batch, err := Parse(cfg, []byte(alert), at(t, "2026-11-21T12:00:00Z"))
		if err != nil || len(batch.Reports) != 1 {
			t.Fatalf("%v, %d reports: %+v", err, len(batch.Reports), batch.Rejects)
		}
		return batch.Reports[0]
	}
	french := []string{"<identifier>A-1<", "<identifier>F-1<", "<language>en-GB<", "<language>fr<", "<event>Flood Warning<", "<event>Inondation<", "<areaDesc>Test County<", "<areaDesc>Comté<",
		"Flooding of the Test River", "La rivière déborde"}
	english := read("en", coded(good))
	if both := shared(english, read("fr", coded(good, french...))); len(both) == 0 {
		t.Error("the French issue has no name in common with the English one")
	}
	for what, change := range map[string][]string{
		"another sender":    {"<sender>weather@", "<sender>other@"},
		"another code":      {"<value>flood<", "<value>wind<"},
		"another level":     {"<severity>Severe<", "<severity>Minor<"},
		"another area":      {"38,-120", "38.5,-120"},
		"another end":       {"2026-11-21T18:00:00", "2026-11-22T18:00:00"},
		"no language known": {"<language>fr<", "<language>und<"},
	} {
		if both := shared(english, read("fr", coded(coded(good, french...), change...))); len(both) > 0 {
			t.Errorf("%s: they are one by %q", what, both)
		}
	}
	for _, ref := range shared(english, read("en", coded(good, "<identifier>A-1<", "<identifier>A-2<", "<event>Flood Warning<", "<event>Dam Failure<"))) {
		if !strings.HasPrefix(ref, hazard.AgainElsewhereRef) { // a name without effect within one source
			t.Errorf("two alerts in English are one by %q", ref)
		}
	}
}

// The blocks of an alert disagree. The worst level counts, all areas are used, and every block is
// kept. An unreadable block does not affect the others.
func TestBlocksThatDisagree(t *testing.T) {
	begin, end := strings.Index(good, "<info>"), strings.Index(good, "</info>")+len("</info>")
	info := good[begin:end]
	french := strings.NewReplacer("<language>en-GB<", "<language>fr<", "<event>Flood Warning<", "<event>Inondation<", "Water rises.", "L'eau monte.")
	for what, tt := range map[string]struct {
		second    string
		level     hazard.Severity
		languages int
		areas     int
	}{
		"they agree":    {french.Replace(info), hazard.Warning, 2, 1},
		"on the level":  {strings.Replace(french.Replace(info), "<severity>Severe<", "<severity>Minor<", 1), hazard.Warning, 2, 1},
		"on the area":   {strings.ReplaceAll(french.Replace(info), "38,-120", "37,-121"), hazard.Warning, 2, 2},
		"one is broken": {strings.Replace(french.Replace(info), "<severity>Severe<", "<severity>?<", 1), hazard.Warning, 1, 1},
		"one is empty":  {"<info/>", hazard.Warning, 1, 1},
	} {
		batch, err := Parse(Config{Name: "cap-test"}, []byte(good[:end]+tt.second+good[end:]), at(t, "2026-11-21T12:00:00Z"))
		if err != nil || len(batch.Reports) == 0 {
			t.Errorf("%s: %v %+v", what, err, batch)
			continue
		}
		state := hazard.Derive(batch.Reports, at(t, "2026-11-21T12:00:00Z"))
		languages := map[string]bool{}
		for _, x := range state.Head.Texts {
			languages[x.Language] = true
		}
		areas := map[string]bool{}
		for _, a := range state.Head.Areas {
			areas[a.Geometry] = true
		}
		if state.Head.Severity != tt.level || len(languages) < tt.languages || len(areas) != tt.areas {
			t.Errorf("%s: %v, %d languages, %d areas; want %v, %d, %d", what, state.Head.Severity, len(languages), len(areas), tt.level, tt.languages, tt.areas)
		}
	}
}

func TestTextsAreBounded(t *testing.T) {
	begin, end := strings.Index(good, "<info>"), strings.Index(good, "</info>")+len("</info>")
	info := strings.Replace(good[begin:end], "Water rises.", strings.Repeat("Water rises. ", 5000), 1)
	var b strings.Builder
	b.WriteString(good[:end])
	for _, l := range []string{"fr", "de", "it", "es", "pt", "ar", "ja", "zh", "ru", "uk", "el", "tr", "pl", "cs", "fi", "sv", "da", "nb", "hu", "ro", "bg", "sr", "hr", "sl", "sk", "lt", "lv", "et"} {
		b.WriteString(strings.Replace(info, "<language>en-GB<", "<language>"+l+"<", 1))
	}
	b.WriteString(good[end:])
	batch, err := Parse(Config{Name: "cap-test"}, []byte(b.String()), at(t, "2026-11-21T12:00:00Z"))
	if err != nil || len(batch.Reports) == 0 {
		t.Fatalf("%v %+v", err, batch)
	}
	texts := hazard.Derive(batch.Reports, at(t, "2026-11-21T12:00:00Z")).Head.Texts
	if n := hazard.SizeOfTexts(texts); n > hazard.MaxTextBytes || len(texts) > hazard.MaxTexts || len(texts) < 6 || !texts[0].Own {
		t.Errorf("%d texts of %d bytes", len(texts), n)
	}
}
