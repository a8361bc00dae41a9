-- Places that organizations keep an eye on. What one has loaded is a set: it is written in pieces, and shown once all of it is there.
CREATE TABLE asset_sets (
    id        BIGINT PRIMARY KEY,
    org_id    BIGINT NOT NULL,
    state     TEXT NOT NULL,   -- 'loading', 'current', or 'old': to be removed
    count     BIGINT NOT NULL, -- assets that it has so far
    areas     BIGINT NOT NULL, -- of them
    west      DOUBLE PRECISION NOT NULL,
    south     DOUBLE PRECISION NOT NULL,
    east      DOUBLE PRECISION NOT NULL,
    north     DOUBLE PRECISION NOT NULL,
    loaded_ms BIGINT NOT NULL,
    loaded_by TEXT NOT NULL
);
CREATE UNIQUE INDEX asset_sets_current ON asset_sets (org_id) WHERE state = 'current';

CREATE TABLE assets (
    set_id BIGINT NOT NULL,
    n      BIGINT NOT NULL, -- from 1, as in the file
    id     TEXT NOT NULL,   -- as the organization gives it
    name   TEXT NOT NULL,
    kind   TEXT NOT NULL,
    cell   BIGINT NOT NULL, -- of half a degree that it lies in; -1: in more than one
    west   DOUBLE PRECISION NOT NULL,
    south  DOUBLE PRECISION NOT NULL,
    east   DOUBLE PRECISION NOT NULL,
    north  DOUBLE PRECISION NOT NULL,
    area   TEXT NOT NULL,   -- GeoJSON; empty: it is a point
    PRIMARY KEY (set_id, n)
);
CREATE INDEX assets_by_cell ON assets (set_id, cell);
