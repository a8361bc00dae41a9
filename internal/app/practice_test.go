package app

import (
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/ingest/fuse"
	"github.com/hazardd/hazardd/internal/ingest/poll"
	"github.com/hazardd/hazardd/internal/ingest/sources/cap"
	"github.com/hazardd/hazardd/internal/ingest/sources/official"
	"github.com/hazardd/hazardd/internal/store"
)

// practiceAlert is an alert of the severity level about areas, each with an outline of its own; green is
// MeteoAlarm's level of no danger.
func practiceAlert(id, sent, level, areas string) string {
	text := `<alert xmlns="urn:oasis:names:tc:emergency:cap:1.2"><identifier>` + id + `</identifier><sender>office@example.org</sender><sent>` + sent +
		`</sent><status>Actual</status><msgType>Alert</msgType><scope>Public</scope><incidents>I-7</incidents><info><language>en</language><category>Met</category><event>Bushfire</event>` +
		`<urgency>Expected</urgency><severity>` + level + `</severity><certainty>Possible</certainty><onset>2026-11-21T09:00:00+00:00</onset><expires>2026-11-22T09:00:00+00:00</expires>`
	if level == "green" {
		text = strings.Replace(text, ">green<", ">Minor<", 1) + "<parameter><valueName>awareness_level</valueName><value>1; green; Minor</value></parameter>"
	}
	for i, area := range strings.Split(areas, ",") {
		text += fmt.Sprintf("<area><areaDesc>%s</areaDesc><polygon>%d,-120 %d,-119 %d,-119 %d,-120</polygon><geocode><valueName>X</valueName><value>%s</value></geocode></area>", area, 38+i, 38+i, 39+i, 38+i, area)
	}
	return text + "</info></alert>"
}

// A warning that was stored before its sender's practice was known stays the same hazard when the
// sender's list is read again, and when a later message comes.
func TestAStoredWarningIsFoundByItsSendersPractice(t *testing.T) {
	alert := practiceAlert
	list := practiceList
	first, lower := list(alert("A-1", "2026-11-21T09:00:00+00:00", "Severe", "A")), list(alert("A-2", "2026-11-21T10:00:00+00:00", "Moderate", "A"))
	both := list(alert("A-1", "2026-11-21T09:00:00+00:00", "Severe", "A,B"))
	for name, tt := range map[string]struct {
		address string      // of the sender
		steps   [][2]string // a payload and the hazards after it, by number; the first was read before the practice was known
	}{
		"Queensland": {"https://publiccontent-gis-psba-qld-gov-au.s3.amazonaws.com/content/Feeds/BushfireCurrentIncidents/bushfireAlert_capau.xml",
			[][2]string{{first, "WATCH A"}, {first, "WATCH A"}, {lower, "ADVISORY A"}}},
		"Tasmania": {"https://alert.tas.gov.au/data/cap-au.xml", [][2]string{{first, "WATCH A"}, {first, "WATCH A"}, {lower, "ADVISORY A"}}},
		"Western Australia": {"https://api.emergency.wa.gov.au/v1/capau",
			[][2]string{{first, "WATCH A"}, {first, "WATCH A"}, {strings.ReplaceAll(lower, "A-2", "A-1"), "ADVISORY A"}}},
		"France":  {"https://feeds.meteoalarm.org/api/v1/warnings/feeds-france", [][2]string{{first, "WATCH A"}, {first, "WATCH A"}, {lower, "ADVISORY A"}}},
		"Bosnia":  {"https://feeds.meteoalarm.org/api/v1/warnings/feeds-bosnia-herzegovina", [][2]string{{first, "WATCH A"}, {first, "WATCH A"}, {lower, "ADVISORY A"}}},
		"unknown": {"https://warnings.example.org/", [][2]string{{first, "WATCH A"}, {first, "WATCH A"}, {lower, "WATCH A, ADVISORY A"}}},
		"France, several departments": {"https://feeds.meteoalarm.org/api/v1/warnings/feeds-france", [][2]string{
			{both, "WATCH A; B"}, {both, "WATCH A, WATCH B"}, {strings.ReplaceAll(lower, ">A<", ">B<"), "WATCH A, ADVISORY B"},
		}},
	} {
		t.Run(name, func(t *testing.T) {
			r := newPracticeRun(t)
			practice := cap.Practice{}
			for i, step := range tt.steps {
				r.take(practice, step[0])
				practice = official.PracticeOf(tt.address)
				var got []string
				for _, h := range r.hazards() {
					got = append(got, fmt.Sprintf("%v %s", h.Severity, strings.TrimPrefix(h.Name, "Bushfire - ")))
				}
				if text := strings.Join(got, ", "); text != step[1] {
					t.Errorf("step %d: %q, want %q", i, text, step[1])
				}
			}
		})
	}
}

