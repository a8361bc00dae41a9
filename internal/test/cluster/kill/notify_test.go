//go:build unix

package kill

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/hazardd/hazardd/internal/test"
	"github.com/hazardd/hazardd/internal/test/postgres"
)

// people receive messages over HTTP, and each keeps them: message by message, once for each ID.
type people struct {
	t      *testing.T
	rnd    func(n int) int
	mu     sync.Mutex
	seen   map[string]bool       // IDs
	failed map[string]bool       // IDs that were refused once
	told   map[string][]*message // by person and hazard
	taken  int
	again  int // messages that came again with the same ID, because the sender had died before it recorded them
	unsaid int // messages that withdraw one that did not arrive: the sender had died, and the message may have arrived
}

// message is a message about a hazard. before is the severity that the message gives as the
// previous one, as an English word; empty if it gives none.
type message struct{ kind, severity, status, before string }

// before matches the value before a change in a message.
var before = regexp.MustCompile(`\(before: (\w+)\)`)

func (p *people) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // the server died
	}
	var m struct {
		ID, Kind string
		Items    []struct {
			UUID, Severity, Status string
			Changes                []string
		}
	}
	if err := json.Unmarshal(body, &m); err != nil || len(m.Items) != 1 {
		p.t.Errorf("%v: %.300s", err, body)
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	id := r.URL.Path + " " + m.ID
	if p.seen[id] {
		p.again++
		return
	}
	if p.rnd(100) == 0 && !p.failed[id] { // this delays everything sent to this server for a while
		p.failed[id] = true
		w.WriteHeader(http.StatusServiceUnavailable)
		return
	}
	p.seen[id] = true
	p.taken++
	key := r.URL.Path + " " + m.Items[0].UUID
	told := message{kind: m.Kind, severity: m.Items[0].Severity, status: m.Items[0].Status}
	if found := before.FindStringSubmatch(strings.Join(m.Items[0].Changes, "\n")); found != nil {
		told.before = strings.ToUpper(found[1])
	}
	p.told[key] = append(p.told[key], &told)
}

func (p *people) count() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.taken
}

// hazardEnd is the final state of a hazard in the log.
type hazardEnd struct {
	place            int
	severity, status string
	were             map[string]bool // all severities it had
}

// check compares the messages of each person about each hazard with the log. Person 0 wants all
// hazards.
func (p *people) check(n int, log map[string]hazardEnd) (faults []string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for uuid, h := range log {
		for person := range n {
			list := p.told[fmt.Sprintf("/p/%d %s", person, uuid)]
			fault := func(format string, args ...any) {
				said := ""
				for _, m := range list {
					said += fmt.Sprintf(" %s(%s %s)", m.kind, m.severity, m.status)
				}
				faults = append(faults, fmt.Sprintf("person %d, hazard %s (%s %s in the end): %s; was told%s", person, uuid, h.severity, h.status, fmt.Sprintf(format, args...), said))
			}
			if person != 0 && person != h.place {
				if len(list) > 0 {
					fault("is not concerned")
				}
				continue
			}
			for i, m := range list[:max(0, len(list)-1)] {
				next := list[i+1]
				switch {
				case m.status != "A":
					fault("a message after the end")
				case next.kind == "first":
					fault("two first messages")
				case next.status == "A" && next.severity == m.severity && next.before != m.severity && h.were[next.before]:
					p.unsaid++
				case next.status == "A" && next.severity == m.severity:
					fault("the same message twice")
				}
			}
			switch {
			case len(list) == 0 && h.status == "A":
				fault("lost")
			case len(list) == 0: // it ended before a message could be sent
			case list[len(list)-1].status != h.status:
				fault("the last message is lost")
			case h.status == "A" && list[len(list)-1].severity != h.severity:
				fault("the last message is lost")
			}
		}
	}
	return faults
}

