package cluster

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/anishathalye/porcupine"
)

// Jump is the minimum by which numbers jump when a history is replaced.
const Jump = 1_000_000

// A Fault is a violation of a promise in a history.
type Fault struct {
	Promise string // the broken promise: one of the names below
	Detail  string
}

// The promises.
const (
	Numbered  = "changes are numbered without holes"
	Durable   = "what was acknowledged is there"
	Once      = "nothing is done twice, nor what was refused"
	InOrder   = "what was acknowledged before another request began comes before it"
	NotLost   = "no update is lost"
	Streamed  = "a stream tells the log"
	Told      = "a replaced history is told"
	Expired   = "nothing past its end is active"
	True      = "a list is what the log says as of its number"
	Forward   = "a node goes forward"
	OwnWrites = "a node shows what it has acknowledged"
	Answered  = "reads are answered"
)

// limitPerPromise is the maximum number of reported faults per promise, because the first one is
// enough.
const limitPerPromise = 5

type checker struct {
	*History
	faults []Fault
	counts map[string]int
	byName map[string]int // place in the log where a hazard got a name, by hazard and name
	made   map[string]int // place in the log where a product was created
	gone   map[string]int // place where it was deleted
	forks  []fork
}

// fork is a jump of numbers. Numbers of the old history above after are not in the log. first is
// the first number of the new history.
type fork struct{ after, first int64 }

func newChecker(h *History) *checker {
	return &checker{History: h, counts: map[string]int{}, byName: map[string]int{}, made: map[string]int{}, gone: map[string]int{}}
}

// Check finds the faults in a history.
func Check(h *History) []Fault {
	c := newChecker(h)
	c.log()
	c.writes()
	c.order()
	c.updates()
	for _, s := range h.Streams {
		c.stream(s)
	}
	c.reads()
	for promise, n := range c.counts {
		if n > limitPerPromise {
			c.faults = append(c.faults, Fault{promise, fmt.Sprintf("and %d more", n-limitPerPromise)})
		}
	}
	slices.SortStableFunc(c.faults, func(a, b Fault) int { return cmp.Compare(a.Promise, b.Promise) })
	return c.faults
}

func (c *checker) fault(promise, format string, args ...any) {
	if c.counts[promise]++; c.counts[promise] <= limitPerPromise {
		c.faults = append(c.faults, Fault{promise, fmt.Sprintf(format, args...)})
	}
}

// log checks the log by itself, and records the places of its entries.
func (c *checker) log() {
	last := int64(0)
	names := map[string]string{} // current name of each hazard
	for i, ch := range c.Log {
		switch {
		case ch.Number == last+1:
		case ch.Number > last+Jump && len(c.forks) < len(c.Failovers):
			c.forks = append(c.forks, fork{last, ch.Number})
		default:
			c.fault(Numbered, "change %d follows %d", ch.Number, last)
		}
		last = ch.Number
		if ch.Product != "" {
			switch ch.Type {
			case "product.created":
				if _, twice := c.made[ch.Product]; twice {
					c.fault(Once, "change %d creates product %s again", ch.Number, ch.Product)
				}
				c.made[ch.Product] = i
			case "product.deleted":
				c.gone[ch.Product] = i
			}
			continue
		}
		if names[ch.Hazard] == ch.Name { // another field was changed
			continue
		}
		names[ch.Hazard] = ch.Name
		key := ch.Hazard + " " + ch.Name
		if first, twice := c.byName[key]; twice {
			c.fault(Once, "change %d gives hazard %s the name %q again, which change %d had given it", ch.Number, ch.Hazard, ch.Name, c.Log[first].Number)
		}
		c.byName[key] = i
	}
}

// place returns the place of a write in the log.
func (c *checker) place(w *Write) (int, bool) {
	switch {
	case w.Deletes:
		i, ok := c.gone[w.Product]
		return i, ok
	case w.Product != "":
		i, ok := c.made[w.Product]
		return i, ok
	}
	i, ok := c.byName[w.Hazard+" "+w.After]
	return i, ok
}

// mayBeLost reports whether a failover may have lost a write.
func (c *checker) mayBeLost(w *Write) bool {
	return c.Lossy && slices.ContainsFunc(c.Failovers, func(f Window) bool { return w.Start.Before(f.To) && w.End.After(f.From) })
}

