//go:build unix

package cluster

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"mime/multipart"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/hazardd/hazardd/internal/test/nginx"
)

// client is a client of a node, or of the front.
type client struct {
	cluster *cluster
	to      string
	url     string
	http    *http.Client
}

func newClient(c *cluster, to string) *client {
	if n := c.named(to); n != nil {
		return &client{c, to, "http://" + n.addr, &http.Client{Transport: &http.Transport{}}}
	}
	return &client{c, to, c.front.URL, c.front.Client(1 + rand.IntN(2))} // HTTP/1.1 or HTTP/2
}

// answeredBy returns the node that answered.
func (c *client) answeredBy(resp *http.Response) string {
	if c.to != Front {
		return c.to
	}
	addrs := strings.Split(resp.Header.Get(nginx.ServedBy), ", ") // the last of the nodes that were tried
	for _, n := range c.cluster.nodes {
		if n.addr == addrs[len(addrs)-1] {
			return n.name
		}
	}
	return ""
}

// answer is the answer to a request.
type answer struct {
	status int // 0: no answer, or an incomplete one
	node   string
	header http.Header
	body   []byte
	err    error
}

// do sends a request, and reads the whole answer.
func (c *client) do(ctx context.Context, method, path string, header map[string]string, body []byte) (a answer) {
	req, err := http.NewRequestWithContext(ctx, method, c.url+path, bytes.NewReader(body))
	if err != nil {
		return answer{err: err}
	}
	if method != http.MethodGet {
		req.GetBody = nil // so that the client does not retry a write by itself
	}
	req.Header.Set("Authorization", "Bearer "+c.cluster.token)
	for name, value := range header {
		req.Header.Set(name, value)
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return answer{err: err}
	}
	defer resp.Body.Close()
	a = answer{node: c.answeredBy(resp), header: resp.Header}
	if a.body, a.err = io.ReadAll(resp.Body); a.err == nil {
		a.status = resp.StatusCode
	}
	return a
}

func (c *client) get(ctx context.Context, path string) ([]byte, int, error) {
	a := c.do(ctx, http.MethodGet, path, nil, nil)
	c.http.CloseIdleConnections()
	return a.body, a.status, a.err
}

const (
	patience = 8 * time.Second // how long a client waits for an answer
	maxTries = 10              // how often it tries to create something
)

// load is a set of active clients, and what they have seen.
type load struct {
	t       *testing.T
	cluster *cluster
	seed    uint64
	shared  []string // hazards that all writers change, with If-Match

	stopWriting context.CancelFunc
	stopReading context.CancelFunc
	writers     sync.WaitGroup
	readers     sync.WaitGroup

	mu     sync.Mutex
	writes []Write
	reads  []Read
	bodies map[[sha256.Size]byte][]byte // bodies of lists by checksum, because many are the same
	files  map[string][]byte            // acknowledged contents by uuid of the product
	// streams are written by their own goroutines until readers have ended. seen is the position of
	// each.
	streams []*Stream
	seen    []*atomic.Int64
}

// The numbers of clients: twenty in total.
const (
	frontWriters  = 4 // and one at each node
	frontReaders  = 3
	frontStreams  = 4
	sharedHazards = 6
	readEvery     = 100 * time.Millisecond
	thinkTime     = 40 * time.Millisecond // of writers, on average
)

