-- What was measured of hazards, by which they are found and sorted: their present values, in the units of the quantities. Derived, as searchable is.
CREATE TABLE hazard_values (
    hazard_id BIGINT NOT NULL,
    quantity  TEXT COLLATE "C" NOT NULL,
    type_id   TEXT COLLATE "C" NOT NULL, -- of the hazard: most quantities are of few types
    value     DOUBLE PRECISION NOT NULL,
    PRIMARY KEY (hazard_id, quantity)
);
CREATE INDEX hazard_values_by_value ON hazard_values (quantity, value, hazard_id) INCLUDE (type_id);

-- The states are read as text: one may hold what jsonb refuses.
INSERT INTO hazard_values SELECT h.id, m[1], h.type_id, m[2]::double precision
FROM hazards h JOIN changes c ON c.n = h.n
    CROSS JOIN regexp_matches(substring(c.body from '"measurements":\[[^]]*\]'), '"name":"([a-z0-9_]+)","value":(-?[0-9.]+(?:[eE][-+]?[0-9]+)?)', 'g') m
WHERE c.body LIKE '%"measurements":[%';
