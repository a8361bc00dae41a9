package serve_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/google/go-cmp/cmp"

	"github.com/hazardd/hazardd/internal/app"
	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/serve/sse"
	"github.com/hazardd/hazardd/internal/store"
	"github.com/hazardd/hazardd/internal/tell/subscription"
	"github.com/hazardd/hazardd/internal/test"
	"github.com/hazardd/hazardd/internal/test/postgres"
	"github.com/hazardd/hazardd/internal/test/server"
)

// block is one block of an event stream: the lines between two empty lines.
type block struct{ id, event, data, retry, comment string }

// subscriber reads a stream. Its parser follows the HTML standard, section 9.2.6, except for parts
// that hazardd never uses.
type subscriber struct {
	t      testing.TB
	resp   *http.Response
	blocks chan block // closed when the stream ends
	last   string     // the last event id, as a browser stores it
}

// subscribe opens a stream and fails the test if that is refused.
func (w *world) subscribe(user, query string, header ...string) *subscriber {
	w.t.Helper()
	return followStream(w.t, w.client, newRequest(w.t, w.tokens, user, "GET", w.URL()+"/events"+query, nil, header...))
}

func followStream(t testing.TB, client *http.Client, req *http.Request) *subscriber {
	t.Helper()
	resp, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	if h := resp.Header; resp.StatusCode != 200 || h.Get("Content-Type") != "text/event-stream" || h.Get("Cache-Control") != "no-store" || h.Get("X-Accel-Buffering") != "no" {
		text, _ := io.ReadAll(resp.Body)
		t.Fatalf("%s: %v %s", resp.Status, h, text)
	}
	server.Check(t, req, server.Answer{Status: resp.StatusCode, Header: resp.Header})
	s := &subscriber{t: t, resp: resp, blocks: make(chan block, 100)}
	t.Cleanup(func() {
		_ = resp.Body.Close()
		for range s.blocks {
		}
	})
	go func() {
		defer close(s.blocks)
		var b block
		for lines := bufio.NewReader(resp.Body); ; {
			line, err := lines.ReadString('\n')
			if err != nil {
				return // a block without an empty line at its end does not count
			}
			line = strings.TrimSuffix(line, "\n")
			name, value, _ := strings.Cut(line, ":")
			value = strings.TrimPrefix(value, " ")
			switch {
			case line == "":
				s.blocks <- b
				b = block{}
			case name == "":
				b.comment += line
			case name == "id":
				b.id = value
			case name == "event":
				b.event = value
			case name == "data":
				b.data += value
			case name == "retry":
				b.retry = value
			default:
				b.event = "cannot be read: " + line
			}
		}
	}()
	return s
}

// next returns the next block with an event. It relies on the test's own time limit.
func (s *subscriber) next() block {
	s.t.Helper()
	for {
		b, ok := <-s.blocks
		if !ok {
			s.t.Fatal("the stream has ended")
		}
		if b.id != "" {
			s.last = b.id
		}
		if b.event != "" {
			return b
		}
	}
}

// ends reads until the stream ends, and returns the last retry.
func (s *subscriber) ends() (retry string) {
	for b := range s.blocks {
		if b.retry != "" {
			retry = b.retry
		}
	}
	return retry
}

// kinds returns the next n events in a short form.
func (s *subscriber) kinds(n int) (list []string) {
	s.t.Helper()
	for range n {
		b := s.next()
		list = append(list, b.id+" "+b.event)
	}
	return list
}

func TestTheStreamTellsEveryChangeAsTheLogDoes(t *testing.T) {
	s := start(t)
	h := s.hazard("red")
	s.product("red", h.HazardID, note())
	stream := s.subscribe("reader", "?after=0")
	s.do("red", "PATCH", "/hazards/"+h.UUID, `{"severity_ID":"WARNING"}`)
	s.do("red", "POST", "/hazards/"+h.UUID+"/retract", `{"reason":"false"}`)
	log := objects(t, s.do("reader", "GET", "/changes", nil).Body)
	if len(log) != 4 {
		t.Fatalf("%d changes, want 4", len(log))
	}
	for _, want := range log {
		b := stream.next()
		if diff := cmp.Diff(string(want), b.data); diff != "" {
			t.Error(diff)
		}
		var c struct {
			Change int64  `json:"change"`
			Type   string `json:"type"`
		}
		if err := json.Unmarshal(want, &c); err != nil || b.id != digits(c.Change) || b.event != c.Type {
			t.Errorf("id %s, event %s, %v: %s", b.id, b.event, err, want)
		}
	}
}

