-- name: EventKey :one
SELECT k.event, e.hazard_id FROM event_keys k JOIN events e ON e.source = k.source AND e.event = k.event WHERE k.source = $1 AND k.key = $2;

-- name: AddEventKey :exec
INSERT INTO event_keys (source, key, event) VALUES ($1, $2, $3) ON CONFLICT (source, key) DO UPDATE SET event = excluded.event
WHERE NOT EXISTS (SELECT 1 FROM events e WHERE e.source = event_keys.source AND e.event = event_keys.event);

-- name: RenameEvent :exec
-- All names of an event become names of another.
UPDATE event_keys SET event = sqlc.arg(to_event) WHERE source = sqlc.arg(source) AND event = sqlc.arg(from_event);

-- name: SaveEvent :exec
INSERT INTO events (source, event, hazard_id, type_id, start_ms, end_ms, placed, lon, lat, called, joined)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)
ON CONFLICT (source, event) DO UPDATE SET hazard_id = excluded.hazard_id, type_id = excluded.type_id, start_ms = excluded.start_ms,
    end_ms = excluded.end_ms, placed = excluded.placed, lon = excluded.lon, lat = excluded.lat, called = excluded.called, joined = excluded.joined;

-- name: DropEvent :exec
DELETE FROM events WHERE source = $1 AND event = $2;

-- name: EventOf :one
SELECT source, event, hazard_id, type_id, start_ms, end_ms, placed, lon, lat, called, joined, shapes FROM events WHERE source = $1 AND event = $2;

-- name: EventsOfHazard :many
SELECT source, event, hazard_id, type_id, start_ms, end_ms, placed, lon, lat, called, joined, shapes FROM events WHERE hazard_id = $1 ORDER BY source, event;

-- name: EventsStarting :many
SELECT source, event, hazard_id, type_id, start_ms, end_ms, placed, lon, lat, called, joined, shapes FROM events
WHERE type_id = sqlc.arg(type_id) AND start_ms BETWEEN sqlc.arg(from_ms) AND sqlc.arg(to_ms) ORDER BY start_ms, source, event;

-- name: EventsNear :many
-- The rows of the index events_by_place that the box touches are named, so that it finds the box and not a belt around the
-- earth. Adding 0 keeps the databases from using the index by time, which finds all of a season.
SELECT source, event, hazard_id, type_id, start_ms, end_ms, placed, lon, lat, called, joined, shapes FROM events
WHERE type_id = sqlc.arg(type_id) AND ROUND(lat * 10) IN (sqlc.arg(row1), sqlc.arg(row2), sqlc.arg(row3), sqlc.arg(row4))
    AND lon BETWEEN sqlc.arg(west) AND sqlc.arg(east) AND lat BETWEEN sqlc.arg(south) AND sqlc.arg(north)
    AND start_ms + 0 BETWEEN sqlc.arg(from_ms) AND sqlc.arg(to_ms) AND placed AND source <> sqlc.arg(without);

-- name: EventsJoinedByRule :many
-- Those of active hazards; a reason that begins so is a rule's (intake/cluster.go).
SELECT e.source, e.event, e.hazard_id, e.type_id, e.start_ms, e.end_ms, e.placed, e.lon, e.lat, e.called, e.joined, e.shapes
FROM events e JOIN hazards h ON h.id = e.hazard_id
WHERE h.status = 'A' AND e.joined LIKE 'near %' ORDER BY e.hazard_id, e.source, e.event LIMIT sqlc.arg(max_rows);

-- name: AddRef :exec
INSERT INTO event_refs (ref, source, event) VALUES ($1, $2, $3) ON CONFLICT (ref, source, event) DO NOTHING;

-- name: RefsOfEvent :many
SELECT ref FROM event_refs WHERE source = $1 AND event = $2 ORDER BY ref;

-- name: NamesOfEvent :many
-- The names under which others may know an event: those that reports gave it, and those of its keys that some source gave to an event.
SELECT e.ref FROM event_refs e WHERE e.source = $1 AND e.event = $2
UNION
SELECT r.ref FROM event_keys k JOIN event_refs r ON r.ref = k.source || ':' || k.key WHERE k.source = $1 AND k.event = $2
ORDER BY 1;

-- name: EventsReplaced :many
-- The events that are over and wait for an event, by one of its names, as their successor (intake/state.go).
SELECT e.source, e.event, e.hazard_id, e.type_id, e.start_ms, e.end_ms, e.placed, e.lon, e.lat, e.called, e.joined, e.shapes
FROM (SELECT k.source || ':' || k.key AS name FROM event_keys k WHERE k.source = $1 AND k.event = $2
    UNION SELECT o.ref FROM event_refs o WHERE o.source = $1 AND o.event = $2) n
