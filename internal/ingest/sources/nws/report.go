package nws

import (
	"cmp"
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/hazardd/hazardd/internal/geo"
	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/ingest/lenient"
	"github.com/hazardd/hazardd/internal/ingest/source"
)

const (
	// grace is how long an event without a stated end lasts after the time of renewal, because the
	// update may be late (weather-gov/api issue 190).
	grace = 15 * time.Minute
	// farAhead is how far in the future an event may begin or end. A later date is a mistake.
	farAhead = 366 * 24 * time.Hour
	// clockSkew is how far in the future a message may have been issued.
	clockSkew = time.Hour
)

// message is the content of one feature.
type message struct {
	sent    hazard.Instant
	reports []hazard.Report // empty if it is not a hazard by the table, or not public
	rule    string          // why there are none
}

// read returns the reports of a message: one, or one per VTEC string. notes describe parts that are
// already known to be unreadable; each report gets them and further ones. The error names field,
// value and what was expected.
func read(f *feature, notes []string, now hazard.Instant) (message, error) {
	al := f.Properties
	r := reader{notes: slices.Clone(notes)}
	t, err := r.times(al)
	if err != nil {
		return message{}, err
	}
	m := message{sent: t.sent}
	category := hazard.Event
	switch { // checked first: a test must not become an event, whatever the rest of the message says
	case strings.EqualFold(al.Status, "Actual"):
	case strings.EqualFold(al.Status, "Exercise"):
		category = hazard.Exercise
	case is(al.Status, "System", "Test", "Draft"):
		m.rule = "the status is System, Test or Draft: not for the public"
		return m, nil
	default:
		return m, fmt.Errorf("properties/status: %.40q, expected Actual, Exercise, System, Test or Draft", al.Status)
	}
	if al.Scope != "" && !is(al.Scope, "Public") {
		m.rule = "the scope is not Public"
		return m, nil
	}
	switch {
	case is(al.MessageType, "Alert", "Update", "Cancel"):
	case is(al.MessageType, "Ack", "Error"):
		m.rule = "an Ack or an Error: a message between systems"
		return m, nil
	default: // an unknown type must not hide a warning
		r.note("properties/messageType: %.40q, expected Alert, Update, Cancel, Ack or Error", al.MessageType)
	}
	speaks := r.speaks(al, t)
	if len(speaks) == 0 && strings.TrimSpace(al.Event) == "" {
		return m, fmt.Errorf("properties/event: %.40q, expected the name of an event", al.Event)
	}
	if len(speaks) == 0 {
		m.rule = fmt.Sprintf("%.80q is no hazard by the table of events, or its VTEC string is a test, experimental or routine", al.Event)
		return m, nil
	}
	common := r.common(f, t)
	common.Category = category
	if category == hazard.Event {
		common.Suspect = testWords(al)
	}
	zones := map[bool][]string{}
	for _, s := range speaks {
		if fire := s.typ == hazard.Wildfire; zones[fire] == nil {
			zones[fire] = places(al, fire)
		}
	}
	count, nth := map[string]int{}, map[string]int{}
	for _, s := range speaks {
		count[s.key]++
	}
	for _, s := range speaks {
		r := common
		if nth[s.key]++; count[s.key] > 1 {
			r.Part = fmt.Sprintf("%s#%d", r.Part, nth[s.key])
		}
		r.Places = zones[s.typ == hazard.Wildfire]
		m.reports = append(m.reports, s.report(r, al, t, now))
	}
	nameSuccessors(m.reports)
	return m, nil
}

// reader reads one message, and collects notes about its unreadable parts.
type reader struct{ notes []string }

func (r *reader) note(format string, args ...any) {
	r.notes = append(r.notes, fmt.Sprintf(format, args...))
}

// is reports whether a word of CAP is one of words, ignoring case.
func is(s string, words ...string) bool {
	return slices.ContainsFunc(words, func(w string) bool { return strings.EqualFold(strings.TrimSpace(s), w) })
}

// nameSuccessors sets the successor of an event that the message calls upgraded: the event that
// begins or continues in the same message (NWSI 10-1703: the strings of both are in one segment).
func nameSuccessors(reports []hazard.Report) {
	i := slices.IndexFunc(reports, func(r hazard.Report) bool { return r.Ended == "" })
	for j := range reports {
		if r := &reports[j]; i >= 0 && r.Ended == hazard.EndSuperseded {
			r.Successor = reports[i].Key
		}
	}
}

