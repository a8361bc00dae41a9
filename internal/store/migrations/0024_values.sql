-- found counts the changes that all tables know by which hazards are found, hazard_values among them. Programs of earlier schemas go on with searchable
-- alone: what they write is made up for when a program of this schema opens the store.
INSERT INTO counters (name, value) SELECT 'found', value FROM counters WHERE name = 'searchable';
