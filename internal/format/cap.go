package format

import (
	"bufio"
	"cmp"
	"encoding/xml"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/hazardd/hazardd/internal/format/publisher"
	"github.com/hazardd/hazardd/internal/geo"
	"github.com/hazardd/hazardd/internal/hazard"
)

// Version is one state of a hazard that was, or is, a CAP message of its own.
type Version struct {
	Number int64          // number of the change
	Sent   hazard.Instant // the hazard's update_Date then
}

// Versions returns the versions in the changes of one hazard, oldest first. Changes of its products
// are not versions. Neither is an expiry, because the previous message says when it expires.
func Versions(changes []hazard.Change) []Version {
	var versions []Version
	var before *hazard.Hazard
	for i := range changes {
		h := changes[i].Hazard
		if h == nil {
			continue
		}
		if expiry := before != nil && h.Reason == hazard.EndExpired && h.Updated == before.Updated; !expiry {
			versions = append(versions, Version{changes[i].Number, h.Updated})
		}
		before = h
	}
	return versions
}

// The words of CAP 1.2 for ours, as the reader of CAP (mapping.md, section 1) understands them. Our level and type stand beside
// them as parameters, so that nothing is lost between two servers.

// capSeverities are CAP's severities for our levels. Only for WATCH it depends on urgency and
// certainty: it is Severe unless it is both near and likely.
var capSeverities = map[hazard.Severity]string{
	hazard.Warning: "Extreme", hazard.Watch: "Severe", hazard.Advisory: "Moderate", hazard.Information: "Minor", hazard.Termination: "Minor",
}

// soon is the range of Expected: "responsive action should be taken soon (within next hour)"
// (section 3.2.2, urgency).
const soon = time.Hour

// capUrgency follows from when the hazard begins alone.
func capUrgency(h *hazard.Hazard, sent hazard.Instant) string {
	switch {
	case h.Status == hazard.Expired && h.Reason != hazard.EndExpired:
		return "Past"
	case h.Start <= sent:
		return "Immediate"
	case h.Start <= sent.Add(soon):
		return "Expected"
	}
	return "Future"
}

// capCertainty returns Observed for a hazard that has begun and Likely for a future one. For a
// WATCH it returns less: a future one is Possible, and after the start its certainty is unknown.
func capCertainty(h *hazard.Hazard, sent hazard.Instant) string {
	begun := h.Start <= sent
	switch {
	case h.Severity == hazard.Watch && begun:
		return "Unknown"
	case h.Severity == hazard.Watch:
		return "Possible"
	case begun:
		return "Observed"
	}
	return "Likely"
}

// capCategories are CAP's categories of our types (section 3.2.2, category: Geo includes landslides, Met includes floods).
var capCategories = map[hazard.Type]string{
	hazard.Accident: "Safety", hazard.ActiveShooter: "Security", hazard.Avalanche: "Geo", hazard.Biomedical: "Health", hazard.CivilUnrest: "Security",
	hazard.Combat: "Security", hazard.Conflict: "Security", hazard.Cyber: "Infra", hazard.Cyclone: "Met", hazard.Drought: "Met",
	hazard.Earthquake: "Geo", hazard.Equipment: "Infra", hazard.ExtremeTemperature: "Met", hazard.Flood: "Met", hazard.HighSurf: "Met",
	hazard.HighWind: "Met", hazard.Incident: "Safety", hazard.Landslide: "Geo", hazard.ManMade: "Safety", hazard.Marine: "Met",
	hazard.Occurrence: "Env", hazard.PoliticalConflict: "Security", hazard.Storm: "Met", hazard.Terrorism: "Security", hazard.Tornado: "Met",
	hazard.Tsunami: "Geo", hazard.Unit: "Rescue", hazard.Volcano: "Geo", hazard.Weapons: "CBRNE", hazard.Wildfire: "Fire", hazard.WinterStorm: "Met",
}