func TestAStreamBeginsNowOrWhereItsReaderWas(t *testing.T) {
	s := start(t)
	for range 3 {
		s.hazard("red")
	}
	for name, tt := range map[string]struct {
		query, last string
		want        string // the first event; empty: the event of a change made after that
	}{
		"without a number, now":                              {"", "", ""},
		"from the beginning":                                 {"?after=0", "", "1 hazard.created"},
		"after a number":                                     {"?after=2", "", "3 hazard.created"},
		"after what a browser has seen, not its first":       {"?after=0", "2", "3 hazard.created"},
		"after the last":                                     {"", "3", ""},
		"after an id of another server, by a reset":          {"", "01a1fdfb-9c91-75b2", "3 reset"},
		"after a number of another history, by a reset":      {"", "4711", "3 reset"},
		"after a number of another history in the address":   {"?after=4711", "", "3 reset"},
		"after a number that is none in the store's numbers": {"", "99999999999999999999999999", "3 reset"},
		"after a number with a sign":                         {"", "-1", "3 reset"},
	} {
		t.Run(name, func(t *testing.T) {
			w := *s
			w.t = t
			var header []string
			if tt.last != "" {
				header = []string{"Last-Event-ID", tt.last}
			}
			stream := w.subscribe("reader", tt.query, header...)
			first := <-stream.blocks
			if first.retry != "2000" || first.id == "" {
				t.Errorf("the stream begins with %+v, which has no position to resume at", first)
			}
			if first.event == "reset" {
				if got := first.id + " reset"; got != tt.want || first.data != `{"change":3,"reason":"replaced"}` {
					t.Errorf("%+v, want %s", first, tt.want)
				}
				return
			}
			if tt.want == "" {
				if first.id != "3" {
					t.Errorf("now is after %s", first.id)
				}
				return
			}
			if got := stream.kinds(1)[0]; got != tt.want {
				t.Errorf("the first event is %s, want %s", got, tt.want)
			}
		})
	}
	t.Run("and says so when the address makes no sense", func(t *testing.T) {
		for _, query := range []string{"after=x", "after=-1", "after=", "after=1&after=2", "before=1", "limit=1"} {
			wantProblem(t, s.do("reader", "GET", "/events?"+query, nil), 400)
		}
	})
	t.Run("by HEAD, only in name", func(t *testing.T) {
		if a := s.do("reader", "HEAD", "/events", nil); a.Status != 200 || a.Header.Get("Content-Type") != "text/event-stream" || a.Header.Get("Hazardd-Change") != "3" {
			t.Errorf("%d %v", a.Status, a.Header)
		}
	})
}

func TestAStreamIsNotResumedAcrossWhatIsTooOld(t *testing.T) {
	p := handle(t)
	made(t, p)
	ahead := func(d time.Duration) { p.ahead.Store(int64(d)) }
	first := func(query string) string {
		t.Helper()
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		w := &cut{ResponseRecorder: httptest.NewRecorder(), after: cancel}
		p.ServeHTTP(w, newRequest(t, p.tokens, "reader", "GET", "http://hazardd.example/events"+query, nil).WithContext(ctx))
		return w.Body.String()
	}
	if got := first("?after=0"); strings.Contains(got, "reset") {
		t.Errorf("of today: %s", got)
	}
	ahead(sse.Kept + time.Minute)
	p.tokens.byUser = map[string]string{} // these have expired too
	if got := first("?after=0"); !strings.HasSuffix(got, "id: 1\nevent: reset\ndata: {\"change\":1,\"reason\":\"too old\"}\n\n") {
		t.Errorf("after a month: %s", got)
	}
	if got := first("?after=1"); strings.Contains(got, "reset") {
		t.Errorf("with nothing missed: %s", got)
	}
}

