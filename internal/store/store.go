// Package store keeps hazards, products, the change log, what sources said, and users, in one SQLite file or in a PostgreSQL database.
//
// Write is the only way to change a hazard or a product. It runs one transaction that writes the new states and one numbered
// row per change in the log. When it returns nil the changes are on disk: they survive SIGKILL and power loss
// (write-ahead log, synchronous FULL; on PostgreSQL as its own settings say). Numbers follow commit order and begin at 1. They have no holes
// but where a history was replaced by another, see Forked.
//
// Several processes may use the same store: those of one machine the same file, nodes the same PostgreSQL. Writers wait for each other, readers
// for nobody. Wait returns for changes of other processes too, within PollEvery. A Store is safe for concurrent use. It knows neither HTTP
// nor rules.
package store

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"github.com/hazardd/hazardd/internal/files"
	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/store/db"
	"github.com/hazardd/hazardd/internal/store/find"
	"github.com/hazardd/hazardd/internal/store/reach"
)

//go:embed migrations
var migrations embed.FS

// FileName is the name of the SQLite file in a data folder.
const FileName = "hazardd.db"

// PollEvery is how often the log is looked at for changes of other processes, which cannot wake us.
const PollEvery = 250 * time.Millisecond

// writeTimeout bounds one write transaction, waiting for other writers included: longer than any import's transaction.
const writeTimeout = 60 * time.Second

// Store is an open store.
type Store struct {
	database      database
	write, read   *sql.DB // one writing connection, many reading ones
	ask           *sql.DB // for questions that others must not keep waiting: whether the database is there, and what its last change is
	inspect       *sql.DB // for who reads what is damaged, too
	fresh         *sql.DB // for who looks at the pages on the disk; nil: not SQLite
	writeQ, readQ *db.Queries
	reads         db.DBTX // for statements whose text depends on what is asked
	files         files.Place
	ix            find.Index
	shapes        shapeCache
	searchTime    time.Duration // see the constant
	epoch         string
	installation  string
	schemaBefore  int    // as Open found it
	file          string // the SQLite file; empty: another database
	mark          *mark  // of that file
	lost          int64  // see Lost
	// bodiesInLog: states stand in the log alone, not in the table of hazards, too. See migration 0010.
	bodiesInLog bool

	turn chan struct{} // held by the writer of this process
	busy time.Duration // how long that writer waits for other processes; see database.wait
	full atomic.Bool   // see Full
	// over is the latest moment of which Until has said that it is over, and until the one up to which that is known to be so.
	over, until atomic.Int64
	reach       *reach.Reach // whether the database is there, and who waits for changes

	measures *measures
	leases   sync.Map // name → until when this process has it, or hazard.MinInstant; see Leases

	listening sync.WaitGroup
	unlisten  context.CancelFunc
}

// Open opens the store in folder dir, which it makes if need be, and brings its schema up to date. name is the database:
// empty for the SQLite file in dir, a URL "sqlite:PATH?synchronous=full|normal|off" (less than full is for tests that
// must see a loss: an acknowledged change may then be lost with the power), or "postgres://USER@HOST,HOST/NAME?…" as libpq reads it.
//
// A store that a restore or a migration has begun to fill, and has not ended, is an *UnfinishedError.
func Open(ctx context.Context, dir, name string, more ...Option) (*Store, error) {
	s, err := connect(ctx, dir, name)
	if err != nil {
		return nil, err
	}
	err = s.migrate(ctx, Schema(), func(tx *sql.Tx) error { return whole(ctx, tx) })
	if err == nil {
		s.files, err = openFiles(dir, more)
	}
	if err == nil && s.file != "" {
		s.mark, err = openMark(s.file)
	}
	if err == nil {
		err = s.prepare(ctx)
	}
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	ctx, s.unlisten = context.WithCancel(context.WithoutCancel(ctx))
	s.listening.Go(func() { s.database.listen(ctx, s.reach.Wake) })
	if s.database.remote() {
		s.listening.Go(func() { s.reach.Watch(ctx, PollEvery, s.ping) })
	}
	return s, nil
}