JOIN event_refs r ON r.ref = 'successor:' || n.name JOIN events e ON e.source = r.source AND e.event = r.event ORDER BY e.source, e.event;

-- name: RefsOfHazard :many
SELECT r.source, r.event, r.ref FROM events e JOIN event_refs r ON r.source = e.source AND r.event = e.event WHERE e.hazard_id = $1
ORDER BY r.source, r.event, r.ref;

-- name: EventsCalled :many
-- The events that some source gave a name of another, or that are known to their own source by it.
SELECT e.source, e.event, e.hazard_id, e.type_id, e.start_ms, e.end_ms, e.placed, e.lon, e.lat, e.called, e.joined, e.shapes
FROM event_refs r JOIN events e ON e.source = r.source AND e.event = r.event WHERE r.ref = sqlc.arg(ref)
UNION
SELECT e.source, e.event, e.hazard_id, e.type_id, e.start_ms, e.end_ms, e.placed, e.lon, e.lat, e.called, e.joined, e.shapes
FROM event_keys k JOIN events e ON e.source = k.source AND e.event = k.event WHERE k.source = sqlc.arg(scheme) AND k.key = sqlc.arg(id)
ORDER BY 3, 1, 2;

-- name: SaveVerdict :exec
INSERT INTO parted (source, event, other_source, other_event, one) VALUES ($1, $2, $3, $4, $5)
ON CONFLICT (source, event, other_source, other_event) DO UPDATE SET one = excluded.one;

-- name: DropVerdict :exec
DELETE FROM parted WHERE source = $1 AND event = $2 AND other_source = $3 AND other_event = $4;

-- name: VerdictsOfEvent :many
SELECT source, event, other_source, other_event, one FROM parted WHERE source = $1 AND event = $2;

-- name: VerdictsOfHazard :many
SELECT p.source, p.event, p.other_source, p.other_event, p.one FROM events e JOIN parted p ON p.source = e.source AND p.event = e.event WHERE e.hazard_id = $1;

-- name: ReleaseHeld :execrows
-- What was held for a reason that has gone.
UPDATE held SET decision = 'released', decided_ms = sqlc.arg(now_ms) WHERE source = sqlc.arg(source) AND event = sqlc.arg(event) AND part = sqlc.arg(part)
    AND decision = '' AND reason LIKE 'no place%';

-- name: ActiveEvents :many
-- The events of a source whose hazard still is active.
SELECT e.event, h.id, e.start_ms FROM events e JOIN hazards h ON h.id = e.hazard_id
WHERE e.source = $1 AND h.status = 'A' ORDER BY e.event;

-- name: ActiveParts :many
-- The messages of the events of a source whose hazard still is active.
SELECT r.event, r.part, r.version FROM events e JOIN hazards h ON h.id = e.hazard_id JOIN reports r ON r.source = e.source AND r.event = e.event
WHERE e.source = $1 AND h.status = 'A' ORDER BY r.event, r.part;

-- name: ReportsOfEvent :many
SELECT part, version, received_ms, start_ms, places, body, payload FROM reports WHERE source = $1 AND event = $2;

-- name: SaveReport :exec
-- Without a payload, the one that the report is from stays.
INSERT INTO reports (source, event, part, version, received_ms, start_ms, places, body, payload)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)
ON CONFLICT (source, event, part) DO UPDATE SET version = excluded.version, received_ms = excluded.received_ms,
    start_ms = excluded.start_ms, places = excluded.places, body = excluded.body,
    payload = CASE WHEN excluded.payload = '' THEN reports.payload ELSE excluded.payload END;

-- name: StripReport :exec
UPDATE reports SET body = $4 WHERE source = $1 AND event = $2 AND part = $3;

-- name: ForgetReport :exec
DELETE FROM reports WHERE source = $1 AND event = $2 AND part = $3;

-- name: Hold :execrows
INSERT INTO held (id, source, event, part, version, received_ms, reason, body, decision, decided_by, decided_ms)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, '', '', 0)
ON CONFLICT (source, event, part, version) DO NOTHING;

-- name: HeldReport :one
SELECT id, source, event, part, version, received_ms, reason, body, decision FROM held WHERE id = $1;

-- name: HeldDecision :one
SELECT decision FROM held WHERE source = $1 AND event = $2 AND part = $3 AND version = $4;

-- name: OpenHeld :many
SELECT id, source, event, part, version, received_ms, reason, body, decision FROM held
WHERE source = $1 AND decision = '' ORDER BY id DESC LIMIT $2;