// cut is a reader that ends when the first bytes have arrived.
type cut struct {
	*httptest.ResponseRecorder
	after func()
}

func (c *cut) Flush() { c.ResponseRecorder.Flush(); c.after() }

func made(t *testing.T, p *inProcess) {
	t.Helper()
	if a := p.do("editor", "POST", "/hazards", flood()); a.Status != 201 {
		t.Fatalf("%d %s", a.Status, a.Body)
	}
}

func TestWhatAReaderMayNotKnowOfIsNotInTheStream(t *testing.T) {
	s := start(t)
	h := s.hazard("red")
	streams := map[string]*subscriber{}
	for _, user := range everybody[1:] {
		streams[user] = s.subscribe(user, "?after=0")
	}
	const canary = "canary-4711"
	p := s.product("red", h.HazardID, note("title", canary, "security_Flag", "R"))
	s.do("red", "PATCH", "/products/"+p.UUID, `{"data":"`+canary+`"}`)
	s.do("red", "PATCH", "/hazards/"+h.UUID, `{"severity_ID":"WARNING"}`)
	s.do("red", "DELETE", "/products/"+p.UUID, nil)
	s.hazard("red", "hazard_Name", "the last")
	member := []string{"1 hazard.created", "2 product.created", "3 product.updated", "4 hazard.updated", "5 product.deleted", "6 hazard.created"}
	stranger := []string{"1 hazard.created", "4 hazard.updated", "6 hazard.created"}
	for user, stream := range streams {
		want, total := stranger, `"product_total":"0"`
		if user == "red" || user == "red-reader" {
			want, total = member, `"product_total":"1"`
		}
		var got []string
		for range want {
			b := stream.next()
			got = append(got, b.id+" "+b.event)
			if len(want) == len(stranger) && strings.Contains(b.data, canary) {
				t.Errorf("%s reads %s", user, b.data)
			}
			if b.id == "4" && !strings.Contains(b.data, total) {
				t.Errorf("%s reads %s, want %s", user, b.data, total)
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %s", user, diff)
		}
	}
}

func TestAStreamEndsWithTheRightToReadIt(t *testing.T) {
	s := start(t)
	h := s.hazard("red")
	closed := func() { s.product("red", h.HazardID, note("security_Flag", "R")) }
	t.Run("of a user who is disabled", func(t *testing.T) {
		stream := s.subscribe("fire", "")
		if err := s.Auth.Accounts().Disable(t.Context(), actor, "fire", s.Now()); err != nil {
			t.Fatal(err)
		}
		stream.ends()
	})
	t.Run("of a member who is none any more, in part", func(t *testing.T) {
		stream := s.subscribe("red-reader", "?after=1")
		closed()
		if got := stream.kinds(1)[0]; got != "2 product.created" {
			t.Errorf("a member reads %s", got)
		}
		if err := s.Auth.Accounts().SetOrgs(t.Context(), actor, "red-reader", nil, s.Now()); err != nil {
			t.Fatal(err)
		}
		closed()
		s.hazard("red")
		if got := stream.kinds(1)[0]; got != "4 hazard.created" {
			t.Errorf("a former member reads %s", got)
		}
	})
	t.Run("of a token that expires", func(t *testing.T) {
		short := start(t, func(c *app.Config) { c.AccessLife = 5 * time.Second })
		short.subscribe("reader", "").ends()
	})
}

func TestTooManyStreamsAreRefused(t *testing.T) {
	s := start(t, func(c *app.Config) { c.UserStreams, c.AllStreams = 2, 3 })
	s.subscribe("reader", "")
	mine := s.subscribe("reader", "")
	for _, path := range []string{"/events", "/changes?wait=1s"} {
		a := s.do("reader", "GET", path, nil)
		if p := wantProblem(t, a, 429); a.Header.Get("Retry-After") == "" || !strings.Contains(p.Detail, "2 streams") {
			t.Errorf("%s: %s", path, a.Body)
		}
	}
	s.subscribe("red", "")
	if a := s.do("fire", "GET", "/events", nil); a.Header.Get("Retry-After") == "" {
		t.Errorf("%v", a.Header)
	} else {
		wantProblem(t, a, 503)
	}
	counts := s.do("root", "GET", "/metrics", nil)
	for _, count := range []string{`hazardd_limit_refusals_total{limit="user-streams"} 2`, `hazardd_limit_refusals_total{limit="all-streams"} 1`} {
		if !strings.Contains(string(counts.Body), count) {
			t.Errorf("%s is missing", count)
		}
	}
	if a := s.do("reader", "GET", "/hazards/active", nil); a.Status != 200 {
		t.Errorf("other reads: %d", a.Status)
	}
	_ = mine.resp.Body.Close()
	mine.ends()
	for { // the server notices this a moment later
		resp, err := s.client.Do(newRequest(t, s.tokens, "fire", "GET", s.URL()+"/events", nil))
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		if resp.StatusCode == 200 {
			return
		}
	}
}

func TestStreamsOverHTTP2ShareAConnection(t *testing.T) {
	s := start(t)
	var protocols http.Protocols
	protocols.SetUnencryptedHTTP2(true)
	var dialled sync.Map
	transport := &http.Transport{Protocols: &protocols, DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := (&net.Dialer{}).DialContext(ctx, network, address)
		if err == nil {
			dialled.Store(conn.LocalAddr().String(), true)
		}
		return conn, err
	}}
	t.Cleanup(transport.CloseIdleConnections)
	var streams []*subscriber
	for range 20 {
		req := newRequest(t, s.tokens, "reader", "GET", s.URL()+"/events?after=0", nil)
		stream := followStream(t, &http.Client{Transport: transport}, req)
		if stream.resp.ProtoMajor != 2 {
			t.Fatal(stream.resp.Proto)
		}
		streams = append(streams, stream)
	}
	s.hazard("red")
	s.hazard("red")
	for _, stream := range streams {
		if got := stream.kinds(2); !slices.Equal(got, []string{"1 hazard.created", "2 hazard.created"}) {
			t.Errorf("%v", got)
		}
	}
	n := 0
	dialled.Range(func(any, any) bool { n++; return true })
	if n != 1 {
		t.Errorf("%d connections", n)
	}
}

