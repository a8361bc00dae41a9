package format_test

import (
	"bytes"
	"html"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/mmcdole/gofeed"
	"pgregory.net/rapid"

	"github.com/hazardd/hazardd/internal/format"
	"github.com/hazardd/hazardd/internal/hazard"
)

func feedOf(t interface{ Fatalf(string, ...any) }, f format.Format, entries ...*format.Entry) *gofeed.Feed {
	doc, err := write(f, options(false), entries...)
	if err != nil {
		t.Fatalf("%v: %v", f, err)
	}
	feed, err := gofeed.NewParser().Parse(bytes.NewReader(doc))
	if err != nil || feed.FeedType != f.String() || len(feed.Items) != len(entries) {
		t.Fatalf("%v: %v, %+v of %d hazards", f, err, feed, len(entries))
	}
	return feed
}

// plainText returns the text of an item, which is HTML, as a reader shows it. Its only elements are
// breaks.
func plainText(t interface{ Fatalf(string, ...any) }, text string) string {
	text = strings.ReplaceAll(text, "<br/>", "")
	if strings.ContainsAny(text, "<>") {
		t.Fatalf("a text is markup: %q", text)
	}
	return strings.TrimSpace(html.UnescapeString(text))
}

// checkFeeds checks that both feeds have the same content, and that it agrees with the hazards.
func checkFeeds(t interface {
	Fatalf(string, ...any)
	Errorf(string, ...any)
}, entries []*format.Entry) {
	atom, rss := feedOf(t, format.Atom, entries...), feedOf(t, format.RSS, entries...)
	if rss.Title != atom.Title || rss.FeedLink != base+"/hazards/active?f=atom" || rss.Link != base+"/" || rss.UpdatedParsed == nil || !rss.UpdatedParsed.Equal(noon.Time()) {
		t.Errorf("the feed says %q %q %q %v", rss.Title, rss.FeedLink, rss.Link, rss.UpdatedParsed)
	}
	seen := map[string]bool{}
	for i, e := range entries {
		a, r, h := atom.Items[i], rss.Items[i], e.Hazard
		if r.GUID != "urn:uuid:"+h.UUID.String() || r.GUID != a.GUID || seen[r.GUID] || r.Link != base+"/h/"+h.UUID.String() || r.Link != a.Link || r.Title != a.Title {
			t.Errorf("%s: RSS has %q %q %q, Atom %q %q %q", h.Name, r.GUID, r.Link, r.Title, a.GUID, a.Link, a.Title)
		}
		seen[r.GUID] = true
		if r.PublishedParsed == nil || r.UpdatedParsed == nil || r.Extensions["georss"] == nil {
			t.Fatalf("%s: %+v", h.Name, r)
		}
		for what, pair := range map[string][2]any{"published": {*r.PublishedParsed, a.PublishedParsed.Truncate(time.Second)}, "updated": {*r.UpdatedParsed, *a.UpdatedParsed}, "place": {r.Extensions["georss"], a.Extensions["georss"]}} {
			if diff := cmp.Diff(pair[1], pair[0]); diff != "" {
				t.Errorf("%s: %s differs (-Atom +RSS): %s", h.Name, what, diff)
			}
		}
		if got, want := plainText(t, r.Description), strings.TrimSpace(html.UnescapeString(html.EscapeString(a.Description))); strings.ReplaceAll(got, "\r\n", "\n") != strings.ReplaceAll(want, "\r\n", "\n") {
			t.Errorf("%s: the text is %q, want %q", h.Name, got, want)
		}
		if len(r.Categories) != 4 || r.Categories[0] != string(h.Type) || r.Categories[1] != h.Severity.String() || r.Categories[2] != string(h.Category) || r.Categories[3] != string(h.Status) {
			t.Errorf("%s: the categories are %q", h.Name, r.Categories)
		}
		if over := strings.HasPrefix(r.Title, "Ended: "); over && h.Status != hazard.Expired {
			t.Errorf("%s: over is %v, the title %q", h.Name, h.Status, r.Title)
		}
		if strings.HasPrefix(r.Title, "EXERCISE: ") != (h.Category == hazard.Exercise) {
			t.Errorf("%s: %v has the title %q", h.Name, h.Category, r.Title)
		}
	}
}

func TestAReaderFindsInRSSWhatItFindsInAtom(t *testing.T) {
	t.Run("samples", func(t *testing.T) { checkFeeds(t, samples()) })
	t.Run("recorded", func(t *testing.T) { checkFeeds(t, recordedHazards(t).present) })
	t.Run("none", func(t *testing.T) { checkFeeds(t, nil) })
	t.Run("any", func(t *testing.T) {
		rapid.Check(t, func(t *rapid.T) {
			e := genEntry().Draw(t, "entry")
			doc, err := write(format.RSS, options(false), e)
			if err != nil {
				t.Fatalf("%v", err)
			}
			wellFormed(t, doc)
			plainText(t, feedOf(t, format.RSS, e).Items[0].Description)
		})
	})
}

func TestEveryDateOfRSSIsOfRFC822(t *testing.T) {
	doc := string(document(t, format.RSS, options(false), flood(1)))
	for _, want := range []string{
		"<lastBuildDate>Mon, 28 Sep 2026 12:00:00 +0000</lastBuildDate>", "<pubDate>Mon, 28 Sep 2026 11:30:00 +0000</pubDate>", "<atom:updated>2026-09-28T11:50:00.000Z</atom:updated>",
		`<guid isPermaLink="false">urn:uuid:`, `<atom:link rel="self" type="application/rss+xml" href="` + base, "<description>Water over the quay.&lt;br/&gt;&#xA;Keep away.</description>",
	} {
		if !strings.Contains(doc, want) {
			t.Errorf("there is no %s in %s", want, doc)
		}
	}
}

func TestOtherProgramsReadRSS(t *testing.T) {
	entries := samples()
	var names []string
	for _, f := range []format.Format{format.Atom, format.RSS} {
		name := filepath.Join(t.TempDir(), f.FileName("hazards"))
		if err := os.WriteFile(name, document(t, f, options(false), entries...), 0o600); err != nil {
			t.Fatal(err)
		}
		names = append(names, name)
	}
	program(t, "xmllint", "--noout", names[1])
	atom, rss := byGDAL(t, "GeoRSS", format.Atom, nil, entries), byGDAL(t, "GeoRSS", format.RSS, nil, entries)
	if len(atom) != len(entries) || len(rss) != len(entries) {
		t.Fatalf("of %d hazards GDAL reads %d in Atom, %d in RSS", len(entries), len(atom), len(rss))
	}
	for i := range rss {
		sameGeometry(t, entries[i].Hazard.Name, shape(t, string(atom[i].Geometry)), shape(t, string(rss[i].Geometry)))
	}
}

// The cost of 1,000 hazards in both feeds.
func BenchmarkFeeds(b *testing.B) {
	entries := recordedHazards(b).present
	for _, f := range []format.Format{format.Atom, format.RSS} {
		b.Run(f.String(), func(b *testing.B) {
			size := 0
			for b.Loop() {
				var out counted
				w := format.NewWriter(&out, f, options(false))
				for i := range 1000 {
					if err := w.Write(entries[i%len(entries)]); err != nil {
						b.Fatal(err)
					}
				}
				if err := w.Close(); err != nil {
					b.Fatal(err)
				}
				size = int(out)
			}
			b.ReportMetric(float64(size), "bytes")
		})
	}
}

// counted counts the bytes written to it.
type counted int

func (c *counted) Write(p []byte) (int, error) { *c += counted(len(p)); return io.Discard.Write(p) }
