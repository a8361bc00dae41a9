package store

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"runtime"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/store/find"
	"github.com/hazardd/hazardd/internal/store/postgres/pipeline"
	"github.com/hazardd/hazardd/internal/store/sqlc"
)

// Everything specific to PostgreSQL is in this file.

// The numbers of connections per node. One connection writes, because there is one writer at a time
// in the whole cluster. With more, the write lock could pass between several connections of a node
// that was cut off, and other nodes would wait idleWriter for each. Of the connections for the last
// change, one follows the log and one probes the database.
const (
	writers    = 1
	probeConns = 2
)

func readers() int { return 4 * runtime.GOMAXPROCS(0) }

// Timeouts for a database that does not respond.
const (
	connectTime = 3 * time.Second  // per host
	deadPeer    = 10 * time.Second // closes a connection whose peer accepts no data, on both sides
	// idleWriter is how long a transaction may be idle: a node that is stopped or cut off during a
	// write blocks all other writers. Its statements normally follow each other within
	// milliseconds.
	idleWriter = 3 * time.Second
	// lockTime is how long a writer waits for writers of other nodes.
	lockTime = 5 * time.Second
)

// postgres implements database for PostgreSQL.
type postgres struct {
	config *pgx.ConnConfig
	// The timeline of the connections, and that of the store; see history.
	seen, on atomic.Pointer[timeline]
}

// openPostgres opens the database of a URL in the form of libpq. If it names several hosts, the
// writable one is used. dial may be nil.
func openPostgres(ctx context.Context, name string, dial pgconn.DialFunc) (p *postgres, write, read, probes *sql.DB, err error) {
	config, err := pgx.ParseConfig(name)
	if err != nil {
		return nil, nil, nil, nil, fmt.Errorf("database: %w", err) // without the password
	}
	if config.ConnectTimeout == 0 {
		config.ConnectTimeout = connectTime
	}
	if config.ValidateConnect == nil {
		config.ValidateConnect = pgconn.ValidateConnectTargetSessionAttrsReadWrite
	}
	for setting, value := range map[string]string{
		"application_name":                    "hazardd",
		"idle_in_transaction_session_timeout": strconv.FormatInt(idleWriter.Milliseconds(), 10),
		"max_parallel_workers_per_gather":     "0", // to start them costs more than a search
		"lock_timeout":                        strconv.FormatInt(lockTime.Milliseconds(), 10),
		"tcp_keepalives_idle":                 "5",
		"tcp_keepalives_interval":             "2",
		"tcp_keepalives_count":                "3",
		"tcp_user_timeout":                    strconv.FormatInt(deadPeer.Milliseconds(), 10),
	} {
		if _, set := config.RuntimeParams[setting]; !set {
			config.RuntimeParams[setting] = value
		}
	}
	if config.DialFunc = dial; dial == nil {
		config.DialFunc = (&net.Dialer{
			KeepAliveConfig: net.KeepAliveConfig{Enable: true, Idle: 5 * time.Second, Interval: 2 * time.Second, Count: 3},
			Control:         giveUpDeadPeers,
		}).DialContext
	}
	p = &postgres{config: config}
	connector := stdlib.GetConnector(*config, stdlib.OptionAfterConnect(p.connected), stdlib.OptionResetSession(p.usable), stdlib.OptionShouldPing(broken))
	open := func(c driver.Connector, conns int) *sql.DB {
		d := sql.OpenDB(c)
		d.SetMaxOpenConns(conns)
		d.SetMaxIdleConns(conns)
		d.SetConnMaxIdleTime(5 * time.Minute)
		return d
	}
	write, read, probes = open(pipeline.Connector{Connector: connector, Idle: idleWriter}, writers), open(connector, readers()), open(connector, probeConns)
	if err := p.suits(ctx, write); err != nil {
		return nil, nil, nil, nil, errors.Join(err, write.Close(), read.Close(), probes.Close())
	}
	return p, write, read, probes, nil
}

// broken reports whether an idle connection may have been closed by the server, so that it needs a
// ping. A connection that was cut silently is detected after deadPeer. A ping each time would cost
// each single write a round trip.
func broken(_ context.Context, c stdlib.ShouldPingParams) bool {
	//lint:ignore SA1019 deprecated in favor of the ping, which costs a round trip
	return c.IdleDuration > time.Second && c.Conn.PgConn().CheckConn() != nil
}

