package serve_test

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"mime/multipart"
	"net"
	"net/http"
	"net/http/httptest"
	"net/textproto"
	"net/url"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/andybalholm/brotli"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/hazardd/hazardd/internal/app"
	"github.com/hazardd/hazardd/internal/atlas/basemap"
	"github.com/hazardd/hazardd/internal/atlas/population"
	"github.com/hazardd/hazardd/internal/auth"
	"github.com/hazardd/hazardd/internal/edit"
	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/hazard/clock"
	"github.com/hazardd/hazardd/internal/ingest/coverage"
	"github.com/hazardd/hazardd/internal/ingest/fuse"
	"github.com/hazardd/hazardd/internal/ingest/poll"
	"github.com/hazardd/hazardd/internal/ingest/poll/delay"
	"github.com/hazardd/hazardd/internal/ingest/source"
	"github.com/hazardd/hazardd/internal/ingest/why"
	"github.com/hazardd/hazardd/internal/serve"
	"github.com/hazardd/hazardd/internal/serve/admin"
	"github.com/hazardd/hazardd/internal/serve/sse"
	"github.com/hazardd/hazardd/internal/store"
	"github.com/hazardd/hazardd/internal/store/follow"
	"github.com/hazardd/hazardd/internal/store/sqlite/pagesum"
	"github.com/hazardd/hazardd/internal/store/view"
	"github.com/hazardd/hazardd/internal/test/datadir"
	"github.com/hazardd/hazardd/internal/test/server"
)

// world is the running service and a client that keeps its connections and the users' tokens.
type world struct {
	*server.Server
	t      testing.TB
	client *http.Client
	tokens *tokens
}

// tokens are one access token of each user.
type tokens struct {
	mu     sync.Mutex
	issue  func(user string) string
	byUser map[string]string
}

func (k *tokens) of(user string) string {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.byUser[user] == "" {
		k.byUser[user] = k.issue(user)
	}
	return k.byUser[user]
}

func start(t testing.TB, alter ...func(*app.Config)) *world {
	t.Helper()
	s := server.Serve(t, alter...)
	transport := &http.Transport{DisableCompression: true, MaxIdleConnsPerHost: 16}
	t.Cleanup(transport.CloseIdleConnections)
	return &world{Server: s, t: t, tokens: &tokens{issue: s.Token, byUser: map[string]string{}},
		client: &http.Client{Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}}
}

// do sends a request, as server.Server.Do does, but with the same token and connections each time.
func (w *world) do(user, method, path string, body any, header ...string) server.Answer {
	w.t.Helper()
	req := newRequest(w.t, w.tokens, user, method, w.URL()+path, body, header...)
	resp, err := w.client.Do(req)
	if err != nil {
		w.t.Fatalf("%s %.200s: %v", method, path, err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		w.t.Fatalf("%s %.200s: %v", method, path, err)
	}
	a := server.Answer{Status: resp.StatusCode, Header: resp.Header, Body: text}
	server.Check(w.t, req, a)
	return a
}

func newRequest(t testing.TB, k *tokens, user, method, address string, body any, header ...string) *http.Request {
	t.Helper()
	var r io.Reader
	switch b := body.(type) {
	case nil:
	case io.Reader:
		r = b
	case string:
		r = strings.NewReader(b)
	case []byte:
		r = bytes.NewReader(b)
	default:
		text, err := json.Marshal(b)
		if err != nil {
			t.Fatal(err)
		}
		r = bytes.NewReader(text)
	}
	req, err := http.NewRequestWithContext(t.Context(), method, address, r)
	if err != nil {
		t.Fatal(err)
	}
	if user != "" {
		req.Header.Set("Authorization", "Bearer "+k.of(user))
	}
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	return req
}

// stopped makes the service's time stand still: what it counts by the second must not pass while a busy machine asks.
func stopped(c *app.Config) {
	now := clock.Reading{Wall: time.Now(), Asleep: func() time.Duration { return 0 }}
	c.Clock = clock.New(func() clock.Reading { return now })
}

// settle waits until readers see change n.
func (w *world) settle(n int64) {
	w.t.Helper()
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); {
		var ready struct {
			Change int64 `json:"change"`
		}
		w.do("", "GET", "/readyz", nil).JSON(w.t, &ready)
		if ready.Change >= n {
			return
		}
	}
	w.t.Fatalf("readers do not see change %d", n)
}

