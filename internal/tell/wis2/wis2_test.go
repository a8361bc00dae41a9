package wis2

import (
	"context"
	"crypto/sha512"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"

	"github.com/hazardd/hazardd/internal/auth"
	"github.com/hazardd/hazardd/internal/format/publisher"
	"github.com/hazardd/hazardd/internal/geo"
	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/store"
	"github.com/hazardd/hazardd/internal/store/follow"
	"github.com/hazardd/hazardd/internal/store/view"
	"github.com/hazardd/hazardd/internal/tell/publish"
	"github.com/hazardd/hazardd/internal/test/datadir"
)

const (
	topic   = "origin/a/wis2/ke-kmd/data/core/weather/advisories-warnings"
	dataset = "urn:wmo:md:ke-kmd:cap-alerts"
	org     = 7
)

// bed is a store with an organization that publishes, and a broker in memory.
type bed struct {
	*testing.T
	store *store.Store
	topic string

	mu    sync.Mutex
	down  bool
	tried []wnm // also what the broker did not accept
	taken []wnm
}

// wnm holds what tests read of a notification.
type wnm struct {
	ID         string          `json:"id"`
	ConformsTo []string        `json:"conformsTo"`
	Type       string          `json:"type"`
	Geometry   json.RawMessage `json:"geometry"`
	Properties struct {
		PubTime   time.Time `json:"pubtime"`
		DataID    string    `json:"data_id"`
		Metadata  string    `json:"metadata_id"`
		Start     time.Time `json:"start_datetime"`
		End       time.Time `json:"end_datetime"`
		Integrity struct{ Method, Value string }
		Content   *struct {
			Encoding, Value string
			Size            int
		} `json:"content"`
	} `json:"properties"`
	Links []struct {
		Href, Rel, Type string
		Length          int
	} `json:"links"`
}

func (b *bed) Publish(_ context.Context, to string, payload []byte) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	n := check(b, to, b.topic, payload)
	b.tried = append(b.tried, n)
	if b.down {
		return errors.New("down")
	}
	b.taken = append(b.taken, n)
	return nil
}

// check holds a payload against the requirements of WNM 1.0, which the faults name.
func check(t testing.TB, to, want string, payload []byte) (n wnm) {
	if to != want {
		t.Errorf("topic %s, expected %s", to, want)
	}
	if err := json.Unmarshal(payload, &n); err != nil {
		t.Errorf("%v: %s", err, payload)
	}
	p := &n.Properties
	var area struct {
		Type        string
		Coordinates json.RawMessage
	}
	var point [2]float64
	var polygon [][][2]float64
	for name, ok := range map[string]bool{
		"message_size": len(payload) <= 8192,
		"conformance":  slices.Contains(n.ConformsTo, "http://wis.wmo.int/spec/wnm/1/conf/core"),
		"type":         n.Type == "Feature",
		"identifier":   uuid.Validate(n.ID) == nil,
		"data_id":      p.DataID != "" && !strings.Contains(p.DataID, " "),
		"metadata_id":  p.Metadata == dataset,
		"pubtime":      !p.PubTime.IsZero() && p.PubTime.Location() == time.UTC,
		"temporal":     !p.Start.IsZero() && !p.End.Before(p.Start) && p.Start.Location() == time.UTC && p.End.Location() == time.UTC,
		"integrity":    p.Integrity.Method == "sha512",
		"links":        len(n.Links) == 1 && n.Links[0].Rel == "canonical" && n.Links[0].Type == "application/cap+xml" && n.Links[0].Length > 0,
		"content":      p.Content == nil || p.Content.Encoding == "utf-8" && p.Content.Size == len(p.Content.Value) && p.Content.Size <= 4096,
		"geometry": string(n.Geometry) == "null" || json.Unmarshal(n.Geometry, &area) == nil &&
			(area.Type == "Point" && json.Unmarshal(area.Coordinates, &point) == nil ||
				area.Type == "Polygon" && json.Unmarshal(area.Coordinates, &polygon) == nil && len(polygon) == 1 && len(polygon[0]) >= 4 &&
					polygon[0][0] == polygon[0][len(polygon[0])-1]),
	} {
		if !ok {
			t.Errorf("requirement %s: %s", name, payload)
		}
	}
	if c := p.Content; c != nil {
		if sum := sha512.Sum512([]byte(c.Value)); p.Integrity.Value != base64.StdEncoding.EncodeToString(sum[:]) || n.Links[0].Length != c.Size {
			t.Errorf("the content is not what the checksum and the length say: %s", payload)
		}
	}
	return n
}

