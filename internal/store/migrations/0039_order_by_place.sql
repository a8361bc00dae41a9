-- SQLite reads a type along the standard order without the rows that lie elsewhere.
SELECT 1;