func practiceList(alerts ...string) string {
	return "<alerts>" + strings.Join(alerts, "") + "</alerts>"
}

// practiceRun is a store that takes in alerts of the source "own".
type practiceRun struct {
	t     *testing.T
	store *store.Store
	in    *fuse.Intake
	now   hazard.Instant
}

func newPracticeRun(t *testing.T) *practiceRun {
	t.Helper()
	known, err := NewSources(SourceSettings{CAP: []CAPSource{{Config: cap.Config{Name: "own", URL: "https://feeds.example.org/"}}}})
	if err != nil {
		t.Fatal(err)
	}
	s := emptyStore(t)
	return &practiceRun{t, s, known.Intake(s), hazard.At(time.Date(2026, 11, 21, 11, 0, 0, 0, time.UTC))}
}

// take takes in a payload of a sender.
func (r *practiceRun) take(p cap.Practice, payload string) {
	r.t.Helper()
	batch, err := cap.Parse(cap.Config{Name: "own", URL: "https://feeds.example.org/", Practice: p}, []byte(payload), r.now)
	if err == nil {
		_, err = r.in.Apply(r.t.Context(), "own", batch, r.now, fuse.Options{})
	}
	if err != nil {
		r.t.Fatal(err)
	}
}

// hazards returns all hazards, by number.
func (r *practiceRun) hazards() (all []*hazard.Hazard) {
	r.t.Helper()
	ids, err := r.store.Hazards.IDs(r.t.Context())
	slices.Sort(ids)
	for _, id := range ids {
		h, errH := r.store.Hazards.Get(r.t.Context(), id)
		err = errors.Join(err, errH)
		all = append(all, h)
	}
	if err != nil {
		r.t.Fatal(err)
	}
	return all
}

// Whatever the order in which the messages of a sender arrive, the same is active in the end, with the
// same identity.
func TestTheOrderOfASendersMessagesDoesNotMatter(t *testing.T) {
	list, alert := practiceList, practiceAlert
	const nine, half, ten = "2026-11-21T09:00:00+00:00", "2026-11-21T09:30:00+00:00", "2026-11-21T10:00:00+00:00"
	for name, tt := range map[string]struct {
		address  string
		payloads []string
		want     string
	}{
		"France": {"https://feeds.meteoalarm.org/api/v1/warnings/feeds-france",
			[]string{list(alert("1", nine, "Severe", "A,B,C")), list(alert("2", half, "Moderate", "B,C")), list(alert("3", ten, "green", "C"))}, "ADVISORY Bushfire - B, WATCH Bushfire - A"},
		"Queensland": {"https://publiccontent-gis-psba-qld-gov-au.s3.amazonaws.com/content/Feeds/BushfireCurrentIncidents/bushfireAlert_capau.xml",
			[]string{list(alert("1", nine, "Severe", "A")), list(alert("2", half, "Moderate", "A"), alert("3", nine, "Minor", "B")), list(alert("4", ten, "Minor", "A"), alert("3", nine, "Minor", "B"))},
			"INFORMATION Bushfire - A, INFORMATION Bushfire - B"},
		"Tasmania": {"https://alert.tas.gov.au/data/cap-au.xml",
			[]string{list(alert("1", nine, "Severe", "A")), list(alert("2", half, "Moderate", "A"), alert("3", nine, "Minor", "B")), list(alert("2", half, "Moderate", "A"), alert("4", ten, "Minor", "B"))},
			"ADVISORY Bushfire - A"},
		"Bosnia": {"https://feeds.meteoalarm.org/api/v1/warnings/feeds-bosnia-herzegovina",
			[]string{list(alert("1", nine, "Severe", "A")), list(alert("2", half, "Moderate", "A")), list(alert("3", ten, "Minor", "A"))}, "INFORMATION Bushfire - A"},
		"Western Australia": {"https://api.emergency.wa.gov.au/v1/capau",
			[]string{list(alert("1", nine, "Severe", "A")), list(alert("1", half, "Moderate", "A")), list(alert("1", ten, "Minor", "A"))}, "INFORMATION Bushfire - A"},
	} {
		t.Run(name, func(t *testing.T) {
			same := map[string]bool{}
			for _, order := range [][]int{{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}} {
				r := newPracticeRun(t)
				for _, i := range order {
					r.take(official.PracticeOf(tt.address), tt.payloads[i])
				}
				var got, ids []string
				for _, h := range r.hazards() {
					if h.ActiveAt(r.now) {
						got, ids = append(got, fmt.Sprintf("%v %s", h.Severity, h.Name)), append(ids, h.UUID.String())
					}
				}
				slices.Sort(got)
				slices.Sort(ids)
				if text := strings.Join(got, ", "); text != tt.want {
					t.Errorf("in the order %v: %s, want %s", order, text, tt.want)
				}
				same[fmt.Sprint(ids)] = true
			}
			if len(same) != 1 {
				t.Errorf("the uuids depend on the order: %v", same)
			}
		})
	}
}

