// Nodes measures the effect of more nodes on one PostgreSQL server, compared with one node on
// SQLite: the cost of a read, the number of committed writes, and the time from the commit of a
// change to the other nodes.
//
// All nodes run at the same time, each in its own process, and are measured in turn: one node on
// SQLite, and one, two and three on PostgreSQL. Each group has its own database with 100 active
// hazards, in one server that syncs its log to the disk at each commit (with a synchronous standby
// if --standby is set). One client measures all, over connections that stay open.
//
// All nodes share one machine, so more nodes cannot serve more reads than its processors allow.
// What scales is the processor time of a read, which must not grow with the number of nodes: on its
// own machine, a node serves as many reads as its processors allow. So reads go to one node of a
// group at a time, to a different one in each round. Meanwhile 20 changes per second are written to
// another node, which the first one follows; a single node writes and reads. Writes of a group are
// committed one after the other, so more nodes cannot commit more of them. They are sent to all
// nodes at once, which share the processors here. The goal is only that the rate does not fall
// much.
package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/hazardd/hazardd/bench/internal/measure"
	"github.com/hazardd/hazardd/bench/internal/sample"
	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/store"
	"github.com/hazardd/hazardd/internal/test/postgres"
	"github.com/hazardd/hazardd/internal/test/program"
)

const (
	hazards = 100 // active hazards in each group
	readers = 8   // connections that read
	writers = 8   // connections that write at the same time
	pace    = 20  // changes per second while the delay to other nodes is measured
)

type options struct {
	rounds  int
	slice   time.Duration
	standby bool
	json    bool
}

func main() {
	var o options
	flag.IntVar(&o.rounds, "rounds", 9, "rounds; medians are over these")
	flag.DurationVar(&o.slice, "slice", time.Second, "time of one measurement in one round")
	flag.BoolVar(&o.standby, "standby", false, "commits wait for a standby")
	flag.BoolVar(&o.json, "json", false, "print JSON")
	flag.Parse()
	measure.Main("bench/nodes", func(ctx context.Context) error { return run(ctx, o) })
}

// group is the set of nodes on one store.
type group struct {
	name  string
	nodes []*program.Process
	token string
	http  *http.Client

	reads, readCPU, writes, writeCPU, writeP50, writeP99 []float64 // by round
	toOthers                                             []float64 // milliseconds
	round                                                int
}

func run(ctx context.Context, o options) (err error) {
	dir, err := postgres.TempDir()
	if err != nil {
		return err
	}
	var ends []func() error
	defer func() {
		for i := range ends {
			err = errors.Join(err, ends[len(ends)-1-i]())
		}
	}()
	ends = append(ends, func() error { return os.RemoveAll(dir) })
	binary, err := program.Build(dir)
	if err != nil {
		return err
	}
	server, err := startPostgres(ctx, dir, o.standby, &ends)
	if err != nil {
		return err
	}
	var groups []*group
	for n := range 4 {
		g := &group{name: fmt.Sprintf("PostgreSQL, %d nodes", n), http: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: readers + writers}}}
		folder, database := filepath.Join(dir, fmt.Sprintf("data%d", n)), ""
		if n <= 1 {
			g.name = []string{"SQLite, 1 node", "PostgreSQL, 1 node"}[n]
		}
		if n > 0 {
			name := fmt.Sprintf("nodes%d", n)
			if err := server.Exec("CREATE DATABASE " + name + " TEMPLATE template0"); err != nil {
				return err
			}
			database = server.URL(name)
		}
		if err := g.start(ctx, binary, folder, database, max(n, 1), &ends); err != nil {
			return fmt.Errorf("%s: %w", g.name, err)
		}
		groups = append(groups, g)
	}
	for round := range o.rounds {
		for _, i := range measure.Rotated(len(groups), round) {
			g := groups[i]
			for _, part := range []func(context.Context, time.Duration) error{g.read, g.write, g.tell} {
				if err := errors.Join(ctx.Err(), part(ctx, o.slice)); err != nil {
					return fmt.Errorf("%s: %w", g.name, err)
				}
			}
		}
	}
	return report(groups, o).Write(os.Stdout, o.json)
}

