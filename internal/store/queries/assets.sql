-- name: NextAssetSet :one
-- A store that was filled from an older backup has no row of it.
INSERT INTO counters (name, value) VALUES ('asset_sets', 1) ON CONFLICT (name) DO UPDATE SET value = counters.value + 1 RETURNING value;

-- name: AddAssetSet :exec
INSERT INTO asset_sets (id, org_id, state, count, areas, west, south, east, north, loaded_ms, loaded_by) VALUES ($1, $2, 'loading', 0, 0, 0, 0, 0, 0, 0, '');

-- name: EndAssetSets :execrows
-- The sets of an organization in a state are to be removed.
UPDATE asset_sets SET state = 'old' WHERE org_id = $1 AND state = $2;

-- name: EndAssetSet :exec
UPDATE asset_sets SET state = 'old' WHERE id = $1 AND state = 'loading';

-- name: GrowAssetSet :execrows
-- No row: another load has begun.
UPDATE asset_sets SET count = $2, areas = $3 WHERE id = $1 AND state = 'loading';

-- name: AddAsset :exec
INSERT INTO assets (set_id, n, id, name, kind, cell, west, south, east, north, area) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11);

-- name: ShowAssetSet :execrows
-- No row: another load has begun.
UPDATE asset_sets SET state = 'current', west = $2, south = $3, east = $4, north = $5, loaded_ms = $6, loaded_by = $7 WHERE id = $1 AND state = 'loading';

-- name: AssetSets :many
SELECT * FROM asset_sets WHERE state = 'current' ORDER BY org_id;

-- name: OldAssetSets :many
SELECT id, count FROM asset_sets WHERE org_id = $1 AND state = 'old' ORDER BY id;

-- name: RemoveAssets :exec
DELETE FROM assets WHERE set_id = sqlc.arg(set_id) AND n <= sqlc.arg(up_to);

-- name: RemoveAssetSet :exec
DELETE FROM asset_sets WHERE id = $1;