// Two warnings of an unknown sender, of one kind and place, may be one; each says so of the other. What
// has another place or kind may not, nor what has ended.
func TestWarningsOfAnUnknownSenderMayBeOne(t *testing.T) {
	const nine, ten = "2026-11-21T09:00:00+00:00", "2026-11-21T10:00:00+00:00"
	wind := strings.ReplaceAll(practiceAlert("4", nine, "Minor", "A"), "Bushfire", "Strong wind")
	past := strings.ReplaceAll(practiceAlert("5", nine, "Moderate", "A"), "2026-11-22T09:00:00", "2026-11-21T09:30:00")
	other := strings.ReplaceAll(practiceAlert("6", nine, "Moderate", "A"), "office@", "another@")
	r := newPracticeRun(t)
	r.take(cap.Practice{}, practiceList(practiceAlert("1", nine, "Severe", "A"), practiceAlert("2", ten, "Moderate", "A"), practiceAlert("3", nine, "Minor", "B"), wind, past, other))
	all := r.hazards()
	for i, h := range all {
		related, err := r.in.Related(t.Context(), h.ID, r.now)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, o := range related {
			got = append(got, fmt.Sprintf("%s %v", o.Relation, o.Hazard.Severity))
		}
		want := map[int][]string{0: {"may be one with ADVISORY"}, 1: {"may be one with WATCH"}}[i]
		if !slices.Equal(got, want) {
			t.Errorf("%v %s: %q, want %q", h.Severity, h.Name, got, want)
		}
	}
}