// report lets a source say something.
func (w *world) report(reports ...hazard.Report) {
	w.t.Helper()
	w.takeIn(reports[0].Source, source.Batch{Reports: reports, Read: len(reports)})
}

// builtIn are the sources that the service knows. The intake of a test must rank them as the service does: otherwise what an
// editor does would change who has the word.
var builtIn = sync.OnceValue(app.BuiltIn)

func (w *world) intake() *fuse.Intake {
	return fuse.New(w.Store, fuse.Known{Authority: builtIn().Authority(), Schemes: builtIn().Schemes()})
}

// beside runs a statement in the database of a server while that runs.
func beside(t *testing.T, cfg app.Config, statement string) {
	t.Helper()
	driver, name := "pgx", cfg.Database
	if name == "" {
		driver, name = "sqlite", "file:"+filepath.Join(cfg.DataDir, store.FileName)+"?vfs="+pagesum.Strict+"&_pragma=busy_timeout(10000)"
	}
	d, err := sql.Open(driver, name)
	if err != nil {
		t.Fatal(err)
	}
	_, err = d.ExecContext(t.Context(), statement)
	if err := errors.Join(err, d.Close()); err != nil {
		t.Fatal(err)
	}
}

// takeIn takes in a batch of a source.
func (w *world) takeIn(src string, batch source.Batch) {
	w.t.Helper()
	res, err := w.intake().Apply(w.t.Context(), src, batch, hazard.At(time.Now()), fuse.Options{})
	if err != nil {
		w.t.Fatal(err)
	}
	if res.Held+res.Rejected+res.Ignored > 0 {
		w.t.Fatalf("the report was not taken in: %+v", res)
	}
	w.settle(res.Last)
}

// quake is what a source says of an earthquake that goes on.
func quake(key string, version int64) hazard.Report {
	at := hazard.At(time.Now()).Add(-time.Hour)
	return hazard.Report{Source: "usgs", Key: key, Version: version, Name: "Earthquake " + key, Description: "as the source says", Type: hazard.Earthquake,
		Severity: hazard.Advisory, Start: at, Point: &hazard.Point{Lon: 10, Lat: 20}, Creator: "USGS", Comment: "key " + key, URL: "https://example.org/" + key}
}

// flood is the body of the smallest hazard that can be made, with more members or other values in turn; a nil value takes one away.
func flood(more ...any) map[string]any {
	return with(map[string]any{"hazard_Name": "Flood", "type_ID": "FLOOD", "severity_ID": "WATCH", "latitude": 10, "longitude": 20}, more...)
}

// note is the body of a text product, altered in the same way.
func note(more ...any) map[string]any {
	return with(map[string]any{"title": "Note", "product_Type": "TEXT_PRODUCT", "data": "text"}, more...)
}

// folder is the body of a folder, altered in the same way.
func folder(more ...any) map[string]any {
	return with(map[string]any{"title": "Folder", "product_Type": "FOLDER_PRODUCT"}, more...)
}

func with(body map[string]any, more ...any) map[string]any {
	for i := 0; i < len(more); i += 2 {
		if body[more[i].(string)] = more[i+1]; more[i+1] == nil {
			delete(body, more[i].(string))
		}
	}
	return body
}

// item is the part of a hazard or a product that tests look at. Numbers of the other kind are 0.
type item struct {
	HazardID     int64  `json:"hazard_ID"`
	ProductID    int64  `json:"product_ID"`
	ParentID     int64  `json:"parent_ID"`
	UUID         string `json:"uuid"`
	Name         string `json:"hazard_Name"`
	Title        string `json:"title"`
	SeverityID   string `json:"severity_ID"`
	CategoryID   string `json:"category_ID"`
	Status       string `json:"status"`
	StartDate    string `json:"start_Date"`
	EndDate      string `json:"end_Date"`
	LastUpdate   string `json:"last_Update"`
	UpdateDate   string `json:"update_Date"`
	ProductTotal string `json:"product_total"`
	OrgID        int64  `json:"org_ID"`
	OrgIDs       string `json:"org_IDs"`
	SecurityFlag string `json:"security_Flag"`
	Filename     string `json:"filename"`
}

// made is what a request has made.
func (w *world) made(user, path string, body any) item {
	w.t.Helper()
	a := w.do(user, "POST", path, body)
	if a.Status != http.StatusCreated {
		w.t.Fatalf("POST %s as %s: %d %s", path, user, a.Status, a.Body)
	}
	var made item
	a.JSON(w.t, &made)
	return made
}

