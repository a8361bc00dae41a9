package format_test

import (
	"bytes"
	"context"
	"reflect"
	"slices"
	"testing"

	"github.com/hazardd/hazardd/internal/format"
	"github.com/hazardd/hazardd/internal/hazard"
)

// countingStore counts its reads.
type countingStore struct {
	areas []hazard.Area
	reads int
}

func (s *countingStore) Areas(context.Context, []hazard.AreaRef) ([]hazard.Area, error) {
	s.reads++
	return s.areas, nil
}

func (s *countingStore) HazardChanges(context.Context, int64, int64, int) ([]hazard.Change, error) {
	return nil, nil
}

func cached(t testing.TB, c *format.Cache, s format.Store, f format.Format, o format.Options, products int, hazards ...*hazard.Hazard) []byte {
	t.Helper()
	var out bytes.Buffer
	w := format.NewWriter(&out, f, o)
	for _, h := range hazards {
		if err := c.Write(t.Context(), w, s, h, products); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// An unchanged hazard is encoded once in each format, for all readers and all lists.
func TestHazardsThatHaveNotChangedAreNotEncodedAgain(t *testing.T) {
	first, second := flood(1, area(hazard.AlertArea, "POLYGON((9 53,10 53,10 54,9 53))")), flood(2)
	for _, name := range format.Names() {
		f, _ := format.Parse(name)
		t.Run(name, func(t *testing.T) {
			c, s := format.NewCache(1<<20), &countingStore{areas: first.Areas}
			second.Areas = s.areas
			want := document(t, f, options(false), first, second)
			for range 3 {
				if got := cached(t, c, s, f, options(false), 2, first.Hazard, second.Hazard); !bytes.Equal(got, want) {
					t.Errorf("it is\n%s\nand without what is kept\n%s", got, want)
				}
			}
			if got := cached(t, c, s, f, options(false), 2, second.Hazard); !bytes.Equal(got, document(t, f, options(false), second)) {
				t.Errorf("alone it is %s", got)
			}
			if f != format.JSON && f != format.NDJSON && s.reads != 2 {
				t.Errorf("the areas of 2 hazards were read %d times", s.reads)
			}
		})
	}
}

// So is an unchanged row, and it is not the row of another state.
func TestRowsOfHazardsThatHaveNotChangedAreNotMadeAgain(t *testing.T) {
	entry := flood(1, area(hazard.AlertArea, "POLYGON((9 53,10 53,10 54,9 53))"))
	c, s := format.NewCache(1<<20), &countingStore{areas: entry.Areas}
	const base = "https://hazards.example"
	row := func(h *hazard.Hazard) *format.Row {
		t.Helper()
		r, err := c.Row(t.Context(), s, h, 2, base)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	described := func(r *format.Row) any {
		t.Helper()
		values, err := r.Values()
		if err != nil {
			t.Fatal(err)
		}
		return values[slices.IndexFunc(format.Columns(), func(c format.Column) bool { return c.Name == "description" })]
	}
	first, same := row(entry.Hazard), row(entry.Hazard)
	if !reflect.DeepEqual(first, same) || s.reads != 1 {
		t.Errorf("after %d reads of its areas, the row is\n%v\nnot\n%v", s.reads, same, first)
	}
	if got := described(first); got != entry.Hazard.Description {
		t.Errorf("the description is %q, not %q", got, entry.Hazard.Description)
	}
	redacted := *entry.Hazard
	redacted.Description = "(redacted)"
	if got := row(&redacted); described(got) != redacted.Description || got.Hazard != &redacted {
		t.Errorf("after a redaction it is %q", described(got))
	}
	if list := cached(t, c, s, format.GeoJSON, options(false), 2, entry.Hazard); !bytes.Contains(list, []byte("FeatureCollection")) {
		t.Errorf("beside rows, a list is\n%s", list)
	}
}

// A cached fragment of a hazard is not shown for another state of it.
func TestWhatIsKeptIsOfTheSameState(t *testing.T) {
	c, s := format.NewCache(1<<20), &countingStore{}
	before := flood(1).Hazard
	cached(t, c, s, format.CSV, options(false), 2, before)
	for name, alter := range map[string]func(*hazard.Hazard, *format.Options, *int){
		"a later change": func(h *hazard.Hazard, _ *format.Options, _ *int) { h.Version++; h.Severity = hazard.Watch },
		"it ended by itself": func(h *hazard.Hazard, _ *format.Options, _ *int) {
			h.Status, h.Reason = hazard.Expired, hazard.EndExpired
		},
		"a text was redacted":    func(h *hazard.Hazard, _ *format.Options, _ *int) { h.Description = "(redacted)" },
		"a comment was redacted": func(h *hazard.Hazard, _ *format.Options, _ *int) { h.Comment = "" },
		"another area": func(h *hazard.Hazard, _ *format.Options, _ *int) {
			h.Areas = []hazard.AreaRef{{Role: hazard.AlertArea, Digest: "x"}}
		},
		"another audience": func(_ *hazard.Hazard, _ *format.Options, products *int) { *products = 3 },
		"another address":  func(_ *hazard.Hazard, o *format.Options, _ *int) { o.Base += "/key/k" },
	} {
		t.Run(name, func(t *testing.T) {
			h, o, products := *before, options(false), 2
			alter(&h, &o, &products)
			reads := s.reads
			got := cached(t, c, s, format.CSV, o, products, &h)
			if want := document(t, format.CSV, o, &format.Entry{Hazard: &h, Products: products}); !bytes.Equal(got, want) {
				t.Errorf("it is\n%s\nnot\n%s", got, want)
			}
			if s.reads != reads+1 {
				t.Error("the cached fragment of another state is shown")
			}
		})
	}
}
