// Package store stores hazards, products, the change log, reports of sources, and users, in one
// SQLite file or in a PostgreSQL database.
//
// Write is the only way to change a hazard or a product. It runs one transaction, which writes the
// new states and one numbered row per change in the log. When it returns nil, the changes are on
// disk: they survive SIGKILL and power loss (write-ahead log, synchronous FULL; with PostgreSQL it
// depends on its settings). Numbers begin at 1 and follow the commit order. They have no gaps
// except where another history replaced one; see ForkedError.
//
// Several processes may use the same store: on one machine the same file, on several nodes the same
// PostgreSQL. Writers wait for each other; readers wait for nobody. Wait also returns for changes
// of other processes, within pollEvery. A Store is safe for concurrent use. The package knows
// neither HTTP nor the rules of hazards.
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

	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/store/blob"
	"github.com/hazardd/hazardd/internal/store/find"
	"github.com/hazardd/hazardd/internal/store/sqlc"
)

//go:embed migrations
var migrations embed.FS

// FileName is the name of the SQLite file in a data folder.
const FileName = "hazardd.db"

// pollEvery is how often the log is checked for changes of other processes, which cannot wake this
// one.
const pollEvery = 250 * time.Millisecond

// writeTimeout bounds one write transaction, including the wait for other writers. Any import's
// transaction takes less.
const writeTimeout = 60 * time.Second

// Store is an open store. Its parts share its transactions: Write changes hazards and products, and
// each part has the reads and writes that are its own.
type Store struct {
	*core
	Hazards       *Hazards
	Log           *Log
	Search        *Search
	Reports       *Reports
	Sources       *Sources
	Leases        *Leases
	Subscriptions *Subscriptions
	Notices       *Notices
	Webhooks      *Webhooks
	Files         *Files
	Assets        *Assets
	Drafts        *Drafts
	Evidence      *Evidence
	Pictures      *Pictures
	Pruning       *Pruning
	Publishing    *Publishing
	Quarantine    *Quarantine
	Accounts      *Accounts
}

// core is what the parts of a store share: its connections, its write lock, and its state.
type core struct {
	store    *Store
	database database
	connections
	sqliteFile
	identity
	present
	files blob.Place
	ix    find.Index
	searchable
	shortener
	shapes     shapeCache
	searchTime time.Duration // see the constant
	// bodiesInLog means that states are only in the log, not also in the table of hazards; see
	// migration 0010.
	bodiesInLog bool
	// over is the latest moment for which Until has returned or is waiting; until is the latest for
	// which it has returned.
	over, until atomic.Int64
	seen        atomic.Int64 // the last change that was committed or read here
	reach       *reach       // whether the database is reachable, and who waits for changes
	measures    *measures
	listening   sync.WaitGroup
	unlisten    context.CancelFunc
}

// connections are those of one store, by their purpose.
type connections struct {
	write, read   *sql.DB // one writing connection, many reading ones
	probes        *sql.DB // for short queries that must not wait: probes, and the number of the last change
	inspect       *sql.DB // also reads damaged pages
	fresh         *sql.DB // reads pages from the disk; nil without SQLite
	mover         *sql.DB // moves the write-ahead log; nil without SQLite
	writeQ, readQ *sqlc.Queries
	reads         sqlc.DBTX // for statements that are built at run time
}

// sqliteFile is what a store knows of its file; zero for PostgreSQL.
type sqliteFile struct {
	file string // its path
	disk *disk  // how it is opened
	mark *mark  // its mark
	lost int64  // see Lost
}

// identity says which store this is.
type identity struct {
	epoch, installation string
	schemaBefore        int // the schema that Open found
}

// present is the state of the writers of this process.
type present struct {
	turns turns
	slow  atomic.Bool   // the last commit took longer than slowCommit
	busy  time.Duration // how long the writer whose turn it is waits for other processes; see database.wait
	// failed is why writes fail; nil: they do not. prepared is set once prepareWrites has succeeded.
	failed   atomic.Pointer[error]
	prepared atomic.Bool
}

// searchable is the state of the search tables.
type searchable struct {
	spoiledBy atomic.Pointer[error] // the error that shows that they are damaged; nil: they are not
	spoils    chan struct{}         // wakes who makes them again
}

