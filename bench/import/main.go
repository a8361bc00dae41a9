// Import measures the cost of importing a recorded feed into an empty store: parsing it,
// determining its hazards, and writing them with their changes, reports, areas and names, as
// `hazardd import` does.
//
// The baseline inserts exactly the rows that the import leaves in all tables, and the words of their
// texts. It inserts them into an empty file with the same schema, indexes and settings, with prepared
// statements in one transaction: the cost of the database alone. Both are measured in turn in one
// run. The ratio is the median over the rounds, with both sides from the same round. The time runs
// from bytes in memory to changes on disk, without opening and closing the files. The processor time,
// which excludes waiting for the disk and for other programs, is also shown.
//
// A second table shows how long the national list of the NWS takes from its bytes to the view of
// readers, and how long an editor who writes meanwhile waits for a turn: also while 5,000 warnings
// are taken in.
//
// The recordings are found through the variable HAZARDD_SHARED. With --profile, a CPU profile of
// the imports alone is written.
package main

import (
	"context"
	"database/sql"
	"errors"
	"flag"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"runtime/pprof"
	"slices"
	"strconv"
	"strings"
	"time"

	_ "modernc.org/sqlite" // the driver

	"github.com/hazardd/hazardd/bench/internal/measure"
	"github.com/hazardd/hazardd/internal/app"
	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/hazard/query"
	"github.com/hazardd/hazardd/internal/ingest/fuse"
	"github.com/hazardd/hazardd/internal/store"
	"github.com/hazardd/hazardd/internal/store/sqlite/pagesum"
)

// recording is a payload, and when it was received.
type recording struct {
	source, file string
	received     time.Time
}

var recordings = []recording{
	{"usgs", "usgs/all_week-1.geojson", time.Date(2023, 8, 4, 3, 8, 57, 0, time.UTC)},
	{"nws", "nws/full-20251215T2155Z.json", time.Date(2025, 12, 15, 21, 55, 0, 0, time.UTC)},
}

// goal is the maximum processor time of an import, as a multiple of that of the plain inserts.
const goal = 4

func main() {
	rounds := flag.Int("rounds", 15, "rounds; medians are over these")
	asJSON := flag.Bool("json", false, "print JSON")
	only := flag.String("source", "", "the recording of this source alone")
	profile := flag.String("profile", "", "write a CPU profile of the imports to this `file`, and measure nothing else")
	flag.Parse()
	measure.Main("bench/import", func(ctx context.Context) error { return run(ctx, *rounds, *asJSON, *only, *profile) })
}

func run(ctx context.Context, rounds int, asJSON bool, only, profile string) error {
	shared := os.Getenv("HAZARDD_SHARED")
	if shared == "" {
		return errors.New("the recordings are not here: set HAZARDD_SHARED to the folder that holds feeds/")
	}
	r := &measure.Report{Program: "bench/import", Machine: measure.Machine("rounds", strconv.Itoa(rounds))}
	times := measure.Table{Title: "Milliseconds (medians)", Heads: []string{"recording", "hazards", "changes", "rows", "kB of rows", "parse", "intake", "import", "inserts", "import/inserts", "import cpu", "inserts cpu", "by cpu"}}
	if profile != "" {
		f, err := os.Create(profile)
		if err != nil {
			return err
		}
		if err := pprof.StartCPUProfile(f); err != nil {
			return err
		}
		defer func() {
			pprof.StopCPUProfile()
			_ = f.Close() // the caller gets an error instead of the file
		}()
	}
	for _, rec := range recordings {
		if only != "" && rec.source != only {
			continue
		}
		payload, err := os.ReadFile(filepath.Join(shared, "feeds", rec.file))
		if err != nil {
			return err
		}
		var parse, apply, whole, inserts, wholeCPU, insertsCPU []float64
		var last *imported
		var rows *content
		for round := range rounds {
			for _, side := range measure.Rotated(2, round) {
				if ctx.Err() != nil {
					return ctx.Err()
				}
				if side == 0 || last == nil {
					if last, err = importOnce(ctx, rec, payload); err != nil {
						return fmt.Errorf("%s: %w", rec.file, err)
					}
					rows = last.rows
					parse, apply, whole = append(parse, last.parse), append(apply, last.apply), append(whole, last.parse+last.apply)
					wholeCPU = append(wholeCPU, last.cpu)
				}
				if side == 1 && profile == "" {
					took, cpu, err := insertOnce(ctx, rows)
					if err != nil {
						return fmt.Errorf("%s: %w", rec.file, err)
					}
					inserts, insertsCPU = append(inserts, took), append(insertsCPU, cpu)
				}
			}
		}
		ratio := measure.Ratio(whole, inserts)
		times.Add(rec.file, last.hazards, last.changes, rows.count, rows.bytes/1000, measure.Median(parse), measure.Median(apply), measure.Median(whole), measure.Median(inserts), ratio,
			measure.Median(wholeCPU), measure.Median(insertsCPU), measure.Ratio(wholeCPU, insertsCPU))
		if profile == "" {
			r.Goals = append(r.Goals, measure.AtMost("import / inserts of the same rows, processor time, "+rec.file, measure.Ratio(wholeCPU, insertsCPU), goal))
		}
	}
	r.Tables = append(r.Tables, times)
	if rec := recordings[1]; profile == "" && (only == "" || only == rec.source) {
		payload, err := os.ReadFile(filepath.Join(shared, "feeds", rec.file))
		if err != nil {
			return err
		}
		if err := reportBeside(ctx, r, rec, payload, rounds); err != nil {
			return err
		}
	}
	return r.Write(os.Stdout, asJSON)
}