func TestAtTheEndOfTheServiceReadersAreToldToComeAgain(t *testing.T) {
	if testing.Short() {
		t.Skip("serves, which takes seconds")
	}
	data := t.TempDir()
	var streams []*subscriber
	t.Run("while it runs", func(inner *testing.T) { // the service ends with it, but the streams do not
		s := &world{Server: server.ServeEmpty(inner, data), t: t, client: &http.Client{Transport: &http.Transport{}}}
		s.tokens = &tokens{issue: s.Token, byUser: map[string]string{}}
		for range 10 {
			stream := s.subscribe("admin", "")
			<-stream.blocks
			streams = append(streams, stream)
		}
	})
	retries := map[string]bool{}
	for _, stream := range streams {
		retries[stream.ends()] = true
	}
	if len(retries) < 2 || retries[""] {
		t.Errorf("the retry delays of ten readers are %v", sortedKeys(retries))
	}
}

func TestChangesCanBeWaitedFor(t *testing.T) {
	s := start(t)
	h := s.hazard("red")
	ask := func(user, query string) (answer chan server.Answer) {
		answer = make(chan server.Answer, 1)
		go func() { answer <- s.do(user, "GET", "/changes?"+query, nil) }()
		return answer
	}
	for _, user := range everybody[1:] {
		s.tokens.of(user)
	}
	t.Run("and what is there comes at once", func(t *testing.T) {
		if got := items(t, <-ask("reader", "after=0&wait=60s")); len(got) != 1 {
			t.Errorf("%d changes", len(got))
		}
	})
	t.Run("and what comes is told, to who may know of it", func(t *testing.T) {
		reader, member := ask("reader", "after=1&wait=60s"), ask("red-reader", "after=1&wait=60s")
		s.product("red", h.HazardID, note("security_Flag", "R"))
		if a := <-member; !strings.Contains(string(a.Body), `"change":2`) {
			t.Errorf("a member reads %d %s", a.Status, a.Body)
		}
		s.hazard("red")
		if a := <-reader; !strings.HasPrefix(string(a.Body), `[{"change":3,`) {
			t.Errorf("a stranger reads %d %s", a.Status, a.Body)
		}
	})
	t.Run("for a while", func(t *testing.T) {
		if a := <-ask("reader", "after=3&wait=10ms"); a.Status != 200 || string(a.Body) != "[]" || a.Header.Get("Hazardd-Change") != "3" {
			t.Errorf("%d %s", a.Status, a.Body)
		}
	})
	t.Run("not for ever, nor in another history", func(t *testing.T) {
		for _, query := range []string{"wait=61s", "wait=-1s", "wait=x", "wait=", "wait=10"} {
			wantProblem(t, s.do("reader", "GET", "/changes?"+query, nil), 400)
		}
		wantProblem(t, s.do("reader", "GET", "/changes?after=99&wait=10s", nil), 410)
		wantProblem(t, s.do("reader", "GET", "/hazards/1/changes?wait=1s", nil), 400)
	})
	t.Run("not by who may not read any more", func(t *testing.T) {
		waiting := ask("fire", "after=3&wait=60s")
		if err := s.Auth.Accounts().Disable(t.Context(), actor, "fire", s.Now()); err != nil {
			t.Fatal(err)
		}
		if a := <-waiting; a.Status != 403 || string(a.Body) != "Invalid Token" {
			t.Errorf("%d %s", a.Status, a.Body)
		}
	})
}

