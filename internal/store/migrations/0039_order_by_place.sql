-- SQLite reads a type in the standard order without the rows of other places.
SELECT 1;
