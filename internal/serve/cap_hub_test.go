package serve_test

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/mmcdole/gofeed"

	"github.com/hazardd/hazardd/internal/app"
	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/serve/route"
	"github.com/hazardd/hazardd/internal/store"
	"github.com/hazardd/hazardd/internal/test"
)

// many writes hazards of organizations: one transaction creates them, one updates some, and one
// ends some.
func (w *world) many(now time.Time, list []*hazard.Hazard, updated, ended int) {
	w.t.Helper()
	write := func(at time.Time, f func(*store.Tx) error) {
		w.t.Helper()
		last, err := w.Store.Write(w.t.Context(), hazard.ClockFunc(func() hazard.Instant { return hazard.At(at) }), store.Origin{User: "red", Orgs: []int64{w.RedCross, w.FireBrigade}}, f)
		if err != nil {
			w.t.Fatal(err)
		}
		w.settle(last)
	}
	write(now, func(tx *store.Tx) error {
		for _, h := range list {
			if err := tx.SaveHazard(h, nil); err != nil {
				return err
			}
		}
		return nil
	})
	write(now, func(tx *store.Tx) error {
		for i, before := range list[:updated] {
			before, err := tx.HazardByUUID(before.UUID)
			if err != nil {
				return err
			}
			h := *before
			h.LastUpdate, h.Updated = tx.Now(), tx.Now()
			if h.Description = "updated"; i < ended {
				h.Status, h.Reason, h.End = hazard.Expired, hazard.EndAllClear, max(tx.Now(), h.Start)
			}
			if err := tx.SaveHazard(&h, before); err != nil {
				return err
			}
		}
		return nil
	})
}

// The readers below implement the documented behavior of public hubs, and reject what those would
// reject.

// hubOfIFRC reads a feed like the IFRC Alert Hub. The id of an entry is the address of the alert,
// and an alert is not read twice. It keeps Actual alerts with a block that has not expired.
type hubOfIFRC struct {
	w     *world
	known map[string]capAlert
	now   time.Time
}

func (h *hubOfIFRC) poll(f capFeed) (kept int) {
	h.w.t.Helper()
	for _, e := range f.Entries {
		if expires, err := time.Parse(time.RFC3339, e.Expires); err != nil || expires.Before(h.now) {
			continue
		}
		if _, ok := h.known[e.ID]; ok {
			continue
		}
		m, _ := h.w.message("", e.ID)
		if m.Status != "Actual" {
			continue
		}
		for _, in := range m.Info {
			if expires, err := time.Parse(time.RFC3339, in.Expires); err != nil || expires.Before(h.now) || in.Event == "" || in.Urgency == "" || in.Severity == "" || in.Certainty == "" || len(in.Area) == 0 {
				continue
			}
			for _, p := range in.Area[0].Polygon { // "lat,lon lat,lon", separated by single spaces
				for pair := range strings.SplitSeq(p, " ") {
					lat, lon, _ := strings.Cut(pair, ",")
					if _, err := strconv.ParseFloat(lat, 64); err != nil {
						h.w.t.Errorf("%s: %v", e.ID, err)
					}
					if _, err := strconv.ParseFloat(lon, 64); err != nil {
						h.w.t.Errorf("%s: %v", e.ID, err)
					}
				}
			}
			if _, ok := h.known[e.ID]; !ok {
				kept++
			}
			h.known[e.ID] = m
		}
	}
	return kept
}

// rulesOfGoogle returns violations of Google Public Alerts' requirements for a message beyond the
// schema, and of its strong recommendations.
func rulesOfGoogle(m *capAlert) (faults []string) {
	bad := func(rule string, broken bool) {
		if broken {
			faults = append(faults, rule)
		}
	}
	for _, in := range m.Info {
		bad("event is missing or has 35 characters or more", in.Event == "" || len([]rune(in.Event)) >= 35)
		bad("urgency, severity or certainty is missing", in.Urgency == "" || in.Severity == "" || in.Certainty == "")
		bad("urgency or severity is Unknown", in.Urgency == "Unknown" || in.Severity == "Unknown")
		bad("expires is missing", in.Expires == "")
		bad("description is missing", in.Description == "")
		bad("contact or web is missing", in.Contact == "" || in.Web == "")
		bad("instruction without responseType, or none", m.MsgType != "Cancel" && (in.Instruction == "" || len(in.Response) == 0))
		for _, a := range in.Area {
			bad("areaDesc is missing", a.Desc == "")
			bad("nothing says where", len(a.Polygon)+len(a.Circle) == 0)
			for _, c := range a.Circle {
				_, radius, _ := strings.Cut(c, " ")
				r, err := strconv.ParseFloat(radius, 64)
				bad("a circle without radius", err != nil || r <= 0)
			}
			for _, p := range a.Polygon {
				points := strings.Fields(p)
				bad("a polygon that is open or too short", len(points) < 4 || points[0] != points[len(points)-1])
				bad("more than six decimals", regexp.MustCompile(`\.\d{7}`).MatchString(p))
			}
		}
	}
	bad("no block", len(m.Info) == 0)
	return faults
}

