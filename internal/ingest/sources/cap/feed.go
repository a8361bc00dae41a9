package cap

import (
	"bytes"
	"fmt"
	"net/url"
	"strings"

	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/ingest/lenient"
	"github.com/hazardd/hazardd/internal/ingest/source"
)

// Alert is one message. Its fields follow CAP 1.2 (OASIS, 1 July 2010), section 3.2; comments name
// deviations in practice.
type Alert struct {
	Identifier  string   `xml:"identifier"` // "uniquely identifying this message, assigned by the sender"; not the event
	Sender      string   `xml:"sender"`     // "identifies the originator of this alert"; not the name of an agency
	Sent        string   `xml:"sent"`       // "the time and date of the origination of the alert message"
	Status      string   `xml:"status"`     // Actual, Exercise, System, Test, Draft
	MsgType     string   `xml:"msgType"`    // Alert, Update, Cancel, Ack, Error
	Source      string   `xml:"source"`
	Scope       string   `xml:"scope"` // Public, Restricted, Private
	Note        string   `xml:"note"`
	Code        []string `xml:"code"`       // "special handling"; names of profiles
	References  string   `xml:"references"` // "sender,identifier,sent" of earlier messages, separated by white space
	Incidents   string   `xml:"incidents"`  // "used to collate multiple messages referring to different aspects of the same incident"
	Information []Info   `xml:"info"`
}

// Info is one info block of a message: one event or phase of it, in one language.
type Info struct {
	Language     string     `xml:"language"` // RFC 3066; en-US if missing
	Category     []string   `xml:"category"`
	Event        string     `xml:"event"` // "the type of the subject event", in the sender's words
	ResponseType []string   `xml:"responseType"`
	Urgency      string     `xml:"urgency"`   // Immediate, Expected, Future, Past, Unknown; Past alone does not end an event
	Severity     string     `xml:"severity"`  // Extreme, Severe, Moderate, Minor, Unknown
	Certainty    string     `xml:"certainty"` // Observed, Likely (in 1.0 Very Likely), Possible, Unlikely, Unknown
	Audience     string     `xml:"audience"`  // "the intended audience of the alert message", in words
	EventCode    []Value    `xml:"eventCode"`
	Effective    string     `xml:"effective"` // when the information takes effect
	Onset        string     `xml:"onset"`     // "the expected time of the beginning of the subject event"
	Expires      string     `xml:"expires"`   // "the expiry time of the information of the alert message"
	SenderName   string     `xml:"senderName"`
	Headline     string     `xml:"headline"`
	Description  string     `xml:"description"`
	Instruction  string     `xml:"instruction"`
	Web          string     `xml:"web"`
	Contact      string     `xml:"contact"`
	Parameter    []Value    `xml:"parameter"`
	Resource     []Resource `xml:"resource"`
	Area         []Area     `xml:"area"`
}

// Value is a value with the name of its vocabulary.
type Value struct {
	Name  string `xml:"valueName"`
	Value string `xml:"value"`
	// Text is used in CAP 1.0, and contains both name and value: "FIPS6=006109".
	Text string `xml:",chardata" json:"-"`
}

// Resource is a file of an info block. Embedded content (derefUri) is ignored.
type Resource struct {
	Desc     string `xml:"resourceDesc"`
	MimeType string `xml:"mimeType"`
	URI      string `xml:"uri"`
}

// Area is a part of the area of an info block. Altitudes are ignored.
type Area struct {
	Desc    string   `xml:"areaDesc"`
	Polygon []string `xml:"polygon"` // "lat,lon lat,lon …", the first position repeated at the end
	Circle  []string `xml:"circle"`  // "lat,lon radius", in kilometers
	Geocode []Value  `xml:"geocode"`
}

// Message is an alert in a payload.
type Message struct {
	Alert
	Raw   []byte   // as received, in UTF-8
	Notes []string // which parts were invalid XML or JSON, and how they were read
}

// Document is the content of a payload.
type Document struct {
	// List means that it is a list of alerts or of links to them, which may be empty, and not one
	// alert.
	List bool
	// Partly means that an entry of an index neither holds an alert nor leads to one.
	Partly   bool
	Messages []Message
	Links    []source.Link
	// Bad lists the records that cannot be read as alerts, with the reason.
	Bad []source.Reject
}

const version10 = "http://www.incident.com/cap/1.0"

