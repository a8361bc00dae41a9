// Package picture fetches and keeps the pictures that products of sources name, such as ShakeMaps,
// impact maps and satellite images. Each is fetched once, within limits, and again only when its
// product changes; outside the write path, on one node at a time. It also makes thumbnails.
//
// Only addresses named by sources are fetched, never those of editors. A readable picture is stored
// by package blob in a separate place, under a name that is used once; its row in the store has its
// origin and time. A row is written after its file and deleted before it. Backups leave pictures
// out.
package picture

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"image"
	"io"
	"log/slog"
	"math/rand/v2"
	"net/url"
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sync/errgroup"

	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/hazard/clock"
	"github.com/hazardd/hazardd/internal/net/outbound"
	"github.com/hazardd/hazardd/internal/store"
	"github.com/hazardd/hazardd/internal/store/blob"
	"github.com/hazardd/hazardd/internal/store/lease"
	"github.com/hazardd/hazardd/internal/store/view"
)

// The limits of the worker.
const (
	// MaxBytes bounds the file of a picture. The largest recorded ones have 3 MB.
	MaxBytes = 8 << 20
	// maxOfHazard is how many pictures of a hazard are fetched, the first of its products.
	maxOfHazard = 12

	leaseName  = "pictures"
	every      = 2 * time.Second // between two requests to a host
	atOnce     = 4               // hosts that are asked at a time
	again      = time.Hour       // before a picture that came is asked for again, however often its product changes
	firstRetry = time.Minute     // after a failure; twice as long after each that follows
	lastRetry  = 24 * time.Hour
	lookEvery  = time.Minute // for pictures that are no longer wanted
	tidyEvery  = 24 * time.Hour
	orphanAge  = time.Hour // of a file that no row names before it is removed: putting and naming it takes seconds
)

// patience is how long one picture may take.
var patience = 30 * time.Second

// Config is what a Keeper works with. Nothing of it may be nil.
type Config struct {
	Store *store.Store
	View  func(now hazard.Instant) *view.View
	// Fetch reads an address, at most so many bytes.
	Fetch func(ctx context.Context, address string, maxBytes int64) ([]byte, error)
	// Bytes bounds the files together; 0: none are kept.
	Bytes int64
	Clock hazard.Clock
	Log   *slog.Logger
}

// Keeper keeps pictures. It is safe for concurrent use.
type Keeper struct {
	Config
	place   blob.Place
	fetches *prometheus.CounterVec
}

// Open opens the pictures of a store. dir is their folder on this machine; where set names a bucket, they are there, in the folder "pictures".
func Open(dir string, set blob.Settings, c Config) (*Keeper, error) {
	place, err := blob.Open(dir, set.Below("pictures"))
	if err != nil {
		return nil, fmt.Errorf("pictures: %w", err)
	}
	c.Store.Quarantine.Watch("the folder of pictures", func() error { return blob.Missing(place) })
	return &Keeper{c, place, prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "hazardd_picture_fetches_total", Help: "Pictures of products of sources that were fetched, by result."}, []string{"result"})}, nil
}

// Close closes the place of the files, not the store.
func (k *Keeper) Close() error {
	if k == nil {
		return nil
	}
	return k.place.Close()
}

// Metrics are what the keeper counts itself.
func (k *Keeper) Metrics() []prometheus.Collector { return []prometheus.Collector{k.fetches} }

// Open opens the file of a picture. ErrNotFound if it is not kept any more.
func (k *Keeper) Open(ctx context.Context, p *store.Picture) (io.ReadSeekCloser, error) {
	return k.place.Open(ctx, nameOf(p))
}

func nameOf(p *store.Picture) blob.Name { return blob.Name{Digest: p.Digest, Life: p.Life} }

// kinds are the pictures that can be shown, by the name of their format.
var kinds = map[string]string{"jpeg": "image/jpeg", "png": "image/png", "gif": "image/gif", "webp": "image/webp"}

// Shown reports whether files of a media type are pictures that can be shown.
func Shown(mediaType string) bool {
	kind, image := strings.CutPrefix(mediaType, "image/")
	return image && kinds[kind] != ""
}

// named reports whether a product of a source names a picture: by its address, or by the media type that alerts of CAP give of a resource.
func named(p *hazard.Product) bool {
	if p.Type != hazard.URLProduct || p.Source == "" || p.Hidden || p.Restricted() {
		return false
	}
	u, err := url.Parse(p.Data)
	if err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" {
		return false
	}
	ext := strings.TrimPrefix(strings.ToLower(path.Ext(u.Path)), ".")
	return kinds[ext] != "" || ext == "jpg" || Shown(strings.ToLower(p.Comment))
}

// secure is an address by https, where it names no port: hosts that are named by http alone have become rare.
func secure(address string) string {
	if u, err := url.Parse(address); err == nil && u.Scheme == "http" && u.Port() == "" {
		u.Scheme = "https"
		return u.String()
	}
	return address
}

