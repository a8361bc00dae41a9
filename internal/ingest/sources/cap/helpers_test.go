package cap

import (
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/ingest/source"
	"github.com/hazardd/hazardd/internal/test/recordings"
)

var feed = Config{Name: "cap-test", URL: "https://alerts.example.org/rss.xml", Language: "en"}

// noon is a time at which the alert good is in force.
const noon = "2026-11-21T12:00:00Z"

func at(t testing.TB, text string) hazard.Instant {
	t.Helper()
	i, err := ParseTime(text)
	if err != nil {
		t.Fatal(err)
	}
	return i
}

// good is a message that is valid in every field.
const good = `<?xml version="1.0" encoding="UTF-8"?>
<alert xmlns="urn:oasis:names:tc:emergency:cap:1.2">
<identifier>A-1</identifier><sender>weather@example.org</sender><sent>2026-11-21T11:00:00+00:00</sent>
<status>Actual</status><msgType>Alert</msgType><scope>Public</scope>
<info><language>en-GB</language><category>Met</category><event>Flood Warning</event><urgency>Immediate</urgency>
<severity>Severe</severity><certainty>Observed</certainty><onset>2026-11-21T11:30:00+00:00</onset><expires>2026-11-21T18:00:00+00:00</expires>
<senderName>Weather Office</senderName><headline>Flooding of the Test River</headline><description>Water rises.</description>
<instruction>Move to higher ground.</instruction><web>https://example.org/a</web>
<area><areaDesc>Test County</areaDesc><polygon>38,-120 38,-119 39,-119 38,-120</polygon>
<geocode><valueName>EMMA_ID</valueName><value>XX001</value></geocode></area></info></alert>`

// with returns good with some pieces replaced: old, new, old, new …
func with(t testing.TB, pieces ...string) string {
	t.Helper()
	return change(t, good, pieces...)
}

func change(t testing.TB, text string, pieces ...string) string {
	t.Helper()
	for i := 0; i < len(pieces); i += 2 {
		if !strings.Contains(text, pieces[i]) {
			t.Fatalf("%q is not in the message", pieces[i])
		}
		text = strings.ReplaceAll(text, pieces[i], pieces[i+1])
	}
	return text
}

// update returns good as an Update of the message A-1, with its own identifier and a later time of
// issue.
func update(t testing.TB, id, sent string, pieces ...string) string {
	t.Helper()
	return with(t, append([]string{
		"<identifier>A-1", "<identifier>" + id, "<sent>2026-11-21T11:00:00+00:00", "<sent>" + sent, "<msgType>Alert", "<msgType>Update",
		"<info>", "<references>weather@example.org,A-1,2026-11-21T11:00:00+00:00</references><info>",
	}, pieces...)...)
}

// cancelOf makes a Cancel of an update.
func cancelOf(t testing.TB, text string) string {
	t.Helper()
	return change(t, text, "<msgType>Update", "<msgType>Cancel")
}

func parsed(t testing.TB, cfg Config, payload string, now hazard.Instant) source.Batch {
	t.Helper()
	b, err := Parse(cfg, []byte(payload), now)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// one returns the single report of a single message.
func one(t testing.TB, payload string) hazard.Report {
	t.Helper()
	b := parsed(t, feed, payload, at(t, noon))
	if len(b.Reports) != 1 || len(b.Rejects) != 0 || b.Ignored != 0 {
		t.Fatalf("reports %v, rejects %v, ignored %d, want one report", b.Reports, b.Rejects, b.Ignored)
	}
	return b.Reports[0]
}

// events keeps the reports of events like the service does: the latest report of each part, found
// by any of its names.
type events struct {
	byName map[string]*event
	all    []*event
}

type event struct{ parts map[string]hazard.Report }

func (e *events) add(reports ...hazard.Report) {
	if e.byName == nil {
		e.byName = map[string]*event{}
	}
	for _, r := range reports {
		if r.Suspect != "" { // the report is held
			continue
		}
		names := append([]string{r.Key}, r.Aliases...)
		var v *event
		for _, n := range names {
			if o := e.byName[n]; o != nil && v == nil {
				v = o
			} else if o != nil && o != v { // two events turn out to be one
				for part, p := range o.parts {
					v.keep(part, p)
				}
				for n, x := range e.byName {
					if x == o {
						e.byName[n] = v
					}
				}
				e.all = slices.DeleteFunc(e.all, func(x *event) bool { return x == o })
			}
		}
		if v == nil {
			if r.Minor && r.Ended == "" {
				continue
			}
			v = &event{map[string]hazard.Report{}}
			e.all = append(e.all, v)
		}
		for _, n := range names {
			e.byName[n] = v
		}
		v.keep(r.Part, r)
	}
}

func (v *event) keep(part string, r hazard.Report) {
	if old, ok := v.parts[part]; !ok || old.Version < r.Version {
		v.parts[part] = r
	}
}

func (v *event) state(now hazard.Instant) hazard.EventState {
	var parts []hazard.Report
	for _, p := range v.parts {
		parts = append(parts, p)
	}
	return hazard.Derive(parts, now)
}

// active returns the names of the hazards that are in force and have a place. Those without a place
// are held.
func (e *events) active(now hazard.Instant) []string {
	var out []string
	for _, v := range e.all {
		if s := v.state(now); s.Ended == "" && s.Over() > now && (len(s.Head.Areas) > 0 || s.Head.Point != nil || placed(s.Places)) {
			out = append(out, s.Head.Severity.String()+" "+s.Head.Name)
		}
	}
	slices.Sort(out)
	return out
}

// placed reports whether a place belongs to a known vocabulary.
func placed(places []string) bool {
	return slices.ContainsFunc(places, func(p string) bool { return !strings.HasPrefix(p, "area:") })
}

// recordedFiles returns the recorded payloads that match a pattern below the folder of recordings.
func recordedFiles(t testing.TB, pattern string) []string {
	t.Helper()
	root := recordings.Path(t, "feeds")
	names, err := filepath.Glob(filepath.Join(root, pattern))
	if err != nil || len(names) == 0 {
		t.Fatalf("no recording %s: %v", pattern, err)
	}
	for i, n := range names {
		names[i], _ = filepath.Rel(root, n)
	}
	return names
}

var stamp = regexp.MustCompile(`20\d{6}`)

// recordedAt returns noon of the day after the date in a file's name.
func recordedAt(t testing.TB, name string) hazard.Instant {
	t.Helper()
	day, err := time.Parse("20060102", stamp.FindString(name))
	if err != nil {
		return at(t, noon)
	}
	return hazard.At(day.Add(36 * time.Hour))
}
