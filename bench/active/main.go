// Active measures the most frequent request of clients: GET /hazards/active with a token, with 100
// to 5,000 hazards.
//
// Three servers are measured in turn in one run, each in its own process, by the same client over
// connections that stay open:
//
//   - hazardd: the real service on a store of hazards of about 1.2 kB each. It is measured uncompressed,
//     with gzip, with If-None-Match for the current version (304), and as GeoJSON. GeoJSON is compared
//     with the uncompressed list by bytes per second, and not with the other servers;
//   - floor: a server on net/http that looks up the token in a map and writes the same bytes with the
//     same header fields, the minimum that a Go program can do;
//   - nginx, if installed: the same bytes as a file, and for gzip as a compressed file (gzip_static),
//     without any token.
//
// Requests per second depend on the machine and its other load, so the ratios are what matters.
// Each is the median over the rounds; both sides of a ratio are measured one after the other in the
// same round. The processor time per request is also shown, because it reveals costs that waiting
// and other load hide. Allocations per request must not grow with the number of hazards.
//
// With --profile the servers write CPU profiles during the measurement, which slows them slightly.
// --sizes and --forms limit the measurement, and so the content of a profile.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"math"
	"net/http"
	"net/textproto"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/hazardd/hazardd/bench/internal/measure"
)

// asServer is the variable that makes this program run a server.
const asServer = "HAZARDD_BENCH_SERVER"

// sizes are the numbers of hazards: on a quiet day, on a typical day, in a disaster.
var sizes = []int{100, 1000, 5000}

// forms are the forms in which the list is requested.
var forms = []string{"identity", "gzip", "304", "geojson"}

type options struct {
	sizes         []int
	forms         []string
	rounds, conns int
	slice         time.Duration
	json          bool
	profile       string
}

func main() {
	if os.Getenv(asServer) != "" {
		measure.Exit("bench/active", serveList(os.Args[1:]))
		return
	}
	var o options
	flag.IntVar(&o.rounds, "rounds", 41, "rounds; medians are over these")
	flag.IntVar(&o.conns, "conns", 8, "connections of the client")
	flag.DurationVar(&o.slice, "slice", 80*time.Millisecond, "time of one measurement in one round")
	flag.BoolVar(&o.json, "json", false, "print JSON")
	o.sizes, o.forms = sizes, forms
	flag.Func("sizes", "numbers of hazards, separated by commas (default 100,1000,5000)", func(list string) (err error) {
		o.sizes, err = measure.Sizes(list)
		return err
	})
	flag.Func("forms", "forms of the answer, separated by commas (default identity,gzip,304,geojson)", func(list string) error {
		o.forms = strings.Split(list, ",")
		return nil
	})
	flag.StringVar(&o.profile, "profile", "", "write a CPU profile of each Go server to this `folder`")
	flag.Parse()
	measure.Main("bench/active", func(ctx context.Context) error { return run(ctx, o) })
}

// cell is one measurement of each round.
type cell struct {
	server *server
	name   string // of the server
	form   string
	size   int
	req    request
	load   *load
	bytes  int       // of the body
	rates  []float64 // requests per second, by round
	cpu    []float64 // microseconds of processor time per request, by round
	took   []float64 // milliseconds, by request
}