// speak is one event in a message.
type speak struct {
	kind
	key              string
	aliases, earlier []string
	v                *vtec // nil if there is no VTEC string, or one that does not belong to this event
	ended            hazard.EndReason
}

// speaks returns the events in a message: one for each VTEC string, or else the event of the chain
// of messages.
func (r *reader) speaks(al *alert, t times) []speak {
	var codes []vtec
	for i, text := range al.Parameters.VTEC {
		text = strings.TrimSpace(text)
		if isHydrologic(text) {
			continue
		}
		v, err := parseVTEC(text)
		if err != nil {
			r.note("properties/parameters/VTEC/%d: %v", i, err)
			var ok bool
			if v, ok = identityOf(text); !ok {
				continue
			}
		}
		codes = append(codes, v)
	}
	if len(codes) == 0 {
		k := classify(al.Event, nil)
		if k.typ == "" || strings.TrimSpace(al.Event) == "" {
			return nil
		}
		key, aliases := chain(al, t.sent)
		return []speak{{kind: k, key: key, aliases: aliases, ended: cancelled(al)}}
	}
	var speaks []speak
	done := map[string]bool{} // a string may occur twice, and a message belongs to one chain only
	for _, v := range codes {
		k := classify(al.Event, &v)
		// Class T is a test, E and X are experimental. ROU is routine information without an event.
		if v.class != 'O' || v.action == "ROU" || k.typ == "" {
			continue
		}
		once := v.String()
		if k.foreign {
			once = "chain"
		}
		if done[once] {
			continue
		}
		done[once] = true
		s := speak{kind: k, ended: cmp.Or(cancelled(al), v.ended())}
		if k.foreign { // the identity of that string would join this event with another one
			s.key, s.aliases = chain(al, t.sent)
		} else {
			s.key, s.earlier = v.keys(t.sent)
			s.v = new(v.believable(t.sent))
		}
		speaks = append(speaks, s)
	}
	return speaks
}

// cancelled returns the end reason of the message type, if any. Lists of active alerts never
// contain a cancellation.
func cancelled(al *alert) hazard.EndReason {
	if is(al.MessageType, "Cancel") {
		return hazard.EndCancelled
	}
	return ""
}

// link is a message of a chain.
type link struct {
	sent hazard.Instant
	id   string
}

// links returns the messages that a message follows.
func links(al *alert) (links []link) {
	add := func(id, when string) {
		if t, err := parseTime(when); err == nil && id != "" {
			links = append(links, link{t, hazard.CleanLine(id)})
		}
	}
	for _, r := range al.References {
		add(r.Identifier, r.Sent)
	}
	for _, list := range al.Parameters.Expired {
		for triple := range strings.FieldsSeq(list) {
			if words := strings.Split(triple, ","); len(words) == 3 {
				add(words[1], words[2])
			}
		}
	}
	return links
}

// chain returns the identity of an event without a VTEC string: the first message of its chain.
// Another message may refer to any later message of the chain, so all of them are aliases.
func chain(al *alert, sent hazard.Instant) (key string, aliases []string) {
	all := append(links(al), link{sent, al.ID})
	slices.SortFunc(all, func(a, b link) int { return cmp.Or(cmp.Compare(a.sent, b.sent), cmp.Compare(a.id, b.id)) })
	for _, l := range all {
		aliases = append(aliases, l.id)
	}
	slices.Sort(aliases)
	return all[0].id, slices.Compact(aliases)
}

// replaced returns the parts of the messages that a message follows, except part itself.
func replaced(al *alert, part string) (parts []string) {
	for _, l := range links(al) {
		if id := l.id; id != part {
			parts = append(parts, id, id+"#1", id+"#2") // two for a message with several strings of one event
		}
	}
	slices.Sort(parts)
	return slices.Compact(parts)
}

