//go:build unix

package cluster

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/hazardd/hazardd/internal/test"
	"github.com/hazardd/hazardd/internal/test/nginx"
	"github.com/hazardd/hazardd/internal/test/postgres"
	"github.com/hazardd/hazardd/internal/test/program"
)

// common is the folder of files that are made once. binary is the program under test in it.
var common, binary string

func TestMain(m *testing.M) {
	if !test.All() { // no test here runs the program then
		os.Exit(m.Run())
	}
	var err error
	if common, err = postgres.TempDir(); err != nil {
		panic(err)
	}
	if binary, err = program.Build(common); err != nil {
		panic(err)
	}
	code := postgres.Main(m)
	if err := os.RemoveAll(common); err != nil {
		panic(err)
	}
	os.Exit(code)
}

// cluster is the complete system under test.
type cluster struct {
	t                *testing.T
	dir              string
	asynchronous     bool // commits do not wait for the standby
	primary, standby *postgres.Server
	replication      *line // the line between the first primary and the standby
	nodes            []*hazardd
	front            *nginx.Server
	feed             *feed
	token            string
}

// options describe a cluster.
type options struct {
	nodes        int
	sqlite       bool // one file instead of PostgreSQL, to test the rig itself
	asynchronous bool // commits do not wait for the standby
}

const databaseName = "hazardd"

// newCluster starts everything, and waits until it is ready.
func newCluster(t *testing.T, o options) *cluster {
	t.Helper()
	dir, err := postgres.TempDir()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	c := &cluster{t: t, dir: dir, asynchronous: o.asynchronous, feed: newFeed(t)}
	nginx.Program(t) // before anything is started
	if !o.sqlite {
		c.startDatabases()
	}
	var addrs []string
	for i := range o.nodes {
		n := &hazardd{cluster: c, name: node(i), addr: test.Address(t).String()}
		if !o.sqlite {
			n.lines = []*line{newLine(t, fmt.Sprintf("127.0.0.1:%d", c.primary.Port)), newLine(t, fmt.Sprintf("127.0.0.1:%d", c.standby.Port))}
		}
		c.nodes = append(c.nodes, n)
		addrs = append(addrs, n.addr)
	}
	c.front = nginx.Start(t, addrs...)
	c.nodes[0].start() // alone, because it creates the schema, although the others would wait for it
	var all sync.WaitGroup
	for _, n := range c.nodes[1:] {
		all.Go(n.start)
	}
	all.Wait()
	if t.Failed() {
		t.FailNow()
	}
	var org struct {
		ID int64 `json:"id"`
	}
	if err := json.Unmarshal([]byte(c.command("", "org", "add", "RIG", "--name", "Rig", "--json")), &org); err != nil {
		t.Fatal(err)
	}
	// The writer is a member, because the log shows the states of deleted products only to members
	// of the owning organization.
	c.command("violet kayak thermos orbit", "user", "add", "writer", "--role", "admin", "--org", fmt.Sprint(org.ID), "--password-stdin")
	c.token = c.command("", "token", "writer")
	for _, n := range c.nodes {
		c.until("the user is known at "+n.name, 30*time.Second, func() bool {
			_, status, err := newClient(c, n.name).get(t.Context(), "/hazards/types")
			return err == nil && status == http.StatusOK
		})
	}
	return c
}

// emptyData makes a server's data once for all clusters. A kill loses nothing that is in the
// kernel, so nothing here depends on the disk.
var emptyData = sync.OnceValues(func() (string, error) {
	bin, err := postgres.Find()
	if err != nil {
		return "", err
	}
	dir := filepath.Join(common, "data")
	return dir, postgres.Init(bin, dir, "fsync=off", "shared_buffers=64MB", "max_connections=200", "wal_receiver_timeout=5s", "wal_sender_timeout=5s",
		"wal_receiver_status_interval=1s", "wal_retrieve_retry_interval=500ms", "log_min_messages=warning")
})

// startDatabases starts a primary and its standby.
func (c *cluster) startDatabases() {
	t := c.t
	bin := postgres.Programs(t)
	fresh, err := emptyData()
	if err != nil {
		t.Fatal(err)
	}
	if out, err := exec.CommandContext(t.Context(), "cp", "-a", fresh, c.data("a")).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if c.primary, err = postgres.Start(bin, c.data("a"), int(test.Address(t).Port())); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.primary.Stop(syscall.SIGQUIT) }) // it may have ended
	if err := c.primary.Exec("CREATE DATABASE " + databaseName + " TEMPLATE template0"); err != nil {
		t.Fatal(err)
	}
	c.replication = newLine(t, fmt.Sprintf("127.0.0.1:%d", c.primary.Port))
	if c.standby, err = c.primary.Standby(c.data("b"), "standby", c.replication.port(), int(test.Address(t).Port())); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.standby.Stop(syscall.SIGQUIT) })
	if !c.asynchronous {
		err = c.primary.Synchronous("*")
	}
	if err := errors.Join(err, c.primary.Streaming(t.Context(), "standby", !c.asynchronous)); err != nil {
		t.Fatal(err)
	}
}

func (c *cluster) data(name string) string { return filepath.Join(c.dir, name) }

