// Formats measures what lists cost in the formats of other programs, and whether they hold up those
// who only want the active hazards.
//
// A service with 5,000 active hazards, a quarter of them with an area, runs in its own process. Each
// format is requested first after the start, then after each change of one hazard, and then by three
// readers at once without a change. The tables show the processor time of the service for each answer,
// with nothing else running: the change has been committed, and the list of the base interface been
// read. In rounds of their own, other readers request GET /hazards/active fifty times a second
// while all formats are requested after a change.
//
//	go run ./bench/formats
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"runtime"
	"runtime/pprof"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/hazardd/hazardd/bench/internal/measure"
	"github.com/hazardd/hazardd/bench/internal/sample"
	"github.com/hazardd/hazardd/bench/internal/served"
	"github.com/hazardd/hazardd/internal/app"
	"github.com/hazardd/hazardd/internal/geo"
	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/store"
)

// The promised limits.
const (
	goalProcessor = 100.0 // ms of the first answer after a change
	goalAgain     = 20.0  // ms of an answer for which nothing has changed
	goalRead      = 100.0 // ms, at the 99th percentile
)

const (
	readers   = 3
	readEvery = 20 * time.Millisecond
	quiet     = 20.0 // ms of processor in a second
)

// Paths with everything; a page of the last two has at most 1,000 and 2,000 hazards.
var paths = []format{
	{"GeoJSON", "/hazards/active?f=geojson"},
	{"KML", "/hazards/active?f=kml"},
	{"CSV", "/hazards/active?f=csv"},
	{"GeoPackage", "/hazards?status=A&f=gpkg"},
	{"GeoParquet", "/hazards?status=A&f=parquet"},
	{"ArcGIS, JSON", "/arcgis/rest/services/hazards/FeatureServer/0/query?where=1%3D1&outFields=*&f=json"},
	{"ArcGIS, PBF", "/arcgis/rest/services/hazards/FeatureServer/0/query?where=1%3D1&outFields=*&f=pbf"},
	{"OGC API – Features", "/ogc/collections/active-hazards/items?limit=1000"},
	{"found hazards as KML", "/hazards?status=A&limit=1000&f=kml"},
}

type format struct{ name, path string }

type options struct {
	hazards, rounds int
	json            bool
	profile, heap   string
	only            string
}

func main() {
	var o options
	flag.IntVar(&o.hazards, "hazards", 5000, "active hazards")
	flag.IntVar(&o.rounds, "rounds", 5, "changes, after each of which all formats are requested")
	flag.BoolVar(&o.json, "json", false, "print JSON")
	flag.StringVar(&o.profile, "profile", "", "write a CPU profile of the service to this `file`")
	flag.StringVar(&o.heap, "heap", "", "write a profile of what the service holds in memory at the end to this `file`")
	flag.StringVar(&o.only, "only", "", "the format of this `name` alone")
	flag.Parse()
	if served.Kind() == served.KindServer {
		measure.Exit("bench/formats", serve(flag.Arg(0), o.profile, o.heap))
		return
	}
	paths = slices.DeleteFunc(paths, func(p format) bool { return o.only != "" && p.name != o.only })
	measure.Main("bench/formats", func(ctx context.Context) error { return run(ctx, o) })
}

// serve runs the service, and writes profiles of it unless their files have no name.
func serve(dir, file, heap string) (err error) {
	if file != "" {
		f, err := os.Create(file)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, f.Close()) }()
		if err := pprof.StartCPUProfile(f); err != nil {
			return err
		}
		defer pprof.StopCPUProfile()
	}
	return served.Serve(app.Config{Settings: app.Settings{DataDir: dir}}, func(ctx context.Context, svc *app.Service, o *served.Orders) error {
		if err := served.Wait(ctx, svc, o); err != nil || heap == "" {
			return err
		}
		runtime.GC() // the profile is of what was in use after the last one
		f, err := os.Create(heap)
		if err != nil {
			return err
		}
		return errors.Join(pprof.WriteHeapProfile(f), f.Close())
	})
}

// cost is what one format took, in milliseconds.
type cost struct {
	bytes               int
	cold, first, repeat []float64 // processor time
	took                []float64 // of the first answer, from request to end
}

func run(ctx context.Context, o options) (err error) {
	dir, err := os.MkdirTemp("", "hazardd-bench-formats-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	if err := fill(ctx, dir, o.hazards, hazard.At(time.Now())); err != nil {
		return err
	}
	s, err := served.StartServer(ctx, 0, "--profile="+o.profile, "--heap="+o.heap, dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Stop()) }()
	rest := measure.OwnMemory(s.PID())
	costs := make([]cost, len(paths))
	for round := range o.rounds + 1 {
		if round == 1 {
			if err := settled(ctx, s); err != nil {
				return err
			}
		}
		for i, p := range paths {
			if err := costs[i].measure(ctx, s, p.path, round); err != nil {
				return fmt.Errorf("%s: %w", p.name, err)
			}
		}
	}
	reads, err := readBeside(ctx, s, o.rounds)
	if err != nil {
		return err
	}
	memory, err := s.Memory()
	if err != nil {
		return err
	}
	table := measure.Table{Title: "Milliseconds of processor for one answer", Heads: []string{"format", "MB", "after the start", "after a change", "time to its end", "again"}}
	r := &measure.Report{Program: "bench/formats", Machine: measure.Machine("hazards", strconv.Itoa(o.hazards))}
	for i, p := range paths {
		c := &costs[i]
		table.Add(p.name, float64(c.bytes)/1e6, measure.Median(c.cold), measure.Median(c.first), measure.Median(c.took), measure.Median(c.repeat))
		r.Goals = append(r.Goals, measure.AtMost(p.name+": processor after a change, ms", measure.Median(c.first), goalProcessor),
			measure.AtMost(p.name+": processor without a change, ms", measure.Median(c.repeat), goalAgain))
	}
	r.Tables = append(r.Tables, table)
	r.Goals = append(r.Goals, measure.AtMost("p99 of GET /hazards/active meanwhile, ms", measure.Quantile(reads, 0.99), goalRead))
	r.Notes = []string{fmt.Sprintf("%d reads of the active hazards meanwhile: median %.1f ms; own memory %.0f MiB at rest, %.0f at the end; peak %.0f MB with files", len(reads), measure.Median(reads), rest, measure.OwnMemory(s.PID()), memory)}
	return r.Write(os.Stdout, o.json)
}

