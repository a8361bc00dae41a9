package app_test

import (
	"cmp"
	"encoding/json"
	"log/slog"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/ingest/fuse"
	"github.com/hazardd/hazardd/internal/ingest/sources/nws"
	"github.com/hazardd/hazardd/internal/lang"
	"github.com/hazardd/hazardd/internal/serve/encoded"
	"github.com/hazardd/hazardd/internal/store/view"
	"github.com/hazardd/hazardd/internal/test/recordings"
)

// replay plays recordings as if live: each is imported at the time when it was recorded, and
// hazards end in between.
type replay struct {
	*desk
	now  hazard.Instant
	list map[string]shown // the present active list; nil: not read yet
}

// until lets time pass.
func (r *replay) until(at hazard.Instant) {
	r.t.Helper()
	r.now, r.list = at, nil
	if err := r.intake.PassUntil(r.t.Context(), at); err != nil {
		r.t.Fatal(err)
	}
}

// play imports a recording at its time, and returns its reports.
func (r *replay) play(rec *row) []hazard.Report {
	r.t.Helper()
	r.until(rec.at)
	batch := rec.batch(r.t, r.now)
	r.places(rec.source, &batch, r.now)
	if _, err := r.intake.Apply(r.t.Context(), rec.source, batch, r.now, fuse.Options{}); err != nil {
		r.t.Fatalf("%s: %v", rec.file, err)
	}
	r.list = nil
	return batch.Reports
}

// shown is a hazard of the active list.
type shown struct {
	UUID     string `json:"uuid"`
	Name     string `json:"hazard_Name"`
	Severity string `json:"severity_ID"`
	Status   string `json:"status"`
	End      string `json:"end_Date"`
}

// active returns the present active list as a reader gets it, by uuid. It contains no ended
// hazards.
func (r *replay) active() map[string]shown {
	r.t.Helper()
	if r.list != nil {
		return r.list
	}
	l, err := view.Open(r.t.Context(), r.store.Log, slog.New(slog.DiscardHandler), func() hazard.Instant { return r.now })
	if err != nil {
		r.t.Fatal(err)
	}
	var list []shown
	if err := json.Unmarshal(encoded.NewLists("https://hazards.example.org", encoded.DefaultLimits.Shared).Active(l.View(r.now), view.Filter{}, nil, lang.Wish{}).Bytes(encoded.Identity), &list); err != nil {
		r.t.Fatal(err)
	}
	all := map[string]shown{}
	for _, h := range list {
		end, err := strconv.ParseInt(h.End, 10, 64)
		if err != nil || hazard.Instant(end) <= r.now || h.Status != "A" {
			r.t.Errorf("%s: %s is listed with status %s and end %q", r.now, h.Name, h.Status, h.End)
		}
		all[h.UUID] = h
	}
	r.list = all
	return all
}

// wantActive checks whether the hazard of an event is in the active list.
func (r *replay) wantActive(want bool, event string) {
	r.t.Helper()
	called, err := r.store.Hazards.Called(r.t.Context(), event)
	if err != nil || len(called) != 1 {
		r.t.Errorf("%s: %s is called %d hazards, %v", r.now, event, len(called), err)
		return
	}
	if h := called[0]; r.active()[h.UUID.String()].UUID != "" != want {
		r.t.Errorf("%s: %s, %s (%s %s until %s), is in the active list: %v, want %v", r.now, event, h.Name, h.Status, h.Reason, h.End, !want, want)
	}
}

// moment parses a time.
func moment(t testing.TB, text string) hazard.Instant {
	t.Helper()
	at, err := time.Parse("2006-01-02T15:04:05Z", text)
	if err != nil {
		t.Fatal(err)
	}
	return hazard.At(at)
}

// recordedBetween lists the readable recordings of a period, in order of time.
func recordedBetween(t *testing.T, from, to hazard.Instant) (list []*row) {
	t.Helper()
	_, rows := readTable(t)
	for _, r := range rows {
		if r.source != "-" && !r.want.refused && from <= r.at && r.at < to {
			list = append(list, r)
		}
	}
	slices.SortStableFunc(list, func(a, b *row) int { return cmp.Compare(a.at, b.at) })
	return list
}

