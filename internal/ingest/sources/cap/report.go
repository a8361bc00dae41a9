package cap

import (
	"cmp"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/ingest/lenient"
	"github.com/hazardd/hazardd/internal/ingest/source"
)

const (
	// farAhead is how far in the future an event may begin or end. A later start is an error, and a
	// later end means "never".
	farAhead = 366 * 24 * time.Hour
	// clockSkew is how far in the future a message's time of issue may be.
	clockSkew = time.Hour
	// goesOn is used for an update that continues an event. Such an update may begin this long
	// before its time of issue.
	goesOn = 30 * time.Minute
	// again is the largest time between two issues of one alert with different identifiers
	// (wmo-raf/cap-aggregator issue 107).
	again = time.Hour
	// endless is how long an alert without an end lasts from its issue, or as long as its type if
	// that is longer and no list says when it is over.
	endless = 24 * time.Hour
	// maxID bounds an identifier, in bytes.
	maxID = 255
	// maxInfo and maxRefs bound the info blocks and references of one message. Real ones have up to 20, and up to 39.
	maxInfo = 1000
	maxRefs = 250
	// replaced is how many info blocks of an update a Cancel can replace in advance.
	replaced = 8
)

// Parse parses a payload of the feed: the alerts in it, in any envelope. An index that only links
// to alerts gives an empty batch; Links returns their addresses. It returns a *source.PayloadError,
// and what was readable, if the payload as a whole is not in the feed's format.
//
// CAP does not say what a list of alerts means, so a batch is only Whole if the sender's practice is
// known (Practice.Lists). Copies of a message count as one record. Messages with the same identifier, sender and time but different
// content are all suspect. An unreadable part of a shown message, such as a polygon, becomes a
// note.
func Parse(cfg Config, payload []byte, now hazard.Instant) (source.Batch, error) {
	doc, err := Read(payload, cfg.Charset)
	if err != nil && len(doc.Messages) == 0 {
		// The titles of an index may be in any character set, but its links are ASCII.
		if links, linksErr := Links(payload); linksErr == nil && len(links) > 0 {
			doc.Links, err = links, nil
		}
	}
	p := parser{cfg: cfg, now: now, Batch: lenient.Batch{Batch: source.Batch{Links: doc.Links, Read: len(doc.Bad)}}, seen: map[string]*seen{}, said: map[string][]int{}}
	p.Add(doc.Bad...)
	for i := range doc.Messages {
		p.record(&doc.Messages[i], i)
	}
	p.holdContradictions()
	p.listed(&doc, err == nil)
	return p.Done(), err
}

type parser struct {
	lenient.Batch
	cfg  Config
	now  hazard.Instant
	seen map[string]*seen
	said map[string][]int // identity of a warning → its reports; see listed
	none []string         // names of the messages that make no report
	bad  bool             // a message was rejected
}

// seen is a message that was read with one combination of sender, identifier and time.
type seen struct {
	sum     [sha256.Size]byte
	reports []int
	clash   bool
}

// record reads one alert.
func (p *parser) record(m *Message, i int) {
	id := hazard.CleanLine(lenient.Cut(m.Identifier, maxID))
	record := cmp.Or(id, fmt.Sprintf("alerts/%d", i))
	text, _ := json.Marshal(m.Alert) // strings always encode
	sum := sha256.Sum256(text)
	key := m.Sender + "\x00" + m.Identifier + "\x00" + m.Sent
	s := p.seen[key]
	switch {
	case s == nil:
		s = &seen{sum: sum}
		p.seen[key] = s
	case s.sum == sum:
		return
	default:
		s.clash = true
	}
	p.Batch.Read++
	r := reader{cfg: p.cfg, now: p.now, m: &m.Alert, zone: lenient.Zone(m.Sent), faults: slices.Clone(m.Notes)}
	reports, err := r.read()
	if err != nil {
		p.bad = true
		p.Reject(lenient.At(record), m.Raw, err.Error())
		return
	}
	for _, f := range r.unplaced {
		p.Reject(lenient.At(record), m.Raw, f)
	}
	if len(reports) == 0 {
		p.Ignore(record, cmp.Or(r.rule, "none of its info blocks makes a report"))
		p.none = append(p.none, plain(hazard.CleanLine(m.Sender), hazard.CleanLine(m.Identifier)))
	}
	for _, report := range reports {
		if r.listKey != "" {
			p.said[r.listKey] = append(p.said[r.listKey], len(p.Reports))
		}
		s.reports = append(s.reports, len(p.Reports))
		p.Reports = append(p.Reports, report)
	}
}

