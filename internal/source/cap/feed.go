package cap

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"strings"

	"hazardd/internal/hazard"
	"hazardd/internal/source"
)

// Alert is one message. The sentences are those of CAP 1.2 (OASIS, 1 July 2010), section 3.2, and what is odd in practice.
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

// Info is one thing that a message says, in one language.
type Info struct {
	Language     string     `xml:"language"` // RFC 3066; absent: en-US
	Category     []string   `xml:"category"`
	Event        string     `xml:"event"` // "the type of the subject event", in the sender's words
	ResponseType []string   `xml:"responseType"`
	Urgency      string     `xml:"urgency"`   // Immediate, Expected, Future, Past, Unknown; Past alone is no end
	Severity     string     `xml:"severity"`  // Extreme, Severe, Moderate, Minor, Unknown
	Certainty    string     `xml:"certainty"` // Observed, Likely (in 1.0 Very Likely), Possible, Unlikely, Unknown
	EventCode    []Value    `xml:"eventCode"`
	Effective    string     `xml:"effective"` // from when the information holds
	Onset        string     `xml:"onset"`     // "the expected time of the beginning of the subject event"
	Expires      string     `xml:"expires"`   // "the expiry time of the information of the alert message"
	SenderName   string     `xml:"senderName"`
	Headline     string     `xml:"headline"`
	Description  string     `xml:"description"`
	Instruction  string     `xml:"instruction"`
	Web          string     `xml:"web"`
	Parameter    []Value    `xml:"parameter"`
	Resource     []Resource `xml:"resource"`
	Area         []Area     `xml:"area"`
}

// Value is a value and the name of the vocabulary that it is from.
type Value struct {
	Name  string `xml:"valueName"`
	Value string `xml:"value"`
	// Text is how CAP 1.0 writes both: "FIPS6=006109".
	Text string `xml:",chardata" json:"-"`
}

// Resource is a file that goes with an info block. What it holds itself (derefUri) is not read.
type Resource struct {
	Desc     string `xml:"resourceDesc"`
	MimeType string `xml:"mimeType"`
	URI      string `xml:"uri"`
}

// Area is a part of where an info block holds. Altitudes are not read.
type Area struct {
	Desc    string   `xml:"areaDesc"`
	Polygon []string `xml:"polygon"` // "lat,lon lat,lon …", the last position the first again
	Circle  []string `xml:"circle"`  // "lat,lon radius", in kilometres
	Geocode []Value  `xml:"geocode"`
}

// Message is an alert of a payload.
type Message struct {
	Alert
	Raw []byte // as received, in UTF-8
}

// Document is what a payload holds.
type Document struct {
	Messages []Message
	Links    []source.Link
	// Bad are the records that are no alert though they should be.
	Bad []source.Reject
}

const version10 = "http://www.incident.com/cap/1.0"

// namespaces of the versions that are read.
var namespaces = map[string]bool{
	version10:                              true,
	"urn:oasis:names:tc:emergency:cap:1.1": true,
	"urn:oasis:names:tc:emergency:cap:1.2": true,
}

// roots are the elements that may hold alerts, or nothing while all is quiet.
var roots = map[string]bool{"rss": true, "feed": true, "RDF": true, "EDXLDistribution": true, "alert": true}

// Read reads the alerts and links of a payload. Beside an error it returns what came before the fault. Bytes that are not in the
// encoding that the document declares are taken to be in charset; empty, only what is clear is read.
func Read(payload []byte, charset string) (Document, error) {
	text, err := decode(payload, charset)
	if err != nil {
		return Document{}, err
	}
	switch begin := bytes.TrimSpace(text); {
	case len(begin) == 0:
		return Document{}, source.Errorf("empty payload, expected a CAP alert or an index of alerts")
	case begin[0] == '{' || begin[0] == '[':
		return readJSON(text)
	}
	s := scanner{text: text, guard: newGuard(text)}
	s.dec = xml.NewTokenDecoder(s.guard)
	err = s.scan()
	return s.doc, err
}

// scanner goes through a document once, whatever envelope the alerts are in.
type scanner struct {
	text  []byte
	guard *guard
	dec   *xml.Decoder
	doc   Document

	open  []xml.Name // elements that are open
	entry *entry     // the entry of an index that is open
	depth int        // of that entry
	word  *string    // what text is for
}

// entry is an item of RSS or an entry of Atom.
type entry struct {
	cap, plain, guid    string // addresses, the best first
	id, updated         string
	embedded, permaLink bool
}

