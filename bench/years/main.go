// Years measures a store with ten years of changes: how fast it starts, how large it is, and how
// long readers and writers wait while it is pruned.
//
// The store is filled through the normal write path: hazards of sources with three to seven states
// over ten years, a fifth of them with an area and a tenth with a product, and some active ones. A
// server runs on it in its own process. Meanwhile one client reads the list of active hazards, a
// search and a hazard's history in turn, fifty times a second, and another writes five times a
// second:
//
//   - idle: nothing else happens;
//   - prune: another process moves data older than -keep (five years) to an archive, as `hazardd prune` does;
//   - server: the server itself moves data older than two years, as it does with --keep-history.
//
// Each request begins on schedule, however long the one before took. The longest one is the pause.
// A machine with other load has pauses of its own: compare with idle. The list of active hazards
// must be the same before and after, and after a restart.
//
//	go run ./bench/years                     # 200,000 changes
//	go run ./bench/years -changes 5000000    # takes half an hour and 15 GB
package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/google/uuid"

	"github.com/hazardd/hazardd/bench/internal/measure"
	"github.com/hazardd/hazardd/bench/internal/sample"
	"github.com/hazardd/hazardd/bench/internal/served"
	"github.com/hazardd/hazardd/internal/geo"
	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/hazard/clock"
	"github.com/hazardd/hazardd/internal/store"
)

const (
	actives = 500
	day     = 24 * time.Hour
	year    = 365 * day
	years   = 10
)

// The promised limits.
const (
	goalStart = 1.0   // s
	goalPause = 100.0 // ms
)

type options struct {
	changes int
	idle    time.Duration
	keep    string
	data    string
	json    bool
}

func main() {
	var o options
	flag.IntVar(&o.changes, "changes", 200_000, "changes in the store")
	flag.DurationVar(&o.idle, "idle", 20*time.Second, "time of the measurement without pruning")
	flag.StringVar(&o.keep, "keep", "5,2", "`years` that are kept by the first pruning and by the second")
	flag.StringVar(&o.data, "data", "", "fill a store in this `folder`, unless there is one, and leave it there")
	flag.BoolVar(&o.json, "json", false, "print JSON")
	flag.Parse()
	switch served.Kind() {
	case served.KindServer:
		measure.Exit("bench/years", serve())
	case kindPrune:
		measure.Exit("bench/years", pruner())
	default:
		measure.Main("bench/years", func(ctx context.Context) error { return run(ctx, o) })
	}
}

