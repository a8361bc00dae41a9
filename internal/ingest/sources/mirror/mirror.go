package mirror

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/hazardd/hazardd/client"
	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/ingest/source"
)

// Server is the part of the other server that a Mirror uses; *client.Client implements it.
type Server interface {
	// Raw returns the response for a path as received. If the response was cut off, it returns the
	// part before, and an error.
	Raw(ctx context.Context, path []string, opts ...client.CallOption) (client.Record[[]byte], error)
}

// Limits of the requests of one Read, besides the list. The rest is requested next time.
const (
	maxProductLists = 100              // product lists
	maxRefreshed    = 10               // of these, lists without a known change: changing a product does not change the list of hazards
	maxGone         = 20               // hazards that are no longer listed
	maxFailures     = 3                // failures in a row, after which the server is left alone
	maxAsking       = 30 * time.Second // for products and for hazards that are no longer listed
)

// Mirror reads one server. Make it with New; it belongs to one goroutine.
type Mirror struct {
	name    string
	schemes source.Schemes
	server  Server

	etag string
	list []byte // the last list, used if the server says that it is unchanged
	// known is the state of processed batches, and next the state once the last batch is processed.
	known, next map[uuid.UUID]hazardState
	turn        int64 // number of reads
	notSingle   int   // how many times in a row the server could not return a single hazard
}

// hazardState is the known state of a listed hazard.
type hazardState struct {
	number      int64
	report      hazard.Report // without products
	last, total string        // last_Update and product_total when its products were read; last is empty if they were never read
	etag        string        // ETag of its products
	turn        int64         // the read in which its products were read
}

// New creates a mirror of a server, as the source with that name. schemes are the accepted schemes
// of events' names.
func New(name string, schemes source.Schemes, server Server) *Mirror {
	return &Mirror{name: name, schemes: schemes, server: server, known: map[uuid.UUID]hazardState{}}
}

// Taken records that the batch of the last Read was processed. Without it, the next Read requests
// the same products again.
func (m *Mirror) Taken() {
	if m.next != nil {
		m.known, m.next = m.next, nil
	}
}

// Read reads the active hazards and the changes of their products. The batch is Whole unless there
// is an error. If the list is cut off, Read returns the hazards before the cut and a
// *source.PayloadError.
//
// Only reports whose products were read contain products; the others do not change them. An
// unreadable list of products becomes a reject, and is requested again.
func (m *Mirror) Read(ctx context.Context, now hazard.Instant) (source.Batch, error) {
	m.next = nil
	fresh, err := m.server.Raw(ctx, []string{"hazards", "active"}, client.IfNoneMatch(m.etag))
	if errors.Is(err, client.ErrNotModified) && m.etag != "" {
		fresh, err = client.Record[[]byte]{State: client.State{ETag: m.etag}, Item: m.list}, nil
	}
	before := m.before()
	l, errRead := read(fresh.Item, m.name, m.schemes, now, before)
	batch := l.batch()
	if err = cmp.Or(payloadError(err, len(l.records) > 0), errRead); err != nil {
		return batch, err
	}
	m.etag, m.list = fresh.ETag, fresh.Item
	batch.Whole = true

	m.turn++
	m.next = map[uuid.UUID]hazardState{}
	for i := range l.records {
		r := &l.records[i]
		s := m.known[r.report.UUID]
		s.number, s.report = number(r.HazardID), r.report
		m.next[r.report.UUID] = s
	}
	for _, last := range l.lost {
		if _, listed := m.next[last.UUID]; !listed {
			m.next[last.UUID] = m.known[last.UUID]
		}
	}
	ask, cancel := context.WithTimeout(ctx, maxAsking)
	defer cancel()
	m.askGone(ask, &batch, now)
	m.askProducts(ask, l, &batch)
	return batch, ctx.Err()
}

// before returns the function that finds the last report of a hazard.
func (m *Mirror) before() known {
	numbers := map[int64]uuid.UUID{}
	for id, s := range m.known {
		numbers[s.number] = id
	}
	return func(id uuid.UUID, number int64) (hazard.Report, bool) {
		s, ok := m.known[id]
		if !ok && number != 0 {
			s, ok = m.known[numbers[number]]
		}
		return s.report, ok
	}
}

// payloadError returns the error of a response that was not received completely. something reports
// whether a part of it was readable.
func payloadError(err error, something bool) error {
	bad, ok := errors.AsType[*client.AnswerError](err)
	if !ok {
		return err
	}
	return &source.PayloadError{Reason: bad.Reason, Cut: bad.Cut || something}
}