func run(ctx context.Context, o options) (err error) {
	dir, err := os.MkdirTemp("", "hazardd-bench-active-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if err := os.Mkdir(filepath.Join(dir, "www"), 0o700); err != nil {
		return err
	}
	var servers []*server
	defer func() {
		for _, s := range servers {
			if stopped := s.stop(); err == nil && ctx.Err() == nil {
				err = stopped
			}
		}
	}()
	nginx, version, err := startNginx(ctx, dir)
	if err != nil {
		return err
	}
	if nginx != nil {
		servers = append(servers, nginx)
	}
	var cells []*cell
	var bodies measure.Table
	bodies.Title, bodies.Heads = "Answers", []string{"hazards", "bytes", "bytes per hazard", "gzip bytes"}
	for _, size := range o.sizes {
		real, err := start("hazardd", filepath.Join(dir, fmt.Sprint("data-", size)), strconv.Itoa(size))
		if err != nil {
			return err
		}
		servers = append(servers, real)
		plain, err := once(get(real.Addr, "/hazards/active", real.Token))
		if err != nil {
			return err
		}
		zipped, err := once(get(real.Addr, "/hazards/active", real.Token, "Accept-Encoding", "gzip"))
		if err != nil {
			return err
		}
		bodies.Add(size, len(plain.body), len(plain.body)/size, len(zipped.body))
		name := fmt.Sprintf("active-%d.json", size)
		file := filepath.Join(dir, "www", name)
		if err := os.WriteFile(file, plain.body, 0o600); err != nil {
			return err
		}
		if err := os.WriteFile(file+".gz", zipped.body, 0o600); err != nil {
			return err
		}
		fields, err := headerOf(plain)
		if err != nil {
			return err
		}
		text, err := json.Marshal(fields)
		if err != nil {
			return err
		}
		floor, err := start("floor", file, file+".gz", string(text))
		if err != nil {
			return err
		}
		servers = append(servers, floor)
		compared := []struct {
			*server
			name, path string
		}{{real, "hazardd", "/hazards/active"}, {floor, "floor", "/hazards/active"}}
		if nginx != nil {
			compared = append(compared, struct {
				*server
				name, path string
			}{nginx, "nginx", "/" + name})
		}
		for _, form := range o.forms {
			for _, s := range compared {
				if form == "304" && s.server == nginx {
					continue // its entity tags are its own
				}
				path := s.path
				if form == "geojson" {
					if s.server != real {
						continue
					}
					path += "?f=geojson"
				}
				cells = append(cells, &cell{server: s.server, name: s.name, form: form, size: size, req: get(s.Addr, path, s.Token, asking(form, fields.Get("ETag"))...)})
			}
		}
	}
	if err := sameBytes(cells); err != nil {
		return err
	}
	for _, c := range cells {
		if c.load, err = newLoad(c.req, o.conns); err != nil {
			return err
		}
		defer func() { _ = c.load.close() }() // only read from
	}
	if o.profile != "" {
		if err := profile(cells, o.profile, "profile "); err != nil {
			return err
		}
	}
	for round := range o.rounds {
		for _, i := range measure.Rotated(len(cells), round) {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			if err := cells[i].measure(o); err != nil {
				return fmt.Errorf("%s, %s, %d hazards: %w", cells[i].name, cells[i].form, cells[i].size, err)
			}
		}
	}
	if o.profile != "" {
		if err := profile(cells, o.profile, "stop "); err != nil {
			return err
		}
	}
	report, err := figures(cells, o)
	if err != nil {
		return err
	}
	report.Tables = append([]measure.Table{bodies}, report.Tables...)
	report.Machine["nginx"] = version
	if nginx == nil {
		report.Notes = append(report.Notes, "there is no nginx here: its goals are not measured (package nginx on Debian)")
	}
	return report.Write(os.Stdout, o.json)
}

// profile tells each Go server to start or to end its profile.
func profile(cells []*cell, dir, command string) error {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	told := map[*server]bool{}
	for _, c := range cells {
		if c.name == "nginx" || told[c.server] {
			continue
		}
		told[c.server] = true
		if err := c.server.tell(command + filepath.Join(dir, fmt.Sprintf("%s-%d.pprof", c.name, c.size))); err != nil {
			return err
		}
	}
	return nil
}

// asking returns the header fields that request a form.
func asking(form, etag string) []string {
	switch form {
	case "gzip":
		return []string{"Accept-Encoding", "gzip"}
	case "304":
		return []string{"If-None-Match", etag}
	}
	return nil
}

// headerOf returns the fields that the floor repeats: those of the answer, except the fields that
// every server sets itself.
func headerOf(a answer) (http.Header, error) {
	_, rest, _ := strings.Cut(a.head, "\r\n")
	fields, err := textproto.NewReader(bufio.NewReader(strings.NewReader(rest + "\r\n\r\n"))).ReadMIMEHeader()
	if err != nil {
		return nil, err
	}
	for _, name := range []string{"Date", "Content-Length"} {
		fields.Del(name)
	}
	return http.Header(fields), nil
}

