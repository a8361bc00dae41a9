package cluster

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

// made builds a history that a correct cluster would produce: one thing after the other, a second
// apart.
type made struct {
	t testing.TB
	History
	now    time.Time
	number int64
	texts  []json.RawMessage
	states map[string]*member
	nodes  int
}

// begin is the start of these histories.
var begin = time.UnixMilli(1_700_000_000_000)

func newMade(t testing.TB) *made {
	m := &made{t: t, now: begin, states: map[string]*member{}}
	m.Refusing, m.Cut = map[string][]Window{}, map[string][]Window{}
	for i := range 3 {
		m.Streams = append(m.Streams, &Stream{Client: 10 + i, To: node(i)})
	}
	return m
}

func node(i int) string { return fmt.Sprintf("node%d", i+1) }

// logged adds a change to the log, and sends it to all streams.
func (m *made) logged(kind, user, what string, state any) {
	m.number++
	text, err := json.Marshal(map[string]any{"change": m.number, "type": kind, "user": user, what: state})
	if err != nil {
		m.t.Fatal(err)
	}
	m.texts = append(m.texts, text)
	for _, s := range m.Streams {
		s.Events = append(s.Events, Event{Number: m.number, Text: string(text), At: m.now.Add(50 * time.Millisecond), Node: s.To})
	}
}

// wrote records an acknowledged write in the second that begins, and reads the lists of all nodes.
func (m *made) wrote(w Write) {
	n := node(m.nodes % 3)
	m.nodes++
	w.To, w.Node, w.Start, w.End, w.Status = n, n, m.now, m.now.Add(100*time.Millisecond), 200
	m.Writes = append(m.Writes, w)
	m.ask()
}

func (m *made) ask() {
	m.now = m.now.Add(500 * time.Millisecond)
	for i := range 3 {
		list := []member{}
		for _, h := range m.states {
			if ends, err := h.ends(); err != nil {
				m.t.Fatal(err)
			} else if h.Status == "A" && (ends.IsZero() || ends.After(m.now)) {
				list = append(list, *h)
			}
		}
		body, err := json.Marshal(list)
		if err != nil {
			m.t.Fatal(err)
		}
		m.Reads = append(m.Reads, Read{Client: 20 + i, To: node(i), Node: node(i), Start: m.now, End: m.now.Add(10 * time.Millisecond), Status: 200, Change: m.number, Body: body})
	}
	m.now = m.now.Add(500 * time.Millisecond)
}

// hazard creates or changes a hazard.
func (m *made) hazard(uuid, before, name, status string, life time.Duration) {
	h, kind := m.states[uuid], "hazard.updated"
	if h == nil {
		h, kind = &member{UUID: uuid, ID: int64(len(m.states)) + 1, AutoExpire: "N", End: "0", Total: "0"}, "hazard.created"
		if life > 0 {
			h.AutoExpire, h.End = "Y", fmt.Sprint(m.now.Add(life).UnixMilli())
		}
		m.states[uuid] = h
	}
	h.Name, h.Status = name, status
	m.logged(kind, "writer", "hazard", h)
	m.wrote(Write{Client: 1, Hazard: uuid, Before: before, After: name, Ends: status == "E"})
}

func (m *made) product(hazard, uuid string, deletes bool) {
	h, kind, total := m.states[hazard], "product.created", 1
	if deletes {
		kind, total = "product.deleted", 0
	}
	h.Total = fmt.Sprint(total)
	m.logged(kind, "writer", "product", map[string]any{"uuid": uuid, "hazard_ID": h.ID})
	m.wrote(Write{Client: 1, Hazard: hazard, Product: uuid, Deletes: deletes})
}

// sound returns a history with everything that can happen, without a fault.
func sound(t testing.TB) *made {
	m := newMade(t)
	m.ask()
	m.hazard("fire", "", "a", "A", 0)
	m.hazard("flood", "", "b", "A", 3200*time.Millisecond)
	m.product("fire", "map", false)
	m.hazard("fire", "a", "c", "A", 0)
	m.hazard("storm", "", "d", "A", 0)
	m.states["flood"].Status = "E" // it expires, and this is recorded
	m.logged("hazard.expired", "", "hazard", m.states["flood"])
	m.ask()
	m.hazard("fire", "c", "e", "A", 0)
	m.product("fire", "map", true)
	m.hazard("storm", "", "f", "E", 0)
	m.finish()
	return m
}

