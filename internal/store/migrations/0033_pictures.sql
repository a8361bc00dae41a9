-- Pictures that products of sources name, as fetched: see package picture. No backup holds them, as they can be fetched again.
CREATE TABLE pictures (
    product_id BIGINT PRIMARY KEY,
    version    BIGINT NOT NULL, -- of the product's state that the address is from
    source     TEXT NOT NULL,
    address    TEXT NOT NULL,
    digest     TEXT NOT NULL,   -- SHA-256 of the file; empty: nothing could be fetched yet
    life       BIGINT NOT NULL, -- with digest, the name under which it is kept, which is used once
    bytes      BIGINT NOT NULL,
    media_type TEXT NOT NULL,
    fetched_ms BIGINT NOT NULL,
    failures   BIGINT NOT NULL, -- in a row
    error      TEXT NOT NULL,   -- of the last
    next_ms    BIGINT NOT NULL  -- before which the address is not asked again
);
