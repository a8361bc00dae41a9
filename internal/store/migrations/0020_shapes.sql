-- What cones, tracks, wind radii, contours and perimeters there are of hazards: all of one document of a source together, by the
-- SHA-256 of their text, compressed (zstd). Written once, before the transaction that names it, and never altered.
CREATE TABLE shapes (
    digest TEXT PRIMARY KEY,
    body   BYTEA NOT NULL
);

-- Which of them are an event's: a JSON array of part, version and digest; empty: none.
ALTER TABLE events ADD COLUMN shapes TEXT NOT NULL DEFAULT '';
