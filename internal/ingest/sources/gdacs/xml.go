package gdacs

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/ingest/lenient"
	"github.com/hazardd/hazardd/internal/ingest/source"
)

// maxElements bounds the elements of one record. The largest recorded one has 400.
const maxElements = 5000

// Namespaces. CAP is recognized by the beginning of its namespace, in any version.
const (
	gdacsSpace = "http://www.gdacs.org"
	geoSpace   = "http://www.w3.org/2003/01/geo/wgs84_pos#"
	rssSpace   = "http://www.georss.org/georss"
	capSpace   = "urn:oasis:names:tc:emergency:cap:"
)

// xml reads an RSS feed, an RSS index of CAP messages, or one CAP message.
func (p *parser) xml(payload []byte) error {
	text, err := lenient.Text(payload, "windows-1252") // the service sends this charset, whatever it declares
	if err != nil {
		return err
	}
	_, err = lenient.XML{Want: "RSS or a CAP alert", Roots: []string{"rss", "alert"}, Records: []string{"item", "alert"}}.Read(text, func(e lenient.Element) {
		where := "alert"
		if e.Name == "item" {
			where = "item/" + strconv.Itoa(p.Batch.Read)
		}
		p.Batch.Read++
		p.element(e, where)
	})
	return err
}

// element reads a record: an RSS item, an item that contains a CAP message, or a CAP message.
func (p *parser) element(record lenient.Element, where string) {
	n, notes, err := record.Tree(lenient.Limits{Elements: maxElements})
	if err != nil {
		p.Reject(lenient.At(where), record.Raw, err.Error())
		return
	}
	alert := n
	if n.Name == "item" {
		if alert = n.Child("*", "alert"); alert.Name == "" {
			e, reason := rssEvent(n)
			p.record(e, notes, reason, where, record.Raw)
			return
		}
	}
	if !strings.HasPrefix(alert.Space, capSpace) {
		p.Reject(lenient.At(where), record.Raw, fault("alert", alert.Space, "the namespace of CAP"))
		return
	}
	e, reason := capEvent(alert)
	if strings.HasPrefix(reason, source.Ignoring) {
		p.Decline(lenient.At(cmp.Or(hazard.CleanLine(alert.Get("*", "identifier")), where)), record.Raw, reason)
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
	p.record(e, notes, reason, where, record.Raw)
}

func (p *parser) record(e *event, notes []string, reason, where string, raw []byte) {
	if reason != "" {
		p.Reject(lenient.At(where), raw, append(notes, reason)...)
		return
	}
	e.mended = append(e.mended, notes...)
	p.add(e, where, raw)
}

// geoPoint sets the position from geo:Point, or from georss:point, where latitude comes first.
func (e *event) geoPoint(item *lenient.Node) (reason string) {
	at := item.Child(geoSpace, "Point")
	first, second := at.Get(geoSpace, "lat"), at.Get(geoSpace, "long")
	if first == "" || second == "" {
		words := strings.Fields(item.Get(rssSpace, "point"))
		if len(words) != 2 {
			return ""
		}
		first, second = words[0], words[1]
	}
	if reason = e.pointOf(first, second); reason == "" {
		return ""
	}
	if words := strings.Fields(item.Get(rssSpace, "point")); len(words) == 2 && e.pointOf(words[0], words[1]) == "" {
		e.mended = append(e.mended, reason+"; read from georss:point")
		return ""
	}
	return reason
}

func (e *event) pointOf(first, second string) (reason string) {
	lat, ok1 := number(first)
	lon, ok2 := number(second)
	if !ok1 || !ok2 {
		return fault("point", first+" "+second, "latitude and longitude in degrees")
	}
	return e.place(lon, lat)
}

var volcanoPage = regexp.MustCompile(`^https?://volcano\.si\.edu/volcano\.cfm\?vn=(\d{6})$`)

// rssEvent returns the event of an RSS item. All data is in elements of GDACS's own namespace. The
// title and the description repeat it in words, with dates in both orders of day and month.
func rssEvent(n *lenient.Node) (e *event, reason string) {
	get := func(name string) string { return n.Get(gdacsSpace, name) }
	e = &event{
		form: rssForm, code: strings.ToUpper(get("eventtype")), number: get("eventid"), episode: get("episodeid"),
		name: get("eventname"), country: get("country"), level: get("episodealertlevel"), highest: get("alertlevel"), titles: []string{n.Get("", "title")},
		from: get("fromdate"), to: get("todate"), modified: cmp.Or(get("datemodified"), n.Get("", "pubDate")),
		// The value is the maximum over the life of a storm; the text is the present state.
		magnitude: n.Child(gdacsSpace, "severity").Attr("value"), severity: get("severity"),
		impact: cmp.Or(get("population"), victims(n.Get("", "description"))), glide: get("glide"), temporary: get("temporary"),
		current: get("iscurrent"),
	}
	if e.code == "" {
		return nil, fault("gdacs:eventtype", "", "one of EQ, TC, FL, VO, DR, WF, TS")
	}
	if reason := e.geoPoint(n); reason != "" {
		e.doubts = append(e.doubts, reason)
	}
	for _, id := range n.Child(gdacsSpace, "identifiers").All(gdacsSpace, "identifier") {
		if id.Attr("id") == "neicid" {
			e.sourceID = strings.TrimSpace(id.Text)
		}
	}
	for _, r := range n.Child(gdacsSpace, "resources").All(gdacsSpace, "resource") {
		id, address := r.Attr("id"), r.Attr("url")
		if access := r.Get(gdacsSpace, "accesslevel"); access != "Public" && access != "Link" {
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

// victims returns the figures at the end of a flood's description.
func victims(description string) string {
	if m := victimsText.FindStringSubmatch(lenient.Clip(description, maxText)); m != nil {
		return m[1]
	}
	return ""
}

var (
	capID = regexp.MustCompile(`^GDACS_([A-Z]{2})_(\d+)_(\d+)$`)
	// headlineLevel and headlineDate match parts of the headline of a message without parameters:
	// "Green earthquake alert (Magnitude 4.5M, Depth:10km) in Argentina 26/07/2021 01:05 UTC,
	// 180000 people within 100km."
	headlineLevel = regexp.MustCompile(`^(Green|Orange|Red) `)
	headlinePlace = regexp.MustCompile(`\) in (.+) (\d{2})/(\d{2})/(\d{4}) (\d{2}:\d{2}) UTC`)
)

// capEvent returns the event of a CAP message. It returns nil without a reason if the message is
// not public or not about an event. All data is in parameters. severity, urgency (always Past),
// sent (hours off) and expires (missing) are not useful.
func capEvent(alert *lenient.Node) (e *event, reason string) {
	get := func(name string) string { return alert.Get("*", name) }
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
		return nil, source.Ignoring + "the status is Test, System or Draft: not for the public (CAP 1.2, 3.2.1)"
	default:
		return nil, fault("status", status, "Actual, Exercise, System, Test or Draft")
	}
	switch kind := get("msgType"); kind {
	case "Alert", "Update":
	case "Cancel":
		e.cancelled = true
	case "Ack", "Error":
		return nil, source.Ignoring + "an acknowledgment, or a report of an error (msgType), for other systems"
	default:
		return nil, fault("msgType", kind, "Alert, Update, Cancel, Ack or Error")
	}
	if scope := get("scope"); scope != "" && scope != "Public" {
		return nil, source.Ignoring + "the scope is Restricted or Private: not for the public"
	}
	id := capID.FindStringSubmatch(get("identifier"))
	if id == nil {
		return nil, fault("identifier", get("identifier"), "GDACS, type, event and episode such as GDACS_EQ_1279931_1389192")
	}
	e.code, e.number, e.episode = id[1], id[2], id[3]
	info := alert.Child("*", "info")
	parameters := map[string]string{}
	for _, p := range info.All("*", "parameter") {
		parameters[p.Get("*", "valueName")] = p.Get("*", "value")
	}
	for name, own := range map[string]string{"eventtype": e.code, "eventid": e.number} {
		if v := parameters[name]; v != "" && v != own {
			return nil, fault("parameter "+name, v, own+" as in the identifier")
		}
	}
	headline := strings.Join(strings.Fields(info.Get("*", "headline")), " ")
	e.name, e.country = parameters["eventname"], parameters["country"]
	e.highest, e.titles = parameters["alertlevel"], []string{headline}
	e.from, e.to, e.modified = parameters["fromdate"], parameters["todate"], parameters["datemodified"]
	e.severity, e.impact, e.glide = parameters["severity"], parameters["population"], parameters["glide"]
	e.agency = parameters["sourceid"] // here it is an agency's name, not an id
	e.seconds = get("sent")
	if len(parameters) == 0 {
		e.fromHeadline(headline)
	}
	if m := headlineLevel.FindStringSubmatch(headline); m != nil && e.highest == "" {
		e.highest = m[1]
	}
	for _, area := range info.All("*", "area") {
		for _, polygon := range area.All("*", "polygon") {
			// It is the circle around an earthquake, or the wind of a storm.
			class := map[bool]string{true: "Poly_Green", false: "Poly_Circle"}[e.code == "TC"]
			e.areas = append(e.areas, areas(e.code, []shape{{class: class, geometry: capPolygon(polygon.Text)}})...)
		}
	}
	return e, ""
}

// fromHeadline reads the values that are only in the headline. Its date is day, month, year.
func (e *event) fromHeadline(headline string) {
	e.severity = headline
	if m := headlinePlace.FindStringSubmatch(headline); m != nil {
		e.country = m[1]
		e.from = fmt.Sprintf("%s-%s-%sT%s:00", m[4], m[3], m[2], m[5])
	}
}

// middle sets the position to the center of the circle that is drawn around it.
func (e *event) middle(alert *lenient.Node) {
	for _, area := range alert.Child("*", "info").All("*", "area") {
		for _, polygon := range area.All("*", "polygon") {
			if lon, lat, ok := middle([]shape{{class: "Poly_Circle", geometry: capPolygon(polygon.Text)}}); ok && e.code != "TC" {
				_ = e.place(lon, lat)
				return
			}
		}
	}
}