// atomOf checks a feed against the requirements of RFC 4287 for its elements.
func atomOf(t *testing.T, path string, text []byte) {
	t.Helper()
	var f struct {
		XMLName xml.Name   `xml:"http://www.w3.org/2005/Atom feed"`
		ID      []string   `xml:"http://www.w3.org/2005/Atom id"`
		Title   []string   `xml:"http://www.w3.org/2005/Atom title"`
		Updated []string   `xml:"http://www.w3.org/2005/Atom updated"`
		Author  []struct{} `xml:"http://www.w3.org/2005/Atom author"`
		Links   []struct {
			Rel  string `xml:"rel,attr"`
			Href string `xml:"href,attr"`
		} `xml:"http://www.w3.org/2005/Atom link"`
		Entries []struct {
			ID      []string `xml:"http://www.w3.org/2005/Atom id"`
			Title   []string `xml:"http://www.w3.org/2005/Atom title"`
			Updated []string `xml:"http://www.w3.org/2005/Atom updated"`
			Name    []string `xml:"http://www.w3.org/2005/Atom author>name"`
			Links   []struct {
				Rel string `xml:"rel,attr"`
			} `xml:"http://www.w3.org/2005/Atom link"`
		} `xml:"http://www.w3.org/2005/Atom entry"`
	}
	if err := xml.Unmarshal(text, &f); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	rel := map[string]int{}
	for _, l := range f.Links {
		rel[l.Rel]++
	}
	if len(f.ID) != 1 || len(f.Title) != 1 || len(f.Updated) != 1 || len(f.Author) != 1 || rel["self"] != 1 || slices.Max([]int{rel["next"], rel["prev-archive"], rel["current"], 0}) > 1 {
		t.Errorf("%s: the feed has %+v %v", path, f.ID, rel)
	}
	seen := map[string]bool{}
	for _, e := range f.Entries {
		if len(e.ID) != 1 || len(e.Title) != 1 || e.Title[0] == "" || len(e.Updated) != 1 || len(e.Name) != 1 || len(e.Links) != 1 || e.Links[0].Rel != "alternate" || seen[e.ID[0]] {
			t.Errorf("%s: an entry has %+v", path, e)
		}
		if _, err := time.Parse(time.RFC3339, e.Updated[0]); err != nil {
			t.Errorf("%s: %v", path, err)
		}
		seen[e.ID[0]] = true
	}
}