// newLoad creates the hazards that all writers share, and starts the clients.
func newLoad(c *cluster) *load {
	seed := rand.Uint64()
	c.t.Logf("seed %d", seed)
	l := &load{t: c.t, cluster: c, seed: seed, bodies: map[[sha256.Size]byte][]byte{}, files: map[string][]byte{}}
	ctx := context.WithoutCancel(c.t.Context())
	first := &writer{load: l, client: newClient(c, Front), number: 0, rnd: rand.New(rand.NewPCG(seed, 0))}
	for range sharedHazards {
		if id, ok := first.create(ctx, 0); ok {
			l.shared = append(l.shared, id)
		}
	}
	first.client.http.CloseIdleConnections()
	writing, stopWriting := context.WithCancel(ctx)
	reading, stopReading := context.WithCancel(ctx)
	l.stopWriting, l.stopReading = stopWriting, stopReading
	c.t.Cleanup(func() { // if finish was not reached
		stopWriting()
		stopReading()
		l.writers.Wait()
		l.readers.Wait()
	})
	number := 0
	each := func(front int, start func(number int, to string)) {
		for range front {
			number++
			start(number, Front)
		}
		for _, n := range c.nodes {
			number++
			start(number, n.name)
		}
	}
	each(frontWriters, func(number int, to string) {
		w := &writer{load: l, client: newClient(c, to), number: number, rnd: rand.New(rand.NewPCG(seed, uint64(number)))}
		l.writers.Go(func() { w.work(writing) })
	})
	each(frontReaders, func(number int, to string) {
		l.readers.Go(func() { l.read(reading, number, newClient(c, to)) })
	})
	each(frontStreams, func(number int, to string) {
		s, seen := &Stream{Client: number, To: to}, &atomic.Int64{}
		l.streams, l.seen = append(l.streams, s), append(l.seen, seen)
		l.readers.Go(func() { l.follow(reading, s, seen, newClient(c, to)) })
	})
	return l
}

// writer is a client that writes.
type writer struct {
	load   *load
	client *client
	number int
	rnd    *rand.Rand
	mine   []string // hazards that it created, and that do not expire
	texts  [][2]string
}

func (w *writer) work(ctx context.Context) {
	defer w.client.http.CloseIdleConnections()
	for ctx.Err() == nil {
		done := true
		switch n := w.rnd.IntN(100); {
		case n < 25: // expires within seconds
			_, done = w.create(ctx, time.Duration(800+w.rnd.IntN(2200))*time.Millisecond)
		case n < 60:
			done = w.swap(ctx, w.load.shared[w.rnd.IntN(len(w.load.shared))])
		case n < 68 || len(w.mine) == 0:
			var id string
			if id, done = w.create(ctx, 0); done {
				w.mine = append(w.mine, id)
			}
		case n < 76:
			done = w.put(ctx, w.mine[w.rnd.IntN(len(w.mine))], false)
		case n < 84:
			id := w.mine[w.rnd.IntN(len(w.mine))]
			if done = w.put(ctx, id, true); done {
				w.mine = slices.DeleteFunc(w.mine, func(other string) bool { return other == id })
			}
		case n < 91:
			done = w.text(ctx, w.mine[w.rnd.IntN(len(w.mine))])
		case n < 96:
			done = w.file(ctx, w.mine[w.rnd.IntN(len(w.mine))])
		case len(w.texts) > 0:
			i := w.rnd.IntN(len(w.texts))
			w.remove(ctx, w.texts[i])
			w.texts = append(w.texts[:i], w.texts[i+1:]...)
		}
		pause := time.Duration(w.rnd.Int64N(int64(2 * thinkTime)))
		if !done {
			pause += 50 * time.Millisecond
		}
		select {
		case <-ctx.Done():
		case <-time.After(pause):
		}
	}
}

// request is one write as it is sent.
type request struct {
	method, path string
	contentType  string
	match        string
	body         []byte
	until        time.Time // when the requested hazard expires; zero: never
}

// send sends a write, records it, and reports whether it was acknowledged. A creation with a uuid
// is repeated until the result is known, as the interface intends.
func (w *writer) send(ctx context.Context, note Write, r request, again bool) bool {
	note.Client, note.To, note.Start = w.number, w.client.to, time.Now()
	header := map[string]string{"Content-Type": r.contentType}
	if r.match != "" {
		header["If-Match"] = r.match
	}
	for tries := 0; ; {
		// The end of the load does not interrupt a request.
		waiting, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience)
		began := time.Now()
		a := w.client.do(waiting, r.method, r.path, header, r.body)
		cancel()
		note.Last = time.Since(began)
		note.End, note.Status, note.Node, note.Error = time.Now(), a.status, a.node, ""
		if a.err != nil {
			note.Error = a.err.Error()
		} else if a.status >= 300 {
			note.Error = fmt.Sprintf("%.200s", a.body)
		}
		tries++
		if !again || note.Acknowledged() || note.Refused() || tries == maxTries || ctx.Err() != nil {
			break
		}
		time.Sleep(100 * time.Millisecond) // like a client that follows Retry-After, but ten times as fast
	}
	w.load.mu.Lock()
	defer w.load.mu.Unlock()
	w.load.writes = append(w.load.writes, note)
	switch {
	case note.Status == http.StatusServiceUnavailable || !note.Refused():
	case note.Status == http.StatusPreconditionFailed: // another client was faster, or the node lags
	case note.Status == http.StatusBadRequest && !r.until.IsZero() && note.End.After(r.until): // it arrived after its own end
	case note.Status == http.StatusNotFound && w.load.cluster.asynchronous: // it was lost; the checker decides whether that is allowed
		w.mine = slices.DeleteFunc(w.mine, func(id string) bool { return id == note.Hazard })
	case note.Status == http.StatusNotFound && note.Deletes: // the first answer was lost, and the front sent the request again
		note.Status = 0
		w.load.writes[len(w.load.writes)-1] = note
	default:
		w.load.t.Errorf("refused: %s", &note)
	}
	return note.Acknowledged()
}