func (m *made) finish() {
	log, err := ParseLog(m.texts)
	if err != nil {
		m.t.Fatal(err)
	}
	m.Log = log
}

// replaced returns a history in which a failover lost two changes, numbers 4 and 5. Both were
// acknowledged, and the second stream has received both. It gets a reset.
func replaced(t testing.TB) *made {
	m := newMade(t)
	m.hazard("fire", "", "a", "A", 0)
	m.hazard("fire", "a", "b", "A", 0)
	m.hazard("flood", "", "c", "A", 0)
	kept, state := len(m.texts), *m.states["fire"]
	m.Failovers, m.Lossy = []Window{{From: m.now}}, true
	m.hazard("fire", "b", "lost", "A", 0)
	m.hazard("fire", "lost", "lost too", "A", 0)
	m.texts = m.texts[:kept]
	m.states["fire"] = &state
	m.Streams[0].Events = m.Streams[0].Events[:kept]
	m.Streams[2].Events = m.Streams[2].Events[:kept]
	m.Failovers[0].To = m.now
	m.number = int64(kept) + Jump
	m.Streams[1].Events = append(m.Streams[1].Events, Event{Number: m.number, Reset: true, At: m.now, Node: "node2"})
	m.ask()
	m.hazard("fire", "b", "d", "A", 0)
	m.hazard("flood", "c", "e", "A", 0)
	m.finish()
	return m
}

func wantNone(t *testing.T, h *History) {
	t.Helper()
	for _, f := range Check(h) {
		t.Errorf("%s: %s", f.Promise, f.Detail)
	}
}

func TestASoundHistoryHasNoFault(t *testing.T) {
	wantNone(t, &sound(t).History)
	wantNone(t, &replaced(t).History)
	wantNone(t, &History{})
}

// find returns the write with a name.
func (m *made) find(name string) *Write {
	i := slices.IndexFunc(m.Writes, func(w Write) bool { return w.After == name })
	return &m.Writes[i]
}

// read returns a node's list in a given second.
func (m *made) read(second int, node string) *Read {
	at := begin.Add(time.Duration(second)*time.Second + 500*time.Millisecond)
	i := slices.IndexFunc(m.Reads, func(r Read) bool { return r.Node == node && r.Start.Equal(at) })
	return &m.Reads[i]
}