// Lost returns how many acknowledged writes are missing in the log.
func (h *History) Lost() (n int) {
	c := newChecker(h)
	c.log()
	for i := range h.Writes {
		if _, ok := c.place(&h.Writes[i]); !ok && h.Writes[i].Acknowledged() {
			n++
		}
	}
	return n
}

func (c *checker) writes() {
	for i := range c.Writes {
		w := &c.Writes[i]
		at, there := c.place(w)
		switch {
		case w.Acknowledged() && !there:
			if !c.mayBeLost(w) {
				c.fault(Durable, "%s: not in the log", w)
			}
		case w.Refused() && there:
			c.fault(Once, "%s: in the log as change %d", w, c.Log[at].Number)
		case there && w.Ends && c.Log[at].Active:
			c.fault(Durable, "%s: change %d does not end it", w, c.Log[at].Number)
		}
	}
}

// order compares the log with the clients' clock.
func (c *checker) order() {
	var begun, ended []*Write
	for i := range c.Writes {
		w := &c.Writes[i]
		if _, ok := c.place(w); !ok {
			continue
		}
		begun = append(begun, w)
		if w.Acknowledged() {
			ended = append(ended, w)
		}
	}
	slices.SortFunc(begun, func(a, b *Write) int { return a.Start.Compare(b.Start) })
	slices.SortFunc(ended, func(a, b *Write) int { return a.End.Compare(b.End) })
	latest, next := -1, 0
	var of *Write
	for _, w := range begun {
		for ; next < len(ended) && ended[next].End.Before(w.Start); next++ {
			if at, _ := c.place(ended[next]); at > latest {
				latest, of = at, ended[next]
			}
		}
		if at, _ := c.place(w); at < latest {
			c.fault(InOrder, "%s is change %d, and before it began: %s is change %d", w, c.Log[at].Number, of, c.Log[latest].Number)
		}
	}
}

// updates checks that the writes of each hazard behave like a register with compare-and-set.
func (c *checker) updates() {
	before := map[string]string{} // by hazard and name: the name before
	names := map[string]string{}
	for _, ch := range c.Log {
		if ch.Product == "" && names[ch.Hazard] != ch.Name {
			before[ch.Hazard+" "+ch.Name] = names[ch.Hazard]
			names[ch.Hazard] = ch.Name
		}
	}
	for i := range c.Writes {
		w := &c.Writes[i]
		if had, ok := before[w.Hazard+" "+w.After]; ok && w.Before != "" && w.Product == "" && had != w.Before {
			c.fault(NotLost, "%s: it required the name %q, but the name was %q", w, w.Before, had)
		}
	}
	if c.Lossy { // the register itself was reset
		return
	}
	histories := map[string][]porcupine.Operation{}
	for i := range c.Writes {
		w := &c.Writes[i]
		if w.Product != "" || w.Refused() { // a refusal changes nothing; a node with old data may refuse what another would accept
			continue
		}
		op := porcupine.Operation{ClientId: w.Client, Input: registerInput{before: w.Before, after: w.After}, Call: w.Start.UnixNano(), Return: w.End.UnixNano()}
		if !w.Acknowledged() {
			// The log says which of these writes were done, but not when. Keeping undone ones would
			// double the search for each.
			if _, done := before[w.Hazard+" "+w.After]; !done {
				continue
			}
			op.Return = math.MaxInt64 - 1
		}
		histories[w.Hazard] = append(histories[w.Hazard], op)
	}
	for hazard, ops := range histories {
		ops = append(ops, porcupine.Operation{Input: registerInput{read: true}, Output: names[hazard], Call: math.MaxInt64 - 1, Return: math.MaxInt64})
		// The check takes milliseconds, but a busy machine must not make it fail.
		if result := porcupine.CheckOperationsTimeout(register, ops, 2*time.Minute); result != porcupine.Ok {
			c.fault(NotLost, "hazard %s: the check that its %d writes are a history of a register: %s", hazard, len(ops)-1, result)
		}
	}
}

// registerInput is a request to a register: a read, or a write of after. If before is not empty,
// the write requires that the register holds before.
type registerInput struct {
	read          bool
	before, after string
}

// register models the name of a hazard. It contains only requests that were done.
var register = porcupine.Model{
	Init: func() any { return "" },
	Step: func(state, input, output any) (bool, any) {
		in := input.(registerInput)
		if in.read {
			return state == output, state
		}
		return in.before == "" || state == in.before, in.after
	},
}

