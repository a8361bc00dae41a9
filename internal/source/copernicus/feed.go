package copernicus

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"hazardd/internal/hazard"
	"hazardd/internal/source"
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

	Closed    text `json:"closed"`
	Sensitive text `json:"sensitive"` // not for the public
	DRMPhase  text `json:"drmPhase"`  // of the unified list: "response", or what is no emergency

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
		return fmt.Errorf("%s, expected a string", said(string(v)))
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
			return errors.New(said(string(v)) + ", expected an object with a name")
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
		return errors.New(said(string(v)) + ", expected an array of countries")
	}
	if _, err := dec.ReadToken(); err != nil {
		return err
	}
	for dec.PeekKind() != ']' {
		var c named // a name, or an object with one
		if err := c.UnmarshalJSONFrom(dec); err != nil {
			return err
		}
		if name := clip(hazard.CleanLine(clip(string(c), 4*maxName)), maxName); name != "" && len(*n) < maxCountries {
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

// maxRejects bounds the rejects of one payload that are kept one by one.
const maxRejects = 1000

// Parse reads a page of either list, or a detail, which is a page of one; the same activation alone is read too.
//
// The error, if any, is a *source.PayloadError. What could be read before it is in the Batch nevertheless.
func (c Config) Parse(payload []byte, now hazard.Instant) (source.Batch, error) {
	p := parser{config: c, now: now}
	err := p.document(bytes.TrimSpace(bytes.TrimPrefix(bytes.TrimSpace(payload), []byte("\ufeff"))))
	if p.unkept > 0 {
		p.batch.Rejects = append(p.batch.Rejects, source.Reject{
			Record: "results", Reason: fmt.Sprintf("%d further records could not be read", p.unkept),
		})
	}
	return p.batch, err
}

type parser struct {
	config Config
	now    hazard.Instant
	batch  source.Batch
	unkept int // rejects beyond maxRejects
}

func (p *parser) document(payload []byte) error {
	switch {
	case len(payload) == 0:
		return source.Errorf("an empty payload, expected a JSON object")
	case payload[0] == '<':
		return source.Errorf("HTML or XML (begins with %s), expected a JSON object", said(string(payload[:min(len(payload), maxSaid)])))
	case payload[0] != '{':
		return source.Errorf("begins with %s, expected a JSON object", said(string(payload[:min(len(payload), maxSaid)])))
	}
	dec := jsontext.NewDecoder(bytes.NewBuffer(payload), lenient)
	if _, err := dec.ReadToken(); err != nil {
		return broken(dec, err)
	}
	complaint, results := "", false
	single := false
	for dec.PeekKind() != '}' {
		name, err := dec.ReadToken()
		if err != nil {
			return broken(dec, err)
		}
		member := name.String()
		if member == "results" && dec.PeekKind() == '[' && !results {
			results = true
			if err := p.results(dec, payload); err != nil {
				return err
			}
			continue
		}
		v, err := dec.ReadValue()
		if err != nil {
			return broken(dec, err)
		}
		switch member {
		case "results":
			return source.Errorf("results: %s, expected one array", said(string(v)))
		case "code":
			single = true
		case "detail", "message", "error", "title":
			var t text
			if t.from(v) == nil && t != "" {
				complaint = strings.TrimPrefix(complaint+", "+string(t), ", ")
			}
		}
	}
	if _, err := dec.ReadToken(); err != nil {
		return broken(dec, err)
	}
	end := dec.InputOffset()
	if _, err := dec.ReadToken(); err != io.EOF {
		return source.Errorf("something follows the document, at byte %d, expected its end", end)
	}
	switch {
	case results:
		return nil
	case single:
		p.record(payload, 0)
		return nil
	case complaint != "":
		return source.Errorf("an error message instead of activations: %s", said(complaint))
	}
	return source.Errorf("results: missing, expected an array of activations")
}

func (p *parser) results(dec *jsontext.Decoder, payload []byte) error {
	if _, err := dec.ReadToken(); err != nil {
		return broken(dec, err)
	}
	for i := 0; dec.PeekKind() != ']'; i++ {
		v, err := dec.ReadValue()
		if err != nil {
			return broken(dec, err)
		}
		end := dec.InputOffset()
		p.record(payload[end-int64(len(v)):end], i)
	}
	if _, err := dec.ReadToken(); err != nil {
		return broken(dec, err)
	}
	return nil
}

// record reads the i-th activation.
func (p *parser) record(raw []byte, i int) {
	p.batch.Read++
	var a activation
	if err := json.Unmarshal(raw, &a, lenient); err != nil {
		p.reject("", i, func() string { return readable(err) }, raw)
		return
	}
	r, ignored, reason := p.config.report(&a, p.now)
	switch {
	case reason != "":
		p.reject(string(a.Code), i, func() string { return reason }, raw)
	case ignored != "":
		p.batch.Ignored++
	default:
		p.batch.Reports = append(p.batch.Reports, r)
	}
}

// reject notes a record that could not be read.
func (p *parser) reject(code string, i int, reason func() string, raw []byte) {
	if len(p.batch.Rejects) >= maxRejects {
		p.unkept++
		return
	}
	record := cmp.Or(clip(hazard.CleanLine(clip(code, 4*maxName)), maxName), "results/"+strconv.Itoa(i))
	p.batch.Rejects = append(p.batch.Rejects, source.Reject{Record: record, Reason: reason(), Raw: source.Keep(raw)})
}

// broken is the error of a payload that cannot be read further.
func broken(dec *jsontext.Decoder, err error) error {
	if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) {
		return &source.PayloadError{Reason: fmt.Sprintf("the payload ends early, at byte %d", dec.InputOffset()), Cut: true}
	}
	return &source.PayloadError{Reason: fmt.Sprintf("not JSON at byte %d: %s", dec.InputOffset(), said(err.Error())), Cut: true}
}

// readable is an error of the JSON reader as a sentence: the member, what it is, what was expected.
func readable(err error) string {
	e, ok := errors.AsType[*json.SemanticError](err)
	if !ok {
		return clip(hazard.CleanLine(err.Error()), 4*maxSaid)
	}
	member := cmp.Or(clip(hazard.CleanLine(strings.TrimPrefix(string(e.JSONPointer), "/")), maxSaid), "the record")
	if e.Err != nil {
		return member + ": " + clip(hazard.CleanLine(e.Err.Error()), 4*maxSaid)
	}
	return fmt.Sprintf("%s: a JSON %v, expected an object", member, e.JSONKind)
}
