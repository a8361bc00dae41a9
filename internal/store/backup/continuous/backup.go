// Package continuous keeps a continuous backup of a store on SQLite, in a folder or in a bucket. Every
// second it writes the pages committed since, so that a lost disk costs seconds of data. Restore
// turns it into a store again, as of the last second or an earlier one.
//
// A backup is a sequence of generations. Each begins with all pages of the database, and continues
// with segments. A segment has the pages that have changed. Segments are numbered without gaps, and
// each contains the SHA-256 of the one before. Product files are stored beside them. The names are:
//
//	20261123T134500.000Z-1f6e/about.json    a description for people
//	20261123T134500.000Z-1f6e/0000000000    all pages
//	20261123T134500.000Z-1f6e/0000000001    the pages that have changed since
//	files/aa/aabbcc…                    a product file, by its SHA-256
//
// After a redaction a new generation begins, and once it has all pages, the generations and the product
// files from before the redaction are removed: they hold what was redacted.
//
// A segment is compressed by zstd. It begins with a line of JSON (head). Its pages follow, each
// after its number in four bytes, the highest number first. PostgreSQL has continuous backups of
// its own. Litestream is not used, because it writes to the database that it copies, without the
// checksums that internal/store keeps, and reads pages with them.
package continuous

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"log/slog"
	"maps"
	"math"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/uuid"
	"github.com/klauspost/compress/zstd"
	"golang.org/x/sync/errgroup"

	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/store"
	"github.com/hazardd/hazardd/internal/store/blob"
)

// format is the version of the segment format.
const format = 1

// The intervals of a backup.
const (
	stretch = 24 * time.Hour // length of a generation
	again   = time.Minute    // maximum delay after a failure
	parting = 10 * time.Second
)

// every is the interval at which changes are backed up. Tests lower it.
var every = time.Second

// The limits of the queue for the folder or the bucket, on this machine's disk. Beyond them the
// backup starts a new generation when the place is available again.
const (
	maxWaiting = 3600 // segments
	maxBytes   = 1 << 30
)

// head is the first line of a segment.
type head struct {
	Format     int       `json:"format"`
	Generation string    `json:"generation"`
	Number     int64     `json:"number"`
	Before     string    `json:"before,omitzero"` // SHA-256 of the segment before, as stored
	Made       time.Time `json:"made"`            // everything committed before this moment is in this segment or an earlier one
	Read       time.Time `json:"read"`            // nothing committed after this moment is in it
	Program    string    `json:"program"`
	store.Pages
}

// about is the content of about.json, for people.
type about struct {
	What    string    `json:"what"`
	Restore string    `json:"restore"`
	Begun   time.Time `json:"begun"`
	Epoch   string    `json:"epoch"`
	Program string    `json:"program"`
}

// Config is the configuration of a backup.
type Config struct {
	Store   *store.Store
	Shelf   blob.Shelf
	Keep    time.Duration // how far back a restore can go
	Program string        // version
	Logger  *slog.Logger
	Now     func() time.Time
}

// Backup is a continuous backup that is being written.
type Backup struct {
	Config
	begun    time.Time
	sure     atomic.Int64 // Unix milliseconds: everything committed before is in the backup; 0: nothing is
	failures atomic.Int64
	written  atomic.Int64 // bytes
}

// New returns a backup. Run writes it.
func New(c Config) *Backup { return &Backup{Config: c, begun: c.Now()} }

// Age returns the age of the backup: everything committed longer ago is in it. Before the first
// backup it returns how long there has been none.
func (b *Backup) Age() time.Duration {
	sure := b.Sure()
	if sure.IsZero() {
		sure = b.begun
	}
	return max(0, b.Now().Sub(sure))
}

// Sure returns the moment before which everything committed is in the backup; zero if nothing is.
func (b *Backup) Sure() time.Time {
	if sure := b.sure.Load(); sure != 0 {
		return time.UnixMilli(sure)
	}
	return time.Time{}
}

// Failures returns the number of failures that were retried.
func (b *Backup) Failures() int64 { return b.failures.Load() }

// Written returns the number of bytes written.
func (b *Backup) Written() int64 { return b.written.Load() }

