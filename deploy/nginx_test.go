package deploy_test

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"crypto/tls"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hazardd/hazardd/client"
	"github.com/hazardd/hazardd/internal/test"
	"github.com/hazardd/hazardd/internal/test/nginx"
	"github.com/hazardd/hazardd/internal/test/postgres"
)

const password = "violet kayak thermos orbit"

// two are two nodes on one database, behind nginx.
type two struct {
	front *nginx.Server
	nodes [2]*node
	token string
	args  []string // arguments for commands to find the store
}

func startTwo(t *testing.T) *two {
	t.Helper()
	test.Seldom(t)
	nginx.Program(t) // before anything else is started
	// The folder is shared, as compose.yaml has it.
	c := &two{args: []string{"--database", postgres.URL(t), "--data", filepath.Join(t.TempDir(), "data")}}
	var waits [2]func()
	for i := range c.nodes { // both at once, on an empty database
		c.nodes[i], waits[i] = begin(t, append(c.args, "--trusted-proxies", "127.0.0.1")...)
	}
	for _, wait := range waits {
		wait()
	}
	c.command(t, password, "user", "add", "writer", "--role", "admin", "--password-stdin")
	c.token = strings.TrimSpace(c.command(t, "", "token", "writer"))
	c.front = nginx.Start(t, c.nodes[0].addr, c.nodes[1].addr)
	c.everywhere(t, "the user is known", "/hazards/types", "FLOOD")
	return c
}

// everywhere waits until each node, asked directly, answers with the text.
func (c *two) everywhere(t *testing.T, what, path, text string) {
	t.Helper()
	for _, n := range c.nodes {
		await(t, what+" at "+n.addr, func() bool {
			resp, body := get(t, http.DefaultClient, "http://"+n.addr+path, "Authorization", "Bearer "+c.token)
			return resp.StatusCode == http.StatusOK && bytes.Contains(body, []byte(text))
		})
	}
}

func (c *two) command(t *testing.T, stdin string, args ...string) string {
	t.Helper()
	out, errs, status := hazardd(t, stdin, nil, append(args, c.args...)...)
	if status != 0 {
		t.Fatalf("hazardd %s: %s", strings.Join(args, " "), errs)
	}
	return out
}

// client is our own client, through nginx.
func (c *two) client(t *testing.T) *client.Client {
	t.Helper()
	cl, err := client.New(c.front.URL, client.Options{Token: c.token, HTTPClient: c.front.Client(2)})
	if err != nil {
		t.Fatal(err)
	}
	return cl
}

func flood(name string) client.NewHazard {
	return client.NewHazard{HazardName: name, TypeID: "FLOOD", SeverityID: "WATCH", Latitude: 53.5, Longitude: 9.9, Description: strings.Repeat("Water over the quay. ", 50)}
}

// await waits until done returns true.
func await(t testing.TB, what string, done func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !done(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("not in a minute: %s", what)
		}
	}
}

// get sends a request through nginx, and reads the whole answer.
func get(t testing.TB, hc *http.Client, url string, header ...string) (*http.Response, []byte) {
	t.Helper()
	resp, body, err := ask(t.Context(), hc, http.MethodGet, url, "", header...)
	if err != nil {
		t.Fatal(err)
	}
	return resp, body
}

