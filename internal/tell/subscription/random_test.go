package subscription

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"
	"pgregory.net/rapid"

	"github.com/hazardd/hazardd/internal/auth"
	"github.com/hazardd/hazardd/internal/edit"
	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/ingest/fuse"
	"github.com/hazardd/hazardd/internal/store"
	"github.com/hazardd/hazardd/internal/tell/channel"
	"github.com/hazardd/hazardd/internal/tell/message"
	"github.com/hazardd/hazardd/internal/test"
)

// Whatever editors, subscribers, networks and machines do, once all is quiet everybody's last word is
// what holds for them, and nobody is recorded as told who was not.
func TestEverybodysLastWordHolds(t *testing.T) {
	for name, value := range map[string]string{"rapid.checks": strconv.Itoa(test.Rounds(300, 6)), "rapid.seed": map[bool]string{false: "1", true: "0"}[test.All()]} {
		if f := flag.Lookup(name); f.Value.String() == f.DefValue {
			before := f.Value.String()
			t.Cleanup(func() { _ = f.Value.Set(before) })
			if err := f.Value.Set(value); err != nil {
				t.Fatal(err)
			}
		}
	}
	steps := rapid.SliceOfN(rapid.Custom(func(rt *rapid.T) deed {
		n := rapid.IntRange(0, 1000)
		return deed{rapid.SampledFrom(deeds).Draw(rt, "deed"), n.Draw(rt, "a"), n.Draw(rt, "b"), rapid.SampledFrom([]int{0, 0, 1, 3, 20, 70}).Draw(rt, "seconds")}
	}), 5, 40)
	g := newGround(t)
	rapid.Check(t, func(rt *rapid.T) {
		if why := lastWords(t, g, steps.Draw(rt, "steps")); why != "" {
			rt.Fatal(why)
		}
	})
}

// Sequences after which somebody's last word did not hold.
func TestTheLastWordHoldsWhereItOnceDidNot(t *testing.T) {
	g := newGround(t)
	for name, list := range map[string][]deed{
		// The record of the part moves to the whole, of which the reader is being told: both end for them.
		"merged into what is being told": {{"make", 0, 0, 70}, {"network", 1, 3, 0}, {"make", 0, 0, 1}, {"merge", 1, 0, 5}, {"network", 1, 0, 70}, {"end", 0, 0, 0}},
		// The part may have been told already when the message about it no longer holds.
		"merged while it may be told": {{"wait", 0, 0, 70}, {"network", 1, 3, 0}, {"make", 0, 0, 1}, {"merge", 0, 1, 5}, {"network", 1, 0, 70}, {"end", 1, 0, 70}},
		// What is said of the whole under way, in the conversation of a part that goes, is not of that part.
		"a part goes while the whole is told": {{"network", 0, 2, 0}, {"make", 0, 0, 70}, {"make", 2, 0, 0}, {"merge", 1, 0, 70}, {"undo", 0, 0, 5}, {"network", 0, 0, 0}},
		// A message that may have arrived before a pause is corrected after it.
		"paused while it may be told": {{"network", 0, 3, 0}, {"make", 0, 0, 20}, {"pause", 0, 0, 70}, {"network", 0, 0, 0}, {"raise", 0, 1, 1}, {"pause", 0, 0, 1}},
		// The other part, whose record was beside the one that goes back, stays told.
		"one of two parts goes": {{"make", 0, 2, 3}, {"merge", 1, 0, 1}, {"make", 0, 0, 3}, {"merge", 0, 1, 1}, {"undo", 1, 0, 1}, {"end", 1, 0, 70}},
		// A part that was only named in a summary has no conversation in which the whole could end: both end.
		"named in a summary, part of what was not told": {{"storm", 251, 67, 20}, {"merge", 6, 144, 3}, {"end", 0, 0, 20}},
		"named in a summary, part of what ends at once": {{"storm", 1, 0, 70}, {"network", 0, 1, 0}, {"make", 1, 0, 0}, {"merge", 3, 0, 0}, {"end", 0, 0, 0}, {"network", 0, 0, 70}},
		// What is said of the whole under way, in a conversation of its own, is not of the part that goes.
		"a part goes while the whole begins": {{"wait", 0, 0, 70}, {"network", 1, 2, 1}, {"make", 1, 0, 1}, {"end", 1, 0, 70}, {"merge", 1, 0, 70}, {"undo", 0, 0, 3}},
		// The record of the first part goes back to it, also if another one has come meanwhile.
		"two parts of what was not told": {{"storm", 1, 0, 70}, {"network", 0, 1, 0}, {"make", 1, 0, 0}, {"merge", 3, 0, 0}, {"merge", 2, 0, 0}, {"network", 0, 0, 20}, {"end", 0, 0, 70}},
		// What may be told of a part that goes while it is told of the whole is said again of both.
		"told of the whole far away": {{"make", 0, 2, 0}, {"make", 1, 0, 20}, {"network", 1, 3, 0}, {"raise", 0, 0, 20}, {"merge", 0, 1, 0}, {"network", 1, 0, 70}, {"undo", 0, 0, 70}},
		// What was said of the whole in the thread of a part is said again of the part.
		"lower as part of what goes on":       {{"make", 2, 0, 20}, {"raise", 0, 1, 0}, {"merge", 0, 1, 20}, {"undo", 0, 0, 70}},
		"lower as part of what was not known": {{"make", 2, 0, 20}, {"network", 0, 1, 0}, {"make", 1, 0, 0}, {"raise", 1, 1, 0}, {"merge", 1, 0, 0}, {"network", 0, 0, 70}, {"undo", 0, 0, 70}},
		// An end that may not have arrived before a pause is told after it.
		"paused while its end may be told": {{"make", 2, 0, 20}, {"network", 0, 2, 0}, {"end", 0, 0, 3}, {"pause", 0, 0, 70}, {"network", 0, 0, 0}, {"pause", 0, 0, 1}},
		// A merge while a message is under way is not forgotten with the process that sends it.
		"merged and killed while it is told": {{"network", 0, 3, 0}, {"make", 2, 0, 1}, {"make", 0, 2, 0}, {"merge", 1, 0, 0}, {"kill", 0, 0, 0}, {"network", 0, 0, 0}, {"start", 0, 0, 70}},
	} {
		t.Run(name, func(t *testing.T) {
			if why := lastWords(t, g, list); why != "" {
				t.Error(why)
			}
		})
	}
}

