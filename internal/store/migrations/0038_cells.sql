-- SQLite finds hazards that have ended by type and place without the tree of boxes, which parts its nodes by time as well.
SELECT 1;