func (w *world) hazard(user string, more ...any) item {
	w.t.Helper()
	return w.made(user, "/hazards", flood(more...))
}

func (w *world) product(user string, hazardID int64, body map[string]any) item {
	w.t.Helper()
	return w.made(user, "/hazards/"+digits(hazardID)+"/products", body)
}

// upload makes a file product; header is the file part's Content-Disposition, or its file name.
func (w *world) upload(user string, hazardID int64, product map[string]any, header string, content []byte) server.Answer {
	w.t.Helper()
	body, contentType := form(w.t, product, header, content)
	return w.do(user, "POST", "/hazards/"+digits(hazardID)+"/products", body, "Content-Type", contentType)
}

// form is a form of a product and a file, and its content type.
func form(t testing.TB, product map[string]any, header string, content []byte) (body []byte, contentType string) {
	t.Helper()
	text, err := json.Marshal(product)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(header, "form-data") {
		header = `form-data; name="file"; filename="` + header + `"`
	}
	return rawForm(t, part{`form-data; name="product"`, text}, part{header, content})
}

// part is a part of a form: its Content-Disposition and its content.
type part struct {
	disposition string
	content     []byte
}

func rawForm(t testing.TB, parts ...part) (body []byte, contentType string) {
	t.Helper()
	var out bytes.Buffer
	m := multipart.NewWriter(&out)
	for _, p := range parts {
		w, err := m.CreatePart(textproto.MIMEHeader{"Content-Disposition": {p.disposition}})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write(p.content); err != nil {
			t.Fatal(err)
		}
	}
	if err := m.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes(), m.FormDataContentType()
}

// file is the body of a file product, altered as note is.
func file(more ...any) map[string]any {
	return with(map[string]any{"title": "File", "product_Type": "FILE_PRODUCT"}, more...)
}

func digits(n int64) string { return strconv.FormatInt(n, 10) }

// items reads a list.
func items(t testing.TB, a server.Answer) (list []item) {
	t.Helper()
	if a.Status != http.StatusOK {
		t.Fatalf("%d %.500s", a.Status, a.Body)
	}
	a.JSON(t, &list)
	return list
}

// problem is an error answer (RFC 9457).
type problem struct {
	Type     string `json:"type"`
	Title    string `json:"title"`
	Status   int    `json:"status"`
	Detail   string `json:"detail"`
	Instance string `json:"instance"`
	Request  string `json:"request"`
	Errors   []struct {
		Pointer   string `json:"pointer"`
		Parameter string `json:"parameter"`
		Detail    string `json:"detail"`
	} `json:"errors"`
	Esri any `json:"error"`
}

// wantProblem checks that an answer is a problem of that status, whole in its form, and returns it.
func wantProblem(t testing.TB, a server.Answer, status int) (p problem) {
	t.Helper()
	if a.Status != status || a.Header.Get("Content-Type") != "application/problem+json" {
		t.Fatalf("got %d %s %.500s, want a problem %d", a.Status, a.Header.Get("Content-Type"), a.Body, status)
	}
	if err := json.Unmarshal(a.Body, &p, json.RejectUnknownMembers(true)); err != nil {
		t.Fatalf("%v: %.500s", err, a.Body)
	}
	if p.Status != status || p.Type == "" || p.Title != http.StatusText(status) || p.Detail == "" || a.Header.Get("Cache-Control") != "no-store" {
		t.Fatalf("a problem without a part of it: %s, Cache-Control %q", a.Body, a.Header.Get("Cache-Control"))
	}
	return p
}

// faults are the places that a problem names, sorted.
func (p problem) faults() []string {
	var names []string
	for _, e := range p.Errors {
		if e.Detail != "" {
			names = append(names, e.Pointer+e.Parameter)
		}
	}
	return slices.Sorted(slices.Values(names))
}

// member is a member of a JSON object.
type member struct {
	name  string
	value jsontext.Value
}

// members lists the members of a JSON object in their order.
func members(t testing.TB, object []byte) (list []member) {
	t.Helper()
	dec := jsontext.NewDecoder(bytes.NewReader(object))
	if token, err := dec.ReadToken(); err != nil || token.Kind() != '{' {
		t.Fatalf("no object: %.200s", object)
	}
	for dec.PeekKind() != '}' {
		name, err := dec.ReadToken()
		if err != nil {
			t.Fatal(err)
		}
		m := member{name: name.String()}
		if m.value, err = dec.ReadValue(); err != nil {
			t.Fatal(err)
		}
		m.value = m.value.Clone()
		list = append(list, m)
	}
	return list
}