// startPostgres starts a server that loses nothing in a power cut.
func startPostgres(ctx context.Context, dir string, standby bool, ends *[]func() error) (*postgres.Server, error) {
	bin, err := postgres.Find()
	if err != nil {
		return nil, err
	}
	if bin == "" {
		return nil, errors.New("needs " + postgres.Needed)
	}
	if err := postgres.Init(bin, filepath.Join(dir, "a"), "max_connections=200", "shared_buffers=128MB"); err != nil {
		return nil, err
	}
	a, err := postgres.Start(bin, filepath.Join(dir, "a"), 0)
	if err != nil {
		return nil, err
	}
	*ends = append(*ends, func() error { return a.Stop(syscall.SIGQUIT) })
	if !standby {
		return a, nil
	}
	b, err := a.Standby(filepath.Join(dir, "b"), "standby", 0, 0)
	if err != nil {
		return nil, err
	}
	*ends = append(*ends, func() error { return b.Stop(syscall.SIGQUIT) })
	return a, errors.Join(a.Synchronous("standby"), a.Streaming(ctx, "standby", true))
}

// start fills a store and starts nodes on it.
func (g *group) start(ctx context.Context, binary, folder, database string, nodes int, ends *[]func() error) error {
	s, err := store.Open(ctx, folder, database)
	if err != nil {
		return err
	}
	if err := errors.Join(sample.Fill(ctx, s, hazards, hazard.At(time.Now())), s.Close()); err != nil {
		return err
	}
	where := []string{"--data", folder}
	if database != "" {
		where = append(where, "--database", database)
	}
	for range nodes {
		node, err := program.Start(ctx, binary, nil, os.Stderr, append([]string{"serve", "--listen", "127.0.0.1:0", "--sources", "none", "--user-rate", "0", "--log-level", "error"}, where...)...)
		if err != nil {
			return err
		}
		*ends = append(*ends, func() error { return node.End(syscall.SIGTERM) })
		g.nodes = append(g.nodes, node)
	}
	if _, err := program.Command(binary, "violet kayak thermos orbit", append([]string{"user", "add", "bench", "--role", "admin", "--password-stdin"}, where...)...); err != nil {
		return err
	}
	if g.token, err = program.Command(binary, "", append([]string{"token", "bench"}, where...)...); err != nil {
		return err
	}
	for _, n := range g.nodes { // each node learns of the user within a second
		for tries := 0; ; tries++ {
			if err = g.do(ctx, n, http.MethodGet, "/hazards/types", nil); err == nil {
				break
			}
			if tries == 100 {
				return err
			}
			time.Sleep(50 * time.Millisecond)
		}
	}
	return nil
}

// do sends a request and reads the answer to its end.
func (g *group) do(ctx context.Context, node *program.Process, method, path string, body []byte) error {
	req, err := http.NewRequestWithContext(ctx, method, node.URL+path, bytes.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("Authorization", "Bearer "+g.token)
	req.Header.Set("Accept-Encoding", "identity")
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	resp, err := g.http.Do(req)
	if err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, resp.Body)
	if resp.StatusCode != http.StatusOK {
		err = errors.Join(err, fmt.Errorf("%s %s: %s", method, path, resp.Status))
	}
	return errors.Join(err, resp.Body.Close())
}

// cpuOf returns the processor time that nodes have used.
func cpuOf(nodes []*program.Process) (total time.Duration, err error) {
	for _, n := range nodes {
		ran, err := measure.ProcessorTime(n.Cmd.Process.Pid)
		if err != nil {
			return 0, err
		}
		total += ran
	}
	return total, nil
}