// pipes is a network without delays and without buffers, for tests in synctest bubbles.
type pipes struct {
	conns chan net.Conn
	once  sync.Once
}

func (p *pipes) Accept() (net.Conn, error) {
	conn, ok := <-p.conns
	if !ok {
		return nil, net.ErrClosed
	}
	return conn, nil
}
func (p *pipes) Close() error   { p.once.Do(func() { close(p.conns) }); return nil }
func (p *pipes) Addr() net.Addr { return &net.TCPAddr{} }

func (p *pipes) dial() net.Conn {
	ours, theirs := net.Pipe()
	p.conns <- theirs
	return ours
}

func TestTheRhythmOfAStream(t *testing.T) {
	for _, proto := range []string{"HTTP/1.1", "HTTP/2.0"} {
		t.Run(proto, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := handle(t)
				var protocols http.Protocols
				protocols.SetHTTP1(proto == "HTTP/1.1")
				protocols.SetUnencryptedHTTP2(proto != "HTTP/1.1")
				// The limits are shorter than the stream, like those of the service.
				srv := &http.Server{Handler: p, ReadTimeout: time.Minute, WriteTimeout: time.Minute, Protocols: &protocols}
				network := &pipes{conns: make(chan net.Conn)}
				served := make(chan error, 1)
				go func() { served <- srv.Serve(network) }()
				transport := &http.Transport{Protocols: &protocols, DialContext: func(context.Context, string, string) (net.Conn, error) { return network.dial(), nil }}
				req := newRequest(t, p.tokens, "reader", "GET", "http://hazardd.example/events", nil)
				stream := followStream(t, &http.Client{Transport: transport}, req)
				if stream.resp.Proto != proto {
					t.Fatal(stream.resp.Proto)
				}
				<-stream.blocks
				began := time.Now()
				for i := range 20 {
					b := <-stream.blocks
					if b.comment != ":" || b.event != "" || b.id != "" {
						t.Errorf("%+v, want a comment", b)
					}
					if after := time.Since(began); after != time.Duration(i+1)*15*time.Second {
						t.Errorf("comment %d comes after %v", i, after)
					}
				}
				made(t, p)
				if b := stream.next(); b.event != "hazard.created" {
					t.Errorf("%+v", b)
				}
				// A change that the reader may not see also moves its position.
				closedProduct(t, p)
				synctest.Wait()
				if b := <-stream.blocks; b.comment != ":" || b.id != "2" {
					t.Errorf("%+v, want the position to resume at", b)
				}
				_ = stream.resp.Body.Close()
				transport.CloseIdleConnections()
				if err := srv.Close(); err != nil {
					t.Error(err)
				}
				<-served
			})
		})
	}
}

