// Package koeri reads the earthquakes of Türkiye of the last 24 hours from the list of the Kandilli
// Observatory and Earthquake Research Institute (son24saat.xml). It is off by default: the
// institute does not allow commercial use, and only offers the list without encryption.
//
// The list has no ids, so an earthquake is named by its origin (package seismic), and the present
// list has the latest data about it. Earthquakes below M 3.5 are left out: many of them occur
// within seconds of each other, so such names would confuse them. The list is a window of one day,
// so a missing earthquake means nothing.
//
// Parse is a pure function, safe for concurrent use, and needs memory proportional to the payload.
package koeri

import (
	"bytes"
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

// Name is the source's name in reports.
const Name = "koeri"

// Source describes the source. The list is updated every few minutes.
func Source() source.Source {
	return source.Source{
		Name: Name, Title: "KOERI earthquakes", Parse: Parse,
		Off:    "its publisher allows no commercial use, and the list is read in plain text",
		Feeds:  []source.Feed{{URL: "http://udim.koeri.boun.edu.tr/zeqmap/xmlt/son24saat.xml", Every: 5 * time.Minute, MaxBytes: 4 << 20}},
		Covers: "earthquakes in and around Türkiye",
		Types:  []hazard.Type{hazard.Earthquake}, Countries: []string{"TR"}, Languages: []string{"tr"},
		Home:    "http://www.koeri.boun.edu.tr/sismo/2/en/",
		License: "not for commercial use", Attribution: "Boğaziçi University Kandilli Observatory and Earthquake Research Institute, Regional Earthquake-Tsunami Monitoring Center",
		Slight: seismic.Slight,
		Rank:   source.Ranks{hazard.Earthquake: source.National},
		Coverage: []source.Coverage{{Role: source.RoleWatches, Countries: []string{"TR"}, From: "M 3.5",
			Cite: "http://udim.koeri.boun.edu.tr: the automatic and reviewed earthquakes of the last 24 hours"}},
		Lists: source.Lists{InForce: source.No, Complete: source.No, Identity: "time of origin and place", NoEnd: seismic.NoEnd,
			Cite: "the recording: all earthquakes of the last 24 hours, without numbers"},
		Lives: seismic.Lives,
	}
}

// least is the lowest magnitude that is reported.
const minMagnitude = 3.5

// zone is the time zone of Türkiye, which has no summer time since 2016.
var zone = time.FixedZone("TRT", 3*3600)

// Parse reads the list as of now. The error is a *source.PayloadError. If its Cut is true, the
// records before the error are good.
func Parse(payload []byte, now hazard.Instant) (source.Batch, error) {
	b := lenient.Batch{Batch: source.Batch{Current: true}}
	text, err := lenient.Text(payload, "windows-1254")
	if err != nil {
		return b.Done(), err
	}
	root, err := lenient.XML{Want: "a list of earthquakes", Roots: []string{"eqlist"}, Records: []string{"earhquake", "earthquake"}}.Read(text, func(e lenient.Element) {
		where := func() string { return "earthquakes/" + strconv.Itoa(b.Batch.Read-1) }
		b.Batch.Read++
		n, notes, err := e.Tree(lenient.Limits{Elements: 100})
		if err != nil {
			b.Reject(where, e.Raw, err.Error())
			return
		}
		switch r, reason := report(n, now); {
		case reason != "":
			b.Decline(where, e.Raw, reason, notes...)
		default:
			source.Note(r, notes...)
			b.Reports = append(b.Reports, *r)
		}
	})
	// An earthquake is a single tag. The parser skips a damaged tag, so the lost ones are counted
	// here.
	if lost := bytes.Count(text, []byte("<earhquake")) + bytes.Count(text, []byte("<earthquake")) - b.Batch.Read; lost > 0 {
		b.Batch.Read += lost
		b.Reject(lenient.At("eqlist"), text, fmt.Sprintf("%d earthquakes could not be read, because their tags are damaged", lost))
	}
	if err == nil && root != "eqlist" {
		err = source.Errorf("the root element is %q, expected eqlist", lenient.ExcerptText(root))
	}
	return b.Done(), err
}

var (
	timeForm = regexp.MustCompile(`^(\d{4})[.\-/](\d{2})[.\-/](\d{2})[ T]+(\d{2}:\d{2}:\d{2})`)
	// place matches "KARAPINAR-HEKIMHAN (MALATYA)": a village and its district, and the province or
	// the sea.
	place = regexp.MustCompile(`^([^()]+?) *\(([^()]+)\)$`)
)

// report converts an earthquake. It returns nil if the earthquake is too small to be reported, and
// a reason if it is rejected.
func report(n *lenient.Node, now hazard.Instant) (*hazard.Report, string) {
	name := n.Attr("name")
	m := timeForm.FindStringSubmatch(strings.TrimSpace(name))
	var at time.Time
	var err error
	if m != nil {
		at, err = time.ParseInLocation("2006-01-02 15:04:05", m[1]+"-"+m[2]+"-"+m[3]+" "+m[4], zone)
	}
	if m == nil || err != nil {
		return nil, fmt.Sprintf("name: %q, expected a time such as 2026.08.21 22:51:24", lenient.ExcerptText(name))
	}
	q := seismic.Quake{Magnitude: number(n.Attr("mag")), Depth: number(strings.Trim(n.Attr("Depth")+n.Attr("depth"), " km")), Place: where(n.Attr("lokasyon")),
		At: seismic.Position(number(n.Attr("lng")), number(n.Attr("lat")))}
	switch {
	case q.At == nil:
		return nil, fmt.Sprintf("lng, lat: %q, %q, expected a position", lenient.ExcerptText(n.Attr("lng")), lenient.ExcerptText(n.Attr("lat")))
	case !q.Magnitude.Known:
		return nil, fmt.Sprintf("mag: %q, expected a number", lenient.ExcerptText(n.Attr("mag")))
	case q.Magnitude.Value < minMagnitude:
		return nil, fmt.Sprintf(source.Ignoring+"magnitude %v, below %v", q.Magnitude.Value, minMagnitude)
	}
	start := hazard.At(at)
	key, near := seismic.Named(start)
	l := q.Level()
	var text strings.Builder
	q.Describe(&text, start)
	r := &hazard.Report{
		Source: Name, Key: key, Aliases: near, Version: int64(now), Type: hazard.Earthquake, Severity: l.Severity, Start: start, LifeMS: l.Life.Milliseconds(),
		Name: q.Name(), Description: hazard.Clean(text.String()), Minor: l.Minor, Point: q.At, Refs: []string{Name + ":" + key},
		URL: "http://www.koeri.boun.edu.tr/scripts/lst0.asp", Comment: Name + ":" + key, Creator: "KOERI", Suspect: strings.Join(q.Doubts("name", start, "", start, now), "; "),
	}
	q.Measure(r)
	return r, ""
}

// where returns a place in normal case: "Karapınar-Hekimhan, Malatya" is written
// "KARAPINAR-HEKIMHAN (MALATYA)", padded with blanks, without Turkish letters.
func where(text string) string {
	text = hazard.CleanLine(lenient.Clip(text, 200))
	if m := place.FindStringSubmatch(text); m != nil {
		return m[1] + ", " + m[2]
	}
	return text
}

func number(s string) lenient.Number {
	v, err := strconv.ParseFloat(strings.TrimSpace(strings.Replace(s, ",", ".", 1)), 64)
	return lenient.Number{Value: v, Known: err == nil && v > -1e6 && v < 1e6}
}
