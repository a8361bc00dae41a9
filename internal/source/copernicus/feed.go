package copernicus

import (
	"cmp"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/source"
	"github.com/hazardd/hazardd/internal/source/frame"
)

const (
	site = "https://rapidmapping.emergency.copernicus.eu/"
	api  = site + "backend/dashboard-api/"
)

// Config says how activations are taken.
type Config struct {
	// RespondOnActivation: an activation makes the event's category RESPONSE. Else it stays EVENT.
	RespondOnActivation bool
}

// DefaultConfig is how activations are taken unless an operator sets it otherwise.
func DefaultConfig() Config { return Config{RespondOnActivation: true} }

// Parse reads a document with the DefaultConfig.
func Parse(payload []byte, now hazard.Instant) (source.Batch, error) {
	return DefaultConfig().Parse(payload, now)
}

// activation is one as the interfaces give it. The rapid mapping list, the unified list and the detail differ in what they
// have, and in the form of countries and category.
type activation struct {
	Code     text  `json:"code"`     // EMSR888; EMSN… is risk and recovery mapping
	Name     text  `json:"name"`     // "Wildfires in Les Gavarres, Spain"
	Category named `json:"category"` // "Wildfire", or {slug, name}
	// SubCategory ("Tropical cyclone, hurricane, typhoon") is in the detail only.
	SubCategory text  `json:"subCategory"`
	Countries   names `json:"countries"` // ["Spain"], [{short_name}] or [{name}]

	// Times are UTC, without zone. The event may be later than the activation, if it was forecast; the unified list has it not.
	EventTime      text `json:"eventTime"`
	ActivationTime text `json:"activationTime"`
	LastUpdate     text `json:"lastUpdate"` // not in the detail

	Closed    text           `json:"closed"`
	Sensitive jsontext.Value `json:"sensitive"` // not for the public
	DRMPhase  text           `json:"drmPhase"`  // of the unified list: "response", or what is no emergency

	Centroid text `json:"centroid"` // POINT (lon lat)
	Extent   text `json:"extent"`   // the box around all areas of interest, as POLYGON

	GDACS     text `json:"gdacsId"`       // type and event ("TC1001230")
	Charter   text `json:"charterNumber"` // activation of the International Charter
	CharterAt text `json:"charterUrl"`

	Reason    text           `json:"reason"`         // why, in words
	Snippet   text           `json:"search_snippet"` // the beginning of it
	Activator text           `json:"activator"`      // "Spain|Ministry of Interior - …"
	ReportAt  text           `json:"reportLink"`
	AllAt     text           `json:"productsPath"` // a ZIP of all products
	Stats     jsontext.Value `json:"stats"`        // figures by name: "Event Extent [ha]"
	AOIs      []aoi          `json:"aois"`         // nil: not a detail
}

// aoi is an area of interest, for which maps are made.
type aoi struct {
	Name     text `json:"name"`
	Number   text `json:"number"`
	Extent   text `json:"extent"` // POLYGON
	Products []struct {
		Type       text `json:"type"` // FEP, DEL, GRA, REF
		Monitoring text `json:"monitoringNumber"`
		At         text `json:"downloadPath"` // a ZIP; empty if the product was not made
		Version    struct {
			Status text `json:"statusCode"` // F finished, N not produced
			Time   text `json:"deliveryTime"`
		} `json:"version"`
	} `json:"products"`
}

// text is a string, or a number or boolean in its place; empty for null.
type text string

func (t *text) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	v, err := dec.ReadValue()
	if err != nil {
		return err
	}
	return t.from(v)
}

func (t *text) from(v jsontext.Value) error {
	switch v.Kind() {
	case 'n':
		*t = ""
	case '"':
		b, _ := jsontext.AppendUnquote(nil, v) // its error is the invalid UTF-8 that is allowed
		*t = text(b)
	case '0', 't', 'f':
		*t = text(v)
	default:
		return &frame.Unexpected{Found: said(string(v)), Expected: "a string"}
	}
	return nil
}

// named is a name, given as such or in an object.
type named string

func (c *named) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	v, err := dec.ReadValue()
	if err != nil {
		return err
	}
	var t text
	if v.Kind() == '{' {
		var full struct {
			Name  text `json:"name"`
			Slug  text `json:"slug"`       // of a category
			Short text `json:"short_name"` // of a country
		}
		if err := json.Unmarshal(v, &full, lenient); err != nil {
			return &frame.Unexpected{Found: said(string(v)), Expected: "an object with a name"}
		}
		t = cmp.Or(full.Short, full.Name, full.Slug)
	} else if err := t.from(v); err != nil {
		return err
	}
	*c = named(t)
	return nil
}

// names is a list of names.
type names []string

func (n *names) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	if dec.PeekKind() != '[' {
		v, err := dec.ReadValue()
		if err != nil || v.Kind() == 'n' {
			return err
		}
		return &frame.Unexpected{Found: said(string(v)), Expected: "an array of countries"}
	}
	if _, err := dec.ReadToken(); err != nil {
		return err
	}
	for dec.PeekKind() != ']' {
		var c named // a name, or an object with one
		if err := c.UnmarshalJSONFrom(dec); err != nil {
			return err
		}
		if name := frame.Clip(hazard.CleanLine(frame.Clip(string(c), 4*maxName)), maxName); name != "" && len(*n) < maxCountries {
			*n = append(*n, name)
		}
	}
	_, err := dec.ReadToken()
	return err
}

// maxCountries bounds the countries of an activation. The greatest recorded number is three.
const maxCountries = 50

// lenient: bytes that are not UTF-8 cost no activation, they go when the text is cleaned.
var lenient = json.JoinOptions(jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))

// Parse reads a page of either list, or a detail, which is a page of one; the same activation alone is read too.
//
// The error, if any, is a *source.PayloadError. What could be read before it is in the Batch nevertheless.
func (c Config) Parse(payload []byte, now hazard.Instant) (source.Batch, error) {
	b := frame.Batch{ID: func(raw []byte) string {
		return frame.Clip(hazard.CleanLine(frame.Clip(frame.Word(frame.Member(raw, "code")), 4*maxName)), maxName)
	}}
	record := func(where func() string, raw []byte) {
		frame.Record(&b, where, raw, func(a *activation) (*hazard.Report, string) { return c.report(a, now) })
	}
	doc, err := list.Read(payload, record)
	switch {
	case err != nil || doc.Listed != "":
	case doc.Head["results"] != nil:
		err = source.Errorf("results: %s, expected one array", frame.Excerpt(doc.Head["results"]))
	case doc.Head["code"] != nil:
		record(frame.At("results/0"), doc.Object)
	case doc.Complaint() != "":
		err = source.Errorf("an error message instead of activations: %s", doc.Complaint())
	default:
		err = source.Errorf("results: missing, expected an array of activations")
	}
	return b.Done(), err
}

var list = frame.Collection{Want: "activations", Lists: []string{"results"}, Heads: append([]string{"code"}, frame.Complaints...)}