// holdContradictions marks messages with the same sender, identifier and time but different
// content, because it is unclear which one is right.
func (p *parser) holdContradictions() {
	for _, s := range p.seen {
		if !s.clash {
			continue
		}
		for _, i := range s.reports {
			r := &p.Reports[i]
			r.Suspect = lenient.Joined("; ", r.Suspect, "another message of the same sender, identifier and time has other content")
		}
	}
}

// reader makes the reports of one alert.
type reader struct {
	cfg  Config
	now  hazard.Instant
	m    *Alert
	sent hazard.Instant
	zone *time.Location // time zone for times without one; nil means UTC
	refs []ref
	// toItself means that a reference names the message itself, and so nothing.
	toItself bool
	faults   []string // unreadable parts of the message
	rule     string   // why the message makes no report, if it makes none
	// unplaced are the unreadable polygons and circles of areas that otherwise only have a name.
	unplaced []string
	doubts   []string
	common   hazard.Report
	// listKey is the identity of the warning, if the list speaks for it: see parser.listed.
	listKey string
}

// read makes the reports of the alert. There are none if it is not a hazard by the tables, or not
// public. The error names field, value and what was expected.
func (r *reader) read() ([]hazard.Report, error) {
	m := r.m
	admitted, err := m.Admit()
	if err != nil || !admitted {
		r.rule = "not for the public: the status is System, Test or Draft, the scope Restricted or Private, or it is an Ack or an Error"
		return nil, err
	}
	category := hazard.Event
	if is(m.Status, "Exercise") {
		if !r.cfg.Exercises {
			r.rule = "an exercise, and exercises of this source are not shown"
			return nil, nil
		}
		category = hazard.Exercise
	}
	cancel := is(m.MsgType, "Cancel")
	if err := r.readSent(); err != nil {
		return nil, err
	}
	if strings.TrimSpace(m.Scope) == "" {
		r.faults = append(r.faults, "scope: missing, read as Public")
	}
	if !is(m.MsgType, msgTypes...) {
		r.faults = append(r.faults, fmt.Sprintf("msgType: %.40q, expected %s", m.MsgType, strings.Join(msgTypes, ", ")))
	}
	if err := r.references(); err != nil && cancel && (!r.toItself || len(m.Information) == 0) {
		return nil, err
	}
	if len(m.Information) == 0 && !cancel {
		r.rule = "the message has no info block"
		return nil, nil
	}
	if len(m.Information) > maxInfo {
		return nil, fmt.Errorf("info: %d blocks, expected at most %d", len(m.Information), maxInfo)
	}
	before := len(r.faults)
	groups := r.groups(cancel)
	if len(groups) == 0 && len(r.faults) > before {
		return nil, errors.New(r.faults[before])
	}
	if len(groups) == 0 && len(m.Information) > 0 {
		r.rule = cmp.Or(r.rule, "no hazard by the tables of CAP events")
		return nil, nil
	}
	if r.sent > r.now.Add(clockSkew) {
		r.doubts = append(r.doubts, fmt.Sprintf("sent: %v is in the future", r.sent))
	}
	if category == hazard.Event {
		if w := TestWords(m); w != "" {
			r.doubts = append(r.doubts, w)
		}
	}
	r.begin(category, groups)
	if cancel && len(r.refs) == 0 { // the message says what it ends only by event and place
		for _, g := range groups {
			g.ended = hazard.EndCancelled
		}
	} else if cancel {
		return r.finish([]hazard.Report{r.cancel(groups)}), nil
	}
	var reports []hazard.Report
	for _, w := range r.warnings(groups) {
		r.common = w.common
		reports = append(reports, r.finish(r.states(&w))...)
	}
	return reports, nil
}

// readSent reads the time of issue of the message, or the time from which it is valid if the time
// of issue is unreadable.
func (r *reader) readSent() error {
	at, note, err := lenient.Time(r.m.Sent, nil)
	if err != nil {
		note = err.Error()
	}
	if note != "" {
		r.faults = append(r.faults, "sent: "+note)
	}
	if err == nil && note != "" { // the later of two messages is unclear
		return errors.New(r.faults[len(r.faults)-1])
	}
	for i := range r.m.Information {
		if err == nil {
			break
		}
		in := &r.m.Information[i]
		if at, _, err = lenient.Time(in.Effective, nil); err != nil {
			at, _, err = lenient.Time(in.Onset, nil)
		}
	}
	if err != nil {
		return errors.New(r.faults[len(r.faults)-1])
	}
	r.sent = at
	return nil
}

