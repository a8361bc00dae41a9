package store

import (
	"context"
	"database/sql"

	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/store/sqlc"
)

// Picture is the picture that a source's product links to. Package picture stores its file.
type Picture struct {
	ProductID int64
	Version   int64 // version of the product from which Address comes
	Source    string
	Address   string
	// Digest and Life name the file (blob.Name); a name is used once. Digest is empty until a
	// fetch succeeds.
	Digest    string
	Life      int64
	Bytes     int64
	MediaType string
	Fetched   hazard.Instant
	Failures  int64          // consecutive failures
	Error     string         // error of the last failure
	Next      hazard.Instant // no fetch of Address before this time
}

// Of reports whether the picture was fetched from the product's present address.
func (p *Picture) Of(product *hazard.Product) bool {
	return p.Digest != "" && p.ProductID == product.ID && product.Type == hazard.URLProduct && p.Address == product.Data
}

func pictureOf(r sqlc.Picture) Picture {
	return Picture{ProductID: r.ProductID, Version: r.Version, Source: r.Source, Address: r.Address, Digest: r.Digest, Life: r.Life, Bytes: r.Bytes, MediaType: r.MediaType,
		Fetched: hazard.Instant(r.FetchedMs), Failures: r.Failures, Error: r.Error, Next: hazard.Instant(r.NextMs)}
}

func picturesOf(rows []sqlc.Picture, err error) (map[int64]Picture, error) {
	all := make(map[int64]Picture, len(rows))
	for _, r := range rows {
		all[r.ProductID] = pictureOf(r)
	}
	return all, storeError(err)
}

// All returns all pictures by product id.
func (s *Pictures) All(ctx context.Context) (map[int64]Picture, error) {
	return picturesOf(s.readQ.Pictures(ctx))
}

// Of returns all pictures of a hazard's products by product id, regardless of their
// audience.
func (s *Pictures) Of(ctx context.Context, hazardID int64) (map[int64]Picture, error) {
	return picturesOf(s.readQ.PicturesOfHazard(ctx, hazardID))
}

// Get returns the picture of a product, or ErrNotFound. Picture.Of says whether it is up to
// date.
func (s *Pictures) Get(ctx context.Context, productID int64) (Picture, error) {
	row, err := s.readQ.PictureOf(ctx, productID)
	return pictureOf(row), found(err, "picture of product %d", productID)
}

// Save stores a picture's record.
func (s *Pictures) Save(ctx context.Context, p *Picture) error {
	return s.inTx(ctx, func(ctx context.Context, _ *sql.Tx, q *sqlc.Queries) error {
		return q.SavePicture(ctx, sqlc.SavePictureParams{ProductID: p.ProductID, Version: p.Version, Source: p.Source, Address: p.Address, Digest: p.Digest, Life: p.Life, Bytes: p.Bytes,
			MediaType: p.MediaType, FetchedMs: int64(p.Fetched), Failures: p.Failures, Error: p.Error, NextMs: int64(p.Next)})
	})
}

// Drop forgets a product's picture.
func (s *Pictures) Drop(ctx context.Context, productID int64) error {
	return s.inTx(ctx, func(ctx context.Context, _ *sql.Tx, q *sqlc.Queries) error { return q.DropPicture(ctx, productID) })
}

// Usage returns the number and the total size of the stored pictures.
func (s *Pictures) Usage(ctx context.Context) (count, bytes int64, err error) {
	row, err := s.readQ.PictureUsage(ctx)
	return row.Pictures, row.Bytes, storeError(err)
}
