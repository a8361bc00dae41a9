package message

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/language"

	"github.com/hazardd/hazardd/internal/atlas/gazetteer"
	"github.com/hazardd/hazardd/internal/format/headline"
	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/lang"
	"github.com/hazardd/hazardd/internal/lang/words"
)

// The maximum lengths of the parts of a message, in characters: longer texts are cut, and the link
// leads to the rest. MaxItems is how many hazards a message lists.
const (
	maxName        = 200
	maxPlace       = 100
	maxInstruction = 4_000
	maxDescription = 4_000
	maxReason      = 1_000
	maxItems       = 20
	maxChanges     = 12
	maxSubject     = 180
)

// letter holds the words that all forms of a message share.
type letter struct {
	n         *Notice
	l         *words.Language
	first     string // the subject without the reader's place
	subject   string
	exercise  bool     // every hazard of it is a drill
	head      []string // what stands above all: drill, late
	intro     []string // of a message without hazards
	button    [2]string
	items     []entry
	more      string
	foot      []string
	manage    string
	stop      string
	thumbnail bool // there are many hazards: each is described in short
}

// entry describes a hazard in words.
type entry struct {
	Title, Mark, Level   string            // the hazard's name; Mark is "Ended", or "EXERCISE" of one of many
	headline             headline.Headline // clean; its first sentences are without Mark
	Headline             string            // both of them
	Over                 bool
	Color, Ink           string // of the level: background and letters, as #rrggbb
	Lead                 []string
	Changes              []string
	Facts                []fact
	ToDo                 []string // paragraphs; that nobody gave an instruction, if none is in headline
	Said                 []string // paragraphs of the authority's description
	Lang, Dir            string   // of the authority's words; Lang is empty if it is not known
	Link, Where, Until   string
	By                   string // who reports it
	Edited               bool   // by an editor
	Picture              func(width int) ([]byte, error)
	PictureAlt           string
	Heading, ToDoHeading string
	LinkText             string
}

type fact struct{ Name, Value string }

// write writes the words of a notice.
func (n *Notice) write() *letter {
	w := &letter{n: n, l: words.Best(n.tags()...)}
	w.thumbnail = n.Kind == Summary || n.Kind == Digest
	wish, err := lang.Parse(strings.Join(n.Language, ","))
	if err != nil {
		wish = lang.Wish{}
	}
	reader := wish.Reader()
	w.exercise = len(n.Items) > 0
	more := n.More
	for i := range n.Items {
		w.exercise = w.exercise && n.Items[i].Hazard.Drill()
		if i >= maxItems {
			more++
			continue
		}
		w.items = append(w.items, w.entry(&n.Items[i], reader.Of(&n.Items[i].Hazard)))
	}
	if more > 0 && n.Kind != Drafts {
		w.more = w.say("more", "n", more)
	}
	w.first = w.subjectOf()
	w.subject = cut(w.first+w.place(), maxSubject)
	if w.exercise {
		w.head = append(w.head, w.say("drillText"))
	}
	if n.Late > 0 {
		w.head = append(w.head, w.say("lateText", "span", w.span(n.Late)))
	}
	switch n.Kind {
	case Confirm:
		if n.Code != "" {
			w.intro = []string{w.say("confirmCode", "code", n.Code)}
			return w
		}
		w.intro = []string{w.say("confirmText")}
		w.button = [2]string{w.say("confirm"), safe(n.Link)}
		w.foot = []string{w.say("confirmIgnore")}
		return w
	case Drafts:
		for i := range n.Drafts {
			w.intro = append(w.intro, w.draft(&n.Drafts[i]))
		}
		w.button = [2]string{w.say("draftReview"), safe(n.Link)}
		if ended(n.Drafts) {
			w.button[0] = w.page("goToMap")
		}
	case Test:
		w.intro = []string{w.say("testText")}
	}
	w.foot = append(w.foot, w.say("silence"))
	if name := w.quote(n.Name, maxName); name != "" {
		w.foot = append(w.foot, w.say("becauseNamed", "name", name))
	} else {
		w.foot = append(w.foot, w.say("because"))
	}
	w.manage, w.stop = safe(n.Manage), safe(n.Unsubscribe)
	return w
}

