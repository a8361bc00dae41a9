package tsunami

import (
	"cmp"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/ingest/lenient"
	"github.com/hazardd/hazardd/internal/ingest/source"
	"github.com/hazardd/hazardd/internal/ingest/sources/cap"
)

const (
	// life is how long a message is valid without another one, and lifeOfInformation the same for a
	// message that reports no threat.
	life              = 24 * time.Hour
	lifeOfInformation = 6 * time.Hour
	// clockSkew is how far in the future a message may have been issued.
	clockSkew = time.Hour
	// oldOrigin is how long before a message its earthquake may have happened. An earlier time is a
	// mistake.
	oldOrigin = 72 * time.Hour
	// maxParts bounds the info blocks of a message. Real ones have up to three.
	maxParts = 50
)

// levels are the levels of the words for an event; the first word that occurs is used (tsunami.gov
// definitions; mapping of levels). A watch may still be upgraded. It is no more certain than an
// advisory, but has the same level as the threat in international messages of PHEB.
var levels = []struct {
	word  string
	level hazard.Severity
	life  time.Duration
}{
	{"cancel", hazard.Information, life},
	{"warning", hazard.Warning, life},
	{"watch", hazard.Watch, life},
	{"threat", hazard.Watch, life},
	{"advisory", hazard.Advisory, life},
	{"information", hazard.Information, lifeOfInformation},
	{"statement", hazard.Information, lifeOfInformation},
}

// Parse reads a payload of the source: a CAP document, an index, which only links to documents, or
// the text of a bulletin, of which it only reads the tables. It returns a *source.PayloadError, and
// the readable part, if the payload as a whole is not in the source's format.
//
// No batch is Whole, because an index only contains the latest message.
func Parse(payload []byte, now hazard.Instant) (source.Batch, error) {
	if isBulletin(payload) {
		return readBulletin(payload, now)
	}
	doc, err := cap.Read(payload, "")
	b := lenient.Batch{Batch: source.Batch{Read: len(doc.Bad), Links: slices.Concat(doc.Links, bulletins(payload, doc.Links))}}
	b.Add(doc.Bad...)
	for i := range doc.Messages {
		m := &doc.Messages[i]
		b.Batch.Read++
		reports, err := read(m, now)
		switch {
		case err != nil:
			b.Reject(lenient.At(cmp.Or(hazard.CleanLine(m.Identifier), fmt.Sprintf("alerts/%d", i))), m.Raw, err.Error())
		case len(reports) == 0:
			b.Ignore(cmp.Or(hazard.CleanLine(m.Identifier), fmt.Sprintf("alerts/%d", i)), "not for the public: the status is not Actual, the scope is not Public, or it is an acknowledgment")
		}
		b.Reports = append(b.Reports, reports...)
	}
	return b.Done(), err
}

// identifierForm matches "PAAQ-13-r5qho6": center, number of the message, code of the event.
var identifierForm = regexp.MustCompile(`^([A-Z]{4})-([0-9]{1,4})-([A-Za-z0-9]{1,40})$`)

// message is what all info blocks of a message have in common.
type message struct {
	centre, number, incident string
	sent                     hazard.Instant
	quake                    quake
	doubts                   []string
}

// quake is the earthquake in a message.
type quake struct {
	origin    *hazard.Instant
	place     *hazard.Point
	location  string
	magnitude string
	depth     string
}