func jsonBody(members map[string]any) []byte {
	text, err := json.Marshal(members)
	if err != nil {
		panic(err) // strings and numbers
	}
	return text
}

const jsonType = "application/json"

// create creates a hazard that expires after a time; 0: never.
func (w *writer) create(ctx context.Context, life time.Duration) (id string, ok bool) {
	id = uuid.NewString()
	name := "made " + uuid.NewString()
	var until time.Time
	members := map[string]any{"uuid": id, "hazard_Name": name, "type_ID": "FLOOD", "severity_ID": "WATCH", "latitude": w.rnd.Float64(), "longitude": w.rnd.Float64()}
	if life > 0 {
		until = time.Now().Add(life)
		members["autoexpire"], members["end_Date"] = "Y", strconv.FormatInt(until.UnixMilli(), 10)
	}
	return id, w.send(ctx, Write{Hazard: id, After: name}, request{method: http.MethodPost, path: "/hazards", contentType: jsonType, body: jsonBody(members), until: until}, life == 0)
}

// put gives a hazard a new name, whatever its present one.
func (w *writer) put(ctx context.Context, id string, ends bool) bool {
	name := "put " + uuid.NewString()
	members := map[string]any{"hazard_Name": name}
	if ends {
		members["status"] = "E"
	}
	return w.send(ctx, Write{Hazard: id, After: name, Ends: ends}, request{method: http.MethodPatch, path: "/hazards/" + id, contentType: jsonType, body: jsonBody(members)}, false)
}

// swap gives a hazard a new name, if it has not changed since it was read.
func (w *writer) swap(ctx context.Context, id string) bool {
	waiting, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience)
	defer cancel()
	a := w.client.do(waiting, http.MethodGet, "/hazards/"+id, nil, nil)
	var had struct {
		Name string `json:"hazard_Name"`
	}
	if a.status != http.StatusOK || json.Unmarshal(a.body, &had) != nil {
		return false
	}
	name := "swapped " + uuid.NewString()
	return w.send(ctx, Write{Hazard: id, Before: had.Name, After: name},
		request{method: http.MethodPatch, path: "/hazards/" + id, contentType: jsonType, match: a.header.Get("ETag"), body: jsonBody(map[string]any{"hazard_Name": name})}, false)
}

func (w *writer) text(ctx context.Context, hazard string) bool {
	id := uuid.NewString()
	ok := w.send(ctx, Write{Hazard: hazard, Product: id}, request{method: http.MethodPost, path: "/hazards/" + hazard + "/products", contentType: jsonType,
		body: jsonBody(map[string]any{"uuid": id, "title": "Note", "product_Type": "TEXT_PRODUCT", "data": "of " + id})}, true)
	if ok {
		w.texts = append(w.texts, [2]string{hazard, id})
	}
	return ok
}

func (w *writer) remove(ctx context.Context, product [2]string) {
	w.send(ctx, Write{Hazard: product[0], Product: product[1], Deletes: true}, request{method: http.MethodDelete, path: "/products/" + product[1]}, false)
}