func (s *scanner) scan() error {
	root := ""
	for {
		t, err := s.dec.Token()
		if errors.Is(err, io.EOF) && root != "" && len(s.open) == 0 {
			break
		}
		if err != nil {
			return broken(err, s.guard.dec.InputOffset())
		}
		switch t := t.(type) {
		case xml.StartElement:
			if len(s.open) == 0 {
				if err := s.root(t.Name, root); err != nil {
					return err
				}
				root = t.Name.Local
			}
			if t.Name.Local == "alert" && namespaces[t.Name.Space] {
				err = s.alert(t)
			} else {
				s.element(t)
			}
			if err != nil {
				return err
			}
		case xml.EndElement:
			if s.entry != nil && len(s.open) == s.depth {
				s.finish()
			}
			s.open, s.word = s.open[:len(s.open)-1], nil
		case xml.CharData:
			if len(s.open) == 0 && len(bytes.TrimSpace(t)) > 0 {
				return &source.PayloadError{Reason: "text outside of the root element, expected none: " + quoted(t), Cut: root != ""}
			}
			if s.word != nil && len(*s.word) < maxAddress {
				*s.word += string(t)
			}
		}
	}
	if !roots[root] && len(s.doc.Messages) == 0 {
		return source.Errorf("the root element is %.40q, expected alert, rss, feed or an envelope of alerts", root)
	}
	return nil
}

// maxAddress bounds an address, in bytes: no browser takes more.
const maxAddress = 2 << 10

func (s *scanner) root(name xml.Name, before string) error {
	switch {
	case before != "":
		return &source.PayloadError{Reason: "a second root element, expected one", Cut: true}
	case strings.EqualFold(name.Local, "html"):
		return source.Errorf("an HTML page, expected a CAP alert or an index of alerts")
	case name.Local == "alert" && !namespaces[name.Space]:
		return source.Errorf("alert: namespace %.60q, expected that of CAP 1.1 or 1.2", name.Space)
	}
	return nil
}

func (s *scanner) alert(t xml.StartElement) error {
	from := s.guard.start
	var m Message
	if err := s.dec.DecodeElement(&m.Alert, &t); err != nil {
		return broken(err, s.guard.dec.InputOffset())
	}
	if t.Name.Space == version10 {
		m.Alert.fromVersion10()
	}
	m.Raw = s.text[from:s.guard.dec.InputOffset()]
	s.doc.Messages = append(s.doc.Messages, m)
	if s.entry != nil {
		s.entry.embedded = true
	}
	return nil
}

// fromVersion10 parts the values of CAP 1.0, which have their names before them. What it says else has the same form.
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

// element opens an element that is no alert.
func (s *scanner) element(t xml.StartElement) {
	s.open = append(s.open, t.Name)
	s.word = nil
	if s.entry == nil {
		if len(s.open) > 1 && (t.Name.Local == "item" || t.Name.Local == "entry") {
			s.entry, s.depth = &entry{permaLink: true}, len(s.open)
		}
		return
	}
	if len(s.open) != s.depth+1 {
		return
	}
	attr := map[string]string{}
	for _, a := range t.Attr {
		attr[a.Name.Local] = strings.TrimSpace(a.Value)
	}
	e := s.entry
	switch t.Name.Local {
	case "link":
		href, kind, rel := attr["href"], strings.ToLower(attr["type"]), attr["rel"]
		switch {
		case href == "": // RSS
			s.word = &e.plain
		case strings.Contains(kind, "cap+xml"):
			e.cap = first(e.cap, href)
		case (rel == "" || rel == "alternate" || rel == "self") && !strings.Contains(kind, "html"):
			e.plain = first(e.plain, href)
		}
	case "enclosure":
		if strings.Contains(strings.ToLower(attr["type"]), "cap+xml") {
			e.cap = first(e.cap, attr["url"])
		}
	case "guid":
		e.permaLink = attr["isPermaLink"] != "false"
		s.word = &e.guid
	case "identifier":
		e.id, s.word = "", &e.id
	case "id":
		if e.id == "" {
			s.word = &e.id
		}
	case "updated", "pubDate", "sent", "date":
		if e.updated == "" {
			s.word = &e.updated
		}
	}
}

// finish closes an entry: one that holds its alert leads nowhere.
func (s *scanner) finish() {
	e := s.entry
	s.entry = nil
	if e.embedded {
		return
	}
	address := first(e.cap, strings.TrimSpace(e.plain))
	if address == "" && e.permaLink {
		address = strings.TrimSpace(e.guid)
	}
	u := httpAddress(address) // where it may lead is for the poller to decide
	if u == nil {
		return
	}
	link := source.Link{URL: u.String(), ID: hazard.CleanLine(first(strings.TrimSpace(e.id), strings.TrimSpace(e.guid)))}
	if t, err := parseFeedTime(strings.TrimSpace(e.updated)); err == nil {
		link.Updated = &t
	}
	s.doc.Links = append(s.doc.Links, link)
}

// Links are the documents that an index leads to, in its order: an entry that holds its alert itself is left out, and so is
// one whose address is not http, or is that of a page. A payload that is no index has none.
func Links(payload []byte) ([]source.Link, error) {
	doc, err := Read(payload, "windows-1252") // an address is ASCII
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