// read returns the reports of a message, or none if it is not public. Unreadable parts of a shown
// message become notes.
func read(from *cap.Message, now hazard.Instant) (reports []hazard.Report, err error) {
	a := &from.Alert
	admitted, err := a.Admit()
	if err != nil {
		return nil, err
	}
	if !admitted || strings.EqualFold(strings.TrimSpace(a.Status), "Exercise") {
		return nil, nil
	}
	id := identifierForm.FindStringSubmatch(strings.TrimSpace(a.Identifier))
	if id == nil {
		return nil, fmt.Errorf("identifier: %.60q, expected one such as PAAQ-13-r5qho6", a.Identifier)
	}
	sent, err := cap.ParseTime(a.Sent)
	if err != nil {
		return nil, fmt.Errorf("sent: %w", err)
	}
	if len(a.Information) > maxParts {
		return nil, fmt.Errorf("info: %d blocks, expected at most %d", len(a.Information), maxParts)
	}
	m := message{centre: id[1], number: id[2], incident: strings.ToLower(id[3]), sent: sent}
	if i := hazard.CleanLine(a.Incidents); i != "" && len(i) <= 40 && !strings.ContainsAny(i, " ,:") {
		m.incident = strings.ToLower(i)
	}
	if sent > now.Add(clockSkew) {
		m.doubts = append(m.doubts, fmt.Sprintf("sent: %v is in the future", sent))
	}
	if w := cap.TestWords(a); w != "" {
		m.doubts = append(m.doubts, w)
	}
	infos := english(a.Information)
	for _, in := range infos {
		m.quake.learn(in, sent)
	}
	cancelled := strings.EqualFold(strings.TrimSpace(a.MsgType), "Cancel")
	update := strings.EqualFold(strings.TrimSpace(a.MsgType), "Update")
	for _, in := range infos {
		r := m.report(in, cancelled || in.Over(update))
		source.Note(&r, from.Notes...)
		reports = append(reports, r)
	}
	// The worst comes last, because hazard.Derive takes name and text from the last report in
	// force.
	slices.SortStableFunc(reports, func(a, b hazard.Report) int {
		return cmp.Or(cmp.Compare(boolOf(a.Ended == ""), boolOf(b.Ended == "")), cmp.Compare(a.Severity, b.Severity))
	})
	for i := range reports {
		reports[i].Part = part(m.centre, i+1)
		if len(reports[i].Places) == 0 {
			reports[i].Places = []string{reports[i].Part}
		}
	}
	if len(reports) > 0 { // parts of earlier messages that had more blocks are no longer valid
		for n := len(reports) + 1; n <= maxParts; n++ {
			reports[0].Replaces = append(reports[0].Replaces, part(m.centre, n))
		}
	}
	return reports, nil
}

func part(centre string, n int) string { return fmt.Sprintf("%s#%02d", centre, n) }

func boolOf(b bool) int {
	if b {
		return 1
	}
	return 0
}

// english returns the info blocks in English, or all if there is none.
func english(all []cap.Info) []*cap.Info {
	var out, rest []*cap.Info
	for i := range all {
		if l := strings.ToLower(strings.TrimSpace(all[i].Language)); l == "" || l == "en" || strings.HasPrefix(l, "en-") {
			out = append(out, &all[i])
		} else {
			rest = append(rest, &all[i])
		}
	}
	if out == nil {
		return rest
	}
	return out
}

// learn takes values from an info block that are not known yet.
func (q *quake) learn(in *cap.Info, sent hazard.Instant) {
	if at, err := cap.ParseTime(in.Param("EventOriginTime")); err == nil && q.origin == nil && at <= sent.Add(clockSkew) && at > sent.Add(-oldOrigin) {
		q.origin = &at
	}
	if q.place == nil {
		where, _, _ := strings.Cut(in.Param("EventLatLon"), " ")
		if p, err := cap.Position(where); err == nil && p != (hazard.Point{}) {
			q.place = &p
		}
	}
	q.location = cmp.Or(q.location, place(cap.Text(in.Param("EventLocationName"))))
	q.magnitude = cmp.Or(q.magnitude, hazard.CleanLine(in.Param("EventPreliminaryMagnitude")))
	q.depth = cmp.Or(q.depth, hazard.CleanLine(in.Param("EventDepth")))
}

