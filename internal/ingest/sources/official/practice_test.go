package official

import (
	"strings"
	"testing"

	"github.com/hazardd/hazardd/internal/ingest/source"
	"github.com/hazardd/hazardd/internal/ingest/sources/cap"
)

// Of each feed that is polled by default the table says what is known of its sender, even if that is
// nothing, and each line of the table is of use.
func TestThePracticeOfEachFeedIsKnownOrSaidToBeUnknown(t *testing.T) {
	all, err := parsePractices(practiceTable)
	if err != nil {
		t.Fatal(err)
	}
	names := map[string]bool{}
	for _, p := range all {
		if names[p.Name] || p.Name == "" || p.Lists.Cite == "" || p.Cancels == "" || p.Languages == "" {
			t.Errorf("%q: twice, or without cancels, languages or evidence", p.Name)
		}
		names[p.Name] = true
		if strings.Contains(p.Lists.Cite, "?") && p.Lists.InForce+p.Lists.Complete != source.Unknown {
			t.Errorf("%q: nothing is known of it, but its list is declared", p.Name)
		}
		// Without evidence each column is unknown, which errs towards showing.
		if strings.HasPrefix(p.Lists.Cite, "?") || strings.HasPrefix(p.Lists.Cite, "unknown") {
			known := p.Practice
			known.Name, known.Lists.Cite = "", ""
			if known != (cap.Practice{Cancels: "unknown", Languages: "unknown"}) {
				t.Errorf("%q: %+v without evidence", p.Name, known)
			}
		}
		// A claim is not enough to end a warning.
		if c := p.Lists.Cite; p.Lists.Complete == source.Yes && !strings.Contains(c, "d ") && !strings.Contains(c, "d (") && !strings.Contains(c, "o ") && !strings.Contains(c, "r ") {
			t.Errorf("%q: complete by %q", p.Name, c)
		}
	}
	used := map[string]int{}
	for i := range Feeds() {
		f := &Feeds()[i]
		p, ok := practiceOf(all, f.URL)
		if f.Default() && !ok {
			t.Errorf("%s: no line of practice.tsv fits %s", f.Name, f.URL)
		}
		used[p.Name]++
	}
	for _, p := range all {
		if used[p.Name] == 0 && p.Name != "WMO's mirror (SWIC)" {
			t.Errorf("%q fits no feed of the catalog", p.Name)
		}
	}
}

func TestThePracticeIsFoundByTheAddress(t *testing.T) {
	for address, want := range map[string]string{
		"https://feeds.meteoalarm.org/feeds/meteoalarm-legacy-atom-france": "MeteoAlarm: Météo-France",
		"https://feeds.meteoalarm.org/api/v1/warnings/feeds-france":        "MeteoAlarm: Météo-France",
		"https://FEEDS.meteoalarm.org/api/v1/warnings/feeds-france?x=1":    "MeteoAlarm: Météo-France",
		"https://feeds.meteoalarm.org/api/v1/warnings/feeds-finland":       "MeteoAlarm: FMI",
		"https://feeds.meteoalarm.org/feeds/meteoalarm-legacy-atom-malta":  "MeteoAlarm, all others",
		"https://feeds.meteoalarm.org.example.org/feeds":                   "",
		"https://www.meteobenin.bj/api/cap/rss.xml":                        "cap-composer",
		"https://cap.example.org/api/cap/rss.xml":                          "cap-composer",
		"https://cap-sources.s3.amazonaws.com/in-imd-en/rss.xml":           "India: IMD",
		"https://cap-sources.s3.amazonaws.com/tz-tma-en/rss.xml":           "cap-sources (one bucket)",
		"https://metproducts.gov.tt/ttms/public/api/feed?type=rss":         "Trinidad and Tobago: TTMS",
		"https://rss.naad-adna.pelmorex.com":                               "Canada: NAAD",
		"https://atg-primary.capews.com/capews/public/atom?type=cap":       "capews",
		"https://warnings.example.org/feed":                                "",
		"":                                                                 "",
	} {
		if p := PracticeOf(address); p.Name != want {
			t.Errorf("%s: %q, want %q", address, p.Name, want)
		}
	}
}

func TestAWrongLineOfPracticesIsRefused(t *testing.T) {
	line := func(column int, value string) string {
		c := strings.Split("a\ta.example/*\tyes\tyes\t\treferences\tend\tover\ta Cancel\ten\tr", "\t")
		c[column] = value
		return strings.Join(c, "\t")
	}
	if all, err := parsePractices(line(0, "a")); err != nil || len(all) != 1 || all[0].Identity != cap.ByReferences {
		t.Errorf("%+v, %v", all, err)
	}
	for column, values := range map[int][]string{2: {"", "perhaps"}, 3: {"true"}, 4: {"0", "-1", "many"}, 5: {"vtec", ""}, 6: {"never ever"}, 7: {"later"}} {
		for _, v := range values {
			if _, err := parsePractices(line(column, v)); err == nil {
				t.Errorf("column %d: %q, want an error", column, v)
			}
		}
	}
	if _, err := parsePractices("a\tb"); err == nil {
		t.Error("two values, want an error")
	}
	if _, err := parsePractices(strings.Replace(line(6, "stamp"), "yes", "no", 1)); err == nil {
		t.Error("a stamp without a list that is in force, want an error")
	}
}
