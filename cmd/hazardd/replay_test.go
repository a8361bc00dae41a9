package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/hazardd/hazardd/internal/app"
	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/ingest/poll"
	"github.com/hazardd/hazardd/internal/ingest/replay"
	"github.com/hazardd/hazardd/internal/ingest/sources/nws"
	"github.com/hazardd/hazardd/internal/store"
	"github.com/hazardd/hazardd/internal/test"
	"github.com/hazardd/hazardd/internal/test/recordings"
)

// answer is the answer of a server from a moment on.
type answer struct {
	from    time.Time
	payload []byte
}

// recordedDay returns 15 recordings of the weather service's list of 15 August 2026. In between,
// the list lacks most of its records twice, for minutes and for seconds; once it is cut off, and
// once it has an unreadable record. All day it contains an alert that has no end and is not
// renewed.
func recordedDay(t *testing.T) (day []answer) {
	t.Helper()
	dir := recordings.Path(t, "feeds/nws")
	files, err := filepath.Glob(filepath.Join(dir, "active-2026081*.json"))
	if err != nil || len(files) != 15 {
		t.Fatalf("%d recordings, %v", len(files), err)
	}
	for i, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var doc struct {
			T        int64             `json:"t"`
			Features []json.RawMessage `json:"features"`
		}
		if err := json.Unmarshal(text, &doc); err != nil {
			t.Fatal(err)
		}
		at := time.UnixMilli(doc.T).UTC()
		doc.Features = append(doc.Features, json.RawMessage(unrenewed))
		list := func(features []json.RawMessage) []byte { // in the form that the service publishes
			text, err := json.Marshal(map[string]any{
				"type": "FeatureCollection", "title": "Current watches, warnings, and advisories", "features": features,
			})
			if err != nil {
				t.Fatal(err)
			}
			return text
		}
		whole := list(doc.Features)
		day = append(day, answer{at, whole})
		switch i {
		case 3:
			day = append(day, answer{at.Add(5 * time.Minute), list(doc.Features[len(doc.Features)*3/4:])}, answer{at.Add(9 * time.Minute), whole})
		case 6:
			day = append(day, answer{at.Add(5 * time.Minute), whole[:len(whole)/2]}, answer{at.Add(7 * time.Minute), whole})
		case 8:
			bad := slices.Clone(doc.Features)
			bad[0] = bytes.Replace(bad[0], []byte(`"sent":"2026`), []byte(`"sent":"soon`), 1)
			day = append(day, answer{at.Add(5 * time.Minute), list(append(bad[:5:5], bad[8:]...))})
		case 11:
			day = append(day, answer{at.Add(5 * time.Minute), list(doc.Features[:1])}, answer{at.Add(5*time.Minute + 30*time.Second), whole})
		}
	}
	return day
}

// server returns answers over HTTP as time passes, and records when it first returned each.
type server struct {
	day   []answer
	given []answer
}

func (s *server) RoundTrip(r *http.Request) (*http.Response, error) {
	say := func(code int, body []byte, header http.Header) (*http.Response, error) {
		return &http.Response{StatusCode: code, ProtoMajor: 1, ProtoMinor: 1, Header: header, Body: io.NopCloser(bytes.NewReader(body)),
			ContentLength: int64(len(body)), Request: r}, nil
	}
	if r.URL.String() != nws.Source().Feeds[0].URL {
		return say(http.StatusNotFound, nil, http.Header{})
	}
	now := time.Now()
	i := len(s.day) - 1
	for s.day[i].from.After(now) {
		i--
	}
	tag := fmt.Sprintf("%q", fmt.Sprint(i))
	header := http.Header{"Etag": {tag}, "Content-Type": {"application/geo+json"}}
	if r.Header.Get("If-None-Match") == tag {
		return say(http.StatusNotModified, nil, header)
	}
	if n := len(s.given); n == 0 || !bytes.Equal(s.given[n-1].payload, s.day[i].payload) {
		s.given = append(s.given, answer{now, s.day[i].payload})
	}
	return say(http.StatusOK, s.day[i].payload, header)
}

// change is a change that both ways must make.
type change struct {
	Number  int64
	At      string
	Kind    hazard.ChangeKind
	Hazard  hazard.Hazard
	Product hazard.Product
}

func changesOf(t *testing.T, s *store.Store, until hazard.Instant) (list []change) {
	t.Helper()
	all, err := s.Log.Since(context.Background(), 0, 1_000_000)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range all {
		if c.At <= until {
			one := change{Number: c.Number, At: c.At.String(), Kind: c.Kind}
			if c.Hazard != nil {
				one.Hazard = *c.Hazard
			}
			if c.Product != nil {
				one.Product = *c.Product
			}
			list = append(list, one)
		}
	}
	return list
}