// store returns the arguments for the store, reached over lines; nil: directly.
func (c *cluster) store(lines []*line) []string {
	args := []string{"--data", c.data("files")}
	if c.primary == nil {
		return args
	}
	hosts := fmt.Sprintf("127.0.0.1:%d,127.0.0.1:%d", c.primary.Port, c.standby.Port)
	if lines != nil {
		hosts = lines[0].addr() + "," + lines[1].addr()
	}
	return append(args, "--database", fmt.Sprintf("postgres://postgres@%s/%s?sslmode=disable&target_session_attrs=read-write", hosts, databaseName))
}

// command runs a command of the program while the nodes run.
func (c *cluster) command(stdin string, args ...string) string {
	c.t.Helper()
	out, err := program.Command(binary, stdin, append(args, c.store(nil)...)...)
	if err != nil {
		c.t.Fatal(err)
	}
	return out
}

// until waits until is returns true.
func (c *cluster) until(what string, within time.Duration, is func() bool) {
	c.t.Helper()
	for end := time.Now().Add(within); !is(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			c.t.Fatalf("not reached within %v: %s", within, what)
		}
	}
}

// named returns the node with a name.
func (c *cluster) named(name string) *hazardd {
	for _, n := range c.nodes {
		if n.name == name {
			return n
		}
	}
	return nil
}

// hazardd is a node.
type hazardd struct {
	cluster *cluster
	name    string
	addr    string
	lines   []*line // one to each of the databases
	process *program.Process
	log     lockedBuffer
}

// startTime is the maximum time of a node's start, with retries as by an init system, because a
// node does not start without a database.
const startTime = time.Minute

// start starts the node, and waits until it is ready.
func (n *hazardd) start() {
	c := n.cluster
	ctx, cancel := context.WithTimeout(c.t.Context(), startTime)
	defer cancel()
	args := append([]string{"serve", "--listen", n.addr, "--public-url", c.front.URL, "--sources", "feed", "--cap", "name=feed every=10s url=" + c.feed.url(n.name), "--private-sources", "--picture-size", "0",
		"--user-streams", "1000", "--trusted-proxies", "127.0.0.1/32", "--log-level", "warn", "--no-exposure"}, c.store(n.lines)...)
	p, err := program.Start(ctx, binary, nil, &n.log, args...)
	for ; err != nil; p, err = program.Start(ctx, binary, nil, &n.log, args...) {
		c.t.Logf("%s: %v", n.name, err)
		select {
		case <-ctx.Done():
			c.t.Errorf("%s has not started within %v", n.name, startTime)
			return
		case <-time.After(500 * time.Millisecond):
		}
	}
	n.process = p
	c.t.Cleanup(func() {
		_ = p.Signal(syscall.SIGCONT) // it may have ended, here and on the next line
		_ = p.End(syscall.SIGKILL)
		if log := n.log.String(); p == n.process && os.Getenv("HAZARDD_CLUSTER_LOGS") != "" {
			c.t.Logf("%s has logged:\n%s", n.name, log)
		} else if p == n.process && c.t.Failed() {
			lines := slices.Collect(strings.Lines(log))
			c.t.Logf("%s has logged at the end (HAZARDD_CLUSTER_LOGS=1 shows all):\n%s", n.name, strings.Join(lines[max(0, len(lines)-10):], ""))
		}
	})
}

// ready reports whether the node says that it is ready.
func (n *hazardd) ready() bool {
	ctx, cancel := context.WithTimeout(n.cluster.t.Context(), time.Second)
	defer cancel()
	_, status, err := newClient(n.cluster, n.name).get(ctx, "/readyz")
	return err == nil && status == http.StatusOK
}

// lockedBuffer holds the log of a process from its beginning, up to a limit.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

const maxLog = 200 << 10 // bytes

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.b.Len() < maxLog {
		l.b.Write(p)
	}
	return len(p), nil
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// feed is a source with a different address for each node, so that it knows which node polls. Each
// poll finds a new alert.
type feed struct {
	server *httptest.Server
	quiet  atomic.Bool // there are no new alerts any more
	mu     sync.Mutex
	polls  []poll
}

type poll struct {
	at   time.Time
	node string
}

const alert = `<?xml version="1.0" encoding="UTF-8"?>
<alert xmlns="urn:oasis:names:tc:emergency:cap:1.2"><identifier>alert-%d</identifier><sender>office@weather.example</sender><sent>%s</sent><status>Actual</status>
<msgType>Alert</msgType><scope>Public</scope><info><language>en</language><category>Met</category><event>Flood Warning</event><urgency>Immediate</urgency><severity>Severe</severity>
<certainty>Observed</certainty><expires>%s</expires><headline>Flood on the river</headline><description>Water rises.</description>
<area><areaDesc>Valley</areaDesc><polygon>1,2 1,3 2,3 1,2</polygon></area></info></alert>`

func newFeed(t testing.TB) *feed {
	f := &feed{}
	f.server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if f.quiet.Load() {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		f.mu.Lock()
		f.polls = append(f.polls, poll{time.Now(), strings.Trim(r.URL.Path, "/")})
		n := len(f.polls)
		f.mu.Unlock()
		w.Header().Set("Content-Type", "application/cap+xml")
		const form = "2006-01-02T15:04:05-07:00"
		now := time.Now()
		_, _ = fmt.Fprintf(w, alert, n, now.Format(form), now.Add(time.Hour).Format(form)) // a write to a killed node fails
	}))
	t.Cleanup(f.server.Close)
	return f
}

func (f *feed) url(node string) string { return f.server.URL + "/" + node }

// poller returns the node that polled last.
func (f *feed) poller() poll {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.polls) == 0 {
		return poll{}
	}
	return f.polls[len(f.polls)-1]
}