func closedProduct(t *testing.T, p *inProcess) {
	t.Helper()
	if a := p.do("editor", "POST", "/hazards/1/products", note("security_Flag", "R")); a.Status != 201 {
		t.Fatalf("%d %s", a.Status, a.Body)
	}
}

func TestAReaderThatReadsNothingIsDropped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := handle(t)
		srv := &http.Server{Handler: p}
		network := &pipes{conns: make(chan net.Conn)}
		served := make(chan error, 1)
		go func() { served <- srv.Serve(network) }()
		conn := network.dial()
		if _, err := fmt.Fprintf(conn, "GET /events HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\n\r\n", p.tokens.of("reader")); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if n := p.Push.Streams(); n != 1 {
			t.Fatalf("%d streams", n)
		}
		began := time.Now()
		for p.Push.Streams() > 0 && time.Since(began) < time.Hour {
			time.Sleep(time.Second)
		}
		if after := time.Since(began); after > 21*time.Second {
			t.Errorf("dropped after %v", after)
		}
		_ = conn.Close()
		if err := srv.Close(); err != nil {
			t.Error(err)
		}
		<-served
	})
}

// Streams of a user whose readers have disappeared silently do not prevent new streams of the
// user.
func TestANewStreamReplacesOneThatIsNotRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := handle(t)
		srv := &http.Server{Handler: p}
		network := &pipes{conns: make(chan net.Conn)}
		served := make(chan error, 1)
		go func() { served <- srv.Serve(network) }()
		open := func() (net.Conn, int) {
			conn := network.dial()
			if _, err := fmt.Fprintf(conn, "GET /events HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\n\r\n", p.tokens.of("reader")); err != nil {
				t.Fatal(err)
			}
			resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
			if err != nil {
				t.Fatal(err)
			}
			return conn, resp.StatusCode
		}
		var conns []net.Conn
		for range 4 { // the limit of these tests; the readers read the first text, and nothing more
			conn, status := open()
			if status != http.StatusOK {
				t.Fatalf("status %d", status)
			}
			conns = append(conns, conn)
		}
		time.Sleep(2 * 15 * time.Second)
		synctest.Wait()
		conn, early := open()
		conns = append(conns, conn)
		time.Sleep(time.Second)
		conn, late := open()
		conns = append(conns, conn)
		if early != http.StatusTooManyRequests || late != http.StatusOK {
			t.Errorf("status %d after 30 s without a write that succeeded, %d after 31 s, want 429 and 200", early, late)
		}
		time.Sleep(2 * time.Second)
		if n := p.Push.Streams(); n != 4 {
			t.Errorf("%d streams 2 s after one was replaced, want 4", n)
		}
		for _, conn := range conns {
			_ = conn.Close()
		}
		if err := srv.Close(); err != nil {
			t.Error(err)
		}
		<-served
	})
}

func TestAtTheEndOfTheServiceNobodyWaitsForAReaderThatReadsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := handle(t)
		srv := &http.Server{Handler: p}
		network := &pipes{conns: make(chan net.Conn)}
		served := make(chan error, 1)
		go func() { served <- srv.Serve(network) }()
		conn := network.dial()
		if _, err := fmt.Fprintf(conn, "GET /events HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\n\r\n", p.tokens.of("reader")); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		began := time.Now()
		p.Push.End()
		if err := srv.Shutdown(t.Context()); err != nil {
			t.Error(err)
		}
		if after := time.Since(began); after > 2*time.Second {
			t.Errorf("the end took %v", after)
		}
		<-served
		_ = conn.Close()
	})
}