// connect opens the database, whatever is in it.
func connect(ctx context.Context, dir, name string) (*Store, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("data folder: %w", err)
	}
	s := &Store{shapes: newShapeCache(), searchTime: searchTime, measures: newMeasures(), reach: reach.New(), turn: make(chan struct{}, 1)}
	s.over.Store(int64(hazard.MinInstant))
	s.until.Store(int64(hazard.MinInstant))
	var err error
	switch scheme, _, _ := strings.Cut(name, ":"); scheme {
	case "", "sqlite":
		s.database = sqlite{}
		s.file, s.write, s.read, s.inspect, s.fresh, err = openSQLite(ctx, filepath.Join(dir, FileName), name)
		s.ask = s.read
	case "postgres", "postgresql":
		s.database, s.write, s.read, s.ask, err = openPostgres(ctx, name)
		s.inspect = s.read
	default:
		err = fmt.Errorf("database: %q is neither sqlite:PATH nor postgres://HOST/NAME", RedactURL(name))
	}
	return s, err
}

// RedactURL hides a password in a database URL.
func RedactURL(s string) string {
	u, err := url.Parse(s)
	if err != nil {
		return "(not a URL)"
	}
	return u.Redacted()
}

// prepare makes a store of the newest schema ready for use.
func (s *Store) prepare(ctx context.Context) (err error) {
	s.reads = reach.Guarded{DB: s.read, Reach: s.reach}
	s.writeQ, s.readQ, s.ix = db.New(s.write), db.New(s.reads), s.database.tables().Index()
	if err := s.settle(ctx); err != nil {
		return err
	}
	if s.epoch, err = s.readQ.Meta(ctx, "epoch"); err != nil {
		return fmt.Errorf("read the store's epoch: %w", err)
	}
	if s.installation, err = s.readQ.Meta(ctx, "installation"); err != nil {
		return fmt.Errorf("read the installation's name: %w", err)
	}
	bodies, err := s.readQ.Meta(ctx, "bodies")
	if err != nil {
		return fmt.Errorf("read where states are: %w", err)
	}
	s.bodiesInLog = bodies == "changes"
	if err := s.guard(ctx); err != nil {
		return err
	}
	if err := s.compareMark(ctx); err != nil {
		return err
	}
	if err := s.catchUp(ctx); err != nil {
		return err
	}
	return s.rankAnew(ctx)
}

// Close closes the store. What was written is safe before it.
func (s *Store) Close() error {
	var errs []error
	if s.unlisten != nil {
		s.unlisten()
	}
	s.listening.Wait()
	s.reach.Close()
	errs = append(errs, s.read.Close(), s.write.Close(), s.ask.Close(), s.inspect.Close())
	if s.fresh != nil {
		errs = append(errs, s.fresh.Close())
	}
	if s.files != nil {
		errs = append(errs, s.files.Close())
	}
	if s.mark != nil {
		errs = append(errs, s.mark.close())
	}
	return errors.Join(errs...)
}

// Epoch names this history. A store that was restored or replaced has another, so that a change number of one history is
// never taken for one of the other.
func (s *Store) Epoch() string { return s.epoch }

// Installation names this installation, whatever its address: all nodes on the store are one, and a restored store still is it.
func (s *Store) Installation() string { return s.installation }

// inTx runs f in one write transaction and commits it. The transaction goes on when ctx is cancelled: a client that hangs
// up must not decide whether a commit that is under way counts. f gets the context to use.
func (s *Store) inTx(ctx context.Context, f func(context.Context, *sql.Tx, *db.Queries) error) error {
	began := time.Now()
	err := s.inTurn(ctx, f)
	s.measures.wrote(err, time.Since(began))
	if errors.Is(err, hazard.ErrFull) {
		s.full.Store(true)
	}
	return err
}

// Full reports whether a write has failed for want of room, and SeekRoom has found none since.
func (s *Store) Full() bool { return s.full.Load() }

// roomSize is what must fit into a store that was full before it counts as having room: a small change
// still fits into what a database has already, when the disk takes nothing more.
const roomSize = 256 << 10

