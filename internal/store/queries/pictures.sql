-- name: Pictures :many
SELECT * FROM pictures ORDER BY product_id;

-- name: PictureOf :one
SELECT * FROM pictures WHERE product_id = $1;

-- name: PicturesOfHazard :many
SELECT p.* FROM pictures p JOIN products o ON o.id = p.product_id WHERE o.hazard_id = $1;

-- name: SavePicture :exec
INSERT INTO pictures (product_id, version, source, address, digest, life, bytes, media_type, fetched_ms, failures, error, next_ms)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)
ON CONFLICT (product_id) DO UPDATE SET version = excluded.version, source = excluded.source, address = excluded.address, digest = excluded.digest,
    life = excluded.life, bytes = excluded.bytes, media_type = excluded.media_type, fetched_ms = excluded.fetched_ms, failures = excluded.failures,
    error = excluded.error, next_ms = excluded.next_ms;

-- name: DropPicture :exec
DELETE FROM pictures WHERE product_id = $1;

-- name: PictureUsage :one
SELECT count(*) AS pictures, CAST(coalesce(sum(bytes), 0) AS BIGINT) AS bytes FROM pictures WHERE digest <> '';