// Open opens the store in folder dir, creates it if needed, and upgrades its schema. name is the
// database: empty for the SQLite file in dir, a URL "sqlite:PATH?synchronous=full|normal|off" (less
// than full is for tests that need to see a loss: a power loss can then lose acknowledged changes),
// or "postgres://USER@HOST,HOST/NAME?…" in the form of libpq.
//
// If a restore or a migration has begun to fill the store and has not finished, the error is an
// *UnfinishedError.
//
// A file that cannot be written is opened all the same: Unwritable says why, and reads work.
func Open(ctx context.Context, dir, name string, more ...Option) (*Store, error) {
	o := optionsOf(more)
	s, err := connect(ctx, dir, name, o, true)
	if err != nil {
		return nil, err
	}
	if s.disk.why() != nil {
		err = s.fits(ctx)
	} else {
		err = s.migrate(ctx, Schema(), func(tx *sql.Tx) error { return whole(ctx, tx) })
	}
	if err == nil {
		s.files, err = openFiles(dir, o.files)
	}
	if err == nil {
		err = s.prepare(ctx)
	}
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	s.Quarantine.Watch("the folder of product files", func() error { return blob.Missing(s.files) })
	ctx, s.unlisten = context.WithCancel(context.WithoutCancel(ctx))
	s.listening.Go(func() { s.database.listen(ctx, s.reach.wakeAll) })
	s.listening.Go(func() { s.keepSearchable(ctx) })
	if s.file != "" {
		s.listening.Go(func() { s.keepLogShort(ctx) })
	}
	if s.database.remote() {
		s.listening.Go(func() { s.reach.watch(ctx, pollEvery, s.ping) })
	}
	return s, nil
}

// connect opens the database, whatever it holds. apart means that keepLogShort will run.
func connect(ctx context.Context, dir, name string, o options, apart bool) (*Store, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil && !strings.HasPrefix(name, "postgres") {
		return nil, fmt.Errorf("data folder: %w", err)
	}
	s := &Store{}
	s.open(&core{shapes: newShapeCache(), searchTime: searchTime, measures: newMeasures(), reach: newReach(), searchable: searchable{spoils: make(chan struct{}, 1)},
		shortener: shortener{committed: make(chan struct{}, 1)}})
	s.over.Store(int64(hazard.MinInstant))
	s.until.Store(int64(hazard.MinInstant))
	var err error
	switch scheme, _, _ := strings.Cut(name, ":"); scheme {
	case "", "sqlite":
		s.database = sqlite{}
		err = s.openSQLite(ctx, filepath.Join(dir, FileName), name, o.pages, apart)
	case "postgres", "postgresql":
		s.database, s.write, s.read, s.probes, err = openPostgres(ctx, name, o.dial)
		s.inspect = s.read
	default:
		err = fmt.Errorf("database: %q is neither sqlite:PATH nor postgres://HOST/NAME", RedactURL(name))
	}
	return s, err
}

// RedactURL hides the password in a database URL.
func RedactURL(s string) string {
	u, err := url.Parse(s)
	if err != nil {
		return "(not a URL)"
	}
	return u.Redacted()
}

// prepare makes a store of the newest schema ready for use.
func (s *core) prepare(ctx context.Context) (err error) {
	s.reads = guarded{DB: s.read, reach: s.reach}
	s.writeQ, s.readQ, s.ix = sqlc.New(s.write), sqlc.New(s.reads), s.database.tables().Index()
	if err := s.renew(ctx); err != nil && !unwritable(err) {
		return err
	}
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
	if s.file != "" {
		s.mark = &mark{path: s.file + markSuffix}
	}
	if err := s.prepareWrites(ctx); !unwritable(err) {
		return err
	}
	return nil // SeekRoom does it later
}

// prepareWrites does what a store needs before it is written to.
func (s *core) prepareWrites(ctx context.Context) (err error) {
	defer func() {
		s.prepared.Store(err == nil)
		s.noteWrite(err)
	}()
	if err := s.disk.why(); err != nil {
		return err
	}
	for _, step := range []func(context.Context) error{s.guard, s.compareMark, s.catchUp, s.placeAnew, s.rankAnew} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	return nil
}

