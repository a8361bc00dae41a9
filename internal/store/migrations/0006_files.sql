-- What the sweep of product files knows: see files.go.

-- Contents by SHA-256. One without a row is in its first life, and no state of a product is known to name it.
CREATE TABLE contents (
    digest TEXT PRIMARY KEY,
    life   BIGINT NOT NULL, -- how often it was removed: part of the name under which it is kept now
    named  BOOLEAN NOT NULL -- a state in the log names it; it stays for good, as the log does
);

-- Up to which change the log was searched for such states.
CREATE TABLE contents_named (n BIGINT NOT NULL);
INSERT INTO contents_named (n) VALUES (0);