// namespaces of the supported versions.
var namespaces = map[string]bool{
	version10:                              true,
	"urn:oasis:names:tc:emergency:cap:1.1": true,
	"urn:oasis:names:tc:emergency:cap:1.2": true,
}

// roots are the root elements of documents that may contain alerts. Without alerts, they may be
// empty.
var roots = map[string]bool{"rss": true, "feed": true, "RDF": true, "EDXLDistribution": true, "alert": true}

// Limits of the elements that need much more memory than their bytes. The largest real messages
// have about ten thousand areas.
const (
	maxAlerts   = 20_000
	maxInfos    = 20_000
	maxAreas    = 200_000
	maxElements = 5_000 // of an index entry that links to an alert
)

// Read reads the alerts and links in a payload, in any envelope. With an error it returns the part
// before the fault. Bytes that are not in the declared encoding are decoded as charset; if that is
// empty, only unambiguous text is read.
func Read(payload []byte, charset string) (Document, error) {
	text, err := lenient.Text(payload, charset)
	if err != nil {
		return Document{}, err
	}
	if begin := bytes.TrimSpace(text); len(begin) > 0 && (begin[0] == '{' || begin[0] == '[') {
		return readJSON(begin)
	}
	r := reading{}
	root, err := lenient.XML{Want: "a CAP alert or an index of alerts", Records: []string{"alert", "item", "entry"}}.Read(text, r.element)
	r.doc.Bad, r.doc.List = r.bad.Done().Rejects, roots[root] && root != "alert"
	if err == nil && !roots[root] && len(r.doc.Messages)+len(r.doc.Bad) == 0 {
		err = source.Errorf("the root element is %.40q, expected alert, rss, feed or an envelope of alerts", root)
	}
	if err == nil && r.more {
		err = &source.PayloadError{Reason: fmt.Sprintf("more than %d alerts", maxAlerts), Cut: true}
	}
	return r.doc, err
}

// maxAddress bounds an address, in bytes. Browsers do not accept longer ones.
const maxAddress = 2 << 10

// reading collects the content of a document.
type reading struct {
	doc  Document
	bad  lenient.Batch
	read int  // number of alerts, good and bad
	more bool // there are more than maxAlerts
}

// fromVersion10 splits the values of CAP 1.0, which begin with their names. The rest of CAP 1.0 has
// the same form.
func (m *Alert) fromVersion10() {
	part := func(values []Value) {
		for i := range values {
			if name, value, ok := strings.Cut(strings.TrimSpace(values[i].Text), "="); ok && values[i].Name == "" {
				values[i].Name, values[i].Value = strings.TrimSpace(name), strings.TrimSpace(value)
			}
		}
	}
	for i := range m.Information {
		in := &m.Information[i]
		part(in.EventCode)
		part(in.Parameter)
		for j := range in.Area {
			part(in.Area[j].Geocode)
		}
	}
}

func (r *reading) element(e lenient.Element) {
	switch e.Name {
	case "alert":
		r.alert(e, true)
	case "item", "entry":
		r.entry(e)
	default:
		r.read++
		r.reject(e.Raw, "%s instead of an alert", e.Name)
	}
}

// reject stores a record that should be an alert but is not.
func (r *reading) reject(raw []byte, format string, args ...any) {
	r.bad.Reject(func() string { return fmt.Sprintf("alerts/%d", r.read-1) }, raw, fmt.Sprintf(format, args...))
}

// alert reads an alert, and reports whether it was readable. An element in another namespace is
// counted as an alert, because it may be an unknown version of CAP. Without must, inside an index
// entry, it is only counted if it looks like an alert.
func (r *reading) alert(e lenient.Element, must bool) bool {
	if r.read >= maxAlerts {
		r.more = true
		return false
	}
	space := strings.TrimSpace(e.Space())
	if !must && !namespaces[space] && !bytes.Contains(e.Raw, []byte("identifier>")) {
		return false
	}
	r.read++
	if !namespaces[space] {
		r.reject(e.Raw, "alert: namespace %.60q, expected that of CAP 1.0, 1.1 or 1.2", space)
		return false
	}
	m := Message{Raw: e.Raw}
	var err error
	if m.Notes, err = e.Decode(&m.Alert, lenient.Limits{Each: map[string]int{"info": maxInfos, "area": maxAreas}}); err != nil {
		r.reject(e.Raw, "%v", err)
		return false
	}
	if space == version10 {
		m.Alert.fromVersion10()
	}
	r.doc.Messages = append(r.doc.Messages, m)
	return true
}

