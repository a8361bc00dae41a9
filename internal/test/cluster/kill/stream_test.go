//go:build unix

package kill

import (
	"bufio"
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	gohazardd "github.com/hazardd/hazardd/client"
	"github.com/hazardd/hazardd/internal/test"
)

// front is the name under which clients reach the running server.
const front = "http://hazardd.rig"

// address matches the address of a server, which changes with each start.
var address = regexp.MustCompile(`http://127\.0\.0\.1:[0-9]+`)

// crowd is the set of clients of a server that is killed and restarted.
type crowd struct {
	t    *testing.T
	addr atomic.Pointer[string] // host:port of the running server
	rnd  func(n int) int
}

// reader is one client. Its connection is cut and slowed, and it is restarted. What it has received
// is kept, as by a program that stores it.
type reader struct {
	name, token string
	filter      string // parameters
	byClient    bool   // uses the Go client; otherwise reads by itself

	mu       sync.Mutex
	last     int64
	received []told
}

// told is an event: the text of a change, or the Go client's form of it.
type told struct {
	n    int64
	text string
}

func (r *reader) take(n int64, text string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.received = append(r.received, told{n, address.ReplaceAllString(text, front)})
	r.last = n
}

func (r *reader) seen() int64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.last
}

// badConn is slow and fails after some bytes.
type badConn struct {
	net.Conn
	left  int
	delay time.Duration
}

func (c *badConn) Read(p []byte) (int, error) {
	if c.delay > 0 {
		time.Sleep(c.delay) // the test needs a slow connection
		p = p[:min(len(p), 2000)]
	}
	if c.left <= 0 {
		return 0, errors.New("the line was cut")
	}
	n, err := c.Conn.Read(p[:min(len(p), c.left)])
	c.left -= n
	return n, err
}

// transport connects to the running server over bad connections.
func (c *crowd) transport() *http.Transport {
	return &http.Transport{MaxIdleConnsPerHost: 1, DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
		conn, err := (&net.Dialer{}).DialContext(ctx, network, *c.addr.Load())
		if err != nil {
			return nil, err
		}
		bad := &badConn{Conn: conn, left: 1 << 30}
		switch c.rnd(4) {
		case 0:
			bad.left = c.rnd(200_000)
		case 1:
			bad.left, bad.delay = c.rnd(100_000), time.Duration(c.rnd(5000))*time.Microsecond
		}
		return bad, nil
	}}
}

// follow reads until ctx ends, as a program that is sometimes restarted.
func (c *crowd) follow(ctx context.Context, r *reader) error {
	for ctx.Err() == nil {
		life, stop := context.WithTimeout(ctx, time.Duration(50+c.rnd(3000))*time.Millisecond)
		transport := c.transport()
		var err error
		if r.byClient {
			err = c.byClient(life, r, transport)
		} else {
			err = c.byHand(life, r, transport)
		}
		stop()
		transport.CloseIdleConnections()
		if err != nil && ctx.Err() == nil {
			return fmt.Errorf("%s: %w", r.name, err)
		}
	}
	return nil
}

// byClient reads with the Go client, which handles cut connections itself.
func (c *crowd) byClient(ctx context.Context, r *reader, transport *http.Transport) error {
	server, err := gohazardd.New(front, gohazardd.Options{Token: r.token, HTTPClient: &http.Client{Transport: transport}})
	if err != nil {
		return err
	}
	var filter gohazardd.Search
	if severity, ok := strings.CutPrefix(r.filter, "severity="); ok {
		filter.Severities = []string{severity}
	}
	for e, err := range server.Events(ctx, r.seen(), gohazardd.EventOptions{Filter: filter}) {
		if ctx.Err() != nil {
			return nil
		}
		if err != nil || e.Reset != "" {
			return fmt.Errorf("after %d: %w, reset %q", r.seen(), err, e.Reset)
		}
		r.take(e.Number, "")
	}
	return nil
}

