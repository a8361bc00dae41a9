-- The tables of hazards, products and sources. One text for SQLite and PostgreSQL: BIGINT for numbers and instants (Unix
-- milliseconds), TEXT for JSON, BYTEA for bytes (SQLite keeps a BLOB as it is under any type name).

-- Facts about this store as a whole: epoch (a random name of this history: a restored or replaced one has another).
CREATE TABLE meta (
    name  TEXT PRIMARY KEY,
    value TEXT NOT NULL
);

-- Numbers that count without holes. A transaction that takes a number keeps the row locked until it commits, so numbers
-- follow commit order, on every node, and no reader can overtake one that is still being written.
CREATE TABLE counters (
    name  TEXT PRIMARY KEY,
    value BIGINT NOT NULL
);

-- The present state of each hazard. body is the whole state; the other columns are what is searched and sorted by.
CREATE TABLE hazards (
    id             BIGINT PRIMARY KEY,
    uuid           TEXT NOT NULL UNIQUE,
    n              BIGINT NOT NULL, -- the change that made this state
    status         TEXT NOT NULL,
    type_id        TEXT NOT NULL,
    severity       BIGINT NOT NULL, -- 1 TERMINATION to 5 WARNING
    category_id    TEXT NOT NULL,
    autoexpire     BOOLEAN NOT NULL,
    start_ms       BIGINT NOT NULL,
    end_ms         BIGINT NOT NULL,
    last_update_ms BIGINT NOT NULL,
    update_ms      BIGINT NOT NULL,
    lon            DOUBLE PRECISION NOT NULL,
    lat            DOUBLE PRECISION NOT NULL,
    source         TEXT NOT NULL,
    body           TEXT NOT NULL
);
-- Serves the start of the live view and the expirer: both want the active ones only, whatever the history holds.
CREATE INDEX hazards_active ON hazards (end_ms) WHERE status = 'A';

CREATE TABLE products (
    id        BIGINT PRIMARY KEY,
    uuid      TEXT NOT NULL UNIQUE,
    hazard_id BIGINT NOT NULL,
    n         BIGINT NOT NULL,
    deleted   BOOLEAN NOT NULL,
    body      TEXT NOT NULL
);
CREATE INDEX products_of_hazard ON products (hazard_id, id);

-- The log: one row per change, for ever. body is the state after it.
CREATE TABLE changes (
    n          BIGINT PRIMARY KEY,
    at_ms      BIGINT NOT NULL,
    kind       TEXT NOT NULL,
    hazard_id  BIGINT NOT NULL,
    product_id BIGINT NOT NULL, -- 0: a change of the hazard itself
    actor      TEXT NOT NULL,
    addr       TEXT NOT NULL, -- where the actor wrote from, for the auditor
    source     TEXT NOT NULL,
    body       TEXT NOT NULL
);
CREATE INDEX changes_of_hazard ON changes (hazard_id, n);
CREATE INDEX changes_of_product ON changes (product_id, n) WHERE product_id > 0;
CREATE INDEX product_changes_of_hazard ON changes (hazard_id, n) WHERE product_id > 0;

-- Geometries by the SHA-256 of their text; states of hazards name them.
CREATE TABLE geometries (
    digest  TEXT PRIMARY KEY,
    geojson TEXT NOT NULL
);

-- Every name under which a source knows an event.
CREATE TABLE event_keys (
    source TEXT NOT NULL,
    key    TEXT NOT NULL,
    event  TEXT NOT NULL, -- the key that the event was first known by
    PRIMARY KEY (source, key)
);

-- The events of the sources, the hazard that each is part of, and what events of other sources are compared with.
CREATE TABLE events (
    source    TEXT NOT NULL,
    event     TEXT NOT NULL,
    hazard_id BIGINT NOT NULL,
    type_id   TEXT NOT NULL,
    start_ms  BIGINT NOT NULL,
    end_ms    BIGINT NOT NULL,
    placed    BOOLEAN NOT NULL, -- whether lon and lat are known
    lon       DOUBLE PRECISION NOT NULL,
    lat       DOUBLE PRECISION NOT NULL,
    called    TEXT NOT NULL, -- its proper name
    joined    TEXT NOT NULL, -- why it is part of that hazard; empty: it made it
    PRIMARY KEY (source, event)
);
CREATE INDEX events_of_hazard ON events (hazard_id);
CREATE INDEX events_by_time ON events (type_id, start_ms);

-- What others call an event ("gdacs:EQ1559738"): two events with one of these in common are one.
CREATE TABLE event_refs (
    ref    TEXT NOT NULL,
    source TEXT NOT NULL,
    event  TEXT NOT NULL,
    PRIMARY KEY (ref, source, event)
);

-- Pairs of events that an editor has found to be two, and that no rule makes one again. Each pair stands in both orders.
CREATE TABLE parted (
    source       TEXT NOT NULL,
    event        TEXT NOT NULL,
    other_source TEXT NOT NULL,
    other_event  TEXT NOT NULL,
    PRIMARY KEY (source, event, other_source, other_event)
);

-- What a source said last in each part of an event. A part that no longer speaks for any place keeps its row, without
-- its body: it still knows what it spoke for, so that it is recognised as old when it comes again.
CREATE TABLE reports (
    source      TEXT NOT NULL,
    event       TEXT NOT NULL,
    part        TEXT NOT NULL,
    version     BIGINT NOT NULL,
    received_ms BIGINT NOT NULL,
    start_ms    BIGINT NOT NULL,
    places      TEXT NOT NULL, -- codes, by blanks
    body        TEXT NOT NULL,
    PRIMARY KEY (source, event, part)
);

-- Reports that are not believed until an editor has looked.
CREATE TABLE held (
    id          BIGINT PRIMARY KEY,
    source      TEXT NOT NULL,
    event       TEXT NOT NULL,
    part        TEXT NOT NULL,
    version     BIGINT NOT NULL,
    received_ms BIGINT NOT NULL,
    reason      TEXT NOT NULL,
    body        TEXT NOT NULL,
    decision    TEXT NOT NULL, -- '' open, 'released', 'dismissed'
    decided_by  TEXT NOT NULL,
    decided_ms  BIGINT NOT NULL,
    UNIQUE (source, event, part, version)
);

-- Payloads and records that could not be read, each kind once, the newest kept.
CREATE TABLE source_errors (
    id       BIGINT PRIMARY KEY,
    source   TEXT NOT NULL,
    record   TEXT NOT NULL,
    reason   TEXT NOT NULL,
    first_ms BIGINT NOT NULL,
    last_ms  BIGINT NOT NULL,
    times    BIGINT NOT NULL,
    raw      BYTEA NOT NULL,
    UNIQUE (source, record, reason)
);

-- The state of each source as its poller left it.
CREATE TABLE source_states (
    name TEXT PRIMARY KEY,
    body TEXT NOT NULL
);

-- Shapes of places that alerts only name (zones), fetched once.
CREATE TABLE places (
    source     TEXT NOT NULL,
    code       TEXT NOT NULL,
    name       TEXT NOT NULL,
    geojson    TEXT NOT NULL,
    fetched_ms BIGINT NOT NULL,
    PRIMARY KEY (source, code)
);

-- Who does what only one process may do at a time.
CREATE TABLE leases (
    name     TEXT PRIMARY KEY,
    holder   TEXT NOT NULL,
    until_ms BIGINT NOT NULL
);

INSERT INTO counters (name, value) VALUES
    ('change', 0), ('hazard', 0), ('product', 0), ('held', 0), ('source_error', 0), ('organization', 0), ('auth', 0);
