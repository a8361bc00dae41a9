package subscription

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/google/uuid"

	"github.com/hazardd/hazardd/internal/auth"
	"github.com/hazardd/hazardd/internal/geo"
	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/store"
	"github.com/hazardd/hazardd/internal/store/follow"
	"github.com/hazardd/hazardd/internal/tell"
	"github.com/hazardd/hazardd/internal/tell/channel"
	"github.com/hazardd/hazardd/internal/tell/message"
	"github.com/hazardd/hazardd/internal/test/datadir"
	"github.com/hazardd/hazardd/internal/test/postgres"
)

const base = "https://hazards.example"

func TestMain(m *testing.M) { os.Exit(postgres.Main(m)) }

// ground is what the stores of bubbles are made of: nothing for SQLite, on PostgreSQL a database that they are copies of.
type ground struct{ database *postgres.Bubble }

func newGround(t testing.TB) ground {
	t.Helper()
	if !postgres.Postgres() {
		return ground{}
	}
	g := ground{postgres.NewBubble(t)}
	s, err := place{t.TempDir(), g.database.URL(), g.database.Dial}.open(t)
	if err == nil {
		err = s.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// place returns one for a store.
func (g ground) place(t testing.TB) place {
	t.Helper()
	if g.database == nil {
		return place{datadir.Empty(t), "sqlite:?synchronous=off", nil}
	}
	return place{t.TempDir(), g.database.Copy(t), g.database.Dial}
}

// place is where a store is, and how it is reached.
type place struct {
	dir, database string
	dial          func(ctx context.Context, network, address string) (net.Conn, error)
}

func (p place) open(t testing.TB) (*store.Store, error) {
	return store.Open(context.WithoutCancel(t.Context()), p.dir, p.database, store.WithDialer(p.dial))
}

// bed is a store with users and an in-memory network.
type bed struct {
	t testing.TB
	place
	store   *store.Store
	people  map[string]auth.Role
	members map[string][]int64 // organizations of users
	net     *network
	svc     *Service
}

// bubble runs a test in a synctest bubble.
func bubble(t *testing.T, f func(t *testing.T, b *bed)) {
	t.Helper()
	g := newGround(t)
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(26*365*24*time.Hour - time.Since(time.Date(2000, 1, 1, 12, 0, 0, 0, time.UTC))) // to a year in which hazards are not too old
		f(t, newBed(t, g))
	})
}

func newBed(t testing.TB, g ground) *bed {
	t.Helper()
	at := g.place(t)
	s, err := at.open(t)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	b := &bed{t: t, place: at, store: s, net: &network{answers: map[string]func(channel.Address, message.Notice) error{}},
		people: map[string]auth.Role{"ann": auth.Editor, "root": auth.Admin, "rea": auth.Reader}, members: map[string][]int64{"ann": {7}}}
	b.svc = b.service()
	return b
}

// service returns another process on the same store.
func (b *bed) service() *Service {
	clock := hazard.ClockFunc(func() hazard.Instant { return hazard.At(time.Now()) })
	key, err := NewKey(make([]byte, 32))
	if err != nil {
		b.t.Fatal(err)
	}
	return New(Config{Store: b.store, Tail: follow.New(b.store.Log, lists{}, clock.Now, follow.Memory, slog.New(slog.DiscardHandler)), Key: key, Sender: b.net,
		Counting: func() bool { return false }, Links: true, BaseURL: base, Now: time.Now, Logger: slog.New(slog.DiscardHandler), Text: func(n message.Notice) string { return string(n.Kind) },
		Standing: func(user string) (auth.Role, []int64, bool) {
			role, ok := b.people[user]
			return role, b.members[user], ok
		},
		Org: func(acronym string) (int64, bool) { return 7, acronym == "RED" },
		Region: func(code string) (geo.Shape, float64, bool) {
			if code != "US-MA" {
				return geo.Shape{}, 0, false
			}
			return geo.Box{West: -73.5, South: 41.2, East: -69.9, North: 42.9}.Shape(), 0, true
		}})
}

// lists is a view that is not used.
type lists struct{}

func (lists) Number() int64                                                   { return 0 }
func (lists) Apply(context.Context, []hazard.Change, hazard.Instant) error    { return nil }
func (lists) Renew(context.Context, *store.ForkedError, hazard.Instant) error { return nil }
func (lists) Current(hazard.Instant)                                          {}
func (lists) Expire() hazard.Instant                                          { return hazard.MaxInstant }

func now() hazard.Instant { return hazard.At(time.Now()) }

func (b *bed) author(user string) tell.Author {
	return tell.Author{Caller: &auth.Caller{Name: user, Role: b.people[user]}}
}

// subscribe creates a subscription from members in JSON.
func (b *bed) subscribe(user, members string) Subscription {
	b.t.Helper()
	s, err := b.svc.Create(b.t.Context(), b.author(user), []byte("{"+members+"}"), now())
	if err != nil {
		b.t.Fatalf("{%s}: %v", members, err)
	}
	return s
}

// boston returns a subscription to hazards near Boston, with messages to a host.
func boston(host string) string {
	return fmt.Sprintf(`"where":{"points":[{"lon":-71.06,"lat":42.36,"radius_km":50,"name":"home"}]},"channels":[{"kind":"http","to":"https://%s/x"}]`, host)
}

