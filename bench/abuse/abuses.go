package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"time"
)

// asAbuser names the abuse that a process of this program runs.
const asAbuser = "HAZARDD_BENCH_ABUSE"

// abuses are named after the finding that they reproduce.
var abuses = []struct {
	name, what string
	run        func(context.Context, *abuser)
}{
	{"none", "nothing", func(ctx context.Context, _ *abuser) { <-ctx.Done() }},
	{"L1", "60 × /changes?limit=1000 of 30 MB, not read", func(ctx context.Context, a *abuser) {
		a.ignore(ctx, 60, "127.0.0.2", get("/changes?limit=1000", a.w.Tokens["bad-reader"]))
	}},
	{"L2", "8 editors at once write costly areas", func(ctx context.Context, a *abuser) {
		body, err := json.Marshal(map[string]any{"area": combs(teeth)})
		a.fail(err)
		a.repeat(ctx, 8, func(i int) (string, string, string, []byte) {
			return "bad-editor", "PATCH", "/hazards/" + a.w.Abuser, body
		})
	}},
	{"L3", "4 readers of a costly area in six formats", func(ctx context.Context, a *abuser) {
		a.repeat(ctx, 4, func(i int) (string, string, string, []byte) {
			path := "/hazards/" + a.w.Costly + "?f=" + []string{"geojson", "kml", "atom", "rss", "csv", "cap"}[i%6]
			if i%6 == 5 {
				path = "/ogc/collections/hazards/items/" + a.w.Costly
			}
			return "bad-reader", "GET", path, nil
		})
	}},
	{"L4", "logins from one address, 19,000 unfinished", func(ctx context.Context, a *abuser) {
		a.ignore(ctx, 19_000, "127.0.0.2", "POST /authorize HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{")
	}},
	{"L5a", "64 × lists of 1,000 by one user, as fast as they come", func(ctx context.Context, a *abuser) {
		a.repeat(ctx, 64, func(int) (string, string, string, []byte) { return "bad-reader", "GET", "/hazards?limit=1000", nil })
	}},
	{"L5b", "100 tests of a webhook at once", func(ctx context.Context, a *abuser) {
		a.repeat(ctx, 100, func(int) (string, string, string, []byte) {
			return "bad-editor", "POST", "/webhooks/" + a.w.Webhook + "/test", nil
		})
	}},
	{"L5c", "64 × logins with wrong passwords", func(ctx context.Context, a *abuser) {
		a.repeat(ctx, 64, func(i int) (string, string, string, []byte) {
			return "", "POST", "/authorize", fmt.Appendf(nil, `{"username":"user-%d","password":"wrong-%d"}`, i%1000, i)
		})
	}},
	{"R3a", "200 × lists of 1,000 as KML, not read", func(ctx context.Context, a *abuser) {
		a.ignore(ctx, 200, "127.0.0.2", get("/hazards?limit=1000&f=kml", a.w.Tokens["bad-reader"]))
	}},
	{"R3b", "10 × lists of 1,000 in formats", func(ctx context.Context, a *abuser) {
		a.repeat(ctx, 10, func(i int) (string, string, string, []byte) {
			return "bad-reader", "GET", "/hazards?limit=1000&f=" + []string{"geojson", "kml", "csv", "atom", "rss"}[i%5], nil
		})
	}},
	{"S11", "12 × GeoPackage, GeoParquet, ArcGIS, KML by one user", func(ctx context.Context, a *abuser) {
		a.repeat(ctx, 12, func(i int) (string, string, string, []byte) {
			return "bad-reader", "GET", []string{"/hazards?f=gpkg", "/hazards?f=parquet", "/arcgis/rest/services/hazards/FeatureServer/0/query?where=1%3D1&outFields=*&f=json", "/hazards?f=kml&limit=1000"}[i%4], nil
		})
	}},
	{"O1", "a stranger: every read, 16 at once from one address", func(ctx context.Context, a *abuser) {
		a.every(ctx, []string{""}, 1)
	}},
	{"O2", "a network: every read, 16 at once from 16 addresses", func(ctx context.Context, a *abuser) {
		a.every(ctx, []string{""}, 16)
	}},
	{"O3", "a reader: every read, 16 at once", func(ctx context.Context, a *abuser) {
		a.every(ctx, []string{"bad-reader"}, 1)
	}},
	{"O4", "an editor: every read and writes, 16 at once", func(ctx context.Context, a *abuser) {
		a.every(ctx, []string{"bad-editor"}, 1)
	}},
	{"O5", "an organization: the same by two editors", func(ctx context.Context, a *abuser) {
		a.every(ctx, []string{"bad-editor", "bad-editor-2"}, 2)
	}},
	{"R4", "32 streams that nobody reads, and their user", func(ctx context.Context, a *abuser) {
		a.ignore(ctx, 32, "127.0.0.2", get("/events", a.w.Tokens["bad-reader"]))
	}},
}

// abuser is the environment of an abuse.
type abuser struct {
	addr string
	w    *world
	all  sync.WaitGroup

	mu     sync.Mutex
	failed error // guarded by mu: why it cannot continue
}

func (a *abuser) fail(err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.failed = errors.Join(a.failed, err)
}

func get(path, token string) string {
	return fmt.Sprintf("GET %s HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\n\r\n", path, token)
}