// busy lets clients repeat a call for a time, spread over the nodes. It returns the duration of
// each call, and the processor time of the nodes.
func busy(clients int, nodes []*program.Process, slice time.Duration, do func(client int, node *program.Process) error) (took []time.Duration, cpu time.Duration, err error) {
	before, err := cpuOf(nodes)
	if err != nil {
		return nil, 0, err
	}
	var mu sync.Mutex
	var all sync.WaitGroup
	end := time.Now().Add(slice)
	for c := range clients {
		all.Go(func() {
			var mine []time.Duration
			var failed error
			for failed == nil && time.Now().Before(end) {
				began := time.Now()
				failed = do(c, nodes[c%len(nodes)])
				mine = append(mine, time.Since(began))
			}
			mu.Lock()
			defer mu.Unlock()
			took, err = append(took, mine...), errors.Join(err, failed)
		})
	}
	all.Wait()
	after, bad := cpuOf(nodes)
	return took, after - before, errors.Join(err, bad)
}

// read lets clients read from one node, while another receives writes.
func (g *group) read(ctx context.Context, slice time.Duration) error {
	g.round++
	reading, writing := g.nodes[g.round%len(g.nodes)], g.nodes[(g.round+1)%len(g.nodes)]
	var one sync.WaitGroup
	var bad error
	one.Go(func() {
		for i := range int(slice.Seconds() * pace) {
			bad = errors.Join(bad, g.do(ctx, writing, http.MethodPatch, fmt.Sprintf("/hazards/%d", i%hazards+1), change(i)))
			time.Sleep(time.Second / pace)
		}
	})
	took, cpu, err := busy(readers, []*program.Process{reading}, slice, func(_ int, n *program.Process) error { return g.do(ctx, n, http.MethodGet, "/hazards/active", nil) })
	one.Wait()
	g.reads = append(g.reads, float64(len(took))/slice.Seconds())
	g.readCPU = append(g.readCPU, microseconds(cpu)/float64(len(took)))
	return errors.Join(err, bad)
}

func microseconds(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1000 }

// change returns a request that changes a hazard differently each time.
func change(i int) []byte {
	return fmt.Appendf(nil, `{"comment_Text":"%d %d"}`, i, time.Now().UnixNano())
}

func (g *group) write(ctx context.Context, slice time.Duration) error {
	took, cpu, err := busy(writers, g.nodes, slice, func(c int, n *program.Process) error {
		return g.do(ctx, n, http.MethodPatch, fmt.Sprintf("/hazards/%d", c+1), change(c))
	})
	var ms []float64
	for _, t := range took {
		ms = append(ms, microseconds(t)/1000)
	}
	g.writes = append(g.writes, float64(len(took))/slice.Seconds())
	g.writeCPU = append(g.writeCPU, microseconds(cpu)/float64(len(took)))
	g.writeP50, g.writeP99 = append(g.writeP50, measure.Median(ms)), append(g.writeP99, measure.Quantile(ms, 0.99))
	return err
}

