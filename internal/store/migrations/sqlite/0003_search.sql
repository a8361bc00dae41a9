-- What is sorted and filtered by, in rows so narrow that a scan of a million is bearable. The box is that of the areas, or the point; one
-- north of the pole is of a hazard without a place.
CREATE TABLE searchable (
    id             INTEGER PRIMARY KEY,
    n              INTEGER NOT NULL,
    made_ms        INTEGER NOT NULL, -- when it was written first
    changed_ms     INTEGER NOT NULL, -- and last: from then on the present state holds
    active         INTEGER NOT NULL,
    autoexpire     INTEGER NOT NULL,
    type_id        TEXT NOT NULL,
    severity       INTEGER NOT NULL,
    category_id    TEXT NOT NULL,
    source         TEXT NOT NULL,
    start_ms       INTEGER NOT NULL,
    end_ms         INTEGER NOT NULL,
    last_update_ms INTEGER NOT NULL,
    areas          INTEGER NOT NULL, -- whether it has areas: else the box is the point
    west REAL NOT NULL, south REAL NOT NULL, east REAL NOT NULL, north REAL NOT NULL
);
CREATE INDEX searchable_by_type ON searchable (type_id, severity DESC, last_update_ms DESC, id);
CREATE INDEX searchable_by_update ON searchable (last_update_ms, id);
CREATE INDEX searchable_by_start ON searchable (start_ms, id);
CREATE INDEX searchable_by_end ON searchable (end_ms, id);
CREATE INDEX searchable_by_category ON searchable (category_id);
CREATE INDEX searchable_by_source ON searchable (source);
CREATE INDEX searchable_active ON searchable (id) WHERE active;

-- Where, when and what: rid is twice the hazard's number, and one more for the eastern half of a box that crosses the antimeridian. Numbers
-- are kept in 32 bits and rounded outward, so that what is found is a little too much, never too little. While a hazard is active, until is for
-- ever: its updates need not touch this tree. kind is a hash of the type, which others may share. Units are such that none outweighs the others
-- where the tree parts its nodes: degrees, five days, and kinds up to 60.
CREATE VIRTUAL TABLE hazard_boxes USING rtree(rid, west, east, south, north, since, until, kind, kind_too);

-- From when to when a hazard was written, in days; while it is active, for ever.
CREATE VIRTUAL TABLE hazard_writes USING rtree(id, made, changed);

-- The words of names and descriptions, as package search has them: the tokenizer only parts them at blanks.
CREATE VIRTUAL TABLE hazard_words USING fts5(name, description, content='', contentless_delete=1, tokenize='ascii');
