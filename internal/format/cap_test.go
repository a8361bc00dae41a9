package format_test

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hazardd/hazardd/internal/app"
	"github.com/hazardd/hazardd/internal/format"
	"github.com/hazardd/hazardd/internal/geo"
	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/ingest/fuse"
	"github.com/hazardd/hazardd/internal/ingest/sources/cap"
	"github.com/hazardd/hazardd/internal/test/recordings"
)

// reader reads our CAP as another server would.
var reader = cap.Config{Name: "other", Exercises: true}

func TestTheSchemaOfCAPAcceptsEveryDocument(t *testing.T) {
	schema := recordings.Path(t, "feeds/cap/cap12.xsd")
	r := recordedHazards(t)
	entries := append(append(samples(), r.versions...), r.present...)
	dir := t.TempDir()
	files := []string{"--noout", "--schema", schema}
	for i, e := range entries {
		name := filepath.Join(dir, fmt.Sprintf("%d.xml", i))
		if err := os.WriteFile(name, document(t, format.CAP, options(true), e), 0o600); err != nil {
			t.Fatal(err)
		}
		files = append(files, name)
	}
	if len(r.versions) < 500 {
		t.Errorf("only %d recorded versions of hazards", len(r.versions))
	}
	program(t, "xmllint", files...)
}

// Our CAP, read by our reader, has the known data of each recorded hazard.
func TestOurReaderOfCAPReadsTheSameHazards(t *testing.T) {
	for _, e := range samples() {
		t.Run(e.Hazard.Name, func(t *testing.T) { checkReadBack(t, e) })
	}
	t.Run("recorded", func(t *testing.T) {
		r := recordedHazards(t)
		for _, e := range append(r.versions, r.present...) {
			checkReadBack(t, e)
		}
	})
}

// checkReadBack reads the CAP document of an entry and compares the result.
func checkReadBack(t interface {
	Fatalf(string, ...any)
	Errorf(string, ...any)
}, e *format.Entry) {
	h := e.Hazard
	doc, err := write(format.CAP, options(true), e)
	if err != nil {
		t.Fatalf("%v", err)
	}
	got, err := cap.Parse(reader, doc, h.LastUpdate.Add(time.Minute))
	if err != nil || len(got.Rejects) > 0 || len(got.Reports) == 0 {
		t.Fatalf("%s: %v %v, %d reports\n%s", h.Name, err, got.Rejects, len(got.Reports), doc)
	}
	r := got.Reports[len(got.Reports)-1]
	ended := h.Status == hazard.Expired && h.Reason != hazard.EndExpired
	severity := max(h.Severity, hazard.Information)
	name := hazard.CleanLine(h.Name)
	if ended && len(e.Versions) > 1 && (r.Ended != hazard.EndCancelled && r.Ended != hazard.EndAllClear) {
		t.Errorf("%s: ended %q, read as going on", h.Name, h.Reason)
	}
	if r.Type != h.Type || r.Severity != severity || r.Category != h.Category || strings.TrimSuffix(r.Name, "…") != strings.TrimSuffix(name, "…") && len(name) < 300 {
		t.Errorf("%s: read %s %s %s %q, want %s %s %s\n%s", h.Name, r.Type, r.Severity, r.Category, r.Name, h.Type, severity, h.Category, doc)
	}
	start := second(h.Start)
	if !ended && h.End > h.Start && r.Start != start && !(r.Start < start && len(e.Versions) > 1) { // an update may continue a hazard that began earlier
		t.Errorf("%s: start %v, read %v", h.Name, h.Start, r.Start)
	}
	const farAhead = 366 * 24 * time.Hour // beyond this the reader ignores an end
	// Of an unknown sender, an expiry that is not after the time of issue is no end either.
	if sent := h.Updated; h.AutoExpire && !ended && second(h.End) > second(sent) && h.End < sent.Add(farAhead) && second(h.End) > second(h.Start) && (r.End == nil || *r.End != second(h.End)) {
		t.Errorf("%s: end %v, read %v\n%s", h.Name, h.End, r.End, doc)
	}
	if r.Point == nil || math.Abs(r.Point.Lon-h.Longitude)+math.Abs(r.Point.Lat-h.Latitude) > 1e-9 {
		t.Errorf("%s: point %v %v, read %v", h.Name, h.Longitude, h.Latitude, r.Point)
	}
	var want, have []geo.Shape
	for _, role := range []hazard.AreaRole{hazard.AlertArea, hazard.ImpactArea} {
		for _, a := range e.Areas {
			if a.Role == role {
				want = append(want, shape(t, a.Geometry))
			}
		}
		if len(want) > 0 {
			break
		}
	}
	for _, a := range r.Areas {
		have = append(have, shape(t, a.Geometry))
	}
	a, errA := geo.Union(want...)
	b, errB := geo.Union(have...)
	if errA != nil || len(a.Polygons()) == 0 {
		return
	}
	if errB != nil || math.Abs(a.AreaKm2()-b.AreaKm2()) > 1e-6*a.AreaKm2()+0.5 {
		t.Errorf("%s: an area of %v km² was read as one of %v km² (%v)\n%s\n%s", h.Name, a.AreaKm2(), b.AreaKm2(), errB, a.WKT(), b.WKT())
	}
	if w, s, e, n := a.Bounds(); true {
		if w2, s2, e2, n2 := b.Bounds(); [4]float64{w, s, e, n} != [4]float64{w2, s2, e2, n2} {
			t.Errorf("%s: bounds %v %v %v %v were read as %v %v %v %v", h.Name, w, s, e, n, w2, s2, e2, n2)
		}
	}
}

