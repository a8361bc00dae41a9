package clients

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hazardd/hazardd/client"
	"github.com/hazardd/hazardd/internal/app"
	"github.com/hazardd/hazardd/internal/auth"
	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/ingest/fuse"
	"github.com/hazardd/hazardd/internal/ingest/source"
	"github.com/hazardd/hazardd/internal/test"
)

const password = "violet kayak thermos orbit"

// world is a service that the cases run against, and the address for controlling it.
type world struct {
	t       *testing.T
	dir     string
	control string
	flood   string // uuid
	before  string // a moment before its renaming

	mu      sync.Mutex // guards the fields below
	address string
	running *app.Service
	stop    func()
	limited map[string]bool // clients that were told to wait
}

func newWorld(t *testing.T) *world {
	w := &world{t: t, dir: t.TempDir(), address: test.Address(t).String(), limited: map[string]bool{}}
	w.start()
	t.Cleanup(func() { w.stop() })
	for name, role := range map[string]auth.Role{"reader": auth.Reader, "editor": auth.Editor} {
		if err := w.running.Auth.Accounts().AddUser(t.Context(), auth.Actor{}, auth.NewUser{Name: name, Role: role, Password: password}, w.running.Now()); err != nil {
			t.Fatal(err)
		}
	}
	w.flood = w.write("Rising water", "FLOOD", "WATCH", "EVENT")
	w.ask("POST", "/hazards/"+w.flood+"/products", `{"title":"The quay","product_Type":"TEXT_PRODUCT","data":"d"}`)
	w.before = w.running.Now().String()
	for w.running.Now().String() == w.before { // so that the next change has a later millisecond
		time.Sleep(time.Millisecond)
	}
	w.ask("PATCH", "/hazards/"+w.flood, `{"hazard_Name":"High water"}`)
	w.write("Forest fire", "WILDFIRE", "WARNING", "EVENT")
	w.gale()
	for i := range 5 {
		id := w.write(fmt.Sprintf("Old %d", i+1), "DROUGHT", "WATCH", "RESPONSE")
		w.ask("PATCH", "/hazards/"+id, `{"status":"E"}`)
	}
	steered := httptest.NewUnstartedServer(http.HandlerFunc(w.steer))
	t.Cleanup(steered.Close)
	w.control = "http://" + steered.Listener.Addr().String() // set before any control request
	steered.Start()
	return w
}

// start starts the service on its previous address. The caller holds w.mu, unless no other
// goroutine knows w.
func (w *world) start() {
	s, err := app.Open(w.t.Context(), app.Config{Logger: slog.New(slog.DiscardHandler), Settings: app.Settings{DataDir: w.dir, Listen: w.address, Grace: time.Minute, NoExposure: true}})
	if err != nil {
		w.t.Errorf("start: %v", err)
		return
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(w.t.Context()))
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx) }()
	w.running, w.address = s, s.Addr().String()
	w.stop = func() {
		cancel()
		if err := <-ended; err != nil {
			w.t.Errorf("stop: %v", err)
		}
	}
}

// ask sends a request as the editor, and returns the uuid in the answer.
func (w *world) ask(method, path, body string) string {
	pair, err := w.running.Auth.Issue(w.t.Context(), auth.Actor{}, "editor", w.running.Now())
	if err != nil {
		w.t.Error(err)
		return ""
	}
	req, err := http.NewRequestWithContext(w.t.Context(), method, "http://"+w.address+path, strings.NewReader(body))
	if err != nil {
		w.t.Error(err)
		return ""
	}
	req.Header.Set("Authorization", "Bearer "+pair.Access)
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		w.t.Error(err)
		return ""
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode >= 300 {
		w.t.Errorf("%s %s: %d %s %v", method, path, resp.StatusCode, text, err)
	}
	var made struct{ UUID string }
	_ = json.Unmarshal(text, &made) // a failure shows where the result is used
	return made.UUID
}

func (w *world) write(name, kind, severity, category string) string {
	return w.ask("POST", "/hazards", fmt.Sprintf(`{"hazard_Name":%q,"type_ID":%q,"severity_ID":%q,"category_ID":%q,"latitude":1,"longitude":2}`, name, kind, severity, category))
}