// lastWords has things happen, and says who believes in the end what does not hold.
func lastWords(t *testing.T, g ground, list []deed) (why string) {
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(26*365*24*time.Hour - time.Since(time.Date(2000, 1, 1, 12, 0, 0, 0, time.UTC)))
		r := newRandom(t, g)
		defer r.close()
		for _, s := range list {
			r.do(s)
			settle(time.Duration(s.seconds) * time.Second)
		}
		r.rest()
		why = r.wrong()
		if testing.Verbose() {
			t.Log(strings.Join(r.log, "\n"))
		}
	})
	return why
}

// deed is something that happens, and how long nothing happens after it. What it happens to depends on
// the numbers.
type deed struct {
	what          string
	a, b, seconds int
}

var deeds = []string{"make", "make", "raise", "raise", "move", "end", "retract", "merge", "merge", "undo", "undo", "storm", "pause", "quiet", "network", "kill", "start", "wait"}

// random is a store with an editor, two processes that tell, and subscribers who note what they hear.
type random struct {
	*bed
	editor *edit.Editor
	told   []*reader
	nodes  []*node
	undone []int64 // changes that can be undone
	mu     sync.Mutex
	faulty map[string]string // by address: how the network treats it
	log    []string
}

// reader is a subscriber.
type reader struct {
	sub     Subscription
	to      string
	least   hazard.Severity
	paused  bool
	resumed int64 // what began before may be unknown: the last change when it was paused last
	heard   []message.Notice
}

// node is a process: its own connections to the store.
type node struct {
	store *store.Store
	stop  func()
}

func newRandom(t *testing.T, g ground) *random {
	at := g.place(t)
	s, err := at.open(t)
	if err != nil {
		t.Fatal(err)
	}
	r := &random{faulty: map[string]string{}, bed: &bed{t: t, place: at, store: s, people: map[string]auth.Role{"ann": auth.Admin}},
		editor: edit.New(s, fuse.New(s, fuse.Known{}), 1, func(int64) bool { return true })}
	r.svc = r.process(s)
	for name, members := range map[string]string{"all": ``, "quiet": `,"time_zone":"UTC","quiet":{"from":"12:05","to":"12:20"}`, "severe": `,"severity_min":"WARNING"`} {
		to := "https://" + name + ".example/x"
		sub := r.subscribe("ann", boston(name+".example")+members)
		h := &reader{sub: sub, to: to}
		if name == "severe" {
			h.least = hazard.Warning
		}
		r.told = append(r.told, h)
	}
	slices.SortFunc(r.told, func(a, b *reader) int { return int(a.to[8]) - int(b.to[8]) })
	r.nodes = make([]*node, 2)
	r.start(0)
	settle(2 * time.Second)
	r.make(1, 0)
	return r
}