// readBeside returns how long other readers waited for the active hazards, in milliseconds, while each
// format was requested after a change, in so many rounds.
func readBeside(ctx context.Context, s *served.Server, rounds int) (reads []float64, err error) {
	beside, stop := context.WithCancel(ctx)
	var reading sync.WaitGroup
	reading.Go(func() { reads = readActive(beside, s) })
	defer reading.Wait()
	defer stop()
	for round := range rounds {
		for _, p := range paths {
			if err := change(ctx, s, round); err != nil {
				return nil, err
			}
			if _, err := s.Call(ctx, http.MethodGet, p.path, nil); err != nil {
				return nil, err
			}
		}
	}
	stop()
	reading.Wait()
	return reads, nil
}

// measure requests a path once after a change, and then by several readers at once.
func (c *cost) measure(ctx context.Context, s *served.Server, path string, round int) error {
	if err := change(ctx, s, round); err != nil {
		return err
	}
	// The list of the base interface is made again for the present view: that is no cost of the format.
	if _, err := s.Call(ctx, http.MethodGet, "/hazards/active", nil); err != nil {
		return err
	}
	ran, err := processor(s, func() error {
		begin := time.Now()
		body, err := s.Call(ctx, http.MethodGet, path, nil)
		c.bytes = len(body)
		if round > 0 {
			c.took = append(c.took, float64(time.Since(begin).Microseconds())/1000)
		}
		return err
	})
	if round == 0 {
		c.cold = append(c.cold, ran)
	} else {
		c.first = append(c.first, ran)
	}
	if err != nil || round == 0 {
		return err
	}
	ran, err = processor(s, func() error {
		var all sync.WaitGroup
		failed := make([]error, readers)
		for i := range readers {
			all.Go(func() { _, failed[i] = s.Call(ctx, http.MethodGet, path, nil) })
		}
		all.Wait()
		return errors.Join(failed...)
	})
	c.repeat = append(c.repeat, ran/readers)
	return err
}

// processor returns how much processor time the service used during f, in milliseconds.
func processor(s *served.Server, f func() error) (float64, error) {
	before, err := measure.ProcessorTime(s.PID())
	if err != nil {
		return 0, err
	}
	if err := f(); err != nil {
		return 0, err
	}
	after, err := measure.ProcessorTime(s.PID())
	return float64((after - before).Microseconds()) / 1000, err
}

// settled waits until the service has done what it does by itself after a start, such as to count people.
func settled(ctx context.Context, s *served.Server) error {
	for {
		used, err := processor(s, func() error {
			select {
			case <-ctx.Done():
				return ctx.Err()
			case <-time.After(time.Second):
				return nil
			}
		})
		if err != nil || used < quiet {
			return err
		}
	}
}

// change changes one hazard, and waits until the list shows it.
func change(ctx context.Context, s *served.Server, n int) error {
	list, err := s.Call(ctx, http.MethodGet, "/hazards?status=A&limit=1", nil)
	if err != nil {
		return err
	}
	var first []struct {
		UUID string `json:"uuid"`
		Name string `json:"hazard_Name"`
	}
	if err := json.Unmarshal(list, &first); err != nil || len(first) == 0 {
		return errors.Join(err, errors.New("no hazard is active"))
	}
	name, _, _ := strings.Cut(first[0].Name, " #")
	_, err = s.Call(ctx, http.MethodPatch, "/hazards/"+first[0].UUID, map[string]string{"hazard_Name": fmt.Sprintf("%s #%d.%d", name, n, time.Now().UnixNano()%1_000_000)})
	return err
}

// readActive reads the active hazards until ctx ends, and returns how long each took, in
// milliseconds.
func readActive(ctx context.Context, s *served.Server) (took []float64) {
	next := time.NewTicker(readEvery)
	defer next.Stop()
	for {
		select {
		case <-ctx.Done():
			return took
		case <-next.C:
		}
		begin := time.Now()
		if _, err := s.Call(ctx, http.MethodGet, "/hazards/active", nil); err == nil {
			took = append(took, float64(time.Since(begin).Microseconds())/1000)
		} else if ctx.Err() == nil {
			took = append(took, float64(time.Minute.Milliseconds()))
		}
	}
}

func fill(ctx context.Context, dir string, n int, now hazard.Instant) (err error) {
	s, err := store.Open(ctx, dir, "sqlite:?synchronous=off") // it can be created again
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	r := rand.New(rand.NewPCG(5, 5))
	_, err = s.Write(ctx, now, store.Origin{Source: "nws"}, func(tx *store.Tx) error {
		for i := range n {
			h := sample.Hazard(r, i, now)
			if i%4 == 0 {
				area := geo.Circle(h.Longitude, h.Latitude, 1000+r.Float64()*100_000)
				if h.Areas, err = tx.KeepAreas([]hazard.Area{{Role: hazard.AlertArea, Geometry: area.GeoJSON()}}); err != nil {
					return err
				}
			}
			if err := tx.SaveHazard(h, nil); err != nil {
				return err
			}
		}
		return nil
	})
	return err
}
