package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"slices"
	"strconv"
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
	Bytes       int64
	Conditional bool
	Accept      string
}

// opening is how long requests belong to the opening of the page, in milliseconds.
const opening = 20_000

// reaction is how long after a change its requests may come, in milliseconds.
const reaction = 10_000

// beat is the interval of HEAD requests, and of polls where no stream is to be had.
const beat = 5 * time.Second

// settle is how long the pages go on after the last change.
const settle = 20 * time.Second

// phases of a reader; each has its own times.
const (
	opens = iota
	beats
	changed
	phases
)

// crowd replays recipes for many readers of one event.
type crowd struct {
	server  *server
	hc      *http.Client
	base    string // where requests go; streams go to the server
	recipes []recipe
	event   struct {
		UUID string `json:"uuid"`
		ID   int    `json:"hazard_ID"`
	}

	read, requests, node, refused, wrong, open, full, bytesStreams atomic.Int64
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
	plain, secure := &http.Client{Transport: &http.Transport{}}, front.Client(1)
	fmt.Printf("%d readers open the map of one event within %v and stay %v after; it changes twice; %d active hazards\n", *readers, *arrive, *length, *hazards)
	for _, run := range []struct {
		name, base string
		hc         *http.Client
	}{{"alone", s.url, plain}, {"behind nginx", front.URL, secure}} {
		if *alone && run.hc == secure || *cached && run.hc == plain {
			continue
		}
		c := &crowd{server: s, hc: run.hc, base: run.base, recipes: all, failed: map[string]int{}, change: [2]chan struct{}{make(chan struct{}), make(chan struct{})}}
		t := c.hc.Transport.(*http.Transport)
		t.MaxConnsPerHost, t.MaxIdleConnsPerHost, t.DisableCompression = 300, 300, true
		t.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
			conn, err := (&net.Dialer{}).DialContext(ctx, network, address)
			return &counted{conn, &c.read}, err
		}
		if err := c.run(b.ctx, run.name); err != nil {
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
	answer, err := ask(http.DefaultClient, c.request(ctx, http.MethodGet, c.server.url+"/hazards/"+c.server.last))
	if err != nil {
		return err
	}
	if err := json.Unmarshal(answer, &c.event); err != nil {
		return err
	}
	before, memory, began := processor(c.server.pid), measure.OwnMemory(c.server.pid), time.Now()
	ctx, cancel := context.WithTimeout(ctx, *arrive+*length)
	defer cancel()
	var wg sync.WaitGroup
	for i := range *readers {
		wg.Go(func() {
			if wait(ctx, *arrive*time.Duration(i)/time.Duration(*readers)) {
				c.reader(ctx, &c.recipes[i%len(c.recipes)], i)
			}
		})
	}
	wait(ctx, *arrive+opening*time.Millisecond)
	opened, requests, cost, node, read := time.Since(began), c.requests.Load(), processor(c.server.pid), c.node.Load(), c.read.Load()
	grown, streams := measure.OwnMemory(c.server.pid)-memory, c.open.Load()
	quiet := *length - opening*time.Millisecond - settle
	for i := range c.change {
		wait(ctx, quiet/2)
		if err := c.server.patch(c.server.last, fmt.Sprintf("%s, change %d", name, i)); err != nil {
			return err
		}
		close(c.change[i])
	}
	wg.Wait()
	later := time.Since(began) - opened
	n, minutes := float64(*readers), later.Minutes()
	fmt.Printf("\n%s: %d streams, %d readers poll; %d answers 429 or 503, %d others unexpected %v\n", name, streams, c.full.Load(), c.refused.Load(), c.wrong.Load(), c.failed)
	fmt.Printf("  %-8s %9.1f requests a reader, %8.1f kB; of the requests %5.1f %% reach the node; %.2f ms of its processor a reader\n", "opening", float64(requests)/n, float64(read)/n/1000,
		100*share(node, requests), float64((cost-before).Milliseconds())/n)
	requests, node, read = c.requests.Load()-requests, c.node.Load()-node, c.read.Load()-read
	fmt.Printf("  %-8s %9.1f requests a reader and minute, %8.1f kB; %5.1f %% reach the node; %.2f ms of its processor a reader and minute\n", "later", float64(requests)/n/minutes, float64(read)/n/1000/minutes,
		100*share(node, requests), float64((processor(c.server.pid)-cost).Milliseconds())/n/minutes)
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

// reader replays one recipe until ctx ends.
func (c *crowd) reader(ctx context.Context, r *recipe, i int) {
	began, tags := time.Now(), map[string]string{}
	var wg sync.WaitGroup
	defer wg.Wait()
	var polls atomic.Bool
	list, listTag := "", "" // what the beats ask for
	var after [2][]request
	for _, q := range r.Requests {
		switch {
		case q.Method == http.MethodHead:
			list = q.Path
		case q.At >= opening:
			// The page reacts to a change at a third and at two thirds of the recording.
			third := r.Minutes * 60_000 / 3
			for n := range after {
				if d := q.At - third*float64(n+1); d > -5_000 && d < reaction {
					q.At = max(d, 0) // the recording of a page begins somewhat after the clock of the changes
					after[n] = append(after[n], q)
				}
			}
		case strings.HasPrefix(q.Path, "/events"):
			wg.Go(func() { c.stream(ctx, i, &polls) })
		default:
			if !wait(ctx, time.Duration(q.At)*time.Millisecond-time.Since(began)) {
				return
			}
			c.get(ctx, opens, q, tags)
		}
	}
	for next := began.Add(2 * beat); ; next = next.Add(beat) {
		for due := false; !due; {
			timer := time.NewTimer(time.Until(next))
			var now []request
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
			for _, q := range now {
				if !wait(ctx, time.Duration(q.At)*time.Millisecond-time.Since(at)) {
					return
				}
				c.get(ctx, changed, q, tags)
			}
		}
		if list == "" {
			continue
		}
		if q := (request{Method: http.MethodHead, Path: list, Accept: "*/*"}); !polls.Load() {
			c.get(ctx, beats, q, tags)
		} else {
			q.Method, q.Conditional = http.MethodGet, listTag != ""
			c.get(ctx, beats, q, tags)
			listTag = tags[list]
		}
	}
}

// closedOnce is the channel while there is something left to ask for after it has closed.
func closedOnce(ch chan struct{}, left []request) chan struct{} {
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

func (c *crowd) request(ctx context.Context, method, address string) *http.Request {
	req, _ := http.NewRequestWithContext(ctx, method, address, nil)
	return req
}

// get asks as the browser did, and notes how long the answer took.
func (c *crowd) get(ctx context.Context, phase int, q request, tags map[string]string) {
	path := strings.NewReplacer("{hazard}", c.event.UUID, "{id}", strconv.Itoa(c.event.ID)).Replace(q.Path)
	if list, _, ok := strings.Cut(path, "since="); ok {
		path = list + "since=" + strings.Trim(tags[strings.TrimSuffix(list, "?")], `"`)
	}
	req := c.request(ctx, q.Method, c.base+path)
	req.Header.Set("Accept", q.Accept)
	req.Header.Set("Accept-Encoding", "gzip, deflate, br, zstd")
	req.Header.Set("Accept-Language", "en-GB")
	req.Header.Set("Sec-Fetch-Site", "same-origin")
	if q.Status == http.StatusPartialContent { // a part of the same size
		req.Header.Set("Range", fmt.Sprintf("bytes=0-%d", max(q.Bytes-500, 1)))
	}
	if tag := tags[q.Path]; q.Conditional && tag != "" {
		req.Header.Set("If-None-Match", tag)
	}
	began := time.Now()
	resp, err := c.hc.Do(req)
	if err == nil {
		_, err = io.Copy(io.Discard, resp.Body)
		err = errors.Join(err, resp.Body.Close())
	}
	if ctx.Err() != nil {
		return
	}
	took := time.Since(began)
	status := 0
	if err == nil {
		status = resp.StatusCode
		if tag := resp.Header.Get("ETag"); tag != "" {
			tags[q.Path] = tag
		}
		if resp.Header.Get(nginx.ServedBy) != "" || c.base == c.server.url {
			c.node.Add(1)
		}
	}
	c.requests.Add(1)
	c.mu.Lock()
	c.took[phase] = append(c.took[phase], took)
	if status == http.StatusTooManyRequests || status == http.StatusServiceUnavailable {
		c.refused.Add(1)
	} else if status != http.StatusOK && status != http.StatusNotModified && status != http.StatusPartialContent {
		c.wrong.Add(1)
		if len(c.failed) < 5 {
			c.failed[fmt.Sprint(status, " ", q.Path, " ", err)]++
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
