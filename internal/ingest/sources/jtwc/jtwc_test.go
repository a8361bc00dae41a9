package jtwc

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/hazardd/hazardd/internal/ingest/source"
	"github.com/hazardd/hazardd/internal/test"
	"github.com/hazardd/hazardd/internal/test/recordings"
	"github.com/hazardd/hazardd/internal/test/sourcetest"
)

var laws = sourcetest.Source{
	Parse: Parse, File: "jtwc/jtwc-abpw.txt", At: "2026-08-09T04:00:00Z", Record: regexp.MustCompile(`(?s)\(\d\) AT \d{2}AUG.*?FURTHER\s+DETAILS\.`),
}

func TestLaws(t *testing.T) { sourcetest.Laws(t, laws) }

func FuzzParse(f *testing.F) {
	sourcetest.Fuzz(f, laws, index(ocean("NWPAC-NIO-WARNINGS", surigae, polo)), text("TYPHOON 25W (SURIGAE)", "271200Z --- NEAR 25.9N 129.1E", "125"),
		"ABPW10 PGTW 090300 AT 09AUG26 0000Z, TYPHOON 12W (DOLPHIN) WAS LOCATED NEAR 27.8N 123.2E, MAXIMUM SUSTAINED SURFACE WINDS WERE ESTIMATED AT 70 KNOTS//")
}

func TestRecordedTexts(t *testing.T) {
	test.NoRace(t)
	for _, tt := range []struct {
		file, now string
		want      []string // key, level, name, wind, start, parts
		cut       bool
	}{
		{"jtwc-abpw.txt", "2026-08-09T04:00:00Z", []string{
			"wp142026 WATCH Tropical Storm Chan-hom, 45 kt, 2026-08-09T00:00 at 151 32.4 advisory/202608090000",
			"wp122026 WARNING Typhoon Dolphin, 70 kt, 2026-08-09T00:00 at 123.2 27.8 advisory/202608090000",
			"wp132026 ADVISORY Tropical Depression Kujira, 25 kt, 2026-08-09T00:00 at 141.5 22.1 advisory/202608090000"}, false},
		{"jtwc-abio-busy.txt", "2026-08-09T04:00:00Z", nil, false},
		{"jtwc-abio-quiet.txt", "2026-08-09T04:00:00Z", nil, false},
		{"wtpn31-20260927-excerpt.txt", "2026-09-27T16:00:00Z", []string{"wp252026 WARNING Typhoon Surigae, 125 kt, 2026-09-27T12:00 at 129.1 25.9 warning/018"}, true},
		{"pdc-raw/46.1504363613592.txt", "2017-09-02T15:10:00Z", []string{
			"wp182017 WATCH Tropical Storm Mawar, 45 kt, 2017-09-02T12:00 at 117.3 21.6 warning/008", "wp182017 track of 5 warning/008/track"}, false},
		{"pdc-raw/50.1518879259127.txt", "2018-02-17T15:10:00Z", []string{
			"sh092018 WATCH Tropical Cyclone Gita, 60 kt, 2018-02-17T12:00 at 164.7 -25.5 warning/035", "sh092018 track of 7 warning/035/track"}, false},
		{"pdc-raw/56.1515574477858.txt", "2018-01-10T09:10:00Z", []string{
			"sh042018 WATCH Tropical Cyclone Irving, 45 kt, 2018-01-10T06:00 at 68.4 -27.5 warning/018", "sh042018 track of 4 warning/018/track"}, false},
		{"pdc-raw/60.1512032293781.txt", "2017-11-30T09:10:00Z", []string{
			"io032017 WATCH Tropical Cyclone 03B, 50 kt, 2017-11-30T06:00 at 76.6 7.8 warning/003", "io032017 track of 8 warning/003/track"}, false},
	} {
		b, err := Parse(recordings.Read(t, "feeds/jtwc/"+tt.file), sourcetest.At(tt.now))
		bad, cut := errors.AsType[*source.PayloadError](err)
		if cut = cut && bad.Cut; cut != tt.cut || err != nil && !cut || len(b.Rejects) > 0 {
			t.Errorf("%s: %v, rejects %+v", tt.file, err, b.Rejects)
		}
		if got := rejects(b); !slices.Equal(got, tt.want) {
			t.Errorf("%s:\ngot  %q\nwant %q", tt.file, got, tt.want)
		}
		if b.Lasting != nil || b.Whole {
			t.Errorf("%s: a text proves the absence of storms", tt.file)
		}
	}
}