// number finds the place of a number in the log.
func (c *checker) number(n int64) (int, bool) {
	return slices.BinarySearchFunc(c.Log, n, func(ch Change, n int64) int { return cmp.Compare(ch.Number, n) })
}

// replaced reports whether a number may belong to a history that a failover replaced.
func (c *checker) replaced(n int64) bool {
	return c.Lossy && slices.ContainsFunc(c.forks, func(f fork) bool { return n > f.after && n < f.after+Jump })
}

func (c *checker) stream(s *Stream) {
	who := fmt.Sprintf("the stream of client %d at %s", s.Client, s.To)
	next := 0        // next place in the log
	seen := int64(0) // number that the stream has passed
	old := int64(0)  // number of a replaced history that the stream received; 0: none since the last reset
	for _, e := range s.Events {
		at, there := c.number(e.Number)
		switch {
		case e.Reset:
			if !c.Lossy || len(c.forks) == 0 {
				c.fault(Told, "%s: a reset to %d after %d by %s at %s, but no history was replaced: %s", who, e.Number, seen, e.Node, e.At.Format(clockTime), e.Text)
			}
			if e.Number < seen && !c.replaced(seen) {
				c.fault(Streamed, "%s: a reset back to %d after %d by %s", who, e.Number, seen, e.Node)
			}
			old, seen, next = 0, e.Number, at
			if there {
				next++
			}
			continue
		case e.Number <= seen:
			c.fault(Streamed, "%s: change %d after %d by %s: twice, or out of order", who, e.Number, seen, e.Node)
			return
		case !there && c.replaced(e.Number):
			old = e.Number
		case !there:
			c.fault(Streamed, "%s: change %d by %s is not in the log", who, e.Number, e.Node)
		case old != 0:
			c.fault(Told, "%s: change %d by %s follows %d, which belongs to a replaced history, without a reset", who, e.Number, e.Node, old)
			old = 0
		case at != next:
			c.fault(Streamed, "%s: change %d by %s after %d: %d changes were not sent", who, e.Number, e.Node, seen, at-next)
		case e.Text != c.Log[at].Text:
			c.fault(Streamed, "%s: change %d by %s was sent as\n%s\nand is in the log as\n%s", who, e.Number, e.Node, e.Text, c.Log[at].Text)
		}
		seen = e.Number
		if there {
			next = at + 1
		}
	}
	if old != 0 {
		c.fault(Told, "%s: no reset though change %d was replaced", who, old)
	} else if next < len(c.Log) {
		c.fault(Streamed, "%s: ends at %d, %d changes before the log does", who, seen, len(c.Log)-next)
	}
}

func (c *checker) reads() {
	slices.SortFunc(c.Reads, func(a, b Read) int { return a.Start.Compare(b.Start) })
	c.forward()
	c.own()
	var answered []*Read
	for i := range c.Reads {
		r := &c.Reads[i]
		if r.Status == 200 {
			answered = append(answered, r)
			continue
		}
		if r.To != Front && slices.ContainsFunc(c.Refusing[r.To], func(w Window) bool { return w.overlaps(r.Start, r.End) }) {
			continue
		}
		c.fault(Answered, "client %d at %s: %d by %s at %s after %v: %s", r.Client, r.To, r.Status, r.Node, r.End.Format(clockTime), r.End.Sub(r.Start).Round(time.Millisecond), r.Error)
	}
	slices.SortStableFunc(answered, func(a, b *Read) int { return cmp.Compare(a.Change, b.Change) })
	p := newPicture()
	next := 0
	for _, r := range answered {
		if _, there := c.number(r.Change); !there {
			if c.replaced(r.Change) {
				c.ended(r)
				continue
			}
			if r.Change != 0 && !slices.ContainsFunc(c.forks, func(f fork) bool { return r.Change >= f.after+Jump && r.Change < f.first }) {
				c.fault(True, "client %d: a list by %s is as of change %d, which is not in the log", r.Client, r.Node, r.Change)
				continue
			}
		}
		for ; next < len(c.Log) && c.Log[next].Number <= r.Change; next++ {
			p.apply(&c.Log[next])
		}
		c.list(r, p)
	}
}

// picture is the state of the active hazards as of a place in the log.
type picture struct {
	hazards map[string]*Change // the latest change of each active hazard
	totals  map[string]int
	made    map[string]bool // existing products
}