// gale adds a hazard that is only known to be somewhere in Texas.
func (w *world) gale() {
	now := w.running.Now()
	r := hazard.Report{Source: "nws", Key: "gale", Part: "gale", Version: 1, Name: "Gale in a region", Type: hazard.HighWind, Severity: hazard.Advisory, Category: hazard.Event,
		Start: now, End: new(now.Add(time.Hour)), Creator: "NWS", Places: []string{"TXZ999"}}
	res, err := app.BuiltIn().Intake(w.running.Store).Apply(w.t.Context(), "nws", source.Batch{Reports: []hazard.Report{r}, Read: 1}, now, fuse.Options{})
	if err != nil || res.New != 1 {
		w.t.Errorf("%+v, %v", res, err)
	}
}

// steer handles control requests of a case, and serves the address that tells a client once to
// wait.
func (w *world) steer(out http.ResponseWriter, r *http.Request) {
	w.mu.Lock()
	defer w.mu.Unlock()
	what := strings.TrimPrefix(r.URL.Path, "/")
	verb, rest, _ := strings.Cut(what, " ")
	switch {
	case strings.HasPrefix(what, "slow/"):
		id, path, _ := strings.Cut(strings.TrimPrefix(what, "slow/"), "/")
		if path == "hazards/count" && !w.limited[id] {
			w.limited[id] = true
			out.Header().Set("Retry-After", "1")
			out.Header().Set("Content-Type", "application/problem+json")
			out.WriteHeader(http.StatusTooManyRequests)
			fmt.Fprint(out, `{"status":429,"title":"Too Many Requests","detail":"wait"}`)
			return
		}
		r.URL.Path = "/" + path
		httputil.NewSingleHostReverseProxy(&url.URL{Scheme: "http", Host: w.address}).ServeHTTP(out, r)
	case what == "factor/authorize": // as an account with a second factor is answered
		out.Header().Set("Hazardd-Second-Factor", "totp")
		http.Error(out, "Authentication failed.", http.StatusUnauthorized)
	case verb == "factor":
		fmt.Fprint(out, w.control+"/factor")
	case verb == "world":
		fmt.Fprintf(out, `{"url":"http://%s","password":%q,"flood":%q,"before":%q}`, w.address, password, w.flood, w.before)
	case verb == "refresh":
		pair, err := w.running.Auth.Issue(r.Context(), auth.Actor{}, "reader", w.running.Now())
		if err != nil {
			w.t.Error(err)
		}
		fmt.Fprint(out, pair.Refresh)
	case verb == "limited":
		fmt.Fprintf(out, "%s/slow/%d", w.control, len(w.limited))
	case verb == "write":
		w.write(rest, "STORM", "WATCH", "EVENT")
	case verb == "restart":
		w.stop()
		w.start()
	default:
		http.NotFound(out, r)
	}
}

type testCase struct {
	Name, Call, ID, Login, Error, Says string
	Filter                             map[string]string
	After                              *int64
	Script, Names                      []string
	Is                                 *int64
	Possible                           json.RawMessage // null is a value of it
	RetryAfter                         int
}

func TestGo(t *testing.T) {
	if testing.Short() {
		t.Skip("runs the service")
	}
	text, err := os.ReadFile("cases.json")
	if err != nil {
		t.Fatal(err)
	}
	var cases []testCase
	if err := json.Unmarshal(text, &cases); err != nil {
		t.Fatal(err)
	}
	w := newWorld(t)
	for _, c := range cases {
		t.Run(c.Name, func(t *testing.T) {
			names, n, err := w.run(t, &c)
			if c.Error != "" {
				if !slices.Contains(kindsOf(err), c.Error) || !strings.Contains(fmt.Sprint(err), c.Says) {
					t.Errorf("%v, want %s", err, c.Error)
				}
				if p, ok := errors.AsType[*client.Problem](err); c.RetryAfter > 0 && (!ok || p.RetryAfter != time.Duration(c.RetryAfter)*time.Second) {
					t.Errorf("%v", err)
				}
				return
			}
			if err != nil || c.Is != nil && n != *c.Is || c.Is == nil && !slices.Equal(names, c.Names) {
				t.Errorf("%q, %d, %v; want %q", names, n, err, c.Names)
			}
		})
	}
}

func kindsOf(err error) (kinds []string) {
	for kind, is := range map[string]error{"unauthorized": client.ErrUnauthorized, "forbidden": client.ErrForbidden, "not found": client.ErrNotFound, "invalid": client.ErrInvalid,
		"reset": client.ErrReset, "limited": client.ErrLimited} {
		if errors.Is(err, is) {
			kinds = append(kinds, kind)
		}
	}
	if _, ok := errors.AsType[net.Error](err); ok {
		kinds = append(kinds, "network")
	}
	return kinds
}

