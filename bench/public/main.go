// Command public measures how much a cache in front of hazardd helps readers without an account,
// and whether it ever reveals too much.
//
// It starts a server that is open to the public, with its own store of many hazards, and nginx with
// deploy/nginx.conf in front of it. Readers request the same addresses, first from the server alone
// and then from nginx. The program prints requests per second, and the server's processor time per
// 1,000 requests. That time does not depend on other load of the machine, and determines how many
// readers a server can have. With -ends, one hazard ends each second. In all runs every answer is
// searched for hazards that had ended before the request, and for the text of products for members
// only. Both counts must be 0.
//
// With -recipe, it replays what browsers of readers of one event ask for, -readers times: requests,
// bytes and processor time of a reader, the memory of an event stream, and the share of requests
// that a cache leaves to the server. Streams go to the server in both runs.
//
// A crowd of 100,000 costs two processors more than they have: -slow plays it in slow motion, in which
// what is kept at the cache ages as fast as ever, so the node has more to do than it would have.
//
//	make build && go run ./bench/public
//	node bench/web/readers.mjs bin/hazardd > recipe.json
//	go run ./bench/public -recipe recipe.json -readers 5000 -arrive 2m -time 2m
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hazardd/hazardd/bench/internal/measure"
	"github.com/hazardd/hazardd/internal/test/nginx"
)

var (
	program = flag.String("hazardd", "bin/hazardd", "the program")
	hazards = flag.Int("hazards", 600, "active hazards")
	readers = flag.Int("readers", 16, "readers at once")
	length  = flag.Duration("time", 10*time.Second, "length of each run")
	ends    = flag.Bool("ends", false, "a hazard ends in each second")
	recipes = flag.String("recipe", "", "replay what browsers asked for: a file of bench/web/readers.mjs")
	arrive  = flag.Duration("arrive", time.Minute, "with -recipe: within what time all readers come")
	alone   = flag.Bool("alone", false, "with -recipe: without a cache only")
	cached  = flag.Bool("cached", false, "with -recipe: behind a cache only")
	files   = flag.Int("files", 1, "with -recipe: one reader in so many asks for files that never change, the others have them")
	slow    = flag.Float64("slow", 1, "with -recipe: everything that readers do takes so many times longer; for crowds that this machine cannot play in time")
	streams = flag.Int("streams", 0, "with -recipe: event streams that the server gives to the public; 0 is as many as its file descriptors allow")
)

// secret is in every restricted product, and nowhere else.
const secret = "canary4711"

// bench implements the part of a test that package nginx needs.
type bench struct {
	testing.TB
	ctx   context.Context
	after []func()
}

func (b *bench) Helper()                      {}
func (b *bench) Context() context.Context     { return b.ctx }
func (b *bench) Cleanup(f func())             { b.after = append(b.after, f) }
func (b *bench) Failed() bool                 { return false }
func (b *bench) Error(args ...any)            { log.Print(args...) }
func (b *bench) Errorf(f string, args ...any) { log.Printf(f, args...) }
func (b *bench) Logf(f string, args ...any)   { log.Printf(f, args...) }
func (b *bench) Fatal(args ...any)            { panic(errors.New(fmt.Sprint(args...))) }
func (b *bench) Fatalf(f string, args ...any) { panic(fmt.Errorf(f, args...)) }
func (b *bench) Skip(args ...any)             { b.Fatal(args...) }

func main() {
	testing.Init() // package nginx is for tests
	flag.Parse()
	if err := run(); err != nil {
		log.Fatal(err)
	}
}

