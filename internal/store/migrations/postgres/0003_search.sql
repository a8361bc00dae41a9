CREATE TABLE searchable (
    id             BIGINT PRIMARY KEY,
    n              BIGINT NOT NULL,
    made_ms        BIGINT NOT NULL, -- when it was written first
    changed_ms     BIGINT NOT NULL, -- and last: from then on the present state holds
    active         BOOLEAN NOT NULL,
    autoexpire     BOOLEAN NOT NULL,
    type_id        TEXT COLLATE "C" NOT NULL,
    severity       BIGINT NOT NULL,
    category_id    TEXT COLLATE "C" NOT NULL,
    source         TEXT COLLATE "C" NOT NULL,
    start_ms       BIGINT NOT NULL,
    end_ms         BIGINT NOT NULL,
    last_update_ms BIGINT NOT NULL,
    areas          BOOLEAN NOT NULL, -- whether it has areas: else the box is the point
    west DOUBLE PRECISION NOT NULL, south DOUBLE PRECISION NOT NULL, east DOUBLE PRECISION NOT NULL, north DOUBLE PRECISION NOT NULL,
    -- What the columns above say, once more as types that GiST knows. A box that crosses the antimeridian is in two halves. While a hazard is
    -- active its life and its writing have no end, so that updates need not touch these.
    bounds  BOX NOT NULL,
    bounds2 BOX,
    life    INT8RANGE NOT NULL, -- from start to end
    written INT8RANGE NOT NULL  -- from when to when it was written
) WITH (fillfactor = 80);
CREATE INDEX searchable_by_type ON searchable (type_id, severity DESC, last_update_ms DESC, id);
CREATE INDEX searchable_by_severity ON searchable (severity DESC, last_update_ms DESC, id);
CREATE INDEX searchable_by_update ON searchable (last_update_ms, id);
CREATE INDEX searchable_by_start ON searchable (start_ms, id);
CREATE INDEX searchable_by_end ON searchable (end_ms, id);
CREATE INDEX searchable_by_category ON searchable (category_id);
CREATE INDEX searchable_by_source ON searchable (source);
CREATE INDEX searchable_active ON searchable (id) WHERE active;
CREATE INDEX searchable_by_place ON searchable USING gist (bounds, life);
CREATE INDEX searchable_by_place2 ON searchable USING gist (bounds2, life) WHERE bounds2 IS NOT NULL;
CREATE INDEX searchable_by_writing ON searchable USING gist (written);

-- The words of names and descriptions, as package search has them, each once.
CREATE TABLE hazard_words (
    id    BIGINT PRIMARY KEY,
    words TSVECTOR NOT NULL
);
CREATE INDEX hazard_words_by_word ON hazard_words USING gin (words);
