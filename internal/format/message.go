package format

import (
	"cmp"
	"encoding/xml"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"
	"golang.org/x/text/language"

	"github.com/hazardd/hazardd/internal/format/publisher"
	"github.com/hazardd/hazardd/internal/geo"
	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/lang/words"
)

// Message is what a CAP message of an alerting authority is made of. WriteMessage is a function of it alone.
type Message struct {
	publisher.Message
	Hazard     *hazard.Hazard // as of the message's change
	Areas      []hazard.Area  // those that Hazard.Areas names
	Files      []File
	References []Reference // the messages of the chain before it, oldest first
	Base       string      // the service's public address, for the hazard's own page
}

// File is a file that goes with a message.
type File struct {
	Title, MediaType, Address string
	Size                      int64  // bytes
	SHA1                      string // hexadecimal; empty: not known
}

// Reference names an earlier message.
type Reference struct {
	Sender, Identifier string
	Sent               hazard.Instant
}

// maxReferences is how many earlier messages a message names, the latest: what it replaces has replaced the others.
const maxReferences = 100

// cancelHolds is for how long readers should keep a message of kind Cancel.
const cancelHolds = 24 * time.Hour

// Identifier names the message of change n of a hazard, for ever.
func Identifier(p *publisher.Profile, id uuid.UUID, n int64) string {
	if p.OID != "" {
		return "urn:oid:" + p.OID + "." + strconv.FormatInt(n, 10)
	}
	return id.String() + "." + strconv.FormatInt(n, 10)
}

// NumberOf is the number of the change that an identifier names, if it may be one of ours.
func NumberOf(identifier string) (n int64, ok bool) {
	i := strings.LastIndexByte(identifier, '.')
	n, err := strconv.ParseInt(identifier[i+1:], 10, 64)
	return n, i > 0 && err == nil && n > 0 && strconv.FormatInt(n, 10) == identifier[i+1:]
}

// Expires returns until when the message holds.
func (m *Message) Expires() hazard.Instant {
	h := m.Hazard
	switch {
	case m.Kind == publisher.Cancel:
		return m.Sent.Add(cancelHolds)
	case h.AutoExpire:
		return h.End
	}
	return max(h.End, m.Sent).Add(time.Duration(m.Profile.OpenHours) * time.Hour)
}

// WriteMessage writes the message as an XML document.
func WriteMessage(m *Message) ([]byte, error) {
	p, h := m.Profile, m.Hazard.Stored()
	refs := make([]string, 0, len(m.References))
	for _, r := range m.References[max(0, len(m.References)-maxReferences):] {
		refs = append(refs, r.Sender+","+r.Identifier+","+capTime(r.Sent))
	}
	a := alert{
		Namespace: "urn:oasis:names:tc:emergency:cap:1.2", Identifier: Identifier(p, h.UUID, m.Number), Sender: p.Sender, Sent: capTime(m.Sent),
		Status: string(m.Status), MsgType: string(m.Kind), Scope: "Public", References: strings.Join(refs, " "), Incidents: h.UUID.String(),
	}
	if code := p.Rules.Marker(); code != "" {
		a.Code = []string{code}
	}
	in := newInfo(&Entry{Hazard: h, Areas: m.Areas}, m.Base, m.Sent, p.RadiusKm)
	in.SenderName, in.Contact = clean(p.Name), clean(p.Contact)
	in.Effective, in.Expires = capTime(m.Sent), capTime(m.Expires())
	if h.URL == "" && p.Web != "" {
		in.Web = webURL(m.Base, &hazard.Hazard{URL: p.Web, UUID: h.UUID})
	}
	m.codes(&in)
	for _, f := range m.Files {
		in.Resource = append(in.Resource, capResource{Desc: cmp.Or(clean(hazard.CleanLine(f.Title)), "file"), Type: f.MediaType, Size: f.Size, URI: f.Address, Digest: f.SHA1})
	}
	for i, lang := range p.Languages {
		t := textIn(h, lang)
		if i == 0 && t == nil {
			t = cmp.Or(h.OwnText(), &hazard.Text{Own: true})
		}
		if t != nil {
			a.Info = append(a.Info, m.block(in, lang, t))
		}
	}
	if m.Kind == publisher.Cancel {
		a.ended(h)
		for i := range a.Info {
			a.Info[i].Urgency = "Past"
		}
	}
	text, err := xml.Marshal(&a)
	return append([]byte(header), append(text, '\n')...), err
}

// textIn is the text of a hazard in a language, or else in another kind of it; nil if there is none.
func textIn(h *hazard.Hazard, lang string) *hazard.Text {
	for _, same := range []func(string) bool{
		func(l string) bool { return strings.EqualFold(l, lang) },
		func(l string) bool { return baseOf(l) == baseOf(lang) },
	} {
		if i := slices.IndexFunc(h.Texts, func(t hazard.Text) bool { return same(t.Language) }); i >= 0 {
			return &h.Texts[i]
		}
	}
	return nil
}

func baseOf(tag string) string {
	t, err := language.Parse(tag)
	if err != nil {
		return strings.ToLower(tag)
	}
	base, _ := t.Base()
	return base.String()
}

