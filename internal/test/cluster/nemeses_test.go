//go:build unix

package cluster

import (
	"database/sql"
	"errors"
	"fmt"
	"os"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/hazardd/hazardd/internal/test"
)

// breaker holds what a nemesis can break.
type breaker struct {
	*cluster
	load *load

	mu        sync.Mutex
	refusing  map[string][]Window
	cut       map[string][]Window
	failovers []Window
	lossy     bool
}

// A nemesis breaks something while clients work, and returns when it is repaired as far as
// possible.
type nemesis struct {
	name string
	options
	do func(*breaker)
	// check checks what only this nemesis must show.
	check func(*breaker, *History, *Figures)
}

// calm is the time without faults before and after something is broken.
const calm = 2 * time.Second

// after is time for open requests to end, and for nodes to notice.
const after = 2 * time.Second

var three = options{nodes: 3}

var nemeses = []nemesis{
	{"nothing", three, func(*breaker) { time.Sleep(4 * time.Second) }, checkHealthy},
	{"a node is killed", three, killNode, nil},
	{"the primary is killed", three, killPrimary, nil},
	{"a node is cut off in silence", three, cutOff, checkCut},
	{"a node is refused by the database", three, refuse, checkCut},
	{"all nodes are replaced", three, roll, checkRolled},
	{"a node is stopped for ten seconds", three, stopNode, checkHolder},
	{"a standby that lags is promoted", options{nodes: 3, asynchronous: true}, promoteLagging, checkLost},
	{"a transaction is held open", three, holdOpen, checkHealthy},
	{"the database is restarted", three, restartDatabase, nil},
}

func TestCluster(t *testing.T) {
	test.Slow(t)
	t.Run("one node on SQLite", func(t *testing.T) {
		run(t, nemesis{"one node on SQLite", options{nodes: 1, sqlite: true}, func(*breaker) { time.Sleep(calm) }, checkHealthy})
	})
	for _, n := range nemeses {
		t.Run(n.name, func(t *testing.T) { run(t, n) })
	}
}

// run runs a nemesis on a new cluster, and checks what clients have seen.
func run(t *testing.T, n nemesis) {
	began := time.Now()
	c := newCluster(t, n.options)
	b := &breaker{cluster: c, load: newLoad(c), refusing: map[string][]Window{}, cut: map[string][]Window{}}
	time.Sleep(calm)
	from := time.Now()
	n.do(b)
	time.Sleep(calm)
	to := time.Now()
	h := b.load.finish()
	end := time.Now()
	h.Refusing, h.Cut, h.Failovers, h.Lossy = b.refusing, b.cut, b.failovers, b.lossy
	b.load.checkFiles(h)
	for _, f := range Check(h) {
		t.Errorf("%s: %s", f.Promise, f.Detail)
	}
	figures := Measure(h, from, to)
	if n.check != nil {
		n.check(b, h, &figures)
	}
	tell(t, figures.Row(n.name))
	t.Logf("%d changes, %d events; %v to begin, %v to end, %v to judge", len(h.Log), figures.Events, from.Add(-calm).Sub(began).Round(time.Millisecond),
		end.Sub(to).Round(time.Millisecond), time.Since(end).Round(time.Millisecond))
}

// tell adds a row to the table, in the test's log and in the file named by HAZARDD_CLUSTER_TABLE.
func tell(t *testing.T, row string) {
	t.Helper()
	t.Logf("\n%s\n%s", Heads, row)
	path := os.Getenv("HAZARDD_CLUSTER_TABLE")
	if path == "" {
		return
	}
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		t.Fatal(err)
	}
	if info, err := f.Stat(); err == nil && info.Size() == 0 {
		row = Heads + "\n" + row
	}
	_, err = fmt.Fprintln(f, row)
	if err := errors.Join(err, f.Close()); err != nil {
		t.Fatal(err)
	}
}

// refuses records that a node did not answer its own clients from a moment until now.
func (b *breaker) refuses(n *hazardd, from time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.refusing[n.name] = append(b.refusing[n.name], Window{from, time.Now().Add(after)})
}

// away records that nodes had no database from a moment until now.
func (b *breaker) away(from time.Time, nodes ...*hazardd) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, n := range nodes {
		b.cut[n.name] = append(b.cut[n.name], Window{from, time.Now().Add(after)})
	}
}

// failedOver records that another server is the primary from now on.
func (b *breaker) failedOver(from time.Time) {
	b.away(from, b.nodes...)
	b.mu.Lock()
	defer b.mu.Unlock()
	b.failovers = append(b.failovers, Window{from, time.Now()})
}