// report returns the report of one info block, without its part.
func (m *message) report(in *cap.Info, cancelled bool) hazard.Report {
	event := hazard.CleanLine(cap.Text(in.Event))
	q := &m.quake
	agency := cmp.Or(hazard.CleanLine(cap.Text(in.SenderName)), "tsunami.gov")
	r := hazard.Report{
		Source: Name, Key: m.incident, Aliases: q.windows(), Version: int64(m.sent), Type: hazard.Tsunami, Category: hazard.Event,
		Start: m.sent, Renewed: &m.sent, LifeMS: lifeOfInformation.Milliseconds(), Severity: hazard.Information,
		Point: q.place, Refs: m.refs(), Level: event, Comment: Name + ":" + m.incident, Creator: agency, Instruction: paragraph(in.Instruction),
	}
	if q.origin != nil {
		r.Start = *q.origin
	}
	doubts := slices.Clone(m.doubts)
	word := strings.ToLower(event)
	i := slices.IndexFunc(levels, func(l struct {
		word  string
		level hazard.Severity
		life  time.Duration
	}) bool {
		return strings.Contains(word, l.word)
	})
	if i < 0 {
		r.Notes = append(r.Notes, fmt.Sprintf("the event %.60q is in no list of ours, and its level is that of its CAP severity", event))
		r.Severity, r.LifeMS = cap.SeverityOf(in.Severity), life.Milliseconds()
	} else {
		r.Severity, r.LifeMS = levels[i].level, levels[i].life.Milliseconds()
	}
	if cancelled || i == 0 {
		r.Ended = hazard.EndCancelled
	}
	var desc string
	for _, area := range in.Area {
		shapes, bad := area.Shapes()
		r.Areas = append(r.Areas, shapes...)
		source.Note(&r, bad...)
		for _, g := range area.Geocode {
			if strings.EqualFold(strings.TrimSpace(g.Name), "UGC") {
				r.Places = append(r.Places, ugcs(g.Value)...)
			}
		}
		desc = cmp.Or(desc, hazard.CleanLine(cap.Text(area.Desc)))
	}
	slices.Sort(r.Places)
	r.Places = slices.Compact(r.Places)
	if r.Point == nil && len(r.Areas) == 0 && len(r.Places) == 0 && r.Ended == "" {
		doubts = append(doubts, "no place: neither EventLatLon nor area")
	}
	r.Name = lenient.Joined(" - ", cmp.Or(event, "Tsunami"), cmp.Or(q.location, shortened(desc)))
	r.URL, _ = cap.WebAddress(in.Web)
	r.Detail, _ = bulletinOf(in.Web)
	r.Suspect = lenient.Joined("; ", doubts...)
	r.Description = m.description(agency, event, in, desc)
	r.Products = m.products(in, r.Name)
	return r
}

var ugcForm = regexp.MustCompile(`^[A-Z]{2}[CZ][0-9]{3}$`)

// ugcs returns the codes of coastal zones and counties in a value.
func ugcs(value string) []string {
	return slices.DeleteFunc(strings.Fields(value), func(code string) bool { return !ugcForm.MatchString(code) })
}

// refs returns the names of the earthquake.
func (m *message) refs() []string {
	var refs []string
	switch m.centre { // USGS's names for the solutions of both centers (network codes at and pt)
	case "PAAQ":
		refs = append(refs, "quake:at00"+m.incident)
	case "PHEB":
		refs = append(refs, "quake:pt"+m.incident)
	}
	if q := &m.quake; q.origin != nil && q.place != nil {
		refs = append(refs, fmt.Sprintf("quake:%s@%.3f,%.3f", q.origin.Time().Format("2006-01-02T15:04:05Z"), q.place.Lat, q.place.Lon))
	}
	return refs
}

// windows returns names that nearby origins have in common. Each name combines a window of two
// minutes and a cell of two degrees of latitude by four of longitude. Each of the three is used
// twice, shifted by half its width. So origins less than a minute, a degree of latitude and two
// degrees of longitude apart share a name. Origins more than two minutes, two degrees or four
// degrees apart share none.
func (q *quake) windows() []string {
	if q.origin == nil || q.place == nil {
		return nil
	}
	var out []string
	for i := range 8 {
		half := func(bit int) float64 { return float64(i >> bit & 1) }
		minutes := math.Floor(float64(*q.origin)/120_000 + half(0)/2)
		lat := math.Floor((q.place.Lat+90)/2 + half(1)/2)
		lon := math.Mod(math.Floor((q.place.Lon+180)/4+half(2)/2), 90)
		out = append(out, fmt.Sprintf("origin:%d/%.0f/%.0f/%.0f", i, minutes, lat, lon))
	}
	slices.Sort(out)
	return out
}