// X1, X2: hubs and feed readers accept 60 alerts and 2,500 hazards of two organizations under three
// profiles, in two languages.
func TestHubsReadWhatIsPublished(t *testing.T) {
	test.NoRace(t)
	test.Seldom(t)
	s := start(t, openTo, func(c *app.Config) { c.PublicLimits = route.PublicLimits{Rate: -1, Requests: -1} })
	now := time.Now()
	instructions := []any{map[string]any{"language": "en", "text": "Listen to the radio.", "response_type": []string{"Monitor"}}, map[string]any{"language": "ar", "text": "استمع إلى الراديو"}}
	red, fire := digits(s.RedCross), digits(s.FireBrigade)
	s.publish(red, plainProfile("profile", "google", "languages", []string{"en", "ar"}, "instructions", instructions))
	s.publish(fire, plainProfile("sender", "fire@example.org", "profile", "ipaws", "event_codes", []any{map[string]any{"type_ID": "FLOOD", "name": "SAME", "value": "FLW"}},
		"area_codes", []any{map[string]any{"name": "SAME", "value": "006037"}}))
	var list []*hazard.Hazard
	types := hazard.Types()
	for i := range 2560 {
		org, end := s.RedCross, now.Add(6*time.Hour)
		if i%2 == 1 {
			org = s.FireBrigade
		}
		at := hazard.At(now.Add(-time.Minute))
		h := &hazard.Hazard{UUID: uuid.New(), Name: fmt.Sprintf("Hazard %d <of> \"many\" & more", i), Type: types[i%len(types)].ID, Severity: hazard.Severity(2 + i%4), Category: hazard.Event, Status: hazard.Active,
			AutoExpire: i%3 > 0, Start: at, End: hazard.At(end), Created: at, LastUpdate: at, Updated: at, Creator: "red", OrgID: org, Longitude: float64(i%360 - 180), Latitude: float64(i%170 - 85)}
		if i%5 == 0 {
			h.Texts = []hazard.Text{{Language: "en", Own: true}, {Language: "ar", Name: "خطر", Description: "وصف"}}
		}
		list = append(list, h)
	}
	s.many(now, list, 60, 10)
	s.publish(red, plainProfile("profile", "plain", "languages", []string{"en"})) // the third profile; published messages stay

	// All archives, from the newest message to the first.
	var pages []capFeed
	for path := "/cap/feed.atom"; path != ""; {
		a := s.do("", "GET", path, nil)
		atomOf(t, path, a.Body)
		f := s.feed("", path)
		pages = append(pages, f)
		if f.link("next") != f.link("prev-archive") {
			t.Errorf("%s has the next link %s, but the prev-archive link %s", path, f.link("next"), f.link("prev-archive"))
		}
		if path = f.link("prev-archive"); path != "" {
			path = s.below(path)
		}
	}
	hub := &hubOfIFRC{s, map[string]capAlert{}, now}
	entries := 0
	for _, f := range pages {
		entries += len(f.Entries)
		hub.poll(f)
	}
	if entries != 2620 || len(hub.known) != 2620 || len(pages) < 2 {
		t.Fatalf("%d entries on %d pages, the hub keeps %d; want 2620", entries, len(pages), len(hub.known))
	}
	named := map[string]string{}
	kinds := map[string]int{}
	var some [][]byte
	for address, m := range hub.known {
		named[m.Sender+","+m.Identifier+","+m.Sent] = address
		kinds[m.MsgType]++
		faults := rulesOfGoogle(&m)
		if m.Sender == "fire@example.org" { // the profile for IPAWS has no instruction here
			faults = slices.DeleteFunc(faults, func(f string) bool { return strings.HasPrefix(f, "instruction") })
			if m.Code != "IPAWSv1.0" || len(m.Info[0].Area[0].Geocode) != 1 {
				t.Errorf("%s does not follow IPAWS: %+v", address, m)
			}
		}
		if len(faults) > 0 {
			t.Errorf("%s: %v", address, faults)
		}
		if len(some) < 200 || m.MsgType != "Alert" {
			some = append(some, s.do("", "GET", s.below(address), nil).Body)
		}
	}
	if fmt.Sprint(kinds) != "map[Alert:2560 Cancel:10 Update:50]" {
		t.Errorf("the messages are %v", kinds)
	}
	for address, m := range hub.known {
		for ref := range strings.FieldsSeq(m.References) {
			if named[ref] == "" {
				t.Errorf("%s references %s, which cannot be fetched", address, ref)
			}
		}
	}
	schemaOfCAP(t, some)

	// A reader that polls only the first page sees a later update, and reads nothing twice.
	h := s.made("red", "/hazards", flood())
	if a := s.do("red", "PATCH", "/hazards/"+h.UUID, `{"severity_ID":"WARNING"}`); a.Status != 200 {
		t.Fatal(a.Status)
	}
	if n := hub.poll(s.feed("", "/cap/feed.atom")); n != 2 {
		t.Errorf("the hub sees %d new messages, want 2", n)
	}
	for _, path := range []string{"/cap/feed.rss", "/cap/feed.atom", "/cap/feed.rss?archive=0&org=" + fire} {
		a := s.do("", "GET", path, nil)
		f, err := gofeed.NewParser().Parse(bytes.NewReader(a.Body))
		if err != nil || len(f.Items) == 0 || len(a.Body) > 900_000 {
			t.Fatalf("%s: %v, %d bytes", path, err, len(a.Body))
		}
		for _, item := range f.Items {
			if item.GUID != item.Link || item.Title == "" || item.PublishedParsed == nil && item.UpdatedParsed == nil {
				t.Errorf("%s: %+v", path, item)
			}
		}
	}
}