// process is a Service over a store, whose messages go to the readers.
func (r *random) process(s *store.Store) *Service {
	b := *r.bed
	b.store, b.net = s, nil
	svc := b.service()
	svc.Sender = r
	return svc
}

func (r *random) start(i int) {
	s, err := r.place.open(r.t)
	if err != nil {
		r.t.Fatal(err)
	}
	r.nodes[i] = &node{s, r.run(r.process(s))}
}

// Send is the network.
func (r *random) Send(_ context.Context, to channel.Address, n message.Notice) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	fault := r.faulty[to.To]
	if fault == "down" {
		return errors.New("connection refused")
	}
	if fault != "lost" {
		i := slices.IndexFunc(r.told, func(h *reader) bool { return h.to == to.To })
		r.told[i].heard = append(r.told[i].heard, n)
		for _, it := range n.Items {
			r.note("%s hears %s: hazard %d %s %s %s, thread %.12s", to.To, n.Kind, it.Hazard.ID, it.Hazard.Status, it.Hazard.Severity, it.Changed, n.Thread[min(7, len(n.Thread)):])
		}
	}
	if fault != "" {
		return fmt.Errorf("%w: no answer", channel.Uncertain)
	}
	return nil
}

func (*random) Check(channel.Address) error { return nil }

func (r *random) note(format string, args ...any) {
	r.log = append(r.log, time.Now().UTC().Format("15:04:05 ")+fmt.Sprintf(format, args...))
}

func (r *random) did(what string, err error) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.note("%s: %v", what, err)
	return err == nil
}

var (
	who    = edit.Author{Caller: auth.Caller{Name: "ann", Role: auth.Admin}}
	levels = []string{"ADVISORY", "WATCH", "WARNING"}
	places = []string{"-71.06", "-71.06", "10"} // longitudes in reach of the readers, and far away
	faults = []string{"", "down", "lost", "arrives"}
)

func (r *random) do(s deed) {
	h, node := r.told[s.a%len(r.told)], s.a%2
	switch s.what {
	case "make":
		r.make(s.a, s.b)
	case "storm":
		for i := range 6 + s.a%20 {
			r.make(s.b+i/8, s.b)
		}
	case "raise":
		r.edit(s.what, s.a, func(id edit.Ref) (edit.Done[hazard.Hazard], error) {
			return r.editor.PatchHazard(r.t.Context(), who, id, nil, fmt.Appendf(nil, `{"severity_ID":%q}`, levels[s.b%3]), hazard.ClockFunc(now))
		})
	case "move":
		r.edit(s.what, s.a, func(id edit.Ref) (edit.Done[hazard.Hazard], error) {
			return r.editor.PatchHazard(r.t.Context(), who, id, nil, fmt.Appendf(nil, `{"longitude":%s}`, places[s.b%3]), hazard.ClockFunc(now))
		})
	case "end":
		r.edit(s.what, s.a, func(id edit.Ref) (edit.Done[hazard.Hazard], error) {
			return r.editor.PatchHazard(r.t.Context(), who, id, nil, []byte(`{"status":"E"}`), hazard.ClockFunc(now))
		})
	case "retract":
		r.edit(s.what, s.a, func(id edit.Ref) (edit.Done[hazard.Hazard], error) {
			return r.editor.Retract(r.t.Context(), who, id, nil, []byte(`{"reason":"false"}`), hazard.ClockFunc(now))
		})
	case "merge":
		into := r.one(s.b)
		r.edit(fmt.Sprintf("merge into %d", into.ID), s.a, func(id edit.Ref) (edit.Done[hazard.Hazard], error) {
			return r.editor.Merge(r.t.Context(), who, id, nil, fmt.Appendf(nil, `{"into":%d}`, into.ID), hazard.ClockFunc(now))
		})
	case "undo":
		r.undo(s.a)
	case "pause":
		r.pause(h)
	case "quiet":
		from := time.Now().UTC().Add(-time.Minute)
		r.set(h, fmt.Sprintf(`{"time_zone":"UTC","quiet":{"from":%q,"to":%q}}`, from.Format("15:04"), from.Add(time.Duration(3+s.b%7)*time.Minute).Format("15:04")))
	case "network":
		r.mu.Lock()
		r.faulty[h.to] = faults[s.b%4]
		r.note("the network of %s: %q", h.to, r.faulty[h.to])
		r.mu.Unlock()
	case "kill": // it loses its connections first, so that it records nothing more
		if n := r.nodes[node]; n != nil {
			r.did(fmt.Sprintf("kill %d", node), n.store.Close())
			n.stop()
			r.nodes[node] = nil
		}
	case "start":
		if r.nodes[node] == nil {
			r.start(node)
			r.did(fmt.Sprintf("start %d", node), nil)
		}
	}
}

