-- The cell that the southwest corner of a hazard's box lies in, and the corner itself in hundredths of a degree, counted from 180° west and from the
-- south pole. Millions 1 to 4 are of boxes up to 12, 3 and 1 degrees each way, and of points, in cells of 12, 6, 3 and 3 degrees; thousands count
-- cells northwards, ones eastwards. Wider boxes and those across the antimeridian have millions 5 if they are no higher than 12 degrees, else 0.
ALTER TABLE searchable ADD COLUMN x INTEGER AS (CAST((west + 180) * 100 AS INTEGER)) VIRTUAL;
ALTER TABLE searchable ADD COLUMN y INTEGER AS (CAST((south + 90) * 100 AS INTEGER)) VIRTUAL;
ALTER TABLE searchable ADD COLUMN cell INTEGER AS (CASE
    WHEN NOT (west >= -180 AND west <= 180 AND east >= -180 AND east <= 180 AND south >= -90 AND south <= north AND north <= 100) OR north - south > 12 THEN 0
    WHEN west > east OR east - west > 12 THEN 5000000 + CAST((south + 90) * 100 AS INTEGER) / 1200 * 1000
    WHEN east - west > 3 OR north - south > 3 THEN 1000000 + CAST((south + 90) * 100 AS INTEGER) / 1200 * 1000 + CAST((west + 180) * 100 AS INTEGER) / 1200
    WHEN east - west > 1 OR north - south > 1 THEN 2000000 + CAST((south + 90) * 100 AS INTEGER) / 600 * 1000 + CAST((west + 180) * 100 AS INTEGER) / 600
    WHEN east > west OR north > south THEN 3000000 + CAST((south + 90) * 100 AS INTEGER) / 300 * 1000 + CAST((west + 180) * 100 AS INTEGER) / 300
    ELSE 4000000 + CAST((south + 90) * 100 AS INTEGER) / 300 * 1000 + CAST((west + 180) * 100 AS INTEGER) / 300 END) VIRTUAL;

-- While a hazard is active, what is written of it changes neither of these.
CREATE INDEX searchable_by_cell ON searchable (type_id, cell, severity, last_update_ms, x, y) WHERE NOT active;
CREATE INDEX searchable_active_by_cell ON searchable (cell, x, y) WHERE active;
