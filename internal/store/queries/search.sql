-- name: Searchable :exec
-- Only where no change is left out: who opens the store next makes up for those that are. Programs before schema 24 know searchable alone, and
-- those before schema 36 do not know named.
UPDATE counters SET value = sqlc.arg(last) WHERE name IN ('searchable', 'found', 'named') AND value = sqlc.arg(before);

-- name: Named :exec
UPDATE counters SET value = sqlc.arg(last) WHERE name = 'named' AND value = sqlc.arg(before);

-- name: ChangedHazards :many
-- The hazards that some of the changes numbered above one, up to another, altered.
SELECT DISTINCT hazard_id FROM changes WHERE n > sqlc.arg(after) AND n <= sqlc.arg(up_to) AND product_id = 0;

-- name: ActiveHazardsAfter :many
SELECT id FROM hazards WHERE status = 'A' AND id > sqlc.arg(after) ORDER BY id LIMIT sqlc.arg(max_rows);

-- name: MomentsOfHazard :one
-- When it first and when it last was written.
SELECT CAST(coalesce(min(at_ms), 0) AS BIGINT) AS first_ms,
    CAST(coalesce((SELECT d.at_ms FROM changes d WHERE d.hazard_id = sqlc.arg(hazard_id) AND d.product_id = 0 ORDER BY d.n DESC LIMIT 1), 0) AS BIGINT) AS last_ms
FROM changes WHERE hazard_id = sqlc.arg(hazard_id) AND product_id = 0;

-- name: HazardAsOf :one
-- A hazard's state as of one change and one moment. The clock may have been set back between changes, and imports write as of the past: at a
-- moment the last change counts that was made by then.
SELECT n, body FROM changes WHERE hazard_id = sqlc.arg(hazard_id) AND product_id = 0 AND n <= sqlc.arg(at_n) AND at_ms <= sqlc.arg(at_ms)
ORDER BY n DESC LIMIT 1;

-- name: ProductAsOf :one
SELECT n, body FROM changes WHERE product_id = sqlc.arg(product_id) AND product_id > 0 AND at_ms <= sqlc.arg(at_ms) ORDER BY n DESC LIMIT 1;

-- name: ProductsOfHazardAsOf :many
-- The state of each product as of a moment, of those that were a hazard's then; deleted ones too.
SELECT c.n, c.body FROM changes c WHERE c.hazard_id = sqlc.arg(hazard_id) AND c.product_id > 0 AND c.at_ms <= sqlc.arg(at_ms)
    AND c.n = (SELECT max(d.n) FROM changes d WHERE d.product_id = c.product_id AND d.product_id > 0 AND d.at_ms <= sqlc.arg(at_ms))
ORDER BY c.product_id;

-- name: HazardNumber :one
SELECT id FROM hazards WHERE uuid = $1;

-- name: ProductNumber :one
SELECT id FROM products WHERE uuid = $1;

-- name: LastChangeAt :one
-- The latest change as of a moment.
SELECT n FROM changes WHERE at_ms <= $1 ORDER BY at_ms DESC, n DESC LIMIT 1;

-- name: ChangesSinceAt :many
SELECT n, at_ms, kind, hazard_id, product_id, actor, source, body FROM changes
WHERE n > sqlc.arg(after) AND at_ms <= sqlc.arg(at_ms) ORDER BY n LIMIT sqlc.arg(max_rows);

-- name: ChangesOfHazardAt :many
SELECT n, at_ms, kind, hazard_id, product_id, actor, source, body FROM changes
WHERE hazard_id = sqlc.arg(hazard_id) AND n > sqlc.arg(after) AND at_ms <= sqlc.arg(at_ms) ORDER BY n LIMIT sqlc.arg(max_rows);

-- name: SourceReported :one
-- Whether a source has reported anything.
SELECT EXISTS (SELECT 1 FROM events WHERE events.source = $1);
