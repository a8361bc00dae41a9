package main

import (
	"bufio"
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hazardd/hazardd/bench/internal/measure"
	"github.com/hazardd/hazardd/internal/test/nginx"
)

// recipe is what one browser asked for, as bench/web/readers.mjs prints it.
type recipe struct {
	Device   string
	Minutes  float64
	Requests []request
}

type request struct {
	At          float64 // milliseconds
	Method      string
	Path        string
	Status      int
	Bytes       int64 // on the line, with the header
	Conditional bool
	Accept      string
	Cache       string // Cache-Control of the answer
}

// opening is how long requests belong to the opening of the page, in milliseconds.
const opening = 20_000

// reaction is how long after a change its requests may come, in milliseconds.
const reaction = 10_000

// beat is the interval of HEAD requests, and of polls where no stream is to be had.
const beat = 5 * time.Second

// settle is how long the pages go on after the last change.
const settle = 20 * time.Second

// slowly is how long something takes in slow motion.
func slowly(d time.Duration) time.Duration { return time.Duration(float64(d) * *slow) }

// phases of a reader; each has its own times.
const (
	opens = iota
	beats
	changed
	phases
)

// crowd replays recipes for many readers of one event.
type crowd struct {
	server *server
	front  *pool // where requests go; streams go to the server
	plans  []*plan

	read, requests, node, refused, wrong, open, full, bytesStreams atomic.Int64
	spared                                                         atomic.Int64 // requests for files, see -files
	last                                                           atomic.Int64 // the longest that a page took to follow a change, nanoseconds
	mu                                                             sync.Mutex
	took                                                           [phases][]time.Duration
	failed                                                         map[string]int
	change                                                         [2]chan struct{} // closed at each change
}

// readersRun replays the recipes without a cache and with one, and prints a table.
func (s *server) readersRun(b *bench) error {
	text, err := os.ReadFile(*recipes)
	if err != nil {
		return err
	}
	var all []recipe
	if err := json.Unmarshal(text, &all); err != nil {
		return err
	}
	front := nginx.Start(b, s.addr)
	secure := front.Client(1).Transport.(*http.Transport).TLSClientConfig
	secure.ServerName = "127.0.0.1"
	front.Log.FaultsOnly() // a crowd's requests are gigabytes
	fmt.Printf("%d readers open the map of one event within %v and stay %v after; it changes twice; %d active hazards; %g times slower\n", *readers, *arrive, *length, *hazards, *slow)
	for _, run := range []struct {
		name, address string
		secure        *tls.Config
	}{{"alone", s.addr, nil}, {"behind nginx", strings.TrimPrefix(front.URL, "https://"), secure}} {
		if *alone && run.secure != nil || *cached && run.secure == nil {
			continue
		}
		c := &crowd{server: s, failed: map[string]int{}, change: [2]chan struct{}{make(chan struct{}), make(chan struct{})}}
		c.front = newPool(run.address, run.secure, &c.read)
		for i := range all {
			p, err := s.plan(&all[i], run.address)
			if err != nil {
				return err
			}
			c.plans = append(c.plans, p)
		}
		err := c.run(b.ctx, run.name)
		c.front.close()
		if err != nil {
			return err
		}
	}
	return nil
}

type counted struct {
	net.Conn
	n *atomic.Int64
}

func (c *counted) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	c.n.Add(int64(n))
	return n, err
}

func (c *crowd) run(ctx context.Context, name string) error {
	before, memory, began := processor(c.server.pid), measure.OwnMemory(c.server.pid), time.Now()
	ctx, cancel := context.WithTimeout(ctx, slowly(*arrive+*length))
	defer cancel()
	var wg sync.WaitGroup
	for i := range *readers {
		wg.Go(func() {
			if wait(ctx, slowly(*arrive*time.Duration(i)/time.Duration(*readers))) {
				c.reader(ctx, c.plans[i%len(c.plans)], i)
			}
		})
	}
	wait(ctx, slowly(*arrive+opening*time.Millisecond))
	opened, requests, cost, node, read := time.Since(began), c.requests.Load(), processor(c.server.pid), c.node.Load(), c.read.Load()
	grown, streams := measure.OwnMemory(c.server.pid)-memory, c.open.Load()
	quiet := *length - opening*time.Millisecond - settle
	for i := range c.change {
		wait(ctx, slowly(quiet/2))
		if err := c.server.patch(c.server.last, fmt.Sprintf("%s, change %d", name, i)); err != nil {
			return err
		}
		close(c.change[i])
	}
	wg.Wait()
	later := time.Since(began) - opened
	n, minutes := float64(*readers), later.Minutes() / *slow
	fmt.Printf("\n%s: %d streams, %d readers poll; %d answers 429 or 503, %d others unexpected %v\n", name, streams, c.full.Load(), c.refused.Load(), c.wrong.Load(), c.failed)
	fmt.Printf("  %-8s %9.1f requests a reader, %8.1f kB; of the requests %5.1f %% reach the node; %.2f ms of its processor a reader\n", "opening", float64(requests)/n, float64(read)/n/1000,
		100*share(node, requests), float64((cost-before).Milliseconds())/n)
	requests, node, read = c.requests.Load()-requests, c.node.Load()-node, c.read.Load()-read
	fmt.Printf("  %-8s %9.1f requests a reader and minute, %8.1f kB; %5.1f %% reach the node; %.2f ms of its processor a reader and minute\n", "later", float64(requests)/n/minutes, float64(read)/n/1000/minutes,
		100*share(node, requests), float64((processor(c.server.pid)-cost).Milliseconds())/n/minutes)
	if n := c.spared.Load(); n > 0 {
		fmt.Printf("  %d more requests of the opening are for files that never change, and were not made: one reader in %d asks for them\n", n, *files)
	}
	fmt.Printf("  the last page had followed a change after %v\n", time.Duration(c.last.Load()).Round(10*time.Millisecond))
	fmt.Printf("  streams %8.1f kB a reader; memory of the node %.1f KiB a stream (its own, anonymous), %.0f MiB before\n", float64(c.bytesStreams.Load())/n/1000, grown/float64(max(streams, 1))*1024, memory)
	for phase, label := range []string{"opening", "beats", "change"} {
		t := c.took[phase]
		slices.Sort(t)
		if len(t) > 0 {
			fmt.Printf("  %-8s %9d requests: p50 %v, p99 %v\n", label, len(t), t[len(t)/2].Round(10*time.Microsecond), t[len(t)*99/100].Round(10*time.Microsecond))
		}
	}
	return nil
}