func ask(ctx context.Context, hc *http.Client, method, url, body string, header ...string) (*http.Response, []byte, error) {
	req, err := http.NewRequestWithContext(ctx, method, url, strings.NewReader(body))
	if err != nil {
		return nil, nil, err
	}
	for i := 0; i < len(header); i += 2 {
		req.Header.Add(header[i], header[i+1])
	}
	resp, err := hc.Do(req)
	if err != nil {
		return nil, nil, err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	return resp, text, err
}

func TestNginxServesTwoNodesAsOne(t *testing.T) {
	c := startTwo(t)
	cl, hc := c.client(t), c.front.Client(2)
	hazard, err := cl.Editor().CreateHazard(t.Context(), flood("Flood - Old Harbour"))
	if err != nil {
		t.Fatal(err)
	}
	uuid := hazard.UUID
	c.everywhere(t, "the hazard is known", "/hazards/active", uuid)

	t.Run("over HTTP/2 and HTTP/1.1, compressed by hazardd", func(t *testing.T) {
		for _, version := range []int{1, 2} {
			resp, body := get(t, c.front.Client(version), c.front.URL+"/hazards/active", "Authorization", "Bearer "+c.token, "Accept-Encoding", "br")
			if resp.StatusCode != http.StatusOK || resp.ProtoMajor != version || resp.Header.Get("Content-Encoding") != "br" || len(body) == 0 {
				t.Errorf("HTTP/%d: %s, %s, coding %q, %d bytes", version, resp.Status, resp.Proto, resp.Header.Get("Content-Encoding"), len(body))
			}
			if resp.Header.Get("Strict-Transport-Security") == "" {
				t.Errorf("HTTP/%d: no Strict-Transport-Security", version)
			}
			if resp.Header.Get("Etag") == "" {
				t.Errorf("HTTP/%d: nginx has removed the ETag", version)
			}
		}
	})

	t.Run("a file of 20 MB goes up and comes down", func(t *testing.T) {
		content := make([]byte, 20<<20)
		source := rand.NewChaCha8([32]byte{1})
		if _, err := source.Read(content); err != nil {
			t.Fatal(err)
		}
		p, err := cl.Editor().CreateFile(t.Context(), uuid, client.NewProduct{Title: "The quay"}, "quay.jpg", bytes.NewReader(content))
		if err != nil {
			t.Fatal(err)
		}
		hash := sha256.Sum256(content)
		for range 2 { // each node in turn
			f, err := cl.DownloadFile(t.Context(), strconv.FormatInt(int64(p.ProductID), 10))
			if err != nil {
				t.Fatal(err)
			}
			got := sha256.New()
			if _, err := io.Copy(got, f.Body); err != nil {
				t.Error(err)
			}
			if err := f.Body.Close(); err != nil {
				t.Error(err)
			}
			if !bytes.Equal(got.Sum(nil), hash[:]) {
				t.Error("the downloaded file differs from the uploaded one")
			}
		}
	})

	t.Run("a browser's form is known as this site's own", func(t *testing.T) {
		form := url.Values{"username": {"writer"}, "password": {"this is not the password"}}.Encode()
		for origin, foreign := range map[string]bool{c.front.URL: false, "https://evil.example": true} {
			resp, body, err := ask(t.Context(), hc, http.MethodPost, c.front.URL+"/login", form, "Content-Type", "application/x-www-form-urlencoded", "Origin", origin)
			if err != nil {
				t.Fatal(err)
			}
			if (resp.StatusCode == http.StatusForbidden) != foreign {
				t.Errorf("a form from %s: %s\n%.300s", origin, resp.Status, body)
			}
		}
	})

	t.Run("a key in a path is not logged", func(t *testing.T) {
		key := strings.TrimSpace(c.command(t, "", "token", "writer", "--read-only", "--title", "map of the room"))
		c.everywhere(t, "the key is known", "/key/"+key+"/hazards/active", uuid)
		if resp, _ := get(t, hc, c.front.URL+"/key/"+key+"/hazards/active"); resp.StatusCode != http.StatusOK {
			t.Fatalf("a read with a key: %s", resp.Status)
		}
		await(t, "the request is in nginx's log", func() bool { return strings.Contains(c.front.Log.String(), `"GET /key/-/hazards/active HTTP/2.0" 200`) })
		// No spelling of a key's path appears in the log.
		for _, before := range []string{"//key/", "/%6bey/", "/%6Be%79/", "/./key/", "/x/../key/", "/key//", "/KEY/", "/key%2F", "/%256bey/", "/key/x/key/", "/", "/x/"} {
			for _, spelling := range []string{key, "%68" + key[1:], "%2568" + key[1:]} {
				get(t, hc, c.front.URL+before+spelling+"/hazards/active")
			}
			get(t, hc, c.front.URL+before+key)
			get(t, hc, c.front.URL+before+key+"/../../healthz")
		}
		for _, path := range []string{"/subscriptions/confirm", "//subscriptions//manage", "/%73ubscriptions/unsubscribe", "/SUBSCRIPTIONS/x", "/key/x/subscriptions/manage"} {
			get(t, hc, c.front.URL+path+"?lang=en&token=SECRET")
		}
		get(t, hc, c.front.URL+"/healthz?last")
		await(t, "the last request is in nginx's log", func() bool { return strings.Contains(c.front.Log.String(), `"GET /healthz?last HTTP/2.0" 200`) })
		if strings.Contains(c.front.Log.String(), key[len("hzk_"):]) {
			t.Error("the key is in nginx's log")
		}
		if log := c.front.Log.String(); strings.Contains(log, "SECRET") || !strings.Contains(log, `"GET /subscriptions/confirm?- HTTP/2.0" `) {
			t.Error("the token of a link is in nginx's log, or its request is not")
		}
	})

	t.Run("a reader of http is led to https", func(t *testing.T) {
		resp, _ := get(t, c.front.Client(1), c.front.Plain+"/hazards/active?x=1")
		if resp.StatusCode != http.StatusPermanentRedirect || resp.Header.Get("Location") != "https://hazards.example.org/hazards/active?x=1" {
			t.Errorf("%s, Location %q", resp.Status, resp.Header.Get("Location"))
		}
	})

	t.Run("no read fails while nodes are killed, and a stream resumes", func(t *testing.T) { c.killOne(t, uuid) })

	t.Run("symbols come out of the cache when no node is left, lists do not", func(t *testing.T) {
		const symbol = "/symbols/FLOOD/EVENT/WARNING.svg"
		_, before := get(t, hc, c.front.URL+symbol, "Accept-Encoding", "gzip")
		for _, n := range c.nodes {
			n.kill()
		}
		resp, after := get(t, hc, c.front.URL+symbol, "Accept-Encoding", "gzip")
		if resp.StatusCode != http.StatusOK || !bytes.Equal(before, after) || len(after) == 0 {
			t.Errorf("symbol: %s, %d bytes, before %d", resp.Status, len(after), len(before))
		}
		if resp, _ = get(t, hc, c.front.URL+"/hazards/active", "Authorization", "Bearer "+c.token); resp.StatusCode != http.StatusBadGateway {
			t.Errorf("a list without any node: %s, want 502", resp.Status)
		}
	})
}

// once returns a function that closes c on its first call.
func once(c chan struct{}) func(int64) {
	first := sync.OnceFunc(func() { close(c) })
	return func(int64) { first() }
}

// killOne kills the second node while clients read, write and follow streams.
func (c *two) killOne(t *testing.T, uuid string) {
	const readers, changes, end = 6, 20, "The water is gone."
	cl := c.client(t)
	var reads, killed atomic.Int64
	var all sync.WaitGroup
	// One stream at each node, because nginx selects the node with the fewest connections, and nobody
	// reads yet. One of them is cut.
	type told struct {
		numbers []int64
		cuts    int
	}
	var streams [2]told
	for i := range streams {
		connected := make(chan struct{})
		follower := c.client(t)
		all.Go(func() {
			options := client.EventOptions{Connected: once(connected), Waiting: func(error, time.Duration) { streams[i].cuts++ }}
			for e, err := range follower.Events(t.Context(), 0, options) {
				if err != nil || e.Reset != "" {
					t.Errorf("stream %d: %v, reset %q", i, err, e.Reset)
					return
				}
				streams[i].numbers = append(streams[i].numbers, e.Number)
				if e.Hazard != nil && e.Hazard.Description == end {
					return
				}
			}
		})
		<-connected
	}
	for range readers {
		hc := c.front.Client(2)
		all.Go(func() {
			for after := 0; after < 100; { // until everybody has read for a while without the node
				resp, body, err := ask(t.Context(), hc, http.MethodGet, c.front.URL+"/hazards/active", "", "Authorization", "Bearer "+c.token)
				if err != nil || resp.StatusCode != http.StatusOK || !bytes.Contains(body, []byte(uuid)) {
					t.Errorf("a read failed: %v, %+v, %.200s", err, resp, body)
					return
				}
				reads.Add(1)
				if killed.Load() > 0 {
					after++
				}
			}
		})
	}
	for k := range changes {
		if k == changes/2 {
			c.nodes[1].kill()
			killed.Store(1)
		}
		text := fmt.Sprintf("Water over the quay, report %d.", k)
		if k == changes-1 {
			text = end
		}
		if _, err := cl.Editor().PatchHazard(t.Context(), uuid, client.Fields{"description": text}); err != nil {
			t.Errorf("a write failed, but was not in progress when the node was killed: %v", err)
		}
	}
	all.Wait()
	cuts := 0
	for i, s := range streams {
		cuts += s.cuts
		for j, n := range s.numbers {
			if n != int64(j+1) {
				t.Fatalf("stream %d: event %d has number %d", i, j+1, n)
			}
		}
	}
	if cuts == 0 {
		t.Error("no stream was cut, so the test proves nothing about resuming")
	}
	t.Logf("%d reads, none failed; %d cuts of streams", reads.Load(), cuts)
}

// fake returns a node with a handler of the test.
func fake(t *testing.T, h http.HandlerFunc) (addr string, asked *atomic.Int64) {
	t.Helper()
	asked = &atomic.Int64{}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		h(w, r)
	}))
	t.Cleanup(s.Close)
	return s.Listener.Addr().String(), asked
}

