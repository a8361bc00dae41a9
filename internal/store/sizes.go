package store

import (
	"cmp"
	"context"
	"database/sql"
	"slices"
)

// Size is the size of a table.
type Size struct {
	Name  string `json:"name"`
	Rows  int64  `json:"rows"`
	Bytes int64  `json:"bytes"` // including its indexes
}

// Sizes lists the sizes of the tables, largest first. It reads the whole database.
func (s *Store) Sizes(ctx context.Context) ([]Size, error) {
	tx, err := s.snapshot(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { _ = rollback(tx) }()
	sizes, err := sizesOf(ctx, tx, s.database)
	return sizes, storeError(err)
}

func sizesOf(ctx context.Context, tx *sql.Tx, d database) ([]Size, error) {
	rows, err := tx.QueryContext(ctx, d.sizes())
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var sizes []Size
	for rows.Next() {
		var s Size
		if err := rows.Scan(&s.Name, &s.Bytes); err != nil {
			return nil, err
		}
		sizes = append(sizes, s)
	}
	if err := rows.Err(); err != nil {
		return nil, err
	}
	known := slices.Concat(transferred, notTransferred)
	for i := range sizes {
		if s := &sizes[i]; slices.Contains(known, s.Name) {
			if err := tx.QueryRowContext(ctx, `SELECT count(*) FROM `+s.Name).Scan(&s.Rows); err != nil {
				return nil, err
			}
		}
	}
	slices.SortFunc(sizes, func(a, b Size) int {
		return cmp.Or(cmp.Compare(b.Bytes, a.Bytes), cmp.Compare(a.Name, b.Name))
	})
	return sizes, nil
}