// imported is the result of one import.
type imported struct {
	hazards      int
	changes      int64
	parse, apply float64 // milliseconds
	cpu          float64 // processor time of both, in milliseconds
	rows         *content
}

func importOnce(ctx context.Context, rec recording, payload []byte) (out *imported, err error) {
	dir, err := os.MkdirTemp("", "hazardd-bench-import-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	src, err := app.BuiltIn().Find(rec.source)
	if err != nil {
		return nil, err
	}
	s, err := store.Open(ctx, dir, "")
	if err != nil {
		return nil, err
	}
	in := app.BuiltIn().Intake(s)
	runtime.GC() // so that neither side pays for garbage of the other
	used, begin := cpuTime(), time.Now()
	batch, err := src.Parse(payload, hazard.At(rec.received))
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	parsed := time.Now()
	res, err := in.Apply(ctx, rec.source, batch, hazard.At(rec.received), fuse.Options{History: true})
	done := time.Now()
	used = cpuTime() - used
	words, errW := wordsOf(ctx, s)
	if err := errors.Join(err, errW, s.Close()); err != nil {
		return nil, err
	}
	out = &imported{hazards: res.New, changes: res.Last, parse: milliseconds(parsed.Sub(begin)), apply: milliseconds(done.Sub(parsed)), cpu: milliseconds(used)}
	out.rows, err = readContent(ctx, filepath.Join(dir, "hazardd.db"), words)
	return out, err
}

// wordsOf returns the rows of the table of words: it keeps no texts that could be read from it.
func wordsOf(ctx context.Context, s *store.Store) (rows [][]any, err error) {
	changes, err := s.Log.Since(ctx, 0, math.MaxInt32)
	last := map[int64]*hazard.Hazard{}
	for _, c := range changes {
		if c.Hazard != nil {
			last[c.Hazard.ID] = c.Hazard
		}
	}
	for _, id := range slices.Sorted(maps.Keys(last)) {
		name, description := query.WordsOf(last[id])
		rows = append(rows, []any{id, strings.Join(name, " "), strings.Join(description, " ")})
	}
	return rows, err
}

// cpuTime returns the processor time that this process has used.
func cpuTime() time.Duration {
	used, err := measure.ProcessorTime(os.Getpid())
	if err != nil {
		return 0
	}
	return used
}

func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// content is all rows of a store, by table.
type content struct {
	tables []table
	count  int
	bytes  int
}

type table struct {
	name, insert string
	rows         [][]any
}

// settings are the settings with which the store opens its file to write, checksums of pages included.
const settings = "?vfs=" + pagesum.Strict + "&_txlock=immediate&_pragma=busy_timeout(60000)&_pragma=journal_mode(WAL)&_pragma=synchronous(full)&_pragma=secure_delete(1)" +
	"&_pragma=foreign_keys(1)&_pragma=cell_size_check(1)&_pragma=temp_store(2)&_pragma=cache_size(-21000)"

func open(path string) (*sql.DB, error) {
	db, err := sql.Open("sqlite", "file:"+path+settings)
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(1)
	return db, nil
}

func readContent(ctx context.Context, path string, words [][]any) (c *content, err error) {
	db, err := open(path)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	// Rows that a trigger inserts come with the rows of its table.
	names, err := column(ctx, db, `SELECT name FROM pragma_table_list l WHERE schema = 'main' AND type IN ('table', 'virtual') AND name NOT LIKE 'sqlite%'
		AND NOT EXISTS (SELECT 1 FROM sqlite_master t WHERE t.type = 'trigger' AND t.sql LIKE '%INSERT INTO ' || l.name || ' %') ORDER BY name`)
	if err != nil {
		return nil, err
	}
	c = &content{}
	for _, name := range names {
		t, err := readTable(ctx, db, name)
		if err != nil {
			return nil, fmt.Errorf("table %s: %w", name, err)
		}
		if name == "hazard_words" {
			t.insert, t.rows = `INSERT INTO hazard_words (rowid, name, description) VALUES (?, ?, ?)`, words
		}
		c.tables = append(c.tables, t)
		c.count += len(t.rows)
		for _, row := range t.rows {
			for _, v := range row {
				switch v := v.(type) {
				case string:
					c.bytes += len(v)
				case []byte:
					c.bytes += len(v)
				default:
					c.bytes += 8
				}
			}
		}
	}
	return c, nil
}

func column(ctx context.Context, db *sql.DB, query string) (values []string, err error) {
	rows, err := db.QueryContext(ctx, query)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var v string
		if err := rows.Scan(&v); err != nil {
			return nil, err
		}
		values = append(values, v)
	}
	return values, rows.Err()
}

