-- PostgreSQL finds of which types the hazards with a value are, as SQLite does since schema 24.
SELECT 1;