func second(i hazard.Instant) hazard.Instant { return hazard.At(i.Time().Truncate(time.Second)) }

func shape(t interface{ Fatalf(string, ...any) }, text string) geo.Shape {
	s, err := geo.ParseLoose([]byte(text))
	if err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	return s
}

// A second server that reads the CAP of each version in order has the same hazards at the end.
func TestASecondServerThatReadsEveryVersionHasTheSameHazards(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	r := recordedHazards(t)
	s, err := openStore(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	in := app.BuiltIn().Intake(s)
	first := map[string]*format.Entry{}
	for _, e := range r.versions {
		at := e.Hazard.LastUpdate
		got, err := cap.Parse(reader, document(t, format.CAP, options(true), e), at)
		if err != nil || len(got.Rejects) > 0 {
			t.Fatalf("%s: %v %v", e.Hazard.Name, err, got.Rejects)
		}
		for i := range got.Reports { // reports held for people are not part of this test
			got.Reports[i].Suspect = ""
		}
		if _, err := in.Apply(ctx, reader.Name, got, at, fuse.Options{History: true}); err != nil {
			t.Fatal(err)
		}
		if id := e.Hazard.UUID.String(); first[id] == nil {
			first[id] = e
		}
	}
	compared := 0
	for _, e := range r.present {
		h := e.Hazard
		begun := first[h.UUID.String()]
		if begun.Hazard.Status == hazard.Expired { // it had ended when it became known, so a second server need not have it
			continue
		}
		doc, err := cap.Read(document(t, format.CAP, options(true), begun), "")
		if err != nil {
			t.Fatal(err)
		}
		m := doc.Messages[0].Alert
		sent, err := cap.ParseTime(m.Sent)
		if err != nil {
			t.Fatal(err)
		}
		key := fmt.Sprintf("%s,%s,%s", m.Sender, m.Identifier, sent.Time().Format("2006-01-02T15:04:05Z"))
		got, err := s.Hazards.ByUUID(ctx, hazard.EventUUID(reader.Name, key))
		if err != nil {
			t.Errorf("%s: %v", h.Name, err)
			continue
		}
		got = got.ExpireAt(noon)
		compared++
		if got.Type != h.Type || got.Severity != h.Severity || got.Status != h.Status || got.Category != h.Category || got.Name != h.Name {
			t.Errorf("%s is %s %s %s %s, at the second server %s is %s %s %s %s", h.Name, h.Type, h.Severity, h.Status, h.Category, got.Name, got.Type, got.Severity, got.Status, got.Category)
		}
		if second(h.End) != second(got.End) && h.Reason == hazard.EndExpired {
			t.Errorf("%s ended %v, at the second server %v", h.Name, h.End, got.End)
		}
	}
	if compared < 200 {
		t.Errorf("only %d hazards were compared", compared)
	}
}

func TestVersionsAreMessagesOfOneChain(t *testing.T) {
	at := func(minutes int) hazard.Instant { return noon.Add(time.Duration(minutes) * time.Minute) }
	state := func(n int64, updated hazard.Instant, alter func(*hazard.Hazard)) hazard.Change {
		h := *flood(1).Hazard
		h.Version, h.Updated, h.LastUpdate = n, updated, updated
		alter(&h)
		return hazard.Change{Number: n, At: updated, HazardID: 1, Hazard: &h}
	}
	same := func(*hazard.Hazard) {}
	changes := []hazard.Change{
		state(3, at(0), same),
		{Number: 4, HazardID: 1, Product: &hazard.Product{}},
		state(5, at(10), func(h *hazard.Hazard) { h.Severity = hazard.Advisory }),
		state(9, at(10), func(h *hazard.Hazard) { // it expired
			h.Severity, h.Status, h.Reason, h.LastUpdate = hazard.Advisory, hazard.Expired, hazard.EndExpired, h.End
		}),
	}
	want := []format.Version{{Number: 3, Sent: at(0)}, {Number: 5, Sent: at(10)}}
	got := format.Versions(changes)
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("versions %v, want %v", got, want)
	}
	read := func(e *format.Entry) cap.Alert {
		doc, err := cap.Read(document(t, format.CAP, options(true), e), "")
		if err != nil || len(doc.Messages) != 1 {
			t.Fatalf("%v, %d messages", err, len(doc.Messages))
		}
		return doc.Messages[0].Alert
	}
	created := read(&format.Entry{Hazard: changes[0].Hazard, Versions: got[:1]})
	updated := read(&format.Entry{Hazard: changes[2].Hazard, Versions: got})
	expired := read(&format.Entry{Hazard: changes[3].Hazard, Versions: got})
	// Before the store has recorded it, readers see the end as well.
	lazily := read(&format.Entry{Hazard: changes[2].Hazard.ExpireAt(changes[2].Hazard.End), Versions: got})
	triple := created.Sender + "," + created.Identifier + "," + created.Sent
	if created.MsgType != "Alert" || created.References != "" || created.Sent != "2026-09-28T12:00:00-00:00" || created.Sender != "hazardd@alerts.example.org" {
		t.Errorf("the first message is %+v", created)
	}
	if updated.MsgType != "Update" || updated.References != triple || updated.Identifier == created.Identifier {
		t.Errorf("the second message is %+v, the first was %s", updated, triple)
	}
	if fmt.Sprint(expired) != fmt.Sprint(updated) || fmt.Sprint(lazily) != fmt.Sprint(updated) {
		t.Errorf("that the end was reached is a message of its own:\n%+v\n%+v\n%+v", updated, expired, lazily)
	}
	changes[3] = state(9, at(20), func(h *hazard.Hazard) { // an editor undid the end
		h.Status, h.Reason, h.Severity, h.Note = hazard.Expired, hazard.EndRetracted, hazard.Termination, "a drill"
	})
	over := format.Versions(changes)
	cancel := read(&format.Entry{Hazard: changes[3].Hazard, Versions: over})
	if cancel.MsgType != "Cancel" || cancel.References != triple+" "+updated.Sender+","+updated.Identifier+","+updated.Sent || !strings.Contains(cancel.Note, "a drill") {
		t.Errorf("the last message is %+v", cancel)
	}
}