func (w *world) client(t *testing.T, c *testCase) *client.Client {
	base, o := "http://"+w.address, client.Options{Username: "reader", Password: password, Patience: 30 * time.Second}
	switch c.Login {
	case "wrong":
		o.Password = "wrong wrong wrong"
	case "factor":
		base = w.act(t, "factor")
	case "nowhere":
		base = "http://127.0.0.1:9"
	case "editor":
		o.Username = "editor"
	case "refused":
		o.Token = "a.b.c"
	case "refresh":
		o = client.Options{RefreshToken: w.act(t, "refresh")}
	case "limited", "impatient":
		base = w.act(t, "limited")
		if c.Login == "impatient" {
			o.Patience = 0
		}
	}
	made, err := client.New(base, o)
	if err != nil {
		t.Fatal(err)
	}
	return made
}

func (w *world) act(t *testing.T, what string) string {
	resp, err := http.Post(w.control+"/"+url.PathEscape(what), "", nil)
	if err != nil {
		t.Error(err)
		return ""
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Error(err)
	}
	return string(text)
}

func (w *world) run(t *testing.T, c *testCase) (names []string, n int64, err error) {
	ctx := t.Context()
	s := client.Search{Text: c.Filter["q"], Sort: c.Filter["sort"]}
	for name, list := range map[string]*[]string{"type": &s.Types, "category": &s.Categories, "status": &s.Statuses} {
		if v := c.Filter[name]; v != "" {
			*list = strings.Split(v, ",")
		}
	}
	s.Possible = c.Filter["possible"] == "true"
	if box := c.Filter["bbox"]; box != "" {
		s.BBox = &client.BBox{}
		if _, err := fmt.Sscanf(box, "%g,%g,%g,%g", &s.BBox.West, &s.BBox.South, &s.BBox.East, &s.BBox.North); err != nil {
			return nil, 0, err
		}
	}
	if c.Filter["at"] != "" {
		if s.At, err = time.Parse(time.RFC3339Nano, w.before); err != nil {
			return nil, 0, err
		}
	}
	id, from := strings.ReplaceAll(c.ID, "$FLOOD", w.flood), w.client(t, c)
	switch c.Call {
	case "count":
		n, err = from.Count(ctx, s)
	case "active":
		list, err := from.SearchActive(ctx, s)
		if got, _ := json.Marshal(list.Possible); c.Possible != nil && string(got) != string(c.Possible) {
			t.Errorf("%s may be there, want %s", got, c.Possible)
		}
		for _, h := range list.Items {
			names = append(names, h.HazardName)
		}
		return names, 0, err
	case "search":
		for h, err := range from.Search(ctx, s) {
			if err != nil {
				return names, 0, err
			}
			names = append(names, h.HazardName)
		}
	case "hazard":
		h, err := from.Hazard(ctx, id)
		return []string{h.Item.HazardName}, 0, err
	case "products":
		list, err := from.Products(ctx, id)
		for _, p := range list.Items {
			names = append(names, p.Title)
		}
		return names, 0, err
	case "hazardChanges":
		for change, err := range from.HazardChanges(ctx, id, 0) {
			if err != nil {
				return names, 0, err
			}
			names = append(names, change.Type)
		}
	case "writes":
		return w.writes(ctx, from)
	case "changes":
		for _, err := range from.Changes(ctx, *c.After) {
			return nil, 0, err
		}
	case "events":
		list, err := from.Active(ctx)
		if err != nil {
			return nil, 0, err
		}
		after := list.Change
		if c.After != nil {
			after = *c.After
		}
		var acts sync.WaitGroup
		defer acts.Wait()
		acts.Go(func() {
			for _, act := range c.Script {
				w.act(t, act)
			}
		})
		for e, err := range from.Events(ctx, after, client.EventOptions{Filter: s}) {
			switch {
			case err != nil:
				return names, 0, err
			case e.Reset != "":
				names = append(names, "reset")
			default:
				names = append(names, e.Hazard.HazardName)
			}
			if len(names) == len(c.Names) {
				break
			}
		}
	}
	return names, n, err
}