// msgTypes are CAP's message types. Any other type is treated as an Alert.
var msgTypes = []string{"Alert", "Update", "Cancel", "Ack", "Error"}

// Admit reports whether a message is public and real: not a test, a draft, or a message between
// systems. It admits an exercise, which is marked as such. Its error names a missing or invalid
// field.
func (m *Alert) Admit() (bool, error) {
	for _, f := range []struct{ name, value, want string }{
		{"identifier", m.Identifier, "the message's own"}, {"sender", m.Sender, "who sends it"}, {"sent", m.Sent, "a time with its zone"},
		{"status", m.Status, "Actual, Exercise, System, Test or Draft"},
	} {
		if strings.TrimSpace(f.value) == "" {
			return false, fmt.Errorf("%s: missing, expected %s", f.name, f.want)
		}
		if len(f.value) > maxID {
			return false, fmt.Errorf("%s: %d bytes, expected at most %d", f.name, len(f.value), maxID)
		}
	}
	// The status is checked first: a test must not become an event, whatever the rest of the
	// message says.
	for _, f := range []struct {
		name, value string
		yes, no     []string
	}{
		{"status", m.Status, []string{"Actual", "Exercise"}, []string{"System", "Test", "Draft"}},
		{"scope", first(strings.TrimSpace(m.Scope), "Public"), []string{"Public"}, []string{"Restricted", "Private"}},
	} {
		switch {
		case is(f.value, f.yes...):
		case is(f.value, f.no...):
			return false, nil
		default:
			return false, fmt.Errorf("%s: %.40q, expected %s", f.name, f.value, strings.Join(append(slices.Clone(f.yes), f.no...), ", "))
		}
	}
	return !is(m.MsgType, "Ack", "Error"), nil
}

// group is one info block of the message in all its languages.
type group struct {
	infos []*Info
	in    *Info // the block in the displayed language
	kind
	level
	ended         hazard.EndReason
	successor     string // the message of the other alert that its place now belongs to
	nothing       bool   // the sender says that there is no danger
	start         hazard.Instant
	end           *hazard.Instant
	places        []string
	within        []string
	areas         []hazard.Area
	point         *hazard.Point
	doubts        []string
	notes         []string
	faults        []string        // descriptions of unreadable parts
	shapeless     []string        // those of faults that are about polygons and circles
	onset, expiry *hazard.Instant // as stated in the message
}

// groups combines the info blocks that differ only in language, and reads each group. It leaves out
// a block with an unreadable severity, so that it is not shown with too low a level.
func (r *reader) groups(cancel bool) []*group {
	var groups []*group
	bySignature := map[string][]*group{}
	for i := range r.m.Information {
		in := &r.m.Information[i]
		if _, ok := severities[strings.ToLower(strings.TrimSpace(in.Severity))]; !ok && !cancel {
			r.faults = append(r.faults, fmt.Sprintf("info/%d/severity: %.40q, expected Extreme, Severe, Moderate, Minor or Unknown", i, in.Severity))
			continue
		}
		sig := in.signature()
		var g *group
		for _, other := range bySignature[sig] {
			if !slices.ContainsFunc(other.infos, func(o *Info) bool { return strings.EqualFold(o.Language, in.Language) }) {
				g = other
				break
			}
		}
		if g == nil {
			g = &group{}
			groups = append(groups, g)
			bySignature[sig] = append(bySignature[sig], g)
		}
		g.infos = append(g.infos, in)
	}
	if r.cfg.Practice.Identity == ByDay && len(r.refs) == 0 && !cancel {
		groups = eachArea(groups)
	}
	kept := groups[:0]
	for _, g := range groups {
		if r.complete(g) {
			kept = append(kept, g)
		}
	}
	return kept
}

// signature returns what the blocks of a group have in common in all languages.
func (in *Info) signature() string {
	var b strings.Builder
	add := func(words ...string) {
		for _, w := range words {
			fmt.Fprintf(&b, "%d:%s", len(w), strings.TrimSpace(w))
		}
	}
	add(in.Severity, in.Urgency, in.Certainty, in.Onset, in.Effective, in.Expires)
	add(in.Param("awareness_level"), in.Param("awareness_type"), in.Param("AlertLevel"), in.parameterEnding(":Alert_Location_Status"))
	add(in.ResponseType...)
	for _, c := range in.EventCode {
		code, _, _ := strings.Cut(c.Value, ";") // AEMET repeats the code in words after the semicolon
		add(c.Name, code)
	}
	for _, a := range in.Area {
		add("area")
		add(a.Polygon...)
		add(a.Circle...)
		for _, c := range a.Geocode {
			add(c.Name, c.Value)
		}
	}
	return b.String()
}