// Run writes the backup until ctx ends, and then everything committed by then.
func (b *Backup) Run(ctx context.Context) error {
	if err := b.Shelf.Tidy(b.Now().Add(-time.Hour)); err != nil { // left by a killed process
		b.Logger.Warn("cannot remove the remains of an interrupted backup", "place", b.Shelf.String(), "error", err)
	}
	wait := every
	for {
		err := b.generation(ctx, &wait)
		if ctx.Err() != nil {
			if err != nil && !errors.Is(err, ctx.Err()) {
				b.Logger.Warn("the backup lacks the last changes", "place", b.Shelf.String(), "error", err)
			}
			return nil
		}
		if err == nil {
			continue // a day has passed
		}
		b.failures.Add(1)
		b.Logger.Warn("the continuous backup has stopped and starts again", "place", b.Shelf.String(), "again_in", wait, "error", err)
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(wait):
			wait = min(2*wait, again)
		}
	}
}

// segment is a segment that waits to be uploaded.
type segment struct {
	*blob.Staged
	name     string
	made     time.Time
	contents []string // digests of product files that must be uploaded first
}

// generation writes one generation. It returns nil after a day. It resets wait once the place has
// all pages.
func (b *Backup) generation(ctx context.Context, wait *time.Duration) (err error) {
	begun := b.Now().UTC()
	g := &generation{Backup: b, id: begun.Format(stamp) + "-" + uuid.NewString()[:4], begun: begun, queue: make(chan segment, maxWaiting), there: map[string]bool{}, named: map[string]bool{}}
	if g.zip, err = zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1)); err != nil {
		return err
	}
	// Contact the place first, because otherwise all pages might be read for nothing.
	if err := g.introduce(ctx); err != nil {
		return err
	}
	if g.redacted, err = b.Store.Log.Redacted(ctx); err != nil {
		return err
	}
	if g.follower, err = b.Store.Follow(ctx); err != nil {
		return err
	}
	// At shutdown, upload everything committed before, if the place takes it soon.
	whole, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	defer context.AfterFunc(ctx, func() {
		select {
		case <-whole.Done():
		case <-time.After(parting):
			cancel()
		}
	})()
	work, workers := errgroup.WithContext(whole)
	work.Go(func() error {
		defer close(g.queue)
		return g.write(workers, ctx.Done())
	})
	work.Go(func() error { return g.put(workers, func() { *wait = every }) })
	err = work.Wait()
	for s := range g.queue { // left over after a failure
		err = errors.Join(err, s.Drop())
	}
	return err
}

// generation is a generation that is being written.
type generation struct {
	*Backup
	id       string
	begun    time.Time
	redacted hazard.Instant // of the last redaction before it; 0: there was none
	queue    chan segment
	// Used by the goroutine that writes.
	follower *store.Follower
	zip      *zstd.Encoder
	number   int64  // number of the next segment
	before   string // SHA-256 of the last segment
	taken    []segment
	named    map[string]bool // digests of product files
	pushed   int64
	// Used by the goroutine that uploads.
	there map[string]bool // names of the product files in the place

	waiting, arrived atomic.Int64 // bytes in the queue; number of uploaded segments
}

// introduce writes about.json, and reads the names in the place.
func (g *generation) introduce(ctx context.Context) error {
	text, err := json.Marshal(about{What: "A generation of a continuous backup of hazardd. Keep it secret: it holds keys and hashes of passwords.",
		Restore: "hazardd restore PLACE --data NEW-FOLDER", Begun: g.begun, Epoch: g.Store.Epoch(), Program: g.Program}, jsontext.Multiline(true))
	if err != nil {
		return err
	}
	if err := g.keep(ctx, bytes.NewReader(text), g.id+"/"+aboutName); err != nil {
		return err
	}
	return g.Shelf.Names(ctx, contentsPrefix, func(name string, _ time.Time) error {
		g.there[name] = true
		return nil
	})
}

// keep stages and uploads a content.
func (g *generation) keep(ctx context.Context, r io.Reader, name string) error {
	s, err := g.Shelf.Stage(r, math.MaxInt64-1)
	if err != nil {
		return err
	}
	return errors.Join(g.Shelf.PutAs(ctx, s, name), s.Drop())
}