// tags returns the reader's languages, without invalid ones.
func (n *Notice) tags() (tags []language.Tag) {
	for _, l := range n.Language {
		if t, err := language.Parse(l); err == nil {
			tags = append(tags, t)
		}
	}
	return tags
}

func (w *letter) say(key string, arguments ...any) string {
	return w.l.Say("notice."+key, arguments...)
}

// page returns a word that pages have too.
func (w *letter) page(key string, arguments ...any) string { return w.l.Say(key, arguments...) }

// quote returns a foreign text on one line for a sentence of ours: clean, cut, and isolated from the
// direction of the words around it.
func (w *letter) quote(s string, limit int) string { return w.apart(line(s, limit)) }

// apart isolates text that may have another direction (UAX #9, FSI and PDI). Clean has removed
// characters that could end the isolate.
func (w *letter) apart(s string) string {
	if s != "" && (w.l.Dir == "rtl" || strings.ContainsFunc(s, backwards)) {
		return "\u2068" + s + "\u2069"
	}
	return s
}

func backwards(r rune) bool {
	return unicode.In(r, unicode.Arabic, unicode.Hebrew, unicode.Syriac, unicode.Thaana, unicode.Nko, unicode.Adlam)
}

// subjectOf returns the subject before it is cut: first a drill, then lateness, then the reason for the
// message.
func (w *letter) subjectOf() string {
	n := w.n
	text := ""
	switch {
	case n.Kind == Confirm:
		return w.say("subjectConfirm")
	case n.Kind == Test:
		return w.say("subjectTest")
	case n.Kind == Drafts:
		return w.subjectOfDrafts()
	case n.Kind == Digest:
		text = w.say("subjectDigest", "n", len(n.Items)+n.More)
	case n.Kind == Summary || len(w.items) != 1:
		text = w.say("subjectMany", "n", len(n.Items)+n.More)
	default:
		e := &w.items[0]
		text = w.apart(strings.TrimRight(e.headline.First, ".。।"))
		if key := map[Kind]string{Changed: "subjectChanged", Ended: "subjectEnded", Withdrawn: "subjectWithdrawn", Correction: "subjectCorrection"}[n.Kind]; key != "" {
			text = w.say(key, "name", text)
		}
	}
	if n.Late > 0 {
		text = w.say("late", "text", text)
	}
	if w.exercise {
		text = w.say("drill", "text", text)
	}
	return headline.Capital(text)
}

// ended reports whether a message says what became of drafts.
func ended(list []Draft) bool { return len(list) > 0 && list[0].Outcome != Waiting }

// subjectOfDrafts names what waits, or says how many: those that the reader decides about first. Of drafts
// that wait no more it names the one, or says how many.
func (w *letter) subjectOfDrafts() string {
	if list := w.n.Drafts; ended(list) {
		if n := len(list) + w.n.More; n > 1 {
			return w.say("subjectOutcomes", "n", n)
		}
		return w.say(map[Outcome]string{Approved: "subjectApproved", Refused: "subjectRefused", Lapsed: "subjectLapsed"}[list[0].Outcome], "name", w.nameOf(&list[0]))
	}
	var first *Draft
	decides := w.n.More
	for i := range w.n.Drafts {
		d := &w.n.Drafts[i]
		if !d.Mine {
			decides++
		}
		if first == nil || first.Mine && !d.Mine {
			first = d
		}
	}
	switch {
	case first == nil:
		return w.say("draftReview")
	case decides > 1:
		return w.say("subjectDrafts", "n", decides)
	case first.Mine:
		return w.say("subjectDraftLapses", "name", w.nameOf(first))
	}
	return w.say("subjectDraft", "name", w.nameOf(first))
}

// nameOf returns the name of a draft's hazard; that it is a drill comes first.
func (w *letter) nameOf(d *Draft) string {
	name := w.quote(d.Name, maxName)
	if name == "" {
		name = w.l.NameOf("type", string(d.Type))
	}
	if d.Exercise {
		name = w.say("drill", "text", name)
	}
	return name
}

