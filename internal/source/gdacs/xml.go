package gdacs

import (
	"bytes"
	"cmp"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/encoding/charmap"

	"hazardd/internal/source"
)

// An XML record is read into a tree. The greatest recorded one has 5 levels and 400 elements.
const (
	maxDepth    = 32
	maxElements = 5000
)

// node is an element.
type node struct {
	space, name string
	attr        []xml.Attr
	text        string
	kids        []*node
}

// Namespaces. CAP is known by the beginning of its own, whatever the version.
const (
	gdacsSpace = "http://www.gdacs.org"
	geoSpace   = "http://www.w3.org/2003/01/geo/wgs84_pos#"
	rssSpace   = "http://www.georss.org/georss"
	capSpace   = "urn:oasis:names:tc:emergency:cap:"
)

// child is the first child of that name; an empty node if there is none.
func (n *node) child(space, name string) *node {
	for _, k := range n.kids {
		if k.name == name && (k.space == space || space == capSpace && strings.HasPrefix(k.space, capSpace)) {
			return k
		}
	}
	return &node{}
}

func (n *node) all(space, name string) []*node {
	var found []*node
	for _, k := range n.kids {
		if k.name == name && (k.space == space || space == capSpace && strings.HasPrefix(k.space, capSpace)) {
			found = append(found, k)
		}
	}
	return found
}

func (n *node) get(space, name string) string { return strings.TrimSpace(n.child(space, name).text) }

func (n *node) attribute(name string) string {
	for _, a := range n.attr {
		if a.Name.Local == name {
			return strings.TrimSpace(a.Value)
		}
	}
	return ""
}

// xml reads an RSS feed, an RSS index of CAP messages, or one CAP message.
func (p *parser) xml(payload []byte) error {
	if !utf8.Valid(payload) { // whatever it declares: Windows-1252 has a character for most bytes
		payload, _ = charmap.Windows1252.NewDecoder().Bytes(payload)
	}
	dec := xml.NewDecoder(bytes.NewReader(payload))
	dec.CharsetReader = func(_ string, in io.Reader) (io.Reader, error) { return in, nil }
	depth, root, items := 0, "", 0
	for {
		before := dec.InputOffset()
		token, err := dec.Token()
		if errors.Is(err, io.EOF) && root != "" {
			return nil
		}
		if err != nil {
			return brokenXML(dec, err)
		}
		switch t := token.(type) {
		case xml.Directive:
			if html := strings.ToLower(string(t[:min(len(t), 12)])); html == "doctype html" {
				return source.Errorf("HTML, expected GeoJSON, RSS or CAP")
			}
			return source.Errorf("a declaration %s, expected none", said(string(t)))
		case xml.EndElement:
			depth--
		case xml.StartElement:
			isAlert := t.Name.Local == "alert" && strings.HasPrefix(t.Name.Space, capSpace)
			switch {
			case depth == 0 && root != "":
				return source.Errorf("a second root element %s, expected one", said(t.Name.Local))
			case depth == 0 && t.Name.Local != "rss" && !isAlert:
				return source.Errorf("the root element %s, expected rss or alert", said(t.Name.Local))
			case depth == 0:
				root = t.Name.Local
			}
			isItem := depth == 2 && t.Name.Local == "item" && t.Name.Space == ""
			if !isItem && (depth > 0 || !isAlert) {
				if depth++; depth > maxDepth {
					return source.Errorf("elements within each other more than %d deep at byte %d", maxDepth, dec.InputOffset())
				}
				continue
			}
			n := &node{space: t.Name.Space, name: t.Name.Local}
			elements := 0
			if err := n.read(dec, 1, &elements); err != nil {
				return brokenXML(dec, err)
			}
			where := "alert"
			if isItem {
				where = "item/" + strconv.Itoa(items)
			}
			items++
			p.batch.Read++
			p.element(n, where, payload[before:dec.InputOffset()], elements)
		}
	}
}

// read reads the content of an element to its end. Beyond the limits it goes on, but keeps no more.
func (n *node) read(dec *xml.Decoder, depth int, elements *int) error {
	var text strings.Builder
	for {
		token, err := dec.Token()
		if err != nil {
			return err
		}
		switch t := token.(type) {
		case xml.CharData:
			text.Write(t)
		case xml.EndElement:
			n.text = text.String()
			return nil
		case xml.StartElement:
			if *elements++; *elements > maxElements || depth >= maxDepth {
				*elements = maxElements + 1
				if err := skip(dec); err != nil {
					return err
				}
				continue
			}
			k := &node{space: t.Name.Space, name: t.Name.Local, attr: slices.Clone(t.Attr)}
			if err := k.read(dec, depth+1, elements); err != nil {
				return err
			}
			n.kids = append(n.kids, k)
		}
	}
}