func (w *writer) file(ctx context.Context, hazard string) bool {
	id := uuid.NewString()
	content := make([]byte, 1+w.rnd.IntN(20_000))
	for i := range content {
		content[i] = byte(w.rnd.Uint32())
	}
	var form bytes.Buffer
	parts := multipart.NewWriter(&form)
	err := parts.WriteField("product", string(jsonBody(map[string]any{"uuid": id, "title": "File", "product_Type": "FILE_PRODUCT"})))
	part, bad := parts.CreateFormFile("file", "data.bin")
	if err := errors.Join(err, bad); err != nil {
		panic(err) // a buffer does not fail
	}
	_, err = part.Write(content)
	if err := errors.Join(err, parts.Close()); err != nil {
		panic(err)
	}
	ok := w.send(ctx, Write{Hazard: hazard, Product: id}, request{method: http.MethodPost, path: "/hazards/" + hazard + "/products", contentType: parts.FormDataContentType(), body: form.Bytes()}, true)
	if ok {
		w.load.mu.Lock()
		defer w.load.mu.Unlock()
		w.load.files[id] = content
	}
	return ok
}

// read requests the active hazards again and again.
func (l *load) read(ctx context.Context, number int, c *client) {
	defer c.http.CloseIdleConnections()
	ticker := time.NewTicker(readEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		r := Read{Client: number, To: c.to, Start: time.Now()}
		waiting, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience)
		a := c.do(waiting, http.MethodGet, "/hazards/active", nil, nil)
		cancel()
		r.End, r.Status, r.Node = time.Now(), a.status, a.node
		switch {
		case a.err != nil:
			r.Error = a.err.Error()
		case a.status != http.StatusOK:
			r.Error = fmt.Sprintf("%.200s", a.body)
		default:
			if r.Change, a.err = strconv.ParseInt(a.header.Get("Hazardd-Change"), 10, 64); a.err != nil {
				l.t.Errorf("Hazardd-Change: %v", a.err)
			}
		}
		l.mu.Lock()
		sum := sha256.Sum256(a.body)
		if l.bodies[sum] == nil {
			l.bodies[sum] = a.body
		}
		r.Body = l.bodies[sum]
		l.reads = append(l.reads, r)
		l.mu.Unlock()
	}
}

// silence is how long a reader of events waits for data. The server sends a comment every 15 s.
const silence = 25 * time.Second

