package main

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/hazardd/hazardd/client"
	"github.com/hazardd/hazardd/wire"
)

func TestTheScreenShowsWhatIsWorstAndFits(t *testing.T) {
	at := time.Date(2026, 11, 21, 6, 0, 0, 0, time.UTC)
	s := &screen{c: &console{now: func() time.Time { return at }, colour: true}, name: "http://127.0.0.1:8080", sources: "ok=1; stale=0", state: "live", hazards: map[string]wire.Hazard{}}
	hazards := func(n int, severity string) {
		for i := range n {
			id := fmt.Sprint(severity, i)
			s.hazards[id] = wire.Hazard{HazardID: int64(i), UUID: id, HazardName: "Flood \x1b[2J" + strings.Repeat("ü", 60), TypeID: "FLOOD", SeverityID: severity, Status: "A", Latitude: 42.36,
				Longitude: -71.06, LastUpdate: client.Digits(at.Add(-time.Duration(i) * time.Minute))}
		}
	}
	hazards(30, "ADVISORY")
	hazards(2, "WARNING")
	hazards(1, "A LATER ONE")
	for i := range 2 * maxLatest {
		h := s.hazards["WARNING0"]
		s.latest = append(s.latest, client.Event{Change: client.Change{Number: int64(i), Type: "hazard.updated", Time: at, Hazard: &h}})
	}
	s.latest = s.latest[:maxLatest]
	sequences := regexp.MustCompile("\x1b\\[[0-9;?]*[A-Za-z]")
	for _, size := range [][2]int{{100, 30}, {40, 12}, {200, 60}, {1, 1}} {
		width, height := size[0], size[1]
		lines := strings.Split(sequences.ReplaceAllString(s.draw(width, height), ""), "\r\n")
		if len(lines) > max(height, 14) { // it shows at least the head, one hazard and the latest changes
			t.Errorf("%d lines on a terminal of %d", len(lines), height)
		}
		for _, l := range lines {
			if utf8.RuneCountInString(l) > max(width, 20) || strings.Contains(l, "\x1b") {
				t.Errorf("%q on a terminal of %d columns", l, width)
			}
		}
		if width < 40 {
			continue
		}
		if !strings.HasPrefix(lines[0], "http://127.0.0.1:8080 · 33 active") || !strings.HasPrefix(lines[3], "WARNING      FLOOD") {
			t.Errorf("%q", lines[:4])
		}
		if size == [2]int{100, 30} && (!strings.HasPrefix(lines[5], "ADVISORY") || !strings.Contains(lines[5], " 42.36   -71.06  ")) {
			t.Errorf("%q", lines[5])
		}
	}
	if text := s.draw(100, 30); !strings.Contains(text, "\x1b[1;31mWARNING") {
		t.Error("a warning is not red")
	}
}