// draft says who asks for what, whom it reaches and until when it can be decided; or the result.
func (w *letter) draft(d *Draft) string {
	level := w.l.NameOf("severity", d.Severity.String())
	switch d.Outcome {
	case Approved:
		return w.say("draftApproved", "name", w.nameOf(d), "level", level, "who", w.quote(d.By, maxName))
	case Refused:
		return w.say("draftRefused", "name", w.nameOf(d), "level", level, "who", w.quote(d.By, maxName), "reason", w.quote(d.Reason, maxReason))
	case Lapsed:
		return w.say("draftLapsed", "name", w.nameOf(d), "level", level)
	}
	text := w.say("draftMine", "name", w.nameOf(d), "level", level)
	if !d.Mine {
		text = w.say("draftAsks", "author", w.quote(d.Author, maxName), "name", w.nameOf(d), "level", level)
	}
	people := w.say("draftUnknown")
	if d.People != nil {
		people = w.page("people", "n", w.apart(w.number(*d.People)))
	}
	return text + " " + w.say("draftReach", "people", people, "n", w.apart(w.number(d.Subscribers))) + " " + w.say("draftLapses", "time", w.moment(d.Expires), "span", w.span(d.Left))
}

// place is what follows the subject: how far the hazard is from the reader.
func (w *letter) place() string {
	if w.thumbnail || len(w.items) != 1 || w.items[0].Where == "" || w.items[0].Over {
		return ""
	}
	return " · " + w.items[0].Where
}

// sentences returns the headline of a hazard, without the words that mark an end or a drill.
func (w *letter) sentences(it *Item, h *hazard.Hazard) headline.Headline {
	around := it.Around
	if around == nil {
		around = headline.AroundOf(h)
	}
	said := headline.Make(h, around, headline.Reader{Language: w.l, At: hazard.At(w.n.At)})
	for _, s := range []*string{&said.First, &said.Second, &said.Until, &said.Instruction} {
		*s = cut(*s, maxName)
	}
	return said
}

// over reports whether the message says that its hazards are over.
func (n *Notice) over(h *hazard.Hazard) bool {
	return n.Kind == Ended || n.Kind == Withdrawn || h.Status == hazard.Expired
}

// whys holds the keys of the words of pages for why a hazard ended.
var whys = map[hazard.EndReason]string{
	hazard.EndExpired: "whyExpired", hazard.EndCancelled: "whyCancelled", hazard.EndAllClear: "whyAllClear", hazard.EndSuperseded: "whySuperseded",
	hazard.EndWithdrawn: "whyWithdrawn", hazard.EndRetracted: "whyRetracted", hazard.EndMerged: "whyMerged",
}

// entry describes one hazard in the reader's language.
func (w *letter) entry(it *Item, h *hazard.Hazard) entry {
	n := w.n
	e := entry{Title: line(h.Name, maxName), Level: w.l.NameOf("severity", h.Severity.String()), Link: safe(it.Link), Picture: it.Picture,
		Heading: w.say("changes"), ToDoHeading: w.page("toDo"), LinkText: w.say("details")}
	if e.Link == "" && len(n.Items) == 1 {
		e.Link = safe(n.Link)
	}
	e.Color, e.Ink = colors(h.Severity)
	e.PictureAlt = w.say("map", "name", e.Title)
	e.Where = w.where(it)
	over := n.over(h)
	if over { // no level: what has ended must not look as if it went on
		e.Mark = w.page("ended")
		e.Color, e.Ink = colors(hazard.Termination)
	}
	if w.thumbnail && h.Drill() {
		e.Mark = w.page("exercise")
	}
	e.Over = over
	e.headline = w.sentences(it, h)
	e.Headline = w.apart(headline.Capital(strings.TrimSpace(e.headline.First + w.l.Say("headline.between") + e.headline.Second)))
	e.Lead = w.lead(it, h, over, e.headline.Second)
	for _, c := range it.Changed {
		if text := w.change(c); text != "" && len(e.Changes) < maxChanges {
			e.Changes = append(e.Changes, text)
		}
	}
	w.facts(&e, it, h, over)
	if !over && !w.thumbnail {
		w.instruction(&e, h)
	}
	return e
}