// Names of values that are ours. The reader knows them too (package cap).
const (
	capTypeName     = "hazardd:type"
	capSeverityName = "hazardd:severity"
	capCategoryName = "hazardd:category"
	capPositionName = "hazardd:position"  // lat,lon: a CAP area has no point of its own
	capPlaceName    = "hazardd:placeKind" // how well the place is known (hazard.PlaceKind)
	capKnownName    = "hazardd:placeKnownAs"
	capRoleName     = "hazardd:area"   // role of the area: alert, impact, track, point
	capReasonName   = "hazardd:reason" // why it ended
	capSuccessor    = "hazardd:successor"
	capNameName     = "hazardd:name"    // the hazard's name in the language of the block, beside the authority's headline
	capEnding       = "eventEndingTime" // MET Norway's: the end of the event, where that is not when the message expires
)

// alert is a CAP message, with its members in the order of the schema.
type alert struct {
	XMLName    xml.Name `xml:"alert"`
	Namespace  string   `xml:"xmlns,attr"`
	Identifier string   `xml:"identifier"`
	Sender     string   `xml:"sender"`
	Sent       string   `xml:"sent"`
	Status     string   `xml:"status"`
	MsgType    string   `xml:"msgType"`
	Source     string   `xml:"source,omitempty"`
	Scope      string   `xml:"scope"`
	Code       []string `xml:"code"`
	Note       string   `xml:"note,omitempty"`
	References string   `xml:"references,omitempty"`
	Incidents  string   `xml:"incidents"`
	// Info has one block per text of the authority, language by language; without texts, one block.
	Info []capInfo `xml:"info"`
}

type capInfo struct {
	Language    string        `xml:"language,omitempty"`
	Category    string        `xml:"category"`
	Event       string        `xml:"event"`
	Response    []string      `xml:"responseType"`
	Urgency     string        `xml:"urgency"`
	Severity    string        `xml:"severity"`
	Certainty   string        `xml:"certainty"`
	Audience    string        `xml:"audience,omitempty"`
	EventCode   []capValue    `xml:"eventCode"`
	Effective   string        `xml:"effective,omitempty"`
	Onset       string        `xml:"onset"`
	Expires     string        `xml:"expires,omitempty"`
	SenderName  string        `xml:"senderName"`
	Headline    string        `xml:"headline"`
	Description string        `xml:"description,omitempty"`
	Instruction string        `xml:"instruction,omitempty"`
	Web         string        `xml:"web"`
	Contact     string        `xml:"contact,omitempty"`
	Parameter   []capValue    `xml:"parameter"`
	Resource    []capResource `xml:"resource"`
	Area        capArea       `xml:"area"`
}

type capResource struct {
	Desc   string `xml:"resourceDesc"`
	Type   string `xml:"mimeType"`
	Size   int64  `xml:"size"`
	URI    string `xml:"uri"`
	Digest string `xml:"digest,omitempty"` // SHA-1, as section 3.2.3 has it
}

type capValue struct {
	Name  string `xml:"valueName"`
	Value string `xml:"value"`
}

type capArea struct {
	Desc    string     `xml:"areaDesc"`
	Polygon []string   `xml:"polygon"`
	Circle  string     `xml:"circle,omitempty"`
	Geocode []capValue `xml:"geocode"`
}

// capEncoder writes one alert.
type capEncoder struct{ options Options }

func (c *capEncoder) begin(out *bufio.Writer) error {
	out.WriteString(header)
	return nil
}

func (c *capEncoder) fragment(e *Entry) (fragment, error) {
	return xmlFragment(newAlert(e, c.options.Base, c.options.RadiusKm))
}

func (c *capEncoder) add(out *bufio.Writer, _ *hazard.Hazard, fr fragment, _ int) { out.Write(fr.text) }

func (c *capEncoder) end(out *bufio.Writer, _ int) error { return out.WriteByte('\n') }

