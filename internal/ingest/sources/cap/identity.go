package cap

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/ingest/lenient"
	"github.com/hazardd/hazardd/internal/ingest/source"
)

// ref names an earlier message.
type ref struct {
	sender, id string
	sent       hazard.Instant
	timed      bool // the time was readable, and is not that of the referring message itself (China, 2026)
}

// copied is the age from which the references of an Alert mean nothing: Tanzania wrote a warning over
// an old one, with the references of a year before (lists of cap-sources, 2019). Warnings of wind and
// of rain that are written so would replace each other.
const copied = 7 * 24 * time.Hour

// references parses the references of the message. Its error says why a Cancel is unusable.
func (r *reader) references() error {
	if strings.TrimSpace(r.m.References) == "" {
		return errors.New("references: missing, expected the messages that are cancelled")
	}
	for triple := range strings.FieldsSeq(r.m.References) {
		if len(r.refs) == maxRefs {
			break // the oldest references come first
		}
		sender, id, ok := strings.Cut(triple, ",")
		if !ok { // only an identifier
			sender, id = r.m.Sender, triple
		}
		when := ""
		if i := strings.LastIndexByte(id, ','); i >= 0 { // otherwise there is no time, as in Finland
			id, when = id[:i], id[i+1:]
		}
		// Without a time, an update may refer to any message of its sender. The identifier must be
		// globally unique if the reference has no sender, or if the message is a Cancel.
		if strings.Trim(sender, ",") == "" || strings.Trim(id, ",") == "" ||
			strings.Count(triple, ",") < 2 && (!ok || is(r.m.MsgType, "Cancel")) && !uniqueForm.MatchString(id) {
			continue
		}
		f := ref{sender: hazard.CleanLine(sender), id: hazard.CleanLine(lenient.Cut(id, maxID))}
		if at, err := ParseTime(when); err == nil {
			f.sent, f.timed = at, at != r.sent
		}
		if !f.timed && r.own(f) && f.id == hazard.CleanLine(r.m.Identifier) { // a reference to itself means nothing (Macao)
			r.toItself = true
			continue
		}
		r.refs = append(r.refs, f)
	}
	if is(r.m.MsgType, "Alert") && !slices.ContainsFunc(r.refs, func(f ref) bool { return !f.timed || f.sent >= r.sent.Add(-copied) }) {
		r.refs = nil
	}
	if len(r.refs) == 0 {
		return fmt.Errorf("references: %.80q, expected sender,identifier,sent", r.m.References)
	}
	return nil
}

// uniqueForm matches a globally unique identifier: an OID, as WMO assigns them to authorities, a
// UUID, a URN or an address.
var uniqueForm = regexp.MustCompile(`(?i)^(urn:.+|https?://.+|[0-9]+(\.[0-9]+){4,}(\.[0-9a-z_-]+)*|[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12})$`)

// own reports whether a reference has the message's own sender.
func (r *reader) own(f ref) bool { return strings.EqualFold(f.sender, hazard.CleanLine(r.m.Sender)) }

// exact returns the name of a message with its time of issue, and plain returns it without.
func exact(sender, id string, sent hazard.Instant) string {
	return plain(sender, id) + "," + sent.Time().Format("2006-01-02T15:04:05Z")
}

func plain(sender, id string) string { return strings.ToLower(sender) + "," + id }

// exercise returns an identity that no real event has.
func exercise(key string) string { return "exercise:" + key }

