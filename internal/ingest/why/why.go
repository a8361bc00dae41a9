// Package why answers why a record of a source is shown, or not: what came, which rule ignored, held,
// joined, replaced or ended it.
//
// Nothing is written for that while sources are read. On a question, the kept evidence is parsed
// again by the source's own parser, as of its time, and the rules of package fuse are asked again.
// So the answer goes back as far as the evidence, and follows the rules of the running program.
package why

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/ingest/fuse"
	"github.com/hazardd/hazardd/internal/ingest/lenient"
	"github.com/hazardd/hazardd/internal/ingest/poll"
	"github.com/hazardd/hazardd/internal/ingest/source"
)

// Result says what became of a record.
type Result string

// The results.
const (
	Shown     Result = "shown"     // it made or changed a hazard
	Unchanged Result = "unchanged" // it said the same as before
	Ignored   Result = "ignored"   // a rule says that it is not a hazard
	Held      Result = "held"      // an editor decides, or its place is not known yet
	Joined    Result = "joined"    // it became part of a hazard of another source or event
	Replaced  Result = "replaced"  // a later message of the event counts in its place
	Ended     Result = "ended"     // it is over
	Rejected  Result = "rejected"  // it could not be read
)

// Results lists the results.
var Results = []Result{Shown, Unchanged, Ignored, Held, Joined, Replaced, Ended, Rejected}

// Record is what becomes of a record of a payload by itself, without anything that came before.
type Record struct {
	Record   string `json:"record"` // its name at the source, or its position
	Result   Result `json:"result"`
	Rule     string `json:"rule"` // why; empty for a hazard that is simply shown
	Name     string `json:"name,omitzero"`
	Type     string `json:"type,omitzero"`
	Severity string `json:"severity,omitzero"`

	names  []string       // all names by which it can be asked for
	report *hazard.Report // nil if it makes none
}

// bears reports whether a record has a name. ref may be SCHEME:ID, or the ID alone; of a CAP message,
// whose name is "sender,identifier,sent", the identifier alone, too.
func (r *Record) bears(src, ref string) bool {
	return slices.ContainsFunc(r.names, func(name string) bool {
		_, rest, _ := strings.Cut(name, ",")
		identifier, _, _ := strings.Cut(rest, ",")
		return strings.EqualFold(name, ref) || strings.EqualFold(src+":"+name, ref) || identifier != "" && strings.EqualFold(identifier, ref)
	})
}

// Records says what becomes of each record of a payload, as if a source sent it first at now. The
// error describes an unreadable payload, beside the records that could be read.
func Records(src *poll.Source, payload []byte, now hazard.Instant) ([]Record, error) {
	batch, err := poll.Parse(src, payload, now)
	return judge(&src.Source, &batch, now, fuse.Options{}), err
}

// judge says what becomes of each record of a batch.
func judge(src *source.Source, b *source.Batch, now hazard.Instant, opts fuse.Options) (all []Record) {
	for i := range b.Reports {
		b.Reports[i] = b.Reports[i].Whole()
	}
	for _, group := range events(b.Reports) {
		rule, slight := fuse.Ignores(group, now, opts)
		for i := range group {
			own := rule
			if slight {
				own = lenient.Joined(": ", rule, src.Slight, measured(&group[i]))
			}
			all = append(all, recordOf(&group[i], own))
		}
	}
	for _, i := range b.Ignores {
		all = append(all, Record{Record: i.Record, Result: Ignored, Rule: i.Rule, names: append([]string{i.Record}, i.Names...)})
	}
	if more := b.Ignored - len(b.Ignores); more > 0 {
		all = append(all, Record{Record: "the rest", Result: Ignored, Rule: fmt.Sprintf("%d further records are ignored", more)})
	}
	if b.Further > 0 {
		all = append(all, Record{Record: "further records", Result: Joined, Rule: fmt.Sprintf("%d records only add to the events of the others, such as positions of their tracks", b.Further)})
	}
	for _, r := range b.Rejects {
		all = append(all, Record{Record: r.Record, Result: Rejected, Rule: r.Reason, names: append([]string{r.Record}, r.Events...)})
	}
	for _, d := range b.Drawings {
		all = append(all, Record{Record: d.Key, Result: Shown, Rule: "a drawing of the event, if a hazard of it is shown: " + d.Part, names: []string{d.Key}})
	}
	for _, l := range b.Links {
		all = append(all, Record{Record: cmp.Or(l.ID, l.URL), Result: Unchanged, Rule: "an entry of a list; what it says is in its document, " + l.URL,
			names: append(strings.Fields(l.ID), l.ID, l.URL)})
	}
	return all
}

// events groups reports that share a name, in the order of their first reports.
func events(reports []hazard.Report) (groups [][]hazard.Report) {
	at := map[string]int{}
	for i := range reports {
		r := &reports[i]
		g, known := -1, false
		for _, name := range r.Names() {
			if g, known = at[name]; known {
				break
			}
		}
		if !known {
			g, groups = len(groups), append(groups, nil)
		}
		groups[g] = append(groups[g], *r)
		for _, name := range r.Names() {
			if _, taken := at[name]; !taken {
				at[name] = g
			}
		}
	}
	return groups
}

// measured lists what a source measured of an event: "magnitude 2.1".
func measured(r *hazard.Report) string {
	var words []string
	for _, m := range r.Measurements {
		words = append(words, fmt.Sprintf("%s %v", m.Name, m.Value))
	}
	return strings.Join(words, ", ")
}

func recordOf(r *hazard.Report, rule string) Record {
	own := Record{Record: r.Key, Result: Shown, Name: r.Name, Type: string(r.Type), Severity: r.Severity.String(), report: r, names: slices.Concat(r.Names(), r.Refs)}
	if r.Part != "" {
		own.names = append(own.names, r.Part)
	}
	if r.UUID != [16]byte{} {
		own.names = append(own.names, r.UUID.String())
	}
	switch {
	case r.Suspect != "":
		own.Result, own.Rule = Held, r.Suspect
	case rule != "":
		own.Result, own.Rule = Ignored, rule
	case r.Ended != "":
		own.Result, own.Rule = Ended, endings[r.Ended]
	}
	return own
}

// endings say how an event ended.
var endings = map[hazard.EndReason]string{
	hazard.EndExpired:    "its end has come",
	hazard.EndCancelled:  "its source canceled it",
	hazard.EndAllClear:   "its source, or an editor, declared it over",
	hazard.EndSuperseded: "its source replaced it by another event",
	hazard.EndWithdrawn:  "its source deleted it, or lists it no longer",
	hazard.EndRetracted:  "an editor retracted it",
	hazard.EndMerged:     "it was merged into another hazard",
}
