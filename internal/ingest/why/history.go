package why

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/ingest/evidence"
	"github.com/hazardd/hazardd/internal/ingest/fuse"
	"github.com/hazardd/hazardd/internal/ingest/poll"
	"github.com/hazardd/hazardd/internal/ingest/source"
	"github.com/hazardd/hazardd/internal/store"
)

// Entry is a step in the history of a record.
type Entry struct {
	At      hazard.Instant `json:"-"`
	Time    string         `json:"time"` // At, RFC 3339
	Result  Result         `json:"result"`
	Rule    string         `json:"rule"`
	Hazard  string         `json:"hazard"`  // UUID; empty for none
	Payload string         `json:"payload"` // SHA-256 of the payload that said it; empty for none
}

// Answer is what is known of a record.
type Answer struct {
	Entries []Entry // newest first
	// Since is how far back evidence was read; 0 means that there is none.
	Since    hazard.Instant
	Payloads int
	// Stopped says why older evidence was not read; empty if all was.
	Stopped string
}

// Limits bounds an answer.
type Limits struct {
	For   time.Duration
	Bytes int64 // of payloads as received
}

// Usual are the limits for callers of the service.
var Usual = Limits{For: 10 * time.Second, Bytes: 256 << 20}

// maxReceipts bounds the receipts that are looked through for one source.
const maxReceipts = 50_000

// Asker answers from a store and its evidence.
type Asker struct {
	Store    *store.Store
	Evidence *evidence.Keeper
	Limits   Limits
}

// came is a payload with the times at which it came.
type came struct {
	store.Receipt // the first
	last          hazard.Instant
	times         int
}

// sighting is a record in a payload.
type sighting struct {
	Record
	came
}

// Ask returns the history of the records of a source that bear a name, as of now.
func (a *Asker) Ask(ctx context.Context, src *poll.Source, ref string, now hazard.Instant) (*Answer, error) {
	answer := &Answer{}
	all, err := a.payloads(ctx, src.Name, answer)
	if err != nil {
		return nil, err
	}
	seen, err := a.sightings(ctx, src, ref, all, answer)
	if err != nil {
		return nil, err
	}
	answer.Entries, err = a.entries(ctx, src, seen, now)
	slices.Reverse(answer.Entries)
	for i := range answer.Entries {
		answer.Entries[i].Time = answer.Entries[i].At.String()
	}
	return answer, err
}

// payloads lists the payloads of a source, the latest first.
func (a *Asker) payloads(ctx context.Context, name string, answer *Answer) (all []*came, err error) {
	const page = 1000
	known := map[string]*came{}
	looked := 0
	for before := int64(1<<63 - 1); ; {
		list, err := a.Store.Evidence.ReceiptsOf(ctx, name, before, page)
		if err != nil {
			return nil, err
		}
		for _, r := range list {
			before = r.ID
			id := r.Kind + r.Subject + r.Payload
			if r.Payload != "" {
				id = r.Payload
			}
			c := known[id]
			if c == nil {
				c = &came{last: r.Taken}
				known[id] = c
				all = append(all, c)
			}
			c.Receipt, c.times = r, c.times+1
		}
		if looked += len(list); looked >= maxReceipts {
			answer.Stopped = fmt.Sprintf("%d receipts were looked through", looked)
		}
		if len(list) < page || answer.Stopped != "" {
			return all, nil
		}
	}
}

