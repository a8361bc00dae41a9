-- What searches and reads of an earlier moment look up. What is found by word and by place differs from database to
-- database: see the file of this name in the folder of each.

CREATE INDEX changes_by_time ON changes (at_ms, n);

-- searchable counts the changes that searches know: what is above it was written by a program that did not know them.
INSERT INTO counters (name, value) VALUES ('searchable', 0);