// hangUp closes the connection without an answer.
func hangUp(w http.ResponseWriter, _ *http.Request) {
	if conn, _, err := http.NewResponseController(w).Hijack(); err == nil {
		_ = conn.Close()
	}
}

func answer(status int) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.WriteHeader(status)
	}
}

func TestNginxTriesReadsAgainAndWritesNever(t *testing.T) {
	nginx.Program(t)
	away := test.Address(t).String()
	for name, tt := range map[string]struct {
		method, path string
		first        http.HandlerFunc // nil: nothing listens there
		second       int              // status from the other node
		want         int
		atMost       int64 // maximum number of requests to nodes for four requests
	}{
		"a read of a node that hangs up goes to another":         {"GET", "/hazards", hangUp, 200, 200, 8},
		"an active list too":                                     {"GET", "/hazards/active", hangUp, 200, 200, 8},
		"a read of a node that does not listen goes to another":  {"GET", "/products/1", nil, 200, 200, 4},
		"a write to a node that does not listen goes to another": {"POST", "/hazards", nil, 201, 201, 4},
		"so does a change":                                       {"PATCH", "/hazards/1", nil, 200, 200, 4},
		"a stream does too":                                      {"GET", "/events", nil, 200, 200, 4},
		"a write that was sent is not sent again":                {"POST", "/hazards", hangUp, 502, 502, 4},
		"nor is a change":                                        {"PATCH", "/hazards/1", hangUp, 502, 502, 4},
		// RFC 9110, section 9.2.2: idempotent requests may be sent again.
		"a removal is": {"DELETE", "/products/1", hangUp, 204, 204, 8},
		"a read that is answered by 503 is answered":              {"GET", "/hazards", answer(503), 503, 503, 4},
		"a write that is answered by 503 is answered":             {"POST", "/hazards", answer(503), 503, 503, 4},
		"a file that one node has not is looked for at the other": {"GET", "/assets/index-AbCd.js", answer(404), 200, 200, 8},
		"a hazard that one node has not is looked for nowhere":    {"GET", "/hazards/1", answer(404), 404, 404, 4},
		"a write to an active list is a write, and is sent once":  {"POST", "/hazards/active", hangUp, 502, 502, 4},
		"a login is a write": {"POST", "/authorize", hangUp, 502, 502, 4},
		"a write that both nodes refuse to hear of is told at once": {"POST", "/hazards", nil, 503, 503, 4},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			first, askedFirst := away, &atomic.Int64{}
			if tt.first != nil {
				first, askedFirst = fake(t, tt.first)
			}
			second, askedSecond := fake(t, answer(tt.second))
			front := nginx.Start(t, first, second)
			hc := front.Client(2)
			for range 4 {
				resp, _, err := ask(t.Context(), hc, tt.method, front.URL+tt.path, "")
				if err != nil {
					t.Fatal(err)
				}
				if resp.StatusCode != tt.want {
					t.Errorf("%s, want %d", resp.Status, tt.want)
				}
			}
			if n := askedFirst.Load() + askedSecond.Load(); n > tt.atMost {
				t.Errorf("the nodes got %d requests, want at most %d", n, tt.atMost)
			}
		})
	}
}