// lead returns why a later message is sent: an end, a withdrawal or a correction. It leaves out what
// said, the second sentence of the headline, says of an end.
func (w *letter) lead(it *Item, h *hazard.Hazard, over bool, said string) (lead []string) {
	if w.n.Kind == Correction {
		lead = append(lead, w.say("correctionText"))
	}
	if over && (said == "" || h.Reason == hazard.EndRetracted) {
		lead = append(lead, w.page(cmp.Or(whys[h.Reason], "whyOver")))
	}
	if reason := line(cmp.Or(it.Reason, h.Note), maxReason); reason != "" && (over || w.n.Kind == Correction) && !strings.HasPrefix(said, cut(reason, maxName)) {
		lead = append(lead, w.apart(reason))
	}
	return lead
}

// where returns how far the hazard is from the reader; empty if unknown.
func (w *letter) where(it *Item) string {
	place := w.quote(it.Place, maxPlace)
	switch {
	case it.Hazard.Somewhere() && !it.Anywhere:
		return w.say("possibly", "known", w.quote(gazetteer.KnownAs(it.Hazard.PlaceKnownAs, w.l.ID), maxPlace))
	case it.DistanceKM == nil || !(*it.DistanceKM >= 0 && *it.DistanceKM < 50_000):
		return place
	case *it.DistanceKM == 0 && place == "":
		return w.say("inside")
	case *it.DistanceKM == 0:
		return w.say("placeIn", "place", place)
	}
	km := w.apart(w.number(int64(max(1, math.Round(*it.DistanceKM)))))
	if place == "" {
		return w.say("away", "km", km)
	}
	return w.say("placeAway", "km", km, "place", place)
}

// facts returns the short facts: place, authority, start and end, number of people.
func (w *letter) facts(e *entry, it *Item, h *hazard.Hazard, over bool) {
	add := func(name, value string) {
		if value != "" {
			e.Facts = append(e.Facts, fact{name, value})
		}
	}
	now := hazard.At(w.n.At)
	if over {
		add(w.page("type"), w.l.NameOf("type", string(h.Type)))
	} else {
		add(w.page("severity"), e.Level+" · "+w.l.NameOf("type", string(h.Type)))
	}
	add(w.say("where"), e.Where)
	authority := it.Authority
	if t := h.Says(); t != nil && authority == "" {
		authority = t.Sender
	}
	e.By, e.Edited = w.quote(cmp.Or(authority, h.Source), maxName), h.Source == ""
	add(w.page("reportedBy"), e.By)
	switch {
	case over:
		end := h.End
		if end > now || end == 0 { // the end is unknown
			end = now
		}
		e.Until = w.moment(end)
		add(w.page("ended"), e.Until)
	default:
		if h.Start > now {
			add(w.say("begins"), w.moment(h.Start))
		} else {
			add(w.page("began"), w.moment(h.Start))
		}
		name := w.page("expected")
		if h.AutoExpire {
			name = w.say("until")
		} else if h.End <= now {
			name = w.page("wasExpected")
		}
		switch {
		case h.EndGiven && h.End != 0:
			e.Until = w.moment(h.End)
			add(name, e.Until)
		default: // the service would only guess
			add(w.say("until"), w.apart(e.headline.Until))
		}
		if it.People != nil && *it.People > 0 {
			add(w.page("peopleThere"), w.say("people", "n", w.apart(w.number(hazard.TwoDigits(*it.People)))))
		}
	}
}