// SeekRoom looks for room in a store that is full, by writing roomSize bytes and removing them.
func (s *Store) SeekRoom(ctx context.Context) error {
	for _, value := range []string{strings.Repeat("room ", roomSize/5), ""} {
		err := s.inTx(ctx, func(ctx context.Context, _ *sql.Tx, q *db.Queries) error {
			return q.SetMeta(ctx, db.SetMetaParams{Name: "room", Value: value})
		})
		if err != nil {
			return err
		}
	}
	s.full.Store(false)
	return nil
}

// turnTime is how long a request waits for the writers before it, of its process, and then as long for
// those of others: longer than any write on a healthy disk, shorter than clients and proxies wait.
const turnTime = 5 * time.Second

// errBusy refuses a request whose turn has not come within turnTime.
var errBusy = fmt.Errorf("%w: %w", hazard.ErrUnavailable, &hazard.LimitError{Limit: "write-wait", Kind: hazard.LimitCapacity, RetryAfter: turnTime,
	Detail: fmt.Sprintf("other writes have kept this one waiting for %v: the disk or the database is slow. Nothing was written; "+
		"repeat the request with the same uuid", turnTime)})

type patientKey struct{}

// Patient returns ctx for work that nobody waits for: its writes wait for their turn for up to a
// minute. Polls, imports and the recording of ends are such work.
func Patient(ctx context.Context) context.Context {
	return context.WithValue(ctx, patientKey{}, true)
}

// patience is how long a write waits for its turn.
func patience(ctx context.Context) time.Duration {
	if ctx.Value(patientKey{}) != nil {
		return writeTimeout
	}
	return turnTime
}

// inTurn is inTx, uncounted.
func (s *Store) inTurn(ctx context.Context, f func(context.Context, *sql.Tx, *db.Queries) error) error {
	if err := ctx.Err(); err != nil {
		return err // nobody waits for it any more, and nothing has begun
	}
	caller, wait := ctx, patience(ctx)
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), writeTimeout)
	defer cancel()
	ctx, left := s.reach.While(ctx)
	defer left()
	late := time.NewTimer(wait)
	defer late.Stop()
	select { // in this process one waits for the database, and the others for that one: none of them asks one that has gone meanwhile
	case s.turn <- struct{}{}:
		defer func() { <-s.turn }()
	case <-late.C:
		return errBusy
	case <-caller.Done():
		return caller.Err() // nothing has begun
	case <-ctx.Done():
		return storeError(context.Cause(ctx))
	}
	if s.reach.Away() {
		return reach.ErrAway
	}
	err := s.transact(ctx, f)
	if err != nil && errors.Is(context.Cause(ctx), reach.ErrAway) {
		return errors.Join(reach.ErrAway, err)
	}
	return err
}

// transact is inTx for the one whose turn it is.
func (s *Store) transact(ctx context.Context, f func(context.Context, *sql.Tx, *db.Queries) error) error {
	if err := s.database.wait(ctx, s, patience(ctx)); err != nil {
		return storeError(err)
	}
	tx, err := s.begin(ctx)
	if err != nil {
		return storeError(err)
	}
	if err := f(ctx, tx, s.writeQ.WithTx(tx)); err != nil {
		return errors.Join(storeError(err), rollback(tx))
	}
	if err := tx.Commit(); err != nil {
		return errors.Join(storeError(err), rollback(tx))
	}
	s.reach.Answered()
	return nil
}

// Until returns when no change of a moment up to at will be written any more, so that what is read as of at stays true: after
// the writer that has begun by then. now is the caller's time, and at is not after it. What is longer ago than a write
// takes needs no waiting. A node whose clock is behind this one's by d may still write changes of the last d.
func (s *Store) Until(ctx context.Context, at, now hazard.Instant) error {
	if at < now.Add(-writeTimeout-aheadMost) || int64(at) <= s.until.Load() {
		return nil
	}
	raise(&s.over, int64(at)+1)
	bounded, cancel := context.WithTimeout(ctx, turnTime)
	defer cancel()
	if err := s.database.quiet(bounded, s); err != nil {
		if bounded.Err() != nil && ctx.Err() == nil {
			return errBusy
		}
		return storeError(err)
	}
	raise(&s.until, int64(at))
	return nil
}

// raise makes n at least value.
func raise(n *atomic.Int64, value int64) {
	for have := n.Load(); have < value && !n.CompareAndSwap(have, value); have = n.Load() {
	}
}