// follow reads events from the beginning of the log.
func (l *load) follow(ctx context.Context, s *Stream, seen *atomic.Int64, c *client) {
	defer c.http.CloseIdleConnections()
	for ctx.Err() == nil {
		if err := l.connection(ctx, s, seen, c); err != nil && ctx.Err() == nil {
			l.t.Errorf("the stream of client %d at %s: %v", s.Client, s.To, err)
			return
		}
		select {
		case <-ctx.Done():
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// connection reads events until the connection ends.
func (l *load) connection(ctx context.Context, s *Stream, seen *atomic.Int64, c *client) error {
	reading, cancel := context.WithCancel(ctx)
	defer cancel()
	quiet := time.AfterFunc(silence, cancel)
	defer quiet.Stop()
	req, err := http.NewRequestWithContext(reading, http.MethodGet, c.url+"/events", nil)
	if err != nil {
		return err
	}
	req.Header.Set("Authorization", "Bearer "+l.cluster.token)
	req.Header.Set("Last-Event-ID", strconv.FormatInt(seen.Load(), 10))
	resp, err := c.http.Do(req)
	if err != nil {
		return nil // the node is down
	}
	defer resp.Body.Close()
	if resp.StatusCode >= 500 {
		return nil
	}
	if resp.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(io.LimitReader(resp.Body, 300)) // only for the text of the error
		return fmt.Errorf("after %d: %s %s", seen.Load(), resp.Status, text)
	}
	e := Event{Node: c.answeredBy(resp)}
	id, kind := int64(-1), ""
	for lines := bufio.NewReaderSize(resp.Body, 64<<10); ; {
		line, err := lines.ReadString('\n')
		if err != nil {
			return nil // an incomplete event does not count
		}
		quiet.Reset(silence)
		name, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ": ")
		switch name {
		case "id":
			if id, err = strconv.ParseInt(value, 10, 64); err != nil {
				return err
			}
		case "event":
			kind = value
		case "data":
			e.Text = value
		case "":
			if kind != "" {
				e.Number, e.Reset, e.At = id, kind == "reset", time.Now()
				s.Events = append(s.Events, e)
			}
			if id >= 0 {
				seen.Store(id)
			}
			e.Text, kind = "", ""
		}
	}
}

// finish waits for the open requests of the writers, and until all nodes and streams have the whole
// log. It returns what all have seen.
func (l *load) finish() *History {
	c := l.cluster
	l.stopWriting()
	l.writers.Wait()
	c.feed.quiet.Store(true)
	for _, n := range c.nodes {
		c.until(n.name+" is ready", 30*time.Second, n.ready)
	}
	asked := newClient(c, c.nodes[0].name)
	defer asked.http.CloseIdleConnections()
	h := &History{Refusing: map[string][]Window{}, Cut: map[string][]Window{}}
	c.until("what ends by itself has ended", time.Minute, func() bool {
		h.Log = l.log(asked)
		p := newPicture()
		for i := range h.Log {
			p.apply(&h.Log[i])
		}
		for _, ch := range p.hazards {
			if !ch.Ends.IsZero() && ch.Ends.Before(time.Now().Add(time.Minute)) {
				return false
			}
		}
		return true
	})
	last := int64(0)
	if n := len(h.Log); n > 0 {
		last = h.Log[n-1].Number
	}
	behind := func(seen *atomic.Int64) bool { return seen.Load() < last }
	for end := time.Now().Add(30 * time.Second); slices.ContainsFunc(l.seen, behind) && time.Now().Before(end); {
		time.Sleep(20 * time.Millisecond) // the checker reports those that are not so far
	}
	time.Sleep(3 * readEvery) // so that each reader has read after the end
	l.stopReading()
	l.readers.Wait()
	// Ignore later commits.
	for _, s := range l.streams {
		s.Events = slices.DeleteFunc(s.Events, func(e Event) bool { return e.Number > last && !e.Reset })
	}
	h.Writes, h.Streams = l.writes, l.streams
	h.Reads = slices.DeleteFunc(l.reads, func(r Read) bool { return r.Change > last })
	return h
}

// log reads the log from its beginning.
func (l *load) log(c *client) []Change {
	l.t.Helper()
	var all []json.RawMessage
	for after := int64(0); ; {
		var a answer
		l.cluster.until("the log can be read", 30*time.Second, func() bool {
			a = c.do(l.t.Context(), http.MethodGet, fmt.Sprintf("/changes?limit=1000&after=%d", after), nil, nil)
			return a.status != http.StatusServiceUnavailable
		})
		var page []json.RawMessage
		if err := errors.Join(a.err, json.Unmarshal(a.body, &page)); err != nil || a.status != http.StatusOK {
			l.t.Fatalf("the log after %d: %v: %d %.200s", after, err, a.status, a.body)
		}
		if all = append(all, page...); len(page) < 1000 {
			break
		}
		var n struct{ Change int64 }
		if err := json.Unmarshal(page[len(page)-1], &n); err != nil {
			l.t.Fatal(err)
		}
		after = n.Change
	}
	log, err := ParseLog(all)
	if err != nil {
		l.t.Fatal(err)
	}
	return log
}

// checkFiles reads the acknowledged files, each from some node. Files of writes that a failover may
// have lost may be missing.
func (l *load) checkFiles(h *History) {
	clients := []*client{}
	for _, n := range l.cluster.nodes {
		clients = append(clients, newClient(l.cluster, n.name))
	}
	i := 0
	for id, content := range l.files {
		if h.Lossy && !slices.ContainsFunc(h.Log, func(ch Change) bool { return ch.Product == id }) {
			continue // the checker decides
		}
		c := clients[i%len(clients)]
		i++
		if a := c.do(l.t.Context(), http.MethodGet, "/products/"+id+"/file", nil, nil); a.status != http.StatusOK || !bytes.Equal(a.body, content) {
			l.t.Errorf("the file of product %s: %d by %s, %d bytes, want %d; %v", id, a.status, c.to, len(a.body), len(content), a.err)
		}
	}
	for _, c := range clients {
		c.http.CloseIdleConnections()
	}
}