// skip passes over the rest of an element, however deep it is.
func skip(dec *xml.Decoder) error {
	for depth := 1; depth > 0; {
		token, err := dec.Token()
		if err != nil {
			return err
		}
		switch token.(type) {
		case xml.StartElement:
			depth++
		case xml.EndElement:
			depth--
		}
	}
	return nil
}

func brokenXML(dec *xml.Decoder, err error) error {
	bad, ok := errors.AsType[*xml.SyntaxError](err)
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || ok && strings.Contains(bad.Msg, "unexpected EOF") {
		return &source.PayloadError{Reason: fmt.Sprintf("the payload ends early, at byte %d", dec.InputOffset()), Cut: true}
	}
	return &source.PayloadError{Reason: fmt.Sprintf("not XML at byte %d: %s", dec.InputOffset(), said(err.Error())), Cut: true}
}

// element reads a record: an item of RSS, one that holds a CAP message, or a CAP message.
func (p *parser) element(n *node, where string, raw []byte, elements int) {
	if elements > maxElements {
		p.reject(where, fmt.Sprintf("more than %d elements, or more than %d within each other", maxElements, maxDepth), raw)
		return
	}
	alert := n
	if n.name == "item" {
		if alert = n.child(capSpace, "alert"); alert.name == "" {
			e, reason := rssEvent(n)
			p.record(e, reason, where, raw)
			return
		}
	}
	e, reason := capEvent(alert)
	if e == nil && reason == "" {
		p.batch.Ignored++
		return
	}
	if e != nil && n != alert {
		if reason := e.geoPoint(n); reason != "" {
			e.doubts = append(e.doubts, reason)
		}
	}
	if e != nil && e.point == nil {
		e.middle(alert)
	}
	p.record(e, reason, where, raw)
}

func (p *parser) record(e *event, reason, where string, raw []byte) {
	if reason != "" {
		p.reject(where, reason, raw)
		return
	}
	p.add(e, where, raw)
}

// geoPoint sets the position from geo:Point, or from georss:point, which is latitude and longitude.
func (e *event) geoPoint(item *node) (reason string) {
	at := item.child(geoSpace, "Point")
	first, second := at.get(geoSpace, "lat"), at.get(geoSpace, "long")
	if first == "" || second == "" {
		words := strings.Fields(item.get(rssSpace, "point"))
		if len(words) != 2 {
			return ""
		}
		first, second = words[0], words[1]
	}
	lat, ok1 := number(first)
	lon, ok2 := number(second)
	if !ok1 || !ok2 {
		return fault("point", first+" "+second, "latitude and longitude in degrees")
	}
	return e.place(lon, lat)
}

var volcanoPage = regexp.MustCompile(`^https?://volcano\.si\.edu/volcano\.cfm\?vn=(\d{6})$`)

// rssEvent is what an item of RSS says. Everything is in the members of GDACS's own namespace; the title and the description say
// the same in words, with dates of both orders.
func rssEvent(n *node) (e *event, reason string) {
	get := func(name string) string { return n.get(gdacsSpace, name) }
	e = &event{
		form: rssForm, code: strings.ToUpper(get("eventtype")), number: get("eventid"), episode: get("episodeid"),
		name: get("eventname"), country: get("country"), level: get("episodealertlevel"), highest: get("alertlevel"), titles: []string{n.get("", "title")},
		from: get("fromdate"), to: get("todate"), modified: cmp.Or(get("datemodified"), n.get("", "pubDate")),
		// The value is the maximum of a storm's life, the text its present.
		magnitude: n.child(gdacsSpace, "severity").attribute("value"), severity: get("severity"),
		impact: cmp.Or(get("population"), victims(n.get("", "description"))), glide: get("glide"), temporary: get("temporary"),
		current: get("iscurrent"),
	}
	if e.code == "" {
		return nil, fault("gdacs:eventtype", "", "one of EQ, TC, FL, VO, DR, WF, TS")
	}
	if reason := e.geoPoint(n); reason != "" {
		e.doubts = append(e.doubts, reason)
	}
	for _, id := range n.child(gdacsSpace, "identifiers").all(gdacsSpace, "identifier") {
		if id.attribute("id") == "neicid" {
			e.sourceID = strings.TrimSpace(id.text)
		}
	}
	for _, r := range n.child(gdacsSpace, "resources").all(gdacsSpace, "resource") {
		id, address := r.attribute("id"), r.attribute("url")
		if access := r.get(gdacsSpace, "accesslevel"); access != "Public" && access != "Link" {
			continue
		}
		if slices.ContainsFunc(linkRows, func(row struct{ id, title string }) bool { return row.id == id }) {
			e.links = append(e.links, link{id: id, address: address})
		}
		if m := volcanoPage.FindStringSubmatch(address); m != nil && e.code == "VO" {
			e.refs = append(e.refs, "gvp:"+m[1])
		}
	}
	return e, ""
}

