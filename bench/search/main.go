// Search measures searches in a store with a million expired hazards, and how these affect readers
// who only want the active ones.
//
// Two services run, each in its own process: one with the expired hazards and 100 active ones in
// its store, and one with only the same active ones. The store is filled through the normal write
// path, with hazards like those of busy days: spread over five years and the world, a quarter of
// them with an area. That takes minutes; --data keeps the store for another run.
//
// The searches go over HTTP, one at a time, each with a random place, time and kind. The processor
// time of each is that of the service, so it holds on a busy machine too, and has goals. GET /hazards/active is
// requested from both services in turn; the result is the median ratio of the rounds. The process
// is ready when /readyz says so. Its memory is the peak (VmHWM, on Linux).
package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"runtime/pprof"
	"strconv"
	"time"

	"github.com/hazardd/hazardd/bench/internal/measure"
	"github.com/hazardd/hazardd/bench/internal/sample"
	"github.com/hazardd/hazardd/bench/internal/served"
	"github.com/hazardd/hazardd/internal/app"
	"github.com/hazardd/hazardd/internal/geo"
	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/store"
)

const (
	actives = 100
	years   = 5
)

type options struct {
	hazards, searches, rounds int
	data, database            string
	only                      *regexp.Regexp
	profile                   string
	json                      bool
}

func main() {
	var o options
	flag.IntVar(&o.hazards, "hazards", 1_000_000, "expired hazards")
	flag.IntVar(&o.searches, "searches", 1000, "searches of each kind")
	flag.IntVar(&o.rounds, "rounds", 41, "rounds of GET /hazards/active")
	flag.StringVar(&o.data, "data", "", "keep the filled store in this `folder`, and use it again")
	flag.StringVar(&o.database, "database", "", "fill this PostgreSQL `database` instead, or use it again if it is filled")
	flag.Func("only", "make only the searches whose name matches this regular `expression`", func(text string) (err error) {
		o.only, err = regexp.Compile(text)
		return err
	})
	flag.StringVar(&o.profile, "profile", "", "write the service's processor profile to this `file`")
	flag.BoolVar(&o.json, "json", false, "print JSON")
	flag.Parse()
	if served.Kind() == served.KindServer {
		measure.Exit("bench/search", serve(flag.Arg(0), flag.Arg(1), flag.Arg(2)))
		return
	}
	measure.Main("bench/search", func(ctx context.Context) error { return run(ctx, o) })
}

// serve runs the service, and writes its processor profile to a file if that is not empty.
func serve(dir, database, profile string) (err error) {
	if profile != "" {
		f, err := os.Create(profile)
		if err != nil {
			return err
		}
		if err := pprof.StartCPUProfile(f); err != nil {
			return errors.Join(err, f.Close())
		}
		defer func() { pprof.StopCPUProfile(); err = errors.Join(err, f.Close()) }()
	}
	return served.Serve(app.Config{Settings: app.Settings{DataDir: dir, Database: database}}, served.Wait)
}

