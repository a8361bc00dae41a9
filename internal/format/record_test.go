package format_test

import (
	"bytes"
	"encoding/xml"
	"strings"
	"testing"

	"github.com/hazardd/hazardd/internal/format"
	"github.com/hazardd/hazardd/internal/hazard"
)

// All formats with fields are written from one record: after the first of them, no other reads the
// areas again, and a change of one hazard makes one record again.
func TestFormatsWithFieldsShareWhatTheyAreWrittenFrom(t *testing.T) {
	first, second := flood(1, area(hazard.AlertArea, "POLYGON((9 53,10 53,10 54,9 53))")), flood(2)
	second.Areas = first.Areas
	c, s := format.NewCache(1<<20), &countingStore{areas: first.Areas}
	read := func(want int) {
		t.Helper()
		for _, f := range []format.Format{format.GeoJSON, format.CSV, format.KML} {
			if got := cached(t, c, s, f, options(false), 2, first.Hazard, second.Hazard); !bytes.Equal(got, document(t, f, options(false), first, second)) {
				t.Errorf("%v is %s", f, got)
			}
		}
		if _, err := c.Row(t.Context(), s, first.Hazard, 2, options(false).Base); err != nil {
			t.Error(err)
		}
		if s.reads != want {
			t.Errorf("the areas were read %d times, want %d", s.reads, want)
		}
	}
	read(2)
	changed := *first.Hazard
	changed.Version++
	changed.Name = "Changed"
	first = &format.Entry{Hazard: &changed, Areas: first.Areas, Products: first.Products}
	read(3)
}

// KML's own escaping is that of encoding/xml.
func TestTextsOfKMLAreEscapedAsXML(t *testing.T) {
	const text = "a <b> & \"c\" 'd'\t\r\n é \U0001f30a ]]>"
	doc := document(t, format.KML, options(false), flood(1, func(e *format.Entry) { e.Hazard.Name = text + "\x01" }))
	var want strings.Builder
	if err := xml.EscapeText(&want, []byte(text)); err != nil {
		t.Fatal(err)
	}
	if !bytes.Contains(doc, []byte("<name>"+want.String()+"</name>")) {
		t.Errorf("%s is not in %s", want.String(), doc)
	}
}
