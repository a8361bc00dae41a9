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
	"github.com/hazardd/hazardd/internal/source"
	"github.com/hazardd/hazardd/internal/source/frame"
)

const (
	// grace is how long an event without an end outlasts the time of renewal: the update may come late
	// (weather-gov/api issue 190).
	grace = 15 * time.Minute
	// farAhead is how far in the future an event may begin or end: beyond it a date is a slip.
	farAhead = 366 * 24 * time.Hour
	// clockSkew is how far in the future a message may have been issued.
	clockSkew = time.Hour
)

// message is what one feature says.
type message struct {
	sent    hazard.Instant
	reports []report // none: it is no hazard by the table, or not for the public
}

type report struct {
	hazard.Report
	// openEnded: the service has not said when the event ends.
	openEnded bool
}

// read makes the reports of a message: one, or one per VTEC string. The notes are what is known to be unreadable; what else is goes
// with them to each report. Its error names field, value and what was expected.
func read(f *feature, notes []string, now hazard.Instant) (message, error) {
	al := f.Properties
	r := reader{notes: slices.Clone(notes)}
	t, err := r.times(al)
	if err != nil {
		return message{}, err
	}
	m := message{sent: t.sent}
	category := hazard.Event
	switch { // before anything else: a test must not pass for an event, whatever the rest says
	case strings.EqualFold(al.Status, "Actual"):
	case strings.EqualFold(al.Status, "Exercise"):
		category = hazard.Exercise
	case is(al.Status, "System", "Test", "Draft"):
		return m, nil
	default:
		return m, fmt.Errorf("properties/status: %.40q, expected Actual, Exercise, System, Test or Draft", al.Status)
	}
	if al.Scope != "" && !is(al.Scope, "Public") {
		return m, nil
	}
	switch {
	case is(al.MessageType, "Alert", "Update", "Cancel"):
	case is(al.MessageType, "Ack", "Error"): // between systems
		return m, nil
	default: // a warning must not be lost for it
		r.note("properties/messageType: %.40q, expected Alert, Update, Cancel, Ack or Error", al.MessageType)
	}
	speaks := r.speaks(al, t)
	if len(speaks) == 0 && strings.TrimSpace(al.Event) == "" {
		return m, fmt.Errorf("properties/event: %.40q, expected the name of an event", al.Event)
	}
	if len(speaks) == 0 {
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

// reader reads one message, and notes what of it cannot be read.
type reader struct{ notes []string }

func (r *reader) note(format string, args ...any) {
	r.notes = append(r.notes, fmt.Sprintf(format, args...))
}

// is reports whether a word of CAP is one of words: some send them in other letters.
func is(s string, words ...string) bool {
	return slices.ContainsFunc(words, func(w string) bool { return strings.EqualFold(strings.TrimSpace(s), w) })
}

// nameSuccessors notes which event took the place of one that the message says was upgraded: the one that it begins or goes on with (NWSI
// 10-1703: the strings of both are in one segment).
func nameSuccessors(reports []report) {
	i := slices.IndexFunc(reports, func(r report) bool { return r.Ended == "" })
	for j := range reports {
		if r := &reports[j]; i >= 0 && r.Ended == hazard.EndSuperseded {
			r.Successor = reports[i].Key
		}
	}
}

// speak is one event of which a message speaks.
type speak struct {
	kind
	key              string
	aliases, earlier []string
	v                *vtec // nil if there is no VTEC string, or one that tells nothing of this event
	ended            hazard.EndReason
}

// speaks finds of which events a message speaks: that of each VTEC string, else that of the chain of messages.
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
	done := map[string]bool{} // the same string may be given twice, and a message has one chain
	for _, v := range codes {
		k := classify(al.Event, &v)
		// Class T is a test, E and X are experimental. ROU is routine information that belongs to no event.
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
		if k.foreign { // by that string's identity this event would join another
			s.key, s.aliases = chain(al, t.sent)
		} else {
			s.key, s.earlier = v.keys(t.sent)
			s.v = new(v.believable(t.sent))
		}
		speaks = append(speaks, s)
	}
	return speaks
}

// cancelled returns the end that the message type implies, if any. The lists of active alerts never hold a cancellation.
func cancelled(al *alert) hazard.EndReason {
	if is(al.MessageType, "Cancel") {
		return hazard.EndCancelled
	}
	return ""
}

// chain is the identity of an event without a VTEC string: the first message of the chain that this one continues. Each
// later one may be the only one that another message refers to, so all of them are aliases.
func chain(al *alert, sent hazard.Instant) (key string, aliases []string) {
	type link struct {
		sent hazard.Instant
		id   string
	}
	links := []link{{sent, al.ID}}
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
	slices.SortFunc(links, func(a, b link) int { return cmp.Or(cmp.Compare(a.sent, b.sent), cmp.Compare(a.id, b.id)) })
	for _, l := range links {
		aliases = append(aliases, l.id)
	}
	slices.Sort(aliases)
	return links[0].id, slices.Compact(aliases)
}

// report completes r, which holds what is common to all events of the message.
func (s *speak) report(r hazard.Report, al *alert, t times, now hazard.Instant) report {
	r.Key, r.Aliases, r.Earlier = s.key, s.aliases, s.earlier
	// In a chain each message says all anew; the segments of an event with a VTEC string replace each other place by place.
	r.Replaces = slices.DeleteFunc(slices.Clone(s.aliases), func(id string) bool { return id == r.Part })
	r.Type, r.Severity, r.Ended = s.typ, s.level, s.ended
	span := t.span(s.v, s.typ)
	r.Start, r.End = span.start, &span.end

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
	r.Suspect = frame.Joined("; ", doubts...)

	if r.Category == hazard.Exercise {
		r.Key, r.Aliases, r.Earlier = exercise(r.Key), each(r.Aliases, exercise), each(r.Earlier, exercise)
	}
	r.Comment = Name + ":" + r.Key
	return report{r, span.openEnded}
}

// exercise makes an identity that no real event has: exercises use the codes of real events.
func exercise(key string) string { return "exercise:" + key }

func each(list []string, f func(string) string) []string {
	var out []string
	for _, s := range list {
		out = append(out, f(s))
	}
	return out
}

// common is the part of the report that is the same for each event of the message.
func (r *reader) common(f *feature, t times) hazard.Report {
	al := f.Properties
	name, area := cmp.Or(Emergency(al.Event, threat(al.Parameters.FlashFloodThreat), threat(al.Parameters.TornadoThreat), threat(al.Parameters.ThunderstormThreat)), hazard.CleanLine(al.Event), hazard.CleanLine(frame.Cut(al.Headline, areaWidth)), "Weather alert"), shortArea(al.Area)
	sender := hazard.CleanLine(al.SenderName)
	p := hazard.Report{
		Source:      Name,
		Part:        al.ID,
		Version:     int64(t.sent),
		Name:        frame.Joined(" - ", name, area),
		Description: description(al),
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
			Data:  hazard.Clean(frame.Joined("\n\n", al.Headline, forecasterHeadline(al), al.Description, al.Instruction)),
		},
	}
	source.Note(&p, r.notes...)
	measure(&p, al)
	return p
}