// instruction returns the authority's instructions and other texts.
func (w *letter) instruction(e *entry, h *hazard.Hazard) {
	t := h.Says()
	text := h.Description
	e.Dir = "auto"
	if t != nil {
		e.Lang = t.Language
		if t.Instruction != "" && !h.EditedField("description") {
			e.ToDo = paragraphs(t.Instruction, maxInstruction)
			text = strings.Replace(text, t.Instruction, "", 1) // it stands above
		}
		for i, r := range t.Responses {
			if w.l.Knows("response"+r) && i < maxChanges {
				e.ToDo = slices.Insert(e.ToDo, min(i, len(e.ToDo)), w.page("response"+r))
			}
		}
	}
	if h.Instruction != "" {
		e.ToDo = append(paragraphs(h.Instruction, maxInstruction), e.ToDo...)
		text = strings.Replace(text, h.Instruction, "", 1) // it stands above
	}
	e.Said = paragraphs(text, maxDescription)
	if len(e.ToDo) == 0 && h.Severity >= hazard.Advisory {
		e.ToDo, e.Dir = []string{w.say("noInstruction")}, "auto"
	}
}

// change describes a change; empty if this release does not know its kind.
func (w *letter) change(c Change) string {
	value := func(text string) string { return w.quote(text, maxName) }
	what := ""
	switch c.Field {
	case "severity":
		what, value = w.page("severity"), func(id string) string { return w.named("severity", id) }
	case "type":
		what, value = w.page("type"), func(id string) string { return w.named("type", id) }
	case "category":
		what, value = w.page("category"), func(id string) string { return w.named("category", id) }
	case "name":
		what = w.page("field_hazard_Name")
	case "status":
		what, value = w.page("field_status"), func(id string) string {
			if id != string(hazard.Active) && id != string(hazard.Expired) {
				return ""
			}
			return w.page("state" + id)
		}
	case "start", "end":
		what = w.page("field_" + c.Field + "_Date")
		value = func(text string) string {
			t, err := time.Parse(time.RFC3339, text)
			if err != nil {
				return ""
			}
			return w.moment(hazard.At(t))
		}
	case "people":
		what, value = w.page("peopleThere"), func(text string) string { return w.count(text, "people", 2) }
	case "distance":
		what, value = w.say("distance"), func(text string) string { return w.count(text, "km", 0) }
	case "area":
		if key := map[string]string{"inside": "areaInside", "near": "areaNear", "outside": "areaOutside", "left": "left"}[c.To]; key != "" {
			return w.say(key)
		}
		return ""
	case "instruction":
		return w.say("changeInstruction")
	default:
		info, ok := hazard.Quantity(c.Field).Info()
		if !ok {
			return ""
		}
		what, value = w.say("measure_"+c.Field), func(text string) string { return w.measured(&info, text) }
	}
	from, to := value(c.From), value(c.To)
	switch {
	case to == "":
		return w.say("changed", "what", what)
	case from == "":
		return w.say("changeTo", "what", what, "to", to)
	}
	return w.say("changeFromTo", "what", what, "from", from, "to", to)
}

func (w *letter) named(kind, id string) string {
	if id == "" || !w.l.Knows(kind+"."+id) {
		return ""
	}
	return w.l.NameOf(kind, id)
}

// count returns a number in words, rounded to so many digits; 0 keeps all.
func (w *letter) count(text, key string, digits int) string {
	n, err := strconv.ParseFloat(text, 64)
	if err != nil || !(n >= 0 && n < 1e12) {
		return ""
	}
	whole := int64(math.Round(n))
	if digits > 0 {
		whole = hazard.TwoDigits(whole)
	}
	return w.say(key, "n", w.apart(w.number(whole)))
}

// measured returns a value of a quantity with its unit.
func (w *letter) measured(info *hazard.QuantityInfo, text string) string {
	v, err := strconv.ParseFloat(text, 64)
	low, high := info.Range()
	if err != nil || !(v >= low && v <= high) {
		return ""
	}
	if word := (&hazard.Measurement{Name: info.Name, Value: v}).Word(); word != "" {
		return w.apart(word)
	}
	out := strconv.FormatFloat(math.Round(v*100)/100, 'f', -1, 64)
	if v >= 10_000 {
		out = w.number(int64(math.Round(v)))
	}
	if info.Unit != "" {
		out += " " + strings.Replace(info.Unit, "km2", "km²", 1)
	}
	return w.apart(out)
}