func TestEachFaultIsFound(t *testing.T) {
	for name, tt := range map[string]struct {
		base func(testing.TB) *made
		do   func(*made)
		want string
	}{
		"an acknowledged write is not in the log": {sound, func(m *made) {
			m.Writes = append(m.Writes, Write{Hazard: "ice", After: "x", Status: 201, Start: m.now, End: m.now})
		}, Durable},
		"an acknowledged product is not in the log": {sound, func(m *made) {
			m.Writes = append(m.Writes, Write{Hazard: "fire", Product: "x", Status: 201, Start: m.now, End: m.now})
		}, Durable},
		"a deleted product is there": {sound, func(m *made) {
			m.Writes = append(m.Writes, Write{Hazard: "fire", Product: "x", Deletes: true, Status: 204, Start: m.now, End: m.now})
		}, Durable},
		"a hazard that was ended goes on": {sound, func(m *made) { m.find("c").Ends = true }, Durable},
		"a refused write is in the log":   {sound, func(m *made) { m.find("c").Status = 412 }, Once},
		"a hole":                          {sound, func(m *made) { m.Log = slices.Delete(m.Log, 3, 4) }, Numbered},
		"a change is there twice":         {sound, func(m *made) { m.Log = slices.Insert(m.Log, 3, m.Log[3]) }, Numbered},
		"numbers jump without a failover": {replaced, func(m *made) { m.Failovers = nil }, Numbered},
		"a write is done twice": {sound, func(m *made) {
			again := m.Log[3]
			again.Number = 10
			m.Log = append(m.Log, again)
		}, Once},
		"a product is made twice": {sound, func(m *made) {
			again := m.Log[2]
			again.Number = 10
			m.Log = append(m.Log, again)
		}, Once},
		"a later write comes before an earlier one": {sound, func(m *made) {
			w := m.find("a")
			w.Start, w.End = m.now.Add(time.Second), m.now.Add(2*time.Second)
		}, InOrder},
		"an update is overwritten unseen": {sound, func(m *made) { m.find("e").Before = "a" }, NotLost},
		"the writes of a hazard are no history of a register": {sound, func(m *made) {
			w := m.find("e") // done before the write that it depends on
			w.Start, w.End = begin.Add(-2*time.Second), begin.Add(-time.Second)
		}, NotLost},
		"a stream is told twice": {sound, func(m *made) {
			s := m.Streams[1]
			s.Events = slices.Insert(s.Events, 3, s.Events[2])
		}, Streamed},
		"a stream is told out of order": {sound, func(m *made) {
			s := m.Streams[1]
			s.Events[3], s.Events[4] = s.Events[4], s.Events[3]
		}, Streamed},
		"a stream lacks a change":             {sound, func(m *made) { m.Streams[1].Events = slices.Delete(m.Streams[1].Events, 3, 4) }, Streamed},
		"a stream lacks the first change":     {sound, func(m *made) { m.Streams[1].Events = m.Streams[1].Events[1:] }, Streamed},
		"a stream lacks the last change":      {sound, func(m *made) { m.Streams[1].Events = m.Streams[1].Events[:8] }, Streamed},
		"a stream tells of another state":     {sound, func(m *made) { m.Streams[1].Events[3].Text = "{}" }, Streamed},
		"a stream tells what is not there":    {sound, func(m *made) { m.Streams[1].Events[8].Number = 11 }, Streamed},
		"a stream is reset for nothing":       {sound, func(m *made) { m.Streams[1].Events[3].Reset = true }, Told},
		"a replaced history goes on untold":   {replaced, func(m *made) { m.Streams[1].Events = slices.Delete(m.Streams[1].Events, 5, 6) }, Told},
		"a replaced history is the last told": {replaced, func(m *made) { m.Streams[1].Events = m.Streams[1].Events[:5] }, Told},
		"a reset is followed by a hole":       {replaced, func(m *made) { m.Streams[1].Events = slices.Delete(m.Streams[1].Events, 6, 7) }, Streamed},
		"a hazard is shown past its end": {sound, func(m *made) {
			m.read(5, "node2").Body = m.read(4, "node2").Body
		}, Expired},
		"a hazard is shown past its end by a replaced history": {replaced, func(m *made) {
			m.read(4, "node2").Body = fmt.Appendf(nil, `[{"autoexpire":"Y","end_Date":"%d"}]`, begin.UnixMilli())
		}, Expired},
		"a list lacks a hazard":            {sound, func(m *made) { m.read(4, "node2").Body = []byte(`[]`) }, True},
		"a list holds an old name":         {sound, func(m *made) { m.read(4, "node2").Body = m.read(3, "node2").Body }, True},
		"a list counts products wrongly":   {sound, func(m *made) { m.read(3, "node2").Body = m.read(2, "node2").Body }, True},
		"a list holds what has been ended": {sound, func(m *made) { m.read(9, "node2").Body = m.read(8, "node2").Body }, True},
		"a list is of a change unheard of": {sound, func(m *made) { m.read(9, "node2").Change = 77 }, True},
		"a list holds a hazard twice":      {sound, func(m *made) { r := m.read(1, "node2"); r.Body = twice(r.Body) }, True},
		"a list is cut":                    {sound, func(m *made) { r := m.read(1, "node2"); r.Body = r.Body[:20] }, True},
		"a node goes back":                 {sound, func(m *made) { earlier(m.read(6, "node3"), m.read(2, "node3")) }, Forward},
		"a node lacks its own write":       {sound, func(m *made) { earlier(m.read(2, "node2"), m.read(1, "node2")) }, OwnWrites},
		"a read is not answered":           {sound, func(m *made) { m.read(5, "node2").Status = 0 }, Answered},
		"a read is refused":                {sound, func(m *made) { m.read(5, "node2").Status = 503 }, Answered},
		"a read by the front while a node is dead": {sound, func(m *made) {
			m.Refusing["node2"] = []Window{{begin, m.now}}
			r := m.read(5, "node2")
			r.Status, r.To = 502, Front
		}, Answered},
		"what was acknowledged before a failover is lost": {replaced, func(m *made) {
			w := m.find("lost")
			w.Start, w.End = begin.Add(-2*time.Second), begin.Add(-time.Second)
		}, Durable},
	} {
		t.Run(name, func(t *testing.T) {
			m := tt.base(t)
			tt.do(m)
			faults := Check(&m.History)
			if !slices.ContainsFunc(faults, func(f Fault) bool { return f.Promise == tt.want }) {
				t.Errorf("not found; found is %v", faults)
			}
		})
	}
}

