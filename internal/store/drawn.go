package store

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"fmt"

	"github.com/go-json-experiment/json"
	"github.com/klauspost/compress/zstd"

	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/store/sqlc"
)

// shapesEncoder and shapesDecoder are safe for concurrent use. Hazards.KeepShapes has written everything
// they read; the decoder is bounded all the same.
var (
	shapesEncoder, _ = zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithEncoderLevel(zstd.SpeedDefault))
	shapesDecoder, _ = zstd.NewReader(nil, zstd.WithDecoderConcurrency(2), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxMemory(4*hazard.MaxShapeBytes))
)

// shapesAtOnce bounds the shapes written in one transaction, in bytes of their texts.
const shapesAtOnce = 2 << 20

// KeepShapes stores the shapes of documents, each document once, and returns their digests. Call it
// before the transaction that refers to them, so that the transaction writes nothing large.
func (s *Hazards) KeepShapes(ctx context.Context, docs [][]hazard.Shape) (digests []string, err error) {
	var rows []sqlc.AddShapesParams
	size := 0
	flush := func() error {
		if len(rows) == 0 {
			return nil
		}
		err := s.inTx(ctx, func(ctx context.Context, _ *sql.Tx, q *sqlc.Queries) error {
			for _, row := range rows {
				if err := q.AddShapes(ctx, row); err != nil {
					return err
				}
			}
			return nil
		})
		rows, size = nil, 0
		return err
	}
	for _, shapes := range docs {
		text, err := json.Marshal(shapes, json.Deterministic(true))
		if err != nil {
			return nil, err
		}
		if len(text) > 2*hazard.MaxShapeBytes {
			return nil, fmt.Errorf("shapes of %d bytes, at most %d are allowed of one document", len(text), 2*hazard.MaxShapeBytes)
		}
		sum := sha256.Sum256(text)
		digest := hex.EncodeToString(sum[:])
		digests = append(digests, digest)
		exists, err := s.readQ.HasShapes(ctx, digest)
		if err != nil {
			return nil, storeError(err)
		}
		if exists {
			continue
		}
		rows = append(rows, sqlc.AddShapesParams{Digest: digest, Body: shapesEncoder.EncodeAll(text, nil)})
		if size += len(text); size >= shapesAtOnce {
			if err := flush(); err != nil {
				return nil, err
			}
		}
	}
	return digests, flush()
}

// ShapesOf reads the shapes of a reference.
func (s *Hazards) ShapesOf(ctx context.Context, ref hazard.ShapesRef) ([]hazard.Shape, error) {
	body, err := s.readQ.ShapesOf(ctx, ref.Digest)
	if err != nil {
		return nil, fmt.Errorf("shapes %s: %w", ref.Digest, storeError(err))
	}
	return openShapes(ref.Digest, body)
}

// openShapes decompresses stored shapes. It returns a *DamagedError if they do not match the
// digest.
func openShapes(digest string, body []byte) ([]hazard.Shape, error) {
	text, err := shapesDecoder.DecodeAll(body, nil)
	if err != nil {
		return nil, &DamagedError{"shapes " + digest}
	}
	if sum := sha256.Sum256(text); hex.EncodeToString(sum[:]) != digest {
		return nil, &DamagedError{"shapes " + digest}
	}
	var shapes []hazard.Shape
	if err := json.Unmarshal(text, &shapes); err != nil {
		return nil, &DamagedError{"shapes " + digest}
	}
	return shapes, nil
}