func TestASlowReaderIsServedAtItsOwnPace(t *testing.T) {
	test.SeldomButRaced(t)
	s := start(t)
	stream, err := s.client.Do(newRequest(t, s.tokens, "reader", "GET", s.URL()+"/events?after=0", nil))
	if err != nil {
		t.Fatal(err)
	}
	defer stream.Body.Close()
	// Far more changes than memory holds, and far more bytes than the network buffers.
	const changes = 3000
	_, err = s.Store.Write(t.Context(), s.Now(), store.Origin{Admin: true}, func(tx *store.Tx) error {
		var before *hazard.Hazard
		for i := range changes {
			h := &hazard.Hazard{UUID: hazard.EventUUID("test", "1"), Name: fmt.Sprint("change ", i+1), Description: strings.Repeat("x", 3000), Type: hazard.Flood, Severity: hazard.Watch,
				Category: hazard.Event, Status: hazard.Active}
			if before != nil {
				h.ID = before.ID
			}
			if err := tx.SaveHazard(h, before); err != nil {
				return err
			}
			before = h
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	s.settle(changes)
	lines := bufio.NewScanner(stream.Body)
	lines.Buffer(nil, 1<<20)
	for n := 1; n <= changes && lines.Scan(); {
		data, ok := strings.CutPrefix(lines.Text(), "data: ")
		if !ok {
			continue
		}
		if !strings.Contains(data, fmt.Sprintf(`"change":%d,`, n)) {
			t.Fatalf("change %d: %.100s", n, data)
		}
		n++
	}
	if err := lines.Err(); err != nil {
		t.Error(err)
	}
}

func TestAStreamTellsWhatPassesItsFilterAndWhatLeavesIt(t *testing.T) {
	s := start(t)
	warnings := s.subscribe("reader", "?after=0&severity=WARNING")
	near := s.subscribe("reader", "?after=0&bbox=19,9,21,11&status=A")
	h := s.hazard("red")             // 1: a WATCH at 20 10
	s.hazard("red", "latitude", -50) // 2: elsewhere
	patch := func(id, body string) { // each call makes one change
		t.Helper()
		if a := s.do("red", "PATCH", "/hazards/"+id, body); a.Status != 200 {
			t.Fatalf("%d %s", a.Status, a.Body)
		}
	}
	patch(h.UUID, `{"severity_ID":"WARNING"}`)              // 3
	s.product("red", h.HazardID, note())                    // 4
	patch(h.UUID, `{"severity_ID":"ADVISORY"}`)             // 5: no longer matches the first filter
	s.product("red", h.HazardID, note())                    // 6
	patch(h.UUID, `{"longitude":30,"latitude":30}`)         // 7: no longer matches the second filter
	patch(h.UUID, `{"longitude":20,"latitude":10}`)         // 8: and comes back
	patch(h.UUID, `{"severity_ID":"WARNING","status":"E"}`) // 9: ends, and leaves the active ones
	s.hazard("red", "severity_ID", "WARNING")               // 10
	for name, tt := range map[string]struct {
		stream *subscriber
		want   []string
	}{
		"of a severity":                {warnings, []string{"3 hazard.updated", "4 product.created", "5 hazard.updated left", "9 hazard.expired", "10 hazard.created"}},
		"of a place, as long as it is": {near, []string{"1 hazard.created", "3 hazard.updated", "4 product.created", "5 hazard.updated", "6 product.created", "7 hazard.updated left", "8 hazard.updated", "9 hazard.expired left", "10 hazard.created"}},
	} {
		var got []string
		for range tt.want {
			b := tt.stream.next()
			line := b.id + " " + b.event
			if strings.Contains(b.data, `"left":true`) {
				line += " left"
			}
			got = append(got, line)
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s:\n%s", name, diff)
		}
	}
	if p := wantProblem(t, s.do("reader", "GET", "/events?severity=BAD&bbox=1&sort=x&source=nobody", nil), 400); !slices.Equal(p.faults(), []string{"bbox", "severity", "sort"}) {
		t.Errorf("%+v", p)
	}
	wantProblem(t, s.do("reader", "GET", "/events?source=nobody", nil), 400)
}

// A hazard that expires leaves the active ones with the change that records its end.
func TestAHazardThatEndsByItselfLeavesTheStreamOfActiveOnes(t *testing.T) {
	t.Parallel() // it waits more than it works
	s := start(t)
	stream := s.subscribe("reader", "?after=0&status=A")
	s.hazard("red", "autoexpire", "Y", "end_Date", digits(int64(s.Now())+300))
	stream.next()
	if b := stream.next(); b.event != "hazard.expired" || !strings.Contains(b.data, `"left":true`) || !strings.Contains(b.data, `"reason":"expired"`) {
		t.Errorf("%+v", b)
	}
}

// An earlier state of the database takes its place while the server runs, as when somebody restores it:
// the changes after change 1 were acknowledged and sent, and are lost.
func TestChangesThatAReplacedDatabaseLacksAreToldToBeVoid(t *testing.T) {
	test.SeldomButRaced(t)
	t.Run("by itself", func(t *testing.T) { replacedDatabase(t, "") })
	t.Run("PostgreSQL", func(t *testing.T) { replacedDatabase(t, postgres.URL(t)) })
}

func replacedDatabase(t *testing.T, database string) {
	var cfg app.Config
	s := start(t, func(c *app.Config) {
		if database != "" {
			c.Database, c.AddressKey = database, filepath.Join(t.TempDir(), subscription.KeyFile)
			if _, err := subscription.ReadKey(c.AddressKey, true); err != nil {
				t.Fatal(err)
			}
		}
		cfg = *c
	})
	first := s.hazard("red")
	open := s.subscribe("reader", "?after=0")
	if got := open.kinds(1); got[0] != "1 hazard.created" {
		t.Fatal(got)
	}
	for range 2 {
		s.hazard("red")
	}
	if got := open.kinds(2); got[1] != "3 hazard.created" {
		t.Fatal(got)
	}
	before := s.do("reader", "GET", "/hazards/active", nil)
	beside(t, cfg, `BEGIN; DELETE FROM changes WHERE n > 1; DELETE FROM hazards WHERE n > 1; DELETE FROM searchable WHERE n > 1;
		UPDATE counters SET value = 1 WHERE name IN ('change', 'searchable', 'hazard'); COMMIT`)
	if reset := open.next(); reset.event != "reset" || reset.id != "1000001" || reset.data != `{"change":1000001,"reason":"replaced"}` {
		t.Errorf("the open stream gets %+v, want a reset", reset)
	}
	s.settle(1_000_001)
	list := s.do("reader", "GET", "/hazards/active", nil, "If-None-Match", before.Header.Get("ETag"))
	if n := strings.Count(string(list.Body), `"uuid"`); n != 1 || !strings.Contains(string(list.Body), first.UUID) {
		t.Errorf("the list has %d hazards: %s", n, list.Body)
	}
	next := s.hazard("red")
	if next.HazardID != 10_002 {
		t.Errorf("the next hazard is number %d: the meaning of a number must not change", next.HazardID)
	}
	if got := open.kinds(1)[0]; got != "1000002 hazard.created" {
		t.Errorf("the open stream continues with %s", got)
	}
	for after, want := range map[string]string{"0": "1 hazard.created", "1": "1000002 hazard.created", "2": "reset", "3": "reset", "1000000": "reset"} {
		stream := s.subscribe("reader", "", "Last-Event-ID", after)
		if begin := <-stream.blocks; begin.event == "reset" {
			if want != "reset" {
				t.Errorf("after %s: %+v", after, begin)
			}
		} else if got := stream.kinds(1)[0]; got != want {
			t.Errorf("after %s: %s, want %s", after, got, want)
		}
	}
	wantProblem(t, s.do("reader", "GET", "/changes?after=3", nil), 410)
	if a := s.do("reader", "GET", "/changes?after=1", nil); a.Status != 200 || !strings.Contains(string(a.Body), "1000002") {
		t.Errorf("%d %s", a.Status, a.Body)
	}
}