// aside runs f, which is one statement that is right by itself: beside write transactions where that can be.
func (s *Store) aside(ctx context.Context, f func(context.Context, db.DBTX, *db.Queries) error) error {
	if s.database.remote() {
		return storeError(f(ctx, s.read, s.readQ))
	}
	return s.inTx(ctx, func(ctx context.Context, tx *sql.Tx, q *db.Queries) error { return f(ctx, tx, q) })
}

// begin begins a write transaction on the history that is the store's now, alone.
func (s *Store) begin(ctx context.Context) (*sql.Tx, error) {
	for {
		tx, err := s.write.BeginTx(ctx, nil)
		if err != nil {
			return nil, err
		}
		if s.database.settled() {
			if err := s.database.alone(ctx, tx); err != nil {
				return nil, errors.Join(err, rollback(tx))
			}
			return tx, nil
		}
		if err := errors.Join(rollback(tx), s.settle(ctx)); err != nil {
			return nil, err
		}
	}
}

// ping asks whether the database is there: for the last number, as those do who wait for changes.
func (s *Store) ping(ctx context.Context) error {
	_, err := db.New(s.ask).Counter(ctx, "change")
	return storeError(err)
}

// look is Last for those who wait for a change. It notes nothing of a database that does not answer: they ask for a moment only, and a connection that is
// not there by its end tells nothing.
func (s *Store) look(ctx context.Context) (int64, error) {
	if !s.database.remote() {
		return s.Last(ctx)
	}
	if s.reach.Away() {
		return 0, reach.ErrAway
	}
	n, err := db.New(s.ask).Counter(ctx, "change")
	if err == nil {
		s.reach.Answered()
	}
	return n, storeError(err)
}

// Away tells whether the database does not answer.
func (s *Store) Away() bool { return s.reach.Away() }

// Skew is by how much this machine's clock is ahead of the one that all nodes go by, to half the
// time of the answer. It is not known where all processes are on one machine.
func (s *Store) Skew(ctx context.Context) (skew time.Duration, known bool, err error) {
	if !s.database.remote() {
		return 0, false, nil
	}
	before := time.Now()
	common, err := s.database.now(ctx, s.read, hazard.At(before))
	if err != nil {
		return 0, false, storeError(err)
	}
	return before.Add(time.Since(before) / 2).Sub(common.Time()), true, nil
}

func rollback(tx *sql.Tx) error {
	if err := tx.Rollback(); err != nil && !errors.Is(err, sql.ErrTxDone) {
		return err
	}
	return nil
}

// oldest is the name of the row of meta that holds the oldest schema whose programs can use the store. A migration that they cannot bear sets it.
// So can the nodes of a cluster be replaced one by one: those of the version before go on, and may start again.
const oldest = "oldest_schema"

// withoutBodies is the first schema whose programs can do without hazards.body. A store that is made by one of them has none.
const withoutBodies = 10

// ofNewStores is the first schema whose programs can use a store that new.sql has altered.
const ofNewStores = 31