// Run fetches pictures until ctx ends, while this node has the lease.
func (k *Keeper) Run(ctx context.Context) error {
	holder := lease.Holder()
	for ctx.Err() == nil {
		lost := lease.Lost(k.Log, "fetches pictures")
		_, err := lease.Hold(ctx, k.Store.Leases, leaseName, holder, lost, func(ctx context.Context, _ *lease.Lease) { k.lead(ctx) })
		if err != nil && ctx.Err() == nil {
			k.Log.Warn("cannot take the lease to fetch pictures; they wait", "error", err)
		}
		clock.Sleep(ctx, lease.Try)
	}
	return nil
}

// lead fetches what is missing until ctx ends.
func (k *Keeper) lead(ctx context.Context) {
	var w *worker
	warned := false
	for ctx.Err() == nil {
		var err error
		if w == nil {
			w, err = k.begin(ctx)
		}
		if err == nil {
			err = w.pass(ctx)
		}
		if err != nil && ctx.Err() == nil && !warned {
			k.Log.Warn("cannot keep pictures; they wait", "error", err)
		}
		if warned = err != nil; warned {
			w = nil // what is stored may be other than it thinks
		}
		clock.Sleep(ctx, every)
	}
}

// worker is the one that fetches. It alone writes, so it knows what is stored.
type worker struct {
	*Keeper
	mu     sync.Mutex
	have   map[int64]store.Picture // by product
	hosts  map[string]*host
	tidied hazard.Instant
	looked hazard.Instant
	full   bool // it was logged that there is no room
	view   *view.View
	list   []*hazard.Product // that were wanted of view
}

// host is a host that failed: it is left alone until a moment.
type host struct {
	failures int
	until    hazard.Instant
}

func (k *Keeper) begin(ctx context.Context) (*worker, error) {
	have, err := k.Store.Pictures.All(ctx)
	return &worker{Keeper: k, have: have, hosts: map[string]*host{}}, err
}

// pass fetches one picture of each host that has one to fetch, and removes what is no longer wanted.
func (w *worker) pass(ctx context.Context) error {
	now := w.Clock.Now()
	if now >= w.tidied.Add(tidyEvery) {
		if err := w.tidy(ctx); err != nil {
			return err
		}
		w.tidied = now
	}
	wanted := w.wanted(now)
	if now >= w.looked.Add(lookEvery) {
		if err := w.forget(ctx, wanted); err != nil {
			return err
		}
		w.looked = now
	}
	var hosts []string
	next := map[string]*hazard.Product{}
	for _, p := range wanted {
		if have, ok := w.have[p.ID]; ok && !due(&have, p, now) {
			continue
		}
		if u, err := url.Parse(p.Data); err == nil && next[u.Host] == nil && w.hosts[u.Host].free(now) {
			hosts, next[u.Host] = append(hosts, u.Host), p
		}
	}
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(atOnce)
	for _, name := range hosts {
		group.Go(func() error { return w.fetch(ctx, name, next[name]) })
	}
	return group.Wait()
}

// due reports whether a picture is to be fetched again: at once if its product has another address now; else when its time has come, if it failed or the product has changed.
// What an editor has altered is not fetched.
func due(have *store.Picture, p *hazard.Product, now hazard.Instant) bool {
	if p.Edited {
		return false
	}
	return have.Address != p.Data || now >= have.Next && (have.Version != p.Version || have.Failures > 0)
}

func (h *host) free(now hazard.Instant) bool { return h == nil || now >= h.until }

// wanted are the products of active hazards whose pictures are kept, in the order of lists: the most severe first.
func (w *worker) wanted(now hazard.Instant) []*hazard.Product {
	if w.Bytes == 0 {
		return nil
	}
	present := w.View(now)
	if present == w.view { // nothing has changed, nothing has ended
		return w.list
	}
	var list []*hazard.Product
	for h := range present.Hazards(view.Filter{}, nil) {
		products, _ := present.Products(h.ID, nil)
		n := 0
		for _, p := range products {
			// An address that an editor wrote is not asked.
			if have := w.have[p.ID]; n < maxOfHazard && named(p) && (!p.Edited || have.Of(p)) {
				list = append(list, p)
				n++
			}
		}
	}
	w.view, w.list = present, list
	return list
}

// forget drops the pictures of products that were deleted, redacted or replaced; and, where there is more than there may be, the oldest of hazards that are over.
func (w *worker) forget(ctx context.Context, wanted []*hazard.Product) error {
	still := make(map[int64]bool, len(wanted))
	for _, p := range wanted {
		still[p.ID] = true
	}
	var others []store.Picture
	total := int64(0)
	for _, p := range w.have {
		if total += p.Bytes; !still[p.ProductID] {
			others = append(others, p)
		}
	}
	slices.SortFunc(others, func(a, b store.Picture) int { return cmp.Compare(a.Fetched, b.Fetched) })
	for _, p := range others {
		version, err := w.Store.Hazards.ProductVersion(ctx, p.ProductID)
		if err != nil && !errors.Is(err, hazard.ErrNotFound) {
			return err
		}
		if err == nil && version == p.Version && p.Digest != "" && total < w.Bytes {
			continue
		}
		if err := w.drop(ctx, p); err != nil {
			return err
		}
		total -= p.Bytes
	}
	return nil
}