// suits returns an error if the database cannot hold a store.
func (p *postgres) suits(ctx context.Context, d *sql.DB) error {
	var version int
	var encoding string
	err := d.QueryRowContext(ctx, `SELECT current_setting('server_version_num')::int, current_setting('server_encoding')`).Scan(&version, &encoding)
	switch {
	case err != nil:
		return fmt.Errorf("open the database: %w", storeError(err))
	case version < 15_00_00:
		return fmt.Errorf("the database is PostgreSQL %d, at least 15 is needed", version/10_000)
	case encoding != "UTF8":
		return fmt.Errorf("the database's encoding is %s, UTF8 is needed: CREATE DATABASE … ENCODING 'UTF8' TEMPLATE template0", encoding)
	}
	return nil
}

// timeline identifies a history of PostgreSQL: a standby that takes over begins a new timeline of
// the same system.
type timeline struct {
	system string
	number uint64
	// table identifies the table of the log: where a dump was loaded, it is another one. Empty: there is
	// none yet.
	table string
}

// left reports whether the store, which is on another timeline, has left t. on is nil if the store
// is on none yet.
func (t timeline) left(on *timeline) bool {
	return on != nil && on.system == t.system && t.number < on.number
}

func (t timeline) String() string { return fmt.Sprintf("%s/%08X", t.system, t.number) }

const timelineOf = `SELECT (SELECT system_identifier::text FROM pg_control_system()), substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8),
	coalesce(to_regclass('changes')::oid::text, '')`

func scanTimeline(scan func(...any) error) (t timeline, err error) {
	var hex string
	if err := scan(&t.system, &hex, &t.table); err != nil {
		return t, err
	}
	t.number, err = strconv.ParseUint(hex, 16, 32)
	return t, err
}

const timelineKey = "timeline"

// connected checks the timeline of a new connection. It refuses one that the store has left: an old
// primary that does not know that a standby took over.
func (p *postgres) connected(ctx context.Context, c *pgx.Conn) error {
	t, err := scanTimeline(c.QueryRow(ctx, timelineOf).Scan)
	if err != nil {
		return fmt.Errorf("the server's timeline: %w", err)
	}
	if on := p.on.Load(); t.left(on) {
		return fmt.Errorf("the server is on timeline %d, which another server has left for %d", t.number, on.number)
	}
	c.PgConn().CustomData()[timelineKey] = t
	p.seen.Store(&t)
	return nil
}

// usable refuses a connection to a server that has become a standby, or that was replaced.
func (p *postgres) usable(_ context.Context, c *pgx.Conn) error {
	t, ok := c.PgConn().CustomData()[timelineKey].(timeline)
	if c.PgConn().ParameterStatus("in_hot_standby") == "on" || ok && t.left(p.on.Load()) {
		return driver.ErrBadConn
	}
	return nil
}

func (p *postgres) settled() bool {
	seen, on := p.seen.Load(), p.on.Load()
	return seen != nil && on != nil && *seen == *on
}

func (p *postgres) history(ctx context.Context, tx *sql.Tx) (timeline, error) {
	return scanTimeline(tx.QueryRowContext(ctx, timelineOf).Scan)
}

func (p *postgres) settle(t timeline) { p.on.Store(&t); p.seen.Store(&t) }

// spoils: an index that is damaged there fails the whole transaction.
func (*postgres) spoils(error) bool { return false }

func (*postgres) tree(error) bool { return false }

func (*postgres) tables() find.Tables { return find.Postgres{} }

func (*postgres) name() string { return "postgres" }

// migration orders texts by their bytes, as SQLite does. That order is the same on every machine.
func (*postgres) migration(text string) string {
	return strings.NewReplacer(" TEXT ", ` TEXT COLLATE "C" `, " TEXT,", ` TEXT COLLATE "C",`).Replace(text)
}

// writing is the key of the advisory lock for writers: the letters "hazardd" as a number.
const writing = 0x68617a61726464

// alone waits for the lock. So everything that a transaction has read stays true until it ends, on
// all nodes, as with SQLite; and numbers follow the order of commits.
func (*postgres) alone(ctx context.Context, tx *sql.Tx) error {
	_, err := tx.ExecContext(ctx, `SELECT pg_advisory_xact_lock($1)`, int64(writing))
	return err
}

