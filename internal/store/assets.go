package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/hazardd/hazardd/internal/atlas/asset"
	"github.com/hazardd/hazardd/internal/auth"
	"github.com/hazardd/hazardd/internal/geo"
	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/store/sqlc"
)

// The assets of an organization are a set. It is written in pieces, one transaction each, and
// becomes visible in one step once it is complete. So a large load does not block other writes, and
// readers see either the old set or the complete new one. Of two concurrent loads, the later one
// cancels the other.

// Bounds of one piece of a set.
const (
	assetsAtOnce  = 500
	assetBytes    = 1 << 20 // bytes of areas
	assetDropTime = time.Minute
)

// The states of a set.
const (
	setLoading = "loading"
	setCurrent = "current"
)

// errOtherLoad cancels a load when another one has begun.
var errOtherLoad = fmt.Errorf("%w: a later load of this organization's assets has begun; this one was discarded", hazard.ErrConflict)

// Load replaces the assets of an organization by those that read passes to its function. The
// new set becomes visible when it is complete. audit is the row for the audit trail.
func (s *Assets) Load(ctx context.Context, org int64, clock hazard.Clock, read func(each func(*asset.Asset) error) error, audit *auth.Audit) (set asset.Set, err error) {
	ctx = Patient(ctx)
	l := &load{store: s.store, set: asset.Set{Org: org, By: audit.Actor}}
	err = s.inTx(ctx, func(ctx context.Context, _ *sql.Tx, q *sqlc.Queries) (err error) {
		if _, err = q.EndAssetSets(ctx, sqlc.EndAssetSetsParams{OrgID: org, State: setLoading}); err != nil {
			return err
		}
		if l.set.ID, err = q.NextAssetSet(ctx); err != nil {
			return err
		}
		return q.AddAssetSet(ctx, sqlc.AddAssetSetParams{ID: l.set.ID, OrgID: org})
	})
	if err != nil {
		return set, err
	}
	if err = read(func(a *asset.Asset) error { return l.add(ctx, a) }); err == nil {
		err = l.write(ctx)
	}
	if err == nil {
		l.set.Loaded = clock.Now()
		audit.Detail = l.set.Summary()
		err = l.show(ctx, audit)
	}
	after, cancel := context.WithTimeout(context.WithoutCancel(ctx), assetDropTime)
	defer cancel()
	if err != nil {
		set = asset.Set{}
		_ = s.inTx(after, func(ctx context.Context, _ *sql.Tx, q *sqlc.Queries) error { // if this fails, the next load removes it
			return q.EndAssetSet(ctx, l.set.ID)
		})
	} else {
		set = l.set
	}
	_ = s.dropOldAssets(after, org) // the next load removes the rest
	return set, err
}

// Remove removes the assets of an organization; it returns ErrNotFound if there are none.
func (s *Assets) Remove(ctx context.Context, org int64, audit *auth.Audit) error {
	err := s.inTx(ctx, func(ctx context.Context, _ *sql.Tx, q *sqlc.Queries) error {
		n, err := q.EndAssetSets(ctx, sqlc.EndAssetSetsParams{OrgID: org, State: setCurrent})
		if err != nil {
			return err
		}
		if n == 0 {
			return fmt.Errorf("%w: assets of organization %d", hazard.ErrNotFound, org)
		}
		return addAudit(ctx, q, audit)
	})
	if err != nil {
		return err
	}
	after, cancel := context.WithTimeout(context.WithoutCancel(Patient(ctx)), assetDropTime)
	defer cancel()
	_ = s.dropOldAssets(after, org) // as above; nobody can see them any more
	return nil
}

// dropOldAssets removes the rows of sets that are no longer visible, in pieces.
func (s *core) dropOldAssets(ctx context.Context, org int64) error {
	old, err := s.readQ.OldAssetSets(ctx, org)
	if err != nil {
		return storeError(err)
	}
	for _, set := range old {
		for n := int64(0); n < set.Count; {
			n += assetsAtOnce
			err := s.inTx(ctx, func(ctx context.Context, _ *sql.Tx, q *sqlc.Queries) error {
				return q.RemoveAssets(ctx, sqlc.RemoveAssetsParams{SetID: set.ID, UpTo: n})
			})
			if err != nil {
				return err
			}
		}
		err := s.inTx(ctx, func(ctx context.Context, _ *sql.Tx, q *sqlc.Queries) error { return q.RemoveAssetSet(ctx, set.ID) })
		if err != nil {
			return err
		}
	}
	return nil
}

// load is a set that is being written.
type load struct {
	store *Store
	set   asset.Set
	rows  []sqlc.AddAssetParams // not written yet
	bytes int                   // size of their areas
}

func (l *load) add(ctx context.Context, a *asset.Asset) error {
	box := a.Bounds()
	row := sqlc.AddAssetParams{SetID: l.set.ID, N: a.N, ID: a.ID, Name: a.Name, Kind: a.Kind, Cell: asset.Cell(box), West: box.West, South: box.South, East: box.East, North: box.North}
	if !a.Area.IsZero() {
		row.Area = a.Area.GeoJSON()
		l.set.Areas++
	}
	l.set.Grow(box)
	l.rows, l.bytes = append(l.rows, row), l.bytes+len(row.Area)
	if len(l.rows) < assetsAtOnce && l.bytes < assetBytes {
		return nil
	}
	return l.write(ctx)
}