// drop forgets a picture, then removes its file.
func (w *worker) drop(ctx context.Context, p store.Picture) error {
	if err := w.Store.Pictures.Drop(ctx, p.ProductID); err != nil {
		return err
	}
	delete(w.have, p.ProductID)
	return w.remove(ctx, &p)
}

func (w *worker) remove(ctx context.Context, p *store.Picture) error {
	if p.Digest == "" {
		return nil
	}
	return w.place.Remove(ctx, nameOf(p))
}

// fetch fetches the picture of a product, and notes what came of it.
func (w *worker) fetch(ctx context.Context, at string, p *hazard.Product) error {
	w.mu.Lock()
	old, room := w.have[p.ID], w.room()
	w.mu.Unlock()
	if !room {
		return nil
	}
	if old.Address != p.Data {
		old.Failures = 0
	}
	asked, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	file, err := w.Fetch(asked, secure(p.Data), MaxBytes)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	busy := err != nil // the host is at fault, not the picture
	mediaType := ""
	if err == nil {
		w.mu.Lock() // one is decoded at a time
		mediaType, err = check(file)
		w.mu.Unlock()
	}
	now := w.Clock.Now()
	new := store.Picture{ProductID: p.ID, Version: p.Version, Source: p.Source, Address: p.Data, Next: now.Add(again)}
	if err == nil {
		new.Bytes, new.MediaType, new.Fetched = int64(len(file)), mediaType, now
		if err := w.put(ctx, &new, file); err != nil {
			return err
		}
		w.fetches.WithLabelValues("kept").Inc()
	} else {
		if old.Of(p) { // what was there is shown on
			new = old
			new.Version = p.Version
		}
		new.Failures, new.Error = old.Failures+1, err.Error()
		new.Next = now.Add(outbound.Jitter(min(firstRetry<<min(old.Failures, 12), lastRetry)))
		w.fetches.WithLabelValues("failed").Inc()
		if old.Failures == 0 {
			w.Log.Info("cannot fetch a picture of a source; it is tried again", "source", p.Source, "product", p.ID, "error", err)
		}
	}
	if err := w.Store.Pictures.Save(ctx, &new); err != nil {
		return err // its file, which nothing names, is removed by tidy
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.have[p.ID] = new
	w.rest(at, busy)
	if old.Digest != "" && nameOf(&old) != nameOf(&new) {
		return w.remove(ctx, &old)
	}
	return nil
}

// room reports whether there is room for one more picture, and logs once that there is none.
func (w *worker) room() bool {
	total := int64(0)
	for _, p := range w.have {
		total += p.Bytes
	}
	full := total >= w.Bytes
	if full && !w.full {
		w.Log.Warn("the pictures of active hazards take all the room that they may; no more are fetched", "bytes", total)
	}
	w.full = full
	return !full
}

// rest leaves a host that failed alone for a while.
func (w *worker) rest(name string, failed bool) {
	if !failed {
		delete(w.hosts, name)
		return
	}
	h := w.hosts[name]
	if h == nil {
		h = &host{}
		w.hosts[name] = h
	}
	h.until = w.Clock.Now().Add(outbound.Jitter(min(firstRetry<<min(h.failures, 12), again)))
	h.failures++
}

// check reads a picture, whole, and is its media type.
func check(file []byte) (mediaType string, err error) {
	if _, err := Thumbnail(bytes.NewReader(file)); err != nil {
		return "", err
	}
	_, kind, err := image.DecodeConfig(bytes.NewReader(file))
	return kinds[kind], err
}

// put keeps a file under a new name.
func (w *worker) put(ctx context.Context, p *store.Picture, file []byte) error {
	staged, err := w.place.Stage(bytes.NewReader(file), MaxBytes)
	if err != nil {
		return err
	}
	p.Digest, p.Life = staged.Digest, rand.Int64()
	return errors.Join(w.place.Put(ctx, staged, nameOf(p)), staged.Drop())
}

// tidy removes the files that no row names, and forgets the pictures whose files are gone.
func (w *worker) tidy(ctx context.Context) error {
	before := w.Clock.Now().Time().Add(-orphanAge)
	if err := w.place.Tidy(before); err != nil {
		return err
	}
	if err := blob.Claim(ctx, w.place, "pictures", w.Store.Epoch()); err != nil {
		return err
	}
	named := map[blob.Name]store.Picture{}
	for _, p := range w.have {
		if p.Digest != "" {
			named[nameOf(&p)] = p
		}
	}
	err := w.place.Each(ctx, func(n blob.Name, put time.Time) error {
		if _, ok := named[n]; ok || !put.Before(before) {
			delete(named, n)
			return nil
		}
		return w.place.Remove(ctx, n)
	})
	if err != nil {
		return err
	}
	for _, p := range named {
		if err := w.drop(ctx, p); err != nil {
			return err
		}
	}
	return nil
}