var victimsText = regexp.MustCompile(`caused (\d+ (?:deaths?|killed) and \d+ displaced)`)

// victims are the figures that the description of a flood ends with.
func victims(description string) string {
	if m := victimsText.FindStringSubmatch(clip(description, maxText)); m != nil {
		return m[1]
	}
	return ""
}

var (
	capID = regexp.MustCompile(`^GDACS_([A-Z]{2})_(\d+)_(\d+)$`)
	// headlineLevel and headlineDate are what a headline says that has no parameters beside it: "Green earthquake alert
	// (Magnitude 4.5M, Depth:10km) in Argentina 26/07/2021 01:05 UTC, 180000 people within 100km."
	headlineLevel = regexp.MustCompile(`^(Green|Orange|Red) `)
	headlinePlace = regexp.MustCompile(`\) in (.+) (\d{2})/(\d{2})/(\d{4}) (\d{2}:\d{2}) UTC`)
)

// capEvent is what a CAP message says; nil without a reason if it is not for the public or no message about an event. All data is
// in parameters; severity, urgency (always Past), sent (hours off) and expires (absent) say nothing of use.
func capEvent(alert *node) (e *event, reason string) {
	get := func(name string) string { return alert.get(capSpace, name) }
	for _, name := range []string{"identifier", "sender", "sent", "status", "msgType"} {
		if get(name) == "" {
			return nil, name + ": missing, expected one, as CAP requires"
		}
	}
	e = &event{form: capForm}
	switch status := get("status"); status {
	case "Actual":
	case "Exercise":
		e.exercise = true
	case "Test", "System", "Draft":
		return nil, ""
	default:
		return nil, fault("status", status, "Actual, Exercise, System, Test or Draft")
	}
	switch kind := get("msgType"); kind {
	case "Alert", "Update":
	case "Cancel":
		e.cancelled = true
	case "Ack", "Error":
		return nil, ""
	default:
		return nil, fault("msgType", kind, "Alert, Update, Cancel, Ack or Error")
	}
	if scope := get("scope"); scope != "" && scope != "Public" {
		return nil, ""
	}
	id := capID.FindStringSubmatch(get("identifier"))
	if id == nil {
		return nil, fault("identifier", get("identifier"), "GDACS, type, event and episode such as GDACS_EQ_1279931_1389192")
	}
	e.code, e.number, e.episode = id[1], id[2], id[3]
	info := alert.child(capSpace, "info")
	parameters := map[string]string{}
	for _, p := range info.all(capSpace, "parameter") {
		parameters[p.get(capSpace, "valueName")] = p.get(capSpace, "value")
	}
	for name, own := range map[string]string{"eventtype": e.code, "eventid": e.number} {
		if v := parameters[name]; v != "" && v != own {
			return nil, fault("parameter "+name, v, own+" as in the identifier")
		}
	}
	headline := strings.Join(strings.Fields(info.get(capSpace, "headline")), " ")
	e.name, e.country = parameters["eventname"], parameters["country"]
	e.highest, e.titles = parameters["alertlevel"], []string{headline}
	e.from, e.to, e.modified = parameters["fromdate"], parameters["todate"], parameters["datemodified"]
	e.severity, e.impact, e.glide = parameters["severity"], parameters["population"], parameters["glide"]
	e.agency = parameters["sourceid"] // an agency's name here, no id
	e.seconds = get("sent")
	if len(parameters) == 0 {
		e.fromHeadline(headline)
	}
	if m := headlineLevel.FindStringSubmatch(headline); m != nil && e.highest == "" {
		e.highest = m[1]
	}
	for _, area := range info.all(capSpace, "area") {
		for _, polygon := range area.all(capSpace, "polygon") {
			// It is the circle of an earthquake, or the wind of a storm.
			class := map[bool]string{true: "Poly_Green", false: "Poly_Circle"}[e.code == "TC"]
			e.areas = append(e.areas, areas(e.code, []shape{{class: class, geometry: capPolygon(polygon.text)}})...)
		}
	}
	return e, ""
}

// fromHeadline reads what the headline alone says. Its date is day, month, year.
func (e *event) fromHeadline(headline string) {
	e.severity = headline
	if m := headlinePlace.FindStringSubmatch(headline); m != nil {
		e.country = m[1]
		e.from = fmt.Sprintf("%s-%s-%sT%s:00", m[4], m[3], m[2], m[5])
	}
}

// middle sets the position to the middle of the circle that is drawn around it.
func (e *event) middle(alert *node) {
	for _, area := range alert.child(capSpace, "info").all(capSpace, "area") {
		for _, polygon := range area.all(capSpace, "polygon") {
			if lon, lat, ok := middle([]shape{{class: "Poly_Circle", geometry: capPolygon(polygon.text)}}); ok && e.code != "TC" {
				_ = e.place(lon, lat)
				return
			}
		}
	}
}