func (r *random) make(a, b int) {
	done, err := r.editor.CreateHazard(r.t.Context(), who, nil, fmt.Appendf(nil, `{"hazard_Name":"Flood %d","type_ID":"FLOOD","severity_ID":%q,"latitude":42.36,"longitude":%s}`, len(r.log), levels[a%3], places[b%3]), hazard.ClockFunc(now))
	if err != nil {
		r.t.Fatal(err)
	}
	r.did(fmt.Sprintf("make hazard %d: %s at %s", done.State.ID, done.State.Severity, places[b%3]), nil)
}

// one is one of the latest hazards.
func (r *random) one(n int) edit.Ref {
	ids, err := r.store.Hazards.IDs(r.t.Context())
	if err != nil {
		r.t.Fatal(err)
	}
	slices.Sort(ids)
	return edit.Ref{ID: ids[len(ids)-1-n%min(4, len(ids))]}
}

// edit has an editor change a hazard, which may be refused.
func (r *random) edit(what string, n int, f func(edit.Ref) (edit.Done[hazard.Hazard], error)) {
	id := r.one(n)
	done, err := f(id)
	if r.did(fmt.Sprintf("hazard %d: %s", id.ID, what), err) {
		r.undone = append(r.undone, done.Last)
	}
}

// undo undoes one of the last changes of an editor that were not undone.
func (r *random) undo(n int) {
	if len(r.undone) == 0 {
		return
	}
	i := len(r.undone) - 1 - n%min(3, len(r.undone))
	last := r.undone[i]
	r.undone = slices.Delete(r.undone, i, i+1)
	changes, err := r.store.Log.Since(r.t.Context(), last-1, 1)
	if err != nil || len(changes) == 0 {
		r.t.Fatal(err, changes)
	}
	_, err = r.editor.Undo(r.t.Context(), who, edit.Ref{ID: changes[0].HazardID}, nil, fmt.Appendf(nil, `{"change":%d}`, last), hazard.ClockFunc(now))
	r.did(fmt.Sprintf("undo of hazard %d, change %d", changes[0].HazardID, last), err)
}

func (r *random) set(h *reader, text string) {
	_, err := r.svc.Patch(r.t.Context(), r.author("ann"), h.sub.ID, []byte(text), now())
	if !r.did(h.to+" "+text, err) {
		r.t.Fatal(err)
	}
}

// pause pauses a reader, or ends the pause.
func (r *random) pause(h *reader) {
	if h.paused = !h.paused; h.paused {
		r.set(h, `{"status":"paused"}`)
		return
	}
	r.set(h, `{"status":"active"}`)
	h.resumed, _ = r.store.Log.Last(r.t.Context())
}

func (r *random) close() {
	for _, n := range r.nodes {
		if n != nil {
			n.stop()
			_ = n.store.Close()
		}
	}
	_ = r.store.Close()
	synctest.Wait()
}

// rest lets everything that waits be told.
func (r *random) rest() {
	r.mu.Lock()
	clear(r.faulty)
	r.mu.Unlock()
	if r.nodes[0] == nil {
		r.start(0)
	}
	for _, h := range r.told {
		if h.paused {
			r.pause(h)
		}
	}
	for waiting := int64(1); waiting > 0; {
		settle(time.Minute)
		var err error
		if _, waiting, err = r.store.Subscriptions.Count(r.t.Context()); err != nil {
			r.t.Fatal(err)
		}
	}
	settle(time.Minute)
}

// wrong says who believes what does not hold, and what happened.
func (r *random) wrong() string {
	ids, err := r.store.Hazards.IDs(r.t.Context())
	if err != nil {
		r.t.Fatal(err)
	}
	all := map[uuid.UUID]*hazard.Hazard{}
	var list []*hazard.Hazard
	for _, id := range ids {
		h, err := r.store.Hazards.Get(r.t.Context(), id)
		if err != nil {
			r.t.Fatal(err)
		}
		all[h.UUID] = h.ExpireAt(now())
		list = append(list, all[h.UUID])
	}
	for _, h := range r.told {
		for _, is := range list {
			why := h.wrong(is, all)
			row, ok, err := r.store.Notices.Told(r.t.Context(), store.Mailbox{Subscription: h.sub.ID, Channel: h.sub.Channels[0].ID}, is.ID)
			if err != nil {
				r.t.Fatal(err)
			}
			if why == "" && ok {
				why = h.wronglyTold(is, row)
			}
			if why != "" {
				return h.to + ": " + why + "\n" + strings.Join(r.log, "\n")
			}
		}
	}
	return ""
}