func TestAnExerciseIsNeverActual(t *testing.T) {
	for _, e := range samples() {
		doc := string(document(t, format.CAP, options(true), e))
		if exercise := e.Hazard.Category == hazard.Exercise; strings.Contains(doc, "<status>Exercise<") != exercise || strings.Contains(doc, "<status>Actual<") == exercise {
			t.Errorf("%s of category %s is\n%s", e.Hazard.Name, e.Hazard.Category, doc)
		}
	}
}

// A reader that knows only CAP's own words still derives our level.
func TestTheWordsOfCAPSayOurLevel(t *testing.T) {
	for _, severity := range []hazard.Severity{hazard.Information, hazard.Advisory, hazard.Watch, hazard.Warning} {
		for _, ahead := range []time.Duration{-time.Hour, 20 * time.Minute, 30 * time.Hour} {
			for _, typ := range hazard.Types() {
				e := flood(1, func(e *format.Entry) {
					e.Hazard.Severity, e.Hazard.Type, e.Hazard.Start = severity, typ.ID, noon.Add(ahead)
				})
				doc := strings.ReplaceAll(string(document(t, format.CAP, options(true), e)), "hazardd:", "unknown:")
				got, err := cap.Parse(reader, []byte(doc), noon)
				if err != nil || len(got.Reports) != 1 || got.Reports[0].Severity != severity {
					t.Fatalf("%s %s %v ahead: %v %+v\n%s", typ.ID, severity, ahead, err, got, doc)
				}
			}
		}
	}
}

func TestCAPForbidsSomeCharactersInNames(t *testing.T) {
	for _, address := range []string{"http://127.0.0.1:8080", "https://[2001:db8::1]:8443", "https://a b,c&d<e.example", "not an address", ""} {
		o := options(true)
		o.Base = address
		doc, err := cap.Read(document(t, format.CAP, o, samples()[0]), "")
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{doc.Messages[0].Sender, doc.Messages[0].Identifier} {
			if name == "" || strings.ContainsAny(name, " ,<&\t\n") {
				t.Errorf("of %q came %q", address, name)
			}
		}
	}
}

// Relayed reports are marked as relayed; an editor's hazard is the sender's own.
func TestWhatIsRelayedSaysSo(t *testing.T) {
	for _, tt := range []struct {
		source  string
		sources []string
		want    string
	}{
		{"", nil, ""},
		{"usgs", []string{"usgs"}, "<note>Relayed, and no alert of the sender&#39;s own: taken together from reports of usgs</note>"},
		{"usgs", []string{"gdacs", "usgs"}, "reports of gdacs, usgs</note>"},
	} {
		e := *samples()[0]
		h := *e.Hazard
		h.Source, h.Sources = tt.source, tt.sources
		e.Hazard = &h
		text := string(document(t, format.CAP, options(true), &e))
		if relayed := strings.Contains(text, "Relayed"); relayed != (tt.want != "") || !strings.Contains(text, tt.want) || strings.Contains(text, "<source>") != (tt.source != "") {
			t.Errorf("of %q, %q: %.900s, want %q", tt.source, tt.sources, text, tt.want)
		}
	}
}