func run(ctx context.Context, o options) (err error) {
	dir, err := os.MkdirTemp("", "hazardd-bench-search-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	large, small := o.data, filepath.Join(dir, "small")
	if large == "" {
		large = filepath.Join(dir, "large")
	}
	now := hazard.At(time.Now())
	filled, err := fill(ctx, large, o.database, o.hazards, now)
	if err != nil {
		return err
	}
	if _, err := fill(ctx, small, "", 0, now); err != nil {
		return err
	}
	with, err := served.StartServer(ctx, 0, large, o.database, o.profile)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, with.Stop()) }()
	without, err := served.StartServer(ctx, 0, small, "", "")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, without.Stop()) }()

	searches := measure.Table{Title: "Milliseconds of one search over HTTP, page of 100, and of the service's processor time for it", Heads: []string{"search", "mean found", "p50", "p99", "processor p50", "p99", "goal"}}
	r := &measure.Report{Program: "bench/search", Machine: measure.Machine("folder", large, "hazards", strconv.Itoa(o.hazards), "searches of each kind", strconv.Itoa(o.searches))}
	for _, k := range kinds {
		if o.only != nil && !o.only.MatchString(k.name) {
			continue
		}
		took, ran, found, err := searchesOf(ctx, with, k, o.searches, now)
		if err != nil {
			return fmt.Errorf("%s: %w", k.name, err)
		}
		p99 := measure.Quantile(ran, 0.99)
		searches.Add(k.name, found, measure.Median(took), measure.Quantile(took, 0.99), measure.Median(ran), p99, k.goal)
		r.Goals = append(r.Goals, measure.AtMost("processor time of "+k.name+", p99, milliseconds", p99, k.goal))
	}
	ratio, table, err := compare(ctx, with, without, o.rounds)
	if err != nil {
		return err
	}
	memory, err := with.Memory()
	if err != nil {
		return err
	}
	r.Tables = []measure.Table{searches, table}
	r.Goals = append(r.Goals,
		measure.AtMost("time of GET /hazards/active with expired hazards / with none", ratio, 1.05),
		measure.AtMost("start to ready, seconds", with.ReadyIn.Seconds(), 3),
		measure.AtMost("peak memory, MB", memory, 300),
	)
	if size, err := os.Stat(filepath.Join(large, "hazardd.db")); err == nil {
		r.Notes = []string{fmt.Sprintf("the store is %d MB", size.Size()>>20)}
	}
	if filled > 0 {
		r.Notes = append(r.Notes, fmt.Sprintf("filled in %s: %.0f hazards a second", filled.Round(time.Second), float64(o.hazards)/filled.Seconds()))
	}
	return r.Write(os.Stdout, o.json)
}

// fill creates a store of expired and active hazards, unless it exists already, and returns how
// long that took.
func fill(ctx context.Context, dir, database string, n int, now hazard.Instant) (took time.Duration, err error) {
	s, err := store.Open(ctx, dir, cmp.Or(database, "sqlite:?synchronous=off")) // it can be created again
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	if last, err := s.Log.Last(ctx); err != nil || last > 0 {
		return 0, err
	}
	begin := time.Now()
	r := rand.New(rand.NewPCG(7, 7))
	const batch = 5000
	for done := 0; done < n; {
		_, err := s.Write(ctx, now, store.Origin{Source: "nws"}, func(tx *store.Tx) error {
			for range min(batch, n-done) {
				h := sample.Hazard(r, done, now)
				h.Start = now.Add(time.Duration(done-n)*(years*365*24*time.Hour/time.Duration(n)) - time.Duration(r.Int64N(int64(time.Hour)))) // in the order of time
				h.End = h.Start.Add(time.Hour + time.Duration(r.Int64N(int64(7*24*time.Hour))))
				h.Created, h.Updated, h.LastUpdate = h.Start, h.Start, h.End
				h.Status, h.Reason = hazard.Expired, hazard.EndExpired
				if r.IntN(4) == 0 {
					area := geo.Circle(h.Longitude, h.Latitude, 1000+r.Float64()*100_000)
					refs, err := tx.KeepAreas([]hazard.Area{{Role: hazard.AlertArea, Geometry: area.GeoJSON()}})
					if err != nil {
						return err
					}
					h.Areas = refs
				}
				if err := tx.SaveHazard(h, nil); err != nil {
					return err
				}
				done++
			}
			return nil
		})
		if err != nil {
			return 0, err
		}
		if done%100_000 == 0 {
			fmt.Fprintf(os.Stderr, "bench/search: %d hazards written, %s\n", done, time.Since(begin).Round(time.Second))
		}
	}
	return time.Since(begin), sample.Fill(ctx, s, actives, now)
}

// kind is a kind of search with random parameters. The goal is in milliseconds.
type kind struct {
	name string
	goal float64
	path string
	draw func(r *rand.Rand, v url.Values, now hazard.Instant)
}