// sameBytes checks that all servers return the same bytes.
func sameBytes(cells []*cell) error {
	first := map[string]answer{}
	for _, c := range cells {
		a, err := once(c.req)
		if err != nil {
			return fmt.Errorf("%s, %s, %d hazards: %w", c.name, c.form, c.size, err)
		}
		c.bytes = len(a.body)
		key := fmt.Sprint(c.form, c.size)
		if f, ok := first[key]; !ok {
			first[key] = a
		} else if string(f.body) != string(a.body) {
			return fmt.Errorf("%s, %s, %d hazards: %d bytes that differ from hazardd's %d", c.name, c.form, c.size, len(a.body), len(f.body))
		}
	}
	return nil
}

func (c *cell) measure(o options) error {
	var used []time.Duration
	var failed error
	rate, took, err := c.load.run(o.slice, func() {
		t, err := c.server.cpu()
		used = append(used, t)
		if err != nil {
			failed = err
		}
	})
	if err != nil {
		return err
	}
	if failed != nil {
		return failed
	}
	c.rates = append(c.rates, rate)
	for _, t := range took {
		c.took = append(c.took, float64(t.Microseconds())/1000)
	}
	c.cpu = append(c.cpu, float64((used[1]-used[0]).Microseconds())/(rate*o.slice.Seconds()))
	return nil
}