// bubble runs a test in a synctest bubble.
func bubble(t *testing.T, f func(t *testing.T, b *bed)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(26*365*24*time.Hour - time.Since(time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC))) // to a year in which hazards are not too old
		s, err := store.Open(t.Context(), datadir.Empty(t), "sqlite:?synchronous=off")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		})
		b := &bed{T: t, store: s, topic: topic}
		b.profile("")
		f(t, b)
	})
}

// profile sets how the organization publishes.
func (b *bed) profile(members string) {
	b.Helper()
	p, err := publisher.Parse(org, "Met", []byte(`{"sender":"alerts@met.example.org"`+members+`}`))
	if err == nil {
		err = b.store.Publishing.Set(b.Context(), p, auth.Audit{})
	}
	if err != nil {
		b.Fatal(err)
	}
}

func now() hazard.Instant { return hazard.At(time.Now()) }

// run announces messages as a new process until stop is called, which waits for the end.
func (b *bed) run() (stop func()) {
	b.Helper()
	quiet := slog.New(slog.NewTextHandler(b.Output(), nil))
	live, err := view.Open(b.Context(), b.store.Log, quiet, now)
	if err != nil {
		b.Fatal(err)
	}
	tail := follow.New(b.store.Log, live, now, follow.Memory, quiet)
	s := New(Config{Store: b.store, Tail: tail, Messages: publish.New(b.store, nil), Number: live.Number, Broker: b, Topic: b.topic, Dataset: dataset,
		BaseURL: "https://hazards.example", Now: time.Now, Logger: quiet})
	ctx, cancel := context.WithCancel(b.Context())
	ended := make(chan error, 2)
	go func() { ended <- tail.Run(ctx) }()
	go func() { ended <- s.Run(ctx) }()
	return sync.OnceFunc(func() {
		cancel()
		if err := errors.Join(<-ended, <-ended); err != nil {
			b.Error(err)
		}
	})
}

// save writes a state of a hazard of the organization.
func (b *bed) save(id int64, f func(*hazard.Hazard)) *hazard.Hazard {
	b.Helper()
	var h *hazard.Hazard
	_, err := b.store.Write(b.Context(), now(), store.Origin{Admin: true, User: "ann"}, func(tx *store.Tx) error {
		var before *hazard.Hazard
		h = &hazard.Hazard{UUID: uuid.New(), Name: "River Tana", Type: hazard.Flood, Severity: hazard.Warning, Category: hazard.Event, AutoExpire: true,
			Status: hazard.Active, Longitude: 40, Latitude: -2, OrgID: org, Created: now(), Start: now(), End: now().Add(6 * time.Hour)}
		if id > 0 {
			var err error
			if before, err = tx.Hazard(id); err != nil {
				return err
			}
			h = new(*before)
		}
		h.LastUpdate, h.Updated = now(), now()
		f(h)
		return tx.SaveHazard(h, before)
	})
	if err != nil {
		b.Fatal(err)
	}
	return h
}

func described(words string) func(*hazard.Hazard) {
	return func(h *hazard.Hazard) { h.Description = words }
}

func over(h *hazard.Hazard) { h.Status, h.Reason, h.End = hazard.Expired, hazard.EndAllClear, now() }

func settle() { time.Sleep(3 * time.Second); synctest.Wait() }

func (b *bed) count() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.taken)
}

// kinds returns the kinds of the CAP messages that the broker has accepted.
func (b *bed) kinds() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	var all []string
	for _, n := range b.taken {
		_, rest, _ := strings.Cut(n.Properties.Content.Value, "<msgType>")
		kind, _, _ := strings.Cut(rest, "<")
		all = append(all, kind)
	}
	return strings.Join(all, " ")
}

