package serve_test

import (
	"net/url"
	"strings"
	"testing"

	"github.com/hazardd/hazardd/internal/app"
	"github.com/hazardd/hazardd/internal/serve/route"
)

type places struct {
	Places []struct {
		Kind, Name, Country, Region string
		CountryName                 string `json:"country_name"`
		Code                        *string
		People                      *int
		Lon, Lat                    float64
		Bbox                        []float64
	}
	Total int
	Next  *string
}

func TestPlacesAreFoundByName(t *testing.T) {
	s := handle(t)
	var got places
	s.do("reader", "GET", "/places?q=Vienna,+Austria&kind=town", "").JSON(t, &got)
	if p := got.Places[0]; p.Name != "Vienna" || p.CountryName != "Austria" || p.Code != nil || *p.People < 1_000_000 || p.Lon < 16 || p.Lon > 17 || p.Bbox[0] != p.Lon {
		t.Errorf("%+v", got)
	}
	a := s.do("reader", "GET", "/places?q=alemania&lang=es", "")
	a.JSON(t, &got)
	if p := got.Places[0]; p.Name != "Alemania" || *p.Code != "ISO3166-1:DE" || p.People != nil || p.Bbox[0] > 6 || p.Bbox[2] < 15 || a.Header.Get("Content-Language") != "es" {
		t.Errorf("%s", a.Body)
	}
	if b := s.do("reader", "GET", "/places?q=alemania&lang=es", "", "If-None-Match", a.Header.Get("ETag")); b.Status != 304 {
		t.Errorf("%d", b.Status)
	}
	s.do("reader", "GET", "/places?q=alemania", "", "Accept-Language", "ar").JSON(t, &got)
	if got.Places[0].Name != "ألمانيا" {
		t.Errorf("%+v", got.Places[0])
	}
	var next places
	s.do("reader", "GET", "/places?q=benton&kind=area&limit=3", "").JSON(t, &got)
	s.do("reader", "GET", "/places?q=benton&kind=area&limit=3&cursor="+*got.Next, "").JSON(t, &next)
	if got.Total < 7 || len(got.Places) != 3 || len(next.Places) != 3 || *got.Places[2].Code == *next.Places[0].Code || got.Places[0].Region == "" {
		t.Errorf("%+v\n%+v", got, next)
	}
	if s.do("reader", "GET", "/places?q=benton&cursor=1000000", "").JSON(t, &next); len(next.Places) != 0 || next.Next != nil {
		t.Errorf("behind the end: %+v", next)
	}
}

func TestAPlaceHasAnOutline(t *testing.T) {
	s := handle(t)
	var got struct {
		ID       string
		Bbox     []float64
		Geometry struct{ Type string }
	}
	a := s.do("reader", "GET", "/places/UGC:FLC086", "")
	a.JSON(t, &got)
	if got.ID != "UGC:FLC086" || !strings.HasSuffix(got.Geometry.Type, "Polygon") || got.Bbox[1] < 25 || got.Bbox[3] > 26 || a.Header.Get("Content-Type") != "application/geo+json" {
		t.Errorf("%.300s", a.Body)
	}
	// For a box across the antimeridian, west is greater than east.
	if s.do("reader", "GET", "/places/ISO3166-1:FJ", "").JSON(t, &got); got.Bbox[0] < 170 || got.Bbox[2] > -170 {
		t.Errorf("Fiji: %v", got.Bbox)
	}
	if b := s.do("reader", "GET", "/places/ISO3166-1:FJ", "", "If-None-Match", s.do("reader", "GET", "/places/ISO3166-1:FJ", "").Header.Get("ETag")); b.Status != 304 {
		t.Errorf("%d", b.Status)
	}
	for _, code := range []string{"UGC:XXC999", "ISO3166-1:QQ", "nowhere", "%00", "ISO3166-1:de", strings.Repeat("x", 9000)} {
		if a := s.do("reader", "GET", "/places/"+code, ""); a.Status != 404 {
			t.Errorf("%.20s: %d", code, a.Status)
		}
	}
	if a := s.do("reader", "GET", "/places/UGC:FLC086?lang=%00", ""); a.Status != 400 {
		t.Errorf("%d", a.Status)
	}
}

func TestASearchForPlacesThatIsNone(t *testing.T) {
	s := handle(t)
	for query, want := range map[string]string{"": "has no letter", "q=": "has no letter", "q=%F0%9F%8C%8A": "has no letter", "q=%2C%2C": "has no letter", "q=a%00b": "control character", "q=a%1b": "control character", "q=%FF": "not UTF-8",
		"q=" + strings.Repeat("a", 10_000): "has 10000 characters, at most 100", "q=a&kind=river": "is not a kind; expected one of", "q=a&limit=0": "from 1 to 50", "q=a&limit=51": "from 1 to 50", "q=a&cursor=x": "not a whole number", "q=a&cursor=-1": "not a whole number",
		"q=a&q=b": "is given 2 times", "q=a&near=1": "is not known", "q=a&lang=1": "is not a language"} {
		if a := s.do("reader", "GET", "/places?"+query, ""); a.Status != 400 || !strings.Contains(string(a.Body), want) {
			t.Errorf("%.40s: %d %.200s, want %s", query, a.Status, a.Body, want)
		}
	}
	for _, q := range []string{"a", "ø", "क", "\u202eanneiV", "<script>alert(1)</script>", "' OR 1=1 --", "%", "🌊 Vienna", strings.Repeat("é", 100), strings.Repeat("\u0301", 99) + "a"} {
		if a := s.do("reader", "GET", "/places?q="+url.QueryEscape(q), ""); a.Status != 200 && !strings.Contains(string(a.Body), "has no letter") {
			t.Errorf("%q: %d %s", q, a.Status, a.Body)
		}
	}
}

// Caches may store the public's results like everything that the public may read.
func TestThePublicFindsPlaces(t *testing.T) {
	s := start(t, func(c *app.Config) { c.Public = route.PublicRead })
	a := s.do("", "GET", "/places?q=vienna", "")
	if a.Status != 200 || !strings.HasPrefix(a.Header.Get("Cache-Control"), "public") || !strings.Contains(a.Header.Get("Vary"), "Accept-Language") {
		t.Errorf("%d %v", a.Status, a.Header)
	}
	if b := s.do("", "GET", "/places/ISO3166-1:AT", ""); b.Status != 200 {
		t.Errorf("%d", b.Status)
	}
}