// report completes r, which contains what all events of the message have in common.
func (s *speak) report(r hazard.Report, al *alert, t times, now hazard.Instant) hazard.Report {
	r.Key, r.Aliases, r.Earlier = s.key, s.aliases, s.earlier
	r.Type, r.Severity, r.Ended = s.typ, s.level, s.ended
	// A message replaces those that it follows as a whole. But one that ends an event does so only
	// in its places: another segment of the same product goes on with it in the others.
	if s.v == nil || s.ended == "" {
		r.Replaces = replaced(al, r.Part)
	}
	r.Minor = is(al.MessageType, "Cancel") // it only ends what there is
	span := t.span(s.v, s.typ)
	r.Start = span.start
	if due := t.expires; span.openEnded && due != nil && span.end == due.Add(grace) {
		r.Renewed, r.LifeMS = due, grace.Milliseconds()
	} else {
		r.End = &span.end
	}

	doubts := []string{r.Suspect}
	if s.unknown {
		r.Notes = append(r.Notes, fmt.Sprintf("the event %.60q is in no list of ours, and its type is a guess", hazard.CleanLine(al.Event)))
	}
	if len(r.Areas) == 0 && len(r.Places) == 0 {
		doubts = append(doubts, "no place: neither geometry nor affectedZones nor geocode")
	}
	if t.sent > now.Add(clockSkew) {
		doubts = append(doubts, fmt.Sprintf("sent: %v is in the future", t.sent))
	}
	if span.start > now.Add(farAhead) {
		doubts = append(doubts, fmt.Sprintf("%s: %v is more than 366 days ahead", span.startField, span.start))
	}
	if span.end > now.Add(farAhead) {
		doubts = append(doubts, fmt.Sprintf("%s: %v is more than 366 days ahead", span.endField, span.end))
	}
	r.Suspect = lenient.Joined("; ", doubts...)

	if r.Category == hazard.Exercise {
		r.Key, r.Aliases, r.Earlier = exercise(r.Key), each(r.Aliases, exercise), each(r.Earlier, exercise)
	}
	r.Comment = Name + ":" + r.Key
	return r
}

// exercise returns an identity that no real event has, because exercises use the codes of real
// events.
func exercise(key string) string { return "exercise:" + key }

func each(list []string, f func(string) string) []string {
	var out []string
	for _, s := range list {
		out = append(out, f(s))
	}
	return out
}

// common returns the part of the report that is the same for all events of the message.
func (r *reader) common(f *feature, t times) hazard.Report {
	al := f.Properties
	name, area := cmp.Or(Emergency(al.Event, threat(al.Parameters.FlashFloodThreat), threat(al.Parameters.TornadoThreat), threat(al.Parameters.ThunderstormThreat)), hazard.CleanLine(al.Event), hazard.CleanLine(lenient.Cut(al.Headline, areaWidth)), "Weather alert"), shortArea(al.Area)
	sender := hazard.CleanLine(al.SenderName)
	p := hazard.Report{
		Source:      Name,
		Part:        al.ID,
		Version:     int64(t.sent),
		Name:        lenient.Joined(" - ", name, area),
		Description: description(al),
		Instruction: cmp.Or(unwrap(hazard.Clean(al.Instruction)), acts(al.Description)),
		Within:      sames(al),
		URL:         address(al),
		Creator:     cmp.Or(sender, "NWS"),
	}
	if kind := f.Geometry.Kind(); kind != 0 && kind != 'n' {
		shape := compact(f.Geometry)
		if _, err := geo.ParseLoose(shape); err != nil {
			r.note("geometry: %v", err)
		} else {
			p.Areas = []hazard.Area{{Role: hazard.AlertArea, Geometry: string(shape)}}
		}
	}
	p.Products = []hazard.ReportProduct{
		{Key: "nws", Title: "NWS", Type: hazard.FolderProduct, Time: t.sent},
		{
			Key: "text", Parent: "nws", Type: hazard.TextProduct, Time: t.sent, Comment: al.ID,
			Title: cmp.Or(hazard.CleanLine(al.Headline), p.Name),
			Data:  hazard.Clean(lenient.Joined("\n\n", al.Headline, forecasterHeadline(al), al.Description, al.Instruction)),
		},
	}
	source.Note(&p, r.notes...)
	measure(&p, al)
	return p
}

// measure adds the ratings and measurements in the message.
func measure(p *hazard.Report, al *alert) {
	threats := slices.Concat(al.Parameters.FlashFloodThreat, al.Parameters.TornadoThreat, al.Parameters.ThunderstormThreat)
	info, _ := hazard.DamageThreat.Info()
	slices.SortFunc(threats, func(a, b string) int { // the worst comes last, and counts
		x, _ := info.Value(a)
		y, _ := info.Value(b)
		return cmp.Compare(x, y)
	})
	for _, threat := range threats {
		source.Rate(p, hazard.DamageThreat, threat)
	}
	source.Rate(p, hazard.Urgency, al.Urgency)
	source.Rate(p, hazard.Certainty, al.Certainty)
	for _, gust := range al.Parameters.MaxWindGust {
		mph, ok := amount(gustForm, gust)
		source.Measure(p, hazard.Gust, mph*source.KmhPerMph, ok && mph > 0)
	}
	for _, hail := range al.Parameters.MaxHailSize {
		inches, ok := amount(hailForm, hail)
		source.Measure(p, hazard.Hail, inches*source.MmPerInch, ok && inches > 0)
	}
}