// number returns a whole number with separated thousands: by a comma in English, else by a narrow space
// (ISO 80000-1, 7.3.1), which has one meaning in all languages.
func (w *letter) number(n int64) string {
	comma := "\u202f"
	if w.l == words.English() {
		comma = ","
	}
	s := strconv.FormatInt(n, 10)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + comma + s[i:]
	}
	return s
}

// moment returns an instant in the reader's zone and in UTC. Only English has names of months, as on
// pages.
func (w *letter) moment(i hazard.Instant) string {
	day, clock := "2006-01-02", "15:04"
	comma := " "
	if w.l == words.English() {
		day, comma = "2 Jan 2006", ", "
	}
	utc := i.Time()
	text := utc.Format(day+comma+clock) + " UTC"
	if w.n.Zone != nil {
		local := utc.In(w.n.Zone)
		zone, offset := local.Zone()
		if strings.HasPrefix(zone, "+") || strings.HasPrefix(zone, "-") {
			zone = "UTC" + zone
		}
		switch {
		case offset == 0 && zone == "UTC":
		case local.Format(day) == utc.Format(day):
			text = local.Format(day+comma+clock) + " " + zone + " (" + utc.Format(clock) + " UTC)"
		default:
			text = local.Format(day+comma+clock) + " " + zone + " (" + text + ")"
		}
	}
	return w.apart(text)
}

// span returns a duration in the largest unit that fits twice (once below a day); at least a minute.
func (w *letter) span(d time.Duration) string {
	switch {
	case d >= 48*time.Hour:
		return w.say("spanDays", "n", int(d/(24*time.Hour)))
	case d >= 2*time.Hour:
		return w.say("spanHours", "n", int(d/time.Hour))
	}
	return w.say("spanMinutes", "n", max(1, int(d/time.Minute)))
}

// colors returns the background and text colors of a level's badge.
func colors(s hazard.Severity) (background, ink string) {
	for _, info := range hazard.Severities() {
		if info.Severity == s {
			c := info.Colour
			ink = "#000000"
			if s == hazard.Warning || s == hazard.Termination {
				ink = "#ffffff"
			}
			if s == hazard.Warning {
				return "#c80000", ink // white on pure red cannot be read by all (WCAG 2.2, 1.4.3)
			}
			return fmt.Sprintf("#%02x%02x%02x", c[0], c[1], c[2]), ink
		}
	}
	return "#666666", "#ffffff"
}

// cut returns a text of at most limit characters, and marks a cut.
func cut(s string, limit int) string {
	if len(s) <= limit || utf8.RuneCountInString(s) <= limit {
		return s
	}
	runes := 0
	open := 0
	for i, r := range s {
		if runes++; runes >= limit {
			return strings.TrimRight(s[:i], " ") + "…" + strings.Repeat("\u2069", open)
		}
		switch r {
		case '\u2068':
			open++
		case '\u2069':
			open--
		}
	}
	return s
}

// line returns a foreign text on one line of at most limit characters, clean.
func line(s string, limit int) string { return cut(hazard.CleanLine(beginning(s, limit)), limit) }

// beginning returns enough of a text for limit characters, because cleaning a megabyte to show a line
// takes too long.
func beginning(s string, limit int) string {
	if limit *= 16; len(s) > limit {
		return strings.ToValidUTF8(s[:limit], "")
	}
	return s
}

// paragraphs splits a foreign text into clean paragraphs of at most limit characters in all. Single line
// breaks stay, because they may be a list.
func paragraphs(text string, limit int) (all []string) {
	text = cut(hazard.Clean(beginning(text, limit)), limit)
	for p := range strings.SplitSeq(text, "\n\n") {
		if p = strings.TrimSpace(p); p != "" {
			all = append(all, p)
		}
	}
	return all
}

// safe returns an address of ours if it may be in a message: https, or http if the service has no TLS,
// on one line.
func safe(address string) string {
	if len(address) > hazard.MaxLink || !strings.HasPrefix(address, "https://") && !strings.HasPrefix(address, "http://") {
		return ""
	}
	if strings.ContainsFunc(address, func(r rune) bool {
		return r <= ' ' || r > '~' || strings.ContainsRune("<>\"'`{}|\\^", r)
	}) {
		return ""
	}
	return address
}