// rejects returns short descriptions of the reports of a batch.
func rejects(b source.Batch) (all []string) {
	for i := range b.Reports {
		r := &b.Reports[i]
		if len(r.Areas) > 0 {
			all = append(all, r.Key+" track of "+string(rune('0'+strings.Count(r.Areas[0].Geometry, "],[")+1))+" "+r.Part)
			continue
		}
		_, wind, _ := strings.Cut(r.Description, "sustained winds: ")
		wind, _, _ = strings.Cut(wind, " (")
		all = append(all, r.Key+" "+r.Severity.String()+" "+r.Name+", "+wind+", "+r.Start.Time().Format("2006-01-02T15:04")+" at "+
			strings.Trim(strings.Join(strings.Fields(fmt.Sprint(*r.Point)), " "), "{}&")+" "+r.Part)
	}
	return all
}

// text returns a warning.
func text(storm, where, knots string) string {
	return "WTPN31 PGTW 271500\nMSGID/GENADMIN/JOINT TYPHOON WRNCEN PEARL HARBOR HI//\nRMKS/\n1. " + storm + " WARNING NR 018\n   WARNING POSITION:\n   " + where +
		"\n   MAX SUSTAINED WINDS - " + knots + " KT, GUSTS 150 KT\n   12 HRS, VALID AT:\n   280000Z --- 27.0N 130.8E\nREMARKS:\nNEXT WARNINGS AT 272100Z.//\nNNNN\n"
}

func TestAWarningIsReadAsFarAsItCanBe(t *testing.T) {
	now := sourcetest.At("2026-09-27T16:00:00Z")
	for name, tt := range map[string]struct {
		payload, want, reject string
	}{
		"good":                     {text("TYPHOON 25W (SURIGAE)", "271200Z --- NEAR 25.9N 129.1E", "125"), "wp252026 WARNING Typhoon Surigae", ""},
		"over the antimeridian":    {text("TROPICAL CYCLONE 09P (GITA)", "271200Z --- NEAR 25.9S 179.1W", "040"), "sh092027 WATCH Tropical Cyclone Gita", ""},
		"last month":               {text("TYPHOON 25W (SURIGAE)", "281200Z --- NEAR 25.9N 129.1E", "125"), "wp252026 WARNING Typhoon Surigae", ""},
		"of another center":        {text("HURRICANE 17E (POLO)", "271200Z --- NEAR 15.9N 129.1W", "125"), "", ""},
		"of the other center once": {text("TYPHOON 01C (LALA)", "271200Z --- NEAR 25.9N 179.1E", "125"), "cp012026 WARNING Typhoon Lala", ""},
		"a disturbance":            {text("TROPICAL DEPRESSION 92W (INVEST)", "271200Z --- NEAR 15.9N 129.1E", "025"), "", ""},
		"no position":              {text("TYPHOON 25W (SURIGAE)", "UNKNOWN", "125"), "", "WARNING POSITION"},
		"off the Earth":            {text("TYPHOON 25W (SURIGAE)", "271200Z --- NEAR 95.9N 129.1E", "125"), "", "not on Earth"},
		"no wind":                  {strings.Replace(text("TYPHOON 25W (SURIGAE)", "271200Z --- NEAR 25.9N 129.1E", "125"), "125 KT", "MUCH", 1), "", "wind"},
		"an impossible day":        {text("TYPHOON 25W (SURIGAE)", "411200Z --- NEAR 25.9N 129.1E", "125"), "", "41"},
		"a formation alert":        {"WTIO21 PGTW 271730 SUBJ/TROPICAL CYCLONE FORMATION ALERT (INVEST 92W)// RMKS/ NONE.//", "", ""},
		"with a byte order mark":   {"\ufeff" + text("TYPHOON 25W (SURIGAE)", "271200Z --- NEAR 25.9N 129.1E", "125"), "wp252026 WARNING Typhoon Surigae", ""},
	} {
		t.Run(name, func(t *testing.T) {
			b, err := Parse([]byte(tt.payload), now)
			if err != nil {
				t.Fatal(err)
			}
			if got := strings.Join(rejects(b), ""); !strings.HasPrefix(got, tt.want) || (got == "") != (tt.want == "") {
				t.Errorf("got %q, want %q", got, tt.want)
			}
			switch {
			case tt.reject == "" && len(b.Rejects) > 0, tt.reject != "" && (len(b.Rejects) != 1 || !strings.Contains(b.Rejects[0].Reason, tt.reject)):
				t.Errorf("rejects %+v, want one of %q", b.Rejects, tt.reject)
			case tt.want == "" && tt.reject == "" && b.Ignored != 1:
				t.Errorf("ignored %d, want 1", b.Ignored)
			}
		})
	}
}