// inform creates hazards where people are, and changes and ends them until ctx ends. The last ones
// stay.
func (c *crowd) inform(ctx context.Context, token string, persons int) {
	transport := &http.Transport{DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, network, *c.addr.Load())
	}}
	defer transport.CloseIdleConnections()
	w := &client{&http.Client{Transport: transport, Timeout: 10 * time.Second}, front, token}
	var mine []int64
	for ctx.Err() == nil {
		method, path := http.MethodPost, "/hazards"
		place := 1 + c.rnd(persons-1)
		body := map[string]any{"hazard_Name": fmt.Sprintf("Flood at %d", place), "type_ID": "FLOOD", "severity_ID": "WATCH", "latitude": 1, "longitude": place * 5}
		at, drop := -1, -1
		if len(mine) > 3 && c.rnd(4) > 0 {
			at = c.rnd(len(mine))
			method, path = http.MethodPatch, fmt.Sprint("/hazards/", mine[at])
			if body = map[string]any{"severity_ID": []string{"WATCH", "WARNING", "ADVISORY"}[c.rnd(3)]}; c.rnd(4) == 0 {
				body, drop = map[string]any{"status": "E"}, at
			}
		}
		text, _ := json.Marshal(body)
		status, answer, _, err := w.do(ctx, method, path, jsonType, text)
		switch {
		case err != nil: // the server is down; the log shows the result of the request
			time.Sleep(20 * time.Millisecond)
			continue
		case status == http.StatusServiceUnavailable: // its database is down; likewise
			time.Sleep(20 * time.Millisecond)
			continue
		case status == http.StatusConflict && method == http.MethodPatch: // its end was written, but the answer was lost
			drop = at
		case status >= 300:
			c.t.Errorf("%s %s: %d %s", method, path, status, answer)
			return
		}
		var made struct {
			ID int64 `json:"hazard_ID"`
		}
		if drop >= 0 {
			mine = append(mine[:drop], mine[drop+1:]...)
		} else if path == "/hazards" && json.Unmarshal(answer, &made) == nil {
			mine = append(mine, made.ID)
		}
		time.Sleep(time.Duration(20+c.rnd(150)) * time.Millisecond) // the rate of changes
	}
}

// stand is the system under test: one node on SQLite, or two nodes on a primary of PostgreSQL with
// a synchronous standby.
type stand struct {
	t                *testing.T
	crowd            *crowd
	data, database   string
	primary, standby *postgres.Server // nil: SQLite
	nodes            []*server
	kills, failovers int
}

// newStand starts everything, and creates a user with write access.
func newStand(t *testing.T, c *crowd, cluster bool) (s *stand, token string) {
	t.Helper()
	s = &stand{t: t, crowd: c, data: t.TempDir(), nodes: make([]*server, 1)}
	if cluster {
		s.startDatabases()
		s.nodes = make([]*server, 2)
	}
	s.start(0) // alone, because it creates the schema
	more := []string{}
	if cluster {
		more = []string{"--database", s.database}
	}
	command(t, s.data, "violet kayak thermos orbit", append([]string{"user", "add", "writer", "--role", "admin", "--password-stdin"}, more...)...)
	token = command(t, s.data, "", append([]string{"token", "writer"}, more...)...)
	for i := range s.nodes[1:] {
		s.start(i + 1)
	}
	s.serve(0)
	for end := time.Now().Add(soon); ; time.Sleep(20 * time.Millisecond) {
		known := 0
		for _, n := range s.nodes {
			if status, _, _, err := newClient(n.url, token).do(t.Context(), http.MethodGet, "/hazards/types", "", nil); err == nil && status == http.StatusOK {
				known++
			}
		}
		if known == len(s.nodes) {
			return s, token
		}
		if time.Now().After(end) {
			t.Fatalf("the user is not known at each node after %v", soon)
		}
	}
}

func (s *stand) startDatabases() {
	t := s.t
	bin := postgres.Programs(t)
	dir, err := postgres.TempDir()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		for _, server := range []*postgres.Server{s.primary, s.standby} {
			if server != nil {
				_ = server.Stop(syscall.SIGQUIT) // it may have ended
			}
		}
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	first, second := filepath.Join(dir, "a"), filepath.Join(dir, "b")
	// A kill loses nothing that is in the kernel, so nothing here depends on the disk.
	err = postgres.Init(bin, first, "fsync=off", "shared_buffers=32MB", "max_connections=100", "wal_receiver_status_interval=1s", "wal_retrieve_retry_interval=500ms", "log_min_messages=warning")
	if err == nil {
		s.primary, err = postgres.Start(bin, first, 0)
	}
	if err == nil {
		err = s.primary.Exec("CREATE DATABASE hazardd TEMPLATE template0")
	}
	if err == nil {
		err = s.follow(second, 0)
	}
	if err != nil {
		t.Fatal(err)
	}
	s.database = fmt.Sprintf("postgres://postgres@127.0.0.1:%d,127.0.0.1:%d/hazardd?sslmode=disable&target_session_attrs=read-write", s.primary.Port, s.standby.Port)
}

// follow gives the primary a standby. From then on, the primary commits nothing without it.
func (s *stand) follow(dir string, port int) (err error) {
	if s.standby, err = s.primary.Standby(dir, "standby", 0, port); err != nil {
		return err
	}
	return errors.Join(s.primary.Synchronous("*"), s.primary.Streaming(s.t.Context(), "standby", true))
}

func (s *stand) start(i int) { s.nodes[i] = start(s.t, s.data, s.database) }

// serve directs the crowd to a node.
func (s *stand) serve(i int) { s.crowd.addr.Store(new(strings.TrimPrefix(s.nodes[i].url, "http://"))) }

