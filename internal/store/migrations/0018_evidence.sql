-- What sources gave, as received, for a set time: see package evidence. No backup holds it.

-- Contents by the SHA-256 of what was received.
CREATE TABLE payloads (
    sha256  TEXT PRIMARY KEY,
    file    TEXT NOT NULL,   -- SHA-256 of what is kept: the content, compressed
    life    BIGINT NOT NULL, -- with file, the name under which it is kept, which is used once
    bytes   BIGINT NOT NULL, -- as received
    kept    BIGINT NOT NULL, -- bytes that are kept
    last_ms BIGINT NOT NULL  -- when it came last
);
CREATE INDEX payloads_last ON payloads (last_ms);

-- What was done with them, in order.
CREATE TABLE receipts (
    id       BIGINT PRIMARY KEY,
    source   TEXT NOT NULL,
    kind     TEXT NOT NULL,
    feed     TEXT NOT NULL,   -- digest of the address of the feed; empty: not one of a feed
    address  TEXT NOT NULL,   -- without what may be secret
    subject  TEXT NOT NULL,   -- the event or the place that it is about, if it is about one
    payload  TEXT NOT NULL,   -- payloads.sha256; empty: there was none
    read_ms  BIGINT NOT NULL, -- the moment that the parser was told
    taken_ms BIGINT NOT NULL, -- when it was taken in
    kept_ms  BIGINT NOT NULL, -- when this was written
    again    BOOLEAN NOT NULL, -- its events were taken together anew
    cut      TEXT NOT NULL,   -- why its end is missing; empty: it is not
    error    TEXT NOT NULL    -- why it could not be used, or not whole
);
CREATE INDEX receipts_kept ON receipts (kept_ms);
CREATE INDEX receipts_payload ON receipts (payload, id);
CREATE INDEX payloads_file ON payloads (file);

-- The payload that a report, or an error, is from. A release before this column leaves it as it is.
ALTER TABLE reports ADD COLUMN payload TEXT NOT NULL DEFAULT '';
ALTER TABLE source_errors ADD COLUMN payload TEXT NOT NULL DEFAULT '';