var kinds = []kind{
	{"bbox, time and type", 20, "/hazards", func(r *rand.Rand, v url.Values, now hazard.Instant) {
		place(r, v, 30+r.Float64()*30, 20+r.Float64()*20)
		span(r, v, now, time.Duration(60+r.IntN(300))*24*time.Hour)
		v.Set("type", drawType(r))
	}},
	{"bbox (a city), time and type", 20, "/hazards", func(r *rand.Rand, v url.Values, now hazard.Instant) {
		place(r, v, 2, 2)
		span(r, v, now, 365*24*time.Hour)
		v.Set("type", drawType(r))
	}},
	{"bbox (a continent) and type", 20, "/hazards", func(r *rand.Rand, v url.Values, _ hazard.Instant) {
		place(r, v, 90, 60)
		v.Set("type", drawType(r))
	}},
	{"near (500 km)", 20, "/hazards", func(r *rand.Rand, v url.Values, _ hazard.Instant) {
		v.Set("near", fmt.Sprintf("%.3f,%.3f", r.Float64()*360-180, r.Float64()*160-80))
		v.Set("radius", "500000")
	}},
	{"two words", 20, "/hazards", func(r *rand.Rand, v url.Values, _ hazard.Instant) { v.Set("q", "platte tornado") }},
	{"a common word, last updated first", 20, "/hazards", func(r *rand.Rand, v url.Values, _ hazard.Instant) {
		v.Set("q", "flood*")
		v.Set("sort", "-last_Update")
	}},
	{"type, last started first", 20, "/hazards", func(r *rand.Rand, v url.Values, _ hazard.Instant) {
		v.Set("type", drawType(r))
		v.Set("sort", "-start_Date")
	}},
	{"magnitude 6 and more", 20, "/hazards", func(r *rand.Rand, v url.Values, _ hazard.Instant) { v.Set("measure", "magnitude:6..") }},
	{"magnitude and depth, greatest first", 60, "/hazards", func(r *rand.Rand, v url.Values, _ hazard.Instant) {
		low := 5 + float64(r.IntN(30))/10
		v.Set("measure", fmt.Sprintf("magnitude:%.1f..,depth_km:..%d", low, 50+r.IntN(300)))
		v.Set("sort", "-magnitude")
	}},
	{"greatest magnitude first", 60, "/hazards", func(r *rand.Rand, v url.Values, _ hazard.Instant) { v.Set("sort", "-magnitude") }},
	{"type, greatest wind first", 60, "/hazards", func(r *rand.Rand, v url.Values, _ hazard.Instant) {
		v.Set("type", drawType(r))
		v.Set("sort", "-wind_kmh")
	}},
	{"bbox, time and magnitude, greatest first", 60, "/hazards", func(r *rand.Rand, v url.Values, now hazard.Instant) {
		place(r, v, 30+r.Float64()*30, 20+r.Float64()*20)
		span(r, v, now, time.Duration(60+r.IntN(300))*24*time.Hour)
		v.Set("measure", "magnitude:5..")
		v.Set("sort", "-magnitude")
	}},
	{"a wide range, last updated first", 60, "/hazards", func(r *rand.Rand, v url.Values, _ hazard.Instant) {
		v.Set("measure", "certainty:likely..")
		v.Set("sort", "-last_Update")
	}},
	{"most important first", 60, "/hazards", func(r *rand.Rand, v url.Values, _ hazard.Instant) { v.Set("sort", "importance") }},
	{"count of magnitude 5 and more", 60, "/hazards/count", func(r *rand.Rand, v url.Values, _ hazard.Instant) { v.Set("measure", "magnitude:5..") }},
	{"CQL2: type, level, box and time", 20, "/hazards", func(r *rand.Rand, v url.Values, now hazard.Instant) {
		west, south := r.Float64()*300-180, r.Float64()*130-80
		v.Set("filter", fmt.Sprintf("type_ID = '%s' AND severity_rank >= 2 AND S_INTERSECTS(geometry, BBOX(%.2f, %.2f, %.2f, %.2f)) AND start_time > TIMESTAMP('%s')",
			drawType(r), west, south, west+40, south+25, now.Add(-time.Duration(r.IntN(years*365))*24*time.Hour)))
	}},
	{"CQL2: magnitude or wind", 60, "/hazards", func(r *rand.Rand, v url.Values, _ hazard.Instant) {
		v.Set("filter", fmt.Sprintf("measurements.magnitude >= %.1f OR measurements.wind_kmh > %d", 5+float64(r.IntN(20))/10, 100+r.IntN(100)))
	}},
	{"CQL2: type and a part of the name", 60, "/hazards", func(r *rand.Rand, v url.Values, _ hazard.Instant) {
		v.Set("filter", fmt.Sprintf("type_ID = '%s' AND hazard_Name LIKE '%%%c%%'", drawType(r), 'a'+rune(r.IntN(26))))
	}},
	{"count by CQL2: type and level", 60, "/hazards/count", func(r *rand.Rand, v url.Values, _ hazard.Instant) {
		v.Set("filter", fmt.Sprintf("type_ID = '%s' AND severity_rank >= 3", drawType(r)))
	}},
	{"a type that is not there", 60, "/hazards", func(r *rand.Rand, v url.Values, _ hazard.Instant) { v.Set("type", "VOLCANO") }},
	{"all", 60, "/hazards", func(*rand.Rand, url.Values, hazard.Instant) {}},
	{"count of bbox, time and type", 60, "/hazards/count", func(r *rand.Rand, v url.Values, now hazard.Instant) {
		place(r, v, 40, 30)
		span(r, v, now, 180*24*time.Hour)
		v.Set("type", drawType(r))
	}},
	{"count of all", 60, "/hazards/count", func(*rand.Rand, url.Values, hazard.Instant) {}},
}