// Close closes the store. All acknowledged writes are safe before that.
func (s *Store) Close() error {
	var errs []error
	if s.unlisten != nil {
		s.unlisten()
	}
	s.listening.Wait()
	s.reach.close()
	if s.mover != nil {
		errs = append(errs, s.mover.Close())
	}
	errs = append(errs, s.read.Close(), s.write.Close(), s.probes.Close(), s.inspect.Close())
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

// Epoch identifies this history. A restored or replaced store has another epoch, so that change
// numbers of different histories are never confused.
func (s *Store) Epoch() string { return s.epoch }

// Installation identifies this installation regardless of its address. All nodes on the store share
// it, and a restored store keeps it.
func (s *Store) Installation() string { return s.installation }

// inTx runs f in one write transaction and commits it. The transaction goes on when ctx is
// canceled, because a client that hangs up must not decide whether a commit in progress counts. f
// gets the context to use.
func (s *core) inTx(ctx context.Context, f transaction) error {
	if s.database.late() && rankOf(ctx) == People {
		return s.inTxOr(ctx, f, &shared{run: f, person: true, done: make(chan struct{})})
	}
	return s.inTxOr(ctx, f, nil)
}

// inSmallTx is inTx for a write of a few statements, which the transaction of another writer may take
// along. f may run twice, as with inGroupTx.
func (s *core) inSmallTx(ctx context.Context, f transaction) error {
	return s.inSharedTx(ctx, f, &shared{run: f, small: true, done: make(chan struct{})})
}

// inGroupTx is inTx for a write of a feed, which shares a transaction with those of other feeds that wait.
// f may run twice: if another write has ended that transaction, it runs in one of its own.
func (s *core) inGroupTx(ctx context.Context, f transaction) error {
	return s.inSharedTx(ctx, f, &shared{run: f, done: make(chan struct{})})
}

func (s *core) inSharedTx(ctx context.Context, f transaction, of *shared) error {
	err := s.inTxOr(ctx, f, of)
	if errors.Is(err, errAlong) {
		return s.inTx(ctx, f)
	}
	return err
}

// inTxOr is inTx. of is the write, if another writer may take it along.
func (s *core) inTxOr(ctx context.Context, f transaction, of *shared) error {
	began := time.Now()
	var carried []*shared
	var person *shared
	err := s.inTurn(ctx, of, func(ctx context.Context, tx *sql.Tx, q *sqlc.Queries) (err error) {
		began := time.Now()
		if err := f(ctx, tx, q); err != nil || s.database.late() && (of == nil || of.person) {
			return err
		}
		carried, err = s.turns.takeAlong(ctx, tx, q, of != nil && !of.small, s.database.late(), began)
		if err == nil && s.database.late() && s.slow.Load() {
			person, err = s.flushBefore(ctx, tx, q)
		}
		return err
	})
	if person != nil {
		landed([]*shared{person}, err)
	}
	if err != nil && (len(carried) > 0 || person != nil) && s.database.late() && !errors.Is(err, hazard.ErrUnavailable) {
		err = errAlong // it may be an error of any of them
	}
	landed(carried, err)
	if err == nil {
		s.noteCommit()
	}
	if of == nil || !errors.Is(err, errAlong) { // it is repeated
		s.measures.wrote(err, time.Since(began))
	}
	s.noteWrite(err)
	return err
}

// TurnTime is how long a request waits for earlier writers of its own process, and then as long for
// those of others. On a disk that needs 3 s for a sync, an editor waits for 9 s at most: for a commit
// that begins the log anew, and for another one. It is shorter than the timeouts of clients and proxies.
const TurnTime = 10 * time.Second

// errBusy refuses a request that did not get the write lock within TurnTime.
var errBusy = fmt.Errorf("%w: %w", hazard.ErrUnavailable, &hazard.LimitError{Limit: "write-wait", Kind: hazard.LimitCapacity, RetryAfter: TurnTime,
	Detail: fmt.Sprintf("this write waited %v for other writes: the disk or the database is slow. Nothing was written; "+
		"repeat the request with the same uuid", TurnTime)})

type patientKey struct{}

// Patient returns ctx for background work: its writes wait up to a minute for the lock. Polls,
// imports and the recording of ends are such work.
func Patient(ctx context.Context) context.Context {
	return context.WithValue(ctx, patientKey{}, true)
}

// patience returns how long a write waits for the lock.
func patience(ctx context.Context) time.Duration {
	if ctx.Value(patientKey{}) != nil {
		return writeTimeout
	}
	return TurnTime
}

// inTurn is inTx without metrics. of is the write, if another writer may take it along.
func (s *core) inTurn(ctx context.Context, of *shared, f transaction) error {
	if err := ctx.Err(); err != nil {
		return err // the caller has gone, and nothing has begun
	}
	caller, wait := ctx, patience(ctx)
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), writeTimeout)
	defer cancel()
	ctx, left := s.reach.while(ctx)
	defer left()
	late := time.NewTimer(wait)
	defer late.Stop()
	turn := s.turns.join(rankOf(caller), of)
	defer s.turns.leave(turn)
	var along chan struct{}
	if of != nil {
		along = of.done
	}
	select { // one writer of this process waits for the database and the others wait for it, so a canceled writer leaves nothing in the queue
	case <-turn.come:
	case <-along:
		return of.result()
	case <-late.C:
		return s.turns.given(turn, errBusy)
	case <-caller.Done():
		return s.turns.given(turn, caller.Err()) // nothing has begun
	case <-ctx.Done():
		return s.turns.given(turn, storeError(context.Cause(ctx)))
	}
	if s.reach.isAway() {
		return errAway
	}
	err := s.transact(ctx, f)
	if err != nil && errors.Is(context.Cause(ctx), errAway) {
		return errors.Join(errAway, err)
	}
	return err
}