// awaited looks for others who wait for that lock. A key of 64 bits is shown in two halves.
func (*postgres) awaited(ctx context.Context, tx *sql.Tx) (waits bool, err error) {
	err = tx.QueryRowContext(ctx, `SELECT EXISTS (SELECT 1 FROM pg_locks WHERE locktype = 'advisory' AND NOT granted AND objsubid = 1
		AND classid = $1 AND objid = $2 AND database = (SELECT oid FROM pg_database WHERE datname = current_database()))`,
		int64(writing>>32), int64(writing&math.MaxUint32)).Scan(&waits)
	return waits, err
}

// quiet waits for the shared lock and holds it for one statement.
func (*postgres) quiet(ctx context.Context, s *Store) error {
	_, err := s.reads.ExecContext(ctx, `SELECT pg_advisory_xact_lock_shared($1)`, int64(writing))
	return err
}

// wait does nothing: every writer waits for lockTime.
func (*postgres) wait(context.Context, *Store, time.Duration) error { return nil }

func (*postgres) remote() bool { return true }

func (*postgres) late() bool { return true }

// lease uses the database's clock, as all nodes do. It looks before it writes: who waits for a lease would otherwise
// sync the log each time.
func (*postgres) lease(ctx context.Context, d sqlc.DBTX, _ *sqlc.Queries, all []*wanted) error {
	var names, holders []string
	var lives []int64
	for _, w := range all {
		w.taken = false
		names, holders, lives = append(names, w.name), append(holders, w.holder), append(lives, int64(w.until-w.now))
	}
	rows, err := d.QueryContext(ctx, `WITH wanted AS (SELECT w.*, (extract(epoch FROM clock_timestamp()) * 1000)::bigint AS now
			FROM unnest($1::text[], $2::text[], $3::bigint[]) AS w (name, holder, life))
		INSERT INTO leases AS l (name, holder, until_ms) SELECT w.name, w.holder, w.now + w.life FROM wanted w
			WHERE NOT EXISTS (SELECT 1 FROM leases l WHERE l.name = w.name AND l.holder <> w.holder AND l.until_ms > w.now AND l.until_ms <= w.now + 2 * w.life)
			ORDER BY w.name
		ON CONFLICT (name) DO UPDATE SET holder = excluded.holder, until_ms = excluded.until_ms
			WHERE l.holder = excluded.holder OR EXISTS (SELECT 1 FROM wanted w WHERE w.name = excluded.name AND (l.until_ms <= w.now OR l.until_ms > w.now + 2 * w.life))
		RETURNING l.name`, names, holders, lives)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var name string
		if err := rows.Scan(&name); err != nil {
			return err
		}
		for _, w := range all {
			w.taken = w.taken || w.name == name
		}
	}
	return rows.Err()
}

// flush commits a transaction that changes nothing, and has to be in the log.
func (*postgres) flush(ctx context.Context, d *sql.DB) error {
	_, err := d.ExecContext(ctx, `SELECT pg_logical_emit_message(true, 'hazardd', '')`)
	return err
}

func (*postgres) refuseWrites(ctx context.Context, tx *sql.Tx, tables []string) error {
	// 25006 is read_only_sql_transaction; servers answer it with 503.
	if _, err := tx.ExecContext(ctx, `CREATE OR REPLACE FUNCTION hazardd_moved() RETURNS trigger LANGUAGE plpgsql AS
		$$ BEGIN RAISE EXCEPTION 'the store was moved to another database' USING ERRCODE = '25006'; END $$`); err != nil {
		return err
	}
	for _, table := range tables {
		if _, err := tx.ExecContext(ctx, `CREATE OR REPLACE TRIGGER moved BEFORE INSERT OR UPDATE OR DELETE ON `+table+` FOR EACH STATEMENT EXECUTE FUNCTION hazardd_moved()`); err != nil {
			return err
		}
	}
	return nil
}

const channel = "hazardd"

func (*postgres) notify(ctx context.Context, tx *sql.Tx) error {
	_, err := tx.ExecContext(ctx, `SELECT pg_notify($1, '')`, channel)
	return err
}

// listen receives notifications of other nodes. They only make their changes visible sooner.
func (p *postgres) listen(ctx context.Context, wake func()) {
	for ctx.Err() == nil {
		p.listenForChanges(ctx, wake)
		select {
		case <-ctx.Done():
		case <-time.After(time.Second):
		}
	}
}