// write stages all pages and then, every second, those that have changed. It ends after a day or
// when the server ends.
func (g *generation) write(ctx context.Context, end <-chan struct{}) (err error) {
	defer func() {
		for _, s := range g.taken {
			err = errors.Join(err, s.Drop())
		}
		err = errors.Join(err, g.follower.Close()) // in any case, because otherwise the write-ahead log would grow without a reader
	}()
	made := g.Now()
	if err := g.follower.All(ctx, g.take(made)); err != nil {
		return err
	}
	if err := g.push(ctx, made); err != nil {
		return err
	}
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		last := false
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-end:
			last = true
		case <-tick.C:
		}
		made := g.Now()
		if err := g.follower.Next(ctx, g.take(made)); err != nil {
			return err
		}
		if err := g.push(ctx, made); err != nil {
			return err
		}
		redacted, err := g.Store.Log.Redacted(ctx)
		if err != nil && !errors.Is(err, hazard.ErrUnavailable) { // otherwise the next second tells
			return err
		}
		if last || made.Sub(g.begun) >= stretch || err == nil && redacted != g.redacted {
			return nil
		}
		if err := g.follower.Shorten(ctx); err != nil && !errors.Is(err, hazard.ErrUnavailable) { // others are writing: retry in the next second
			return err
		}
	}
}

// take stages a segment.
func (g *generation) take(made time.Time) store.Take {
	return func(p store.Pages, pages iter.Seq2[uint32, []byte]) error { // the pages to back up are now fixed
		line, err := json.Marshal(head{Format: format, Generation: g.id, Number: g.number, Before: g.before, Made: made.UTC(), Read: g.Now().UTC(), Program: g.Program, Pages: p})
		if err != nil {
			return err
		}
		in, out := io.Pipe()
		written := make(chan error, 1)
		go func() {
			g.zip.Reset(out)
			_, err := g.zip.Write(append(line, '\n'))
			var number [4]byte
			for n, page := range pages {
				if err != nil {
					break
				}
				binary.BigEndian.PutUint32(number[:], n)
				if _, err = g.zip.Write(number[:]); err == nil {
					_, err = g.zip.Write(page)
				}
			}
			if err == nil {
				err = g.zip.Close()
			}
			out.CloseWithError(err)
			written <- err
		}()
		s, err := g.Shelf.Stage(in, math.MaxInt64-1)
		in.CloseWithError(err)
		if failed := <-written; failed != nil && err == nil {
			err = errors.Join(failed, s.Drop())
		}
		if err != nil {
			return err
		}
		g.taken = append(g.taken, segment{Staged: s, name: segmentName(g.id, g.number), made: made})
		g.number++
		g.before = s.Digest
		return nil
	}
}

// push queues the staged segment for upload, or records that there were no changes.
func (g *generation) push(ctx context.Context, made time.Time) error {
	if len(g.taken) == 0 {
		if g.arrived.Load() == g.pushed {
			g.know(made)
		}
		return nil
	}
	var contents []string
	err := g.follower.Contents(ctx, func(digest string) error {
		if !g.named[digest] {
			g.named[digest] = true
			contents = append(contents, digest)
		}
		return nil
	})
	if err != nil {
		return err
	}
	for len(g.taken) > 0 {
		s := g.taken[0]
		s.contents, contents = contents, nil
		if g.waiting.Add(s.Size) > maxBytes && g.pushed > g.arrived.Load() {
			return fmt.Errorf("%d MB wait for the storage of the backup, which accepts no writes", g.waiting.Load()>>20)
		}
		select {
		case g.queue <- s:
			g.taken = g.taken[1:]
			g.pushed++
		default:
			return fmt.Errorf("%d segments wait for the storage of the backup, which accepts no writes", len(g.queue))
		}
	}
	return nil
}

// know records that everything committed before a moment is in the backup.
func (b *Backup) know(made time.Time) { b.sure.Store(max(b.sure.Load(), made.UnixMilli())) }