func TestATextThatIsCutHasNoTrack(t *testing.T) {
	whole := text("TYPHOON 25W (SURIGAE)", "271200Z --- NEAR 25.9N 129.1E", "125")
	for n := range strings.LastIndex(whole, "//") {
		b, err := Parse([]byte(whole[:n]), sourcetest.At("2026-09-27T16:00:00Z"))
		if err == nil && len(strings.TrimSpace(whole[:n])) > 0 && !strings.HasSuffix(strings.TrimSpace(whole[:n]), "//") {
			t.Fatalf("cut at %d: no error", n)
		}
		for _, r := range b.Reports {
			if len(r.Areas) > 0 {
				t.Fatalf("cut at %d: a track that is too short", n)
			}
		}
	}
}

const (
	surigae = "<p><b>Typhoon  25W (Surigae) Warning #18 </b><br>\n<b>Issued at 27/1500Z<b>\n<ul><li><a href='https://www.metoc.navy.mil/jtwc/products/wp2526web.txt' target='newwin'>TC Warning Text </a></li>" +
		"<li><a href='https://www.metoc.navy.mil/jtwc/products/wp2526.gif'>TC Warning Graphic</a></li></ul>"
	polo = "<p><b>Hurricane  17E (Polo) Final Warning #12 </b><br>\n<ul><li><a href='https://www.metoc.navy.mil/jtwc/products/ep1726web.txt'>TC Warning Text </a></li></ul>"
	one  = "<p><b>Tropical Cyclone  01B (One) Warning #04 </b><br>\n<b>Reissued at 27/1530Z<b>\n<ul><li><a href=\"https://www.metoc.navy.mil/jtwc/products/io0126web.txt\">TC Warning Text </a></li></ul>"
	tcfa = "<p><b>Tropical Cyclone Formation Alert WTIO21</b><ul><li><a href='https://www.metoc.navy.mil/jtwc/products/wp9226web.txt'>TCFA Text</a></li></ul>"
	calm = "<ul><li><font color='red'>No Current Tropical Cyclone Warnings.</font></li></ul>"
)

func index(items ...string) string {
	return `<?xml version="1.0" encoding="UTF-8"?><rss version="2.0"><channel><title>JTWC</title>` + strings.Join(items, "\n") +
		`<item><title>Current Significant Tropical Weather Advisories</title><description><![CDATA[<a href="https://www.metoc.navy.mil/jtwc/products/abpwweb.txt">ABPW10</a>]]></description><guid>TROPICAL-ADVISORIES</guid></item></channel></rss>`
}

func ocean(guid string, html ...string) string {
	return "<item><title>Current Systems</title><description><![CDATA[" + strings.Join(html, "\n") + "]]></description><guid>" + guid + "</guid></item>"
}