// newAlert returns the message of a hazard's present version. It refers to all earlier ones, so
// that a reader who missed some can still match them.
func newAlert(e *Entry, base string, radiusKm float64) *alert {
	h := e.Hazard.Stored() // the blocks are in all languages, regardless of the reader
	versions := e.Versions
	if len(versions) == 0 {
		versions = []Version{{h.Version, h.Updated}}
	}
	earlier, this := versions[:len(versions)-1], versions[len(versions)-1]
	sender := capSender(base)
	a := &alert{
		Namespace: "urn:oasis:names:tc:emergency:cap:1.2", Identifier: capIdentifier(h, this), Sender: sender, Sent: capTime(this.Sent),
		Status: "Actual", MsgType: "Alert", Source: clean(hazard.CleanLine(h.Source)), Scope: "Public", Incidents: h.UUID.String(),
	}
	if h.Category == hazard.Exercise {
		a.Status = "Exercise"
	}
	if len(earlier) > 0 {
		a.MsgType = "Update"
		refs := make([]string, len(earlier))
		for i, v := range earlier {
			refs[i] = sender + "," + capIdentifier(h, v) + "," + capTime(v.Sent)
		}
		a.References = strings.Join(refs, " ")
	}
	in := newInfo(e, base, this.Sent, radiusKm)
	add := func(name, value string) { in.Parameter = append(in.Parameter, capValue{name, value}) }
	switch {
	case h.AutoExpire || h.Status == hazard.Expired:
		in.Expires = capTime(h.End)
	case h.End > this.Sent:
		// Only expected: the message holds until another comes.
		add(capEnding, capTime(h.End))
	}
	a.Info = []capInfo{in.named(h.Name)}
	if len(h.Texts) > 0 {
		a.Info = nil
		for i := range h.Texts {
			a.Info = append(a.Info, in.of(h, &h.Texts[i]))
		}
	}
	if h.Status == hazard.Expired && h.Reason != hazard.EndExpired {
		a.ended(h)
	}
	a.Note = strings.TrimPrefix(a.Note+relayNote(h), "; ")
	return a
}

// relayNote says that reports of sources are passed on. The message combines all their reports and
// has our identifier and sender. So the note keeps readers from taking it for the authority's own
// alert, or for one of this service's operator.
func relayNote(h *hazard.Hazard) string {
	if h.Source == "" {
		return ""
	}
	sources := append([]string{h.Source}, h.Sources...)
	slices.Sort(sources)
	return "; Relayed, and no alert of the sender's own: taken together from reports of " + clean(strings.Join(slices.Compact(sources), ", "))
}

// newInfo returns the block with a hazard's own name and description, as of the time of sending,
// without its end.
func newInfo(e *Entry, base string, sent hazard.Instant, radiusKm float64) capInfo {
	h := e.Hazard.Stored()
	shape, role := e.shape()
	in := capInfo{
		Language: "en", Category: cmp.Or(capCategories[h.Type], "Other"), Event: typeName(h.Type), Urgency: capUrgency(h, sent), Severity: cmp.Or(capSeverities[h.Severity], "Unknown"),
		Certainty: capCertainty(h, sent), EventCode: []capValue{{capTypeName, string(h.Type)}}, Onset: capTime(h.Start),
		SenderName: clean(cmp.Or(h.Creator, hostOf(base))), Headline: clean(e.asSent().headline(nil, sent).Headline), Description: clean(h.Description), Instruction: clean(h.Instruction), Web: webURL(base, h),
		Parameter: []capValue{{capSeverityName, h.Severity.String()}, {capCategoryName, string(h.Category)},
			{capPositionName, pairs([]geo.Position{{h.Longitude, h.Latitude}}, ',', ' ')}, {capRoleName, string(role)}},
		Area: capAreaOf(h, shape, radiusKm),
	}
	in.Parameter = append(in.Parameter, capValue{capPlaceName, string(h.Place())})
	if h.Somewhere() {
		in.Parameter = append(in.Parameter, capValue{capKnownName, clean(hazard.CleanLine(h.PlaceKnownAs))})
	}
	return in
}

// asSent returns the entry as its last message said it: what has run out since was active then.
func (e *Entry) asSent() *Entry {
	if e.Hazard.Status != hazard.Expired || e.Hazard.Reason != hazard.EndExpired {
		return e
	}
	h := *e.Hazard
	h.Status, h.Reason = hazard.Active, ""
	return &Entry{Hazard: &h, Areas: e.Areas}
}

// named adds the name if it is not the headline: a hazardd that reads the message knows it then.
func (in capInfo) named(name string) capInfo {
	if name = clean(name); in.Headline != name {
		in.Parameter = append(slices.Clone(in.Parameter), capValue{capNameName, name})
	}
	return in
}