func TestEachPublishedMessageIsAnnouncedInOrder(t *testing.T) {
	bubble(t, func(t *testing.T, b *bed) {
		stop := b.run()
		defer stop()
		h := b.save(0, described("Rising."))
		settle()
		b.save(h.ID, described("Still rising."))
		b.save(h.ID, over)
		settle()
		if got := b.kinds(); got != "Alert Update Cancel" {
			t.Fatalf("announced %q", got)
		}
		for _, n := range b.taken {
			if u, err := url.Parse(n.Links[0].Href); err != nil || u.Scheme != "https" || !strings.HasPrefix(u.Path, "/cap/"+h.UUID.String()) {
				t.Errorf("link %s", n.Links[0].Href)
			}
			if !strings.HasPrefix(n.Properties.DataID, "ke-kmd/FLOOD/"+h.UUID.String()) {
				t.Errorf("data_id %s", n.Properties.DataID)
			}
		}
		stop()
		defer b.run()()
		settle()
		if b.count() != 3 {
			t.Errorf("after a restart %d are announced, expected none again", b.count()-3)
		}
	})
}

// Messages wait for a broker that is away, and each attempt has the same id.
func TestAMessageWaitsForABrokerThatIsAway(t *testing.T) {
	bubble(t, func(t *testing.T, b *bed) {
		b.down = true
		stop := b.run()
		h := b.save(0, described("Rising."))
		b.save(h.ID, described("Still rising."))
		time.Sleep(time.Hour)
		stop() // the process ends meanwhile
		b.mu.Lock()
		tried := len(b.tried)
		b.down = false
		b.mu.Unlock()
		if tried < 12 || tried > 17 { // after 5 s, a minute, and then every five, each a tenth more or less
			t.Errorf("%d attempts in an hour", tried)
		}
		defer b.run()()
		time.Sleep(6 * time.Minute)
		synctest.Wait()
		if got := b.kinds(); got != "Alert Update" {
			t.Fatalf("announced %q", got)
		}
		for _, n := range b.tried[:tried] {
			if n.ID != b.taken[0].ID {
				t.Errorf("an attempt at the Alert has the id %s, then %s", n.ID, b.taken[0].ID)
			}
		}
		if b.taken[0].ID == b.taken[1].ID {
			t.Error("two messages have one id")
		}
	})
}

func TestWhatHasEndedIsNotAnnouncedAsNew(t *testing.T) {
	bubble(t, func(t *testing.T, b *bed) {
		b.down = true
		defer b.run()()
		b.save(0, func(h *hazard.Hazard) { h.End = now().Add(30 * time.Minute) })
		ended := b.save(0, func(h *hazard.Hazard) { h.End = now().Add(time.Hour) })
		time.Sleep(20 * time.Minute)
		b.save(ended.ID, over)
		time.Sleep(time.Hour)
		b.mu.Lock()
		b.down = false
		b.mu.Unlock()
		time.Sleep(10 * time.Minute)
		synctest.Wait()
		if got := b.kinds(); got != "Cancel" {
			t.Errorf("announced %q, expected the Cancel alone", got)
		}
	})
}

func TestTestsAndExercisesStayOffTheTopicsOfRealData(t *testing.T) {
	for _, centre := range []string{"ke-kmd", "test-kmd"} {
		bubble(t, func(t *testing.T, b *bed) {
			b.topic = strings.Replace(topic, "ke-kmd", centre, 1)
			b.profile(`,"test":true`)
			defer b.run()()
			b.save(0, func(*hazard.Hazard) {})
			b.save(0, func(h *hazard.Hazard) { h.Category = hazard.Exercise })
			settle()
			want := map[string]int{"ke-kmd": 0, "test-kmd": 2}[centre]
			if b.count() != want {
				t.Errorf("%s: %d are announced, expected %d", centre, b.count(), want)
			}
		})
	}
}