// TestAReplayGivesWhatPollingGave polls a day of recordings with a fake clock from a server that
// returns them as time passes. It then replays what the server returned, with import --list: the
// changes are the same.
func TestAReplayGivesWhatPollingGave(t *testing.T) {
	test.NoRace(t)
	test.Slow(t)
	day := recordedDay(t)
	last := day[len(day)-1].from
	var given []answer
	var polled []change
	at := &globals{Data: filepath.Join(t.TempDir(), "data")}
	at.Database = "sqlite:" + at.Data + "/day.db?synchronous=off"
	if err := os.Mkdir(at.Data, 0o700); err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		given, polled = pollDay(t, at, day)
	})
	wantSameAgain(t, at, len(given))
	dir := t.TempDir()
	var list strings.Builder
	for i, a := range given {
		name := fmt.Sprintf("%02d.json", i)
		if err := os.WriteFile(filepath.Join(dir, name), a.payload, 0o600); err != nil {
			t.Fatal(err)
		}
		fmt.Fprintln(&list, a.from.UTC().Format(time.RFC3339Nano), "nws", name)
	}
	file := filepath.Join(dir, "list.txt")
	if err := os.WriteFile(file, []byte(list.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	g := &globals{Data: filepath.Join(dir, "data"), Database: "sqlite:" + filepath.Join(dir, "replay.db") + "?synchronous=off"}
	c := &console{out: io.Discard, err: io.Discard, now: time.Now}
	if err := os.Mkdir(g.Data, 0o700); err != nil {
		t.Fatal(err)
	}
	// The error is about the list that was cut off, and about the unreadable record.
	if err := (&importCmd{List: file, knownFlags: knownFlags{Response: true}}).Run(t.Context(), c, g); err == nil || !strings.Contains(err.Error(), "1 of ") {
		t.Errorf("error %v, want one of the list that was cut off", err)
	}
	var replayed []change
	if err := g.withStore(t.Context(), func(s *store.Store) error {
		replayed = changesOf(t, s, hazard.MaxInstant)
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	withdrawn := 0
	for i := range max(len(polled), len(replayed)) {
		if i == len(polled) || i == len(replayed) {
			t.Fatalf("%d changes polled, %d replayed", len(polled), len(replayed))
		}
		if diff := gocmp.Diff(polled[i], replayed[i]); diff != "" {
			t.Fatalf("change %d (-polled +replayed):\n%s", i+1, diff)
		}
		if polled[i].Hazard.Reason == hazard.EndWithdrawn {
			withdrawn++
		}
	}
	t.Logf("%d answers until %s, %d changes, %d of them of hazards that ended because the list dropped them", len(given), last, len(polled), withdrawn)
	if withdrawn < 20 {
		t.Errorf("%d hazards ended by absence: the day does not test it", withdrawn)
	}
}

// wantSameAgain repeats every decision of a day from the evidence, then once more with one changed
// decision, and checks the evidence.
func wantSameAgain(t *testing.T, g *globals, given int) {
	t.Helper()
	again := func() (out bytes.Buffer, err error) {
		c := &console{out: &out, err: io.Discard, json: true, now: time.Now}
		err = (&replayCmd{knownFlags: knownFlags{Response: true}}).Run(t.Context(), c, g)
		return out, err
	}
	var res replay.Result
	out, err := again()
	if err := errors.Join(err, json.Unmarshal(out.Bytes(), &res)); err != nil {
		t.Fatalf("%v\n%s", err, out.Bytes())
	}
	if res.Differ+res.Lost+res.ByPeople+res.Older > 0 || res.Same < 600 || res.Changes < 1500 || res.Receipts < given {
		t.Errorf("replayed %+v", res)
	}
	t.Logf("%d receipts, %d changes of %d hazards and products", res.Receipts, res.Changes, res.Same)
	if err := g.withStore(t.Context(), func(s *store.Store) error {
		use, err := s.Evidence.Usage(t.Context())
		t.Logf("%d payloads of %d bytes in %d", use.Payloads, use.Bytes, use.Kept)
		if use.Payloads > int64(given) || use.Kept > use.Bytes/5 {
			t.Errorf("kept %+v of %d answers", use, given)
		}
		list, errL := s.Log.Since(t.Context(), 500, 1)
		if err := errors.Join(err, errL); err != nil {
			return err
		}
		_, err = s.Write(t.Context(), list[0].At, store.Origin{Source: nws.Name}, func(tx *store.Tx) error { // a different decision
			h, err := tx.Hazard(list[0].HazardID)
			if err != nil {
				return err
			}
			other := *h
			other.Name += " (as decided by another program)"
			return tx.SaveHazard(&other, h)
		})
		return err
	}); err != nil {
		t.Fatal(err)
	}
	out, err = again()
	if err == nil || !strings.HasPrefix(err.Error(), "1 of ") {
		t.Errorf("one decision differs: %v", err)
	}
	if err := json.Unmarshal(out.Bytes(), &res); err != nil || len(res.Differences) != 1 || !strings.Contains(res.Differences[0].What, "does not have this change") {
		t.Errorf("differences %+v, %v", res.Differences, err)
	}
}

// pollDay polls a day. It returns the server's answers, and the changes up to the last answer.
func pollDay(t *testing.T, g *globals, day []answer) ([]answer, []change) {
	time.Sleep(time.Until(day[0].from))
	s, err := store.Open(t.Context(), g.Data, g.Database)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	keeper, err := g.evidence(s, app.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer keeper.Close()
	known := app.BuiltIn()
	src, err := known.Find(nws.Name)
	if err != nil {
		t.Fatal(err)
	}
	in := known.Intake(s)
	from := &server{day: day}
	p, err := poll.New(poll.Config{Store: s, Intake: in, Sources: []poll.Source{src}, Evidence: keeper, Transport: from, Version: "1", Contact: "ops@example.org",
		Random: func() float64 { return 0 }, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- p.Run(ctx) }()
	for end := day[len(day)-1].from.Add(90 * time.Second); time.Now().Before(end); { // as the service passes time
		now := hazard.At(time.Now())
		wait := time.Second
		next, any, err := s.Hazards.NextMoment(ctx)
		switch {
		case err != nil:
			t.Fatal(err)
		case any && next <= now:
			if err := in.Pass(ctx, now); err != nil {
				t.Fatal(err)
			}
			continue
		case any:
			wait = min(wait, next.Time().Sub(now.Time()))
		}
		time.Sleep(wait)
	}
	stop()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	slices.SortStableFunc(from.given, func(a, b answer) int { return cmp.Compare(a.from.UnixNano(), b.from.UnixNano()) })
	return from.given, changesOf(t, s, hazard.At(from.given[len(from.given)-1].from))
}