func (p *postgres) listenForChanges(ctx context.Context, wake func()) {
	c, err := pgx.ConnectConfig(ctx, p.config.Copy())
	if err != nil {
		return // readers report that the database is unreachable
	}
	defer func() { _ = c.Close(context.WithoutCancel(ctx)) }()
	if p.connected(ctx, c) != nil {
		return
	}
	if _, err := c.Exec(ctx, "LISTEN "+channel); err != nil {
		return
	}
	for {
		wake() // the first call is for earlier notifications
		if _, err := c.WaitForNotification(ctx); err != nil {
			return
		}
	}
}

// snapshot requests one state for all statements of the transaction.
func (*postgres) snapshot() *sql.TxOptions {
	return &sql.TxOptions{ReadOnly: true, Isolation: sql.LevelRepeatableRead}
}

func (*postgres) patient(ctx context.Context, tx *sql.Tx) error {
	_, err := tx.ExecContext(ctx, `SET LOCAL idle_in_transaction_session_timeout = 0`)
	return err
}

func (*postgres) sizes() string {
	return `SELECT relname, pg_total_relation_size(oid) FROM pg_class WHERE relkind = 'r' AND relnamespace = current_schema()::regnamespace`
}

func (*postgres) columns() string {
	return `SELECT a.attname::text, format_type(a.atttypid, NULL), coalesce((SELECT k.place FROM pg_index i, unnest(i.indkey) WITH ORDINALITY AS k (attnum, place)
		WHERE i.indrelid = a.attrelid AND i.indisprimary AND k.attnum = a.attnum), 0)
	FROM pg_attribute a WHERE a.attrelid = to_regclass($1) AND a.attnum > 0 AND NOT a.attisdropped ORDER BY a.attnum`
}

func (*postgres) onlyText() bool { return true }

// now returns the time of the database's clock. Nodes use their own clocks for what they show, but
// must agree on leases.
func (*postgres) now(ctx context.Context, q sqlc.DBTX, _ hazard.Instant) (now hazard.Instant, err error) {
	err = q.QueryRowContext(ctx, `SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint`).Scan((*int64)(&now))
	return now, err
}

// names: the driver prepares each statement itself, per connection.
func (*postgres) listed(column string, parameter int) string {
	return fmt.Sprintf("%s = ANY($%d)", column, parameter)
}

func (*postgres) list(parameter int) string {
	return fmt.Sprintf("unnest($%d::text[]) AS n (value)", parameter)
}

func (*postgres) names(list []string) any { return list }

func (*postgres) numbers(list []int64) any { return list }

// check finds nothing: the server verifies its own pages if the cluster was created with checksums.
func (*postgres) check(context.Context, *sql.Tx, func(string)) error { return nil }

func (*postgres) purge(context.Context, *sql.DB) error { return nil }

// errPooled says what connections that change beneath a session mean.
var errPooled = fmt.Errorf("%w: a pooler between this node and PostgreSQL gives each transaction another connection; "+
	"hazardd needs one for the whole session (PgBouncer: pool_mode = session)", hazard.ErrUnavailable)

// postgresKind maps errors by SQLSTATE (PostgreSQL, appendix A), and errors of the connection.
func postgresKind(err error) error {
	if failure, ok := errors.AsType[*pgconn.PgError](err); ok {
		switch code := failure.Code; {
		case code == "53100": // disk_full
			return hazard.ErrFull
		case code == "42P05", code == "26000": // a statement that another connection has prepared, or has not
			return errPooled
		case code == "22021", code == "22P05": // a character that PostgreSQL's texts cannot hold, such as U+0000
			bad := &hazard.InvalidError{}
			bad.Add("", "holds a character that is no text (U+0000)")
			return bad
		case strings.HasPrefix(code, "08"), strings.HasPrefix(code, "53"), strings.HasPrefix(code, "57"), strings.HasPrefix(code, "58"), strings.HasPrefix(code, "XX"),
			code == "25006", code == "25P03", code == "40001", code == "40P01", code == "55P03":
			return hazard.ErrUnavailable
		}
		return nil
	}
	if _, ok := errors.AsType[*pgconn.ConnectError](err); ok {
		return hazard.ErrUnavailable
	}
	if _, ok := errors.AsType[net.Error](err); ok {
		return hazard.ErrUnavailable
	}
	if errors.Is(err, driver.ErrBadConn) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) || errors.Is(err, net.ErrClosed) || pgconn.Timeout(err) || pgconn.SafeToRetry(err) {
		return hazard.ErrUnavailable
	}
	return nil
}