// takeover is the time within which another node has the lease of a dead one (lease.For, lease.Try,
// and some reserve).
const takeover = 12 * time.Second

// killNode kills the node that polls. Another node polls from then on.
func killNode(b *breaker) {
	b.until("somebody polls", takeover, func() bool { return b.feed.poller().node != "" })
	n := b.named(b.feed.poller().node)
	from := time.Now()
	if err := n.process.End(syscall.SIGKILL); err != nil {
		b.t.Error(err)
	}
	const rhythm = 10 * time.Second
	b.until("another node polls", takeover+rhythm, func() bool {
		p := b.feed.poller()
		return p.node != n.name && p.at.After(from)
	})
	b.t.Logf("another node polls after %v", b.feed.poller().at.Sub(from).Round(time.Millisecond))
	n.start()
	b.refuses(n, from)
}

// notices is how long a monitor needs to notice that the primary has died.
const notices = 300 * time.Millisecond

func killPrimary(b *breaker) {
	from := time.Now()
	if err := b.primary.Kill(); err != nil {
		b.t.Error(err)
	}
	time.Sleep(notices)
	promote(b, from)
	// The old primary comes back as a copy of the new one, and commits wait for it again.
	if err := os.RemoveAll(b.primary.Dir); err != nil {
		b.t.Error(err)
	}
	again, err := b.standby.Standby(b.primary.Dir, "old", 0, b.primary.Port)
	if err != nil {
		b.t.Error(err)
		return
	}
	b.t.Cleanup(func() { _ = again.Stop(syscall.SIGQUIT) })
	if err := errors.Join(b.standby.Synchronous("old"), b.standby.Streaming(b.t.Context(), "old", true)); err != nil {
		b.t.Error(err)
	}
	time.Sleep(calm)
}

func promote(b *breaker, from time.Time) {
	began := time.Now()
	if err := b.standby.Promote(b.t.Context()); err != nil {
		b.t.Error(err)
	}
	b.failedOver(from)
	b.t.Logf("promoted in %v", time.Since(began).Round(time.Millisecond))
}

// onItsWay is how far an asynchronous standby of a busy machine may lag by itself. Data in transit
// when the line goes silent never arrives.
const onItsWay = time.Second

// promoteLagging promotes a standby that lacks the writes of the last second and a half.
func promoteLagging(b *breaker) {
	from := time.Now().Add(-onItsWay)
	b.replication.silence()
	time.Sleep(1500 * time.Millisecond)
	if err := b.primary.Kill(); err != nil {
		b.t.Error(err)
	}
	b.mu.Lock()
	b.lossy = true
	b.mu.Unlock()
	time.Sleep(notices)
	promote(b, from)
	time.Sleep(2 * calm)
}

// checkLost checks that something was lost, because otherwise the test proves nothing, and that the
// checker reports it if losses are not allowed.
func checkLost(b *breaker, h *History, f *Figures) {
	sure := *h
	sure.Lossy = false
	c := newChecker(&sure)
	c.log()
	c.writes()
	if f.Lost == 0 || f.Resets == 0 || c.counts[Durable] != f.Lost {
		b.t.Errorf("%d acknowledged writes were lost, the checker found %d of them, and streams were reset %d times", f.Lost, c.counts[Durable], f.Resets)
	}
}

// cutFor is longer than a node without a database reports that it is ready.
const cutFor = 13 * time.Second

// cutOff stops all traffic between a node and the databases without closing connections, as when
// the network is down.
func cutOff(b *breaker) {
	n := b.nodes[1]
	from := time.Now()
	for _, l := range n.lines {
		l.silence()
	}
	b.until(n.name+" says that it is not ready", cutFor, func() bool { return !n.ready() })
	b.t.Logf("not ready after %v", time.Since(from).Round(time.Millisecond))
	time.Sleep(time.Until(from.Add(cutFor)))
	b.mend(n, from)
}

// refuse ends a node's connections to the databases, and refuses new ones.
func refuse(b *breaker) {
	n := b.nodes[1]
	from := time.Now()
	for _, l := range n.lines {
		l.refuse()
	}
	time.Sleep(2 * calm)
	b.mend(n, from)
}

func (b *breaker) mend(n *hazardd, from time.Time) {
	for _, l := range n.lines {
		l.mend()
	}
	mended := time.Now()
	b.until(n.name+" is ready", 30*time.Second, n.ready)
	b.t.Logf("ready %v after the repair", time.Since(mended).Round(time.Millisecond))
	b.away(from, n)
}