func readTable(ctx context.Context, db *sql.DB, name string) (t table, err error) {
	columns, err := column(ctx, db, "SELECT name FROM pragma_table_info('"+name+"')") // without those that are computed
	if err != nil {
		return t, err
	}
	list := `"` + strings.Join(columns, `", "`) + `"`
	rows, err := db.QueryContext(ctx, `SELECT `+list+` FROM "`+name+`"`)
	if err != nil {
		return t, err
	}
	defer rows.Close()
	t.name = name
	t.insert = fmt.Sprintf(`INSERT INTO "%s" (%s) VALUES (?%s)`, name, list, strings.Repeat(", ?", len(columns)-1))
	for rows.Next() {
		row, into := make([]any, len(columns)), make([]any, len(columns))
		for i := range row {
			into[i] = &row[i]
		}
		if err := rows.Scan(into...); err != nil {
			return t, err
		}
		t.rows = append(t.rows, row)
	}
	return t, rows.Err()
}

// insertOnce inserts the rows into an empty file and returns the duration and the processor time,
// in milliseconds.
func insertOnce(ctx context.Context, c *content) (took, cpu float64, err error) {
	dir, err := os.MkdirTemp("", "hazardd-bench-inserts-")
	if err != nil {
		return 0, 0, err
	}
	defer os.RemoveAll(dir)
	return insertInto(ctx, dir, c)
}

func insertInto(ctx context.Context, dir string, c *content) (took, cpu float64, err error) {
	s, err := store.Open(ctx, dir, "") // for its schema
	if err != nil {
		return 0, 0, err
	}
	if err := s.Close(); err != nil {
		return 0, 0, err
	}
	db, err := open(filepath.Join(dir, "hazardd.db"))
	if err != nil {
		return 0, 0, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	inserts := make([]*sql.Stmt, len(c.tables))
	for i, t := range c.tables {
		if _, err := db.ExecContext(ctx, `DELETE FROM "`+t.name+`"`); err != nil { // an empty store has a few rows too
			return 0, 0, err
		}
		if inserts[i], err = db.PrepareContext(ctx, t.insert); err != nil {
			return 0, 0, err
		}
		defer inserts[i].Close()
	}
	runtime.GC() // as before an import
	used, begin := cpuTime(), time.Now()
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return 0, 0, err
	}
	for i, t := range c.tables {
		insert := tx.StmtContext(ctx, inserts[i])
		for _, row := range t.rows {
			if _, err := insert.ExecContext(ctx, row...); err != nil {
				return 0, 0, errors.Join(err, tx.Rollback())
			}
		}
	}
	if err := tx.Commit(); err != nil {
		return 0, 0, err
	}
	return milliseconds(time.Since(begin)), milliseconds(cpuTime() - used), nil
}