// complete fills in a group from its info blocks, and reports whether it is a hazard by the tables.
func (r *reader) complete(g *group) bool {
	g.in = preferred(g.infos, r.cfg.Language)
	k, guess := classify(g.infos)
	if k.typ == "" {
		r.rule = fmt.Sprintf("the event %q is no hazard by the tables", hazard.CleanLine(lenient.Cut(g.in.Event, maxID)))
		return false
	}
	if m, _, ok := g.in.quake(); ok && k.typ == hazard.Earthquake && m < minQuake {
		r.rule = fmt.Sprintf("an earthquake of magnitude %v, below %v", m, minQuake)
		return false
	}
	g.kind = k
	g.level = levelOf(r.m, g.in, k)
	g.nothing = g.severity == hazard.NoSeverity
	for _, a := range g.in.Area {
		codes, within := a.places()
		g.places, g.within = append(g.places, codes...), append(g.within, within...)
		shapes, faults := a.Shapes()
		g.areas = append(g.areas, shapes...)
		for _, f := range faults {
			g.shapeless = append(g.shapeless, fmt.Sprintf("area %.60q/%s", hazard.CleanLine(a.Desc), f))
		}
		if len(a.Circle) == 1 && len(g.in.Area) == 1 && len(a.Polygon) == 0 {
			if _, p, err := circle(a.Circle[0]); err == nil {
				g.point = p
			}
		}
	}
	g.places, g.within = sorted(g.places), sorted(g.within)
	g.faults = append(g.faults, g.shapeless...)
	if len(g.areas) == 0 && !slices.ContainsFunc(g.places, func(p string) bool { return !strings.HasPrefix(p, areaPrefix) }) {
		r.unplaced = append(r.unplaced, g.shapeless...)
	}
	g.own()
	// That it is over is read before its end, which is often meaningless then.
	g.ended = ending(g)
	if update := is(r.m.MsgType, "Update"); g.ended == "" && g.in.Over(update) {
		if update || len(r.refs) > 0 {
			g.ended = hazard.EndAllClear
		} else if !is(r.m.MsgType, "Cancel") {
			g.doubts = append(g.doubts, fmt.Sprintf("event: %.60q says that it is over, but refers to no message that it ends", hazard.CleanLine(g.in.Event)))
		}
	}
	r.times(g)
	if g.ended == hazard.EndSuperseded {
		g.successor = successor(g.in)
	}
	if guess != "" {
		g.notes = append(g.notes, guess)
	}
	highest, ok := r.cfg.Caps[g.typ]
	if !ok {
		highest = r.cfg.Caps[""]
	}
	if highest != hazard.NoSeverity {
		g.severity = min(g.severity, highest)
	}
	g.severity = max(g.severity, hazard.Information)
	return true
}

func sorted(words []string) []string {
	slices.Sort(words)
	return slices.Compact(words)
}

// successor returns the message of the other alert that the place now belongs to. CAP-CP writes it
// as "sender,identifier,sent;location".
func successor(in *Info) string {
	triple, _, _ := strings.Cut(in.parameterEnding(":Transitioned_Out_CAP_Reference"), ";")
	words := strings.Split(triple, ",")
	if len(words) != 3 {
		return ""
	}
	at, err := ParseTime(words[2])
	if err != nil {
		return ""
	}
	return exact(hazard.CleanLine(words[0]), hazard.CleanLine(lenient.Cut(words[1], maxID)), at)
}

// ending returns the end reason that an info block states. Past, or an expiry, is not one.
func ending(g *group) hazard.EndReason {
	switch status := strings.ToLower(g.in.parameterEnding(":Alert_Location_Status")); { // a parameter of CAP-CP
	case status == "transitioned_out": // its place now belongs to another alert
		return hazard.EndSuperseded
	case status == "ended":
		return hazard.EndAllClear
	case status == "cancelled":
		return hazard.EndCancelled
	}
	if g.nothing || slices.ContainsFunc(g.in.ResponseType, func(w string) bool { return is(w, "AllClear") }) {
		return hazard.EndAllClear
	}
	return ""
}

