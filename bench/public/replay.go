package main

import (
	"bufio"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
	"unique"

	"github.com/hazardd/hazardd/internal/test/nginx"
)

// plan is a recipe whose requests are ready to be sent. Many readers replay it, so none of it is made for each.
type plan struct {
	opening    []*step
	after      [2][]*step // what follows each of the two changes
	beat, poll *step      // nil: the page asks for nothing while nothing changes
	tags       int        // how many entity tags a reader keeps
}

// step is one request of a plan.
type step struct {
	at          time.Duration // after the page was opened, or the event changed
	path        string
	head, rest  string // of the request: between them is the tag of since=, where there is one
	since       int    // which of the reader's tags that is; -1: none
	tag         int    // where the tag of the answer is kept
	conditional bool
	stream      bool
	immutable   bool         // a file that never changes
	request     http.Request // as http.ReadResponse wants it
}

// plan makes a recipe ready for the service's last hazard, which is the event, at an address.
func (s *server) plan(r *recipe, address string) (*plan, error) {
	req, err := http.NewRequest(http.MethodGet, s.url+"/hazards/"+s.last, nil)
	if err != nil {
		return nil, err
	}
	answer, err := ask(http.DefaultClient, req)
	if err != nil {
		return nil, err
	}
	var event struct {
		UUID string `json:"uuid"`
		ID   int    `json:"hazard_ID"`
	}
	if err := json.Unmarshal(answer, &event); err != nil {
		return nil, err
	}
	names := strings.NewReplacer("{hazard}", event.UUID, "{id}", strconv.Itoa(event.ID))
	p, tags := &plan{}, map[string]int{}
	tagOf := func(path string) int {
		if _, ok := tags[path]; !ok {
			tags[path] = len(tags)
		}
		return tags[path]
	}
	step := func(q request, at float64) *step {
		s := &step{at: slowly(time.Duration(at) * time.Millisecond), path: q.Path, since: -1, tag: tagOf(q.Path), conditional: q.Conditional, request: http.Request{Method: q.Method},
			stream: strings.HasPrefix(q.Path, "/events"), immutable: strings.Contains(q.Cache, "immutable")}
		path := names.Replace(q.Path)
		if list, _, ok := strings.Cut(path, "since="); ok {
			path = list + "since="
			s.since = tagOf(strings.TrimSuffix(list, "?"))
		}
		s.head = q.Method + " " + path
		s.rest = " HTTP/1.1\r\nHost: " + address + "\r\nAccept: " + q.Accept + "\r\nAccept-Encoding: gzip, deflate, br, zstd\r\nAccept-Language: en-GB\r\nSec-Fetch-Site: same-origin\r\n"
		if q.Status == http.StatusPartialContent { // a part of the same size
			s.rest += fmt.Sprintf("Range: bytes=0-%d\r\n", max(q.Bytes-500, 1))
		}
		return s
	}
	for _, q := range r.Requests {
		switch {
		case q.Method == http.MethodHead:
			p.beat = step(request{Method: http.MethodHead, Path: q.Path, Accept: "*/*"}, 0)
			p.poll = step(request{Method: http.MethodGet, Path: q.Path, Accept: "*/*", Conditional: true}, 0)
		case q.At < opening:
			p.opening = append(p.opening, step(q, q.At))
		default:
			// The page reacts to a change at a third and at two thirds of the recording, which begins somewhat after the clock of the changes.
			third := r.Minutes * 60_000 / 3
			for n := range p.after {
				if d := q.At - third*float64(n+1); d > -5_000 && d < reaction {
					p.after[n] = append(p.after[n], step(q, max(d, 0)))
				}
			}
		}
	}
	p.tags = len(tags)
	return p, nil
}

// pool holds connections to one address, which all readers share. It does no more than a replay needs: http.Client costs more than the answer does.
type pool struct {
	address string
	secure  *tls.Config // nil: HTTP
	read    *atomic.Int64
	free    chan *link
}

type link struct {
	conn net.Conn // nil: not open
	in   *bufio.Reader
	out  *bufio.Writer
}

// connections is how many are open at once.
const connections = 300

func newPool(address string, secure *tls.Config, read *atomic.Int64) *pool {
	p := &pool{address, secure, read, make(chan *link, connections)}
	for range connections {
		p.free <- &link{in: bufio.NewReaderSize(nil, 16<<10), out: bufio.NewWriter(nil)}
	}
	return p
}

func (p *pool) close() {
	for range connections {
		(<-p.free).close()
	}
}

func (l *link) close() {
	if l.conn != nil {
		_ = l.conn.Close()
	}
	l.conn = nil
}

func (l *link) open(p *pool) error {
	conn, err := net.Dial("tcp", p.address)
	if err != nil {
		return err
	}
	l.conn = &counted{conn, p.read}
	if p.secure != nil {
		l.conn = tls.Client(l.conn, p.secure)
	}
	l.in.Reset(l.conn)
	l.out.Reset(l.conn)
	return nil
}

// answer is what a reader notes of one.
type answer struct {
	status int
	tag    string
	node   bool // it comes from the node, not from the cache
}

// ask sends a request on the next connection that is free, and reads the answer to its end. Like a
// browser, it asks once more if a connection had been closed meanwhile.
func (p *pool) ask(s *step, tags []string) (a answer, err error) {
	l := <-p.free
	defer func() { p.free <- l }()
	if l.conn != nil {
		if a, err := l.ask(p, s, tags); err == nil {
			return a, nil
		}
		l.close()
	}
	if err := l.open(p); err != nil {
		return a, err
	}
	a, err = l.ask(p, s, tags)
	if err != nil {
		l.close()
	}
	return a, err
}

func (l *link) ask(p *pool, s *step, tags []string) (a answer, err error) {
	l.out.WriteString(s.head)
	if s.since >= 0 {
		l.out.WriteString(strings.Trim(tags[s.since], `"`))
	}
	l.out.WriteString(s.rest)
	if tag := tags[s.tag]; s.conditional && tag != "" {
		l.out.WriteString("If-None-Match: " + tag + "\r\n")
	}
	l.out.WriteString("\r\n")
	if err := l.out.Flush(); err != nil { // it keeps the errors of the writes before
		return a, err
	}
	resp, err := http.ReadResponse(l.in, &s.request)
	if err != nil {
		return a, err
	}
	a.status, a.node = resp.StatusCode, p.secure == nil || resp.Header.Get(nginx.ServedBy) != ""
	if tag := resp.Header.Get("ETag"); tag != "" {
		a.tag = unique.Make(tag).Value() // a crowd has the same ones
	}
	if _, err := io.Copy(io.Discard, resp.Body); err != nil {
		return a, err
	}
	if err := resp.Body.Close(); err != nil {
		return a, err
	}
	if resp.Close {
		l.close()
	}
	return a, nil
}