// put uploads the staged segments in order, until the queue ends.
func (g *generation) put(ctx context.Context, whole func()) error {
	for s := range g.queue {
		named := s.contents
		err := g.retry(ctx, func() error {
			for len(s.contents) > 0 {
				if err := g.content(ctx, s.contents[0]); err != nil {
					return err
				}
				s.contents = s.contents[1:]
			}
			return g.Shelf.PutAs(ctx, s.Staged, s.name)
		})
		if err = errors.Join(err, s.Drop()); err != nil {
			return err
		}
		g.waiting.Add(-s.Size)
		g.written.Add(s.Size)
		g.know(s.made)
		if g.arrived.Add(1) == 1 {
			whole()
			g.Logger.Info("the continuous backup has all pages and now follows changes", "place", g.Shelf.String(), "generation", g.id, "bytes", s.Size)
			if err := g.prune(ctx, named); err != nil {
				g.Logger.Warn("cannot remove old parts of the continuous backup; they stay for another day", "place", g.Shelf.String(), "error", err)
			}
		}
	}
	return nil
}

// retry retries until it succeeds.
func (g *generation) retry(ctx context.Context, try func() error) error {
	for wait := every; ; wait = min(2*wait, again) {
		err := try()
		if err == nil {
			if wait > every {
				g.Logger.Info("the continuous backup continues", "place", g.Shelf.String(), "sure_of", g.Sure())
			}
			return nil
		}
		if ctx.Err() != nil || errors.Is(err, fs.ErrNotExist) { // the staged file was removed
			return err
		}
		g.failures.Add(1)
		if wait == every {
			g.Logger.Warn("the continuous backup is behind: its storage accepts no writes", "place", g.Shelf.String(), "error", err)
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(wait):
		}
	}
}

// content uploads a product file, if it is not there.
func (g *generation) content(ctx context.Context, digest string) (err error) {
	name := contentName(digest)
	if g.there[name] {
		return nil
	}
	r, err := g.Store.Files.Open(ctx, digest)
	if errors.Is(err, hazard.ErrNotFound) {
		return nil // it was redacted, pruned or lost, and a restore will report it
	}
	if err != nil {
		return err
	}
	if err := errors.Join(g.keep(ctx, r, name), r.Close()); err != nil {
		return err
	}
	g.there[name] = true
	return nil
}

// prune removes the generations that are too old to restore, and the product files that the store
// does not refer to any more, and all that a redaction has voided.
func (g *generation) prune(ctx context.Context, named []string) error {
	before := g.Now().Add(-g.Keep)
	redacted := time.Time{}
	if g.redacted != 0 {
		redacted = g.redacted.Time()
	}
	wanted := map[string]bool{}
	for _, digest := range named {
		wanted[contentName(digest)] = true
	}
	var old []string
	of := map[string][]string{}
	err := g.Shelf.Names(ctx, "", func(name string, put time.Time) error {
		if id, _, _ := strings.Cut(name, "/"); !begunAt(id).IsZero() {
			of[id] = append(of[id], name)
		} else if strings.HasPrefix(name, contentsPrefix) && (put.Before(before) || put.Before(redacted)) && !wanted[name] {
			old = append(old, name)
		}
		return nil
	})
	if err != nil {
		return err
	}
	ids := slices.Sorted(maps.Keys(of))
	for i := range max(0, len(ids)-1) {
		// Until the next generation begins, moments are restored from this one.
		if begunAt(ids[i+1]).Before(before) || !begunAt(ids[i]).After(redacted) {
			old = append(old, of[ids[i]]...)
		}
	}
	for _, name := range old {
		if err := g.Shelf.RemoveAs(ctx, name); err != nil {
			return err
		}
		delete(g.there, name)
	}
	return nil
}

// begunAt returns the start of a generation, from its name; zero if the name is invalid.
func begunAt(id string) time.Time {
	text, _, ok := strings.Cut(id, "-")
	at, err := time.Parse(stamp, text)
	if !ok || err != nil {
		return time.Time{}
	}
	return at
}

// The names in the place of a backup.
const (
	stamp          = "20060102T150405.000Z" // start of a generation's name
	contentsPrefix = "files/"
	aboutName      = "about.json"
)

func contentName(digest string) string { return contentsPrefix + digest[:2] + "/" + digest }

func segmentName(generation string, number int64) string {
	return fmt.Sprintf("%s/%010d", generation, number)
}
