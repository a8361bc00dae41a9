package copernicus

import (
	"cmp"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/ingest/lenient"
	"github.com/hazardd/hazardd/internal/ingest/source"
)

const (
	site = "https://rapidmapping.emergency.copernicus.eu/"
	api  = site + "backend/dashboard-api/"
)

// config says how activations are processed.
type config struct {
	// RespondOnActivation means that an activation makes the event's category RESPONSE. Otherwise
	// it stays EVENT.
	RespondOnActivation bool
}

// defaultConfig returns the configuration that is used unless an operator changes it.
func defaultConfig() config { return config{RespondOnActivation: true} }

// Parse reads a document with the defaultConfig.
func Parse(payload []byte, now hazard.Instant) (source.Batch, error) {
	return defaultConfig().Parse(payload, now)
}

// activation is an activation as in the interfaces. The rapid mapping list, the unified list and
// the detail have different members, and different formats of countries and category.
type activation struct {
	Code     text  `json:"code"`     // EMSR888; EMSN… means risk and recovery mapping
	Name     text  `json:"name"`     // "Wildfires in Les Gavarres, Spain"
	Category named `json:"category"` // "Wildfire", or {slug, name}
	// SubCategory ("Tropical cyclone, hurricane, typhoon") is only in the detail.
	SubCategory text  `json:"subCategory"`
	Countries   names `json:"countries"` // ["Spain"], [{short_name}] or [{name}]

	// Times are in UTC, without zone. A forecast event may be later than its activation; the
	// unified list does not contain the event's time.
	EventTime      text `json:"eventTime"`
	ActivationTime text `json:"activationTime"`
	LastUpdate     text `json:"lastUpdate"` // not in the detail

	Closed    text           `json:"closed"`
	Sensitive jsontext.Value `json:"sensitive"` // true if not public
	DRMPhase  text           `json:"drmPhase"`  // in the unified list: "response", or a phase that is not an emergency

	Centroid text `json:"centroid"` // POINT (lon lat)
	Extent   text `json:"extent"`   // the box around all areas of interest, as POLYGON

	GDACS     text `json:"gdacsId"`       // type and number of the event ("TC1001230")
	Charter   text `json:"charterNumber"` // number of the activation of the International Charter
	CharterAt text `json:"charterUrl"`

	Reason    text           `json:"reason"`         // the reason for the activation, in words
	Snippet   text           `json:"search_snippet"` // the beginning of the reason
	Activator text           `json:"activator"`      // "Spain|Ministry of Interior - …"
	ReportAt  text           `json:"reportLink"`
	AllAt     text           `json:"productsPath"` // a ZIP of all products
	Stats     jsontext.Value `json:"stats"`        // figures by name: "Event Extent [ha]"
	AOIs      []aoi          `json:"aois"`         // nil if this is not a detail
}

// aoi is an area of interest, for which maps are produced.
type aoi struct {
	Name     text `json:"name"`
	Number   text `json:"number"`
	Extent   text `json:"extent"` // POLYGON
	Products []struct {
		Type       text `json:"type"` // FEP, DEL, GRA, REF
		Monitoring text `json:"monitoringNumber"`
		At         text `json:"downloadPath"` // address of a ZIP file; empty if the product was not produced
		Version    struct {
			Status text `json:"statusCode"` // F finished, N not produced
			Time   text `json:"deliveryTime"`
		} `json:"version"`
	} `json:"products"`
}

// text is a string, or a number or boolean written as a string; empty for null.
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
		b, _ := jsontext.AppendUnquote(nil, v) // the only possible error is invalid UTF-8, which is allowed
		*t = text(b)
	case '0', 't', 'f':
		*t = text(v)
	default:
		return &lenient.Unexpected{Found: quote(string(v)), Expected: "a string"}
	}
	return nil
}

// named is a name, as a string or in an object.
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
			Slug  text `json:"slug"`       // in a category
			Short text `json:"short_name"` // in a country
		}
		if err := json.Unmarshal(v, &full, tolerant); err != nil {
			return &lenient.Unexpected{Found: quote(string(v)), Expected: "an object with a name"}
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
		return &lenient.Unexpected{Found: quote(string(v)), Expected: "an array of countries"}
	}
	if _, err := dec.ReadToken(); err != nil {
		return err
	}
	for dec.PeekKind() != ']' {
		var c named // each element is a name, or an object with one
		if err := c.UnmarshalJSONFrom(dec); err != nil {
			return err
		}
		if name := lenient.Clip(hazard.CleanLine(lenient.Clip(string(c), 4*maxName)), maxName); name != "" && len(*n) < maxCountries {
			*n = append(*n, name)
		}
	}
	_, err := dec.ReadToken()
	return err
}

// maxCountries bounds the countries of an activation. The largest recorded number is three.
const maxCountries = 50

// tolerant accepts invalid UTF-8, which is removed when texts are cleaned.
var tolerant = json.JoinOptions(jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))

// Parse reads a page of either list, or a detail, which is a page with one activation. It also
// reads a single activation without a page.
//
// The error, if any, is a *source.PayloadError. The Batch still contains the part before the error.
func (c config) Parse(payload []byte, now hazard.Instant) (source.Batch, error) {
	b := lenient.Batch{ID: func(raw []byte) string {
		return lenient.Clip(hazard.CleanLine(lenient.Clip(lenient.Word(lenient.Member(raw, "code")), 4*maxName)), maxName)
	}}
	record := func(where func() string, raw []byte) {
		lenient.Record(&b, where, raw, func(a *activation) (*hazard.Report, string) { return c.report(a, now) })
	}
	doc, err := list.Read(payload, record)
	switch {
	case err != nil || doc.Listed != "":
	case doc.Head["results"] != nil:
		err = source.Errorf("results: %s, expected one array", lenient.Excerpt(doc.Head["results"]))
	case doc.Head["code"] != nil:
		record(lenient.At("results/0"), doc.Object)
	case doc.Complaint() != "":
		err = source.Errorf("an error message instead of activations: %s", doc.Complaint())
	default:
		err = source.Errorf("results: missing, expected an array of activations")
	}
	return b.Done(), err
}

var list = lenient.Collection{Want: "activations", Lists: []string{"results"}, Heads: append([]string{"code"}, lenient.Complaints...)}