// byHand reads one connection according to the specification, without a client library.
func (c *crowd) byHand(ctx context.Context, r *reader, transport *http.Transport) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, front+"/events?"+r.filter, nil)
	if err != nil {
		return err
	}
	req.Header.Set("Authorization", "Bearer "+r.token)
	req.Header.Set("Last-Event-ID", strconv.FormatInt(r.seen(), 10))
	resp, err := (&http.Client{Transport: transport}).Do(req)
	if err != nil {
		return nil // the server or the connection is down
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("after %d: %s", r.seen(), resp.Status)
	}
	lines := bufio.NewReaderSize(resp.Body, 64<<10)
	id, event, data := int64(0), "", ""
	for {
		line, err := lines.ReadString('\n')
		if err != nil {
			return nil // cut: an incomplete event does not count
		}
		name, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ": ")
		switch name {
		case "id":
			if id, err = strconv.ParseInt(value, 10, 64); err != nil {
				return err
			}
		case "event":
			event = value
		case "data":
			data = value
		case "":
			if event == "reset" {
				return fmt.Errorf("a reset after %d: %s", r.seen(), data)
			}
			if event != "" {
				r.take(id, data)
			}
			event, data = "", ""
		}
	}
}

// scribble changes hazards and products until enough changes are acknowledged.
func (c *crowd) scribble(ctx context.Context, token string, written *atomic.Int64, enough int64, org string) {
	transport := &http.Transport{DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, network, *c.addr.Load())
	}}
	defer transport.CloseIdleConnections()
	w := &client{&http.Client{Transport: transport, Timeout: 10 * time.Second}, front, token}
	var mine []int64
	for ctx.Err() == nil && written.Load() < enough {
		method, path := http.MethodPost, "/hazards"
		body := map[string]any{"hazard_Name": "Flood", "type_ID": "FLOOD", "severity_ID": "WATCH", "latitude": 1, "longitude": 2, "description": strings.Repeat("x", c.rnd(2000))}
		if len(mine) > 5 && c.rnd(10) > 0 {
			id := mine[c.rnd(len(mine))]
			if c.rnd(3) > 0 {
				method, path = http.MethodPatch, fmt.Sprint("/hazards/", id)
				body = map[string]any{"severity_ID": []string{"WATCH", "WARNING", "ADVISORY"}[c.rnd(3)], "comment_Text": fmt.Sprint(c.rnd(1 << 30))}
			} else {
				path = fmt.Sprint("/hazards/", id, "/products")
				body = map[string]any{"title": "Note", "product_Type": "TEXT_PRODUCT", "data": strings.Repeat("y", 1+c.rnd(500))}
				if c.rnd(2) == 0 {
					body["security_Flag"], body["org_IDs"] = "R", org
				}
			}
		}
		text, err := json.Marshal(body)
		if err != nil {
			c.t.Error(err)
			return
		}
		status, answer, _, err := w.do(ctx, method, path, jsonType, text)
		switch {
		case err != nil: // the server is down
			time.Sleep(20 * time.Millisecond)
			continue
		case status >= 300:
			c.t.Errorf("%s %s: %d %s", method, path, status, answer)
			return
		}
		written.Add(1)
		var made struct {
			ID int64 `json:"hazard_ID"`
		}
		if path == "/hazards" && json.Unmarshal(answer, &made) == nil {
			mine = append(mine, made.ID)
		}
	}
}

// hookReader receives the messages of a webhook, and sometimes fails.
type hookReader struct {
	t      *testing.T
	rnd    func(n int) int
	secret atomic.Pointer[string]
	mu     sync.Mutex
	told   map[int64]bool
	newest map[int64]int64 // by hazard
	failed map[string]bool // by id
}