func share(part, of int64) float64 { return float64(part) / float64(max(of, 1)) }

// reader replays one plan until ctx ends.
func (c *crowd) reader(ctx context.Context, p *plan, i int) {
	began, tags := time.Now(), make([]string, p.tags)
	var wg sync.WaitGroup
	defer wg.Wait()
	var polls atomic.Bool
	after := p.after
	for _, s := range p.opening {
		if s.immutable && i%*files != 0 {
			c.spared.Add(1)
			continue
		}
		if s.stream {
			wg.Go(func() { c.stream(ctx, i, &polls) })
			continue
		}
		if !wait(ctx, s.at-time.Since(began)) {
			return
		}
		c.send(ctx, opens, s, tags)
	}
	for next := began.Add(slowly(2 * beat)); ; next = next.Add(slowly(beat)) {
		for due := false; !due; {
			timer := time.NewTimer(time.Until(next))
			var now []*step
			select {
			case <-ctx.Done():
				return
			case <-timer.C:
				due = true
			case <-closedOnce(c.change[0], after[0]):
				now, after[0] = after[0], nil
			case <-closedOnce(c.change[1], after[1]):
				now, after[1] = after[1], nil
			}
			timer.Stop()
			at := time.Now()
			for _, s := range now {
				if !wait(ctx, s.at-time.Since(at)) {
					return
				}
				c.send(ctx, changed, s, tags)
			}
			if took := int64(time.Since(at)); now != nil && ctx.Err() == nil {
				for last := c.last.Load(); took > last && !c.last.CompareAndSwap(last, took); last = c.last.Load() {
				}
			}
		}
		switch {
		case p.beat == nil:
		case polls.Load():
			c.send(ctx, beats, p.poll, tags)
		default:
			c.send(ctx, beats, p.beat, tags)
		}
	}
}

// closedOnce is the channel while there is something left to ask for after it has closed.
func closedOnce(ch chan struct{}, left []*step) chan struct{} {
	if len(left) == 0 {
		return nil
	}
	return ch
}

func wait(ctx context.Context, d time.Duration) bool {
	if d <= 0 {
		return ctx.Err() == nil
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-t.C:
		return true
	}
}

// send asks as the browser did, and notes how long the answer took.
func (c *crowd) send(ctx context.Context, phase int, s *step, tags []string) {
	began := time.Now()
	a, err := c.front.ask(s, tags)
	if ctx.Err() != nil {
		return
	}
	took := time.Since(began)
	if a.tag != "" {
		tags[s.tag] = a.tag
	}
	if a.node {
		c.node.Add(1)
	}
	c.requests.Add(1)
	c.mu.Lock()
	c.took[phase] = append(c.took[phase], took)
	if a.status == http.StatusTooManyRequests || a.status == http.StatusServiceUnavailable {
		c.refused.Add(1)
	} else if a.status != http.StatusOK && a.status != http.StatusNotModified && a.status != http.StatusPartialContent {
		c.wrong.Add(1)
		if len(c.failed) < 5 {
			c.failed[fmt.Sprint(a.status, " ", s.path, " ", err)]++
		}
	}
	c.mu.Unlock()
}

// stream holds an event stream, from an address of its own; polls is set if the server has no room.
func (c *crowd) stream(ctx context.Context, i int, polls *atomic.Bool) {
	d := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 1, byte(1+i%100))}}
	conn, err := d.DialContext(ctx, "tcp", c.server.addr)
	if err != nil {
		polls.Store(true)
		c.full.Add(1)
		return
	}
	stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
	defer stop()
	defer conn.Close()
	fmt.Fprintf(conn, "GET /events HTTP/1.1\r\nHost: %s\r\nX-Forwarded-For: 10.%d.%d.1\r\nAccept: text/event-stream\r\nAccept-Encoding: gzip, deflate, br, zstd\r\n\r\n", c.server.addr, i>>8&255, i&255)
	in := bufio.NewReaderSize(&counted{conn, &c.bytesStreams}, 512)
	line, err := in.ReadString('\n')
	if err != nil || !strings.Contains(line, " 200 ") {
		polls.Store(true)
		c.full.Add(1)
		return
	}
	c.open.Add(1)
	_, _ = io.Copy(io.Discard, in)
}

// patch changes the description of a hazard.
func (s *server) patch(uuid, text string) error {
	req, err := http.NewRequest(http.MethodPatch, s.url+"/hazards/"+uuid, strings.NewReader(fmt.Sprintf(`{"description":%q}`, text)))
	if err != nil {
		return err
	}
	req.Header.Set("Authorization", "Bearer "+s.token)
	req.Header.Set("Content-Type", "application/merge-patch+json")
	_, err = ask(http.DefaultClient, req)
	return err
}