// measure adds what the message rates and measures.
func measure(p *hazard.Report, al *alert) {
	threats := slices.Concat(al.Parameters.FlashFloodThreat, al.Parameters.TornadoThreat, al.Parameters.ThunderstormThreat)
	info, _ := hazard.DamageThreat.Info()
	slices.SortFunc(threats, func(a, b string) int { // the worst last, which counts
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

// The forms of winds and of hail in the parameters of a message (NWSI 10-1701).
var (
	gustForm = regexp.MustCompile(`(?i)^(?:up to )?([0-9]*\.?[0-9]+) ?mph$`)
	hailForm = regexp.MustCompile(`(?i)^(?:up to )?([0-9]*\.?[0-9]+)(?: ?in)?$`)
)

// amount is the number in a text of that form.
func amount(form *regexp.Regexp, text string) (v float64, ok bool) {
	m := form.FindStringSubmatch(strings.TrimSpace(text))
	if m == nil {
		return 0, false
	}
	v, err := strconv.ParseFloat(m[1], 64)
	return v, err == nil
}

// Emergency returns what a warning of the NWS is called when it threatens the worst damage, as the service itself calls it
// (NWSI 10-511, 10-922); empty if it does not. The threats are the words of flashFloodDamageThreat, tornadoDamageThreat and
// thunderstormDamageThreat.
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

// threat is the first word of a parameter.
func threat(words []string) string {
	if len(words) == 0 {
		return ""
	}
	return words[0]
}

// address is the API's own document of the message.
func address(al *alert) string {
	if u, err := url.Parse(al.URL); err == nil && u.Scheme == "https" && u.Host != "" {
		return u.String()
	}
	return api + "alerts/" + url.PathEscape(al.ID)
}

// times are the moments of a message; nil where it does not say.
type times struct {
	sent                            hazard.Instant
	effective, onset, expires, ends *hazard.Instant
}

// times reads the moments of a message. Without the time of issue it is ordered by the moment from which it holds; without
// that nobody can tell which of two messages is the later.
func (r *reader) times(al *alert) (times, error) {
	var t times
	var sent *hazard.Instant
	zone := cmp.Or(frame.Zone(al.Sent), frame.Zone(al.Effective), frame.Zone(al.Expires))
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
		at, note, err := frame.Time(f.text, zone)
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

// parseTime reads the time of a reference.
func parseTime(s string) (hazard.Instant, error) {
	at, _, err := frame.Time(s, nil)
	return at, err
}

// span is from when until when an event lasts, and the fields that say so.
type span struct {
	start, end           hazard.Instant
	startField, endField string
	openEnded            bool // nobody said an end: end is when it ends unless more is heard
}

// span finds the time of an event from the message and from its VTEC string, if it has one.
//
// The VTEC string is the event's own, so it goes first where a message speaks of several. An end that is not after the
// start is repaired by the life of the type: such alerts must not vanish before they begin.
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

// testWords says which words of an actual message are those of a test. A test that is sent as real must not be shown
// unseen, and a real alert must not be held because it tells people to exercise caution.
func testWords(al *alert) string {
	found := func(field, words string) string {
		return fmt.Sprintf("status is Actual, but %s says %q", field, words)
	}
	if frame.HasWord(strings.ToUpper(al.Event), "TEST", nil) {
		return found("event", hazard.CleanLine(frame.Cut(al.Event, 60)))
	}
	texts := []struct{ field, text string }{
		{"headline", al.Headline}, {"NWSheadline", forecasterHeadline(al)},
		{"description", al.Description}, {"instruction", al.Instruction},
	}
	for i, t := range texts {
		if frame.HasWord(t.text, "TEST", nil) {
			return found(t.field, "TEST")
		}
		if i > 1 {
			continue
		}
		for _, word := range []string{"EXERCISE", "DRILL"} {
			if frame.HasWord(t.text, word, []string{"CAUTION", "CARE", "DUE", "VIGILANCE"}) {
				return found(t.field, word)
			}
		}
	}
	return ""
}

func forecasterHeadline(al *alert) string { return strings.Join(al.Parameters.Headline, "\n") }

// description is the message for a reader: who said what in the service's own words, then its text, in paragraphs.
func description(al *alert) string {
	first := "NWS: " + al.Event
	if triple := frame.Joined(", ", al.Severity, al.Urgency, al.Certainty); triple != "" {
		first += " (" + triple + ")"
	}
	if al.SenderName != "" {
		first += " by " + al.SenderName
	}
	return hazard.Clean(frame.Joined("\n\n", hazard.CleanLine(first), cmp.Or(forecasterHeadline(al), al.Headline),
		unwrap(hazard.Clean(al.Description)), unwrap(hazard.Clean(al.Instruction))))
}

// wrapped is the width, in characters, that the service fills before it wraps a line: in its texts a line and the word
// that found no room on it come to this at least. A line that had the room was meant to end where it does.
const wrapped = 59

// unwrap joins the lines that were broken only for their width. Blank lines, bullets and short lines stay as they are.
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

// areaWidth is how many characters of a hazard's name its area may take: names stand in lists.
const areaWidth = 80

// shortArea names the first of the areas, and how many more there are.
func shortArea(desc string) string {
	var names []string
	for part := range strings.SplitSeq(desc, ";") {
		if part = hazard.CleanLine(part); part != "" {
			names = append(names, part)
		}
	}
	return frame.Names(names, areaWidth)
}
