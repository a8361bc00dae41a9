package client_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hazardd/hazardd/client"
	"github.com/hazardd/hazardd/internal/test/server"
)

// streams is a server of streams in memory: each connection is told the next script, the last again and again.
type streams struct {
	mu      sync.Mutex
	scripts []script
	asked   []string // Last-Event-ID of each connection
	at      []time.Time
}

// script is what a connection gets. An empty status is 200, an empty kind an event stream; hold keeps it open.
type script struct {
	status int
	kind   string
	header http.Header
	body   string
	hold   bool
	fail   error // in place of an answer
}

func (s *streams) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.URL.Path != "/api/events" {
		return nil, fmt.Errorf("%s is not the stream", r.URL)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked, s.at = append(s.asked, r.Header.Get("Last-Event-ID")+r.URL.RawQuery), append(s.at, time.Now())
	now := s.scripts[0]
	if len(s.scripts) > 1 {
		s.scripts = s.scripts[1:]
	}
	if now.fail != nil {
		return nil, now.fail
	}
	resp := &http.Response{StatusCode: 200, Status: "200 OK", Header: http.Header{"Content-Type": {"text/event-stream"}}, Request: r}
	if now.status != 0 {
		resp.StatusCode = now.status
	}
	if now.kind != "" {
		resp.Header.Set("Content-Type", now.kind)
	}
	for name, values := range now.header {
		resp.Header[name] = values
	}
	reader, writer := io.Pipe()
	resp.Body = reader
	go func() {
		_, _ = io.WriteString(writer, now.body)
		if now.hold {
			<-r.Context().Done()
			_ = writer.CloseWithError(r.Context().Err())
		}
		_ = writer.Close()
	}()
	return resp, nil
}

// event returns an event of the stream as servers send it.
func event(n int) string {
	return fmt.Sprintf("id: %d\nevent: hazard.updated\ndata: {\"change\":%d,\"type\":\"hazard.updated\",\"hazard\":{\"hazard_ID\":7}}\n\n", n, n)
}

const hello = ": hello\nretry: 2000\nid: 10\n\n"

func TestTheStreamComesAgainWhereItWasCut(t *testing.T) {
	for name, tt := range map[string]struct {
		scripts []script
		after   int64
		want    string   // changes and resets, in order
		asked   []string // where each connection began
		waits   []time.Duration
	}{
		"when the server ends it": {[]script{{body: hello + event(11)}, {body: "id: 11\n\n" + event(12), hold: true}}, client.FromNow, "11 12", []string{"", "11"}, []time.Duration{2 * time.Second}},
		"when it breaks within an event": {[]script{{body: hello + event(11) + "id: 12\nevent: hazard.updated\ndata: {\"chan"}, {body: event(12), hold: true}}, 10, "11 12", []string{"10", "11"},
			[]time.Duration{2 * time.Second}},
		"at a place that came without an event": {[]script{{body: hello + ":\nid: 50\n\n"}, {body: event(51), hold: true}}, 10, "51", []string{"10", "50"}, []time.Duration{2 * time.Second}},
		"when nothing came for three comments":  {[]script{{body: hello, hold: true}, {body: event(11), hold: true}}, 10, "11", []string{"10", "10"}, []time.Duration{47 * time.Second}},
		"when the server is away for a while": {[]script{{fail: errors.New("connection refused")}, {status: 503}, {status: 502, kind: "text/html"}, {status: 429}, {body: event(11), hold: true}}, 10, "11",
			[]string{"10", "10", "10", "10", "10"}, []time.Duration{time.Second, 2 * time.Second, 4 * time.Second, 8 * time.Second}},
		"when the server says when": {[]script{{status: 503, header: http.Header{"Retry-After": {"20"}}}, {body: event(11), hold: true}}, 10, "11", []string{"10", "10"}, []time.Duration{20 * time.Second}},
		"when the history was replaced": {[]script{{body: "id: 5\nevent: reset\ndata: {\"change\":5,\"reason\":\"replaced\"}\n\n" + event(6)}, {body: event(7), hold: true}}, 99, "replaced@5 6 7",
			[]string{"99", "6"}, []time.Duration{time.Second}},
		"past what a later server may send": {[]script{{body: hello + "event: weather\ndata: {\"change\":11}\nunknown: x\n\n" + "data: {}\n\n" + strings.ReplaceAll(event(12), "\n", "\r\n"), hold: true}}, 10, "12",
			[]string{"10"}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				server := &streams{scripts: tt.scripts}
				c := ask(t, server, func(o *client.Options) { o.Username, o.Password, o.Token = "", "", "good" })
				var got []string
				for e, err := range c.Events(t.Context(), tt.after, client.EventOptions{}) {
					if err != nil {
						t.Fatal(err)
					}
					word := fmt.Sprint(e.Number)
					if e.Reset != "" {
						word = e.Reset + "@" + word
					} else if e.Hazard == nil || e.Hazard.HazardID != 7 {
						t.Errorf("%+v", e)
					}
					if got = append(got, word); strings.Join(got, " ") == tt.want {
						break
					}
				}
				if diff := cmp.Diff(tt.asked, server.asked); diff != "" {
					t.Error(diff)
				}
				for i, want := range tt.waits {
					if gap := server.at[i+1].Sub(server.at[i]); gap < want/2 || gap > want {
						t.Errorf("connection %d comes after %v, want half to all of %v", i+2, gap, want)
					}
				}
			})
		})
	}
}