// objects reads an array of objects, each as it was sent.
func objects(t testing.TB, array []byte) (list []jsontext.Value) {
	t.Helper()
	if err := json.Unmarshal(array, &list); err != nil || list == nil {
		t.Fatalf("no array: %.200s %v", array, err)
	}
	return list
}

// decode undoes a content coding.
func decode(t testing.TB, coding string, data []byte) []byte {
	t.Helper()
	var r io.Reader = bytes.NewReader(data)
	switch coding {
	case "gzip":
		z, err := gzip.NewReader(r)
		if err != nil {
			t.Fatal(err)
		}
		r = z
	case "zstd":
		z, err := zstd.NewReader(r)
		if err != nil {
			t.Fatal(err)
		}
		defer z.Close()
		r = z
	case "br":
		r = brotli.NewReader(r)
	case "":
	default:
		t.Fatalf("coding %q", coding)
	}
	text, err := io.ReadAll(r)
	if err != nil {
		t.Fatalf("%s: %v", coding, err)
	}
	return text
}

// send writes bytes to the server over a connection of its own and reads until the server closes it, or has said nothing more for a while.
func (w *world) send(request []byte) []byte {
	w.t.Helper()
	const first, more = time.Minute, 500 * time.Millisecond
	conn, err := (&net.Dialer{}).DialContext(w.t.Context(), "tcp", w.Addr().String())
	if err != nil {
		w.t.Fatal(err)
	}
	defer conn.Close()
	// The server may answer and close before it has read all: what it said counts.
	go func() { _, _ = conn.Write(request) }()
	var got []byte
	for patience := first; ; patience = more {
		if err := conn.SetReadDeadline(time.Now().Add(patience)); err != nil {
			w.t.Fatal(err)
		}
		buf := make([]byte, 64<<10)
		n, err := conn.Read(buf)
		got = append(got, buf[:n]...)
		if err != nil && len(got) == 0 {
			w.t.Errorf("no answer: %v", err)
		}
		if err != nil {
			return got
		}
	}
}

// inProcess is the API without a network, on a store of its own, at a clock that can be put ahead.
type inProcess struct {
	http.Handler
	t      testing.TB
	Store  *store.Store
	Auth   *auth.Service
	Live   *view.Live
	Push   *sse.Hub
	tokens *tokens
	ahead  atomic.Int64 // nanoseconds
	clock  atomic.Int64 // milliseconds since 1970, if the clock stands still; else 0
}

const (
	base      = "https://hazardd.example"
	notSynced = "sqlite:?synchronous=off"
	theOrg    = 1
)

// peopled is the data folder of the users of handle, made once.
var peopled = sync.OnceValues(func() (datadir.Files, error) {
	return datadir.Make(func(dir string) error {
		ctx, now := context.Background(), hazard.At(time.Now())
		s, err := store.Open(ctx, dir, notSynced)
		if err != nil {
			return err
		}
		a := app.NewAuth(s, app.Config{Settings: app.Settings{PublicURL: base}})
		org, err := a.Accounts().AddOrg(ctx, auth.Actor{}, "RC", "Red Cross", now)
		if err == nil && org.ID != theOrg {
			err = fmt.Errorf("the first organization has the number %d", org.ID)
		}
		for _, u := range []auth.NewUser{{Name: "root", Role: auth.Admin}, {Name: "reader", Role: auth.Reader}, {Name: "editor", Role: auth.Editor, Orgs: []int64{theOrg}}} {
			u.Password = server.Password
			err = errors.Join(err, a.Accounts().AddUser(ctx, auth.Actor{}, u, now))
		}
		return errors.Join(err, s.Close())
	})
})

