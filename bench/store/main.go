// Store measures single durable writes: how many changes per second the store commits, and how long
// a reader waits for one.
//
// Every write is one change of one hazard, committed with synchronous FULL, so that it is on disk
// when it counts. Three rates are measured in turn in one run, on the same disk, and how much
// processor time one write costs, which a slow disk or a busy machine changes less:
//
//   - store: store.Write, by one writer and by several at once;
//   - rows: the rows of such a write (the hazard's state, the change, the counter), written by plain SQL in
//     one transaction each, with the same schema and settings: the cost of the database alone;
//   - sync: a page of a file overwritten and synced: the cost of the disk alone.
//
// The second table shows how long it takes until readers see a change, with 100 to 5,000 active
// hazards, because the view is rebuilt for each change: from the start of the write to its commit,
// and from the commit to the view with the change.
package main

import (
	"context"
	"database/sql"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	_ "modernc.org/sqlite" // the driver

	"github.com/hazardd/hazardd/bench/internal/measure"
	"github.com/hazardd/hazardd/bench/internal/sample"
	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/store"
	"github.com/hazardd/hazardd/internal/store/follow"
	"github.com/hazardd/hazardd/internal/store/view"
)

// sizes are the numbers of active hazards.
var sizes = []int{100, 1000, 5000}

// writers is the number of concurrent writers in the measurements with several.
const writers = 4

func main() {
	rounds := flag.Int("rounds", 15, "rounds; medians are over these")
	slice := flag.Duration("slice", 250*time.Millisecond, "time of one measurement in one round")
	writes := flag.Int("writes", 400, "writes whose way to the readers is timed, for each number of hazards")
	asJSON := flag.Bool("json", false, "print JSON")
	flag.Parse()
	measure.Main("bench/store", func(ctx context.Context) error { return run(ctx, *rounds, *slice, *writes, *asJSON) })
}

func run(ctx context.Context, rounds int, slice time.Duration, writes int, asJSON bool) error {
	r := &measure.Report{Program: "bench/store", Machine: measure.Machine("folder", os.TempDir(), "rounds", strconv.Itoa(rounds), "slice", slice.String(), "writes", strconv.Itoa(writes))}
	rates, err := commits(ctx, rounds, slice)
	if err != nil {
		return err
	}
	waits := measure.Table{Title: "Milliseconds from the begin of a write to its commit, and from there until readers see it",
		Heads: []string{"hazards", "commit p50", "commit p99", "visible p50", "visible p99", "both p99"}}
	for _, size := range sizes {
		commit, visible, both, err := latency(ctx, size, writes)
		if err != nil {
			return err
		}
		waits.Add(size, measure.Median(commit), measure.Quantile(commit, 0.99), measure.Median(visible), measure.Quantile(visible, 0.99), measure.Quantile(both, 0.99))
	}
	r.Tables = []measure.Table{rates, waits}
	return r.Write(os.Stdout, asJSON)
}

// subject is one measured rate. do writes once, and is called by that many goroutines.
type subject struct {
	name    string
	writers int
	do      func(ctx context.Context, writer, i int) error
	rates   []float64 // by round
	costs   []float64 // by round: microseconds of processor for one of them
}