// word is what a reader heard of a hazard last.
type word struct {
	hazard.Hazard
	inside bool
	thread string
	n      int  // counts what was heard
	alone  bool // in a message of its own, which goes on in the thread
}

// words are what a reader heard last, of hazards and in threads.
func (h *reader) words() (of map[uuid.UUID]word, in map[string]uuid.UUID) {
	of, in = map[uuid.UUID]word{}, map[string]uuid.UUID{}
	for i, n := range h.heard {
		for _, it := range n.Items {
			before := of[it.Hazard.UUID]
			w := word{it.Hazard, it.Hazard.Longitude < 0, before.thread, i, n.Thread != ""}
			if n.Thread != "" {
				w.thread = n.Thread
				in[n.Thread] = it.Hazard.UUID
			}
			of[it.Hazard.UUID] = w
		}
	}
	return of, in
}

// wrong says what a reader believes of a hazard that does not hold.
func (h *reader) wrong(is *hazard.Hazard, all map[uuid.UUID]*hazard.Hazard) string {
	of, in := h.words()
	w, knows := of[is.UUID]
	inside := is.Longitude < 0
	name := fmt.Sprintf("hazard %d (%s %s, inside %v)", is.ID, is.Status, is.Severity, inside)
	switch {
	case is.Status == hazard.Active && inside && is.Severity >= h.least && !knows:
		asPart := false // of what is part of it now
		for id, w := range of {
			part := all[id]
			for part.Reason == hazard.EndMerged {
				part = all[part.Successor]
			}
			asPart = asPart || part == is && w.Status == hazard.Active && w.inside && w.Severity == is.Severity
		}
		if is.Version > h.resumed && !asPart {
			return name + " was not told"
		}
	case !knows:
	case is.Reason == hazard.EndMerged:
		into := all[is.Successor]
		for into.Reason == hazard.EndMerged {
			into = all[into.Successor]
		}
		if _, known := of[into.UUID]; into.Status != hazard.Active && w.Status == hazard.Active && !(known && in[w.thread] == into.UUID) {
			return fmt.Sprintf("%s is part of %d, which is over; last word: %s", name, into.ID, w.Status)
		}
	case w.Status == hazard.Active && !w.inside && is.Status != hazard.Active: // it went away before
	case is.Status != hazard.Active && in[w.thread] != is.UUID && of[in[w.thread]].Status == hazard.Expired: // it was over as part of another one
	case w.Status != is.Status:
		return fmt.Sprintf("%s; last word: %s", name, w.Status)
	case is.Status == hazard.Active && inside && (!w.inside || w.Severity != is.Severity):
		return fmt.Sprintf("%s; last word: %s, inside %v", name, w.Severity, w.inside)
	case is.Status == hazard.Active && !inside && w.inside:
		return fmt.Sprintf("%s; last word: inside", name)
	case is.Status == hazard.Active && inside && is.Severity >= h.least && w.alone && of[in[w.thread]].n > w.n:
		return fmt.Sprintf("%s; the last word in its thread is about hazard %d", name, all[in[w.thread]].ID)
	}
	return ""
}

// wronglyTold says why a record that a reader was told of a hazard is not right.
func (h *reader) wronglyTold(is *hazard.Hazard, row store.Told) string {
	last, err := decodeMessage(row.Said)
	if err != nil {
		return err.Error()
	}
	of, _ := h.words()
	w, knows := of[is.UUID]
	over := knows && w.Status != hazard.Active
	switch {
	case last.Unsure != "": // the record says so
	case !knows:
		return fmt.Sprintf("is recorded as told of hazard %d, but was not: %s", is.ID, row.Said)
	case last.Over != over || row.Gone != over || !over && (w.Severity != last.Severity || w.inside != last.Inside) || w.alone && w.thread != last.Thread:
		return fmt.Sprintf("heard last that hazard %d is %s, %s, inside %v, in %s, but is recorded as told %s", is.ID, w.Status, w.Severity, w.inside, w.thread, row.Said)
	}
	return ""
}