// tell measures the delay of changes, a few per second, from the answer of the first node to a
// stream at each of the others.
func (g *group) tell(ctx context.Context, slice time.Duration) error {
	if len(g.nodes) == 1 {
		return nil
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var mu sync.Mutex
	arrived := map[string][]time.Time{} // by content of the change
	var streams sync.WaitGroup
	for _, n := range g.nodes[1:] {
		lines, err := g.stream(ctx, n)
		if err != nil {
			return err
		}
		streams.Go(func() {
			for lines.Scan() {
				data, ok := strings.CutPrefix(lines.Text(), "data: ")
				if !ok {
					continue
				}
				at := time.Now()
				var c struct {
					Hazard struct {
						Comment string `json:"comment_Text"`
					}
				}
				if json.Unmarshal([]byte(data), &c) == nil {
					mu.Lock()
					arrived[c.Hazard.Comment] = append(arrived[c.Hazard.Comment], at)
					mu.Unlock()
				}
			}
		})
	}
	acknowledged := map[string]time.Time{}
	for i := range int(slice.Seconds() * pace) {
		body := change(i)
		var c struct {
			Comment string `json:"comment_Text"`
		}
		if err := errors.Join(json.Unmarshal(body, &c), g.do(ctx, g.nodes[0], http.MethodPatch, fmt.Sprintf("/hazards/%d", i%hazards+1), body)); err != nil {
			return err
		}
		acknowledged[c.Comment] = time.Now()
		time.Sleep(time.Second / pace)
	}
	time.Sleep(time.Second) // a change that has not arrived by then has missed every goal
	cancel()
	streams.Wait()
	for comment, at := range acknowledged {
		if len(arrived[comment]) != len(g.nodes)-1 {
			return fmt.Errorf("a change has reached %d of %d other nodes within a second", len(arrived[comment]), len(g.nodes)-1)
		}
		for _, a := range arrived[comment] {
			g.toOthers = append(g.toOthers, max(0, microseconds(a.Sub(at))/1000))
		}
	}
	return nil
}

// stream opens a stream at a node, and returns its lines once it is open.
func (g *group) stream(ctx context.Context, n *program.Process) (*bufio.Scanner, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, n.URL+"/events", nil)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Authorization", "Bearer "+g.token)
	resp, err := g.http.Do(req)
	if err != nil {
		return nil, err
	}
	context.AfterFunc(ctx, func() { _ = resp.Body.Close() }) // the end of ctx also closes it
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("GET /events: %s", resp.Status)
	}
	lines := bufio.NewScanner(resp.Body)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		if strings.HasPrefix(lines.Text(), "id: ") {
			return lines, nil
		}
	}
	return nil, errors.Join(errors.New("the stream does not begin"), lines.Err())
}

func report(groups []*group, o options) *measure.Report {
	r := &measure.Report{Program: "nodes", Machine: measure.Machine()}
	reads := measure.Table{Title: fmt.Sprintf("GET /hazards/active of %d hazards at one node, %d connections, %d changes a second at another", hazards, readers, pace), Heads: []string{"", "reads/s", "CPU µs/read", "reads/s of a core", "against SQLite"}}
	writes := measure.Table{Title: fmt.Sprintf("PATCH of a hazard, %d clients at once", writers), Heads: []string{"", "writes/s", "p50 ms", "p99 ms", "CPU µs/write in the nodes", "against SQLite"}}
	told := measure.Table{Title: fmt.Sprintf("From the answer of one node to the streams of the others, %d changes a second", pace), Heads: []string{"", "p50 ms", "p99 ms", "max ms"}}
	base, one := groups[0], groups[1]
	for _, g := range groups {
		cpu := measure.Median(g.readCPU)
		reads.Add(g.name, measure.Median(g.reads), cpu, 1e6/cpu, measure.Ratio(base.readCPU, g.readCPU))
		writes.Add(g.name, measure.Median(g.writes), measure.Median(g.writeP50), measure.Median(g.writeP99), measure.Median(g.writeCPU), measure.Ratio(g.writes, base.writes))
		if len(g.nodes) > 1 {
			told.Add(g.name, measure.Median(g.toOthers), measure.Quantile(g.toOthers, 0.99), measure.Quantile(g.toOthers, 1))
			r.Goals = append(r.Goals,
				measure.AtMost(fmt.Sprintf("p99 to the others of %d nodes, ms", len(g.nodes)), measure.Quantile(g.toOthers, 0.99), 200),
				measure.AtMost(fmt.Sprintf("processor time of a read at %d nodes, against one on SQLite", len(g.nodes)), measure.Ratio(g.readCPU, base.readCPU), 1.15),
				measure.AtLeast(fmt.Sprintf("writes of %d nodes, against one on PostgreSQL", len(g.nodes)), measure.Ratio(g.writes, one.writes), 0.6))
		}
	}
	r.Tables = []measure.Table{reads, writes, told}
	how := "PostgreSQL without a standby"
	if o.standby {
		how = "PostgreSQL with a synchronous standby"
	}
	r.Notes = append(r.Notes, how+"; nodes, databases and client share the machine's processors")
	return r
}
