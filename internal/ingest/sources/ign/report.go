package ign

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/ingest/lenient"
	"github.com/hazardd/hazardd/internal/ingest/source"
	"github.com/hazardd/hazardd/internal/ingest/sources/seismic"
)

const page = "https://www.ign.es/web/ign/portal/sis-catalogo-terremotos/-/catalogo-terremotos/detailTerremoto?evid="

var (
	// evid matches the id in the guid and in the link: "…/detailTerremoto?evid=es2019dfcfp".
	evid = regexp.MustCompile(`[?&]evid=([A-Za-z0-9]{6,32})\b`)
	// dayFirst matches the time in the title and the description: "18/03/2019 5:11:01".
	dayFirst = regexp.MustCompile(`(\d{1,2})/(\d{1,2})/(\d{4})\s+(\d{1,2}):(\d{2}):(\d{2})`)
	// magnitude and the next pattern match parts of the description: "Se ha producido un terremoto
	// de magnitud 3.1 en SW EL PINAR DE EL HIERRO.IHI en la fecha … en la siguiente localización:
	// 27.62,-18.0859".
	magnitude = regexp.MustCompile(`(?i)magnitud\s+(-?\d{1,2}(?:[.,]\d{1,3})?)`)
	region    = regexp.MustCompile(`(?i)magnitud\s+\S+\s+en\s+(.*?)\s+en la fecha`)
	located   = regexp.MustCompile(`(?i)localizaci\S*:\s*(-?\d{1,2}(?:\.\d+)?)\s*,\s*(-?\d{1,3}(?:\.\d+)?)`)
	// island matches the short name of an island after a place, "IHI" for El Hierro.
	island = regexp.MustCompile(`\.I[A-Z]{2}$`)
)

// report converts an item. If it cannot, it returns the reason.
func report(n *lenient.Node, now hazard.Instant) (*hazard.Report, string) {
	guid, text := n.Get("*", "guid"), hazard.CleanLine(lenient.Clip(n.Get("*", "description"), 2000))
	m := evid.FindStringSubmatch(guid + " " + n.Get("*", "link"))
	if m == nil {
		return nil, fmt.Sprintf("guid: %q, expected an address with evid=", lenient.ExcerptText(guid))
	}
	key := m[1]
	start, ok := origin(n.Get("*", "title"), text)
	if !ok {
		return nil, fmt.Sprintf("title: %q, expected a time such as 18/03/2019 5:11:01", lenient.ExcerptText(n.Get("*", "title")))
	}
	lat, lon := number(n.Get("*", "lat")), number(n.Get("*", "long"))
	q := seismic.Quake{At: seismic.Position(lon, lat)}
	var notes []string
	if at := located.FindStringSubmatch(text); q.At == nil && at != nil {
		notes = append(notes, fmt.Sprintf("geo:lat, geo:long: %q, %q, read from the description", lenient.ExcerptText(n.Get("*", "lat")), lenient.ExcerptText(n.Get("*", "long"))))
		q.At = seismic.Position(number(at[2]), number(at[1]))
	}
	if q.At == nil {
		return nil, fmt.Sprintf("geo:lat, geo:long: %q, %q, expected a position", lenient.ExcerptText(n.Get("*", "lat")), lenient.ExcerptText(n.Get("*", "long")))
	}
	if m := magnitude.FindStringSubmatch(text); m != nil {
		q.Magnitude = number(strings.Replace(m[1], ",", ".", 1))
	} else {
		notes = append(notes, fmt.Sprintf("description: %q, expected a magnitude", lenient.ExcerptText(text)))
	}
	if m := region.FindStringSubmatch(text); m != nil {
		q.Place = lenient.Clip(island.ReplaceAllString(m[1], ""), 200)
	}
	l := q.Level()
	var b strings.Builder
	q.Describe(&b, start)
	r := &hazard.Report{
		Source: Name, Key: key, Version: int64(now), Type: hazard.Earthquake, Severity: l.Severity, Category: hazard.Event, Start: start, LifeMS: l.Life.Milliseconds(),
		Name: q.Name(), Description: hazard.Clean(b.String()), Minor: l.Minor, Point: q.At, Refs: []string{Name + ":" + key},
		URL: page + key, Comment: Name + ":" + key, Creator: "IGN", Suspect: strings.Join(q.Doubts("title", start, "", start, now), "; "),
	}
	source.Note(r, notes...)
	q.Measure(r)
	return r, ""
}

// origin returns the first time in the texts, in UTC.
func origin(texts ...string) (hazard.Instant, bool) {
	for _, text := range texts {
		m := dayFirst.FindStringSubmatch(text)
		if m == nil {
			continue
		}
		if at, err := time.Parse("2/1/2006 15:04:05", m[1]+"/"+m[2]+"/"+m[3]+" "+fmt.Sprintf("%02s", m[4])+":"+m[5]+":"+m[6]); err == nil {
			return hazard.At(at), true
		}
	}
	return 0, false
}

func number(s string) lenient.Number {
	v, err := strconv.ParseFloat(strings.TrimSpace(s), 64)
	return lenient.Number{Value: v, Known: err == nil && v > -1e6 && v < 1e6}
}