// begin sets what all reports of the message have in common, most importantly the identity.
func (r *reader) begin(category hazard.Category, groups []*group) {
	m := r.m
	sender, id := hazard.CleanLine(m.Sender), hazard.CleanLine(m.Identifier)
	cancel := is(m.MsgType, "Cancel")
	var own, foreign []ref
	for _, f := range r.refs {
		if r.own(f) {
			own = append(own, f)
		} else {
			foreign = append(foreign, f)
		}
	}
	if cancel && len(foreign) > 0 {
		f := foreign[0]
		r.doubts = append(r.doubts, fmt.Sprintf("references: %.60q cancels a message of %.60q, but only its sender may cancel it", sender, f.sender))
		own = r.refs
	}
	// A message of another sender must not change a sender's event. Then the message is a separate
	// event.
	r.refs = own

	c := &r.common
	*c = hazard.Report{
		Source: r.cfg.Name, Key: exact(sender, id, r.sent), Version: int64(r.sent), Category: category,
		Refs: []string{"cap:" + plain(sender, id)},
	}
	c.Aliases = []string{exact(sender, id, r.sent), plain(sender, id)}
	if base, ok := stem(id); ok {
		c.Aliases = append(c.Aliases, plain(sender, base))
	}
	if l := &r.cfg.Practice.Lists; uniqueForm.MatchString(id) && (l.InForce == source.Yes || l.Complete == source.Yes) {
		c.Aliases = append(c.Aliases, bare(id))
	}
	if first, ok := oldest(own); ok {
		c.Key = first.key()
	}
	for _, f := range own {
		if f.timed {
			c.Aliases = append(c.Aliases, exact(f.sender, f.id, f.sent))
		}
		// A Cancel with a time in its reference must have the right time. An update with a wrong
		// time only adds information about the same event.
		if !cancel || !f.timed {
			c.Aliases = append(c.Aliases, plain(f.sender, f.id))
		}
		if base, ok := stem(f.id); ok && !cancel {
			c.Aliases = append(c.Aliases, plain(f.sender, base))
		}
	}
	series, before := r.series(groups)
	c.Aliases = append(c.Aliases, series...)
	if len(own) == 0 && !is(m.MsgType, "Alert") {
		c.Earlier = before
	}
	if category == hazard.Exercise {
		c.Key, c.Refs = exercise(c.Key), nil
		for i, a := range c.Aliases {
			c.Aliases[i] = exercise(a)
		}
		for i, a := range c.Earlier {
			c.Earlier[i] = exercise(a)
		}
	}
	c.Aliases = slices.DeleteFunc(sorted(c.Aliases), func(a string) bool { return a == c.Key })
	c.Comment = r.cfg.Name + ":" + c.Key
}

func (f ref) key() string {
	if f.timed {
		return exact(f.sender, f.id, f.sent)
	}
	return plain(f.sender, f.id)
}

// counterForm matches an identifier with a counter at its end. A longer number is a time, or a
// counter of all messages.
var counterForm = regexp.MustCompile(`^(.*[^0-9])([0-9]{1,4})$`)

// counted is how many earlier values of a counter are tried.
const counted = 12

// series returns the message's own name within a series: messages of the same sender, event and
// areas with identifiers that differ only in a counter. It also returns the names of earlier
// messages, for a message that ends or changes something without a reference. Such a name only
// finds an active event; it never joins two alerts.
func (r *reader) series(groups []*group) (own, before []string) {
	m := counterForm.FindStringSubmatch(hazard.CleanLine(r.m.Identifier))
	if m == nil {
		return nil, nil
	}
	n, _ := strconv.Atoi(m[2])
	for _, g := range groups {
		if len(g.places) == 0 {
			continue
		}
		what := sha256.Sum256(fmt.Appendf(nil, "%q %q", normal(g.in.Event), g.places))
		for _, a := range g.in.Area {
			what = sha256.Sum256(fmt.Appendf(what[:], "%q %q", a.Polygon, a.Circle))
		}
		name := func(n int) string {
			return fmt.Sprintf("%s%0*d/%x", plain(hazard.CleanLine(r.m.Sender), m[1]), len(m[2]), n, what[:6])
		}
		own = append(own, name(n))
		for k := n - 1; k >= max(0, n-counted); k-- {
			before = append(before, name(k))
		}
	}
	return own, before
}

// mowasForm matches an identifier of MoWaS, whose last group is the version of a warning.
var mowasForm = regexp.MustCompile(`^(mow\..+)-[0-9]{3}$`)