// migrate brings the schema up to date: each file of migrations once, in the order of its number, under the write lock.
// It refuses a store that this program would not understand. upTo is how many there are to be, or more; then looks at the store in the same
// transaction, and its error takes all back.
func (s *Store) migrate(ctx context.Context, upTo int, then func(*sql.Tx) error) error {
	names := migrationNames()
	tx, err := s.write.BeginTx(ctx, nil)
	if err != nil {
		return fmt.Errorf("open the store: %w", storeError(err))
	}
	defer func() { _ = rollback(tx) }()
	if err := s.database.alone(ctx, tx); err != nil {
		return fmt.Errorf("open the store: %w", storeError(err))
	}
	if _, err := tx.ExecContext(ctx, `CREATE TABLE IF NOT EXISTS schema_version (version BIGINT NOT NULL)`); err != nil {
		return fmt.Errorf("open the store: %w", storeError(err))
	}
	var have, known int
	if err := tx.QueryRowContext(ctx, `SELECT coalesce(max(version), 0) FROM schema_version`).Scan(&have); err != nil {
		return fmt.Errorf("read the schema's version: %w", storeError(err))
	}
	known, s.schemaBefore = len(names), have
	if have > known {
		if err := bearable(ctx, tx, have, known); err != nil {
			return err
		}
		return then(tx)
	}
	for i, name := range names[min(have, upTo):upTo] {
		text, err := s.migration(name)
		if err != nil {
			return err
		}
		if _, err := tx.ExecContext(ctx, text); err != nil {
			return fmt.Errorf("migration %s: %w", name, storeError(err))
		}
		if _, err := tx.ExecContext(ctx, `INSERT INTO schema_version (version) VALUES ($1)`, have+i+1); err != nil {
			return fmt.Errorf("migration %s: %w", name, storeError(err))
		}
	}
	if have == 0 {
		for _, name := range []string{"epoch", "installation"} {
			if _, err := tx.ExecContext(ctx, `INSERT INTO meta (name, value) VALUES ($1, $2)`, name, "urn:uuid:"+uuid.NewString()); err != nil {
				return fmt.Errorf("name the store: %w", storeError(err))
			}
		}
	}
	if have == 0 && upTo >= withoutBodies {
		for name, value := range map[string]string{"bodies": "changes", oldest: strconv.Itoa(withoutBodies)} {
			if err := db.New(tx).SetMeta(ctx, db.SetMetaParams{Name: name, Value: value}); err != nil {
				return fmt.Errorf("note where states are: %w", storeError(err))
			}
		}
	}
	if have == 0 && upTo >= ofNewStores {
		if err := s.asNew(ctx, tx); err != nil {
			return err
		}
	}
	if err := then(tx); err != nil {
		return err
	}
	if err := tx.Commit(); err != nil {
		return fmt.Errorf("migrate the store: %w", storeError(err))
	}
	return nil
}

// SchemaBefore is the schema that Open found, before it brought it up to date; 0: the store is new.
func (s *Store) SchemaBefore() int { return s.schemaBefore }

// Schema is how many migrations this program knows.
func Schema() int { return len(migrationNames()) }

// migrationNames lists the migrations in their order.
func migrationNames() []string {
	names, err := fs.Glob(migrations, "migrations/*.sql")
	if err != nil {
		panic(err) // the pattern is well formed
	}
	for i, name := range names {
		names[i] = path.Base(name)
	}
	return names
}

// migration is the text of a migration: what all databases have in common, and then what this one
// alone has, from the folder of its name.
func (s *Store) migration(name string) (string, error) {
	common, err := migrations.ReadFile("migrations/" + name)
	if err != nil {
		return "", err
	}
	own, err := s.own(name)
	return s.database.migration(string(common)) + own, err
}

// own is the text of a file that this database alone has; empty if it has none.
func (s *Store) own(name string) (string, error) {
	text, err := migrations.ReadFile("migrations/" + s.database.name() + "/" + name)
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return string(text), err
}

// asNew alters the tables of a store in which nothing can be found yet, once, to what programs of earlier schemas could not use: new.sql of the
// database.
func (s *Store) asNew(ctx context.Context, tx *sql.Tx) error {
	text, err := s.own("new.sql")
	if err != nil || text == "" || bearable(ctx, tx, ofNewStores, ofNewStores-1) != nil {
		return err
	}
	if _, err := tx.ExecContext(ctx, text); err != nil {
		return fmt.Errorf("make a new store: %w", storeError(err))
	}
	return storeError(db.New(tx).SetMeta(ctx, db.SetMetaParams{Name: oldest, Value: strconv.Itoa(ofNewStores)}))
}

// bearable tells whether a program that knows the schema called known can use a store of a later one.
func bearable(ctx context.Context, tx *sql.Tx, have, known int) error {
	var text string
	err := tx.QueryRowContext(ctx, `SELECT value FROM meta WHERE name = $1`, oldest).Scan(&text)
	if err != nil && !none(err) {
		return fmt.Errorf("read the schema's version: %w", storeError(err))
	}
	if n, err := strconv.Atoi(text); err == nil && known >= n {
		return nil
	}
	return fmt.Errorf("the store has schema %d, this program knows %d: use the program that wrote it, or a later one", have, known)
}
