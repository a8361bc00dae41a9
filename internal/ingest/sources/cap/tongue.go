package cap

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"golang.org/x/text/language"

	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/ingest/lenient"
)

// Limits of the texts of one block that are kept besides its description, in bytes.
const (
	maxInstruction = 16 << 10
	maxContact     = 2 << 10
	maxAreaNames   = 4 << 10
	maxResponses   = 9 // CAP has nine words
)

// responses are CAP's words for the recommended action (section 3.2.2, responseType; AllClear since
// CAP 1.2).
var responses = []string{"Shelter", "Evacuate", "Prepare", "Execute", "Avoid", "Monitor", "Assess", "AllClear", "None"}

// tagOf returns s as an RFC 5646 tag in its author's spelling, or "" if it is not one.
func tagOf(s string) string {
	s = strings.ReplaceAll(strings.TrimSpace(s), "_", "-")
	if s == "" || len(s) > 35 { // RFC 5646, section 4.4.1
		return ""
	}
	var unknown language.ValueError
	if _, err := language.Parse(s); err != nil && !errors.As(err, &unknown) {
		return ""
	}
	return s
}

// tongue returns the language of an info block. If no block of the message states a language, it is
// the feed's language, or else CAP's default, en-US.
func (r *reader) tongue(in *Info) string {
	if strings.TrimSpace(in.Language) != "" {
		return cmp.Or(tagOf(in.Language), "und")
	}
	if !slices.ContainsFunc(r.m.Information, func(o Info) bool { return strings.TrimSpace(o.Language) != "" }) {
		return cmp.Or(r.cfg.Spoken, "en-US")
	}
	return "en-US"
}

// texts returns the texts of a group in each of its languages, the displayed one first.
func (r *reader) texts(g *group) []hazard.Text {
	var all []hazard.Text
	for _, in := range g.infos {
		t := hazard.Text{
			Language: r.tongue(in), Own: in == g.in, Name: r.nameOf(in), Lead: lead(r.agency(in), in, g.level, r.sent),
			Event: hazard.CleanLine(Text(lenient.Cut(in.Event, maxTitle))), Headline: Text(lenient.Cut(in.Headline, maxContact)),
			Description: shortened(Text(in.Description), maxDescription), Instruction: shortened(Text(in.Instruction), maxInstruction),
			Sender: r.senderName(in), Contact: shortened(Text(in.Contact), maxContact),
			Audience: shortened(Text(in.Audience), maxContact), Severity: g.severity,
		}
		t.Web, _ = WebAddress(in.Web)
		for _, w := range in.ResponseType {
			i := slices.IndexFunc(responses, func(known string) bool { return is(w, known) })
			if i >= 0 && len(t.Responses) < maxResponses && !slices.Contains(t.Responses, responses[i]) {
				t.Responses = append(t.Responses, responses[i])
			}
		}
		var names []string
		for _, a := range in.Area {
			if n := hazard.CleanLine(Text(lenient.Cut(a.Desc, 1000))); n != "" && len(names) < 200 && !slices.Contains(names, n) {
				names = append(names, n)
			}
		}
		t.Area = shortened(strings.Join(names, "; "), maxAreaNames)
		if t.Own {
			all = slices.Insert(all, 0, t)
		} else {
			all = append(all, t)
		}
	}
	return hazard.BoundTexts(all)
}

// nameOf returns a hazard's name from one info block.
func (r *reader) nameOf(in *Info) string {
	n := name(in, anything[normal(in.Event)])
	if _, ok := in.ownType(); ok { // written by another hazardd
		n = cmp.Or(hazard.CleanLine(lenient.Cut(in.Param(ownName), maxTitle)), hazard.CleanLine(lenient.Cut(in.Headline, maxTitle)), n)
	}
	return n
}

// agency returns the name of the sender of a block, for people.
func (r *reader) agency(in *Info) string {
	return cmp.Or(r.senderName(in), r.cfg.Title, hazard.CleanLine(r.m.Sender))
}

// cmaForm matches an identifier of China's meteorological administration: the number of the office,
// and a time. Its senderName is the person who signs; the office is the sender, with underscores.
var cmaForm = regexp.MustCompile(`^[0-9]{14}_[0-9]{14}$`)

// senderName returns the name of the office that sends a block. It never is that of a person.
func (r *reader) senderName(in *Info) string {
	if cmaForm.MatchString(hazard.CleanLine(r.m.Identifier)) {
		return hazard.CleanLine(strings.ReplaceAll(r.m.Sender, "_", " "))
	}
	return hazard.CleanLine(Text(lenient.Cut(in.SenderName, maxTitle)))
}

