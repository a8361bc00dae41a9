-- From this schema on a new SQLite file keeps a checksum behind each page (package pagesum); oldest_schema of such a file says so. Files
-- of earlier releases, and PostgreSQL, stay as they are.
SELECT 1;
