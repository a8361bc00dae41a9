-- FTS5 keeps which words a hazard has, not where in its texts: a fifth of the room. Programs before schema 21 ask it for phrases.
DROP TABLE hazard_words;
CREATE VIRTUAL TABLE hazard_words USING fts5(name, description, content='', contentless_delete=1, tokenize='ascii', detail=none);