func TestTheStreamEndsWithWhatNoWaitingCures(t *testing.T) {
	for name, tt := range map[string]struct {
		script script
		want   error
	}{
		"no stream there":      {script{status: 404}, client.ErrNotFound},
		"a filter that is bad": {script{status: 400}, client.ErrInvalid},
		"not allowed":          {script{status: 403, kind: "application/problem+json"}, client.ErrForbidden},
		"a token that is bad":  {script{status: 403, kind: "text/plain"}, client.ErrUnauthorized},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { wantEnd(t, tt.script, func(err error) bool { return errors.Is(err, tt.want) }) })
		})
	}
	for name, s := range map[string]script{
		"a page of a proxy":         {kind: "text/html", body: "<html>"},
		"what is no JSON":           {body: "id: 11\nevent: hazard.updated\ndata: x\n\n"},
		"a change before the last":  {body: event(11) + event(11)},
		"a reset that says nothing": {body: "event: reset\ndata: {}\n\n"},
		"an event without an end":   {body: "data: " + strings.Repeat("x", 33<<20)},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				wantEnd(t, s, func(err error) bool { _, ok := errors.AsType[*client.AnswerError](err); return ok })
			})
		})
	}
	t.Run("an end of the caller", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithCancelCause(t.Context())
			stopped := errors.New("the operator stopped it")
			time.AfterFunc(time.Minute, func() { cancel(stopped) })
			c := ask(t, &streams{scripts: []script{{status: 503}}}, func(o *client.Options) { o.Username, o.Password, o.Token = "", "", "good" })
			for _, err := range c.Events(ctx, 0, client.EventOptions{}) {
				if !errors.Is(err, stopped) {
					t.Errorf("%v", err)
				}
			}
		})
	})
}

func wantEnd(t *testing.T, s script, right func(error) bool) {
	t.Helper()
	c := ask(t, &streams{scripts: []script{s}}, func(o *client.Options) { o.Username, o.Password, o.Token = "", "", "good" })
	ends := 0
	for _, err := range c.Events(t.Context(), 10, client.EventOptions{}) {
		if err == nil {
			continue
		}
		if ends++; !right(err) {
			t.Errorf("%v", err)
		}
	}
	if ends != 1 {
		t.Errorf("%d errors", ends)
	}
}

func TestEventsOfTheRealServer(t *testing.T) {
	srv := server.Serve(t)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	editor, _ := as(t, srv, "red")
	c, _ := as(t, srv, "reader")
	made := must(editor.Editor().CreateHazard(ctx, flood()))(t)
	connected := int64(-1)
	n := 0
	for e, err := range c.Events(ctx, 0, client.EventOptions{Connected: func(after int64) { connected = after }}) {
		if err != nil {
			t.Fatal(err)
		}
		n++
		if e.Number != int64(n) || e.Hazard == nil || e.Hazard.UUID != made.UUID {
			t.Errorf("%+v", e)
		}
		if n == 1 {
			if _, err := editor.Editor().Retract(ctx, made.UUID, "false"); err != nil {
				t.Fatal(err)
			}
			continue
		}
		if e.Type != "hazard.expired" || !e.Retracted {
			t.Errorf("%+v", e)
		}
		break
	}
	if connected != 0 {
		t.Errorf("connected after %d", connected)
	}
}

func FuzzEvents(f *testing.F) {
	f.Add(hello + event(11))
	f.Add("id: 1\r\nevent: reset\r\ndata: {\"change\":1,\"reason\":\"x\"}\r\n\r\n")
	f.Add("data\ndata: \nretry: 99999999999\nid:\nid: -1\n\n")
	f.Fuzz(func(t *testing.T, body string) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		c := ask(t, &streams{scripts: []script{{body: body}}}, func(o *client.Options) { o.Username, o.Password, o.Token = "", "", "good" })
		last := int64(0)
		for e, err := range c.Events(ctx, 0, client.EventOptions{Waiting: func(error, time.Duration) { cancel() }}) {
			if err != nil {
				break
			}
			if e.Reset == "" && e.Hazard == nil && e.Product == nil {
				t.Fatalf("%q: an event of nothing: %+v", body, e)
			}
			if e.Reset == "" && e.Number <= last && !strings.Contains(body, "reset") && strings.Count(body, "id") == 0 {
				t.Fatalf("%q: change %d after %d", body, e.Number, last)
			}
			last = e.Number
		}
	})
}