// The formats of winds and of hail in the parameters of a message (NWSI 10-1701).
var (
	gustForm = regexp.MustCompile(`(?i)^(?:up to )?([0-9]*\.?[0-9]+) ?mph$`)
	hailForm = regexp.MustCompile(`(?i)^(?:up to )?([0-9]*\.?[0-9]+)(?: ?in)?$`)
)

// amount returns the number in a text of that format.
func amount(form *regexp.Regexp, text string) (v float64, ok bool) {
	m := form.FindStringSubmatch(strings.TrimSpace(text))
	if m == nil {
		return 0, false
	}
	v, err := strconv.ParseFloat(m[1], 64)
	return v, err == nil
}

// Emergency returns the NWS's name for a warning with the worst threat of damage (NWSI 10-511,
// 10-922), or "" if the threat is lower. The arguments are the words of flashFloodDamageThreat,
// tornadoDamageThreat and thunderstormDamageThreat.
func Emergency(event, flashFlood, tornado, thunderstorm string) string {
	event = hazard.CleanLine(event)
	is := func(word, threat string) bool { return strings.EqualFold(strings.TrimSpace(word), threat) }
	switch {
	case is(tornado, "CATASTROPHIC"):
		return "Tornado Emergency"
	case is(flashFlood, "CATASTROPHIC"):
		return "Flash Flood Emergency"
	case is(tornado, "CONSIDERABLE") && event != "":
		return event + " (particularly dangerous situation)"
	case is(thunderstorm, "DESTRUCTIVE") && event != "":
		return event + " (destructive)"
	}
	return ""
}

// threat returns the first word of a parameter.
func threat(words []string) string {
	if len(words) == 0 {
		return ""
	}
	return words[0]
}

// address returns the address of the message's own document in the API.
func address(al *alert) string {
	if u, err := url.Parse(al.URL); err == nil && u.Scheme == "https" && u.Host != "" {
		return u.String()
	}
	return api + "alerts/" + url.PathEscape(al.ID)
}

// times are the times of a message; nil if it does not state one.
type times struct {
	sent                            hazard.Instant
	effective, onset, expires, ends *hazard.Instant
}

// times reads the times of a message. If the time of issue is missing, messages are ordered by the
// time from which they are valid. If both are missing, the later of two messages is unknown, which
// is an error.
func (r *reader) times(al *alert) (times, error) {
	var t times
	var sent *hazard.Instant
	zone := cmp.Or(lenient.Zone(al.Sent), lenient.Zone(al.Effective), lenient.Zone(al.Expires))
	for _, f := range []struct {
		name, text string
		into       **hazard.Instant
	}{
		{"sent", al.Sent, &sent}, {"effective", al.Effective, &t.effective}, {"onset", al.Onset, &t.onset},
		{"expires", al.Expires, &t.expires}, {"ends", al.Ends, &t.ends},
	} {
		if f.text == "" {
			continue
		}
		at, note, err := lenient.Time(f.text, zone)
		switch {
		case err != nil:
			r.note("properties/%s: %v", f.name, err)
			continue
		case note != "":
			r.note("properties/%s: %s", f.name, note)
		}
		*f.into = &at
	}
	if al.Sent == "" {
		r.note("properties/sent: missing, expected a time as in RFC 3339")
	}
	if sent = cmp.Or(sent, t.effective, t.onset); sent == nil {
		return t, errors.New(strings.Join(r.notes, "; "))
	}
	t.sent = *sent
	return t, nil
}

// parseTime parses the time of a reference.
func parseTime(s string) (hazard.Instant, error) {
	at, _, err := lenient.Time(s, nil)
	return at, err
}

// span is the start and end of an event, and the fields that contain them.
type span struct {
	start, end           hazard.Instant
	startField, endField string
	openEnded            bool // there is no stated end: end applies unless another message arrives
}