func newPicture() *picture {
	return &picture{map[string]*Change{}, map[string]int{}, map[string]bool{}}
}

func (p *picture) apply(ch *Change) {
	switch {
	case ch.Product != "" && ch.Type == "product.deleted":
		if p.made[ch.Product] {
			p.totals[ch.Hazard]--
		}
		delete(p.made, ch.Product)
	case ch.Product != "":
		if !p.made[ch.Product] {
			p.totals[ch.Hazard]++
		}
		p.made[ch.Product] = true
	case ch.Active:
		p.hazards[ch.Hazard] = ch
	default:
		delete(p.hazards, ch.Hazard)
	}
}

// parse parses a list.
func (c *checker) parse(r *Read) []member {
	var list []member
	if err := json.Unmarshal(r.Body, &list); err != nil {
		c.fault(True, "client %d: a list by %s as of change %d: %v", r.Client, r.Node, r.Change, err)
	}
	return list
}

// ended finds hazards in a list that have already ended.
func (c *checker) ended(r *Read) {
	for _, m := range c.parse(r) {
		ends, err := m.ends()
		if err != nil || !ends.IsZero() && !ends.After(r.Start) {
			c.fault(Expired, "client %d: a list by %s, requested at %s, contains hazard %s, which ended at %s (%v)", r.Client, r.Node, r.Start.Format(clockTime), m.UUID, ends.Format(clockTime), err)
		}
	}
}

// list compares a list that a client read with the state of the log at its number.
func (c *checker) list(r *Read, p *picture) {
	c.ended(r)
	found := map[string]bool{}
	for _, m := range c.parse(r) {
		ch := p.hazards[m.UUID]
		switch {
		case found[m.UUID]:
			c.fault(True, "client %d: a list by %s as of change %d contains hazard %s twice", r.Client, r.Node, r.Change, m.UUID)
		case ch == nil:
			c.fault(True, "client %d: a list by %s as of change %d contains hazard %s, which was not active then", r.Client, r.Node, r.Change, m.UUID)
		case ch.Name != m.Name || fmt.Sprint(p.totals[m.UUID]) != m.Total:
			c.fault(True, "client %d: a list by %s as of change %d contains hazard %s as %q with %s products, the log has %q with %d", r.Client, r.Node, r.Change, m.UUID, m.Name, m.Total, ch.Name, p.totals[m.UUID])
		}
		found[m.UUID] = true
	}
	for uuid, ch := range p.hazards {
		if !found[uuid] && (ch.Ends.IsZero() || ch.Ends.After(r.End)) {
			c.fault(True, "client %d: a list by %s as of change %d lacks hazard %s, made active by change %d", r.Client, r.Node, r.Change, uuid, ch.Number)
		}
	}
}

// forward checks that a node never goes back behind what it has shown.
func (c *checker) forward() {
	ended := make([]*Read, 0, len(c.Reads))
	for i := range c.Reads {
		if c.Reads[i].Status == 200 {
			ended = append(ended, &c.Reads[i])
		}
	}
	begun := slices.Clone(ended)
	slices.SortFunc(ended, func(a, b *Read) int { return a.End.Compare(b.End) })
	latest := map[string]int64{}
	next := 0
	for _, r := range begun {
		for ; next < len(ended) && ended[next].End.Before(r.Start); next++ {
			latest[ended[next].Node] = max(latest[ended[next].Node], ended[next].Change)
		}
		if n := latest[r.Node]; r.Change < n && !c.replaced(n) {
			c.fault(Forward, "client %d at %s: %s is at change %d after it was at %d", r.Client, r.Start.Format(clockTime), r.Node, r.Change, n)
		}
	}
}

// own checks that a node shows the writes that it acknowledged. It may fail to if it lost the
// database in between.
func (c *checker) own() {
	c.behind(func(w *Write, r *Read) {
		if w.Node != r.Node || slices.ContainsFunc(c.Cut[r.Node], func(cut Window) bool { return cut.overlaps(w.Start, r.End) }) {
			return
		}
		at, _ := c.place(w)
		c.fault(OwnWrites, "client %d at %s: %s is at change %d, but acknowledged %d %v before (%s)", r.Client, r.Start.Format(clockTime), r.Node, r.Change, c.Log[at].Number, r.Start.Sub(w.End), w)
	})
}

