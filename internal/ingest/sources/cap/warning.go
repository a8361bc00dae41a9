package cap

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/ingest/source"
)

// warning is what a message says about one warning.
type warning struct {
	common hazard.Report // what all of its reports have in common
	groups []*group
	stem   string // the common beginning of the names of its parts
	// replaces means that later messages have the same stem, so that a message must replace the
	// parts that it lacks itself.
	replaces bool
}

// warnings returns the warnings of a message: one, unless the sender combines several in a message
// (ByDay). References come first. Without any, the sender's own identity applies, if it is known and
// the message has what it needs, and else that of the message.
func (r *reader) warnings(groups []*group) []warning {
	identity := r.cfg.Practice.Identity
	one := warning{common: r.common, groups: groups, stem: hazard.CleanLine(r.m.Identifier)}
	if first, follows := oldest(r.refs); follows {
		one.stem = follower(first.id)
		return []warning{one}
	}
	if identity == ByIdentifier {
		one.replaces = true
		r.rename(&one, plain(hazard.CleanLine(r.m.Sender), hazard.CleanLine(r.m.Identifier)), 0, 1)
		return []warning{one}
	}
	var keys []string
	of := map[string][]*group{}
	for _, g := range groups {
		key := r.contentKey(g)
		if key == "" {
			return []warning{one}
		}
		if of[key] == nil {
			keys = append(keys, key)
		}
		of[key] = append(of[key], g)
	}
	if len(keys) > 1 && identity != ByDay {
		return []warning{one}
	}
	// The list speaks for the warning if all in it is in force: see parser.listed.
	listSpeaks := r.cfg.Practice.Lists.InForce == source.Yes
	var all []warning
	for i, key := range keys {
		w := warning{groups: of[key], common: r.common, stem: follower(key), replaces: true}
		r.rename(&w, key, i, len(keys))
		if listSpeaks {
			r.listKey, w.stem, w.replaces = w.common.Key, follower(w.common.Key)+one.stem, false
		}
		all = append(all, w)
	}
	return all
}

// rename gives a warning its own identity, the ith of n in the message. The first one keeps the names
// of the message, which find what was stored before the sender's identity was known.
func (r *reader) rename(w *warning, key string, i, n int) {
	c := &w.common
	old := append([]string{c.Key}, c.Aliases...)
	names := []string{key}
	if r.cfg.Practice.Identity == ByArea { // words for an area mean another warning weeks later
		names = within(key, r.sent)
	}
	if i > 0 {
		old = nil
	}
	if n > 1 {
		for j, ref := range c.Refs {
			c.Refs = slices.Clone(c.Refs)
			c.Refs[j] = ref + "/" + digest(key)
		}
	}
	if c.Category == hazard.Exercise {
		for j := range names {
			names[j] = exercise(names[j])
		}
	}
	c.Key = names[0]
	c.Aliases = slices.DeleteFunc(sorted(append(old, names[1:]...)), func(a string) bool { return a == c.Key })
	c.Comment = r.cfg.Name + ":" + c.Key
}

// fortnight is the time after which the same words for an area mean another warning. Messages at
// most half of it apart have one of their names in common, and messages further apart than it none.
const fortnight = 14 * 24 * time.Hour

// within returns two names of a key at a moment.
func within(key string, at hazard.Instant) []string {
	period, half := hazard.Instant(fortnight.Milliseconds()), hazard.Instant(fortnight.Milliseconds()/2)
	return []string{fmt.Sprintf("%s/%d", key, at/period), fmt.Sprintf("%s/%d+", key, (at+half)/period)}
}

// contentKey returns the identity of a group's warning by the sender's practice, or "" if none is
// known or the group lacks what it needs. It does not depend on the level.
func (r *reader) contentKey(g *group) string {
	sender := strings.ToLower(hazard.CleanLine(r.m.Sender))
	key := func(words ...any) string { return sender + ",~" + digest(fmt.Sprintf("%q", words)) }
	switch incident := hazard.CleanLine(r.m.Incidents); r.cfg.Practice.Identity {
	case ByIncident:
		if incident == "" {
			return ""
		}
		return sender + ",incident:" + incident + "/" + product(g)
	case ByArea:
		var areas []string
		for _, a := range g.in.Area {
			areas = append(areas, strings.ToLower(hazard.CleanLine(a.Desc)))
		}
		if areas = sorted(areas); strings.Join(areas, "") == "" {
			return ""
		}
		return key("area", areas, normal(g.in.Event))
	case ByDay:
		text := strings.TrimSpace(cmp.Or(strings.TrimSpace(g.in.Onset), strings.TrimSpace(g.in.Effective), r.m.Sent))
		if !dateForm.MatchString(text) || len(g.places) == 0 {
			return ""
		}
		return key("day", text[:10], g.places, product(g))
	case ByWindow:
		if g.onset == nil || g.expiry == nil || len(g.places) == 0 {
			return ""
		}
		return key("window", *g.onset, *g.expiry, g.places, product(g))
	}
	return ""
}

