package wis2

import (
	"context"
	"crypto/sha512"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/uuid"

	"github.com/hazardd/hazardd/internal/format"
	"github.com/hazardd/hazardd/internal/format/publisher"
	"github.com/hazardd/hazardd/internal/geo"
	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/tell/publish"
)

// The limits of a WNM in bytes (requirements message_size and content).
const (
	maxNotification = 8192
	maxContent      = 4096
)

// maxCorners bounds the outline in a notification, so that it fits.
const maxCorners = 100

// origin is what topics of original data begin with, before the centre (WIS2 Topic Hierarchy 1).
const origin = "origin/a/wis2/"

var (
	topicForm   = regexp.MustCompile(`^` + origin + `([a-z]+-[a-z0-9_-]+)/data/(core|recommended)(/[a-z0-9-]+)+$`)
	datasetForm = regexp.MustCompile(`^urn:wmo:md:([a-z]+-[a-z0-9_-]+):[A-Za-z0-9._:-]+$`)
)

// Check returns what is wrong with a topic, or with the identifier of a dataset on it.
func Check(topic, dataset string) error {
	t, d := topicForm.FindStringSubmatch(topic), datasetForm.FindStringSubmatch(dataset)
	switch {
	case t == nil:
		return fmt.Errorf("wis2-topic: %.200q is not a topic such as %ske-kmd/data/core/weather/advisories-warnings", topic, origin)
	case d == nil:
		return fmt.Errorf("wis2-dataset: %.200q is not an identifier such as urn:wmo:md:%s:cap-alerts", dataset, t[1])
	case t[1] != d[1]:
		return fmt.Errorf("wis2-dataset: %.200q belongs to the centre %s, the topic to %s", dataset, d[1], t[1])
	}
	return nil
}

// notification is a WNM 1.0. The comments say which requirement a member follows.
type notification struct {
	ID         uuid.UUID      `json:"id"` // identifier; the same in each attempt
	ConformsTo []string       `json:"conformsTo"`
	Type       string         `json:"type"`
	Geometry   jsontext.Value `json:"geometry"` // geometry: a Point, a Polygon or null
	Properties properties     `json:"properties"`
	Links      []link         `json:"links"` // links: one canonical link
}

type properties struct {
	PubTime    string    `json:"pubtime"` // pubtime: when it is sent, in UTC
	DataID     string    `json:"data_id"`
	MetadataID string    `json:"metadata_id"`
	Start      string    `json:"start_datetime"` // temporal
	End        string    `json:"end_datetime"`
	Integrity  integrity `json:"integrity"`
	Content    *content  `json:"content,omitzero"`
}

type integrity struct {
	Method string `json:"method"`
	Value  []byte `json:"value"` // base64
}

type content struct {
	Encoding string `json:"encoding"`
	Size     int    `json:"size"`
	Value    string `json:"value"`
}

type link struct {
	Href   string `json:"href"`
	Rel    string `json:"rel"`
	Type   string `json:"type"`
	Length int    `json:"length"`
}

// notification returns the notification of the message of a change as of a moment. It is nil if the
// message no longer holds. What ended is not announced as new, but a cancellation always is.
func (s *Service) notification(ctx context.Context, change int64, now time.Time) ([]byte, error) {
	v, err := s.Messages.At(ctx, s.Number())
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(v.Messages, func(m publisher.Message) bool { return m.Number == change })
	if i < 0 {
		return nil, nil
	}
	m := v.Messages[i]
	h, err := s.Store.Log.HazardAsOf(ctx, m.Hazard, m.Number)
	if err != nil {
		return nil, err
	}
	expires := (&format.Message{Message: m, Hazard: h}).Expires()
	if m.Kind != publisher.Cancel && expires <= hazard.At(now) {
		return nil, nil
	}
	identifier := format.Identifier(m.Profile, h.UUID, m.Number)
	text, err := s.Messages.Document(ctx, v, identifier, s.BaseURL)
	if err != nil {
		return nil, err
	}
	areas, err := s.Store.Log.Areas(ctx, h.Areas)
	if err != nil {
		return nil, err
	}
	sum := sha512.Sum512(text)
	centre, _, _ := strings.Cut(strings.TrimPrefix(s.Topic, origin), "/")
	n := &notification{
		ID:         uuid.NewSHA1(h.UUID, []byte("wis2 "+identifier)),
		ConformsTo: []string{"http://wis.wmo.int/spec/wnm/1/conf/core"},
		Type:       "Feature",
		Geometry:   geometry(m.Profile, h, areas),
		Properties: properties{
			PubTime: stamp(hazard.At(now)), DataID: centre + "/" + string(h.Type) + "/" + identifier, MetadataID: s.Dataset,
			Start: stamp(min(h.Start, expires)), End: stamp(expires), Integrity: integrity{"sha512", sum[:]},
		},
		Links: []link{{s.BaseURL + publish.Address(identifier), "canonical", "application/cap+xml", len(text)}},
	}
	if len(text) <= maxContent {
		n.Properties.Content = &content{"utf-8", len(text), string(text)}
	}
	payload, err := json.Marshal(n)
	if err == nil && len(payload) > maxNotification { // the document is at its address
		n.Properties.Content = nil
		payload, err = json.Marshal(n)
	}
	if err == nil && len(payload) > maxNotification {
		err = errors.New("the notification is larger than WIS2 allows")
	}
	return payload, err
}

// stamp formats a moment as RFC 3339 in UTC.
func stamp(at hazard.Instant) string { return at.Time().UTC().Format("2006-01-02T15:04:05.000Z07:00") }

// geometry returns the area of a message as a WNM can have it: its outline if that is one polygon,
// else the box around it, which is never smaller. A circle becomes its center. A hazard that is only
// somewhere in a region has none.
func geometry(p *publisher.Profile, h *hazard.Hazard, areas []hazard.Area) jsontext.Value {
	if h.Somewhere() {
		return jsontext.Value("null")
	}
	outline, circle := format.PublishedArea(p, h, areas)
	polygons := outline.Outline(maxCorners).Polygons()
	west, south, east, north := outline.Bounds()
	switch {
	case circle > 0 || len(polygons) == 0:
		return geoJSON("Point", geo.Position{h.Longitude, h.Latitude})
	case len(polygons) == 1 && len(polygons[0][0]) <= maxCorners+1:
		return geoJSON("Polygon", polygons[0][:1])
	case west > east: // the box would cross the antimeridian, which a Polygon must not
		west, east = -180, 180
	}
	return geoJSON("Polygon", [][]geo.Position{{{west, south}, {east, south}, {east, north}, {west, north}, {west, south}}})
}

func geoJSON(kind string, coordinates any) jsontext.Value {
	text, err := json.Marshal(struct {
		Type        string `json:"type"`
		Coordinates any    `json:"coordinates"`
	}{kind, coordinates})
	if err != nil {
		panic(err) // of numbers
	}
	return text
}