func TestNodesThatRefuseWritesStayThereForReaders(t *testing.T) {
	refuse := func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.Method != http.MethodGet && r.URL.Path == "/hazards/1":
			hangUp(w, r)
		case r.Method != http.MethodGet:
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	}
	first, _ := fake(t, refuse)
	second, _ := fake(t, refuse)
	front := nginx.Start(t, first, second)
	hc := front.Client(2)
	for range 10 {
		for path, want := range map[string]int{"/hazards": http.StatusServiceUnavailable, "/hazards/1": http.StatusBadGateway} {
			if resp, _, err := ask(t.Context(), hc, http.MethodPost, front.URL+path, "{}"); err != nil || resp.StatusCode != want {
				t.Fatalf("POST %s: %v, %v, want %d", path, resp, err, want)
			}
		}
		if resp, _ := get(t, hc, front.URL+"/hazards/active"); resp.StatusCode != http.StatusOK {
			t.Fatalf("a read during failing writes: %s", resp.Status)
		}
	}
}

func TestNginxTellsNodesWhatTheyMustKnow(t *testing.T) {
	seen := make(chan *http.Request, 1)
	addr, _ := fake(t, func(_ http.ResponseWriter, r *http.Request) { seen <- r })
	front := nginx.Start(t, addr)
	for _, path := range []string{"/events", "/hazards", "/hazards/active", "/changes", "/symbols/FLOOD/EVENT/WATCH.svg"} {
		get(t, front.Client(2), front.URL+path+"?type=FLOOD", "Last-Event-ID", "41", "Authorization", "Bearer x", "Accept-Encoding", "br, gzip", "If-None-Match", `"a"`,
			"X-Forwarded-For", "203.0.113.7", "Origin", front.URL)
		r := <-seen
		want := map[string]string{"Last-Event-Id": "41", "Authorization": "Bearer x", "Accept-Encoding": "br, gzip", "If-None-Match": `"a"`, "Origin": front.URL,
			// The client's own header about its address is not passed on.
			"X-Forwarded-For": "127.0.0.1"}
		if strings.HasPrefix(path, "/symbols/") {
			delete(want, "If-None-Match") // the cache answers that itself
		}
		for name, value := range want {
			if got := strings.Join(r.Header[name], " | "); got != value {
				t.Errorf("%s: %s is %q, want %q", path, name, got, value)
			}
		}
		if "https://"+r.Host != front.URL || r.URL.RequestURI() != path+"?type=FLOOD" || r.Proto != "HTTP/1.1" {
			t.Errorf("the node got a request for %s at %s from %s", r.URL.RequestURI(), r.Host, r.Proto)
		}
	}
}