func twice(list []byte) []byte {
	return []byte(strings.Replace(string(list), "]", ","+strings.Trim(string(list), "[]")+"]", 1))
}

// earlier replaces a list by an earlier one.
func earlier(r, before *Read) { r.Change, r.Body = before.Change, before.Body }

func TestWhatIsAllowedIsNoFault(t *testing.T) {
	for name, do := range map[string]func(*made){
		"a write of unknown outcome was done": func(m *made) { m.find("c").Status = 0 },
		"a write of unknown outcome was done late": func(m *made) {
			w := m.find("e")
			w.Start, w.End, w.Status = begin, begin.Add(time.Second), 502
		},
		"a write of unknown outcome was not done": func(m *made) {
			m.Writes = append(m.Writes, Write{Hazard: "fire", Before: "a", After: "x", Status: 503, Start: m.now, End: m.now})
		},
		"many writes of unknown outcome were not done": func(m *made) {
			for i := range 40 {
				w := Write{Hazard: "fire", Before: "a", After: fmt.Sprint(i), Status: 503, Start: begin.Add(1500 * time.Millisecond), End: m.now}
				if i == 39 {
					w.Before = "c" // the name that it had when another write came after
				}
				m.Writes = append(m.Writes, w)
			}
		},
		"a condition was refused": func(m *made) {
			m.Writes = append(m.Writes, Write{Hazard: "fire", Before: "a", After: "x", Status: 412, Start: m.now, End: m.now})
		},
		"a dead node does not answer its own clients": func(m *made) {
			m.Refusing["node2"] = []Window{{begin, m.now}}
			m.read(5, "node2").Status = 0
		},
		"a node that is cut off is behind": func(m *made) {
			m.Cut["node3"] = []Window{{begin, m.now}}
			earlier(m.read(3, "node3"), m.read(2, "node3"))
		},
		"a node is behind another": func(m *made) { earlier(m.read(4, "node2"), m.read(3, "node2")) },
	} {
		t.Run(name, func(t *testing.T) {
			m := sound(t)
			do(m)
			wantNone(t, &m.History)
		})
	}
}

func TestFigures(t *testing.T) {
	m := sound(t)
	earlier(m.read(7, "node1"), m.read(6, "node1")) // node3 acknowledged e 400 ms before
	m.find("f").Status = 503
	m.read(1, "node1").Status = 503
	f := Measure(&m.History, begin, m.now)
	want := Figures{Outage: 2 * time.Second, Staleness: 400 * time.Millisecond, StaleNode: "node1", FailedReads: 1, Reads: 30, Writes: 8, Acknowledged: 7, Events: 27}
	if f != want {
		t.Errorf("%+v, want %+v", f, want)
	}
	if f := Measure(&replaced(t).History, begin, m.now); f.Lost != 2 || f.Resets != 1 {
		t.Errorf("%d lost, %d resets; want 2 and 1", f.Lost, f.Resets)
	}
}