// figures computes ratios from the measurements.
func figures(cells []*cell, o options) (*measure.Report, error) {
	find := func(name, form string, size int) *cell {
		for _, c := range cells {
			if c.name == name && c.form == form && c.size == size {
				return c
			}
		}
		return nil
	}
	ratio := func(a, b *cell) float64 {
		if a == nil || b == nil {
			return math.NaN()
		}
		return measure.Ratio(a.rates, b.rates)
	}
	costs := func(a, b *cell) float64 { // inverted, so that greater is better, as for rates
		if a == nil || b == nil {
			return math.NaN()
		}
		return measure.Ratio(b.cpu, a.cpu)
	}
	rates := measure.Table{Title: "Requests per second, and microseconds of processor time per request (medians)",
		Heads: []string{"hazards", "form", "hazardd", "floor", "nginx", "hazardd µs", "floor µs", "nginx µs"}}
	ratios := measure.Table{Title: "Ratios (medians of the rounds' ratios): of requests per second, and of what a second of processor time serves",
		Heads: []string{"hazards", "form", "hazardd/floor", "hazardd/nginx", "floor, by cpu", "nginx, by cpu"}}
	for _, size := range o.sizes {
		for _, form := range o.forms {
			row := []any{size, form}
			var cpus []any
			for _, name := range []string{"hazardd", "floor", "nginx"} {
				if c := find(name, form, size); c != nil {
					row, cpus = append(row, measure.Median(c.rates)), append(cpus, measure.Median(c.cpu))
				} else {
					row, cpus = append(row, nil), append(cpus, nil)
				}
			}
			rates.Add(append(row, cpus...)...)
			real, floor, nginx := find("hazardd", form, size), find("floor", form, size), find("nginx", form, size)
			ratios.Add(size, form, ratio(real, floor), ratio(real, nginx), costs(real, floor), costs(real, nginx))
		}
	}
	waits := measure.Table{Title: "Milliseconds that a request took, median and 99th percentile, and how many times nginx' the latter is",
		Heads: []string{"hazards", "form", "hazardd", "floor", "nginx", "hazardd p99", "floor p99", "nginx p99", "ratio"}}
	slowest := func(c *cell) float64 {
		if c == nil {
			return math.NaN()
		}
		return measure.Quantile(c.took, 0.99)
	}
	for _, size := range o.sizes {
		for _, form := range o.forms {
			row := []any{size, form}
			var slow []any
			for _, name := range []string{"hazardd", "floor", "nginx"} {
				if c := find(name, form, size); c != nil {
					row, slow = append(row, measure.Median(c.took)), append(slow, slowest(c))
				} else {
					row, slow = append(row, nil), append(slow, nil)
				}
			}
			waits.Add(append(append(row, slow...), slowest(find("hazardd", form, size))/slowest(find("nginx", form, size)))...)
		}
	}
	counts := measure.Table{Title: "Allocations per request (least of several hundred requests each)", Heads: []string{"hazards", "hazardd", "floor", "hazardd bytes", "floor bytes"}}
	perRequest := map[int]float64{}
	for _, size := range o.sizes {
		row := []any{size}
		var bytes []any
		for _, name := range []string{"hazardd", "floor"} {
			n, b, err := allocations(find(name, o.forms[0], size))
			if err != nil {
				return nil, err
			}
			row, bytes = append(row, n), append(bytes, b)
			if name == "hazardd" {
				perRequest[size] = n
			}
		}
		counts.Add(append(row, bytes...)...)
	}
	perByte := measure.Table{Title: "GeoJSON: bytes per second / those of the base list (median of the rounds' ratios), and of a second of processor time",
		Heads: []string{"hazards", "bytes", "ratio", "by cpu"}}
	geoJSON := map[int]float64{}
	for _, size := range o.sizes {
		g, base := find("hazardd", "geojson", size), find("hazardd", "identity", size)
		if g == nil || base == nil {
			continue
		}
		share := float64(g.bytes) / float64(base.bytes)
		geoJSON[size] = share * ratio(g, base)
		perByte.Add(size, g.bytes, geoJSON[size], share*costs(g, base))
	}
	r := &measure.Report{Program: "bench/active", Tables: []measure.Table{rates, ratios, waits, counts}, Machine: measure.Machine("rounds", strconv.Itoa(o.rounds), "connections", strconv.Itoa(o.conns), "slice", o.slice.String())}
	goal := func(make func(string, float64, float64) measure.Goal, name string, value, bound float64) {
		if !math.IsNaN(value) { // otherwise it was not measured
			r.Goals = append(r.Goals, make(name, value, bound))
		}
	}
	for _, size := range o.sizes {
		goal(measure.AtLeast, fmt.Sprintf("hazardd/floor, identity, %d hazards", size), ratio(find("hazardd", "identity", size), find("floor", "identity", size)), 0.95)
	}
	for _, g := range []struct {
		form  string
		size  int
		bound float64
	}{{"identity", 1000, 0.95}, {"gzip", 1000, 0.6}, {"identity", 5000, 1.5}} {
		goal(measure.AtLeast, fmt.Sprintf("hazardd/nginx, %s, %d hazards", g.form, g.size), ratio(find("hazardd", g.form, g.size), find("nginx", g.form, g.size)), g.bound)
	}
	goal(measure.AtMost, "time of a 304 / time of the body of 1000 hazards", ratio(find("hazardd", "identity", 1000), find("hazardd", "304", 1000)), 0.2)
	if len(perByte.Rows) > 0 {
		r.Tables = append(r.Tables, perByte)
	}
	if rate, ok := geoJSON[1000]; ok {
		goal(measure.AtLeast, "GeoJSON / base list of 1000 hazards, bytes per second", rate, 0.5)
	}
	if few, many := perRequest[100], perRequest[5000]; few > 0 && many > 0 {
		goal(measure.AtMost, "allocations per request at 5000 hazards beyond those at 100", many-few, 1)
	}
	return r, nil
}

// allocations measures the allocations of one request in the server. The process also does other
// work now and then; the minimum of several bursts excludes it.
func allocations(c *cell) (count, bytes float64, err error) {
	const bursts, burst = 10, 50
	conn, err := dial(c.req.addr)
	if err != nil {
		return 0, 0, err
	}
	defer conn.conn.Close()
	count, bytes = math.Inf(1), math.Inf(1)
	for range bursts {
		before, err := c.server.allocations()
		if err != nil {
			return 0, 0, err
		}
		for range burst {
			if err := conn.do(&c.req, nil); err != nil {
				return 0, 0, err
			}
		}
		after, err := c.server.allocations()
		if err != nil {
			return 0, 0, err
		}
		count = min(count, float64(after.Mallocs-before.Mallocs)/burst)
		bytes = min(bytes, float64(after.Bytes-before.Bytes)/burst)
	}
	return count, bytes, nil
}