func TestAStreamIsPassedOnEventByEvent(t *testing.T) {
	next := make(chan string)
	addr, _ := fake(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		for text := range next {
			_, _ = io.WriteString(w, text)
			_ = http.NewResponseController(w).Flush()
		}
	})
	front := nginx.Start(t, addr)
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, front.URL+"/events", nil)
	if err != nil {
		t.Fatal(err)
	}
	go func() { next <- "id: 0\n\n" }()
	resp, err := front.Client(2).Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	for i := range 3 {
		if i > 0 {
			next <- fmt.Sprintf("id: %d\n\n", i)
		}
		// This would wait forever if nginx kept an event back until more arrive.
		want := fmt.Sprintf("id: %d\n\n", i)
		got := make([]byte, len(want))
		if _, err := io.ReadFull(resp.Body, got); err != nil || string(got) != want {
			t.Fatalf("%q, %v, want %q", got, err, want)
		}
	}
	close(next)
}

// An address that starts logins and finishes none gets only a few of them; further ones are
// refused. Nobody else has to wait.
func TestNginxLetsOneAddressRunFewLogins(t *testing.T) {
	nginx.Program(t)
	addr, _ := fake(t, answer(http.StatusOK))
	front := nginx.Start(t, addr, addr)
	at, err := url.Parse(front.URL)
	if err != nil {
		t.Fatal(err)
	}
	dialer := tls.Dialer{NetDialer: &net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, 2)}}, Config: &tls.Config{InsecureSkipVerify: true, NextProtos: []string{"http/1.1"}}}
	const flood, most = 40, 20
	answers := make(chan *http.Response, flood)
	for range flood {
		conn, err := dialer.DialContext(t.Context(), "tcp", at.Host)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		if _, err := io.WriteString(conn, "POST /authorize HTTP/1.1\r\nHost: hazards.example.org\r\nContent-Length: 100\r\n\r\n{"); err != nil {
			t.Fatal(err)
		}
		go func() {
			// An accepted login gets no answer: it waits for the rest of the body, until the test
			// ends or nginx times out.
			if resp, err := http.ReadResponse(bufio.NewReader(conn), nil); err == nil {
				answers <- resp
			}
		}()
	}
	for refused := range flood - most {
		select {
		case resp := <-answers:
			if resp.StatusCode != http.StatusTooManyRequests || resp.Header.Get("Retry-After") == "" || resp.Header.Get("Content-Type") != "application/problem+json" {
				t.Fatalf("%s, Retry-After %q, %s", resp.Status, resp.Header.Get("Retry-After"), resp.Header.Get("Content-Type"))
			}
		case <-time.After(time.Minute):
			t.Fatalf("%d of %d logins from one address were refused, want all but %d", refused, flood, most)
		}
	}
	if resp, _ := get(t, front.Client(1), front.URL+"/hazards/active"); resp.StatusCode != http.StatusOK {
		t.Errorf("another address gets the answer %s", resp.Status)
	}
	select {
	case resp := <-answers:
		if resp.StatusCode == http.StatusTooManyRequests {
			t.Errorf("more than %d of %d logins were refused", flood-most, flood)
		}
	default:
	}
}
