-- The tree of boxes tells when a hazard that has ended was last updated, so that the first of a list are found without the rows of the others: while it
-- is active that is for ever, and zeros are of a program before this schema. And each box reaches a little along its kind. One without any width has no
-- volume, and grows by none whatever is added: hazards of all places and times went into the first node of their kind.
CREATE VIRTUAL TABLE hazard_boxes_anew USING rtree(rid, west, east, south, north, since, until, kind, kind_too, updated, updated_too);

INSERT INTO hazard_boxes_anew SELECT b.rid, b.west, b.east, b.south, b.north, b.since, b.until, b.kind, b.kind + 60.0 / 2097152,
        iif(s.active, 8000.0, min(max(s.last_update_ms / 86400000.0, -40000.0), 40000.0) / 5), iif(s.active, 8000.0, min(max(s.last_update_ms / 86400000.0, -40000.0), 40000.0) / 5)
    FROM searchable s CROSS JOIN hazard_boxes b ON b.rid = 2 * s.id;
INSERT INTO hazard_boxes_anew SELECT b.rid, b.west, b.east, b.south, b.north, b.since, b.until, b.kind, b.kind + 60.0 / 2097152,
        iif(s.active, 8000.0, min(max(s.last_update_ms / 86400000.0, -40000.0), 40000.0) / 5), iif(s.active, 8000.0, min(max(s.last_update_ms / 86400000.0, -40000.0), 40000.0) / 5)
    FROM searchable s CROSS JOIN hazard_boxes b ON b.rid = 2 * s.id + 1 WHERE s.west > s.east;

DROP TABLE hazard_boxes;
ALTER TABLE hazard_boxes_anew RENAME TO hazard_boxes;
