package mirror

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/hazardd/hazardd/client"
	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/source"
	"github.com/hazardd/hazardd/wire"
)

// Server is what a Mirror asks of the other server; a *client.Client is one.
type Server interface {
	// Active lists the active hazards, all of them.
	Active(ctx context.Context, opts ...client.CallOption) (client.List[wire.Hazard], error)
	// Hazard reads one hazard, active or not. Servers of the base interface alone cannot.
	Hazard(ctx context.Context, id string, opts ...client.CallOption) (client.Record[wire.Hazard], error)
	// Products lists the products of a hazard.
	Products(ctx context.Context, hazard string, opts ...client.CallOption) (client.List[wire.Product], error)
}

// The most that one Read asks for, beside the list. What is left over is asked for next time.
const (
	maxProductLists = 100              // product lists
	maxRefreshed    = 10               // of those, such as no change is known of: an altered product moves nothing in the list
	maxGone         = 20               // hazards that are no longer listed
	maxFailures     = 3                // in a row: then the server is left alone
	maxAsking       = 30 * time.Second // for products and the gone together
)

// Mirror reads one server. Make it with New; it belongs to one goroutine.
type Mirror struct {
	name    string
	schemes source.Schemes
	server  Server

	etag string
	list client.List[wire.Hazard] // the last one, for when the server says that it is unchanged
	// known is what was taken in, next what will be known when the last batch is.
	known, next map[uuid.UUID]hazardState
	turn        int64 // counts reads
	notSingle   int   // how often in a row the server did not know how to read one hazard
}

// hazardState is what is known of a listed hazard.
type hazardState struct {
	number      int64
	report      hazard.Report // without products
	last, total string        // last_Update and product_total when its products were read; last is empty if they never were
	etag        string        // of its products
	turn        int64         // when its products were read
}

// New makes a mirror of a server, as the source with that name. schemes say which names of events are believed.
func New(name string, schemes source.Schemes, server Server) *Mirror {
	return &Mirror{name: name, schemes: schemes, server: server, known: map[uuid.UUID]hazardState{}}
}

// Name is the name of the source.
func (m *Mirror) Name() string { return m.name }

// Taken notes that the batch of the last Read was taken in. Without it the next Read asks for the same products again.
func (m *Mirror) Taken() {
	if m.next != nil {
		m.known, m.next = m.next, nil
	}
}

// Read reads the active hazards and what has changed of their products. The batch is Whole unless there is an error. A list that breaks off
// gives the hazards before the break beside a *source.PayloadError.
//
// Products are told of where they were read; other reports say nothing of them. A list of products that could not be read is a
// reject, and is asked for again.
func (m *Mirror) Read(ctx context.Context, now hazard.Instant) (source.Batch, error) {
	m.next = nil
	fresh, err := m.server.Active(ctx, client.IfNoneMatch(m.etag))
	switch {
	case err == nil:
		m.etag, m.list = fresh.ETag, fresh
	case errors.Is(err, client.ErrNotModified) && m.etag != "":
	default:
		partial := listOf(fresh, m.name, m.schemes, now)
		return partial.batch(m.lastReport), payloadError(err, len(fresh.Items) > 0)
	}
	l := listOf(m.list, m.name, m.schemes, now)
	batch := l.batch(m.lastReport)
	batch.Whole = true

	m.turn++
	m.next = map[uuid.UUID]hazardState{}
	for i := range l.records {
		m.expect(&l.records[i])
	}
	ask, cancel := context.WithTimeout(ctx, maxAsking)
	defer cancel()
	m.askGone(ask, &batch, now)
	m.askProducts(ask, l, &batch)
	return batch, ctx.Err()
}

// lastReport is what was last said of a hazard whose record cannot be read now.
func (m *Mirror) lastReport(r *record) (hazard.Report, bool) {
	if s, ok := m.known[r.id]; ok {
		return s.report, true
	}
	for _, s := range m.known {
		if s.number == r.HazardID && r.HazardID != 0 {
			return s.report, true
		}
	}
	return hazard.Report{}, false
}

// expect notes a listed hazard.
func (m *Mirror) expect(r *record) {
	if r.reject != "" {
		if last, ok := m.lastReport(r); ok {
			m.next[last.UUID] = m.known[last.UUID]
		}
		return
	}
	s := m.known[r.id]
	s.number, s.report = r.HazardID, r.report
	m.next[r.id] = s
}

