package page

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/google/uuid"

	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/lang/words"
)

func briefOf(t *testing.T, alter func(*Brief)) string {
	t.Helper()
	h := &hazard.Hazard{ID: 7, UUID: uuid.MustParse("0190a0b0-7d5b-7a53-8d5e-0f7c3a1b2c4d"), Name: "Flood", Type: hazard.Flood, Severity: hazard.Watch, Category: hazard.Event,
		Status: hazard.Active, AutoExpire: true, Start: now.Add(-time.Hour), End: now.Add(time.Hour)}
	b := &Brief{Hazard: &Hazard{Now: now, Symbol: func(*hazard.Hazard) string { return "/symbol.svg" }, Hazard: h}, URL: "https://hazardd.example/h/" + h.UUID.String(), Map: Map{Hazard: h}}
	alter(b)
	html, err := b.HTML()
	if err != nil {
		t.Fatal(err)
	}
	return string(html)
}

// A brief gives the name in a source's report only if it differs from the hazard's own.
func TestABriefSaysItsNameOnce(t *testing.T) {
	html := briefOf(t, func(b *Brief) {
		for _, name := range []string{"Flood", "High water"} {
			r := hazard.Report{Source: "nws", Key: name, Name: name, Severity: hazard.Watch, Start: now}
			b.Reports = append(b.Reports, Report{Source: "nws", Event: name, Said: hazard.Derive([]hazard.Report{r}, now)})
		}
	})
	if own, other := strings.Count(html, "<bdi>Flood</bdi>"), strings.Count(html, "<bdi>High water</bdi>"); own != 0 || other != 1 {
		t.Errorf("its own name appears %d times in its reports, the other %d times", own, other)
	}
}

// A brief of a hazard without any data answers each question with "unknown", in each language.
func TestABriefSaysWhatIsNotKnown(t *testing.T) {
	for _, l := range words.All() {
		html := briefOf(t, func(b *Brief) {
			b.Language = l
			b.Hazard.Hazard.Areas = []hazard.AreaRef{{Role: hazard.AlertArea, Digest: "x"}} // without one there is nobody to count
		})
		for _, key := range []string{"briefNoMeasured", "briefNotCounted", "briefNoForecast", "briefNoInstruction", "noDescription", "briefNoSource", "briefWhere", "briefBad", "briefWho", "briefWhen", "briefExpected", "toDo", "briefSources"} {
			if !strings.Contains(html, l.Say(key)) {
				t.Errorf("%s: without %q", l.ID, l.Say(key))
			}
		}
		if !strings.Contains(html, `<html lang="`+l.ID+`" dir="`+l.Dir+`">`) || strings.Contains(html, "{") && strings.Contains(html, "{n}") {
			t.Errorf("%s: %.300s", l.ID, html)
		}
	}
}

func TestABriefSaysWhatIsKnown(t *testing.T) {
	position := func(hours int, kmh float64) hazard.Shape {
		return hazard.Shape{Role: hazard.PositionShape, Forecast: true, From: now.Add(time.Duration(hours) * time.Hour), Band: &hazard.Band{Kind: hazard.Wind, Value: kmh}, Geometry: `{"type":"Point","coordinates":[-87,26.2]}`}
	}
	html := briefOf(t, func(b *Brief) {
		h := b.Hazard.Hazard
		h.Measurements = []hazard.Measurement{{Name: hazard.Wind, Value: 166.68, Source: "nhc"}, {Name: hazard.PagerLevel, Value: 4, Source: "usgs"}}
		h.Texts = []hazard.Text{{Language: "en", Own: true, Instruction: "Leave the coast.", Responses: []string{"Evacuate"}, Contact: "555"}}
		h.Exposure = &hazard.Exposure{Of: h.ExposureKey(), People: &hazard.Estimate{People: 2104512, Low: 1790000, High: 2420000}, Method: "GPW", Year: 2020, Countries: []string{"US"}}
		b.Lands = LandsOf(h, nil)
		b.Sources = []Source{{Name: "nhc", Title: "NHC cyclones", State: "stale", Read: now.Add(-3 * time.Hour)}}
		h.Source = "nhc"
		for i := range 30 {
			b.Map.Shapes = append(b.Map.Shapes, position(3*i-6, 100+float64(i)))
		}
		b.Pictures = []Picture{{Title: "The quay", By: "red", At: now, JPEG: []byte("jpeg")}}
	})
	for _, want := range []string{"167 km/h", "red", "about 2,100,000", "United States", "Leave the area", "Leave the coast.", "555", "out of date", "3 hours ago", "26° 12′ 00″ N, 87° 00′ 00″ W",
		"data:image/jpeg;base64,anBlZw==", "The quay", "https://hazardd.example/h/0190a0b0", "This is what was known at 21 Nov 2026, 06:00 UTC", "cannot be read"} {
		if !strings.Contains(html, want) {
			t.Errorf("without %q", want)
		}
	}
	rows := strings.Count(html, `<td dir="ltr">26°`)
	if first, last := position(3, 103), position(81, 129); rows != briefRows || !strings.Contains(html, at(first.From, now).Words) || !strings.Contains(html, at(last.From, now).Words) {
		t.Errorf("%d forecasts of 27, want %d with the first and the last", rows, briefRows)
	}
	if strings.Contains(html, at(position(-3, 0).From, now).Words+"</time></td>") {
		t.Error("a past time is listed as a forecast")
	}
}

// A brief loads nothing and runs nothing, whatever the name of the hazard.
func TestABriefLoadsNothing(t *testing.T) {
	html := briefOf(t, func(b *Brief) {
		b.Hazard.Hazard.Name, b.Hazard.Hazard.Description = `<script>alert(1)</script>"><img src=x onerror=a>`, `<img src="https://evil.example/x"> </style><script>`
		b.Pictures = []Picture{{Title: `"><script>`, JPEG: []byte("x")}}
	})
	for _, not := range []string{"<script", "<img src=x", "onerror=a>", `<link`, `src="http`, "url(", "@import"} {
		if strings.Contains(html, not) {
			t.Errorf("with %q", not)
		}
	}
}

// The content of a brief is limited, so that it has at most two pages for any hazard.
func TestABriefIsShort(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringOfN(rapid.RuneFrom([]rune("abc \n-地。ع*.https:/")), 0, 6000, -1).Draw(t, "text")
		most := rapid.IntRange(1, 2000).Draw(t, "most")
		short, more := shorten(blocks(text), most)
		letters := 0
		for _, b := range short {
			for _, r := range b.Runs {
				letters += len([]rune(r.Text))
			}
		}
		if letters > most+len(short) {
			t.Errorf("%d letters, want at most %d", letters, most)
		}
		if whole := fmt.Sprint(blocks(text)) == fmt.Sprint(short); whole == more && !(more && letters == 0) {
			t.Errorf("whole %v, but more %v", whole, more)
		}
	})
}
