-- What was measured of hazards, by which they are found and sorted: their present values, in the units of the quantities. Derived, as searchable is.
-- type_id is that of the hazard: most quantities are of few types.
CREATE TABLE hazard_values (
    hazard_id INTEGER NOT NULL,
    quantity  TEXT NOT NULL,
    type_id   TEXT NOT NULL,
    value     REAL NOT NULL,
    PRIMARY KEY (hazard_id, quantity)
) WITHOUT ROWID;
CREATE INDEX hazard_values_by_type ON hazard_values (quantity, type_id, value, hazard_id);

INSERT INTO hazard_values SELECT h.id, m.value ->> 'name', h.type_id, m.value ->> 'value'
FROM hazards h JOIN changes c ON c.n = h.n JOIN json_each(c.body, '$.measurements') m WHERE c.body LIKE '%"measurements":[%';