// TestTwoWeeksOfAugustAreReplayedAsIfLive plays the recordings of 8 to 23 August 2026: tornado
// warnings in Canada, a day of hourly alerts in the United States, and a storm of GDACS and of the
// hurricane center.
func TestTwoWeeksOfAugustAreReplayedAsIfLive(t *testing.T) {
	r := &replay{desk: newDesk(t)}
	const (
		storm   = "PHFO.TR.W.3001.2026" // a warning without end, renewed in 140 messages
		lala    = "gdacs:TC1001303"
		sameOne = "nhc:cp012026"
	)
	looks := []struct {
		at     string
		wanted map[string]bool // event → whether it is in the active list
	}{
		{"2026-08-15T12:08:00Z", map[string]bool{"nws:" + storm: true}},
		{"2026-08-16T04:56:00Z", map[string]bool{"nws:" + storm: true}},
		{"2026-08-18T00:00:00Z", map[string]bool{"nws:" + storm: false}},
		{"2026-08-19T18:09:00Z", map[string]bool{lala: true}},
		{"2026-08-20T15:00:00Z", map[string]bool{lala: false}}, // a day after the last report of GDACS
		{"2026-08-22T12:01:00Z", map[string]bool{lala: true, sameOne: true, "nhc:cp022026": false}},
		{"2026-08-22T23:59:30Z", map[string]bool{lala: true, sameOne: true, "nhc:cp022026": true}},
		{"2026-08-23T08:59:59Z", map[string]bool{lala: true, sameOne: true, "nhc:cp022026": true}},
		{"2026-08-23T09:00:00Z", map[string]bool{lala: false, sameOne: false, "nhc:cp022026": false}},
	}
	look := func(until hazard.Instant) {
		for len(looks) > 0 && moment(t, looks[0].at) < until {
			r.until(moment(t, looks[0].at))
			for event, want := range looks[0].wanted {
				r.wantActive(want, event)
			}
			looks = looks[1:]
		}
	}
	alerts := 0
	tornado := map[string]string{} // chain → event
	list := recordedBetween(t, moment(t, "2026-08-08T00:00:00Z"), moment(t, "2026-08-23T00:00:00Z"))
	for i, rec := range list {
		if rec.file == "nws/every-event-name.json" { // not a real recording
			continue
		}
		look(rec.at)
		reports := r.play(rec)
		if rec.source == nws.Name {
			alerts += r.checkAlerts(rec)
		}
		if chain, _, ok := strings.Cut(rec.file, "-0"); ok && rec.source == "cap" {
			if tornado[chain] == "" {
				tornado[chain] = "cap:" + reports[0].Key
			}
			last := i+1 == len(list) || !slices.ContainsFunc(list[i+1:], func(o *row) bool { return strings.HasPrefix(o.file, chain+"-") })
			r.wantActive(!last, tornado[chain])
		}
		r.active()
	}
	look(hazard.MaxInstant)
	if len(tornado) != 6 || alerts < 1000 {
		t.Errorf("%d tornadoes and %d alerts, want 6 and more than 1000", len(tornado), alerts)
	}
	r.checkEnds()
}

// checkEnds checks that the log is in order of time, and that each expiry was recorded at its time.
func (r *replay) checkEnds() {
	r.t.Helper()
	changes, err := r.store.Log.Since(r.t.Context(), 0, 1_000_000)
	if err != nil {
		r.t.Fatal(err)
	}
	ends, before := 0, hazard.MinInstant
	for _, c := range changes {
		if c.At < before {
			r.t.Errorf("change %d is of %s, the one before of %s", c.Number, c.At, before)
		}
		before = c.At
		if c.Kind == hazard.HazardExpired && c.Hazard.Reason == hazard.EndExpired && c.Source == "" {
			ends++
			if c.At != c.Hazard.End {
				r.t.Errorf("%s ended at %s, recorded as of %s", c.Hazard.Name, c.Hazard.End, c.At)
			}
		}
	}
	if ends < 100 {
		r.t.Errorf("%d ends, want most of the hazards'", ends)
	}
}

// vtecString matches the string that identifies an event of the weather service: action, office,
// phenomenon, significance, number.
var vtecString = regexp.MustCompile(`/O\.(\w{3})\.(\w{4})\.(\w\w)\.(\w)\.(\d{4})\.\w+-\w+/`)

// checkAlerts compares the active list with the alerts of a recording. An event that is active
// according to a message must be there. An event must not be there if all its messages say that it
// was cancelled or replaced. It returns the number of comparisons.
func (r *replay) checkAlerts(rec *row) (compared int) {
	r.t.Helper()
	var feed struct {
		Features []struct {
			Properties struct {
				Expires, Ends *time.Time
				Parameters    struct{ VTEC []string }
			}
		}
	}
	if err := json.Unmarshal(recordings.Read(r.t, "feeds/"+rec.file), &feed); err != nil {
		r.t.Fatal(err)
	}
	goesOn := map[string]bool{}
	for _, f := range feed.Features {
		p := f.Properties
		if len(p.Parameters.VTEC) != 1 {
			continue
		}
		m := vtecString.FindStringSubmatch(p.Parameters.VTEC[0])
		if m == nil || m[4] == "A" && (m[3] == "TO" || m[3] == "SV") { // a convective watch belongs to several offices
			continue
		}
		end := cmp.Or(p.Ends, p.Expires)
		key := "nws:" + strings.Join(append(m[2:6:6], "2026"), ".")
		over := m[1] == "CAN" || m[1] == "UPG" || m[1] == "EXP"
		if !over && hazard.At(*end) > r.now {
			goesOn[key] = true
		} else if over && m[1] != "EXP" {
			goesOn[key] = goesOn[key] || false
		}
	}
	for event, want := range goesOn {
		r.wantActive(want, event)
	}
	return len(goesOn)
}