func (h *hookReader) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // the server died
	}
	key, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(*h.secret.Load(), "whsec_"))
	if err != nil {
		h.t.Error(err)
	}
	mac := hmac.New(sha256.New, key)
	fmt.Fprintf(mac, "%s.%s.%s", r.Header.Get("webhook-id"), r.Header.Get("webhook-timestamp"), body)
	if want := "v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil)); r.Header.Get("webhook-signature") != want {
		h.t.Errorf("signature %s, want %s", r.Header.Get("webhook-signature"), want)
	}
	var m struct {
		Data struct {
			Change  int64
			Changes []int64
			Hazard  *struct {
				ID int64 `json:"hazard_ID"`
			}
			Product *struct {
				ID int64 `json:"hazard_ID"`
			}
		}
	}
	if err := json.Unmarshal(body, &m); err != nil {
		h.t.Errorf("%v: %s", err, body)
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if id := r.Header.Get("webhook-id"); h.rnd(40) == 0 && !h.failed[id] { // each delivery fails at most once: a third attempt would come five minutes later
		h.failed[id] = true
		w.WriteHeader(http.StatusInternalServerError)
		return
	}
	for _, n := range append(m.Data.Changes, m.Data.Change) {
		h.told[n] = true
	}
	if hz := m.Data.Hazard; hz != nil {
		if n := m.Data.Change; n < h.newest[hz.ID] {
			h.t.Errorf("hazard %d as of change %d after %d", hz.ID, n, h.newest[hz.ID])
		}
		h.newest[hz.ID] = m.Data.Change
	}
}

func (h *hookReader) count() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.told)
}