// preferred returns the info block in the requested language, otherwise in English, otherwise the
// first one.
func preferred(infos []*Info, language string) *Info {
	primary := func(tag string) string {
		p, _, _ := strings.Cut(strings.ToLower(strings.TrimSpace(tag)), "-")
		return cmp.Or(p, "en") // CAP: the default language is en-US
	}
	for _, fits := range []func(tag string) bool{
		func(tag string) bool { return language != "" && strings.EqualFold(strings.TrimSpace(tag), language) },
		func(tag string) bool { return language != "" && primary(tag) == primary(language) },
		func(tag string) bool { return primary(tag) == "en" },
	} {
		if i := slices.IndexFunc(infos, func(in *Info) bool { return fits(in.Language) }); i >= 0 {
			return infos[i]
		}
	}
	return infos[0]
}

// states returns the reports of an Alert or Update about a warning, one for each group. If the
// message follows others, an additional first report without places replaces all earlier reports.
func (r *reader) states(w *warning) []hazard.Report {
	groups := w.groups
	// The worst comes last among the reports with the same time, because hazard.Derive takes name
	// and type from the last one in force.
	slices.SortStableFunc(groups, func(a, b *group) int {
		return cmp.Or(-boolOrder(a.ended != "", b.ended != ""), cmp.Compare(a.severity, b.severity), cmp.Compare(a.rank(), b.rank()))
	})
	stem := w.stem
	first, follows := oldest(r.refs)
	over, worst := true, groups[len(groups)-1]
	for _, g := range groups {
		over = over && g.ended != ""
	}
	var reports []hazard.Report
	var notes []string
	for _, g := range groups {
		if g.typ != worst.typ && !over {
			notes = append(notes, "Also: "+hazard.CleanLine(Text(g.in.Event))+" ("+g.level.word+").")
		}
	}
	for i, g := range groups {
		p := r.report(g, notes)
		// An update that begins when it is issued continues something that began with the first
		// message.
		if follows && first.timed && g.start > r.sent.Add(-goesOn) && g.start <= r.sent {
			p.Start = min(p.Start, first.sent)
		}
		p.Part = part(stem, i+1)
		p.Ended, p.Successor = g.ended, g.successor
		reports = append(reports, p)
	}
	alsoWhere(groups, reports)
	alsoSaid(reports)
	if w.replaces {
		for n := len(groups); n < replaced; n++ {
			reports[0].Replaces = append(reports[0].Replaces, part(stem, n+1))
		}
	}
	if follows {
		base := r.report(worst, nil)
		base.Texts = nil
		base.Part, base.Places, base.Within, base.Areas, base.Products = stem, nil, nil, nil, nil
		base.Ended, base.End = hazard.EndExpired, &r.sent // this report only replaces earlier ones
		for _, p := range reports {
			base.Start = min(base.Start, p.Start)
		}
		return append([]hazard.Report{base}, reports...)
	}
	if over { // there is no earlier message that it could end
		for i := range reports {
			reports[i].Minor = true
		}
	}
	return reports
}

// rank orders groups that have the same level by CAP's severity.
func (g *group) rank() hazard.Severity {
	return severities[strings.ToLower(strings.TrimSpace(g.in.Severity))]
}

func boolOrder(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return 1
	}
	return -1
}

// cancel returns the report of a Cancel. It replaces all reports before it, and reports of later
// messages that follow the same ones.
func (r *reader) cancel(groups []*group) hazard.Report {
	g := &group{in: &Info{Event: "Alert cancelled"}, kind: kind{typ: hazard.Occurrence}, level: level{severity: hazard.Information}, start: r.sent}
	reason := hazard.EndCancelled
	var areas []hazard.Area
	for _, o := range groups {
		if g.infos == nil || o.severity > g.severity || o.severity == g.severity && preferred([]*Info{g.in, o.in}, r.cfg.Language) == o.in {
			g = o // blocks in several languages may be several groups
		}
		areas = append(areas, o.areas...)
		if o.ended == hazard.EndAllClear {
			reason = hazard.EndAllClear
		}
	}
	p := r.report(g, nil)
	p.Part, p.Areas, p.Ended = hazard.CleanLine(r.m.Identifier), areas, reason
	p.Places, p.Within, p.End = nil, nil, nil
	for _, f := range r.refs {
		if f.timed {
			p.Start = min(p.Start, f.sent)
		}
		for _, stem := range []string{f.id, follower(f.id)} {
			p.Replaces = append(p.Replaces, stem)
			for n := range replaced {
				p.Replaces = append(p.Replaces, part(stem, n+1))
			}
		}
	}
	p.Replaces = sorted(p.Replaces)
	p.Replaces = slices.DeleteFunc(p.Replaces, func(s string) bool { return s == p.Part })
	return p
}

