package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"runtime"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"hazardd/internal/hazard"
)

// Everything that holds for SQLite alone is in this file, and what searches need of it in sqlite_search.go.

// openSQLite opens the file at path, or the one that the URL name says, and returns one writing and several reading
// connections. A write transaction takes the write lock at its beginning (immediate), so that it never fails half way
// because another process wrote meanwhile; it waits for others up to writeTimeout.
func openSQLite(ctx context.Context, path, name string) (write, read *sql.DB, err error) {
	synchronous := "full"
	if name != "" {
		rest, ok := strings.CutPrefix(name, "sqlite:")
		if !ok {
			return nil, nil, fmt.Errorf("database: %q is not a SQLite database (sqlite:PATH); PostgreSQL is not supported yet", redactURL(name))
		}
		file, query, _ := strings.Cut(rest, "?")
		values, err := url.ParseQuery(query)
		if err != nil {
			return nil, nil, fmt.Errorf("database: parameters of %q: %w", name, err)
		}
		if file != "" {
			path = file
		}
		if v := values.Get("synchronous"); v != "" {
			synchronous = v
		}
		if !slices.Contains([]string{"full", "normal", "off"}, synchronous) {
			return nil, nil, fmt.Errorf("database: synchronous=%q is none of full, normal, off", synchronous)
		}
	}
	pragmas := url.Values{"_pragma": {
		fmt.Sprintf("busy_timeout(%d)", writeTimeout.Milliseconds()), // first: the others may have to wait
		"journal_mode(WAL)",
		"synchronous(" + synchronous + ")",
		"foreign_keys(1)",
		"cell_size_check(1)", // a page whose structure is damaged is an error; a turned bit inside a text is not seen
	}}
	dsn := func(more url.Values) string {
		for k, v := range pragmas {
			more[k] = append(more[k], v...)
		}
		return (&url.URL{Scheme: "file", OmitHost: true, Path: path, RawQuery: more.Encode()}).String()
	}
	if write, err = sql.Open("sqlite", dsn(url.Values{"_txlock": {"immediate"}})); err != nil {
		return nil, nil, err
	}
	write.SetMaxOpenConns(1)
	// The file, and its mode WAL, must be there before a connection that only reads may open it.
	if err := write.PingContext(ctx); err != nil {
		return nil, nil, errors.Join(fmt.Errorf("open %s: %w", path, storeError(err)), write.Close())
	}
	// Each reader keeps 12 MB of pages: a search goes twice through the same nodes of trees, to count and to read.
	if read, err = sql.Open("sqlite", dsn(url.Values{"_pragma": {"query_only(1)", "cache_size(-12000)"}})); err != nil {
		return nil, nil, errors.Join(err, write.Close())
	}
	read.SetMaxOpenConns(4 * runtime.GOMAXPROCS(0))
	read.SetMaxIdleConns(4 * runtime.GOMAXPROCS(0))
	return write, read, nil
}

// redactURL hides a password in a database URL.
func redactURL(s string) string {
	u, err := url.Parse(s)
	if err != nil {
		return "(not a URL)"
	}
	return u.Redacted()
}

// storeError gives the store's failures their kinds.
func storeError(err error) error {
	if err == nil || errors.Is(err, hazard.ErrUnavailable) || errors.Is(err, hazard.ErrFull) {
		return err
	}
	if failure, ok := errors.AsType[*sqlite.Error](err); ok {
		switch failure.Code() & 0xff { // the primary result code
		case sqlite3.SQLITE_FULL:
			return fmt.Errorf("%w: %w", hazard.ErrFull, err)
		case sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_CORRUPT,
			sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_NOMEM:
			return fmt.Errorf("%w: %w", hazard.ErrUnavailable, err)
		}
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("%w: %w", hazard.ErrUnavailable, err)
	}
	return err
}

// knownKeys tells which of keys are known to a source.
func knownKeys(ctx context.Context, tx *sql.Tx, source string, keys []string) (map[string]bool, error) {
	return known(ctx, tx, `SELECT k.key FROM event_keys k JOIN events e ON e.source = k.source AND e.event = k.event
		WHERE k.key IN (SELECT value FROM json_each($1)) AND k.source = $2`, keys, source)
}

// knownRefs tells which of refs some source gave to an event.
func knownRefs(ctx context.Context, tx *sql.Tx, refs []string) (map[string]bool, error) {
	return known(ctx, tx, `SELECT DISTINCT ref FROM event_refs WHERE ref IN (SELECT value FROM json_each($1))`, refs)
}

// known asks which of names a query finds. They go over as one JSON array: a list of parameters would have to be prepared anew for each
// length.
func known(ctx context.Context, tx *sql.Tx, query string, names []string, more ...any) (map[string]bool, error) {
	found := map[string]bool{}
	if len(names) == 0 {
		return found, nil
	}
	list, err := json.Marshal(names)
	if err != nil {
		return nil, err
	}
	rows, err := tx.QueryContext(ctx, query, append([]any{string(list)}, more...)...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var name string
		if err := rows.Scan(&name); err != nil {
			return nil, err
		}
		found[name] = true
	}
	return found, rows.Err()
}