// askGone requests hazards that are no longer listed, because how and when a hazard ended is more
// useful than its absence.
func (m *Mirror) askGone(ctx context.Context, batch *source.Batch, now hazard.Instant) {
	asked := 0
	for _, id := range slices.SortedFunc(maps.Keys(m.known), func(a, b uuid.UUID) int { return slices.Compare(a[:], b[:]) }) {
		s := m.known[id]
		if _, listed := m.next[id]; listed || s.report.Ended != "" || s.number == 0 {
			continue
		}
		if asked++; asked > maxGone || m.notSingle >= maxFailures || ctx.Err() != nil {
			return
		}
		answer, err := m.server.Raw(ctx, []string{"hazards", strconv.FormatInt(s.number, 10)})
		if _, answered := errors.AsType[*client.Problem](err); err != nil && !answered {
			return // the server is unreachable; the list is sufficient
		}
		if err != nil {
			m.notSingle++
			continue
		}
		m.notSingle = 0
		one, err := read(answer.Item, m.name, m.schemes, now, nobody)
		if err != nil || len(one.records) != 1 || one.records[0].report.UUID != id {
			continue
		}
		r := one.records[0].report
		batch.Read++
		batch.Reports = append(batch.Reports, r)
		if r.Ended == "" { // it has become active again
			s.report = r
			m.next[id] = s
		}
	}
}

// askProducts requests the products of hazards: first those with changes, in the order of the list,
// then those that were not requested for the longest time.
func (m *Mirror) askProducts(ctx context.Context, l *list, batch *source.Batch) {
	at := map[uuid.UUID]int{}
	for i := range batch.Reports {
		at[batch.Reports[i].UUID] = i
	}
	var changed, old []*record
	for i := range l.records {
		r := &l.records[i]
		s := m.next[r.report.UUID]
		switch {
		case s.number == 0 || r.report.Ended != "":
		case strings.TrimSpace(r.ProductTotal) == "0":
			batch.Reports[at[r.report.UUID]].Products = []hazard.ReportProduct{}
			s.last, s.total, s.etag = r.LastUpdate, r.ProductTotal, ""
			m.next[r.report.UUID] = s
		case s.turn == 0 || s.last != r.LastUpdate || s.total != r.ProductTotal:
			changed = append(changed, r)
		default:
			old = append(old, r)
		}
	}
	slices.SortStableFunc(old, func(a, b *record) int { return cmp.Compare(m.next[a.report.UUID].turn, m.next[b.report.UUID].turn) })
	changed = changed[:min(len(changed), maxProductLists)]
	old = old[:min(len(old), maxRefreshed, maxProductLists-len(changed))]
	failures := 0
	for _, r := range append(changed, old...) {
		if failures == maxFailures || ctx.Err() != nil {
			return
		}
		failed, stop := m.askProductsOf(ctx, r, &batch.Reports[at[r.report.UUID]], batch)
		if stop {
			return
		}
		if failures++; !failed {
			failures = 0
		}
	}
}

// askProductsOf requests the products of one hazard.
func (m *Mirror) askProductsOf(ctx context.Context, r *record, into *hazard.Report, batch *source.Batch) (failed, stop bool) {
	s := m.next[r.report.UUID]
	record := r.report.Key + "/products"
	answer, err := m.server.Raw(ctx, []string{"hazards", strconv.FormatInt(s.number, 10), "products"}, client.IfNoneMatch(s.etag))
	var products []hazard.ReportProduct
	var rejects []source.Reject
	if err == nil {
		products, rejects, err = readProducts(answer.Item, record)
	}
	switch {
	case err == nil:
		into.Products = products
		for _, reject := range rejects {
			reject.Events = []string{} // the hazard itself is listed, so it must not end
			batch.Rejects = append(batch.Rejects, reject)
		}
		s.etag = answer.ETag
	case errors.Is(err, client.ErrNotModified):
	case errors.Is(err, client.ErrNotFound): // the hazard ended after the list was made
		return false, false
	case ctx.Err() != nil:
		return true, true
	default:
		batch.Rejects = append(batch.Rejects, source.Reject{
			Record: record, Reason: err.Error(), Events: []string{},
		})
		return true, errors.Is(err, client.ErrUnauthorized) || errors.Is(err, client.ErrLimited)
	}
	s.last, s.total, s.turn = r.LastUpdate, r.ProductTotal, m.turn
	m.next[r.report.UUID] = s
	return false, false
}