// run sends messages until stop is called, which waits for the end.
func (b *bed) run(s *Service) (stop func()) {
	ctx, cancel := context.WithCancel(b.t.Context())
	ended := make(chan error, 2)
	go func() { ended <- s.Tail.Run(ctx) }()
	go func() { ended <- s.Run(ctx) }()
	return sync.OnceFunc(func() {
		cancel()
		if err := errors.Join(<-ended, <-ended); err != nil {
			b.t.Error(err)
		}
	})
}

// save writes a state of a hazard. f changes the existing or a new state.
func (b *bed) save(id int64, f func(*hazard.Hazard)) (h *hazard.Hazard) {
	b.t.Helper()
	b.write(func(tx *store.Tx) (err error) {
		h, err = saveIn(tx, id, f)
		return err
	})
	return h
}

// write makes changes in one transaction, as an editor's merge does.
func (b *bed) write(f func(*store.Tx) error) {
	b.t.Helper()
	if _, err := b.store.Write(b.t.Context(), now(), store.Origin{Admin: true}, f); err != nil {
		b.t.Fatal(err)
	}
}

// saveIn makes a hazard, or changes the one with that id.
func saveIn(tx *store.Tx, id int64, f func(*hazard.Hazard)) (*hazard.Hazard, error) {
	var before *hazard.Hazard
	h := &hazard.Hazard{UUID: uuid.New(), Name: "Flood - Boston", Type: hazard.Flood, Severity: hazard.Watch, Category: hazard.Event,
		Status: hazard.Active, Longitude: -71.06, Latitude: 42.36, OrgID: -1, Created: now()}
	if id > 0 {
		var err error
		if before, err = tx.Hazard(id); err != nil {
			return nil, err
		}
		h = new(*before)
	}
	h.LastUpdate = now()
	f(h)
	return h, tx.SaveHazard(h, before)
}

func (b *bed) flood() *hazard.Hazard { return b.save(0, func(*hazard.Hazard) {}) }

// merge makes a hazard part of another one.
func merge(tx *store.Tx, id int64, into *hazard.Hazard) error {
	part, err := saveIn(tx, id, func(h *hazard.Hazard) {
		h.Status, h.Reason, h.Successor, h.End = hazard.Expired, hazard.EndMerged, into.UUID, now()
	})
	if err != nil {
		return err
	}
	return tx.Merges.Save(&store.Merge{Change: part.Version, From: id, Into: into.ID})
}

func severity_(s hazard.Severity) func(*hazard.Hazard) {
	return func(h *hazard.Hazard) { h.Severity = s }
}

func over(reason hazard.EndReason) func(*hazard.Hazard) {
	return func(h *hazard.Hazard) { h.Status, h.Reason, h.End = hazard.Expired, reason, now() }
}

// network answers messages by their addresses.
type network struct {
	mu      sync.Mutex
	answers map[string]func(channel.Address, message.Notice) error
	got     []sentMessage
}

// sentMessage is a received message and its answer.
type sentMessage struct {
	at  time.Time
	to  string
	n   message.Notice
	err error
}

func (n *network) Send(ctx context.Context, to channel.Address, m message.Notice) error {
	n.mu.Lock()
	answer := n.answers[to.To]
	n.mu.Unlock()
	var err error
	if answer != nil {
		err = answer(to, m)
	}
	if ctx.Err() != nil {
		return fmt.Errorf("%w: %w", channel.Uncertain, ctx.Err())
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.got = append(n.got, sentMessage{time.Now(), to.To, m, err})
	return err
}

func (n *network) Check(to channel.Address) error {
	if to.Kind == channel.Email && !slices.Contains([]byte(to.To), '@') {
		return errors.New("is no address of email")
	}
	return nil
}

// answer sets how an address answers.
func (n *network) answer(to string, f func(channel.Address, message.Notice) error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.answers[to] = f
}

// to returns the messages that an address has accepted.
func (n *network) to(address string) (list []sentMessage) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, m := range n.got {
		if m.to == address && m.err == nil {
			list = append(list, m)
		}
	}
	return list
}

// kinds returns the kinds of the messages that an address has accepted, with the fields that
// changed.
func (n *network) kinds(address string) (list []string) {
	for _, m := range n.to(address) {
		text := string(m.n.Kind)
		if len(m.n.Items) == 1 {
			for _, c := range m.n.Items[0].Changed {
				text += fmt.Sprintf(" %s %s>%s", c.Field, c.From, c.To)
			}
		} else if len(m.n.Items) > 1 {
			text += fmt.Sprintf(" of %d", len(m.n.Items)+m.n.More)
		}
		list = append(list, text)
	}
	return list
}

func (b *bed) want(address string, kinds ...string) {
	b.t.Helper()
	if got := b.net.kinds(address); !slices.Equal(got, kinds) {
		text, _ := json.Marshal(got)
		b.t.Errorf("%s was told %s\nwant %q", address, text, kinds)
	}
}

// settle waits for the time d and until everything due has happened.
func settle(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

// isA reports whether an error is of a type.
func isA[E error](err error) bool {
	_, ok := errors.AsType[E](err)
	return ok
}
