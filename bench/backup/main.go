// Backup measures the time, size and memory of a backup and a restore. It compares them with a
// plain copy of the database file, synced to disk, with the server stopped.
//
// The store holds the hazards of a busy day, each changed a few times, and a product file for every
// hundredth.
package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"time"

	"github.com/google/uuid"

	"github.com/hazardd/hazardd/bench/internal/measure"
	"github.com/hazardd/hazardd/bench/internal/sample"
	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/store"
	"github.com/hazardd/hazardd/internal/store/backup"
)

// The content of the store apart from its hazards.
const (
	changesEach = 2 // after the first
	fileEvery   = 100
	fileBytes   = 100_000
)

func main() {
	hazards := flag.Int("hazards", 100_000, "hazards in the store")
	to := flag.String("to", "", "restore into this empty `database` too, and move the store to it (postgres://…); two are needed: separate them by a blank")
	asJSON := flag.Bool("json", false, "print JSON")
	flag.Parse()
	measure.Main("bench/backup", func(ctx context.Context) error { return run(ctx, *hazards, *to, *asJSON) })
}

func run(ctx context.Context, hazards int, to string, asJSON bool) error {
	dir, err := os.MkdirTemp("", "hazardd-bench-backup-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	data, file := filepath.Join(dir, "data"), filepath.Join(dir, "backup")
	if err := fill(ctx, data, hazards); err != nil {
		return err
	}
	t := measure.Table{Title: "Seconds, megabytes, and the most memory of the Go heap while it ran", Heads: []string{"what", "seconds", "MB written", "MB of heap"}}
	size := int64(0)
	took := map[string]float64{}
	timed := func(what string, wrote func() (int64, error), f func() error) error {
		peak := watchHeap()
		begin := time.Now()
		err := f()
		took[what] = time.Since(begin).Seconds()
		heap := peak()
		if err == nil {
			size, err = wrote()
		}
		t.Add(what, took[what], float64(size)/1e6, heap)
		if err != nil {
			err = fmt.Errorf("%s: %w", what, err)
		}
		return err
	}
	copied := filepath.Join(dir, "copy.db")
	var copySize, backupSize int64
	err = timed("cp of the SQLite file", func() (int64, error) { copySize, err = sizeOf(copied); return copySize, err }, func() error {
		return copyFile(filepath.Join(data, "hazardd.db"), copied)
	})
	if err != nil {
		return err
	}
	err = timed("backup", func() (int64, error) { backupSize, err = sizeOf(file); return backupSize, err }, func() error { return backUp(ctx, data, file) })
	if err != nil {
		return err
	}
	err = timed("backup --verify", func() (int64, error) { return 0, nil }, func() error {
		return reading(file, func(f io.Reader) error { _, _, err := backup.Verify(ctx, f, nil); return err })
	})
	if err != nil {
		return err
	}
	restored := filepath.Join(dir, "restored")
	err = timed("restore into SQLite", func() (int64, error) { return sizeOf(filepath.Join(restored, "hazardd.db")) }, func() error {
		return reading(file, func(f io.Reader) error {
			_, _, err := backup.Restore(ctx, f, backup.Into{Dir: restored}, time.Now(), nil)
			return err
		})
	})
	if err != nil {
		return err
	}
	targets := bytes.Fields([]byte(to))
	if len(targets) > 0 {
		err = timed("restore into PostgreSQL", func() (int64, error) { return 0, nil }, func() error {
			return reading(file, func(f io.Reader) error {
				_, _, err := backup.Restore(ctx, f, backup.Into{Dir: filepath.Join(dir, "pg"), Database: string(targets[0])}, time.Now(), nil)
				return err
			})
		})
		if err != nil {
			return err
		}
	}
	if len(targets) > 1 {
		err = timed("migrate from SQLite to PostgreSQL", func() (int64, error) { return 0, nil }, func() error {
			return opened(ctx, data, func(s *store.Store) error {
				_, err := backup.Migrate(ctx, s, backup.Into{Dir: filepath.Join(dir, "pg2"), Database: string(targets[1])}, true, time.Now(), nil)
				return err
			})
		})
		if err != nil {
			return err
		}
	}
	r := &measure.Report{Program: "bench/backup", Tables: []measure.Table{t}, Machine: measure.Machine("folder", dir, "hazards", strconv.Itoa(hazards))}
	r.Goals = []measure.Goal{measure.AtMost("size of the backup / size of the SQLite file", float64(backupSize)/float64(copySize), 0.5)}
	r.Notes = []string{fmt.Sprintf("a backup takes %.1f times as long as cp, and holds %d MB of product files too", took["backup"]/took["cp of the SQLite file"], hazards/fileEvery*fileBytes/1_000_000)}
	return r.Write(os.Stdout, asJSON)
}

// fill creates the store.
func fill(ctx context.Context, dir string, n int) error {
	s, err := store.Open(ctx, dir, "sqlite:?synchronous=off") // it can be created again
	if err != nil {
		return err
	}
	return errors.Join(fillStore(ctx, s, n), s.Close())
}

func fillStore(ctx context.Context, s *store.Store, n int) error {
	now := hazard.At(time.Now())
	r := rand.New(rand.NewPCG(7, 8))
	const batch = 1000
	for done := 0; done < n; {
		var files []*store.StagedFile
		for range min(batch, n-done) / fileEvery {
			staged, err := s.Files.Stage(ctx, io.LimitReader(noise{r}, fileBytes), fileBytes)
			if err == nil {
				err = staged.Put(ctx)
			}
			if err != nil {
				return err
			}
			files = append(files, staged)
		}
		_, err := s.Write(ctx, now, store.Origin{Source: "nws"}, func(tx *store.Tx) error {
			for range min(batch, n-done) {
				h := sample.Hazard(r, done, now)
				if err := tx.SaveHazard(h, nil); err != nil {
					return err
				}
				for i := range changesEach {
					next := *h
					next.LastUpdate = now.Add(time.Duration(i) * time.Minute)
					next.Description += fmt.Sprint(" Update ", i)
					if err := tx.SaveHazard(&next, h); err != nil {
						return err
					}
					h = &next
				}
				if len(files) > 0 && done%fileEvery == 0 {
					f := files[0]
					files = files[1:]
					p := &hazard.Product{UUID: uuid.New(), HazardID: h.ID, Title: "Map", Type: hazard.FileProduct, Created: now, Updated: now,
						File: &hazard.File{Name: "map.png", Digest: f.Digest, Size: f.Size, MediaType: "image/png"}}
					if err := errors.Join(f.Keep(tx), tx.SaveProduct(p)); err != nil {
						return err
					}
				}
				done++
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// noise reads random bytes, which compress as badly as pictures.
type noise struct{ r *rand.Rand }

func (n noise) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = byte(n.r.Uint32())
	}
	return len(p), nil
}

func opened(ctx context.Context, dir string, f func(*store.Store) error) error {
	s, err := store.Open(ctx, dir, "")
	if err != nil {
		return err
	}
	return errors.Join(f(s), s.Close())
}

func backUp(ctx context.Context, dir, name string) error {
	return opened(ctx, dir, func(s *store.Store) error {
		return writing(name, func(f *os.File) error {
			_, _, err := backup.Write(ctx, s, f, "bench", time.Now(), nil)
			return err
		})
	})
}

func copyFile(from, to string) error {
	return reading(from, func(in io.Reader) error {
		return writing(to, func(out *os.File) error { _, err := io.Copy(out, in); return err })
	})
}

// writing writes a file that is on disk when it returns.
func writing(name string, f func(*os.File) error) error {
	out, err := os.Create(name)
	if err != nil {
		return err
	}
	return errors.Join(f(out), out.Sync(), out.Close())
}

func reading(name string, f func(io.Reader) error) error {
	in, err := os.Open(name)
	if err != nil {
		return err
	}
	return errors.Join(f(in), in.Close())
}

func sizeOf(name string) (int64, error) {
	info, err := os.Stat(name)
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}

// watchHeap measures the peak size of the heap in MB, until the returned function is called.
func watchHeap() func() float64 {
	runtime.GC()
	stop, done := make(chan struct{}), make(chan uint64)
	go func() {
		var most uint64
		for ticker := time.NewTicker(20 * time.Millisecond); ; {
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			most = max(most, m.HeapAlloc)
			select {
			case <-stop:
				ticker.Stop()
				done <- most
				return
			case <-ticker.C:
			}
		}
	}()
	return func() float64 { close(stop); return float64(<-done) / 1e6 }
}
