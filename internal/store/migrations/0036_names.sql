-- The names of hazards in lower case, by which the tables of searches leave out those that a filter on names does not find. named counts the
-- changes that these names are of: while it is not the last change, names are read from the states. In a store that has hazards it begins at 0,
-- and they are written while the store is used.
INSERT INTO counters (name, value) VALUES ('named', 0);