// transact is inTx for the writer that holds the turn.
func (s *core) transact(ctx context.Context, f func(context.Context, *sql.Tx, *sqlc.Queries) error) error {
	if err := s.disk.moved(); err != nil {
		return err
	}
	if err := s.database.wait(ctx, s.store, patience(ctx)); err != nil {
		return storeError(err)
	}
	tx, err := s.begin(ctx)
	if err != nil {
		return storeError(err)
	}
	if err := f(ctx, tx, s.writeQ.WithTx(tx)); err != nil {
		return errors.Join(storeError(err), rollback(tx))
	}
	began := time.Now()
	if err := tx.Commit(); err != nil {
		return errors.Join(storeError(err), rollback(tx))
	}
	s.slow.Store(time.Since(began) > slowCommit)
	s.reach.noteAnswer()
	return nil
}

// Until returns when no change with a time up to at can be written any more, so that data read as
// of at stays correct: it waits for writers that have begun by then. now is the caller's time, at
// or after at. If at is longer ago than any write takes, it returns at once. A node whose clock is
// behind this one's by d may still write changes of the last d.
func (s *Store) Until(ctx context.Context, at, now hazard.Instant) error {
	if at < now.Add(-writeTimeout-maxAhead) || int64(at) <= s.until.Load() {
		return nil
	}
	raise(&s.over, int64(at)+1)
	bounded, cancel := context.WithTimeout(ctx, TurnTime)
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

// raise sets n to at least value.
func raise(n *atomic.Int64, value int64) {
	for have := n.Load(); have < value && !n.CompareAndSwap(have, value); have = n.Load() {
	}
}

// aside runs f, a single statement that is atomic by itself, beside write transactions where the
// database allows it.
func (s *core) aside(ctx context.Context, f func(context.Context, sqlc.DBTX, *sqlc.Queries) error) error {
	if s.database.remote() {
		return storeError(f(ctx, s.read, s.readQ))
	}
	return s.inSmallTx(ctx, func(ctx context.Context, tx *sql.Tx, q *sqlc.Queries) error { return f(ctx, tx, q) })
}

// begin begins a write transaction, alone, on the store's present history.
func (s *core) begin(ctx context.Context) (*sql.Tx, error) {
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

// ping checks whether the database responds, by the same query as the waiters for changes use.
func (s *core) ping(ctx context.Context) error {
	_, err := sqlc.New(s.probes).Counter(ctx, "change")
	return storeError(err)
}

// look is Last for waiters for changes. It does not mark the database as unreachable: these calls
// have short timeouts, and a missing connection proves nothing.
func (s *core) look(ctx context.Context) (int64, error) {
	if !s.database.remote() {
		return s.store.Log.Last(ctx)
	}
	if s.reach.isAway() {
		return 0, errAway
	}
	n, err := sqlc.New(s.probes).Counter(ctx, "change")
	if err == nil {
		s.reach.noteAnswer()
	}
	return n, storeError(err)
}

// Away reports whether the database does not respond.
func (s *Store) Away() bool { return s.reach.isAway() }

// Skew returns how far this machine's clock is ahead of the one that all nodes use, accurate to
// half the query's round trip. known is false if all processes are on one machine.
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

// oldest is the name of the row of meta with the oldest schema whose programs can use the store. An
// incompatible migration raises it. So the nodes of a cluster can be replaced one by one: those of
// the previous version keep running and can restart.
const oldest = "oldest_schema"

// withoutBodies is the first schema whose programs do not need hazards.body. A store created by one
// of them has no such column.
const withoutBodies = 10

// ofNewStores is the first schema whose programs can use a store that new.sql has altered.
const ofNewStores = 31

// migrate upgrades the schema: it runs each migration once, in order, under the write lock. It
// refuses a store that this program would not understand. upTo is the number of migrations to reach
// at least. then checks the store in the same transaction; its error rolls everything back.
func (s *core) migrate(ctx context.Context, upTo int, then func(*sql.Tx) error) error {
	names := migrationNames()
	defer s.sortOnDisk(ctx)()
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
	var have, newest, known int // there is a row for each version: the number of them is right although one is damaged
	if err := tx.QueryRowContext(ctx, `SELECT count(*), coalesce(max(version), 0) FROM schema_version`).Scan(&have, &newest); err != nil {
		return fmt.Errorf("read the schema's version: %w", storeError(err))
	}
	known, s.schemaBefore = len(names), have
	if have > known {
		if err := checkReadable(ctx, tx, newest, known); err != nil {
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
			if err := sqlc.New(tx).SetMeta(ctx, sqlc.SetMetaParams{Name: name, Value: value}); err != nil {
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

// SchemaBefore returns the schema that Open found before the upgrade, or 0 for a new store.
func (s *Store) SchemaBefore() int { return s.schemaBefore }

// Schema returns how many migrations this program has.
func Schema() int { return len(migrationNames()) }

// migrationNames lists the migrations in order.
func migrationNames() []string {
	names, err := fs.Glob(migrations, "migrations/*.sql")
	if err != nil {
		panic(err) // the pattern is a constant
	}
	for i, name := range names {
		names[i] = path.Base(name)
	}
	return names
}

// migration returns the text of a migration: the common part, then the part for this database from
// the folder of its name.
func (s *core) migration(name string) (string, error) {
	common, err := migrations.ReadFile("migrations/" + name)
	if err != nil {
		return "", err
	}
	own, err := s.own(name)
	return s.database.migration(string(common)) + own, err
}

// own returns the text of a file for this database only, or "" if there is none.
func (s *core) own(name string) (string, error) {
	text, err := migrations.ReadFile("migrations/" + s.database.name() + "/" + name)
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return string(text), err
}

// asNew alters the tables of a still empty store once, to a form that programs of earlier schemas
// could not use (new.sql).
func (s *core) asNew(ctx context.Context, tx *sql.Tx) error {
	text, err := s.own("new.sql")
	if err != nil || text == "" || checkReadable(ctx, tx, ofNewStores, ofNewStores-1) != nil {
		return err
	}
	if _, err := tx.ExecContext(ctx, text); err != nil {
		return fmt.Errorf("make a new store: %w", storeError(err))
	}
	return storeError(sqlc.New(tx).SetMeta(ctx, sqlc.SetMetaParams{Name: oldest, Value: strconv.Itoa(ofNewStores)}))
}

// checkReadable returns an error if a program with the schema known cannot use a store of the later
// schema have.
func checkReadable(ctx context.Context, tx *sql.Tx, have, known int) error {
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
