package message

import (
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/hazardd/hazardd/internal/hazard"
)

// Text returns the whole message as plain text, with lines that end in \n.
func (n *Notice) Text() string { return n.write().text() }

func (w *letter) text() string {
	var b strings.Builder
	block := func(lines ...string) {
		wrote := false
		for _, l := range lines {
			if l != "" {
				b.WriteString(l)
				b.WriteByte('\n')
				wrote = true
			}
		}
		if wrote {
			b.WriteByte('\n')
		}
	}
	block(w.head...)
	block(w.intro...)
	if w.button[1] != "" {
		block(w.button[1])
	}
	for i := range w.items {
		e := &w.items[i]
		title := e.Headline
		if e.Mark != "" {
			title = e.Mark + ": " + title
		}
		lines := append([]string{title}, e.Lead...)
		if w.thumbnail {
			for _, c := range e.Changes {
				lines = append(lines, "- "+c)
			}
			for _, f := range e.Facts {
				lines = append(lines, f.Name+": "+f.Value)
			}
			block(append(lines, e.Link)...)
			continue
		}
		block(lines...)
		if len(e.Changes) > 0 {
			block(e.Heading + "\n- " + strings.Join(e.Changes, "\n- "))
		}
		lines = nil
		for _, f := range e.Facts {
			lines = append(lines, f.Name+": "+f.Value)
		}
		block(lines...)
		if len(e.ToDo) > 0 {
			block(e.ToDoHeading, w.apart(strings.Join(e.ToDo, "\n\n")))
		}
		if len(e.Said) > 0 {
			block(w.page("inWords"), w.apart(strings.Join(e.Said, "\n\n")))
		}
		if e.Link != "" {
			block(e.LinkText + ": " + e.Link)
		}
	}
	block(w.more)
	b.WriteString("--\n")
	for _, f := range w.foot {
		b.WriteString(f + "\n")
	}
	if w.manage != "" {
		b.WriteString(w.say("manage") + ": " + w.manage + "\n")
	}
	if w.stop != "" {
		b.WriteString(w.say("unsubscribe") + ": " + w.stop + "\n")
	}
	return b.String()
}

// Line returns the message on one line of at most limit characters, as in an SMS: the headline's
// first sentence, who warns if that is an editor's organization, the link, and between them what there is
// room for: the reader's place, the second sentence, changes, the instruction. A link that does not fit
// beside the first sentence is left out.
func (n *Notice) Line(limit int) string {
	w := n.write()
	parts := []string{w.first + w.place()}
	link := ""
	switch {
	case n.Kind == Drafts:
		parts, link = append(parts, w.intro...), w.button[1]
	case n.Code != "":
		parts = w.intro
	case n.Kind == Confirm:
		parts, link = append(parts, w.intro...), w.button[1]
	case len(w.items) == 1:
		parts = append(parts, w.brief(&w.items[0])...)
		link = w.items[0].Link
	default:
		for i := range w.items {
			parts = append(parts, w.items[i].Headline)
		}
		link = safe(n.Link)
	}
	room := limit
	if link != "" && utf8.RuneCountInString(w.first)+1+utf8.RuneCountInString(link) <= limit {
		room -= utf8.RuneCountInString(link) + 1
	} else {
		link = ""
	}
	if len(w.items) == 1 && w.items[0].Edited {
		parts[0] = cut(parts[0], max(room/2, room-utf8.RuneCountInString(". "+w.items[0].By+"…")))
	}
	text := oneLine(strings.Join(parts, ". "))
	text = cut(text, max(room, 1))
	if link != "" {
		text += " " + link
	}
	return text
}

// oneLine returns a text on one line, with our own isolates.
func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

// brief returns what short messages say about a hazard besides the first sentence of its headline. Of an
// editor's hazard they say first who warns.
func (w *letter) brief(e *entry) (parts []string) {
	if e.Edited && e.By != "" {
		parts = append(parts, e.By)
	}
	if e.headline.Second != "" {
		parts = append(parts, w.apart(e.headline.Second))
	}
	parts = append(parts, e.Lead...)
	parts = append(parts, e.Changes...)
	if len(e.ToDo) > 0 && e.headline.Instruction != "" {
		parts = append(parts, w.apart(e.headline.Instruction))
	}
	parts = slices.DeleteFunc(parts, func(s string) bool { return s == "" })
	for i := range parts {
		parts[i] = strings.TrimRight(parts[i], ".。 ")
	}
	return parts
}

// Push is the payload of a Web Push message, which the service worker of the map shows.
type Push struct {
	ID       string `json:"id"`
	Tag      string `json:"tag,omitempty"` // a later message with the same tag replaces the earlier one
	Kind     Kind   `json:"kind"`
	Title    string `json:"title"`
	Body     string `json:"body"`
	Language string `json:"lang"`
	Dir      string `json:"dir"`
	URL      string `json:"url,omitempty"`  // opened by a click
	Time     int64  `json:"time,omitempty"` // milliseconds since 1970, of the change
	// Type, Category and Severity name the symbol. They are set if there is only one hazard.
	Type     string `json:"type,omitempty"`
	Category string `json:"category,omitempty"`
	Severity string `json:"severity,omitempty"`
}