func drawType(r *rand.Rand) string {
	return []string{"FLOOD", "WINTERSTORM", "HIGHWIND", "EARTHQUAKE", "WILDFIRE"}[r.IntN(5)]
}

// place sets a random box, which may cross the antimeridian.
func place(r *rand.Rand, v url.Values, width, height float64) {
	west, south := r.Float64()*360-180, -85+r.Float64()*(170-height)
	east := west + width
	if east > 180 {
		east -= 360
	}
	v.Set("bbox", fmt.Sprintf("%.3f,%.3f,%.3f,%.3f", west, south, east, south+height))
}

// span sets a random period of that length.
func span(r *rand.Rand, v url.Values, now hazard.Instant, length time.Duration) {
	from := now.Add(-time.Duration(r.Int64N(int64(years*365*24*time.Hour-length))) - length)
	v.Set("datetime", from.String()+"/"+from.Add(length).String())
}

// compare requests the active hazards from both services in turn, and returns the ratio of the
// times.
func compare(ctx context.Context, with, without *served.Server, rounds int) (float64, measure.Table, error) {
	const requests = 200
	sides := []*served.Server{with, without}
	times := make([][]float64, 2)
	for round := range rounds {
		for _, i := range measure.Rotated(2, round) {
			begin := time.Now()
			for range requests {
				if _, err := sides[i].Call(ctx, http.MethodGet, "/hazards/active", nil); err != nil {
					return 0, measure.Table{}, err
				}
			}
			times[i] = append(times[i], float64(time.Since(begin).Microseconds())/requests)
		}
	}
	ratio := measure.Ratio(times[0], times[1])
	t := measure.Table{Title: "Microseconds of GET /hazards/active", Heads: []string{"with expired hazards", "with none", "ratio"}}
	t.Add(measure.Median(times[0]), measure.Median(times[1]), ratio)
	return ratio, t, nil
}

// searchesOf makes searches of a kind. It returns how long each took and how long the service ran for
// it, in milliseconds, and how many hazards they found on average.
func searchesOf(ctx context.Context, s *served.Server, k kind, times int, now hazard.Instant) (took, ran []float64, found float64, err error) {
	r := rand.New(rand.NewPCG(11, uint64(len(k.name))))
	for range times {
		v := url.Values{}
		k.draw(r, v, now)
		used, err := measure.ProcessorTime(s.PID())
		if err != nil {
			return nil, nil, 0, err
		}
		begin := time.Now()
		body, err := s.Call(ctx, http.MethodGet, k.path+"?"+v.Encode(), nil)
		took = append(took, float64(time.Since(begin).Microseconds())/1000)
		if err != nil {
			return nil, nil, 0, fmt.Errorf("%s: %w", v.Encode(), err)
		}
		after, err := measure.ProcessorTime(s.PID())
		if err != nil {
			return nil, nil, 0, err
		}
		ran = append(ran, float64((after-used).Microseconds())/1000)
		if k.path == "/hazards" {
			var list []json.RawMessage
			if err := json.Unmarshal(body, &list); err != nil {
				return nil, nil, 0, err
			}
			found += float64(len(list))
			continue
		}
		var count struct{ Count float64 }
		if err := json.Unmarshal(body, &count); err != nil {
			return nil, nil, 0, err
		}
		found += count.Count
	}
	return took, ran, found / float64(times), nil
}