// block is a block of the message with the words of one text: the hazard's own name and description, and what stands beside them, or
// those of another language. What the text leaves out the profile says.
func (m *Message) block(in capInfo, lang string, t *hazard.Text) capInfo {
	h := m.Hazard.Stored()
	in.Language = lang
	in.Event, in.Audience = cmp.Or(clean(t.Event), eventIn(h.Type, lang)), clean(t.Audience)
	in.Headline, in.Description = clean(cmp.Or(t.Headline, m.headline(t, lang), t.Name)), clean(t.Description)
	if t.Own {
		in.Headline, in.Description = clean(cmp.Or(t.Headline, m.headline(t, lang), h.Name)), clean(cmp.Or(h.Description, t.Description))
	}
	in.Headline = cmp.Or(in.Headline, in.Event)
	in.Description = cmp.Or(in.Description, in.Headline)
	in.Contact = cmp.Or(clean(t.Contact), in.Contact)
	in.Instruction, in.Response = clean(t.Instruction), slices.Clone(t.Responses)
	if t.Own && h.Instruction != "" {
		in.Instruction = clean(h.Instruction)
	}
	if own := h.OwnText(); own != nil && len(in.Response) == 0 { // what to do is the same in every language
		in.Response = slices.Clone(own.Responses)
	}
	if n := m.Profile.Instruction(h.Type, lang); n != nil {
		if len(in.Response) == 0 && in.Instruction == "" {
			in.Response = slices.Clone(n.Responses)
		}
		in.Instruction = cmp.Or(in.Instruction, clean(n.Text))
	}
	if in.Instruction != "" && len(in.Response) == 0 {
		in.Response = []string{"Monitor"} // "attend to information sources as described in <instruction>"
	}
	if t.Web != "" {
		in.Web = webURL(m.Base, &hazard.Hazard{URL: t.Web, UUID: h.UUID})
	}
	in.Area.Desc = cmp.Or(clean(t.Area), in.Headline)
	return in.named(cmp.Or(t.Name, h.Name))
}

// headline is the service's headline in a language, for a text that has none of its author; empty if
// there are no words in that language. CAP 1.2, section 3.2.2: it should be at most 160 characters.
func (m *Message) headline(t *hazard.Text, lang string) string {
	i := slices.IndexFunc(words.All(), func(l *words.Language) bool { return l.ID == baseOf(lang) })
	if i < 0 {
		return ""
	}
	h := *m.Hazard.Stored()
	if !t.Own {
		h.Name, h.Description = cmp.Or(t.Name, h.Name), cmp.Or(t.Description, h.Description)
	}
	said := (&Entry{Hazard: &h, Areas: m.Areas}).headline(words.All()[i], m.Sent)
	if utf8.RuneCountInString(said.Headline) > maxHeadline && said.Second != "" {
		return strings.TrimSuffix(said.Headline, said.Second)
	}
	return said.Headline
}

const maxHeadline = 160

// eventIn is the name of a type in a language, in English if it is not known there.
func eventIn(t hazard.Type, lang string) string {
	for _, l := range words.All() {
		if l.ID == baseOf(lang) {
			return l.NameOf("type", string(t))
		}
	}
	return typeName(t)
}

// codes gives a block the codes of its event and area, and outlines within the bounds of the profile. What is only a point is a circle.
func (m *Message) codes(in *capInfo) {
	h, p := m.Hazard, m.Profile
	ours := in.EventCode
	in.EventCode = nil
	for _, c := range p.EventCodes {
		if c.Type == h.Type {
			in.EventCode = append(in.EventCode, capValue{clean(c.Name), clean(c.Value)})
		}
	}
	in.EventCode = append(in.EventCode, ours...)
	in.Area.Polygon, in.Area.Circle = nil, ""
	outline, circle := PublishedArea(p, h, m.Areas)
	if circle > 0 {
		in.Area.Circle = pairs([]geo.Position{{h.Longitude, h.Latitude}}, ',', ' ') + " " + strconv.FormatFloat(circle, 'f', -1, 64)
	} else {
		for _, rings := range outline.Polygons() {
			in.Area.Polygon = append(in.Area.Polygon, pairs(rings[0], ',', ' '))
		}
	}
	if h.Somewhere() { // and no code is known to hold it
		return
	}
	west, south, east, north := outline.Bounds()
	box := geo.Box{West: west, South: south, East: east, North: north}
	for _, c := range p.AreaCodes {
		if w := c.Within; len(w) == 0 || box.Overlaps(geo.Box{West: w[0], South: w[1], East: w[2], North: w[3]}) {
			in.Area.Geocode = append(in.Area.Geocode, capValue{clean(c.Name), clean(c.Value)})
		}
	}
}

// PublishedArea returns the area that a message under profile p gives for a hazard: the outline of
// its area or, where it has none, the circle of radiusKm around its point (radiusKm is 0 for an
// outline). A hazard that is only somewhere in a region has no area.
func PublishedArea(p *publisher.Profile, h *hazard.Hazard, areas []hazard.Area) (outline geo.Shape, radiusKm float64) {
	shape, _ := (&Entry{Hazard: h, Areas: areas}).shape()
	outline = shape.Outline(p.Rules.MaxPoints())
	if h.Somewhere() || len(outline.Polygons()) > 0 {
		return outline, 0
	}
	return geo.Circle(h.Longitude, h.Latitude, p.RadiusKm*1000), p.RadiusKm
}

// Entry is the entry of the message in an index, under its address.
func (m *Message) Entry(address string) *IndexEntry {
	h := m.Hazard.Stored()
	title := h.Name
	if t := h.OwnText(); t != nil && t.Headline != "" {
		title = t.Headline
	}
	return &IndexEntry{Address: address, Title: title, Author: m.Profile.Name, Updated: m.Sent, Expires: m.Expires(), Kind: string(m.Kind), Status: string(m.Status),
		Event: typeName(h.Type), Level: cmp.Or(capSeverities[h.Severity], "Unknown")}
}