// span returns the time of an event from the message and from its VTEC string, if it has one.
//
// The VTEC string has precedence, because a message may contain several events, but the string
// belongs to one. If the end is not after the start, it is replaced by the usual life of the type,
// because the alert must not vanish before it begins.
func (t times) span(v *vtec, typ hazard.Type) span {
	info, _ := typ.Info()
	s := span{start: t.sent, startField: "sent"}
	switch {
	case v != nil && v.begin != nil:
		s.start, s.startField = *v.begin, "VTEC"
	case t.onset != nil:
		s.start, s.startField = *t.onset, "onset"
	case t.effective != nil:
		s.start, s.startField = *t.effective, "effective"
	}
	switch {
	case v != nil && v.end != nil:
		s.end, s.endField = *v.end, "VTEC"
	case t.ends != nil:
		s.end, s.endField = *t.ends, "ends"
	case t.expires != nil:
		s.end, s.endField, s.openEnded = t.expires.Add(grace), "expires", true
	default:
		s.end, s.endField, s.openEnded = t.sent.Add(info.Life), "sent", true
	}
	if s.end <= s.start {
		s.end, s.endField = s.start.Add(info.Life), s.startField
		if t.expires != nil && *t.expires > s.end {
			s.end, s.endField = *t.expires, "expires"
		}
	}
	return s
}

// testWords returns the words of an actual message that mark it as a test. A test that is sent as
// real must not be shown unchecked. A real alert must not be held because it tells people to
// exercise caution.
func testWords(al *alert) string {
	found := func(field, words string) string {
		return fmt.Sprintf("status is Actual, but %s says %q", field, words)
	}
	if lenient.HasWord(strings.ToUpper(al.Event), "TEST", nil) {
		return found("event", hazard.CleanLine(lenient.Cut(al.Event, 60)))
	}
	texts := []struct{ field, text string }{
		{"headline", al.Headline}, {"NWSheadline", forecasterHeadline(al)},
		{"description", al.Description}, {"instruction", al.Instruction},
	}
	for i, t := range texts {
		if lenient.HasWord(t.text, "TEST", nil) {
			return found(t.field, "TEST")
		}
		if i > 1 {
			continue
		}
		for _, word := range []string{"EXERCISE", "DRILL"} {
			if lenient.HasWord(t.text, word, []string{"CAUTION", "CARE", "DUE", "VIGILANCE"}) {
				return found(t.field, word)
			}
		}
	}
	return ""
}

func forecasterHeadline(al *alert) string { return strings.Join(al.Parameters.Headline, "\n") }

// description returns the message for readers, in paragraphs: the sender and time in the service's
// own words, then its text.
func description(al *alert) string {
	first := "NWS: " + al.Event
	if triple := lenient.Joined(", ", al.Severity, al.Urgency, al.Certainty); triple != "" {
		first += " (" + triple + ")"
	}
	if al.SenderName != "" {
		first += " by " + al.SenderName
	}
	return hazard.Clean(lenient.Joined("\n\n", hazard.CleanLine(first), cmp.Or(forecasterHeadline(al), al.Headline),
		unwrap(hazard.Clean(al.Description)), unwrap(hazard.Clean(al.Instruction))))
}

// acts returns what a message about a tropical storm says to do, each advice once: such a message
// has no instruction, but a line for each danger.
func acts(text string) string {
	var all []string
	for line := range strings.SplitSeq(unwrap(hazard.Clean(text)), "\n") {
		if advice, ok := strings.CutPrefix(line, "- ACT: "); ok && !slices.Contains(all, advice) {
			all = append(all, advice)
		}
	}
	return strings.Join(all, "\n")
}

// wrapped is the width in characters at which the service wraps lines. A line together with the
// first word of the next one has at least this width. A shorter line has ended on purpose.
const wrapped = 59

// unwrap joins lines that were only wrapped. Blank lines, bullets and short lines stay unchanged.
func unwrap(text string) string {
	var out strings.Builder
	last := 0 // width of the line before, 0 if it was blank
	for i, line := range strings.Split(text, "\n") {
		line = strings.TrimRight(line, " \t")
		bullet := strings.HasPrefix(line, "* ") || strings.HasPrefix(line, "- ")
		word, _, _ := strings.Cut(strings.TrimLeft(line, " \t"), " ")
		switch {
		case i == 0:
		case line != "" && last > 0 && !bullet && last+1+utf8.RuneCountInString(word) >= wrapped:
			out.WriteByte(' ')
			line = strings.TrimLeft(line, " \t")
		default:
			out.WriteByte('\n')
		}
		out.WriteString(line)
		last = utf8.RuneCountInString(line)
	}
	return out.String()
}

// areaWidth bounds the area in a hazard's name, in characters, because names appear in lists.
const areaWidth = 80

// shortArea returns the name of the first area, and how many more there are.
func shortArea(desc string) string {
	var names []string
	for part := range strings.SplitSeq(desc, ";") {
		if part = hazard.CleanLine(part); part != "" {
			names = append(names, part)
		}
	}
	return lenient.Names(names, areaWidth)
}