// A first profile publishes what was there before, so that is announced too. Other organizations'
// hazards are not.
func TestAProfilePublishesEarlierHazardsOfItsOrganizationAlone(t *testing.T) {
	bubble(t, func(t *testing.T, b *bed) {
		defer b.run()()
		b.save(0, func(h *hazard.Hazard) { h.OrgID = 8 })
		settle()
		if b.count() != 0 {
			t.Fatal("a hazard of an organization that does not publish is announced")
		}
		p, err := publisher.Parse(8, "Fire", []byte(`{"sender":"alerts@fire.example.org"}`))
		if err == nil {
			err = b.store.Publishing.Set(t.Context(), p, auth.Audit{})
		}
		if err != nil {
			t.Fatal(err)
		}
		settle()
		if got := b.kinds(); got != "Alert" {
			t.Errorf("announced %q", got)
		}
	})
}

func TestAreasFitIntoANotification(t *testing.T) {
	ring := func(corners int, lon float64) string {
		var all []string
		for i := range corners {
			p := geo.Circle(lon, -2, 100_000).Polygons()[0][0]
			c := p[i*(len(p)-1)/corners]
			all = append(all, fmt.Sprintf("[%v,%v]", c[0], c[1]))
		}
		return "[[" + strings.Join(append(all, all[0]), ",") + "]]"
	}
	h := &hazard.Hazard{Longitude: 40, Latitude: -2, Placed: hazard.PlaceExact}
	for name, tt := range map[string]struct{ area, want string }{
		"no area is a point":             {"", `{"type":"Point","coordinates":[40,-2]}`},
		"a triangle is its outline":      {`{"type":"Polygon","coordinates":[[[40,-2],[41,-2],[41,-1],[40,-2]]]}`, `"Polygon"`},
		"two polygons are their box":     {`{"type":"MultiPolygon","coordinates":[[[[10,1],[11,1],[11,2],[10,1]]],[[[20,3],[21,3],[21,4],[20,3]]]]}`, `{"type":"Polygon","coordinates":[[[10,1],[21,1],[21,4],[10,4],[10,1]]]}`},
		"many corners are at most fewer": {`{"type":"Polygon","coordinates":` + ring(60, 40) + `}`, `"Polygon"`},
	} {
		var areas []hazard.Area
		if tt.area != "" {
			areas = []hazard.Area{{Role: hazard.AlertArea, Geometry: tt.area}}
		}
		p, err := publisher.Parse(org, "Met", []byte(`{"sender":"alerts@met.example.org"}`))
		if err != nil {
			t.Fatal(err)
		}
		got := string(geometry(p, h, areas))
		if !strings.Contains(got, tt.want) || len(got) > 4000 {
			t.Errorf("%s: %d bytes, %s", name, len(got), got)
		}
	}
	if got := string(geometry(nil, &hazard.Hazard{Placed: hazard.PlaceCountry}, nil)); got != "null" {
		t.Errorf("somewhere in a country is %s", got)
	}
}

func TestTopicAndDatasetAreOfOneCentre(t *testing.T) {
	for _, ok := range [][2]string{{topic, dataset}, {"origin/a/wis2/test-kmd/data/core/hydrology", "urn:wmo:md:test-kmd:x"}} {
		if err := Check(ok[0], ok[1]); err != nil {
			t.Error(err)
		}
	}
	for _, bad := range [][2]string{{"", dataset}, {topic + "/#", dataset}, {topic + "/", dataset}, {"cache/a/wis2/ke-kmd/data/core/weather", dataset}, {topic, ""}, {topic, "urn:wmo:md:ke-other:x"},
		{"origin/a/wis2/KE-KMD/data/core/weather", dataset}} {
		if Check(bad[0], bad[1]) == nil {
			t.Errorf("%q with %q is accepted", bad[0], bad[1])
		}
	}
}

func TestPasswordsCrossTheNetworkEncryptedOnly(t *testing.T) {
	for _, ok := range []string{"mqtts://a:b@broker.example.org", "mqtts://broker.example.org:8884/", "mqtt://127.0.0.1:1883", "mqtt://localhost", "mqtt://[::1]"} {
		if _, err := NewMQTT(ok, "", nil); err != nil {
			t.Errorf("%s: %v", ok, err)
		}
	}
	for _, bad := range []string{"", "mqtt://broker.example.org", "mqtt://10.0.0.1", "https://broker.example.org", "mqtts://", "mqtts://a/topic", "broker.example.org:8883"} {
		if _, err := NewMQTT(bad, "", nil); err == nil {
			t.Errorf("%s is accepted", bad)
		}
	}
}
