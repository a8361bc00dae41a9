package ign

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/test"
	"github.com/hazardd/hazardd/internal/test/recordings"
	"github.com/hazardd/hazardd/internal/test/sourcetest"
)

var laws = sourcetest.Source{
	Parse: Parse, File: "georss/ign-sismologia.xml", At: "2019-03-18T20:00:00Z", Element: "item",
	Needed: []string{"guid", "link"},
}

func TestLaws(t *testing.T) { sourcetest.Laws(t, laws) }

func FuzzParse(f *testing.F) {
	sourcetest.Fuzz(f, laws, list(item()), list(item("3.1", "nada"), "<item><guid>?evid="))
}

func item(change ...string) string {
	return strings.NewReplacer(change...).Replace(`<item><title>-Info.terremoto: 18/03/2019 5:11:01</title>` +
		`<description>Se ha producido un terremoto de magnitud 5.1 en SW EL PINAR DE EL HIERRO.IHI en la fecha 18/03/2019 5:11:01 en la siguiente localización: 27.62,-18.0859</description>` +
		`<guid>http://www.ign.es/detailTerremoto?evid=es2019dfcfp</guid><geo:lat>27.62</geo:lat><geo:long>-18.0859</geo:long></item>`)
}

func list(items ...string) string {
	return `<?xml version="1.0" encoding="UTF-8"?><rss xmlns:geo="http://www.w3.org/2003/01/geo/wgs84_pos#" version="2.0"><channel>` + strings.Join(items, "") + "</channel></rss>"
}

var now = hazard.At(time.Date(2019, 3, 18, 20, 0, 0, 0, time.UTC))

func TestEarthquakes(t *testing.T) {
	const good = "M 5.1 Earthquake - SW EL PINAR DE EL HIERRO, ADVISORY, 2019-03-18T05:11:01.000Z, -18.0859 27.62"
	for name, tt := range map[string]struct {
		change       []string
		want, reject string
	}{
		"as it is":                  {nil, good, ""},
		"no position, but in words": {[]string{"<geo:lat>27.62", "<geo:lat>"}, good, ""},
		"no time in the title":      {[]string{"terremoto: 18/03/2019 5:11:01", "terremoto"}, good, ""},
		"a decimal comma":           {[]string{"5.1", "5,1"}, good, ""},
		"no magnitude":              {[]string{"magnitud 5.1", "magnitud desconocida"}, "Earthquake - SW EL PINAR DE EL HIERRO, INFORMATION, 2019-03-18T05:11:01.000Z, -18.0859 27.62", ""},
		"no id":                     {[]string{"evid", "id"}, "", "guid"},
		"no time":                   {[]string{"18/03/2019", "18/13/2019"}, "", "title"},
		"no place":                  {[]string{"27.62", "x"}, "", "geo:lat"},
	} {
		b, err := Parse([]byte(list(item(tt.change...))), now)
		if err != nil || b.Read != 1 || b.Whole {
			t.Fatalf("%s: %v, %+v", name, err, b)
		}
		got := ""
		for _, r := range b.Reports {
			got = fmt.Sprintf("%s, %v, %v, %v %v", r.Name, r.Severity, r.Start, r.Point.Lon, r.Point.Lat)
		}
		if got != tt.want {
			t.Errorf("%s: %q, want %q", name, got, tt.want)
		}
		if tt.reject != "" && (len(b.Rejects) != 1 || !strings.HasPrefix(b.Rejects[0].Reason, tt.reject)) {
			t.Errorf("%s: %+v, want a reject for %s", name, b.Rejects, tt.reject)
		}
	}
}

func TestTheRecordedListIsReadInFull(t *testing.T) {
	test.NoRace(t)
	b, err := Parse(recordings.Read(t, "feeds/georss/ign-sismologia.xml"), now)
	if err != nil || b.Read != 25 || len(b.Reports) != 25 {
		t.Errorf("%v, %d of %d read, %+v", err, len(b.Reports), b.Read, b.Rejects)
	}
	for _, r := range b.Reports {
		if len(r.Measurements) == 0 || r.Point == nil || r.Start > now || len(r.Notes) > 0 {
			t.Errorf("%+v", r)
		}
	}
}