// writes does what the case "writes" of the other clients does.
func (w *world) writes(ctx context.Context, c *client.Client) ([]string, int64, error) {
	made, err := c.Editor().CreateHazard(ctx, client.NewHazard{HazardName: "Made here", TypeID: "STORM", SeverityID: "WATCH", Latitude: 1, Longitude: 2})
	if err != nil {
		return nil, 0, err
	}
	note, errNote := c.Editor().CreateProduct(ctx, made.UUID, client.NewProduct{Title: "Note", ProductType: "TEXT_PRODUCT", Data: "d"})
	named, errNamed := c.Editor().PatchHazard(ctx, made.UUID, client.Fields{"hazard_Name": "Named here"})
	better, errBetter := c.Editor().PatchProduct(ctx, note.UUID, client.Fields{"title": "Better note"})
	errDeleted := c.Editor().DeleteProduct(ctx, note.UUID)
	left, errLeft := c.Products(ctx, made.UUID)
	over, errOver := c.Editor().PatchHazard(ctx, made.UUID, client.Fields{"status": "E"})
	return []string{made.HazardName, named.HazardName, note.Title, better.Title, fmt.Sprint(len(left.Items)), over.Status}, 0,
		errors.Join(errNote, errNamed, errBetter, errDeleted, errLeft, errOver)
}

func TestPython(t *testing.T) {
	w := others(t, "python3")
	runOthers(t, w, "python", "python3", "-W", "error", "-B", "-m", "unittest", "discover", "-s", "tests", "-t", ".")
}

func TestTypeScript(t *testing.T) {
	w := others(t, "node")
	runOthers(t, w, "typescript", "node", "--test", "test/")
}

// The five lines that begin with a client work: at the top of each page, and in docs/start.md.
func TestTheFirstLines(t *testing.T) {
	for _, file := range []string{"python/README.md", "typescript/README.md", "../docs/start.md"} {
		t.Run(file, func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			m := regexp.MustCompile("(?ms)^```(python|js)\n(?:#[^\n]*\n)?((?:[^`\n]+\n){5})```$").FindStringSubmatch(string(text))
			if m == nil {
				t.Fatal("there are no five lines")
			}
			dir, program := "python", []string{"python3", "-u", "-B", "-c"}
			if m[1] == "js" {
				dir, program = "typescript", []string{"node", "--input-type=module", "-e"}
			}
			w := others(t, program[0])
			address := "http://" + w.address
			code := strings.NewReplacer("https://hazards.example.org", address, "http://127.0.0.1:8080", address, "ann", "reader", `"admin"`, `"reader"`,
				`"…"`, `"`+password+`"`, "process.env.PASSWORD", `"`+password+`"`).Replace(m[2])
			ctx, stop := context.WithTimeout(t.Context(), time.Minute)
			defer stop()
			cmd := exec.CommandContext(ctx, program[0], append(program[1:], code)...)
			cmd.Dir = dir
			out, err := cmd.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			var said bytes.Buffer
			cmd.Stderr = &said
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			lines := bufio.NewScanner(out)
			if !lines.Scan() || !strings.Contains(lines.Text(), "Forest fire") && !strings.Contains(lines.Text(), "High water") { // the one warning, or watch
				t.Errorf("%q", lines.Text())
			}
			for ctx.Err() == nil { // it follows from the list on, so that it also receives what is written before it is connected
				w.act(t, "write Told storm")
				if !lines.Scan() || strings.Contains(lines.Text(), "hazard.created Told storm") {
					break
				}
			}
			if !strings.Contains(lines.Text(), "hazard.created Told storm") {
				t.Errorf("%q", lines.Text())
			}
			stop()
			if err := cmd.Wait(); err == nil {
				t.Errorf("it ended unexpectedly: %s", said.String())
			}
		})
	}
}

func others(t *testing.T, program string) *world {
	if testing.Short() {
		t.Skip("runs the service")
	}
	if _, err := exec.LookPath(program); err != nil {
		t.Skipf("%s is not on this machine", program)
	}
	return newWorld(t)
}

func runOthers(t *testing.T, w *world, dir, program string, args ...string) {
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "HAZARDD_CASES="+w.control, "NO_COLOR=1")
	out, err := cmd.CombinedOutput()
	if err != nil || bytes.Contains(out, []byte("\nOK (skipped")) || bytes.Contains(out, []byte("# pass 1\n")) {
		t.Errorf("%v\n%s", err, out)
	}
}