// behind calls late for each list that lacks an acknowledged write, with the first such write: once
// for all nodes, and once for the list's own node.
func (c *checker) behind(late func(*Write, *Read)) {
	type numbered struct {
		*Write
		n int64
	}
	byNode := map[string][]numbered{}
	for i := range c.Writes {
		w := &c.Writes[i]
		if at, ok := c.place(w); ok && w.Acknowledged() {
			byNode[""] = append(byNode[""], numbered{w, c.Log[at].Number})
			if w.Node != "" {
				byNode[w.Node] = append(byNode[w.Node], numbered{w, c.Log[at].Number})
			}
		}
	}
	// For each number, find the write above it that was acknowledged first: sort by number and go
	// from the end.
	for node, list := range byNode {
		slices.SortFunc(list, func(a, b numbered) int { return cmp.Compare(a.n, b.n) })
		first := make([]*Write, len(list)+1)
		for i := len(list) - 1; i >= 0; i-- {
			if first[i] = first[i+1]; first[i] == nil || list[i].End.Before(first[i].End) {
				first[i] = list[i].Write
			}
		}
		for i := range c.Reads {
			r := &c.Reads[i]
			if r.Status != 200 || node != "" && node != r.Node || c.replaced(r.Change) {
				continue
			}
			at, _ := slices.BinarySearchFunc(list, r.Change+1, func(w numbered, n int64) int { return cmp.Compare(w.n, n) })
			if w := first[at]; w != nil && w.End.Before(r.Start) {
				late(w, r)
			}
		}
	}
}

// Figures are measurements from a history, apart from faults.
type Figures struct {
	Outage       time.Duration // the longest time without an acknowledged write
	Staleness    time.Duration // the longest time for which a list lacked an acknowledged write
	StaleNode    string        // the node of that list
	FailedReads  int           // of all reads, allowed or not
	Reads        int
	Writes       int // attempted writes
	Acknowledged int
	Lost         int // lost ones among them
	Resets       int // resets that streams received
	Events       int
	// Elsewhere is the time from an acknowledgement to the event at other nodes: the median and the
	// 99th percentile.
	Elsewhere50, Elsewhere99 time.Duration
}

// Measure returns the figures of a history between two moments.
func Measure(h *History, from, to time.Time) (f Figures) {
	c := newChecker(h)
	c.log()
	f.Lost = h.Lost()
	acks := []time.Time{from}
	byNumber := map[int64]*Write{}
	for i := range h.Writes {
		w := &h.Writes[i]
		f.Writes++
		if !w.Acknowledged() {
			continue
		}
		f.Acknowledged++
		acks = append(acks, w.End)
		if at, ok := c.place(w); ok {
			byNumber[c.Log[at].Number] = w
		}
	}
	acks = append(acks, to)
	slices.SortFunc(acks, time.Time.Compare)
	for i := 1; i < len(acks); i++ {
		f.Outage = max(f.Outage, acks[i].Sub(acks[i-1]))
	}
	c.behind(func(w *Write, r *Read) {
		if late := r.Start.Sub(w.End); late > f.Staleness {
			f.Staleness, f.StaleNode = late, r.Node
		}
	})
	for i := range h.Reads {
		f.Reads++
		if h.Reads[i].Status != 200 {
			f.FailedReads++
		}
	}
	var took []time.Duration
	for _, s := range h.Streams {
		for _, e := range s.Events {
			f.Events++
			if e.Reset {
				f.Resets++
			} else if w := byNumber[e.Number]; w != nil && w.Node != "" && w.Node != e.Node {
				took = append(took, max(0, e.At.Sub(w.End)))
			}
		}
	}
	if slices.Sort(took); len(took) > 0 {
		f.Elsewhere50, f.Elsewhere99 = took[len(took)/2], took[len(took)*99/100]
	}
	return f
}

// Heads and Row make the lines of a table of figures.
var Heads = strings.Join([]string{"what was broken", "outage ms", "stale ms (node)", "reads failed/all", "writes lost/ack/all", "resets", "elsewhere ms p50/p99"}, " | ")

func (f *Figures) Row(name string) string {
	return fmt.Sprintf("%s | %d | %d (%s) | %d/%d | %d/%d/%d | %d | %d/%d", name, f.Outage.Milliseconds(), f.Staleness.Milliseconds(), f.StaleNode, f.FailedReads, f.Reads,
		f.Lost, f.Acknowledged, f.Writes, f.Resets, f.Elsewhere50.Milliseconds(), f.Elsewhere99.Milliseconds())
}