var dateForm = regexp.MustCompile(`^[0-9]{4}-[0-9]{2}-[0-9]{2}T`)

// product returns what a group is about, without its level and in all languages: MeteoAlarm's number,
// the codes, or else the event in the displayed language.
func product(g *group) string {
	if n, ok := leadingInt(g.in.Param("awareness_type")); ok {
		return fmt.Sprint(n)
	}
	var codes []string
	for _, c := range g.in.EventCode {
		code, _, _ := strings.Cut(c.Value, ";")
		if code = strings.TrimSpace(code); code != "" {
			codes = append(codes, code)
		}
	}
	if len(codes) > 0 {
		return strings.Join(sorted(codes), "+")
	}
	words := slices.DeleteFunc(strings.Fields(normal(g.in.Event)), func(w string) bool { return levelWords[w] })
	return string(g.typ) + " " + strings.Join(words, " ")
}

func digest(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:8])
}

// eachArea splits groups into one for each of their areas. It leaves a group as it is whose languages
// have different numbers of areas.
func eachArea(groups []*group) (all []*group) {
	for _, g := range groups {
		n := len(g.infos[0].Area)
		if n < 2 || slices.ContainsFunc(g.infos, func(in *Info) bool { return len(in.Area) != n }) {
			all = append(all, g)
			continue
		}
		for i := range n {
			part := &group{}
			for _, in := range g.infos {
				one := *in
				one.Area = in.Area[i : i+1]
				part.infos = append(part.infos, &one)
			}
			all = append(all, part)
		}
	}
	return all
}

// listed says what the payload is as a list, and what it says about the warnings in it. If all that is
// listed is in force, a warning is what the list holds of it now, in one message or several: they
// count together, and replace all earlier ones. complete means that the payload was read to its end.
func (p *parser) listed(doc *Document, complete bool) {
	lists := &p.cfg.Practice.Lists
	if !complete || !doc.List || doc.Partly || lists.InForce != source.Yes && lists.Complete != source.Yes {
		return
	}
	if len(doc.Bad) == 0 && !p.bad { // what cannot be read may be about any of them
		for _, key := range sortedKeys(p.said) {
			p.replaceEarlier(key, p.said[key])
		}
	}
	if entries := len(doc.Messages) + len(doc.Bad) + len(doc.Links); lists.Cut > 0 && entries >= lists.Cut {
		return
	}
	names := p.none
	for _, l := range doc.Links {
		if !uniqueForm.MatchString(l.ID) { // not the identifier of the alert
			return
		}
		names = append(names, bare(l.ID))
	}
	p.Batch.Whole, p.Batch.Listed = true, sorted(names)
}

// bare returns the name of a message in an index that knows only its identifier.
func bare(id string) string { return "id:" + hazard.CleanLine(id) }

func sortedKeys(m map[string][]int) (keys []string) {
	for k := range m {
		keys = append(keys, k)
	}
	return sorted(keys)
}

// replaceEarlier adds a report without places that replaces all earlier reports of a warning, of
// which reports are those in the payload. All get the time of the latest, and come after it by the
// names of their parts.
func (p *parser) replaceEarlier(key string, reports []int) {
	latest := slices.MaxFunc(reports, func(a, b int) int {
		return cmp.Or(cmp.Compare(p.Reports[a].Version, p.Reports[b].Version), cmp.Compare(p.Reports[a].Part, p.Reports[b].Part))
	})
	base := p.Reports[latest]
	base.Part = follower(key)
	base.Places, base.Within, base.Areas, base.Products, base.Texts = nil, nil, nil, nil, nil
	base.Ended, base.End, base.Minor = hazard.EndExpired, new(hazard.Instant(base.Version)), true
	for _, i := range reports {
		r := &p.Reports[i]
		if len(r.Areas) > 0 { // several with one code, such as that of the state, count side by side
			r.Places = []string{areaPrefix + shortPlace(r.Part)}
		}
		r.Version = base.Version
		base.Start, base.Minor = min(base.Start, r.Start), base.Minor && r.Minor
		base.Suspect = cmp.Or(base.Suspect, r.Suspect)
	}
	p.Reports = append(p.Reports, base)
}