func run() (err error) {
	b := &bench{ctx: context.Background()}
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%v", p)
		}
		for i := len(b.after) - 1; i >= 0; i-- {
			b.after[i]()
		}
	}()
	s, err := start(b)
	if err != nil {
		return err
	}
	if err := s.fill(); err != nil {
		return err
	}
	if *recipes != "" {
		return s.readersRun(b)
	}
	front := nginx.Start(b, s.addr)
	load, _ := os.ReadFile("/proc/loadavg")
	fmt.Printf("%d hazards, %d readers, %v each, ends=%v, load %s", *hazards, *readers, *length, *ends, load)
	fmt.Printf("%-34s %10s %10s %8s %14s %14s %8s %6s %8s\n", "path", "alone/s", "cached/s", "times", "server ms/1000", "cached ms/1000", "less", "past", "secrets")
	if *ends {
		go s.endOneEachSecond(b.ctx)
	}
	plain, secure := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: *readers, DisableCompression: true}}, front.Client(1)
	secure.Transport.(*http.Transport).MaxIdleConnsPerHost = *readers
	for _, path := range []string{"/hazards/active", "/hazards/active?bbox=-20,30,40,70", "/hazards/active?f=geojson", "/hazards?limit=100", "/hazards/count", "/h/" + s.last, "/hazards/" + s.last + "/products"} {
		alone := s.load(plain, s.url+path)
		cached := s.load(secure, front.URL+path)
		name, _, _ := strings.Cut(path, s.last)
		fmt.Printf("%-34s %10.0f %10.0f %8.1f %14.1f %14.2f %8.0f %6d %8d\n", name, alone.rate, cached.rate, cached.rate/alone.rate, alone.cost, cached.cost, alone.cost/max(cached.cost, 0.001),
			alone.past+cached.past, alone.secrets+cached.secrets)
	}
	return nil
}

// server is a running hazardd.
type server struct {
	url, addr, token, last string
	pid                    int
}

func start(b *bench) (*server, error) {
	dir, err := os.MkdirTemp("", "hazardd-bench-")
	if err != nil {
		return nil, err
	}
	b.Cleanup(func() { _ = os.RemoveAll(dir) })
	data := filepath.Join(dir, "data")
	command := func(stdin string, args ...string) (string, error) {
		cmd := exec.Command(*program, append(args, "--data", data)...)
		cmd.Stdin, cmd.Stderr = strings.NewReader(stdin), os.Stderr
		out, err := cmd.Output()
		return strings.TrimSpace(string(out)), err
	}
	org, err := command("", "org", "add", "RC", "--name", "Red Cross")
	if err != nil {
		return nil, err
	}
	org, _, _ = strings.Cut(org, " ")
	if _, err := command("violet kayak thermos orbit", "user", "add", "red", "--role", "editor", "--org", org, "--password-stdin"); err != nil {
		return nil, err
	}
	s := &server{}
	if s.token, err = command("", "token", "red"); err != nil {
		return nil, err
	}
	cmd := exec.Command(*program, "serve", "--data", data, "--listen", "127.0.0.1:0", "--sources", "none", "--log-level", "warn",
		"--public", "map", "--public-rate", "0", "--public-requests", "0", "--trusted-proxies", "127.0.0.0/8", "--user-rate", "0",
		"--public-streams", strconv.Itoa(*streams), "--all-streams", "100000")
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	s.pid = cmd.Process.Pid
	b.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	var text [1 << 12]byte
	said := ""
	for ready := regexp.MustCompile(`ready at (http://(\S+))`); ; {
		n, err := out.Read(text[:])
		if said += string(text[:n]); ready.MatchString(said) {
			m := ready.FindStringSubmatch(said)
			s.url, s.addr = m[1], m[2]
			go func() { _, _ = io.Copy(io.Discard, out) }()
			return s, nil
		}
		if err != nil {
			return nil, fmt.Errorf("hazardd did not become ready: %w", err)
		}
	}
}

func (s *server) post(path string, body any) (uuid string, err error) {
	text, err := json.Marshal(body)
	if err != nil {
		return "", err
	}
	req, err := http.NewRequest(http.MethodPost, s.url+path, bytes.NewReader(text))
	if err != nil {
		return "", err
	}
	req.Header.Set("Authorization", "Bearer "+s.token)
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	var made struct{ UUID string }
	if answer, err := io.ReadAll(resp.Body); err != nil || resp.StatusCode != http.StatusCreated || json.Unmarshal(answer, &made) != nil {
		return "", fmt.Errorf("POST %s: %s %s", path, resp.Status, answer)
	}
	return made.UUID, nil
}

