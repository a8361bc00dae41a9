package store

import (
	"context"
	"database/sql"

	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/store/db"
)

// Picture is what is known of the picture that a product of a source names. Its file is where package picture keeps it.
type Picture struct {
	ProductID int64
	Version   int64 // of the product's state that Address is from
	Source    string
	Address   string
	// Digest and Life name the file (files.Name), which is used once. Digest is empty where nothing could be fetched yet.
	Digest    string
	Life      int64
	Bytes     int64
	MediaType string
	Fetched   hazard.Instant
	Failures  int64          // in a row
	Error     string         // of the last failure
	Next      hazard.Instant // before which Address is not asked again
}

// Of reports whether the picture is there, and is that of the product as it is: one whose address was altered has another.
func (p *Picture) Of(product *hazard.Product) bool {
	return p.Digest != "" && p.ProductID == product.ID && product.Type == hazard.URLProduct && p.Address == product.Data
}

func pictureOf(r db.Picture) Picture {
	return Picture{ProductID: r.ProductID, Version: r.Version, Source: r.Source, Address: r.Address, Digest: r.Digest, Life: r.Life, Bytes: r.Bytes, MediaType: r.MediaType,
		Fetched: hazard.Instant(r.FetchedMs), Failures: r.Failures, Error: r.Error, Next: hazard.Instant(r.NextMs)}
}

func picturesOf(rows []db.Picture, err error) (map[int64]Picture, error) {
	all := make(map[int64]Picture, len(rows))
	for _, r := range rows {
		all[r.ProductID] = pictureOf(r)
	}
	return all, storeError(err)
}

// Pictures are all pictures, by number of the product.
func (s *Store) Pictures(ctx context.Context) (map[int64]Picture, error) {
	return picturesOf(s.readQ.Pictures(ctx))
}

// PicturesOf are the pictures of a hazard's products, by number of the product, whoever may see them.
func (s *Store) PicturesOf(ctx context.Context, hazardID int64) (map[int64]Picture, error) {
	return picturesOf(s.readQ.PicturesOfHazard(ctx, hazardID))
}

// PictureOf is what is known of the picture of a product (Picture.Of says whether it is that of the product as it is). ErrNotFound if nothing is.
func (s *Store) PictureOf(ctx context.Context, productID int64) (Picture, error) {
	row, err := s.readQ.PictureOf(ctx, productID)
	return pictureOf(row), found(err, "picture of product %d", productID)
}

// SavePicture writes what is known of a picture.
func (s *Store) SavePicture(ctx context.Context, p *Picture) error {
	return s.inTx(ctx, func(ctx context.Context, _ *sql.Tx, q *db.Queries) error {
		return q.SavePicture(ctx, db.SavePictureParams{ProductID: p.ProductID, Version: p.Version, Source: p.Source, Address: p.Address, Digest: p.Digest, Life: p.Life, Bytes: p.Bytes,
			MediaType: p.MediaType, FetchedMs: int64(p.Fetched), Failures: p.Failures, Error: p.Error, NextMs: int64(p.Next)})
	})
}

// DropPicture forgets the picture of a product.
func (s *Store) DropPicture(ctx context.Context, productID int64) error {
	return s.inTx(ctx, func(ctx context.Context, _ *sql.Tx, q *db.Queries) error { return q.DropPicture(ctx, productID) })
}

// PictureUsage is how many pictures are kept, and how large their files are together.
func (s *Store) PictureUsage(ctx context.Context) (count, bytes int64, err error) {
	row, err := s.readQ.PictureUsage(ctx)
	return row.Pictures, row.Bytes, storeError(err)
}