func run(ctx context.Context, o options) (err error) {
	dir, err := os.MkdirTemp("", "hazardd-bench-years-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	if o.data == "" {
		o.data = filepath.Join(dir, "data")
	}
	var keep [2]float64
	if _, err := fmt.Sscanf(o.keep, "%f,%f", &keep[0], &keep[1]); err != nil {
		return fmt.Errorf("-keep: %q is not two numbers: %w", o.keep, err)
	}
	archives := filepath.Join(dir, "archive")
	now := hazard.At(time.Now())
	filled, err := fill(ctx, o, now)
	if err != nil {
		return err
	}
	r := &measure.Report{Program: "bench/years", Machine: measure.Machine("folder", o.data, "changes", strconv.Itoa(o.changes))}
	if filled > 0 {
		r.Notes = append(r.Notes, fmt.Sprintf("filled in %s: %.0f changes a second", filled.Round(time.Second), float64(o.changes)/filled.Seconds()))
	}
	before, err := sizes(ctx, o.data)
	if err != nil {
		return err
	}
	s, err := served.StartServer(ctx, most, o.data)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Stop()) }()
	starts := []float64{s.ReadyIn.Seconds()}
	w, err := prepare(ctx, s)
	if err != nil {
		return err
	}
	listed, err := w.active(ctx, s)
	if err != nil {
		return err
	}
	table := measure.Table{Title: "Milliseconds of requests meanwhile", Heads: []string{"", "rows removed", "seconds", "archive MB", "requests", "failed", "read p50", "p99", "longest",
		"write p50", "p99", "longest", "above 100 ms"}}
	add := func(name string, p *pruned, x *samples) {
		reads := x.all()
		fmt.Fprintf(os.Stderr, "bench/years: %s: %d rows in %.0f s, longest read %.0f ms, longest write %.0f ms\n", name, p.Rows, p.Seconds, measure.Quantile(reads, 1), measure.Quantile(x.writes, 1))
		table.Add(name, p.Rows, p.Seconds, float64(p.Bytes)/1e6, len(reads)+len(x.writes), x.failed, measure.Median(reads), measure.Quantile(reads, 0.99), measure.Quantile(reads, 1),
			measure.Median(x.writes), measure.Quantile(x.writes, 0.99), measure.Quantile(x.writes, 1), x.above(goalPause))
		r.Notes = append(r.Notes, fmt.Sprintf("%s: longest read of the list %.0f ms, of a search %.0f ms, of a history %.0f ms", name, measure.Quantile(x.reads[0], 1),
			measure.Quantile(x.reads[1], 1), measure.Quantile(x.reads[2], 1)))
	}
	if _, err = w.during(ctx, s, func() error { return clock.Sleep(ctx, 2*time.Second) }); err != nil { // open the connections
		return err
	}
	x, err := w.during(ctx, s, func() error { return clock.Sleep(ctx, o.idle) })
	if err != nil {
		return err
	}
	add("idle", &pruned{Seconds: o.idle.Seconds()}, x)
	for _, kind := range []struct {
		name  string
		keep  float64
		prune func(pruneOrder) (*pruned, error)
	}{
		{"prune", keep[0], func(p pruneOrder) (*pruned, error) { return pruneBeside(ctx, o.data, p) }},
		{"server", keep[1], func(p pruneOrder) (*pruned, error) { return prune(s.Process, p) }},
	} {
		var p *pruned
		x, err := w.during(ctx, s, func() (err error) {
			p, err = kind.prune(pruneOrder{Archive: archives, Before: time.Now().Add(-time.Duration(kind.keep * float64(year)))})
			return err
		})
		if err != nil {
			return fmt.Errorf("%s: %w", kind.name, err)
		}
		add(kind.name, p, x)
		r.Goals = append(r.Goals, measure.AtMost(kind.name+": longest read, ms", measure.Quantile(x.all(), 1), goalPause),
			measure.AtMost(kind.name+": longest write, ms", measure.Quantile(x.writes, 1), goalPause))
	}
	after, err := w.active(ctx, s)
	if err != nil {
		return err
	}
	differs := difference(listed, after)
	for range 3 {
		if err := s.Stop(); err != nil {
			return err
		}
		if s, err = served.StartServer(ctx, most, o.data); err != nil {
			return err
		}
		starts = append(starts, s.ReadyIn.Seconds())
	}
	if after, err = w.active(ctx, s); err != nil {
		return err
	}
	if differs = cmp.Or(differs, difference(listed, after)); differs != "" {
		return fmt.Errorf("the list of active hazards has changed: %s", differs)
	}
	r.Notes = append(r.Notes, fmt.Sprintf("the list of active hazards, %d bytes, is the same before and after, and after another start", len(listed)))
	pruned, err := sizes(ctx, o.data)
	if err != nil {
		return err
	}
	r.Goals = append(r.Goals, measure.AtMost("start to ready before pruning, seconds", starts[0], goalStart), measure.AtMost("start to ready after it, seconds", measure.Median(starts[1:]), goalStart))
	r.Tables = []measure.Table{table, room(before, pruned)}
	return r.Write(os.Stdout, o.json)
}

func sizes(ctx context.Context, dir string) (list []store.Size, err error) {
	s, err := store.Open(ctx, dir, "")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	return s.Sizes(ctx)
}

// room returns the table of sizes, before and after pruning.
func room(before, after []store.Size) measure.Table {
	t := measure.Table{Title: "Room of the store", Heads: []string{"table", "rows", "MB", "bytes a row", "after pruning: rows", "MB"}}
	later := map[string]store.Size{}
	var all, allLater float64
	for _, s := range after {
		later[s.Name] = s
		allLater += float64(s.Bytes) / 1e6
	}
	for _, s := range before {
		all += float64(s.Bytes) / 1e6
		l := later[s.Name]
		delete(later, s.Name)
		if s.Bytes < 1e6 && l.Bytes < 1e6 {
			continue
		}
		var each any
		if s.Rows > 0 {
			each = s.Bytes / s.Rows
		}
		t.Add(s.Name, s.Rows, float64(s.Bytes)/1e6, each, l.Rows, float64(l.Bytes)/1e6)
	}
	t.Add("all", nil, all, nil, nil, allLater)
	return t
}

// open is a hazard with more states to come.
type open struct {
	h    *hazard.Hazard
	left int // states to come
}