// handle makes an API in this process. Its users are root (admin), reader, and editor, a member of the one organization.
func handle(t testing.TB, alter ...func(*serve.Config)) *inProcess {
	t.Helper()
	from, err := peopled()
	if err != nil {
		t.Fatal(err)
	}
	data := t.TempDir()
	from.Copy(t, data)
	s, err := store.Open(t.Context(), data, notSynced)
	if err != nil {
		t.Fatal(err)
	}
	p := &inProcess{t: t, Store: s}
	now := p.time
	p.Auth = app.NewAuth(s, app.Config{Settings: app.Settings{PublicURL: base}})
	if err := errors.Join(p.Auth.Reload(t.Context()), p.Auth.Rotate(t.Context(), hazard.At(now()))); err != nil {
		t.Fatal(err)
	}
	p.tokens = &tokens{byUser: map[string]string{}, issue: func(user string) string {
		pair, err := p.Auth.Issue(t.Context(), auth.Actor{}, user, hazard.At(now()))
		if err != nil {
			t.Fatal(err)
		}
		return pair.Access
	}}
	if p.Live, err = view.Open(t.Context(), s.Log, slog.New(slog.DiscardHandler), func() hazard.Instant { return hazard.At(now()) }); err != nil {
		t.Fatal(err)
	}
	follower := follow.New(s.Log, p.Live, func() hazard.Instant { return hazard.At(now()) }, follow.Memory, slog.New(slog.DiscardHandler))
	p.Push = sse.New(follower, s.Log, base, sse.Limits{PerUser: 4, All: 6})
	c := serve.Config{
		Push:  p.Push,
		Store: s, Live: p.Live, Auth: p.Auth, Intake: fuse.New(s, fuse.Known{}), Edit: edit.New(s, fuse.New(s, fuse.Known{}), 1, func(id int64) bool { return id == theOrg }),
		Feeds: serve.Feeds{
			Sources: func(context.Context) ([]poll.Status, error) {
				return []poll.Status{{About: (&source.Source{}).About(), Name: "usgs", Title: "USGS earthquakes", State: poll.OK, Circuit: "closed"}}, nil
			},
			Freshness: func() []string { return []string{"ok=1"} },
			Coverage:  &coverage.Map{},
			Delays:    &delay.Delays{},
			Readings:  func() coverage.Readings { return nil },
			PollNow:   func(context.Context, string) error { return nil },
			Why: func(context.Context, string, string) (*why.Answer, error) {
				return &why.Answer{Since: 1_780_000_000_000, Entries: []why.Entry{{Time: "2026-05-28T20:26:40.000Z", Result: why.Ignored, Rule: "too slight"}}}, nil
			},
			Grid: population.Builtin,
		},
		Ready:   func() admin.Readiness { return admin.Readiness{} },
		Metrics: prometheus.NewRegistry(),
		Streets: func() *basemap.Streets { return nil },
		BaseURL: base, Settings: serve.Settings{MaxFile: 1 << 20}, Now: now, Logger: slog.New(slog.DiscardHandler),
	}
	for _, f := range alter {
		f(&c)
	}
	p.Handler = serve.New(c)
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	ended := make(chan error, 1)
	go func() { ended <- follower.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := errors.Join(<-ended, s.Close()); err != nil {
			t.Error(err)
		}
	})
	return p
}

func (p *inProcess) time() time.Time {
	if stopped := p.clock.Load(); stopped != 0 {
		return hazard.Instant(stopped).Time()
	}
	return time.Now().Add(time.Duration(p.ahead.Load()))
}

// do answers a request. The path is taken as it is, however strange.
func (p *inProcess) do(user, method, path string, body any, header ...string) server.Answer {
	p.t.Helper()
	req := newRequest(p.t, p.tokens, user, method, "http://hazardd.example/", body, header...)
	u, err := url.ParseRequestURI(path)
	if err != nil {
		p.t.Fatal(err)
	}
	u.Host, u.Scheme = "", ""
	req.URL, req.RequestURI, req.RemoteAddr = u, path, "192.0.2.1:1234"
	return p.answer(req)
}

// in is the same API for another test.
func (p *inProcess) in(t testing.TB) *inProcess {
	return &inProcess{Handler: p.Handler, t: t, Store: p.Store, Auth: p.Auth, Live: p.Live, Push: p.Push, tokens: p.tokens}
}

func (p *inProcess) answer(req *http.Request) server.Answer {
	rec := httptest.NewRecorder()
	p.ServeHTTP(rec, req)
	a := server.Answer{Status: rec.Code, Header: rec.Result().Header, Body: rec.Body.Bytes()}
	server.Check(p.t, req, a)
	return a
}

// syncBuffer collects what several goroutines write.
type syncBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *syncBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *syncBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}

func allowOrigins(origins []string) func(*serve.Config) {
	return func(c *serve.Config) { c.AllowedOrigins = origins }
}

// actor is who administers users in tests.
var actor = auth.Actor{}

func now() hazard.Instant { return hazard.At(time.Now()) }

// sortedKeys are the keys of a map in order, so that tests run in the same order each time.
func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