// report returns the report of a group, without its part and end reason.
func (r *reader) report(g *group, notes []string) hazard.Report {
	p := r.common
	p.Refs = slices.Concat(p.Refs, r.fingerprints(g))
	in := g.in
	agency := r.agency(in)
	p.Name, p.Description, p.Texts = r.nameOf(in), description(agency, in, g.level, r.sent, notes...), r.texts(g)
	if _, ok := in.ownType(); ok && p.Category == hazard.Event { // the message comes from another hazardd
		p.Category = in.ownCategory()
	}
	p.Type, p.Severity, p.Level = g.typ, g.severity, g.level.word
	p.Start, p.End = g.start, g.end
	if g.end == nil {
		p.Renewed = &r.sent
		if info, _ := g.typ.Info(); info.Life < endless || r.cfg.Practice.Lists.InForce == source.Yes {
			p.LifeMS = endless.Milliseconds()
		}
	}
	p.Places, p.Within, p.Areas, p.Point, p.Country = g.places, g.within, g.areas, g.point, r.m.country()
	p.Creator = cmp.Or(r.cfg.Title, agency)
	p.URL, _ = WebAddress(in.Web)
	p.Notes = slices.Clone(g.notes)
	source.Note(&p, append(slices.Clone(r.faults), g.faults...)...)
	source.Rate(&p, hazard.Urgency, in.Urgency)
	source.Rate(&p, hazard.Certainty, in.Certainty)
	p.Suspect = lenient.Joined("; ", append(slices.Clone(r.doubts), g.doubts...)...)
	p.Products = r.products(g, p.Name)
	return p
}

// products returns the folder of the source with the text, the page and the files of a group.
func (r *reader) products(g *group, title string) []hazard.ReportProduct {
	in, folder := g.in, r.cfg.Name
	out := []hazard.ReportProduct{{Key: folder, Title: cmp.Or(r.cfg.Title, folder), Type: hazard.FolderProduct, Time: r.sent}}
	add := func(p hazard.ReportProduct) {
		p.Parent, p.Time = folder, r.sent
		p.Title = lenient.Cut(p.Title, maxTitle)
		if !slices.ContainsFunc(out, func(o hazard.ReportProduct) bool { return o.Key == p.Key }) {
			out = append(out, p)
		}
	}
	if text := lenient.Joined("\n\n", Text(in.Headline), Text(in.Description), Text(in.Instruction)); text != "" {
		add(hazard.ReportProduct{
			Key: "text", Title: cmp.Or(hazard.CleanLine(Text(in.Headline)), title), Type: hazard.TextProduct,
			Data: shortened(text, maxProduct), Comment: hazard.CleanLine(r.m.Identifier),
		})
	}
	if u, ok := WebAddress(in.Web); ok {
		add(hazard.ReportProduct{Key: "web", Title: "Web page", Type: hazard.URLProduct, Data: u})
	}
	for i, f := range in.Resource {
		if u, ok := WebAddress(f.URI); ok && i < maxResources {
			desc := hazard.CleanLine(Text(lenient.Cut(f.Desc, maxTitle)))
			add(hazard.ReportProduct{Key: "resource/" + u, Title: cmp.Or(desc, "Resource"), Type: hazard.URLProduct, Data: u, Comment: hazard.CleanLine(lenient.Cut(f.MimeType, 100))})
		}
	}
	return out
}

// maxResources bounds the files of one info block. Real ones have up to five.
const maxResources = 50

// finish sorts the aliases of the reports, and passes doubts on to the first report.
func (r *reader) finish(reports []hazard.Report) []hazard.Report {
	for i := range reports {
		p := &reports[i]
		p.Aliases = sorted(p.Aliases)
		if len(p.Aliases) == 0 {
			p.Aliases = nil
		}
	}
	// The first report must not replace earlier reports while the new ones are held.
	if len(reports) > 1 && reports[0].Areas == nil && reports[0].Places == nil {
		for _, p := range reports[1:] {
			if p.Suspect != "" {
				reports[0].Suspect = p.Suspect
			}
		}
	}
	return reports
}
