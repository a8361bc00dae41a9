// Push measures how long a change takes from its commit to its readers, with 1,000 and 5,000
// subscribers on the loopback network and ten changes per second of about 1.5 kB.
//
// Two servers are measured in turn in one run, each in its own process, by the same client:
//
//   - hazardd: the real service, whose streams are cursors over the change log;
//   - fan-out: a server that commits the same changes to the same store, and sends each, encoded once, to
//     a channel per subscriber, like hubs without a log: no subscriber can resume.
//
// A delivery is the time from the return of the commit until the client has read the whole event.
// Both servers run on one machine and share its processors with the client, whose share is the same
// for both. What matters is the ratio of the two p99 of a round; the result is the median over the
// rounds. Memory is the growth of the server's resident set after the subscribers have connected
// and received something, per subscriber. Processor time is per delivery.
package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/hazardd/hazardd/bench/internal/measure"
)

// changes is the number of changes per second.
const changes = 10

type options struct {
	sizes  []int
	rounds int
	slice  time.Duration
	json   bool
}

func main() {
	if os.Getenv(asServer) != "" {
		measure.Exit("push", serve(os.Args[1:]))
		return
	}
	o := options{sizes: []int{1000, 5000}}
	flag.IntVar(&o.rounds, "rounds", 5, "rounds; medians are over these")
	flag.DurationVar(&o.slice, "slice", 8*time.Second, "time of one measurement in one round")
	flag.BoolVar(&o.json, "json", false, "print JSON")
	flag.Func("sizes", "numbers of subscribers, separated by commas (default 1000,5000)", func(list string) (err error) {
		o.sizes, err = measure.Sizes(list)
		return err
	})
	flag.Parse()
	measure.Main("push", func(ctx context.Context) error { return run(ctx, o) })
}

// kinds are the servers, in the order of the table.
var kinds = []string{"hazardd", "fan-out"}

// figures are the measurements of one round.
type figures struct {
	p50, p99, max float64 // milliseconds
	cpu           float64 // microseconds of a processor per delivery
	memory        float64 // kB per subscriber
	bytes         float64 // of an event
}

func run(ctx context.Context, o options) error {
	report := measure.Report{Program: "push", Machine: measure.Machine()}
	table := measure.Table{Title: fmt.Sprintf("From commit to delivery, %d changes a second", changes),
		Heads: []string{"subscribers", "server", "p50 ms", "p99 ms", "max ms", "CPU µs/delivery", "kB/subscriber", "event bytes"}}
	bounds := map[int]float64{1000: 25, 5000: 100} // milliseconds
	for _, n := range o.sizes {
		all := map[string][]figures{}
		for round := range o.rounds {
			for _, k := range measure.Rotated(len(kinds), round) {
				f, err := measureOnce(ctx, kinds[k], n, o.slice)
				if err != nil {
					return fmt.Errorf("%s with %d subscribers: %w", kinds[k], n, err)
				}
				all[kinds[k]] = append(all[kinds[k]], f)
			}
		}
		column := func(kind string, of func(figures) float64) (values []float64) {
			for _, f := range all[kind] {
				values = append(values, of(f))
			}
			return values
		}
		p99 := func(f figures) float64 { return f.p99 }
		memory := func(f figures) float64 { return f.memory }
		for _, kind := range kinds {
			row := []any{n, kind}
			for _, of := range []func(figures) float64{func(f figures) float64 { return f.p50 }, p99, func(f figures) float64 { return f.max }, func(f figures) float64 { return f.cpu }, memory,
				func(f figures) float64 { return f.bytes }} {
				row = append(row, measure.Median(column(kind, of)))
			}
			table.Add(row...)
		}
		if bound, ok := bounds[n]; ok {
			report.Goals = append(report.Goals, measure.AtMost(fmt.Sprintf("p99 to %d subscribers, ms", n), measure.Median(column("hazardd", p99)), bound))
		}
		report.Goals = append(report.Goals,
			measure.AtMost(fmt.Sprintf("memory of each of %d subscribers, kB", n), measure.Median(column("hazardd", memory)), 25),
			measure.AtMost(fmt.Sprintf("p99 to %d subscribers, against the fan-out's", n), measure.Ratio(column("hazardd", p99), column("fan-out", p99)), 1.3))
	}
	report.Tables = append(report.Tables, table)
	return report.Write(os.Stdout, o.json)
}

