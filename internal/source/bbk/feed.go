package bbk

import (
	"context"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/hazardd/hazardd/internal/geo"
	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/source"
	"github.com/hazardd/hazardd/internal/source/cap"
	"github.com/hazardd/hazardd/internal/source/frame"
)

// config is how the warnings are read.
var config = cap.Config{Name: Name, Language: "de", Spoken: "de", Countries: []string{"DE"}}

// idForm is the name of a warning: the publisher, and what it calls the warning.
var idForm = regexp.MustCompile(`^[a-z]{2,5}\.[A-Za-z0-9._-]{1,200}$`)

// entry is a warning in a list by publisher, or in the dashboard of a region.
type entry struct {
	ID      string       `json:"id"`
	Version frame.Number `json:"version"` // counts the states of the warning
	// When the warning was sent: in a list by publisher, in the dashboard.
	Start string `json:"startDate"`
	Sent  string `json:"sent"`
	// Expires is when it ends; often missing.
	Expires string `json:"expiresDate"`
	Ends    string `json:"expires"`
}

// Parse reads a list of warnings, or a warning, as of now. An error is a *source.PayloadError; what was read before it is good if it is Cut.
func Parse(payload []byte, now hazard.Instant) (source.Batch, error) {
	text, err := frame.JSON(payload)
	if err != nil {
		return source.Batch{}, err
	}
	c := frame.Cursor{Doc: text}
	if c.Next() == '{' {
		return warning(text, now)
	}
	b := frame.Batch{ID: func(raw []byte) string { return frame.Word(frame.Member(raw, "id")) }}
	err = frame.List(text, "warnings", func(where func() string, raw []byte) {
		e, notes := frame.Read[entry](&b, where, raw)
		if e == nil {
			return
		}
		id := strings.TrimSpace(e.ID)
		if !idForm.MatchString(id) {
			b.Reject(where, raw, append(notes, "id: "+frame.ExcerptText(e.ID)+", expected the name of a warning such as mow.DE-SL-SB-SE035-20260920-35-001")...)
			return
		}
		link := source.Link{URL: address(id, ".json"), ID: id}
		if e.Version.Known { // a new state is another document
			link.ID += " " + e.Version.Said()
		}
		link.Updated, link.Expires = instant(e.Start, e.Sent), instant(e.Expires, e.Ends)
		b.Links = append(b.Links, link)
	})
	return b.Done(), err
}

// address is that of a warning, or of its shape.
func address(id, ending string) string { return api + "warnings/" + url.PathEscape(id) + ending }

// instant is the first of some texts that is a time; nil if none is.
func instant(texts ...string) *hazard.Instant {
	for _, text := range texts {
		if at, err := cap.ParseTime(text); err == nil {
			return &at
		}
	}
	return nil
}

// warning reads a warning. One without a shape is placed by that at its own address.
func warning(text []byte, now hazard.Instant) (source.Batch, error) {
	b, err := cap.Parse(config, text, now)
	id := strings.TrimSpace(frame.Word(frame.Member(text, "identifier")))
	for i := range b.Reports {
		r := &b.Reports[i]
		if idForm.MatchString(id) && len(r.Areas) == 0 && r.Ended == "" {
			// Of the names of areas nobody knows the shapes.
			r.Places = append(slices.DeleteFunc(slices.Clone(r.Places), func(p string) bool { return strings.HasPrefix(p, "area:") }), placePrefix+id)
		}
		for _, ref := range r.Refs { // the weather service's own name for it, as other feeds have it
			if sender, own, ok := strings.Cut(ref, ",dwd."); ok {
				r.Refs = append(slices.Clip(r.Refs), sender+","+own)
			}
		}
	}
	return b, err
}

// placePrefix begins the code of a place: "BBK:mow.DE-…" is where that warning holds.
const placePrefix = "BBK:"

// PlaceURL is where the shape of a warning is, empty if the code is no warning's.
func PlaceURL(code string) string {
	id, ok := strings.CutPrefix(code, placePrefix)
	if !ok || !idForm.MatchString(id) {
		return ""
	}
	return address(id, ".geojson")
}

// ParsePlace reads the shape of a warning, a FeatureCollection: the place's code, and all its polygons as one geometry. It has no name.
func ParsePlace(payload []byte) (code string, geometryGeoJSON []byte, name string, err error) {
	type feature struct {
		Geometry   jsontext.Value `json:"geometry"`
		Properties struct {
			Warning string `json:"warnId"`
		} `json:"properties"`
	}
	var b frame.Batch
	var shapes []geo.Shape
	_, err = frame.Collection{}.Features(payload, "shapes", &b, func(where func() string, raw []byte) {
		f, _ := frame.Read[feature](&b, where, raw)
		if f == nil {
			return
		}
		s, bad := geo.ParseLoose(f.Geometry)
		if bad != nil {
			b.Reject(where, raw, bad.Error())
			return
		}
		if shapes = append(shapes, s); code == "" {
			code = placePrefix + strings.TrimSpace(f.Properties.Warning)
		}
	})
	switch bad := b.Done().Rejects; {
	case err != nil:
		return "", nil, "", err
	case len(bad) > 0: // half a shape would leave people out
		return "", nil, "", source.Errorf("%s: %s", bad[0].Record, bad[0].Reason)
	case len(shapes) == 0 || PlaceURL(code) == "":
		return "", nil, "", source.Errorf("%d shapes of the warning %s, expected those of one with its name", len(shapes), frame.ExcerptText(code))
	}
	whole, err := geo.Union(shapes...)
	if err != nil {
		return "", nil, "", source.Errorf("%v", err)
	}
	return code, []byte(whole.GeoJSON()), "", nil
}

// places knows the shapes that were fetched.
type places struct{ kept source.Kept }

// Shape is the shape of the warning with that code, and whether it is known.
func (p places) Shape(ctx context.Context, code string) (geo.Shape, bool) {
	text, err := p.kept(ctx, code)
	if err != nil {
		return geo.Shape{}, false
	}
	s, err := geo.ParseLoose([]byte(text))
	return s, err == nil
}
