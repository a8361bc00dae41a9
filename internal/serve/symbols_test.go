package serve_test

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"image/png"
	"io"
	"strings"
	"sync"
	"testing"

	"github.com/hazardd/hazardd/internal/atlas/symbol"
	"github.com/hazardd/hazardd/internal/test"
)

func TestEverySymbolIsServedInBothFormsWithoutAToken(t *testing.T) {
	test.NoRace(t)
	s := start(t)
	for i, y := range symbol.All() {
		address := fmt.Sprintf("/symbols/%s/%s/%s", y.Type, y.Category, y.Severity)
		svg := s.do("", "GET", address+".svg", nil)
		if svg.Status != 200 || svg.Header.Get("Content-Type") != "image/svg+xml" {
			t.Fatalf("%s.svg: %d %s %.200s", address, svg.Status, svg.Header.Get("Content-Type"), svg.Body)
		}
		for d := xml.NewDecoder(bytes.NewReader(svg.Body)); ; {
			if _, err := d.Token(); err == io.EOF {
				break
			} else if err != nil {
				t.Fatalf("%s.svg: %v", address, err)
			}
		}
		if !test.OneIn(7, i) { // the tests of the package symbol draw all
			continue
		}
		pic := s.do("", "GET", address+".png?size=24", nil)
		if pic.Status != 200 || pic.Header.Get("Content-Type") != "image/png" {
			t.Fatalf("%s.png: %d %s %.200s", address, pic.Status, pic.Header.Get("Content-Type"), pic.Body)
		}
		if c, err := png.DecodeConfig(bytes.NewReader(pic.Body)); err != nil || c.Width != 24 || c.Height != 24 {
			t.Errorf("%s.png?size=24: %v, %v", address, c, err)
		}
	}
}

func TestASymbolIsKeptForEverUnderItsVersionOnly(t *testing.T) {
	s := start(t)
	for name, tt := range map[string]struct{ query, cache string }{
		"this version":    {"?v=" + symbol.Version, "public, max-age=31536000, immutable"},
		"no version":      {"", "public, max-age=86400"},
		"another version": {"?v=00000000", "public, max-age=86400"},
	} {
		t.Run(name, func(t *testing.T) {
			for _, file := range []string{"WARNING.svg", "WARNING.png"} {
				address := "/symbols/FLOOD/EVENT/" + file + tt.query
				a := s.do("", "GET", address, nil)
				if got := a.Header.Get("Cache-Control"); a.Status != 200 || got != tt.cache {
					t.Errorf("%s: %d, Cache-Control %q, want %q", address, a.Status, got, tt.cache)
				}
				again := s.do("", "GET", address, nil, "If-None-Match", a.Header.Get("Etag"))
				if again.Status != 304 || again.Header.Get("Cache-Control") != tt.cache || len(again.Body) != 0 {
					t.Errorf("%s asked again: %d, Cache-Control %q", address, again.Status, again.Header.Get("Cache-Control"))
				}
				if vary := a.Header.Get("Vary"); strings.Contains(vary, "Authorization") {
					t.Errorf("%s: Vary %q, but the answer is the same for all", address, vary)
				}
				if head := s.do("", "HEAD", address, nil); head.Status != 200 || len(head.Body) != 0 {
					t.Errorf("HEAD %s: %d, %d bytes", address, head.Status, len(head.Body))
				}
			}
		})
	}
}

func TestAPNGHasTheSizeAskedFor(t *testing.T) {
	s := start(t)
	for query, want := range map[string]int{"": 64, "?size=16": 16, "?size=33": 33, "?size=512": 512} {
		a := s.do("", "GET", "/symbols/TSUNAMI/EXERCISE/WATCH.png"+query, nil)
		if c, err := png.DecodeConfig(bytes.NewReader(a.Body)); err != nil || c.Width != want || c.Height != want {
			t.Errorf("%q: %v, %v; want %d pixels", query, c, err, want)
		}
	}
}

func TestASymbolThatIsNoneSaysWhatThereIs(t *testing.T) {
	s := start(t)
	for name, tt := range map[string]struct {
		path   string
		status int
		says   []string
	}{
		"type":              {"/symbols/SNOW/EVENT/WARNING.svg", 404, []string{`"SNOW"`, "type-id", "WINTERSTORM"}},
		"type in small":     {"/symbols/flood/EVENT/WARNING.svg", 404, []string{`"flood"`, "FLOOD"}},
		"category":          {"/symbols/FLOOD/DRILL/WARNING.svg", 404, []string{`"DRILL"`, "category-id", "EXERCISE"}},
		"severity":          {"/symbols/FLOOD/EVENT/RED.svg", 404, []string{`"RED"`, "severity-id", "TERMINATION"}},
		"all three at once": {"/symbols/SNOW/DRILL/RED.svg", 404, []string{`"SNOW"`, `"DRILL"`, `"RED"`}},
		"form":              {"/symbols/FLOOD/EVENT/WARNING.gif", 404, []string{`"gif"`, "svg", "png"}},
		"no form":           {"/symbols/FLOOD/EVENT/WARNING", 404, []string{"svg", "png"}},
		"too small":         {"/symbols/FLOOD/EVENT/WARNING.png?size=15", 400, []string{"size", `"15"`, "16", "512"}},
		"too large":         {"/symbols/FLOOD/EVENT/WARNING.png?size=513", 400, []string{"size", `"513"`, "16", "512"}},
		"no number":         {"/symbols/FLOOD/EVENT/WARNING.png?size=large", 400, []string{"size", `"large"`}},
		"empty size":        {"/symbols/FLOOD/EVENT/WARNING.png?size=", 400, []string{"size", `""`}},
		"size of an SVG":    {"/symbols/FLOOD/EVENT/WARNING.svg?size=64", 400, []string{"size", "v"}},
		"another parameter": {"/symbols/FLOOD/EVENT/WARNING.png?colour=red", 400, []string{"colour", "size"}},
	} {
		t.Run(name, func(t *testing.T) {
			a := s.do("", "GET", tt.path, nil)
			wantProblem(t, a, tt.status)
			for _, want := range tt.says {
				if !strings.Contains(strings.ReplaceAll(string(a.Body), `\"`, `"`), want) {
					t.Errorf("%s does not name %s", a.Body, want)
				}
			}
		})
	}
}

// Requests of a flood for many different sizes are answered or refused for a while. Normal requests
// work after it.
func TestAFloodOfSizesOfSymbolsIsSurvived(t *testing.T) {
	test.SeldomButRaced(t)
	s := start(t)
	var wg sync.WaitGroup
	var mu sync.Mutex
	seen := map[int]int{}
	for i := range 200 {
		wg.Go(func() {
			a := s.do("", "GET", fmt.Sprintf("/symbols/FLOOD/EVENT/WARNING.png?size=%d", 16+i), nil)
			mu.Lock()
			defer mu.Unlock()
			seen[a.Status]++
			if a.Status == 503 && a.Header.Get("Retry-After") == "" {
				t.Error("503 without Retry-After")
			}
		})
	}
	wg.Wait()
	if seen[200]+seen[503] != 200 || seen[200] == 0 {
		t.Errorf("answers by status: %v", seen)
	}
	if a := s.do("", "GET", "/symbols/FLOOD/EVENT/WARNING.png", nil); a.Status != 200 {
		t.Errorf("after the flood: %d", a.Status)
	}
}
