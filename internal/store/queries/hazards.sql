-- name: Meta :one
SELECT value FROM meta WHERE name = $1;

-- name: Next :one
-- Takes the next numbers: the row stays locked until the transaction ends, see the table.
UPDATE counters SET value = value + sqlc.arg(count) WHERE name = sqlc.arg(name) RETURNING value;

-- name: SetCounter :exec
-- Only by who has locked the row.
UPDATE counters SET value = sqlc.arg(value) WHERE name = sqlc.arg(name);

-- name: Counter :one
SELECT value FROM counters WHERE name = $1;

-- name: HazardByID :one
-- A state is read from the change that made it: see migration 0010.
SELECT c.n, c.body FROM hazards h JOIN changes c ON c.n = h.n WHERE h.id = $1;

-- name: HazardByUUID :one
SELECT c.n, c.body FROM hazards h JOIN changes c ON c.n = h.n WHERE h.uuid = $1;

-- name: ActiveHazards :many
SELECT c.n, c.body FROM hazards h JOIN changes c ON c.n = h.n WHERE h.status = 'A';

-- name: HazardIDs :many
-- Every hazard, in the order of lists.
SELECT id FROM hazards ORDER BY severity DESC, last_update_ms DESC, id;

-- name: DueHazards :many
-- The active hazards that end by themselves at or before a moment, the longest due first.
SELECT h.id, h.n, CAST(coalesce(c.body, '') AS TEXT) AS body FROM hazards h LEFT JOIN changes c ON c.n = h.n
WHERE h.status = 'A' AND h.autoexpire AND h.end_ms <= sqlc.arg(now_ms) ORDER BY h.end_ms, h.id LIMIT sqlc.arg(max_rows);

-- name: NextMoments :many
-- When the next active hazards end by themselves, and when the next ones are to be derived again.
SELECT id, at_ms FROM (SELECT id, end_ms AS at_ms FROM hazards WHERE status = 'A' AND autoexpire ORDER BY end_ms LIMIT $1) AS ends
UNION ALL
SELECT id, at_ms FROM (SELECT hazard_id AS id, at_ms FROM wakes ORDER BY at_ms LIMIT $1) AS next
ORDER BY at_ms;

-- name: DueWakes :many
SELECT hazard_id FROM wakes WHERE at_ms <= sqlc.arg(now_ms) ORDER BY at_ms, hazard_id LIMIT sqlc.arg(max_rows);

-- name: SetWake :exec
-- A moment that has come stays until the hazard was woken.
INSERT INTO wakes (hazard_id, at_ms) VALUES (sqlc.arg(hazard_id), sqlc.arg(at_ms))
ON CONFLICT (hazard_id) DO UPDATE SET at_ms = excluded.at_ms WHERE wakes.at_ms > sqlc.arg(now_ms);

-- name: DropWake :exec
-- But for a moment that has come.
DELETE FROM wakes WHERE hazard_id = sqlc.arg(hazard_id) AND at_ms > sqlc.arg(now_ms);

-- name: Woken :exec
DELETE FROM wakes WHERE hazard_id = $1;

-- name: SaveHazard :exec
INSERT INTO hazards (id, uuid, n, status, type_id, severity, category_id, autoexpire, start_ms, end_ms, last_update_ms,
    update_ms, lon, lat, source, body)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16)
ON CONFLICT (id) DO UPDATE SET n = excluded.n, status = excluded.status, type_id = excluded.type_id,
    severity = excluded.severity, category_id = excluded.category_id, autoexpire = excluded.autoexpire,
    start_ms = excluded.start_ms, end_ms = excluded.end_ms, last_update_ms = excluded.last_update_ms,
    update_ms = excluded.update_ms, lon = excluded.lon, lat = excluded.lat, source = excluded.source, body = excluded.body;

-- name: ProductByID :one
SELECT n, body FROM products WHERE id = $1;

-- name: ProductByUUID :one
SELECT n, body FROM products WHERE uuid = $1;

-- name: ProductsOfHazard :many
SELECT n, body FROM products WHERE hazard_id = $1 AND NOT deleted ORDER BY id;

-- name: ProductsOfActiveHazards :many
SELECT p.n, p.body FROM products p JOIN hazards h ON h.id = p.hazard_id WHERE h.status = 'A' AND NOT p.deleted ORDER BY p.id;

-- name: SaveProduct :exec
INSERT INTO products (id, uuid, hazard_id, n, deleted, body) VALUES ($1, $2, $3, $4, $5, $6)
ON CONFLICT (id) DO UPDATE SET hazard_id = excluded.hazard_id, n = excluded.n, deleted = excluded.deleted, body = excluded.body;

-- name: AddChange :exec
INSERT INTO changes (n, at_ms, kind, hazard_id, product_id, actor, addr, source, body, audience)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10);

-- name: ChangesSince :many
-- n follows commit order without holes, so the last n that a reader has seen is an exact place to resume.
SELECT n, at_ms, kind, hazard_id, product_id, actor, source, body FROM changes
WHERE n > sqlc.arg(after) ORDER BY n LIMIT sqlc.arg(max_rows);

-- name: ChangesOfHazard :many
SELECT n, at_ms, kind, hazard_id, product_id, actor, source, body FROM changes
WHERE hazard_id = sqlc.arg(hazard_id) AND n > sqlc.arg(after) ORDER BY n LIMIT sqlc.arg(max_rows);

-- name: ChangeByNumber :one
SELECT n, at_ms, kind, hazard_id, product_id, actor, source, body FROM changes WHERE n = $1;

-- name: FirstOfHazard :one
-- The change that made a hazard.
SELECT n, at_ms, kind, hazard_id, product_id, actor, source, body FROM changes WHERE hazard_id = $1 AND product_id = 0 ORDER BY n LIMIT 1;

-- name: FirstOfProduct :one
-- The change that made a product, whatever hazard it was part of then.
SELECT n, at_ms, kind, hazard_id, product_id, actor, source, body FROM changes WHERE product_id = $1 AND product_id > 0 ORDER BY n LIMIT 1;

-- name: Geometry :one
SELECT geojson FROM geometries WHERE digest = $1;

-- name: AddGeometry :exec
INSERT INTO geometries (digest, geojson) VALUES ($1, $2) ON CONFLICT (digest) DO NOTHING;

-- name: ProductsOfHazardAt :many
-- The latest state of each product of a hazard as of one change.
SELECT c.n, c.body FROM changes c WHERE c.hazard_id = sqlc.arg(hazard_id) AND c.product_id > 0 AND c.n <= sqlc.arg(at_n)
    AND c.n = (SELECT max(d.n) FROM changes d WHERE d.product_id = c.product_id AND d.product_id > 0 AND d.n <= sqlc.arg(at_n));

-- name: HazardAt :one
-- The latest state of a hazard as of one change.
SELECT n, body FROM changes WHERE hazard_id = sqlc.arg(hazard_id) AND product_id = 0 AND n <= sqlc.arg(at_n) ORDER BY n DESC LIMIT 1;

-- name: ProductVersion :one
-- The change that made a product's present state.
SELECT n FROM products WHERE id = $1;

-- name: LastMoment :one
-- The moment of the last change: moments do not decrease along the log.
SELECT at_ms FROM changes ORDER BY n DESC LIMIT 1;