// alsoSaid adds texts to the worst report of a message. They come from reports whose places are all
// among the worst report's places. Those reports have no place of their own, so nobody would see
// their texts otherwise.
func alsoSaid(reports []hazard.Report) {
	if len(reports) < 2 {
		return
	}
	worst := &reports[len(reports)-1]
	if worst.Ended != "" {
		return
	}
	for i := range reports[:len(reports)-1] {
		p := &reports[i]
		if p.Ended != "" || len(p.Places) == 0 || slices.ContainsFunc(p.Places, func(place string) bool { return !slices.Contains(worst.Places, place) }) {
			continue
		}
		for _, t := range p.Texts {
			t.Own = false
			if over := p.OverAt(); over < worst.OverAt() {
				t.Until = over
			}
			worst.Texts = append(worst.Texts, t)
		}
	}
	worst.Texts = hazard.BoundTexts(worst.Texts)
}

// alsoWhere adds areas to a report from earlier reports of the same message that share a place with
// it. It does so if the blocks are about the same type in different languages but have different
// areas, because people in either area are warned. reports belong to groups, in the same order.
func alsoWhere(groups []*group, reports []hazard.Report) {
	for j, g := range groups {
		for _, o := range groups[:j] {
			if o.ended != "" || g.ended != "" || o.typ != g.typ || slices.ContainsFunc(o.infos, func(a *Info) bool {
				return slices.ContainsFunc(g.infos, func(b *Info) bool { return base(a.Language) == base(b.Language) })
			}) || !slices.ContainsFunc(o.places, func(place string) bool { return slices.Contains(g.places, place) }) {
				continue
			}
			p := &reports[j]
			for _, a := range o.areas {
				if !slices.Contains(p.Areas, a) {
					p.Areas = append(p.Areas[:len(p.Areas):len(p.Areas)], a)
				}
			}
		}
	}
}

// base returns the language of a tag without script and region, or "" if the tag is unclear.
func base(tag string) string {
	t, err := language.Parse(tag)
	if b, confidence := t.Base(); err == nil && !t.IsRoot() && confidence == language.Exact {
		return b.String()
	}
	return ""
}

// inOtherLanguages returns names that the issues of one alert share if an authority sends it in
// several feeds, each in one language and with its own identifier. They contain sender, event
// codes, levels, codes and geometry of the places, onset and expiry, and both languages. The
// catalog knows the languages of a country's feeds.
func (r *reader) inOtherLanguages(g *group) []string {
	mine := base(r.tongue(g.in))
	if mine == "" || len(g.infos) != 1 || len(r.m.Information) == 0 ||
		slices.ContainsFunc(r.m.Information, func(o Info) bool { return base(r.tongue(&o)) != mine }) {
		return nil
	}
	var codes, where []string
	for _, c := range g.in.EventCode {
		code, _, _ := strings.Cut(c.Value, ";")
		codes = append(codes, c.Name+"="+strings.TrimSpace(code))
	}
	if w := g.in.Param("awareness_type"); w != "" { // MeteoAlarm: "1; Wind"
		number, _, _ := strings.Cut(w, ";")
		codes = append(codes, "awareness_type="+strings.TrimSpace(number))
	}
	for _, a := range g.in.Area {
		var values []string
		for _, c := range a.Geocode {
			values = append(values, c.Name+"="+c.Value)
		}
		if len(values)+len(a.Polygon)+len(a.Circle) == 0 {
			return nil // the place is only given by a name, which depends on the language
		}
		where = append(where, fmt.Sprintf("%q %q %q", sorted(values), a.Polygon, a.Circle))
	}
	if len(codes) == 0 || len(where) == 0 {
		return nil
	}
	var out []string
	for _, other := range r.cfg.Siblings {
		if other = base(other); other == "" || other == mine {
			continue
		}
		what := fmt.Sprintf("%q %q %q %s %q %q %q %q", r.common.Category, hazard.CleanLine(strings.ToLower(r.m.Sender)), sorted(slices.Clone(codes)), g.severity,
			strings.ToLower(strings.TrimSpace(g.in.Urgency)), strings.ToLower(strings.TrimSpace(g.in.Certainty)), sorted(slices.Clone(where)), sorted([]string{mine, other}))
		for _, i := range []hazard.Instant{0, 1} {
			for _, j := range []hazard.Instant{0, 1} {
				sum := sha256.Sum256(fmt.Appendf(nil, "%s %d %d %d %d", what, i, window(*g.onset, i), j, window(*g.expiry, j)))
				out = append(out, hazard.AgainElsewhereRef+hex.EncodeToString(sum[:12]))
			}
		}
	}
	return sorted(out)
}