// What the list of a sender drops is over, if that is known of the sender, and what it holds goes on.
func TestWhatASendersListDropsIsOver(t *testing.T) {
	mowas := `{"identifier":"mow.A-20261121-000","sender":"DE-X","sent":"2026-11-21T09:00:00+00:00","status":"Actual","msgType":"Alert","scope":"Public",` +
		`"info":[{"language":"de","category":["Infra"],"event":"Gefahreninformation","urgency":"Immediate","severity":"Severe","certainty":"Observed","headline":"Trinkwasser abkochen","area":[{"areaDesc":"Siersburg"}]}]}`
	dwd := strings.NewReplacer("mow.A", "dwd.B", "Trinkwasser abkochen", "Sturm").Replace(mowas)
	fmi := strings.NewReplacer("<identifier>1<", "<identifier>2.49.0.1.246.0.0.1<", "2026-11-22T09:00:00", "2026-11-23T09:00:00").Replace(practiceAlert("1", "2026-11-21T09:00:00+00:00", "Severe", "A"))
	index := func(ids ...string) string {
		text := "<rss><channel>"
		for _, id := range ids {
			text += "<item><guid>" + id + "</guid><link>https://alerts.fmi.fi/cap/" + id + ".cap</link></item>"
		}
		return text + "</channel></rss>"
	}
	const nina, rss = "https://warnung.bund.de/api31/", "https://alerts.fmi.fi/cap/feed/rss_en-GB.rss"
	const list, none = `[{"id":"mow.A-20261121-000"}]`, "[]"
	type step struct {
		after   time.Duration // since 09:30
		feed    string        // or the name of the source, for a document
		payload string
		want    string // what is active then
	}
	for name, steps := range map[string][]step{
		"MoWaS": {
			{0, nina + "mowas/mapData.json", list, ""},
			{time.Second, "bbk", mowas, "Trinkwasser"},
			{2 * time.Second, "bbk", dwd, "Sturm, Trinkwasser"},
			{time.Minute, nina + "katwarn/mapData.json", none, "Sturm, Trinkwasser"},
			{20 * time.Minute, nina + "katwarn/mapData.json", none, "Sturm, Trinkwasser"},
			{22 * time.Hour, nina + "mowas/mapData.json", list, "Sturm, Trinkwasser"},
			{40 * time.Hour, nina + "mowas/mapData.json", list, "Trinkwasser"}, // that of the weather service had no list, and no end
			{60 * time.Hour, nina + "mowas/mapData.json", list, "Trinkwasser"},
			{61 * time.Hour, nina + "mowas/mapData.json", none, "Trinkwasser"},
			{62 * time.Hour, nina + "mowas/mapData.json", none, ""},
			{63 * time.Hour, nina + "mowas/mapData.json", list, "Trinkwasser"}, // it is listed again
		},
		"a silent server": {
			{0, nina + "mowas/mapData.json", list, ""},
			{time.Second, "bbk", mowas, "Trinkwasser"},
			{2 * time.Hour, nina + "mowas/mapData.json", list, "Trinkwasser"},
			{46 * time.Hour, nina + "katwarn/mapData.json", none, "Trinkwasser"},
			{90 * time.Hour, nina + "katwarn/mapData.json", none, ""},
		},
		"FMI": {
			{0, rss, index("2.49.0.1.246.0.0.1"), ""},
			{time.Second, "fi-fmi-en", fmi, "Bushfire"},
			{time.Hour, rss, index("2.49.0.1.246.0.0.1", "2.49.0.1.246.0.0.2"), "Bushfire"},
			{2 * time.Hour, rss, index("2.49.0.1.246.0.0.2"), "Bushfire"},
			{3 * time.Hour, rss, index("2.49.0.1.246.0.0.2"), ""},
		},
		"FMI under other names": {
			{0, rss, index("wind-1"), ""},
			{time.Second, "fi-fmi-en", fmi, "Bushfire"},
			{2 * time.Hour, rss, index("wind-2"), "Bushfire"},
			{3 * time.Hour, rss, index("wind-2"), "Bushfire"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			known := BuiltIn()
			s := emptyStore(t)
			replay := poll.NewReplay(s, known.Intake(s), hazard.MinInstant, slog.New(slog.DiscardHandler))
			r := &practiceRun{t: t, store: s}
			for i, step := range steps {
				src, feed, err := known.FindFeed(step.feed)
				if err != nil {
					t.Fatal(err)
				}
				at := hazard.At(time.Date(2026, 11, 21, 9, 30, 0, 0, time.UTC).Add(step.after))
				if _, err := replay.Take(t.Context(), &src, feed, []byte(step.payload), nil, at); err != nil {
					t.Fatal(err)
				}
				var got []string
				for _, h := range r.hazards() {
					if h.ActiveAt(at) {
						word, _, _ := strings.Cut(h.Name, " ")
						got = append(got, word)
					}
				}
				slices.Sort(got)
				if text := strings.Join(got, ", "); text != step.want {
					t.Errorf("step %d: %q active, want %q", i, text, step.want)
				}
			}
		})
	}
}