-- name: KeptBack :many
-- What waits until something that is damaged is mended, of all sources.
SELECT id, source, event FROM held WHERE decision = '' AND reason LIKE 'damaged%' ORDER BY id;

-- name: DropHeld :execrows
DELETE FROM held WHERE id = $1 AND decision = '';

-- name: CountHeld :one
SELECT count(*) FROM held WHERE source = $1 AND decision = '';

-- name: DecideHeld :execrows
UPDATE held SET decision = $2, decided_by = $3, decided_ms = $4 WHERE id = $1 AND decision = '';

-- name: AddSourceError :exec
INSERT INTO source_errors (id, source, record, reason, first_ms, last_ms, times, raw, payload)
VALUES (sqlc.arg(id), sqlc.arg(source), sqlc.arg(record), sqlc.arg(reason), sqlc.arg(at_ms), sqlc.arg(at_ms), 1, sqlc.arg(raw), sqlc.arg(payload))
ON CONFLICT (source, record, reason) DO UPDATE SET last_ms = excluded.last_ms, times = source_errors.times + 1, payload = excluded.payload;

-- name: SourceErrors :many
SELECT id, record, reason, first_ms, last_ms, times, raw, payload FROM source_errors WHERE source = $1 ORDER BY last_ms DESC, id DESC LIMIT $2;

-- name: TrimSourceErrors :exec
DELETE FROM source_errors WHERE source_errors.source = sqlc.arg(source) AND source_errors.id NOT IN
    (SELECT e.id FROM source_errors e WHERE e.source = sqlc.arg(source) ORDER BY e.last_ms DESC, e.id DESC LIMIT sqlc.arg(keep));

-- name: SourceState :one
SELECT body FROM source_states WHERE name = $1;

-- name: SourceStates :many
SELECT name, body FROM source_states ORDER BY name;

-- name: SourceStatesEnding :many
-- The pattern is no parameter by itself: SQLite would compile the statement again for each new value.
SELECT name, body FROM source_states WHERE name LIKE '%' || CAST(sqlc.arg(ending) AS text);

-- name: SaveSourceState :exec
INSERT INTO source_states (name, body) VALUES ($1, $2) ON CONFLICT (name) DO UPDATE SET body = excluded.body;

-- name: Place :one
SELECT geojson FROM places WHERE source = $1 AND code = $2;

-- name: SavePlace :exec
INSERT INTO places (source, code, name, geojson, fetched_ms) VALUES ($1, $2, $3, $4, $5)
ON CONFLICT (source, code) DO UPDATE SET name = excluded.name, geojson = excluded.geojson, fetched_ms = excluded.fetched_ms;

-- name: TakeLease :execrows
-- Takes or renews the lease, if it is free, over, or the holder's own; or ends so late that a wrong clock must have made it.
INSERT INTO leases (name, holder, until_ms) VALUES (sqlc.arg(name), sqlc.arg(holder), sqlc.arg(until_ms))
ON CONFLICT (name) DO UPDATE SET holder = excluded.holder, until_ms = excluded.until_ms
WHERE leases.holder = excluded.holder OR leases.until_ms <= sqlc.arg(now_ms) OR leases.until_ms > sqlc.arg(believed_ms);

-- name: DropLease :exec
DELETE FROM leases WHERE name = $1 AND holder = $2;

-- name: AddMerge :exec
INSERT INTO merges (n, from_id, into_id, body) VALUES ($1, $2, $3, $4);

-- name: Merge :one
SELECT body FROM merges WHERE n = $1;

-- name: LastMerge :one
SELECT body FROM merges WHERE from_id = $1 ORDER BY n DESC LIMIT 1;

-- name: MergedInto :many
-- The hazards that were merged into one, though they may have left since.
SELECT DISTINCT from_id FROM merges WHERE into_id = $1 ORDER BY from_id;

-- name: DropMerge :exec
DELETE FROM merges WHERE n = $1;

-- name: AddSplit :exec
INSERT INTO splits (n, hazard_id, body) VALUES ($1, $2, $3);

-- name: Split :one
SELECT body FROM splits WHERE n = $1;

-- name: DropSplit :exec
DELETE FROM splits WHERE n = $1;

-- name: SetShapes :exec
UPDATE events SET shapes = $3 WHERE source = $1 AND event = $2;

-- name: HasShapes :one
SELECT EXISTS (SELECT 1 FROM shapes WHERE digest = $1);

-- name: AddShapes :exec
INSERT INTO shapes (digest, body) VALUES ($1, $2) ON CONFLICT (digest) DO NOTHING;

-- name: ShapesOf :one
SELECT body FROM shapes WHERE digest = $1;