// entry reads an RSS item or Atom entry. If the entry contains its alert, its link is ignored.
func (r *reading) entry(e lenient.Element) {
	embedded := false
	e.Within(func(inner lenient.Element) { embedded = r.alert(inner, false) || embedded }, "alert")
	if before := len(r.doc.Links); !embedded {
		defer func() { r.doc.Partly = r.doc.Partly || len(r.doc.Links) == before }()
	}
	if embedded || !bytes.Contains(e.Raw, []byte("://")) && !bytes.Contains(e.Raw, []byte("link")) && !bytes.Contains(e.Raw, []byte("enclosure")) {
		return
	}
	n, _, err := e.Tree(lenient.Limits{Elements: maxElements})
	base := ""
	for _, b := range append(e.Bases(), n.Attr("base")) {
		base = first(resolve(base, b), base)
	}
	address, best, id, guid, updated, expires, permaLink := "", "", "", "", "", "", true
	for _, k := range n.Kids {
		text := strings.TrimSpace(k.Text)
		switch kind := strings.ToLower(k.Attr("type")); k.Name {
		case "link":
			href, rel := resolve(first(resolve(base, k.Attr("base")), base), k.Attr("href")), k.Attr("rel")
			switch {
			case href == "": // RSS has no href attribute
				address = first(resolve(base, text), address)
			case strings.Contains(kind, "cap+xml"):
				best = first(best, href)
			case (rel == "" || rel == "alternate" || rel == "self") && !strings.Contains(kind, "html"):
				address = first(address, href)
			}
		case "enclosure":
			if strings.Contains(kind, "cap+xml") {
				best = first(best, resolve(base, k.Attr("url")))
			}
		case "guid":
			guid, permaLink = text, k.Attr("isPermaLink") != "false"
		case "identifier":
			id = first(text, id)
		case "id":
			id = first(id, text)
		case "updated", "pubDate", "sent", "date":
			updated = first(updated, text)
		case "expires":
			expires = first(expires, text)
		}
	}
	address = first(best, address)
	if u := httpAddress(guid); address == "" && permaLink && u != nil { // many guids claim to be an address but are not
		address = u.String()
	}
	if !leads(address) { // the poller decides whether the address is allowed
		if err != nil {
			r.read++
			r.reject(e.Raw, "%s: %v", e.Name, err)
		}
		return
	}
	link := source.Link{URL: address, ID: hazard.CleanLine(first(id, guid))}
	if t, err := parseFeedTime(updated); err == nil {
		link.Updated = &t
	}
	if t, err := parseFeedTime(expires); err == nil {
		link.Expires = &t
	}
	r.doc.Links = append(r.doc.Links, link)
}

// resolve returns the absolute form of an address in an element with that xml:base (W3C XML Base;
// RFC 4287 section 2). If the base is empty or relative, the result is relative to the address of
// the feed. It is empty if the address is invalid.
func resolve(base, address string) string {
	if address == "" || len(address) > maxAddress {
		return ""
	}
	u, err := url.Parse(address)
	b, errBase := url.Parse(base)
	if err != nil {
		return ""
	}
	if errBase != nil || base == "" || u.IsAbs() {
		return u.String()
	}
	whole := b.ResolveReference(u).String()
	if !b.IsAbs() && b.Host == "" && u.Host == "" && !strings.HasPrefix(b.Path, "/") && !strings.HasPrefix(u.Path, "/") {
		whole = strings.TrimPrefix(whole, "/") // still relative to the feed
	}
	return whole
}

// leads reports whether an address can be that of a document: http or https, or relative.
func leads(address string) bool {
	u, err := url.Parse(address)
	if err != nil || address == "" || strings.HasPrefix(address, "#") {
		return false
	}
	return u.Scheme == "" && u.User == nil || httpAddress(address) != nil
}

// Links returns the documents in an index, in order. It leaves out entries that contain their
// alert, addresses that are not http or https, and links to web pages. Relative addresses without
// an xml:base stay relative. A payload that is not an index has none.
func Links(payload []byte) ([]source.Link, error) {
	doc, err := Read(payload, "windows-1252") // addresses are ASCII, so any charset will do
	return doc.Links, err
}

func first(words ...string) string {
	for _, w := range words {
		if w != "" {
			return w
		}
	}
	return ""
}