// description returns the message for readers, in paragraphs: the sender and time of the message,
// the earthquake, the center's own words.
func (m *message) description(agency, event string, in *cap.Info, area string) string {
	first := fmt.Sprintf("%s: %s, message %s, issued %s", agency, event, m.number, m.sent.Time().Format("2 Jan 2006 15:04 UTC"))
	q := &m.quake
	var facts []string
	if q.magnitude != "" {
		facts = append(facts, "preliminary magnitude "+q.magnitude)
	}
	if q.depth != "" {
		facts = append(facts, "depth "+q.depth)
	}
	if q.origin != nil {
		facts = append(facts, q.origin.Time().Format("2 Jan 2006 15:04:05 UTC"))
	}
	earthquake := ""
	if len(facts) > 0 {
		earthquake = "Earthquake " + lenient.Joined(", ", append([]string{q.location}, facts...)...) + "."
	}
	if area == q.location || strings.EqualFold(area, q.location) {
		area = ""
	}
	text := lenient.Joined("\n\n", hazard.CleanLine(first), hazard.CleanLine(earthquake), area, paragraph(in.Description), paragraph(in.Instruction))
	return hazard.Clean(cut(text, maxDescription))
}

// maxDescription bounds the text for readers, in bytes. Recorded ones have up to 3,000.
const maxDescription = 16 << 10

// paragraph returns a text of the centers, in which line breaks are runs of blanks, as one
// paragraph.
func paragraph(text string) string { return hazard.CleanLine(cap.Text(text)) }

// products returns the bulletin and the files of an info block.
func (m *message) products(in *cap.Info, title string) []hazard.ReportProduct {
	out := []hazard.ReportProduct{{Key: Name, Title: "tsunami.gov", Type: hazard.FolderProduct, Time: m.sent}}
	add := func(p hazard.ReportProduct) {
		p.Parent, p.Time = Name, m.sent
		if !slices.ContainsFunc(out, func(o hazard.ReportProduct) bool { return o.Key == p.Key }) {
			out = append(out, p)
		}
	}
	if text := lenient.Joined("\n\n", paragraph(in.Headline), paragraph(in.Description), paragraph(in.Instruction)); text != "" {
		add(hazard.ReportProduct{Key: "text/" + m.centre, Title: title, Type: hazard.TextProduct, Data: cut(text, 4*maxDescription), Comment: m.centre + " message " + m.number})
	}
	if u, ok := cap.WebAddress(in.Web); ok {
		add(hazard.ReportProduct{Key: "bulletin/" + m.centre, Title: "Bulletin", Type: hazard.URLProduct, Data: u})
	}
	for i, f := range in.Resource {
		desc := hazard.CleanLine(cap.Text(cut(f.Desc, 200)))
		if u, ok := cap.WebAddress(f.URI); ok && i < 20 {
			add(hazard.ReportProduct{Key: "resource/" + m.centre + "/" + cmp.Or(strings.ToLower(desc), u), Title: cmp.Or(desc, "Resource"), Type: hazard.URLProduct, Data: u})
		}
	}
	return out
}

// small are words that stay in lowercase in the name of a place.
var small = map[string]bool{"of": true, "the": true, "and": true, "in": true, "at": true, "near": true, "off": true, "from": true, "to": true, "between": true,
	"north": true, "south": true, "east": true, "west": true, "northeast": true, "northwest": true, "southeast": true, "southwest": true, "coast": true, "region": true}

// place returns the name of a place in normal case; PHEB writes names in capitals.
func place(text string) string {
	text = hazard.CleanLine(cut(text, 200))
	if strings.ToUpper(text) != text {
		return text
	}
	words := strings.Fields(strings.ToLower(text))
	for i, w := range words {
		if r := []rune(w); !small[w] || i == 0 {
			r[0] = unicode.ToUpper(r[0])
			words[i] = string(r)
		}
	}
	return strings.Join(words, " ")
}

// shortened returns the description of an area for use in a name.
func shortened(desc string) string {
	const width = 80 // of the result, in characters
	if r := []rune(desc); len(r) > width {
		return strings.TrimSpace(string(r[:width-1])) + "…"
	}
	return desc
}

// cut returns the beginning of s, at most n bytes, without an incomplete character at its end.
func cut(s string, n int) string { return strings.ToValidUTF8(s[:min(len(s), n)], "") }