// sightings finds the records that bear a name, the oldest first.
func (a *Asker) sightings(ctx context.Context, src *poll.Source, ref string, all []*came, answer *Answer) (seen []sighting, err error) {
	until := time.Now().Add(a.Limits.For)
	read := int64(0)
	_, id, _ := strings.Cut(ref, ":")
	for _, c := range all {
		if read > a.Limits.Bytes || time.Now().After(until) {
			answer.Stopped = fmt.Sprintf("%d payloads were read, of %d MB", answer.Payloads, read>>20)
			break
		}
		answer.Since = c.Taken
		if c.Kind == evidence.Gone && (strings.EqualFold(c.Subject, ref) || strings.EqualFold(src.Name+":"+c.Subject, ref)) {
			seen = append(seen, sighting{Record{Record: c.Subject, Result: Ended, Rule: "there is nothing any more at its address: its source deleted it"}, *c})
		}
		if c.Payload == "" || c.Kind == evidence.Place {
			continue
		}
		payload, err := a.Evidence.Read(ctx, c.Payload)
		if errors.Is(err, hazard.ErrNotFound) {
			continue
		} else if err != nil {
			return nil, err
		}
		read += int64(len(payload))
		answer.Payloads++
		records, err := recordsOf(src, c, payload)
		if err != nil && strings.Contains(string(payload), cmp.Or(id, ref)) {
			records = append(records, Record{Record: ref, Result: Rejected, Rule: "the payload: " + err.Error(), names: []string{ref}})
		}
		for _, r := range records {
			if r.bears(src.Name, ref) {
				seen = append(seen, sighting{r, *c})
			}
		}
	}
	slices.Reverse(seen)
	slices.SortStableFunc(seen, func(x, y sighting) int { return cmp.Compare(x.Taken, y.Taken) })
	return seen, nil
}

func recordsOf(src *poll.Source, c *came, payload []byte) ([]Record, error) {
	read := poll.ReadBatch
	if c.Kind != evidence.Batch {
		read = func(payload []byte) (source.Batch, error) { return poll.Parse(src, payload, c.Read) }
	}
	batch, err := read(payload)
	return judge(&src.Source, &batch, c.Taken, fuse.Options{History: c.Kind == evidence.Saved}), err
}

// entries says what became of sightings, the oldest first, according to the store.
func (a *Asker) entries(ctx context.Context, src *poll.Source, seen []sighting, now hazard.Instant) (all []Entry, err error) {
	held, err := a.Store.Reports.Held(ctx, src.Name, 10_000)
	if err != nil {
		return nil, err
	}
	fates := map[string]*fate{} // by key of the report
	before := map[string]string{}
	for i := range seen {
		s := &seen[i]
		var f *fate
		if s.report != nil {
			if f = fates[s.report.Key]; f == nil {
				if f, err = a.fateOf(ctx, src.Name, s.report.Names()); err != nil {
					return nil, err
				}
				fates[s.report.Key] = f
			}
		}
		e := s.entry(f, held)
		said := string(e.Result) + e.Rule
		if s.report != nil {
			said = fmt.Sprint(e.Result, e.Rule, s.report.Version, s.report.Ended)
		}
		id := s.Record.Record
		if s.report != nil {
			id += " " + s.report.Part
		}
		switch last, known := before[id]; {
		case known && last == said:
			e.Result, e.Rule = Unchanged, "it says the same as before"
			all = append(all, e)
		default:
			all = append(all, e)
			if f != nil && e.Result == Shown && f.event.Joined != "" && !f.joined {
				f.joined = true
				all = append(all, Entry{At: e.At, Result: Joined, Rule: f.event.Joined, Hazard: e.Hazard, Payload: e.Payload})
			}
		}
		if s.times > 1 {
			all = append(all, Entry{At: s.last, Result: Unchanged, Rule: fmt.Sprintf("the same payload came %d times", s.times), Hazard: e.Hazard, Payload: e.Payload})
		}
		before[id] = said
	}
	for _, f := range fates {
		all = append(all, f.after(now)...)
	}
	return latestUnchanged(all), nil
}

// latestUnchanged keeps, of consecutive entries without news, the latest.
func latestUnchanged(all []Entry) (kept []Entry) {
	slices.SortStableFunc(all, func(x, y Entry) int { return cmp.Compare(x.At, y.At) })
	for i, e := range all {
		if e.Result != Unchanged || i+1 == len(all) || all[i+1].Result != Unchanged {
			kept = append(kept, e)
		}
	}
	return kept
}

