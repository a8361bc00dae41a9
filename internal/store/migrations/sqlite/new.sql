-- FTS5 keeps which words a hazard has, not where in its texts: a fifth of the room. Programs before schema 21 ask it for phrases.
DROP TABLE hazard_words;
CREATE VIRTUAL TABLE hazard_words USING fts5(name, description, content='', contentless_delete=1, tokenize='ascii', detail=none);
-- Since schema 31 places are found in the tree of boxes, too. Programs before it ask for this one, which the triggers fill.
DROP TRIGGER IF EXISTS searchable_placed;
DROP TRIGGER IF EXISTS searchable_moved;
DROP TRIGGER IF EXISTS searchable_gone;
DROP TABLE IF EXISTS hazard_places;