// ignore opens n connections from an address, sends text on each and reads nothing. If the server
// closes one, it is opened again after a while.
func (a *abuser) ignore(ctx context.Context, n int, from, text string) {
	dialer := &net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}, Timeout: time.Second}
	dial := func() (net.Conn, error) {
		c, err := dialer.DialContext(ctx, "tcp", a.addr)
		if err != nil {
			return nil, err
		}
		if tcp, ok := c.(*net.TCPConn); ok {
			_ = tcp.SetReadBuffer(4096) // otherwise the kernel reads for it
		}
		_, err = io.WriteString(c, text)
		return c, err
	}
	var conns []net.Conn
	for range n {
		if ctx.Err() != nil {
			break
		}
		if c, err := dial(); err == nil {
			conns = append(conns, c)
		} else {
			time.Sleep(time.Millisecond) // the connection was refused, or none is free
		}
	}
	<-ctx.Done()
	for _, c := range conns {
		_ = c.Close()
	}
}

// every makes every read that the OpenAPI document has and whose path is known here, over 16 connections
// from so many addresses, in the names of users; "" is nobody. Editors write, too.
func (a *abuser) every(ctx context.Context, users []string, addresses int) {
	paths, err := a.reads(ctx)
	if err != nil {
		a.fail(err)
		return
	}
	a.repeatFrom(ctx, 16, addresses, func(i int) (string, string, string, []byte) {
		user := users[i%len(users)]
		if i%8 == 7 && strings.HasPrefix(user, "bad-editor") {
			return user, "POST", "/hazards", []byte(`{"hazard_Name":"One more","type_ID":"FLOOD","severity_ID":"INFORMATION","latitude":10,"longitude":20}`)
		}
		return user, "GET", paths[i%len(paths)], nil
	})
}

// reads returns the paths of GET that end by themselves.
func (a *abuser) reads(ctx context.Context) (paths []string, err error) {
	var document struct {
		Paths map[string]map[string]json.RawMessage
	}
	if err := call(ctx, http.DefaultClient, a.addr, a.w.Tokens["bad-reader"], "GET", "/openapi.json", nil, &document); err != nil {
		return nil, err
	}
	for path, methods := range document.Paths {
		path = strings.NewReplacer("{hazard-id}", a.w.Mine, "{category}", "EVENT", "{severity}", "WARNING", "{layer}", "0", "{collection}", "active-hazards", "{z}", "2", "{x}", "2", "{y}", "1").Replace(path)
		if methods["get"] != nil && !strings.Contains(path, "{") && path != "/events" {
			paths = append(paths, path)
		}
	}
	slices.Sort(paths)
	if len(paths) < 30 {
		return nil, fmt.Errorf("only %d reads are known", len(paths))
	}
	return paths, nil
}

// repeat makes requests over n connections, one after the other on each, and reads the answers.
// next returns the i-th request.
func (a *abuser) repeat(ctx context.Context, n int, next func(i int) (user, method, path string, body []byte)) {
	a.repeatFrom(ctx, n, 1, next)
}

// repeatFrom does the same from so many addresses.
func (a *abuser) repeatFrom(ctx context.Context, n, addresses int, next func(i int) (user, method, path string, body []byte)) {
	for first := range n {
		a.all.Go(func() {
			transport := &http.Transport{DialContext: (&net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, byte(2+first%addresses))}}).DialContext}
			client := &http.Client{Transport: transport}
			defer transport.CloseIdleConnections()
			for i := first; ctx.Err() == nil; i += n {
				user, method, path, body := next(i)
				req, err := http.NewRequestWithContext(ctx, method, "http://"+a.addr+path, bytes.NewReader(body))
				if err != nil {
					a.fail(err)
					return
				}
				if user != "" {
					req.Header.Set("Authorization", "Bearer "+a.w.Tokens[user])
				}
				if body != nil {
					req.Header.Set("Content-Type", "application/json")
				}
				resp, err := client.Do(req)
				if err != nil {
					time.Sleep(time.Millisecond)
					continue
				}
				_, _ = io.Copy(io.Discard, resp.Body) // the answer may be cut off
				_ = resp.Body.Close()
				if resp.StatusCode >= 400 { // a flood of refused requests is limited by this machine, not by the server
					time.Sleep(time.Millisecond)
				}
			}
		})
	}
	a.all.Wait()
}

// abuseAs runs the process of an abuse. It reads its environment from the standard input, and ends
// when that ends.
func abuseAs(name string) error {
	in := bufio.NewReader(os.Stdin)
	var given struct {
		Addr  string
		World world
	}
	line, err := in.ReadBytes('\n')
	if err != nil {
		return err
	}
	if err := json.Unmarshal(line, &given); err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	go func() {
		defer cancel()
		_, _ = io.Copy(io.Discard, in) // until the parent process has ended
	}()
	a := &abuser{addr: given.Addr, w: &given.World}
	for _, one := range abuses {
		if one.name == name {
			one.run(ctx, a)
			return a.failed
		}
	}
	return errors.New("no abuse is named " + name)
}

// running is the process of an abuse.
type running struct {
	cmd   *exec.Cmd
	stdin io.WriteCloser
}

func startAbuser(ctx context.Context, name, addr string, w *world) (*running, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	r := &running{cmd: exec.CommandContext(ctx, self)}
	r.cmd.Env = append(os.Environ(), asAbuser+"="+name)
	r.cmd.Stderr = os.Stderr
	if r.stdin, err = r.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	if err := r.cmd.Start(); err != nil {
		return nil, err
	}
	given, err := json.Marshal(map[string]any{"Addr": addr, "World": w})
	if err != nil {
		return nil, err
	}
	_, err = io.Copy(r.stdin, strings.NewReader(string(given)+"\n"))
	return r, err
}

func (r *running) stop() error { return errors.Join(r.stdin.Close(), r.cmd.Wait()) }