// entry says what became of a sighting whose event has the fate f; nil if it makes no report.
func (s *sighting) entry(f *fate, held []*store.Held) Entry {
	e := Entry{At: s.Taken, Result: s.Result, Rule: s.Rule, Payload: s.Payload}
	if s.report == nil {
		return e
	}
	waits := slices.IndexFunc(held, func(h *store.Held) bool {
		return slices.Contains(s.report.Names(), h.Report.Key) && h.Report.Part == s.report.Part && h.Report.Version == s.report.Version
	})
	switch {
	case waits >= 0:
		e.Result, e.Rule = Held, held[waits].Why()
	case s.Result == Held && f.hazard != nil && f.part(s.report.Part) != nil:
		e.Result, e.Rule = Shown, "held at first, and released by an editor: "+s.Rule
	case s.Result == Held:
		e.Result, e.Rule = Ignored, "held at first, and dismissed by an editor, or replaced since: "+s.Rule
	case f.hazard == nil && s.Result != Ignored:
		e.Result, e.Rule = Ignored, "no hazard of it is stored: it was over when it came, or was held and its place became known otherwise"
	case f.hazard != nil && s.Result == Ignored: // it changed a hazard that was shown
		e.Result, e.Rule = Shown, "too slight or too old for a hazard of its own, but one is shown"
		if s.report.Ended != "" {
			e.Result, e.Rule = Ended, endings[s.report.Ended]
		}
	}
	if f.hazard != nil && e.Result != Held {
		e.Hazard = f.hazard.UUID.String()
	}
	return e
}

// fate is what is stored of an event.
type fate struct {
	event  store.EventReports
	hazard *hazard.Hazard // nil if it belongs to none
	joined bool           // an entry says that it is joined
}

func (a *Asker) fateOf(ctx context.Context, name string, names []string) (*fate, error) {
	f := &fate{}
	known, err := a.Store.Reports.Named(ctx, name, names)
	if err != nil {
		return nil, err
	}
	for _, n := range names {
		e, ok := known[n]
		if !ok || e.HazardID == 0 {
			continue
		}
		if f.hazard, err = a.Store.Hazards.Get(ctx, e.HazardID); err != nil {
			return nil, err
		}
		all, err := a.Store.Reports.Of(ctx, e.HazardID)
		if err != nil {
			return nil, err
		}
		for _, r := range all {
			if r.Source == name && r.Key == e.Key {
				f.event = r
			}
		}
		return f, nil
	}
	return f, nil
}

// part returns the stored report of a part, or nil.
func (f *fate) part(name string) *hazard.Report {
	i := slices.IndexFunc(f.event.Parts, func(p hazard.Report) bool { return p.Part == name })
	if i < 0 {
		return nil
	}
	return &f.event.Parts[i]
}

// after says what happened to the event besides the reports: which parts were replaced, and how it
// ended.
func (f *fate) after(now hazard.Instant) (all []Entry) {
	if f.hazard == nil || len(f.event.Parts) == 0 {
		return nil
	}
	id := f.hazard.UUID.String()
	state := hazard.Derive(f.event.Parts, now)
	latest := 0
	for i := range f.event.Parts {
		if f.event.Said[i].Received > f.event.Said[latest].Received {
			latest = i
		}
	}
	by := f.event.Said[latest]
	for i := range f.event.Parts {
		if p := &f.event.Parts[i]; !state.Owned[p.Part] {
			all = append(all, Entry{At: by.Received, Result: Replaced, Rule: fmt.Sprintf("later messages of the event cover the places of the message %q", p.Part), Hazard: id, Payload: by.Payload})
		}
	}
	over := state.Over()
	if state.Ended == "" {
		over = state.Until // a list may have held it in force beyond its own end
	}
	switch {
	case over <= now:
		all = append(all, Entry{At: over, Result: Ended, Rule: cmp.Or(endings[state.Ended], endings[hazard.EndExpired]), Hazard: id})
	case !f.hazard.ActiveAt(now):
		all = append(all, Entry{At: f.hazard.LastUpdate, Result: Ended, Rule: "the hazard: " + cmp.Or(endings[f.hazard.Reason], "an editor ended it"), Hazard: id})
	}
	return all
}