// languageForm matches an identifier of DWD with the language at its end: one message is sent once
// per language.
var languageForm = regexp.MustCompile(`^(2\.49\..*\.DWD\..+)\.(DEU|ENG|ESP|FRA|SPA|MUL)$`)

// stem returns the common part of the identifiers of all versions, or all languages, of an alert,
// if it is known.
func stem(id string) (base string, ok bool) {
	m := mowasForm.FindStringSubmatch(id)
	if m == nil {
		m = languageForm.FindStringSubmatch(id)
	}
	if m == nil {
		return "", false
	}
	return m[1], true
}

// oldest returns the first message of the chain, as far as the references show.
func oldest(refs []ref) (ref, bool) {
	if len(refs) == 0 {
		return ref{}, false
	}
	return slices.MinFunc(refs, func(a, b ref) int {
		at := func(f ref) hazard.Instant {
			if f.timed {
				return f.sent
			}
			return math.MaxInt64
		}
		return cmp.Or(cmp.Compare(at(a), at(b)), cmp.Compare(a.id, b.id))
	}), true
}

// part names a report of the message. Messages that follow the same first message share a stem, so
// that a Cancel can name their parts before they arrive.
func part(stem string, n int) string { return fmt.Sprintf("%s#%02d", stem, n) }

func follower(id string) string { return id + ">" }

// fingerprints returns names that the issues of one alert share, although their identifiers differ.
// They contain sender, event, level, all places, geometry, onset and expiry. Both times are given
// twice: in hours that begin on the hour, and in hours that begin at half past. So times less than
// half an hour apart have one of them in common, and times more than an hour apart have none.
// Alerts that differ in level or area share no name. The names join events in one hazard, like a
// name of another source. Each issue stays a separate event, so that a Cancel of one does not end
// the others.
func (r *reader) fingerprints(g *group) []string {
	if _, ok := g.in.ownType(); ok { // the identifiers of another hazardd are reliable
		return nil
	}
	// Canada states for each place which alert it belongs to, and whether it moved to another one
	// (ECCC, layer EC-MSC-SMC 1.1, Alert_Location_Status). So two consecutive alerts with the same
	// words stay separate.
	if g.in.parameterEnding(":Alert_Location_Status") != "" {
		return nil
	}
	if g.onset == nil || g.expiry == nil || g.ended != "" || is(r.m.MsgType, "Cancel") || len(g.places) == 0 {
		return nil
	}
	var where []string
	for _, a := range g.in.Area {
		codes := []string{}
		for _, c := range a.Geocode {
			codes = append(codes, c.Name+"="+c.Value)
		}
		where = append(where, fmt.Sprintf("%q %q %q %q", hazard.CleanLine(a.Desc), sorted(codes), a.Polygon, a.Circle))
	}
	what := fmt.Sprintf("%q %q %q %s %q %q", r.common.Category, hazard.CleanLine(strings.ToLower(r.m.Sender)), normal(g.in.Event),
		g.severity, strings.ToLower(strings.TrimSpace(g.in.Severity)), sorted(where))
	var out []string
	for _, i := range []hazard.Instant{0, 1} {
		for _, j := range []hazard.Instant{0, 1} {
			h := sha256.New()
			fmt.Fprintf(h, "%s %d %d %d %d", what, i, window(*g.onset, i), j, window(*g.expiry, j))
			out = append(out, hazard.AgainRef+hex.EncodeToString(h.Sum(nil)[:12]))
		}
	}
	if r.cfg.Practice.Identity == ByEdges {
		for _, edge := range []hazard.Instant{*g.onset, *g.expiry} {
			out = append(out, hazard.AgainRef+digest(fmt.Sprintf("%s edge %d", what, edge)))
		}
	}
	return append(out, r.inOtherLanguages(g)...)
}

// window returns the number of the hour that contains at; with half = 1, hours begin half an hour
// earlier.
func window(at, half hazard.Instant) hazard.Instant {
	hour := hazard.Instant(again.Milliseconds())
	at += half * hour / 2
	if at < 0 {
		at -= hour - 1
	}
	return at / hour
}