func hazard(i int, more map[string]any) map[string]any {
	lon, lat := float64(i*37%360-180), float64(i*17%140-70)
	h := map[string]any{"hazard_Name": fmt.Sprintf("Flood %d", i), "type_ID": "FLOOD", "severity_ID": []string{"WATCH", "WARNING", "ADVISORY"}[i%3], "latitude": lat, "longitude": lon,
		"description": strings.Repeat("Water over the quay, and more to come. ", 12)}
	for k, v := range more {
		h[k] = v
	}
	return h
}

// fill creates the hazards. Every tenth has a restricted product.
func (s *server) fill() error {
	for i := range *hazards {
		uuid, err := s.post("/hazards", hazard(i, nil))
		if err != nil {
			return err
		}
		s.last = uuid
		if i%10 == 0 || i == *hazards-1 {
			if _, err := s.post("/hazards/"+uuid+"/products", map[string]any{"title": secret, "product_Type": "TEXT_PRODUCT", "data": secret, "security_Flag": "R"}); err != nil {
				return err
			}
		}
	}
	return nil
}

// endOneEachSecond creates one hazard per second that ends 30 s later.
func (s *server) endOneEachSecond(ctx context.Context) {
	for i := 0; ctx.Err() == nil; i++ {
		end := time.Now().Add(30 * time.Second).UnixMilli()
		if i == 0 {
			for k := range 30 {
				_, _ = s.post("/hazards", hazard(k, map[string]any{"autoexpire": "Y", "end_Date": strconv.FormatInt(end-int64(k)*1000, 10)}))
			}
		}
		if _, err := s.post("/hazards", hazard(i, map[string]any{"autoexpire": "Y", "end_Date": strconv.FormatInt(end, 10)})); err != nil {
			return // the server has ended
		}
		time.Sleep(time.Second)
	}
}

// result holds the measurements of a run.
type result struct {
	rate    float64 // requests per second
	cost    float64 // ms of the server's processor time per 1,000 requests
	past    int64   // hazards that had ended before the request
	secrets int64
}

func (s *server) load(hc *http.Client, address string) (r result) {
	var count, past, secrets atomic.Int64
	before, began := processor(s.pid), time.Now()
	var wg sync.WaitGroup
	for range *readers {
		wg.Go(func() {
			for n := 0; time.Since(began) < *length; n++ {
				asked := time.Now().UnixMilli()
				req, _ := http.NewRequest(http.MethodGet, address, nil)
				body, err := ask(hc, req)
				if err != nil {
					log.Printf("%s: %v", address, err)
					return
				}
				count.Add(1)
				if bytes.Contains(body, []byte(secret)) {
					secrets.Add(1)
				}
				if n%20 == 0 { // reading an answer costs as much as serving it
					past.Add(over(body, asked))
				}
			}
		})
	}
	wg.Wait()
	took := time.Since(began)
	n := float64(count.Load())
	return result{n / took.Seconds(), float64((processor(s.pid) - before).Milliseconds()) / n * 1000, past.Load(), secrets.Load()}
}

func ask(hc *http.Client, req *http.Request) ([]byte, error) {
	resp, err := hc.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode != http.StatusOK {
		err = errors.New(resp.Status)
	}
	return body, err
}

// over counts the hazards in an answer that had ended at a moment, in milliseconds since 1970.
// Answers of GET /hazards may contain ended hazards if they mark them so.
func over(body []byte, asked int64) (n int64) {
	var list []struct {
		Status     string `json:"status"`
		AutoExpire string `json:"autoexpire"`
		End        string `json:"end_Date"`
	}
	if json.Unmarshal(body, &list) != nil {
		return 0
	}
	for _, h := range list {
		if end, err := strconv.ParseInt(h.End, 10, 64); err == nil && h.Status == "A" && h.AutoExpire == "Y" && end <= asked {
			n++
		}
	}
	return n
}

// processor returns the processor time that a process has used.
func processor(pid int) time.Duration {
	used, err := measure.ProcessorTime(pid)
	if err != nil {
		log.Print(err)
	}
	return used
}