// askGone asks what became of hazards that are no longer listed: how and when one ended is more than that it is missing.
func (m *Mirror) askGone(ctx context.Context, batch *source.Batch, now hazard.Instant) {
	asked := 0
	for _, id := range slices.SortedFunc(maps.Keys(m.known), func(a, b uuid.UUID) int { return slices.Compare(a[:], b[:]) }) {
		s := m.known[id]
		if _, listed := m.next[id]; listed || s.report.Ended != "" {
			continue
		}
		if asked++; asked > maxGone || m.notSingle >= maxFailures || ctx.Err() != nil {
			return
		}
		h, err := m.server.Hazard(ctx, client.ID(s.number))
		if _, answered := errors.AsType[*client.Problem](err); err != nil && !answered {
			return // it is away; the list says enough
		}
		if err != nil {
			m.notSingle++
			continue
		}
		m.notSingle = 0
		r, reject := report(&h.Item, m.name, m.schemes, now)
		if reject != "" || r.UUID != id {
			continue
		}
		batch.Read++
		batch.Reports = append(batch.Reports, r)
		if r.Ended == "" { // it came back since
			s.report = r
			m.next[id] = s
		}
	}
}

// askProducts asks for products of hazards: first where something has changed, in the order of the list, then where nobody has looked for
// the longest time.
func (m *Mirror) askProducts(ctx context.Context, l *list, batch *source.Batch) {
	at := map[uuid.UUID]int{}
	for i := range batch.Reports {
		at[batch.Reports[i].UUID] = i
	}
	var changed, old []*record
	for i := range l.records {
		r := &l.records[i]
		s := m.next[r.id]
		switch {
		case r.reject != "" || r.report.Ended != "":
		case strings.TrimSpace(r.ProductTotal) == "0":
			batch.Reports[at[r.id]].Products = []hazard.ReportProduct{}
			s.last, s.total, s.etag = r.LastUpdate, r.ProductTotal, ""
			m.next[r.id] = s
		case s.turn == 0 || s.last != r.LastUpdate || s.total != r.ProductTotal:
			changed = append(changed, r)
		default:
			old = append(old, r)
		}
	}
	slices.SortStableFunc(old, func(a, b *record) int { return cmp.Compare(m.next[a.id].turn, m.next[b.id].turn) })
	changed = changed[:min(len(changed), maxProductLists)]
	old = old[:min(len(old), maxRefreshed, maxProductLists-len(changed))]
	failures := 0
	for _, r := range append(changed, old...) {
		if failures == maxFailures || ctx.Err() != nil {
			return
		}
		failed, stop := m.askProductsOf(ctx, r, &batch.Reports[at[r.id]], batch)
		if stop {
			return
		}
		if failures++; !failed {
			failures = 0
		}
	}
}

// askProductsOf asks for the products of one hazard.
func (m *Mirror) askProductsOf(ctx context.Context, r *record, into *hazard.Report, batch *source.Batch) (failed, stop bool) {
	s := m.next[r.id]
	products, err := m.server.Products(ctx, client.ID(r.HazardID), client.IfNoneMatch(s.etag))
	switch {
	case err == nil:
		var rejects []source.Reject
		into.Products, rejects = tree(products, recordName(&r.Hazard)+"/products")
		for _, reject := range rejects {
			reject.Events = []string{} // the hazard itself is listed
			batch.Rejects = append(batch.Rejects, reject)
		}
		s.etag = products.ETag
	case errors.Is(err, client.ErrNotModified):
	case errors.Is(err, client.ErrNotFound): // it ended since the list was made
		return false, false
	case ctx.Err() != nil:
		return true, true
	default:
		batch.Rejects = append(batch.Rejects, source.Reject{
			Record: recordName(&r.Hazard) + "/products", Reason: err.Error(), Events: []string{},
		})
		return true, errors.Is(err, client.ErrUnauthorized) || errors.Is(err, client.ErrLimited)
	}
	s.last, s.total, s.turn = r.LastUpdate, r.ProductTotal, m.turn
	m.next[r.id] = s
	return false, false
}