// checkHolder checks how long a node that disappears in the middle of a transaction blocks other
// writers, perhaps with another node's transaction behind it. That is as long as the database
// allows both to be idle (3 s each), and not until the node returns.
func checkHolder(b *breaker, _ *History, f *Figures) {
	if f.Outage > 9*time.Second {
		b.t.Errorf("no write was acknowledged for %v", f.Outage)
	}
}

// checkCut checks that a node without a database soon tells writers so.
func checkCut(b *breaker, h *History, f *Figures) {
	checkHolder(b, h, f)
	answered, slowest := 0, time.Duration(0)
	for i := range h.Writes {
		w := &h.Writes[i]
		for node, cut := range h.Cut {
			switch {
			case w.Acknowledged() || !cut[0].overlaps(w.Start, w.End):
			case w.Node == node && w.Status == 503:
				answered++
				slowest = max(slowest, w.Last)
			case w.To == node && w.Status == 0:
				b.t.Errorf("want a 503: %s", w)
			}
		}
	}
	if answered == 0 {
		b.t.Error("no write was answered with 503")
	}
	b.t.Logf("%d writes were answered with 503, the slowest after %v", answered, slowest.Round(time.Millisecond))
}

// roll replaces all nodes, one after the other.
func roll(b *breaker) {
	for _, n := range b.nodes {
		from := time.Now()
		if err := n.process.End(syscall.SIGTERM); err != nil {
			b.t.Errorf("%s has not ended in order: %v", n.name, err)
		}
		ended := time.Since(from)
		n.start()
		b.until(n.name+" is ready", 30*time.Second, n.ready)
		b.refuses(n, from)
		b.t.Logf("%s was down for %v, of which the shutdown took %v", n.name, time.Since(from).Round(time.Millisecond), ended.Round(time.Millisecond))
		time.Sleep(forgiven)
	}
}

// forgiven is longer than nginx avoids a node that did not answer. If the next node were replaced
// earlier, nginx would have no node left.
const forgiven = 2500 * time.Millisecond

// checkRolled checks that no client of the front notices.
func checkRolled(b *breaker, h *History, _ *Figures) {
	for i := range h.Writes {
		if w := &h.Writes[i]; w.To == Front && !w.Acknowledged() && !w.Refused() {
			b.t.Errorf("a write failed: %s", w)
		}
	}
}

// stopNode pauses a node's process, and later continues it.
func stopNode(b *breaker) {
	n := b.nodes[2]
	from := time.Now()
	if err := n.process.Signal(syscall.SIGSTOP); err != nil {
		b.t.Error(err)
	}
	time.Sleep(10 * time.Second)
	if err := n.process.Signal(syscall.SIGCONT); err != nil {
		b.t.Error(err)
	}
	b.refuses(n, from)
	time.Sleep(calm)
}

// holdOpen holds open a transaction with a transaction id, as a dump or a forgotten session does.
func holdOpen(b *breaker) {
	d, err := sql.Open("pgx", b.primary.URL(databaseName))
	if err != nil {
		b.t.Error(err)
		return
	}
	tx, err := d.Begin()
	if err != nil {
		b.t.Error(err)
		return
	}
	var number string
	if err := tx.QueryRow("SELECT pg_current_xact_id()::text || ' ' || count(*) FROM changes").Scan(&number); err != nil {
		b.t.Error(err)
	}
	time.Sleep(6 * time.Second)
	if err := errors.Join(tx.Rollback(), d.Close()); err != nil {
		b.t.Error(err)
	}
}

func restartDatabase(b *breaker) {
	from := time.Now()
	if err := b.primary.Stop(syscall.SIGINT); err != nil {
		b.t.Error(err)
	}
	began := time.Now()
	again, err := b.primary.Restart()
	if err != nil {
		b.t.Error(err)
		return
	}
	b.away(from, b.nodes...)
	b.t.Logf("restarted in %v", time.Since(began).Round(time.Millisecond))
	b.t.Cleanup(func() { _ = again.Stop(syscall.SIGQUIT) })
	time.Sleep(2 * calm)
}

// checkHealthy checks how soon others see a write. The goal is 200 ms; the limit here allows for
// other load on the machine.
func checkHealthy(b *breaker, h *History, f *Figures) {
	if f.Elsewhere99 > 2*time.Second {
		b.t.Errorf("99 of 100 writes were seen at other nodes within %v, want 2 s at most", f.Elsewhere99)
	}
	for i := range h.Writes {
		if w := &h.Writes[i]; !w.Acknowledged() && !w.Refused() {
			b.t.Errorf("a write failed: %s", w)
		}
	}
}