func TestTheIndexLeadsToItsTextsAndSaysWhichStormsGoOn(t *testing.T) {
	for name, tt := range map[string]struct {
		payload string
		links   string
		lasting []string
		rejects int
	}{
		"storms of both centers": {index(ocean("NWPAC-NIO-WARNINGS", surigae, one), ocean("EPAC-CPAC-WARNINGS", polo), ocean("SH-WARNINGS", calm)),
			"wp2526web.txt wp2526 18 27/1500Z, io0126web.txt io0126 04 27/1530Z", []string{"wp252026", "io012026"}, 0},
		"a storm that crossed the date line": {index(ocean("NWPAC-NIO-WARNINGS", strings.NewReplacer("17E (Polo) Final", "17E (Polo)").Replace(polo)), ocean("EPAC-CPAC-WARNINGS", polo)),
			"ep1726web.txt ep1726 12", []string{"ep172026"}, 0},
		"no storm":                   {index(ocean("NWPAC-NIO-WARNINGS", calm), ocean("SH-WARNINGS", calm)), "", []string{}, 0},
		"a formation alert alone":    {index(ocean("NWPAC-NIO-WARNINGS", tcfa), ocean("SH-WARNINGS", calm)), "", []string{}, 0},
		"an ocean of another name":   {index(ocean("WESTPAC", surigae)), "wp2526web.txt wp2526 18 27/1500Z", []string{"wp252026"}, 0},
		"an ocean that says nothing": {index(ocean("NWPAC-NIO-WARNINGS", surigae), ocean("SH-WARNINGS", "Service unavailable")), "wp2526web.txt wp2526 18 27/1500Z", nil, 1},
		"a storm without its text":   {index(ocean("NWPAC-NIO-WARNINGS", surigae, strings.ReplaceAll(one, "web.txt", ".gif"))), "wp2526web.txt wp2526 18 27/1500Z", nil, 1},
		"the text of another storm":  {index(ocean("NWPAC-NIO-WARNINGS", strings.ReplaceAll(surigae, "wp2526web", "wp2626web"), one)), "io0126web.txt io0126 04 27/1530Z", nil, 1},
		"words of another form":      {index(ocean("NWPAC-NIO-WARNINGS", strings.ReplaceAll(surigae, "25W (Surigae)", "SURIGAE"))), "", nil, 1},
		"no oceans":                  {index(), "", nil, 0},
		"escaped, not in a section": {index(`<item><guid>SH-WARNINGS</guid><description>&lt;b&gt;Tropical Cyclone  09P (Gita) Warning #35 &lt;/b&gt; &lt;a href='https://www.metoc.navy.mil/jtwc/products/sh0927web.txt'&gt;</description></item>`),
			"sh0927web.txt sh0927 35", []string{"sh092027"}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			b, err := Parse([]byte(tt.payload), sourcetest.At("2026-09-27T16:00:00Z"))
			if err != nil || len(b.Reports) > 0 || b.Whole {
				t.Fatalf("%v, %+v", err, b)
			}
			var links []string
			for _, l := range b.Links {
				links = append(links, strings.TrimPrefix(l.URL, site+"products/")+" "+l.ID)
			}
			if got := strings.Join(links, ", "); got != tt.links {
				t.Errorf("links %q, want %q", got, tt.links)
			}
			if !slices.Equal(b.Lasting, tt.lasting) || (b.Lasting == nil) != (tt.lasting == nil) {
				t.Errorf("lasting %#v, want %#v", b.Lasting, tt.lasting)
			}
			if len(b.Rejects) != tt.rejects {
				t.Errorf("rejects %+v, want %d", b.Rejects, tt.rejects)
			}
		})
	}
}

func TestAnIndexThatIsCutProvesNothing(t *testing.T) {
	whole := index(ocean("NWPAC-NIO-WARNINGS", surigae, one), ocean("SH-WARNINGS", calm))
	for n := range len(whole) - 1 {
		b, err := Parse([]byte(whole[:n]), sourcetest.At("2026-09-27T16:00:00Z"))
		if err == nil || b.Lasting != nil {
			t.Fatalf("cut at %d: %v, lasting %q", n, err, b.Lasting)
		}
	}
	for _, payload := range []string{"", " ", "<html><body>Maintenance</body></html>", "<feed/>", "Access denied", "<rss><channel></channel></rss>"} {
		if b, err := Parse([]byte(payload), sourcetest.At("2026-09-27T16:00:00Z")); err == nil || b.Lasting != nil {
			t.Errorf("%q: %v, lasting %q; want an error", payload, err, b.Lasting)
		}
	}
}