// Nothing is lost and nothing comes twice. Clients are cut, slowed, restarted and resumed at
// random, while changes are written and the server is killed. Each must receive the log as far as
// it may see it.
func TestStreamsLoseNothingAndTellNothingTwice(t *testing.T) {
	test.Slow(t)
	t.Setenv("HAZARDD_USER_STREAMS", "1000")
	t.Setenv("HAZARDD_WEBHOOK_ALLOW", "127.0.0.0/8")
	readers := rounds(t, "HAZARDD_STREAMS", 40)
	changes := int64(readers * 25)
	data := t.TempDir()
	start(t, data, "").kill()
	const password = "violet kayak thermos orbit"
	var org struct {
		ID int64 `json:"id"`
	}
	if err := json.Unmarshal([]byte(command(t, data, "", "org", "add", "RC", "--name", "Red Cross", "--json")), &org); err != nil {
		t.Fatal(err)
	}
	tokens := map[string]string{"root": writer(t, data)}
	for _, user := range []string{"member", "stranger"} {
		args := []string{"user", "add", user, "--role", "editor", "--password-stdin"}
		if user == "member" {
			args = append(args, "--org", fmt.Sprint(org.ID))
		}
		command(t, data, password, args...)
		tokens[user] = command(t, data, "", "token", user)
	}

	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	rnd := rand.New(rand.NewPCG(seed, 7))
	var mu sync.Mutex
	c := &crowd{t: t, rnd: func(n int) int { mu.Lock(); defer mu.Unlock(); return rnd.IntN(n) }}
	var running *server
	run := func() {
		running = start(t, data, "")
		c.addr.Store(new(strings.TrimPrefix(running.url, "http://")))
	}
	run()

	hook := &hookReader{t: t, rnd: c.rnd, told: map[int64]bool{}, newest: map[int64]int64{}, failed: map[string]bool{}}
	hook.secret.Store(new(""))
	receiver := httptest.NewServer(hook)
	defer receiver.Close()
	status, answer, _, err := newClient(running.url, tokens["stranger"]).do(t.Context(), http.MethodPost, "/webhooks", jsonType, fmt.Appendf(nil, `{"url":%q}`, receiver.URL))
	var made struct{ Secret string }
	if err := errors.Join(err, json.Unmarshal(answer, &made)); err != nil || status != http.StatusCreated {
		t.Fatalf("%v %d %s", err, status, answer)
	}
	hook.secret.Store(&made.Secret)

	var all []*reader
	for i := range readers {
		user := []string{"member", "stranger", "root"}[i%3]
		all = append(all, &reader{name: fmt.Sprintf("reader %d (%s)", i, user), token: tokens[user], filter: []string{"", "", "", "severity=WARNING"}[i/3%4], byClient: i%4 == 1})
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var following, writing sync.WaitGroup
	for _, r := range all {
		following.Go(func() {
			if err := c.follow(ctx, r); err != nil {
				t.Error(err)
			}
		})
	}
	var written atomic.Int64
	for range writers {
		writing.Go(func() { c.scribble(ctx, tokens["member"], &written, changes, fmt.Sprint(org.ID)) })
	}
	for kill := int64(1); kill <= 3; kill++ {
		for written.Load() < kill*changes/4 && !t.Failed() {
			time.Sleep(5 * time.Millisecond)
		}
		running.kill()
		time.Sleep(time.Duration(c.rnd(300)) * time.Millisecond)
		run()
	}
	writing.Wait()

	logs := map[string][]told{}
	for user, token := range tokens {
		logs[user] = readLog(t, newClient(running.url, token))
	}
	want := func(r *reader, user string) []told { return passing(t, logs[user], r.filter) }
	deadline := time.Now().Add(90 * time.Second)
	for i, r := range all {
		expected := want(r, []string{"member", "stranger", "root"}[i%3])
		for r.seen() < expected[len(expected)-1].n && time.Now().Before(deadline) && !t.Failed() {
			time.Sleep(10 * time.Millisecond)
		}
	}
	for hook.count() < len(logs["stranger"]) && time.Now().Before(deadline) {
		time.Sleep(10 * time.Millisecond)
	}
	cancel()
	following.Wait()
	for i, r := range all {
		expected := want(r, []string{"member", "stranger", "root"}[i%3])
		if len(r.received) != len(expected) {
			t.Errorf("%s has received %d changes, want %d", r.name, len(r.received), len(expected))
			continue
		}
		for k, got := range r.received {
			if got.n != expected[k].n || !r.byClient && got.text != expected[k].text {
				t.Errorf("%s: at place %d change %d, want %d\n%.300s\n%.300s", r.name, k, got.n, expected[k].n, got.text, expected[k].text)
				break
			}
		}
	}
	for _, c := range logs["stranger"] {
		if !hook.told[c.n] {
			t.Errorf("the webhook did not get change %d", c.n)
		}
	}
	if n := len(hook.told); n > len(logs["stranger"]) {
		t.Errorf("the webhook got %d changes, its owner may see %d", n, len(logs["stranger"]))
	}
	t.Logf("%d readers, %d changes, 3 kills", readers, len(logs["member"]))
}

// readLog reads the whole log as a user may see it.
func readLog(t *testing.T, c *client) (log []told) {
	t.Helper()
	for after := int64(0); ; {
		status, answer, _, err := c.do(t.Context(), http.MethodGet, fmt.Sprintf("/changes?limit=1000&after=%d", after), "", nil)
		var page []json.RawMessage
		if err := errors.Join(err, json.Unmarshal(answer, &page)); err != nil || status != http.StatusOK {
			t.Fatalf("%v: %d %.200s", err, status, answer)
		}
		for _, text := range page {
			var n struct{ Change int64 }
			if err := json.Unmarshal(text, &n); err != nil {
				t.Fatal(err)
			}
			log = append(log, told{n.Change, address.ReplaceAllString(string(text), front)})
			after = n.Change
		}
		if len(page) < 1000 {
			return log
		}
	}
}

// passing returns a log through a filter of these tests, by the rule alone: a change is sent if its
// hazard matches after it, or did before.
func passing(t *testing.T, log []told, filter string) (list []told) {
	t.Helper()
	if filter == "" {
		return log
	}
	wanted := strings.TrimPrefix(filter, "severity=")
	passes := map[int64]bool{} // by hazard
	for _, c := range log {
		var change struct {
			Hazard  *struct{ Hazard_ID, Severity_ID json.RawMessage }
			Product *struct{ Hazard_ID json.RawMessage }
		}
		if err := json.Unmarshal([]byte(c.text), &change); err != nil {
			t.Fatal(err)
		}
		var id int64
		raw := []byte(nil)
		if change.Hazard != nil {
			raw = change.Hazard.Hazard_ID
		} else {
			raw = change.Product.Hazard_ID
		}
		if err := json.Unmarshal(raw, &id); err != nil {
			t.Fatal(err)
		}
		before := passes[id]
		if change.Hazard != nil {
			passes[id] = bytes.Equal(change.Hazard.Severity_ID, []byte(strconv.Quote(wanted)))
		}
		switch {
		case passes[id]:
			list = append(list, c)
		case before && change.Hazard != nil:
			// The type comes before the members that only the stream has.
			head, tail, _ := strings.Cut(c.text, `,"user":`)
			list = append(list, told{c.n, head + `,"left":true,"user":` + tail})
		}
	}
	return slices.Clip(list)
}