// measureOnce starts a server, connects subscribers, makes changes and measures.
func measureOnce(ctx context.Context, kind string, n int, slice time.Duration) (f figures, err error) {
	dir, err := os.MkdirTemp("", "hazardd-bench-push")
	if err != nil {
		return f, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	s, err := start(kind, dir, strconv.Itoa(n))
	if err != nil {
		return f, err
	}
	defer func() { err = errors.Join(err, s.stop()) }()
	// Make a first change, so that work that is done only once is not measured.
	if _, err := s.commit(2, 0); err != nil {
		return f, err
	}
	before, err := s.memory()
	if err != nil {
		return f, err
	}
	subscribers := &crowd{arrived: make([][]int64, n)}
	defer subscribers.stop()
	for i := range n {
		if err := ctx.Err(); err != nil {
			return f, err
		}
		if err := subscribers.connect(ctx, i, s.ready); err != nil {
			return f, err
		}
	}
	if _, err := s.commit(changes, time.Second/changes); err != nil { // warm up
		return f, err
	}
	subscribers.reset()
	after, err := s.memory()
	if err != nil {
		return f, err
	}
	cpu, err := measure.ProcessorTime(s.cmd.Process.Pid)
	if err != nil {
		return f, err
	}
	count := int(slice.Seconds() * changes)
	committed, err := s.commit(count, time.Second/changes)
	if err != nil {
		return f, err
	}
	if err := subscribers.wait(count); err != nil {
		return f, err
	}
	cpuAfter, err := measure.ProcessorTime(s.cmd.Process.Pid)
	if err != nil {
		return f, err
	}
	var took []float64
	for _, times := range subscribers.arrived {
		for i, at := range times {
			took = append(took, float64(at-committed[i])/1e6)
		}
	}
	f.p50, f.p99, f.max = measure.Median(took), measure.Quantile(took, 0.99), measure.Quantile(took, 1)
	f.cpu = float64((cpuAfter - cpu).Microseconds()) / float64(len(took))
	f.memory = float64(after-before) / 1000 / float64(n)
	f.bytes = float64(subscribers.bytes)
	return f, nil
}

// crowd is the set of subscribers.
type crowd struct {
	conns   []net.Conn
	reading sync.WaitGroup

	mu      sync.Mutex
	arrived [][]int64 // by subscriber: when each change arrived, in nanoseconds since 1970
	bytes   int       // of the last event
}

// connect opens a stream, and returns when it is open.
func (c *crowd) connect(ctx context.Context, i int, to ready) error {
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", to.Addr)
	if err != nil {
		return err
	}
	c.conns = append(c.conns, conn)
	if _, err := fmt.Fprintf(conn, "GET /events HTTP/1.1\r\nHost: bench\r\nAuthorization: Bearer %s\r\n\r\n", to.Token); err != nil {
		return err
	}
	lines := bufio.NewReader(conn)
	for { // the head and the first block
		line, err := lines.ReadSlice('\n')
		if err != nil {
			return err
		}
		if bytes.HasPrefix(line, []byte("HTTP/1.1 ")) && !bytes.HasPrefix(line, []byte("HTTP/1.1 200")) {
			return fmt.Errorf("subscriber %d: %s", i, line)
		}
		if bytes.HasPrefix(line, []byte("id: ")) {
			break
		}
	}
	c.reading.Go(func() { c.read(i, lines) })
	return nil
}

// read records when events arrive, until the connection is closed.
func (c *crowd) read(i int, lines *bufio.Reader) {
	size, data := 0, false
	for {
		line, err := lines.ReadSlice('\n')
		size += len(line)
		if errors.Is(err, bufio.ErrBufferFull) {
			continue // a long line of data
		}
		if err != nil {
			return
		}
		switch {
		case bytes.HasPrefix(line, []byte("id: ")):
			size = len(line)
		case bytes.HasPrefix(line, []byte("data: ")):
			data = true
		case data && len(line) == 1: // the empty line that ends an event
			at := time.Now().UnixNano()
			c.mu.Lock()
			c.arrived[i] = append(c.arrived[i], at)
			c.bytes = size
			c.mu.Unlock()
			data = false
		}
	}
}

// reset forgets the arrivals, once all changes have arrived.
func (c *crowd) reset() {
	time.Sleep(500 * time.Millisecond)
	c.mu.Lock()
	defer c.mu.Unlock()
	for i := range c.arrived {
		c.arrived[i] = nil
	}
}

// wait returns when every subscriber has received that many changes.
func (c *crowd) wait(count int) error {
	for range 100 {
		c.mu.Lock()
		missing := 0
		for _, times := range c.arrived {
			if len(times) > count {
				c.mu.Unlock()
				return fmt.Errorf("a subscriber received %d changes, want %d", len(times), count)
			}
			missing += count - len(times)
		}
		c.mu.Unlock()
		if missing == 0 {
			return nil
		}
		time.Sleep(100 * time.Millisecond)
	}
	return errors.New("ten seconds after the last change some subscribers have not received all changes")
}

func (c *crowd) stop() {
	for _, conn := range c.conns {
		_ = conn.Close() // the server may have closed it
	}
	c.reading.Wait()
}

// server is a server process.
type server struct {
	ready
	cmd   *exec.Cmd
	stdin *json.Encoder
	pipe  interface{ Close() error }
	out   *json.Decoder
}

// start runs this program again as a server.
func start(args ...string) (*server, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	s := &server{cmd: exec.Command(self, args...)}
	s.cmd.Env = append(os.Environ(), asServer+"=1")
	s.cmd.Stderr = os.Stderr
	in, err := s.cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := s.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	s.stdin, s.pipe, s.out = json.NewEncoder(in), in, json.NewDecoder(out)
	if err := s.cmd.Start(); err != nil {
		return nil, err
	}
	return s, s.out.Decode(&s.ready)
}

// commit lets the server make changes. It returns when each was committed, in nanoseconds since
// 1970.
func (s *server) commit(count int, every time.Duration) (at []int64, err error) {
	if err := s.stdin.Encode(order{Count: count, Every: every}); err != nil {
		return nil, err
	}
	return at, s.out.Decode(&at)
}

// memory returns the server's resident set after a garbage collection, in bytes.
func (s *server) memory() (int64, error) {
	if err := s.stdin.Encode(order{Collect: true}); err != nil {
		return 0, err
	}
	var done []int64
	if err := s.out.Decode(&done); err != nil {
		return 0, err
	}
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", s.cmd.Process.Pid))
	if err != nil {
		return 0, err
	}
	pages, err := strconv.ParseInt(strings.Fields(string(text))[1], 10, 64)
	return pages * int64(os.Getpagesize()), err
}

func (s *server) stop() error { return errors.Join(s.pipe.Close(), s.cmd.Wait()) }