// of returns the block with one text. Fields set by an editor are in every block. The level is the
// lower of the hazard's and the text's own: the highest of all blocks is the hazard's.
func (in capInfo) of(h *hazard.Hazard, t *hazard.Text) capInfo {
	words := h.In(t)
	in.Language, in.Event, in.Audience = clean(t.Language), cmp.Or(clean(t.Event), in.Event), clean(t.Audience)
	in.SenderName, in.Contact, in.Instruction = cmp.Or(clean(t.Sender), in.SenderName), clean(t.Contact), cmp.Or(in.Instruction, clean(t.Instruction))
	in.Headline, in.Response = clean(cmp.Or(t.Headline, words.Name)), slices.Clone(t.Responses)
	in.Parameter = slices.Clone(in.Parameter)
	if h.EditedField("hazard_Name") {
		in.Headline = clean(h.Name)
	}
	in = in.named(words.Name)
	if in.Description = clean(t.Description); h.EditedField("description") {
		in.Description = clean(h.Description)
	}
	if t.Web != "" && !h.EditedField("snc_url") {
		in.Web = webURL("", &hazard.Hazard{URL: t.Web, UUID: h.UUID})
	}
	if !h.Somewhere() {
		in.Area.Desc = cmp.Or(clean(t.Area), in.Area.Desc)
	}
	if t.Severity != hazard.NoSeverity && t.Severity < h.Severity && !t.Own && !h.EditedField("severity_ID") {
		in.Severity = cmp.Or(capSeverities[t.Severity], "Unknown")
		in.Parameter[0].Value = t.Severity.String()
	}
	return in
}

// ended makes the message one of an early or declared end. As a first message it cancels nothing;
// the hazard was already over when it became known.
func (a *alert) ended(h *hazard.Hazard) {
	if a.References != "" {
		a.MsgType = "Cancel"
	}
	for i := range a.Info {
		in := &a.Info[i]
		in.Response, in.Instruction = nil, "" // there is nothing to do any more
		if h.Reason == hazard.EndAllClear || a.MsgType != "Cancel" {
			in.Response = []string{"AllClear"} // "the subject event no longer poses a threat"
		}
		if h.Reason != "" {
			in.Parameter = append(in.Parameter, capValue{capReasonName, string(h.Reason)})
		}
		if h.Successor != uuid.Nil {
			in.Parameter = append(in.Parameter, capValue{capSuccessor, h.Successor.String()})
		}
	}
	a.Note = "Ended: " + cmp.Or(string(h.Reason), "it goes on as an exercise")
	if h.Successor != uuid.Nil {
		a.Note += "; " + h.Successor.String() + " goes on"
	}
	if h.Note != "" {
		a.Note += "; " + clean(h.Note)
	}
}

// capSender returns the sender: the service's host. Section 3.2.1 forbids spaces, commas, < and &,
// which hosts never contain.
func capSender(base string) string {
	return "hazardd@" + strings.Map(func(r rune) rune {
		if r <= ' ' || strings.ContainsRune(",<&", r) {
			return -1
		}
		return r
	}, hostOf(base))
}

// capIdentifier names a version of a hazard, the same whenever it is asked for. Section 3.2.1 forbids spaces, commas, < and &.
func capIdentifier(h *hazard.Hazard, v Version) string {
	return h.UUID.String() + "." + strconv.FormatInt(v.Number, 10)
}

// capTime formats a moment in whole seconds; UTC is "-00:00" and never Z (section 3.3.2).
func capTime(i hazard.Instant) string { return i.Time().Format("2006-01-02T15:04:05") + "-00:00" }

// capAreaOf returns the area. CAP's polygons have no holes, so polygons with holes are cut. Without
// an area it is the point, as a circle; a radius of zero is that of profiles by default. Where only a region or country is known, it has
// no geometry (section 3.2.4 wants the description alone).
func capAreaOf(h *hazard.Hazard, shape geo.Shape, radiusKm float64) capArea {
	if h.Somewhere() {
		return capArea{Desc: clean(hazard.CleanLine(h.PlaceKnownAs))}
	}
	area := capArea{Desc: cmp.Or(clean(hazard.CleanLine(h.Name)), typeName(h.Type))}
	for _, rings := range shape.WithoutHoles().Polygons() {
		area.Polygon = append(area.Polygon, pairs(rings[0], ',', ' '))
	}
	if len(area.Polygon) == 0 {
		area.Circle = fmt.Sprintf("%s %v", pairs([]geo.Position{{h.Longitude, h.Latitude}}, ',', ' '), cmp.Or(radiusKm, publisher.DefaultRadiusKm))
	}
	return area
}