// fill creates a store of changes over ten years, unless it exists already, and returns how long
// that took.
func fill(ctx context.Context, o options, now hazard.Instant) (took time.Duration, err error) {
	s, err := store.Open(ctx, o.data, "sqlite:?synchronous=off") // it can be filled again
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	if last, err := s.Log.Last(ctx); err != nil || last > 0 {
		return 0, err
	}
	begin := time.Now()
	f := &filler{r: rand.New(rand.NewPCG(7, 7)), alive: make([]open, 200)}
	const batch = 2000
	for f.done < o.changes || len(f.alive) > 0 {
		f.at = now.Add(-years * year).Add(time.Duration(min(f.done, o.changes)) * ((years*year - time.Hour) / time.Duration(o.changes)))
		_, err := s.Write(ctx, f.at, store.Origin{Source: "nws"}, func(tx *store.Tx) error {
			for goal := f.done + batch; f.done < goal && (f.done < o.changes || len(f.alive) > 0); {
				if err := f.next(tx, f.done < o.changes); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return 0, err
		}
		if f.done%(100*batch) < batch {
			fmt.Fprintf(os.Stderr, "bench/years: %d changes written, %s\n", f.done, time.Since(begin).Round(time.Second))
		}
	}
	return time.Since(begin), sample.Fill(ctx, s, actives, now)
}

// difference shows where two texts begin to differ; empty if they are equal.
func difference(a, b string) string {
	if a == b {
		return ""
	}
	at := 0
	for at < min(len(a), len(b)) && a[at] == b[at] {
		at++
	}
	near := func(s string) string { return s[max(0, at-200):min(len(s), at+200)] }
	return fmt.Sprintf("…%s… of %d bytes was …%s… of %d", near(b), len(b), near(a), len(a))
}

// filler writes hazards, several at a time.
type filler struct {
	r     *rand.Rand
	at    hazard.Instant
	alive []open // the first is the next to change; one without a hazard creates a new one
	made  int
	done  int // number of changes
}

// next writes the next change of the first hazard in alive.
func (f *filler) next(tx *store.Tx, more bool) error {
	p := f.alive[0]
	f.alive = f.alive[1:]
	if p.h == nil {
		if !more {
			return nil
		}
		p = open{h: sample.Hazard(f.r, f.made, f.at), left: 2 + f.r.IntN(5)}
		f.made++
		p.h.Start, p.h.End = f.at, f.at.Add(time.Hour+time.Duration(f.r.Int64N(int64(7*day))))
		p.h.Created, p.h.Updated, p.h.LastUpdate = f.at, f.at, f.at
		if err := f.save(tx, p.h, nil); err != nil {
			return err
		}
		if f.made%10 == 0 {
			f.done++
			err := tx.SaveProduct(&hazard.Product{UUID: uuid.New(), HazardID: p.h.ID, Title: "Public information statement", Type: hazard.URLProduct, Data: p.h.URL, OrgID: -1,
				Created: f.at, Updated: f.at, Timeline: f.at, Source: "nws"})
			if err != nil {
				return err
			}
		}
		f.alive = append(f.alive, p)
		return nil
	}
	h := *p.h
	h.Updated, h.LastUpdate = f.at, f.at
	if p.left--; p.left > 0 {
		if p.left%2 == 0 { // the others repeat it for a later time
			h.Description = fmt.Sprintf("Update %d. %s", p.left, p.h.Description[min(10, len(p.h.Description)):])
		}
		if err := f.save(tx, &h, p.h); err != nil {
			return err
		}
		f.alive = append(f.alive, open{&h, p.left})
		return nil
	}
	h.Status, h.Reason, h.End = hazard.Expired, hazard.EndExpired, f.at
	if more {
		f.alive = append(f.alive, open{})
	}
	return f.save(tx, &h, p.h)
}

// save writes a state. Each state of every fifth hazard has a different area.
func (f *filler) save(tx *store.Tx, h, before *hazard.Hazard) error {
	f.done++
	if before == nil && f.made%5 == 0 || len(h.Areas) > 0 && h.Status == hazard.Active {
		refs, err := tx.KeepAreas([]hazard.Area{{Role: hazard.AlertArea, Geometry: geo.Circle(h.Longitude, h.Latitude, 1000+f.r.Float64()*100_000).GeoJSON()}})
		if err != nil {
			return err
		}
		h.Areas = refs
	}
	return tx.SaveHazard(h, before)
}