// write writes the pending rows.
func (l *load) write(ctx context.Context) error {
	if len(l.rows) == 0 {
		return nil
	}
	err := l.store.inTx(ctx, func(ctx context.Context, _ *sql.Tx, q *sqlc.Queries) error {
		n, err := q.GrowAssetSet(ctx, sqlc.GrowAssetSetParams{ID: l.set.ID, Count: l.set.Count, Areas: l.set.Areas})
		if err == nil && n == 0 {
			err = errOtherLoad
		}
		if err != nil {
			return err
		}
		for _, row := range l.rows {
			if err := q.AddAsset(ctx, row); err != nil {
				return err
			}
		}
		return nil
	})
	l.rows, l.bytes = l.rows[:0], 0
	return err
}

// show makes the set visible as the set of its organization.
func (l *load) show(ctx context.Context, audit *auth.Audit) error {
	return l.store.inTx(ctx, func(ctx context.Context, _ *sql.Tx, q *sqlc.Queries) error {
		if _, err := q.EndAssetSets(ctx, sqlc.EndAssetSetsParams{OrgID: l.set.Org, State: setCurrent}); err != nil {
			return err
		}
		b := l.set.Box
		n, err := q.ShowAssetSet(ctx, sqlc.ShowAssetSetParams{ID: l.set.ID, West: b.West, South: b.South, East: b.East, North: b.North, LoadedMs: int64(l.set.Loaded), LoadedBy: l.set.By})
		if err == nil && n == 0 {
			err = errOtherLoad
		}
		if err != nil {
			return err
		}
		return addAudit(ctx, q, audit)
	})
}

// Sets lists the sets of all organizations.
func (s *Assets) Sets(ctx context.Context) ([]asset.Set, error) {
	rows, err := s.readQ.AssetSets(ctx)
	if err != nil {
		return nil, storeError(err)
	}
	return decodeSets(rows), nil
}

func decodeSets(rows []sqlc.AssetSet) []asset.Set {
	sets := make([]asset.Set, len(rows))
	for i, r := range rows {
		sets[i] = asset.Set{ID: r.ID, Org: r.OrgID, Count: r.Count, Areas: r.Areas, Box: geo.Box{West: r.West, South: r.South, East: r.East, North: r.North},
			Loaded: hazard.Instant(r.LoadedMs), By: r.LoadedBy}
	}
	return sets
}

// AssetReader reads the assets of some organizations as of one moment.
type AssetReader struct {
	Sets []asset.Set
	tx   *sql.Tx
	s    *Store
}

// Read calls use with the assets of the wanted organizations as of one moment.
func (s *Assets) Read(ctx context.Context, wanted func(org int64) bool, use func(*AssetReader) error) error {
	tx, err := s.read.BeginTx(ctx, s.database.snapshot())
	if err != nil {
		return storeError(err)
	}
	defer func() { _ = rollback(tx) }()
	rows, err := s.readQ.WithTx(tx).AssetSets(ctx)
	if err != nil {
		return storeError(err)
	}
	all := &AssetReader{tx: tx, s: s.store}
	for _, set := range decodeSets(rows) {
		if wanted(set.Org) {
			all.Sets = append(all.Sets, set)
		}
	}
	return use(all)
}

const assetColumns = `SELECT n, id, name, kind, cell, west, south, area FROM assets WHERE set_id = $1`

// After calls each with the assets of a set after number n, in order, until it returns false.
func (a *AssetReader) After(ctx context.Context, set *asset.Set, n int64, each func(*asset.Asset) bool) error {
	const step = 1000
	for n < set.Count {
		more := true
		err := a.read(ctx, func(found *asset.Asset, _ bool) { more = more && each(found) }, assetColumns+` AND n > $2 AND n <= $3 ORDER BY n`, set.ID, n, n+step)
		if err != nil || !more {
			return err
		}
		n += step
	}
	return nil
}

// In calls each once with every asset of a set whose bounds intersect a box, in any order. No box
// may cross the antimeridian.
func (a *AssetReader) In(ctx context.Context, set *asset.Set, boxes []geo.Box, each func(*asset.Asset)) error {
	wide := map[int64]bool{} // assets found already, if there are several boxes
	for _, b := range boxes {
		for _, cells := range asset.Ranges(b) {
			err := a.read(ctx, func(found *asset.Asset, isWide bool) {
				if isWide && len(boxes) > 1 {
					if wide[found.N] {
						return
					}
					wide[found.N] = true
				}
				each(found)
			}, assetColumns+` AND cell BETWEEN $2 AND $3 AND south <= $4 AND north >= $5 AND (west > east OR west <= $6 AND east >= $7)`,
				set.ID, cells.First, cells.Last, b.North, b.South, b.East, b.West)
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// read calls each with the assets from a query, and whether they are in several cells.
func (a *AssetReader) read(ctx context.Context, each func(*asset.Asset, bool), query string, args ...any) (err error) {
	rows, err := a.tx.QueryContext(ctx, query, args...)
	if err != nil {
		return storeError(err)
	}
	defer func() { err = errors.Join(err, storeError(rows.Err()), rows.Close()) }()
	for rows.Next() {
		found := &asset.Asset{}
		var cell int64
		var area string
		if err := rows.Scan(&found.N, &found.ID, &found.Name, &found.Kind, &cell, &found.Lon, &found.Lat, &area); err != nil {
			return storeError(err)
		}
		if area != "" {
			if found.Area, err = geo.ReadStored(area); err != nil {
				return fmt.Errorf("stored asset %d: %w", found.N, err)
			}
			found.Lon, found.Lat = found.Area.Point()
		}
		each(found, cell == asset.WideCell)
	}
	return nil
}