// The maximum lengths of the title and body of a Push, in characters; systems show less.
const (
	pushTitle = 180
	pushBody  = 400
)

// Push returns the message for a device. Its JSON takes less than 3,000 bytes.
func (n *Notice) Push() Push {
	w := n.write()
	p := Push{ID: line(n.ID, 100), Tag: line(n.Thread, 100), Kind: n.Kind, Title: cut(w.subject, pushTitle), Language: w.l.ID, Dir: w.l.Dir, URL: short(safe(n.Link))}
	if !n.At.IsZero() {
		p.Time = n.At.UnixMilli()
	}
	var lines []string
	lines = append(lines, w.head...)
	lines = append(lines, w.intro...)
	if len(w.items) == 1 {
		e, h := &w.items[0], &n.Items[0].Hazard
		p.Type, p.Category, p.Severity = string(h.Type), string(h.Category), h.Severity.String()
		if e.Over { // the symbol of a hazard that has ended
			p.Severity = hazard.Termination.String()
		}
		p.URL = short(e.Link)
		lines = append(lines, w.brief(e)...)
	} else {
		for i := range w.items {
			lines = append(lines, w.items[i].Headline)
		}
	}
	p.Body = cut(strings.Join(lines, "\n"), pushBody)
	return p
}

// short returns an address if it is short enough for a Push.
func short(address string) string {
	if len(address) > 500 {
		return ""
	}
	return address
}

// Urgency returns the highest severity of the hazards in the message that are not over.
func (n *Notice) Urgency() hazard.Severity {
	highest := hazard.NoSeverity
	for i := range n.Items {
		if h := &n.Items[i].Hazard; !h.Drill() && !n.over(h) {
			highest = max(highest, h.Severity)
		}
	}
	return highest
}

// View is a message for the templates of HTTP channels. docs/tell.md lists its fields; later
// releases only add some.
type View struct {
	ID, Thread, Kind string
	Language, Dir    string // of the words of the message: BCP 47; "ltr" or "rtl"
	Subject          string // one line
	Text             string // the whole message
	Short            string // on one line, at most 300 characters, with the link
	SMS              string // the same in at most 160 characters
	Head             []string
	Link             string // of the hazard, or of the page that confirms; may be empty
	Manage           string
	Unsubscribe      string
	At               string // RFC 3339, UTC
	Exercise         bool   // all of it is a drill
	Late             bool
	Severity         string // the highest of the hazards that are not over: WARNING, WATCH, ADVISORY, INFORMATION; empty if none
	Color            string // of that severity, #rrggbb
	Priority         int    // 5 for a WARNING, 4 for a WATCH, 3 for an ADVISORY, else 2
	Items            []ViewItem
}

// ViewItem is a hazard of a View.
type ViewItem struct {
	Headline                                                     string // in two sentences; without "Ended" or "EXERCISE"
	UUID, Name, Type, TypeName, Severity, SeverityName, Category string
	Status                                                       string // A or E
	Where                                                        string // how far from the reader, in words
	Lon, Lat                                                     float64
	Start, End                                                   string // RFC 3339, UTC
	Changes                                                      []string
	Instruction, Link, Source                                    string
	Authority                                                    string // who reports it
}

// View returns the message for templates.
func (n *Notice) View() View {
	w := n.write()
	v := View{ID: line(n.ID, 100), Thread: line(n.Thread, 100), Kind: string(n.Kind), Language: w.l.ID, Dir: w.l.Dir, Subject: w.subject, Text: w.text(), Short: n.Line(300), SMS: n.Line(160),
		Head: w.head, Link: safe(n.Link), Manage: safe(n.Manage), Unsubscribe: safe(n.Unsubscribe), At: n.At.UTC().Format(time.RFC3339), Exercise: w.exercise, Late: n.Late > 0}
	urgency := n.Urgency()
	v.Color, _ = colors(urgency)
	if urgency != hazard.NoSeverity {
		v.Severity = urgency.String()
	}
	v.Priority = map[hazard.Severity]int{hazard.Warning: 5, hazard.Watch: 4, hazard.Advisory: 3}[urgency]
	if n.Kind == Drafts {
		v.Priority = 4
	}
	if v.Priority == 0 {
		v.Priority = 2
	}
	for i := range w.items {
		e, h := &w.items[i], &n.Items[i].Hazard
		v.Items = append(v.Items, ViewItem{Headline: e.Headline, UUID: h.UUID.String(), Name: e.Title, Type: string(h.Type), TypeName: w.l.NameOf("type", string(h.Type)), Severity: h.Severity.String(),
			SeverityName: e.Level, Category: string(h.Category), Status: string(h.Status), Where: e.Where, Lon: h.Longitude, Lat: h.Latitude, Start: h.Start.Time().Format(time.RFC3339),
			End: h.End.Time().Format(time.RFC3339), Changes: e.Changes, Instruction: strings.Join(e.ToDo, "\n\n"), Link: e.Link, Source: h.Source, Authority: e.By})
		if len(w.items) == 1 && n.Kind != Confirm {
			v.Link = e.Link
		}
	}
	return v
}