// kill kills the node that sends notices, if there is one, and starts it again.
func (s *stand) kill() {
	s.kills++
	i := s.crowd.rnd(len(s.nodes))
	for n, node := range s.nodes {
		_, text, _, err := newClient(node.url, "").do(s.t.Context(), http.MethodGet, "/metrics", "", nil)
		if err == nil && bytes.Contains(text, []byte("\nhazardd_subscription_channels{")) { // only the node that sends notices has this metric
			i = n
		}
	}
	s.nodes[i].kill()
	if other := (i + 1) % len(s.nodes); other != i {
		s.serve(other)
	}
	s.start(i)
	s.serve(i)
}

// failover kills the primary and promotes the standby. The new primary then gets a standby in place
// of the killed one.
func (s *stand) failover() {
	s.failovers++
	gone := s.primary
	if err := errors.Join(gone.Kill(), s.standby.Promote(s.t.Context())); err != nil {
		s.t.Fatal(err)
	}
	s.primary, s.standby = s.standby, nil
	if err := errors.Join(os.RemoveAll(gone.Dir), s.follow(gone.Dir, gone.Port)); err != nil {
		s.t.Fatal(err)
	}
}

// Nobody misses a message, and nobody gets one twice. Changes stream in while the sender of notices
// is killed repeatedly. Each person's messages are compared with the log. HAZARDD_NOTIFY_KILLS is
// the number of kills and failovers. Many of them are divided among eight services, of which as
// many run in parallel as -parallel says, because most of the time the next process waits for the
// lease of the dead one.
func TestKillTellsEverybodyOnce(t *testing.T) {
	test.Slow(t)
	t.Setenv("HAZARDD_WEBHOOK_ALLOW", "127.0.0.0/8")
	t.Setenv("HAZARDD_STORM", "1000000000") // a summary covers several hazards in one message
	channels := t.TempDir()
	recipe := `
about: "a person"
to: url
url: '{{.To}}'
headers: {Content-Type: application/json}
body: '{{json .View}}'
gone: [410]
`
	if err := os.WriteFile(filepath.Join(channels, "person.yaml"), []byte(recipe), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("HAZARDD_CHANNELS", channels)
	key := filepath.Join(channels, "addresses.key") // two nodes share it
	if err := os.WriteFile(key, []byte(base64.StdEncoding.EncodeToString(make([]byte, 32))), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("HAZARDD_ADDRESS_KEY", key)
	const most = 8 // maximum number of services
	all := rounds(t, "HAZARDD_NOTIFY_KILLS", 3)
	services := min(most, max(2, all/10))
	if all == 1 {
		services = 1
	}
	for i := range services {
		// The last ones take the remainder.
		share := all / services
		if services-i <= all%services {
			share++
		}
		cluster := i%2 == 1
		t.Run(fmt.Sprintf("%d of %d, cluster %v", i+1, services, cluster), func(t *testing.T) {
			t.Parallel()
			killAndTell(t, cluster, share)
		})
	}
}

// failEach is the interval, in kills, at which the database of a cluster is killed instead.
const failEach = 5

func killAndTell(t *testing.T, cluster bool, breaks int) {
	const persons = 8
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	rnd := rand.New(rand.NewPCG(seed, 9))
	var mu sync.Mutex
	draw := func(n int) int { mu.Lock(); defer mu.Unlock(); return rnd.IntN(n) }
	c := &crowd{t: t, rnd: draw}
	all := &people{t: t, rnd: draw, seen: map[string]bool{}, failed: map[string]bool{}, told: map[string][]*message{}}
	receiver := httptest.NewServer(all)
	defer receiver.Close()
	s, token := newStand(t, c, cluster)
	for i := range persons {
		where := fmt.Sprintf(`"where":{"points":[{"lon":%d,"lat":1,"radius_km":50}]},`, i*5)
		if i == 0 {
			where = ""
		}
		body := fmt.Sprintf(`{%s"channels":[{"kind":"http","template":"person","to":"%s/p/%d"}]}`, where, receiver.URL, i)
		if status, answer, _, err := newClient(s.nodes[0].url, token).do(t.Context(), http.MethodPost, "/subscriptions", jsonType, []byte(body)); err != nil || status != http.StatusCreated {
			t.Fatalf("%v %d %s", err, status, answer)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var writing sync.WaitGroup
	for range 3 {
		writing.Go(func() { c.inform(ctx, token, persons) })
	}
	for i := range breaks {
		// Usually wait until messages are being sent again.
		for had, end := all.count(), time.Now().Add(time.Minute); all.count() == had && time.Now().Before(end) && c.rnd(200) > 0 && !t.Failed(); {
			time.Sleep(20 * time.Millisecond)
		}
		time.Sleep(time.Duration(c.rnd(2000)) * time.Millisecond) // the moment of the kill
		if cluster && i%failEach == 0 {
			s.failover()
		} else {
			s.kill()
		}
	}
	cancel()
	writing.Wait()
	last := newClient(s.nodes[0].url, token)
	waits := func() (text string, left int64) {
		status, answer, _, err := last.do(t.Context(), http.MethodGet, "/subscriptions/status", "", nil)
		var s struct{ Waiting, Behind int64 }
		if err == nil && status == http.StatusServiceUnavailable { // just after a failover
			return string(answer), math.MaxInt64
		}
		if err := errors.Join(err, json.Unmarshal(answer, &s)); err != nil || status != http.StatusOK {
			t.Fatalf("%v %d %s", err, status, answer)
		}
		return string(answer), s.Waiting + s.Behind
	}
	// A refused message delays the rest: a backlog is no fault as long as it shrinks.
	least, since := int64(math.MaxInt64), time.Now()
	for state, left := waits(); left > 0; state, left = waits() {
		if left < least {
			least, since = left, time.Now()
		} else if time.Since(since) > 2*time.Minute {
			t.Fatalf("%d wait, and for two minutes none was sent: %s", left, state)
		}
		time.Sleep(100 * time.Millisecond)
	}
	log := map[string]hazardEnd{}
	changes := readLog(t, last)
	for _, ch := range changes {
		var change struct {
			Hazard struct {
				UUID, Severity_ID, Status string
				Longitude                 json.RawMessage
			}
		}
		if err := json.Unmarshal([]byte(ch.text), &change); err != nil {
			t.Fatal(err)
		}
		lon, err := strconv.ParseFloat(strings.Trim(string(change.Hazard.Longitude), `"`), 64)
		if err != nil {
			t.Fatalf("%v: %s", err, ch.text)
		}
		were := log[change.Hazard.UUID].were
		if were == nil {
			were = map[string]bool{}
		}
		were[change.Hazard.Severity_ID] = true
		log[change.Hazard.UUID] = hazardEnd{int(lon) / 5, change.Hazard.Severity_ID, change.Hazard.Status, were}
	}
	faults := all.check(persons, log)
	if all.unsaid > breaks {
		t.Errorf("%d messages withdraw one that did not arrive, after %d kills and failovers", all.unsaid, breaks)
	}
	for _, what := range faults[:min(len(faults), 20)] {
		t.Error(what)
	}
	t.Logf("%d kills of nodes, %d failovers of the database; %d changes of %d hazards; %d messages to %d persons, %d of them came again under their ID, %d take back what did not come; %d faults", s.kills, s.failovers, len(changes), len(log), all.count(), persons, all.again, all.unsaid, len(faults))
}

func TestTheCheckerOfMessagesSeesFaults(t *testing.T) {
	log := map[string]hazardEnd{"h": {1, "WARNING", "A", map[string]bool{"WATCH": true, "WARNING": true}}}
	for name, list := range map[string][]*message{
		"":                         {{kind: "first", severity: "WATCH", status: "A"}, {kind: "changed", severity: "WARNING", status: "A"}},
		"lost":                     {},
		"the last message is lost": {{kind: "first", severity: "WATCH", status: "A"}},
		"the same message twice":   {{kind: "first", severity: "WARNING", status: "A"}, {kind: "changed", severity: "WARNING", status: "A"}},
		"two first messages":       {{kind: "first", severity: "WATCH", status: "A"}, {kind: "first", severity: "WARNING", status: "A"}},
		"a message after the end":  {{kind: "ended", severity: "WATCH", status: "E"}, {kind: "changed", severity: "WARNING", status: "A"}},
	} {
		p := &people{told: map[string][]*message{"/p/1 h": list, "/p/0 h": {{kind: "first", severity: "WARNING", status: "A"}}}}
		if faults := p.check(3, log); name == "" && len(faults) > 0 || name != "" && (len(faults) != 1 || !strings.Contains(faults[0], ": "+name+";")) {
			t.Errorf("%q: %q", name, faults)
		}
		p.told["/p/2 h"] = []*message{{kind: "first", severity: "WARNING", status: "A"}}
		if faults := p.check(3, log); len(faults) == 0 || !strings.Contains(strings.Join(faults, "\n"), "is not concerned") {
			t.Errorf("%q", faults)
		}
	}
	for before, fault := range map[string]bool{"": true, "WARNING": true, "ADVISORY": true, "WATCH": false} { // ADVISORY: the severity never was that
		p := &people{told: map[string][]*message{"/p/1 h": {{kind: "first", severity: "WARNING", status: "A"}, {kind: "changed", severity: "WARNING", status: "A", before: before}},
			"/p/0 h": {{kind: "first", severity: "WARNING", status: "A"}}}}
		if faults := p.check(2, log); fault != (len(faults) > 0) || fault == (p.unsaid > 0) {
			t.Errorf("from %q: %q, %d", before, faults, p.unsaid)
		}
	}
}