// commits measures changes per second.
func commits(ctx context.Context, rounds int, slice time.Duration) (t measure.Table, err error) {
	dir, err := os.MkdirTemp("", "hazardd-bench-store-")
	if err != nil {
		return t, err
	}
	defer os.RemoveAll(dir)
	now := hazard.At(time.Now())
	s, err := store.Open(ctx, filepath.Join(dir, "store"), "")
	if err != nil {
		return t, err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	if err := sample.Fill(ctx, s, 1000, now); err != nil {
		return t, err
	}
	write := func(ctx context.Context, writer, i int) error {
		_, err := alter(ctx, s, int64(writer*200+i%200+1))
		return err
	}
	rows, closeRows, err := bareRows(ctx, filepath.Join(dir, "rows"), now)
	if err != nil {
		return t, err
	}
	defer func() { err = errors.Join(err, closeRows()) }()
	file, err := os.Create(filepath.Join(dir, "sync"))
	if err != nil {
		return t, err
	}
	defer file.Close()
	const pages = 1024 // as many as a write-ahead log has before it starts over
	page := make([]byte, 4096)
	for range pages {
		if _, err := file.Write(page); err != nil {
			return t, err
		}
	}
	subjects := []*subject{
		{name: "store, 1 writer", writers: 1, do: write},
		{name: fmt.Sprintf("store, %d writers", writers), writers: writers, do: write},
		{name: "rows, 1 writer", writers: 1, do: rows},
		{name: "sync", writers: 1, do: func(_ context.Context, _, i int) error {
			_, err := file.WriteAt(page, int64(i%pages*len(page)))
			return errors.Join(err, file.Sync())
		}},
	}
	for round := range rounds {
		for _, i := range measure.Rotated(len(subjects), round) {
			if ctx.Err() != nil {
				return t, ctx.Err()
			}
			if err := subjects[i].measure(ctx, slice); err != nil {
				return t, fmt.Errorf("%s: %w", subjects[i].name, err)
			}
		}
	}
	t.Title, t.Heads = "Durable commits per second (medians), and ratios (medians of the rounds' ratios)", []string{"what", "per second", "of rows", "of sync", "processor, µs", "of rows"}
	for _, s := range subjects {
		t.Add(s.name, measure.Median(s.rates), measure.Ratio(s.rates, subjects[2].rates), measure.Ratio(s.rates, subjects[3].rates), measure.Median(s.costs), measure.Ratio(s.costs, subjects[2].costs))
	}
	return t, nil
}

func (s *subject) measure(ctx context.Context, slice time.Duration) error {
	var done atomic.Int64
	var failed atomic.Pointer[error]
	var all sync.WaitGroup
	before, err := measure.ProcessorTime(os.Getpid())
	if err != nil {
		return err
	}
	begin := time.Now()
	for w := range s.writers {
		all.Go(func() {
			for i := 0; time.Since(begin) < slice; i++ {
				if err := s.do(ctx, w, i); err != nil {
					failed.Store(&err)
					return
				}
				done.Add(1)
			}
		})
	}
	all.Wait()
	if err := failed.Load(); err != nil {
		return *err
	}
	s.rates = append(s.rates, float64(done.Load())/time.Since(begin).Seconds())
	after, err := measure.ProcessorTime(os.Getpid())
	if err != nil {
		return err
	}
	s.costs = append(s.costs, float64((after-before).Microseconds())/float64(done.Load()))
	return nil
}

// alter makes one change of one hazard.
func alter(ctx context.Context, s *store.Store, id int64) (int64, error) {
	now := hazard.At(time.Now())
	return s.Write(ctx, now, store.Origin{User: "bench", Addr: "127.0.0.1"}, func(tx *store.Tx) error {
		before, err := tx.Hazard(id)
		if err != nil {
			return err
		}
		h := *before
		h.LastUpdate, h.Updated = now, now
		return tx.SaveHazard(&h, before)
	})
}

// bareRows returns a function that writes the rows of such a change with plain SQL, into a separate
// store.
func bareRows(ctx context.Context, dir string, now hazard.Instant) (do func(context.Context, int, int) error, closeAll func() error, err error) {
	s, err := store.Open(ctx, dir, "") // for its schema
	if err != nil {
		return nil, nil, err
	}
	if err := errors.Join(sample.Fill(ctx, s, 1000, now), s.Close()); err != nil {
		return nil, nil, err
	}
	const settings = "?_txlock=immediate&_pragma=busy_timeout(60000)&_pragma=journal_mode(WAL)&_pragma=synchronous(full)&_pragma=foreign_keys(1)&_pragma=cell_size_check(1)"
	db, err := sql.Open("sqlite", "file:"+filepath.Join(dir, "hazardd.db")+settings)
	if err != nil {
		return nil, nil, err
	}
	db.SetMaxOpenConns(1)
	prepared := map[string]*sql.Stmt{}
	closeAll = func() error {
		var errs []error
		for _, p := range prepared {
			errs = append(errs, p.Close())
		}
		return errors.Join(append(errs, db.Close())...)
	}
	for name, text := range map[string]string{
		"read":   `SELECT c.body FROM hazards h JOIN changes c ON c.n = h.n WHERE h.id = ?`,
		"count":  `UPDATE counters SET value = value + 1 WHERE name = 'change' RETURNING value`,
		"change": `INSERT INTO changes (n, at_ms, kind, hazard_id, product_id, actor, addr, source, body) VALUES (?, ?, 'hazard.updated', ?, 0, 'bench', '127.0.0.1', '', ?)`,
		"hazard": `UPDATE hazards SET n = ?, last_update_ms = ?, update_ms = ?, body = ? WHERE id = ?`,
	} {
		if prepared[name], err = db.PrepareContext(ctx, text); err != nil {
			return nil, nil, errors.Join(err, closeAll())
		}
	}
	return func(ctx context.Context, _, i int) error {
		tx, err := db.BeginTx(ctx, nil)
		if err != nil {
			return err
		}
		id, at := i%1000+1, time.Now().UnixMilli()
		var body string
		var n int64
		err = errors.Join(
			tx.StmtContext(ctx, prepared["read"]).QueryRowContext(ctx, id).Scan(&body),
			tx.StmtContext(ctx, prepared["count"]).QueryRowContext(ctx).Scan(&n),
		)
		if err == nil {
			_, err = tx.StmtContext(ctx, prepared["change"]).ExecContext(ctx, n, at, id, body)
		}
		if err == nil {
			_, err = tx.StmtContext(ctx, prepared["hazard"]).ExecContext(ctx, n, at, at, body, id)
		}
		if err != nil {
			return errors.Join(err, tx.Rollback())
		}
		return tx.Commit()
	}, closeAll, nil
}

// latency measures writes one after the other, in milliseconds, with that many active hazards and a
// view that follows.
func latency(ctx context.Context, size, writes int) (commit, visible, both []float64, err error) {
	dir, err := os.MkdirTemp("", "hazardd-bench-store-")
	if err != nil {
		return nil, nil, nil, err
	}
	defer os.RemoveAll(dir)
	now := hazard.At(time.Now())
	s, err := store.Open(ctx, dir, "")
	if err != nil {
		return nil, nil, nil, err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	if err := sample.Fill(ctx, s, size, now); err != nil {
		return nil, nil, nil, err
	}
	clock := func() hazard.Instant { return hazard.At(time.Now()) }
	view, err := view.Open(ctx, s.Log, slog.New(slog.DiscardHandler), clock)
	if err != nil {
		return nil, nil, nil, err
	}
	following, stop := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() {
		ended <- follow.New(s.Log, view, clock, follow.Memory, slog.New(slog.DiscardHandler)).Run(following)
	}()
	defer func() {
		stop()
		err = errors.Join(err, <-ended)
	}()
	rnd := rand.New(rand.NewPCG(1, 1))
	for range writes {
		begin := time.Now()
		n, err := alter(ctx, s, int64(rnd.IntN(size)+1))
		if err != nil {
			return nil, nil, nil, err
		}
		committed := time.Now()
		if err := view.WaitFor(ctx, n); err != nil {
			return nil, nil, nil, err
		}
		seen := time.Now()
		commit = append(commit, milliseconds(committed.Sub(begin)))
		visible = append(visible, milliseconds(seen.Sub(committed)))
		both = append(both, milliseconds(seen.Sub(begin)))
	}
	return commit, visible, both, nil
}

func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
