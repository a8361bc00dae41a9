package bbk

import (
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/hazardd/hazardd/internal/geo"
	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/ingest/lenient"
	"github.com/hazardd/hazardd/internal/ingest/source"
	"github.com/hazardd/hazardd/internal/ingest/sources/cap"
)

// config is the CAP configuration for the warnings.
var config = cap.Config{Name: Name, Language: "de", Spoken: "de", Countries: []string{"DE"}, Practice: cap.Practice{Lists: lists, Identity: cap.ByReferences, Expires: cap.ExpiresNever}}

// mowas is the beginning of the ids of warnings of MoWaS. Only their list is known to hold all that
// is in force, and nothing else.
const mowas = "mow."

// elsewhere is the configuration for the warnings of the other publishers.
var elsewhere = cap.Config{Name: Name, Language: "de", Spoken: "de", Countries: []string{"DE"}}

// idForm matches the id of a warning: the publisher, and the publisher's name for the warning.
var idForm = regexp.MustCompile(`^[a-z]{2,5}\.[A-Za-z0-9._-]{1,200}$`)

// entry is a warning in a list by publisher, or in the dashboard of a region.
type entry struct {
	ID      string         `json:"id"`
	Version lenient.Number `json:"version"` // counts the versions of the warning
	// Start and Sent are when the warning was sent, in a list by publisher and in the dashboard.
	Start string `json:"startDate"`
	Sent  string `json:"sent"`
	// Expires and Ends are when it ends; often missing.
	Expires string `json:"expiresDate"`
	Ends    string `json:"expires"`
}

// Parse reads a list of warnings, or a warning, as of now. The error is a *source.PayloadError. If
// its Cut is true, the records before the error are good.
func Parse(payload []byte, now hazard.Instant) (source.Batch, error) {
	text, err := lenient.JSON(payload)
	if err != nil {
		return source.Batch{}, err
	}
	c := lenient.Cursor{Doc: text}
	if c.Next() == '{' {
		return warning(text, now)
	}
	whole := true
	b := lenient.Batch{ID: func(raw []byte) string { return lenient.Word(lenient.Member(raw, "id")) }}
	err = lenient.List(text, "warnings", func(where func() string, raw []byte) {
		e, notes := lenient.Read[entry](&b, where, raw)
		if e == nil {
			return
		}
		id := strings.TrimSpace(e.ID)
		if !idForm.MatchString(id) {
			b.Reject(where, raw, append(notes, "id: "+lenient.ExcerptText(e.ID)+", expected the name of a warning such as mow.DE-SL-SB-SE035-20260920-35-001")...)
			return
		}
		link := source.Link{URL: address(id, ".json"), ID: listedName(id)}
		if e.Version.Known { // a new version is a new document
			link.ID += " " + e.Version.Said()
		}
		link.Updated, link.Expires = instant(e.Start, e.Sent), instant(e.Expires, e.Ends)
		b.Links = append(b.Links, link)
		b.Listed = append(b.Listed, listedName(id))
		whole = whole && strings.HasPrefix(id, mowas)
	})
	list := b.Done()
	if list.Whole = err == nil && whole && len(list.Rejects) == 0; list.Whole {
		list.Lasting = append([]string{}, list.Listed...)
	}
	return list, err
}

// lasts reports whether a warning is over when the list of MoWaS no longer names it.
func lasts(event string, _, _ hazard.Instant) bool { return strings.Contains(event, ","+mowas) }

// listedName returns the name of a warning in the lists, which know only its id.
func listedName(id string) string { return "id:" + id }

// address returns the address of a warning, or of its shape.
func address(id, ending string) string { return api + "warnings/" + url.PathEscape(id) + ending }

// instant returns the first of the texts that is a valid time, or nil.
func instant(texts ...string) *hazard.Instant {
	for _, text := range texts {
		if at, err := cap.ParseTime(text); err == nil {
			return &at
		}
	}
	return nil
}

// warning reads a warning. If it has no shape, the report gets a place whose shape has a separate
// address.
func warning(text []byte, now hazard.Instant) (source.Batch, error) {
	id := strings.TrimSpace(lenient.Word(lenient.Member(text, "identifier")))
	cfg := elsewhere
	if strings.HasPrefix(id, mowas) {
		cfg = config
	}
	b, err := cap.Parse(cfg, text, now)
	for i := range b.Reports {
		r := &b.Reports[i]
		if idForm.MatchString(id) {
			r.Aliases = append(slices.Clip(r.Aliases), listedName(id))
		}
		if idForm.MatchString(id) && len(r.Areas) == 0 && r.Ended == "" {
			// The shapes of areas that are only named are unknown.
			r.Places = append(slices.DeleteFunc(slices.Clone(r.Places), func(p string) bool { return strings.HasPrefix(p, "area:") }), placePrefix+id)
		}
		for _, ref := range r.Refs { // adds the weather service's own name for it, as in other feeds
			if sender, own, ok := strings.Cut(ref, ",dwd."); ok {
				r.Refs = append(slices.Clip(r.Refs), sender+","+own)
			}
		}
	}
	return b, err
}

// placePrefix is the prefix of a place's code: "BBK:mow.DE-…" is the area of that warning.
const placePrefix = "BBK:"

// PlaceURL returns the address of a warning's shape, or "" if the code is not that of a warning.
func PlaceURL(code string) string {
	id, ok := strings.CutPrefix(code, placePrefix)
	if !ok || !idForm.MatchString(id) {
		return ""
	}
	return address(id, ".geojson")
}

// ParsePlace parses the shape of a warning, a FeatureCollection: the place's code, and all its
// polygons as one geometry. The name is empty.
func ParsePlace(payload []byte) (code string, geometryGeoJSON []byte, name string, err error) {
	type properties struct {
		Warning string `json:"warnId"`
	}
	shapes, err := lenient.Shapes(payload, "shapes", func(p *properties) {
		if code == "" {
			code = placePrefix + strings.TrimSpace(p.Warning)
		}
	})
	switch {
	case err != nil:
		return "", nil, "", err
	case len(shapes) == 0 || PlaceURL(code) == "":
		return "", nil, "", source.Errorf("%d shapes of the warning %s, expected those of one with its name", len(shapes), lenient.ExcerptText(code))
	}
	whole, err := geo.Union(shapes...)
	if err != nil {
		return "", nil, "", source.Errorf("%v", err)
	}
	return code, []byte(whole.GeoJSON()), "", nil
}
