package authtest

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"reflect"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/uuid"

	"github.com/hazardd/hazardd/internal/auth"
	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/net/trace"
)

// TestStore checks that a store keeps the promises of auth.Store. open returns a new, empty store
// each time.
func TestStore(t *testing.T, open func(*testing.T) auth.Store) {
	for name, test := range map[string]func(*testing.T, auth.Store){
		"an empty store has nothing":                              emptyStore,
		"a user is kept as he was given":                          keepsUser,
		"a name is given once":                                    nameOnce,
		"a change that fails changes nothing":                     failedChange,
		"changes of one user do not lose each other":              concurrentChanges,
		"an organization gets an id of its own":                   orgs,
		"a key is added only after the key that it follows":       keys,
		"of many who add a key one succeeds":                      concurrentKeys,
		"a read key is kept until it is removed":                  readKeys,
		"failures are counted, and forgotten after their time":    failures,
		"failures that come together are all counted":             concurrentFailures,
		"a success ends the count":                                success,
		"a refresh token moves a session on once":                 advance,
		"of many who use a refresh token one wins, and all agree": concurrentAdvance,
		"a revoked session stays as it is":                        revoke,
		"a session can be revoked before it has a row":            revokeUnknown,
		"a login is listed until it ends":                         sessions,
		"the version moves with what Reload reads":                version,
		"each deed has its row in the trail":                      trail,
		"purge removes what has ended and nothing else":           purge,
		"a cancelled context writes nothing":                      cancelled,
	} {
		t.Run(name, func(t *testing.T) { test(t, open(t)) })
	}
}

const t0 hazard.Instant = 1795240800123

var (
	deed = auth.Audit{At: t0, Actor: "admin", Addr: netip.MustParseAddr("2001:db8::1"), Action: "test", OK: true}
	ann  = auth.User{Name: "ann", Role: auth.Editor, Orgs: []int64{1, 7, 1 << 40}, PasswordHash: "$argon2id$v=19$m=19456,t=2,p=1$c2FsdA$aGFzaA",
		Disabled: true, Created: t0, PasswordChanged: t0 + 1, PasswordEnds: t0 + 2, NotBefore: t0 + 3}
)

func key(id string, created hazard.Instant) auth.Key {
	k := auth.Key{ID: id, Created: created, NotAfter: created + 1000}
	for i := range k.Seed {
		k.Seed[i] = byte(i * 8)
	}
	return k
}

// session returns the session id after the use of its refresh token parent.
func session(id, parent uuid.UUID, keyID string) auth.Session {
	return auth.Session{ID: id, User: "ann", Expires: t0 + 5000, Parent: parent, Child: auth.Grant{Access: uuid.New(),
		Refresh: uuid.New(), Issued: t0 + 7, KeyID: keyID, Role: auth.Reader, Orgs: []int64{2, 3}}}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func wantErr(t *testing.T, got, want error) {
	t.Helper()
	if !errors.Is(got, want) {
		t.Fatalf("error %v, want %v", got, want)
	}
}

// want compares by value. An empty slice equals nil.
func want(t *testing.T, what string, got, want any) {
	t.Helper()
	if !reflect.DeepEqual(plain(got), plain(want)) {
		t.Errorf("%s: got %+v, want %+v", what, got, want)
	}
}

func plain(v any) any {
	switch v := v.(type) {
	case auth.User:
		if len(v.Orgs) == 0 {
			v.Orgs = nil
		}
		return v
	case auth.Session:
		if len(v.Child.Orgs) == 0 {
			v.Child.Orgs = nil
		}
		return v
	}
	return v
}

func load(t *testing.T, s auth.Store) auth.Data {
	t.Helper()
	d, err := s.Load(t.Context())
	must(t, err)
	v, err := s.Version(t.Context())
	must(t, err)
	if v != d.Version {
		t.Errorf("Version %d, Load has %d", v, d.Version)
	}
	return d
}

func emptyStore(t *testing.T, s auth.Store) {
	d := load(t, s)
	if len(d.Users)+len(d.Orgs)+len(d.Keys)+len(d.Revoked) > 0 {
		t.Errorf("got %+v", d)
	}
	rows, err := s.Trail(t.Context(), auth.TrailFilter{Limit: 10})
	must(t, err)
	if len(rows) > 0 {
		t.Errorf("trail %v", rows)
	}
	known, err := s.Attempts(t.Context(), []string{"a", "b"})
	must(t, err)
	want(t, "attempts", known, []auth.Attempts{{}, {}})
}

func keepsUser(t *testing.T, s auth.Store) {
	bob := auth.User{Name: "bob@example.org_-.0", Role: auth.Reader}
	must(t, s.CreateUser(t.Context(), bob, deed))
	must(t, s.CreateUser(t.Context(), ann, deed))
	d := load(t, s)
	if len(d.Users) != 2 {
		t.Fatalf("%d users, want 2", len(d.Users))
	}
	want(t, "ann", d.Users[0], ann)
	want(t, "bob", d.Users[1], bob)
	if d.Users[0].PasswordHash != ann.PasswordHash {
		t.Error("the hash came back different")
	}
}

func nameOnce(t *testing.T, s auth.Store) {
	must(t, s.CreateUser(t.Context(), ann, deed))
	wantErr(t, s.CreateUser(t.Context(), auth.User{Name: "ann", Role: auth.Admin}, deed), hazard.ErrConflict)
	want(t, "ann", load(t, s).Users[0], ann)
	nobody := func(*auth.User) error { t.Error("a user that does not exist was changed"); return nil }
	wantErr(t, s.UpdateUser(t.Context(), "Ann", nobody, deed), hazard.ErrNotFound)
}

func failedChange(t *testing.T, s auth.Store) {
	must(t, s.CreateUser(t.Context(), ann, deed))
	before := load(t, s).Version
	fault := errors.New("no")
	wantErr(t, s.UpdateUser(t.Context(), "ann", func(u *auth.User) error { u.Role = auth.Admin; u.Orgs[0] = 99; return fault }, deed), fault)
	d := load(t, s)
	want(t, "ann", d.Users[0], ann)
	want(t, "version", d.Version, before)
	rows, err := s.Trail(t.Context(), auth.TrailFilter{Limit: 10})
	must(t, err)
	want(t, "rows in the trail", len(rows), 1)
}

func concurrentChanges(t *testing.T, s auth.Store) {
	must(t, s.CreateUser(t.Context(), ann, deed))
	const n = 20
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() {
			err := s.UpdateUser(t.Context(), "ann", func(u *auth.User) error {
				u.NotBefore++
				u.Orgs = slices.Sorted(slices.Values(append(u.Orgs, int64(100+i))))
				return nil
			}, deed)
			if err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	got := load(t, s).Users[0]
	want(t, "NotBefore", got.NotBefore, ann.NotBefore+n)
	want(t, "organizations", len(got.Orgs), len(ann.Orgs)+n)
}

func orgs(t *testing.T, s auth.Store) {
	a, err := s.CreateOrg(t.Context(), auth.Org{ID: 77, Acronym: "PDC", Name: "Pacific – “quoted”"}, deed)
	must(t, err)
	b, err := s.CreateOrg(t.Context(), auth.Org{Acronym: "pdc", Name: "another case"}, deed)
	must(t, err)
	if a.ID <= 0 || b.ID <= a.ID || a.Acronym != "PDC" || a.Name != "Pacific – “quoted”" {
		t.Errorf("got %+v and %+v", a, b)
	}
	_, err = s.CreateOrg(t.Context(), auth.Org{Acronym: "PDC", Name: "again"}, deed)
	wantErr(t, err, hazard.ErrConflict)
	want(t, "organizations", load(t, s).Orgs, []auth.Org{a, b})
}

func keys(t *testing.T, s auth.Store) {
	k1, k2 := key("k1", t0), key("k2", t0+1)
	wantErr(t, s.AddKey(t.Context(), k1, "k0"), hazard.ErrConflict)
	must(t, s.AddKey(t.Context(), k1, ""))
	wantErr(t, s.AddKey(t.Context(), k2, ""), hazard.ErrConflict)
	must(t, s.AddKey(t.Context(), k2, "k1"))
	wantErr(t, s.AddKey(t.Context(), key("k3", t0+2), "k1"), hazard.ErrConflict)
	got := load(t, s).Keys
	if !slices.Equal(got, []auth.Key{k1, k2}) {
		t.Errorf("got %+v", got)
	}
}

func readKeys(t *testing.T, s auth.Store) {
	a := auth.ReadKey{ID: uuid.New(), User: "ann", Title: "map \u00e9 of the room", Sum: [32]byte{0, 1, 255}, Created: t0 + 1}
	b := auth.ReadKey{ID: uuid.New(), User: "bob", Title: "b", Scope: auth.ScopeRead, Sum: [32]byte{2}, Created: t0}
	must(t, s.AddReadKey(t.Context(), a, deed))
	must(t, s.AddReadKey(t.Context(), b, deed))
	if got := load(t, s).ReadKeys; !slices.Equal(got, []auth.ReadKey{b, a}) {
		t.Errorf("got %+v", got)
	}
	must(t, s.NoteUses(t.Context(), map[uuid.UUID]hazard.Instant{b.ID: t0 + 5, uuid.New(): t0}))
	must(t, s.NoteUses(t.Context(), map[uuid.UUID]hazard.Instant{b.ID: t0 + 4}))
	b.Used = t0 + 5
	if got := load(t, s).ReadKeys; !slices.Equal(got, []auth.ReadKey{b, a}) {
		t.Errorf("after one was used: %+v", got)
	}
	must(t, s.RemoveReadKey(t.Context(), b.ID, deed))
	wantErr(t, s.RemoveReadKey(t.Context(), b.ID, deed), hazard.ErrNotFound)
	if got := load(t, s).ReadKeys; !slices.Equal(got, []auth.ReadKey{a}) {
		t.Errorf("after one was removed: %+v", got)
	}
}

func concurrentKeys(t *testing.T, s auth.Store) {
	must(t, s.AddKey(t.Context(), key("first", t0), ""))
	var added atomic.Int64
	var wg sync.WaitGroup
	for i := range 10 {
		wg.Go(func() {
			switch err := s.AddKey(t.Context(), key(fmt.Sprint("k", i), t0+1), "first"); {
			case err == nil:
				added.Add(1)
			case !errors.Is(err, hazard.ErrConflict):
				t.Error(err)
			}
		})
	}
	wg.Wait()
	want(t, "added", added.Load(), int64(1))
	want(t, "keys", len(load(t, s).Keys), 2)
}

func attempts(t *testing.T, s auth.Store, key string) auth.Attempts {
	t.Helper()
	known, err := s.Attempts(t.Context(), []string{"other", key})
	must(t, err)
	if len(known) != 2 || known[0] != (auth.Attempts{}) {
		t.Fatalf("got %+v", known)
	}
	return known[1]
}

func failures(t *testing.T, s auth.Store) {
	ctx := t.Context()
	must(t, s.AddFailure(ctx, []string{"a", "b"}, t0, t0-10, nil))
	must(t, s.AddFailure(ctx, []string{"b", "c"}, t0+5, t0-5, &deed))
	want(t, "a", attempts(t, s, "a"), auth.Attempts{Failures: 1, LastFailure: t0})
	want(t, "b", attempts(t, s, "b"), auth.Attempts{Failures: 2, LastFailure: t0 + 5})
	must(t, s.AddFailure(ctx, []string{"b"}, t0+3, t0+5, nil))
	want(t, "a clock behind does not move LastFailure back", attempts(t, s, "b"), auth.Attempts{Failures: 3, LastFailure: t0 + 5})
	must(t, s.AddFailure(ctx, []string{"b"}, t0+20, t0+6, nil))
	want(t, "forgotten", attempts(t, s, "b"), auth.Attempts{Failures: 1, LastFailure: t0 + 20})
}

func concurrentFailures(t *testing.T, s auth.Store) {
	const n = 30
	var wg sync.WaitGroup
	for i := range n {
		keys := []string{"pair", "address", "user"}
		if i%2 == 1 { // another order must not deadlock
			slices.Reverse(keys)
		}
		wg.Go(func() {
			if err := s.AddFailure(t.Context(), keys, t0+hazard.Instant(i), t0, nil); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	for _, k := range []string{"pair", "address", "user"} {
		want(t, k, attempts(t, s, k), auth.Attempts{Failures: n, LastFailure: t0 + n - 1})
	}
}

func success(t *testing.T, s auth.Store) {
	ctx := t.Context()
	must(t, s.AddSuccess(ctx, []string{"a"}, t0, deed))
	want(t, "without failures", attempts(t, s, "a"), auth.Attempts{LastSuccess: t0})
	must(t, s.AddFailure(ctx, []string{"a", "b"}, t0+1, t0, nil))
	want(t, "then a failure", attempts(t, s, "a"), auth.Attempts{Failures: 1, LastFailure: t0 + 1, LastSuccess: t0})
	must(t, s.AddSuccess(ctx, []string{"a"}, t0-1, deed))
	got := attempts(t, s, "a")
	if got.Failures != 0 || got.LastSuccess != t0 {
		t.Errorf("got %+v", got)
	}
	want(t, "of another key", attempts(t, s, "b").Failures, int64(1))
}

func advance(t *testing.T, s auth.Store) {
	ctx, id := t.Context(), uuid.New()
	_, err := s.AdvanceSession(ctx, session(id, uuid.New(), "k1"))
	wantErr(t, err, hazard.ErrNotFound)

	first := session(id, id, "k1")
	got, err := s.AdvanceSession(ctx, first)
	must(t, err)
	want(t, "first use", got, first)

	got, err = s.AdvanceSession(ctx, session(id, id, "k1"))
	must(t, err)
	want(t, "the same token again", got, first)

	second := session(id, first.Child.Refresh, "k2")
	second.User, second.Expires = "bob", t0 // these never change
	got, err = s.AdvanceSession(ctx, second)
	must(t, err)
	second.User, second.Expires = first.User, first.Expires
	want(t, "use of the child", got, second)

	for what, parent := range map[string]uuid.UUID{"the first token": id, "the parent": second.Parent, "a stranger": uuid.New()} {
		got, err = s.AdvanceSession(ctx, session(id, parent, "k1"))
		must(t, err)
		want(t, what, got, second)
	}
}

func sessions(t *testing.T, s auth.Store) {
	ctx, id, other := t.Context(), uuid.New(), uuid.New()
	login := auth.Session{ID: id, User: "ann", Expires: t0 + 1000, Child: auth.Grant{Refresh: id, Orgs: []int64{}}, Created: t0, Used: t0,
		Addr: netip.MustParseAddr("2001:db8::1"), Client: "a browser", Provider: "theirs"}
	must(t, s.AddSession(ctx, login))
	ofProvider := func(provider string) int {
		list, err := s.ProviderSessions(ctx, provider)
		must(t, err)
		return len(list)
	}
	want(t, "of a session of the provider", []int{ofProvider("theirs"), ofProvider("another"), ofProvider("")}, []int{1, 0, 0})
	must(t, s.AddSession(ctx, auth.Session{ID: uuid.New(), User: "eve", Expires: t0 + 1000, Child: auth.Grant{Refresh: uuid.New()}}))
	want(t, "of no session of a provider", ofProvider(""), 0)
	version := load(t, s).Version
	must(t, s.Once(ctx, other, t0+1000))
	if err := s.Once(ctx, other, t0+2000); !errors.Is(err, hazard.ErrConflict) {
		t.Errorf("an id a second time: %v", err)
	}
	want(t, "the version", load(t, s).Version, version)
	list := func(user string) []auth.Session {
		list, err := s.Sessions(ctx, user)
		must(t, err)
		return list
	}
	want(t, "after the login", list("ann"), []auth.Session{login})
	want(t, "of another user", len(list("bob")), 0)

	next := session(id, id, "k1")
	next.Created, next.Used, next.Addr, next.Client = t0+5, t0+5, netip.MustParseAddr("192.0.2.1"), "another"
	after, err := s.AdvanceSession(ctx, next)
	must(t, err)
	next.Created, next.User, next.Expires, next.Provider = login.Created, login.User, login.Expires, login.Provider
	want(t, "the first use of a login that is kept", after, next)
	must(t, s.AddSession(ctx, login)) // too late: the session was revoked
	want(t, "after the renewal", list("ann"), []auth.Session{next})

	must(t, s.RevokeSession(ctx, auth.Session{ID: id, Revoked: t0}, t0, auth.Audit{}))
	want(t, "after the end", []int{len(list("ann")), ofProvider("theirs")}, []int{0, 0})

	must(t, s.AddSession(ctx, auth.Session{ID: other, User: "ann", Expires: t0 + 1000, Child: auth.Grant{Refresh: other}}))
	must(t, s.AddKey(ctx, key("old", t0), ""))
	before := load(t, s).Version
	must(t, s.ReplaceKeys(ctx, key("new", t0+1), auth.Audit{At: t0, Action: "replaced"}))
	d := load(t, s)
	if len(d.Keys) != 1 || d.Keys[0].ID != "new" || d.Version == before {
		t.Errorf("after the keys were replaced: %+v, version %d", d.Keys, d.Version)
	}
	want(t, "sessions of the old keys", len(list("ann")), 0)
}

func concurrentAdvance(t *testing.T, s auth.Store) {
	id := uuid.New()
	for parent := range 3 { // the first use inserts, the others update
		var mu sync.Mutex
		children := map[uuid.UUID]int{}
		from := id
		if parent > 0 {
			row, err := s.AdvanceSession(t.Context(), session(id, uuid.New(), "k"))
			must(t, err)
			from = row.Child.Refresh
		}
		const n = 30
		won := 0
		var wg sync.WaitGroup
		for range n {
			wg.Go(func() {
				next := session(id, from, "k")
				row, err := s.AdvanceSession(t.Context(), next)
				if err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				defer mu.Unlock()
				children[row.Child.Refresh]++
				if row.Child.Refresh == next.Child.Refresh {
					won++
				}
			})
		}
		wg.Wait()
		if len(children) != 1 || won != 1 {
			t.Fatalf("use %d: %d children, %d winners, want one of each", parent, len(children), won)
		}
	}
}

func revoke(t *testing.T, s auth.Store) {
	ctx, id := t.Context(), uuid.New()
	first := session(id, id, "k1")
	_, err := s.AdvanceSession(ctx, first)
	must(t, err)
	must(t, s.RevokeSession(ctx, auth.Session{ID: id, User: "x", Expires: t0, Revoked: t0 + 9}, t0+50, deed))
	d := load(t, s)
	want(t, "revocations", d.Revoked, []auth.Revocation{{ID: id, Until: t0 + 50}})

	first.Revoked = t0 + 9
	got, err := s.AdvanceSession(ctx, session(id, first.Child.Refresh, "k1"))
	must(t, err)
	want(t, "a revoked session", got, first)

	must(t, s.RevokeSession(ctx, auth.Session{ID: id, User: "x", Expires: t0, Revoked: t0 + 10}, t0+60, deed))
	again := load(t, s)
	want(t, "revocations", again.Revoked, d.Revoked)
	want(t, "version", again.Version, d.Version)
	got, err = s.AdvanceSession(ctx, session(id, first.Child.Refresh, "k1"))
	must(t, err)
	want(t, "revoked twice", got, first)
	rows, err := s.Trail(ctx, auth.TrailFilter{Limit: 10})
	must(t, err)
	want(t, "rows in the trail", len(rows), 1)
}

func revokeUnknown(t *testing.T, s auth.Store) {
	ctx, id := t.Context(), uuid.New()
	ended := auth.Session{ID: id, User: "ann", Expires: t0 + 99, Revoked: t0}
	must(t, s.RevokeSession(ctx, ended, t0+50, deed))
	got, err := s.AdvanceSession(ctx, session(id, id, "k1"))
	must(t, err)
	want(t, "the session", got, ended)
	want(t, "revocations", load(t, s).Revoked, []auth.Revocation{{ID: id, Until: t0 + 50}})
}

func version(t *testing.T, s auth.Store) {
	ctx, id := t.Context(), uuid.New()
	seen := map[int64]string{load(t, s).Version: "the start"}
	for _, step := range []struct {
		what  string
		do    func() error
		moves bool
	}{
		{"CreateUser", func() error { return s.CreateUser(ctx, ann, deed) }, true},
		{"UpdateUser", func() error { return s.UpdateUser(ctx, "ann", func(*auth.User) error { return nil }, deed) }, true},
		{"CreateOrg", func() error { _, err := s.CreateOrg(ctx, auth.Org{Acronym: "A", Name: "a"}, deed); return err }, true},
		{"AddKey", func() error { return s.AddKey(ctx, key("k", t0), "") }, true},
		{"AddReadKey", func() error { return s.AddReadKey(ctx, auth.ReadKey{ID: id}, deed) }, true},
		{"RemoveReadKey", func() error { return s.RemoveReadKey(ctx, id, deed) }, true},
		{"NoteUses", func() error { return s.NoteUses(ctx, map[uuid.UUID]hazard.Instant{id: t0}) }, false},
		{"AddFailure", func() error { return s.AddFailure(ctx, []string{"a"}, t0, t0, &deed) }, false},
		{"AddSuccess", func() error { return s.AddSuccess(ctx, []string{"a"}, t0, deed) }, false},
		{"AdvanceSession", func() error { _, err := s.AdvanceSession(ctx, session(id, id, "k")); return err }, false},
		{"AddAudit", func() error { return s.AddAudit(ctx, deed) }, false},
		{"RevokeSession", func() error { return s.RevokeSession(ctx, auth.Session{ID: id, Revoked: t0}, t0, deed) }, true},
	} {
		must(t, step.do())
		v := load(t, s).Version
		if before, known := seen[v]; known == step.moves {
			t.Errorf("%s: version %d was that of %q; should it have moved: %v", step.what, v, before, step.moves)
		}
		seen[v] = step.what
	}
}

func trail(t *testing.T, s auth.Store) {
	ctx, id := t.Context(), uuid.New()
	row := func(i int) auth.Audit {
		return auth.Audit{At: t0 + hazard.Instant(i), Actor: "ä", Action: fmt.Sprint("action ", i), Subject: "s", Detail: "“d”\n", OK: i%2 == 0, Client: fmt.Sprint("client ", i),
			Addr: []netip.Addr{{}, netip.MustParseAddr("192.0.2.1"), netip.MustParseAddr("2001:db8::1")}[i%3]}
	}
	failed := row(3)
	must(t, s.CreateUser(ctx, ann, row(0)))
	must(t, s.UpdateUser(ctx, "ann", func(*auth.User) error { return nil }, row(1)))
	_, err := s.CreateOrg(ctx, auth.Org{Acronym: "A", Name: "a"}, row(2))
	must(t, err)
	must(t, s.AddFailure(ctx, []string{"a"}, t0, t0, &failed))
	must(t, s.AddFailure(ctx, []string{"a"}, t0, t0, nil))
	must(t, s.AddSuccess(ctx, []string{"a"}, t0, row(4)))
	must(t, s.RevokeSession(ctx, auth.Session{ID: id, Revoked: t0}, t0, row(5)))
	must(t, s.AddAudit(ctx, row(6)))
	wantErr(t, s.CreateUser(ctx, ann, row(7)), hazard.ErrConflict)
	got, err := s.Trail(ctx, auth.TrailFilter{Limit: 100})
	must(t, err)
	if len(got) != 7 {
		t.Fatalf("%d rows, want 7: %+v", len(got), got)
	}
	ids := make([]int64, len(got))
	for i := range got {
		if ids[i] = got[i].ID; i > 0 && ids[i] >= ids[i-1] {
			t.Errorf("ids %v do not fall", ids)
		}
		got[i].ID = 0
		want(t, "row", got[i], row(6-i))
	}
	must(t, s.AddAudit(ctx, auth.Audit{At: t0 + 7, Actor: "s", Action: "other"}))
	for what, f := range map[string]struct {
		auth.TrailFilter
		rows int
	}{
		"of an actor":      {auth.TrailFilter{User: "ä"}, 7},
		"of a subject too": {auth.TrailFilter{User: "s"}, 8},
		"of nobody":        {auth.TrailFilter{User: "x"}, 0},
		"of an action":     {auth.TrailFilter{Action: "action 3"}, 1},
		"from a moment":    {auth.TrailFilter{Since: t0 + 5}, 3},
		"until a moment":   {auth.TrailFilter{Until: t0 + 5}, 5},
		"after a row":      {auth.TrailFilter{After: ids[2]}, 3},
		"before a row":     {auth.TrailFilter{Before: ids[2]}, 4},
	} {
		f.Limit = 100
		some, err := s.Trail(ctx, f.TrailFilter)
		must(t, err)
		want(t, "rows "+what, len(some), f.rows)
	}
	got, err = s.Trail(ctx, auth.TrailFilter{Limit: 2, Until: t0 + 7})
	must(t, err)
	got[0].ID, got[1].ID = 0, 0
	want(t, "two rows", got, []auth.Audit{row(6), row(5)})
	var requests []string
	for range 2 {
		ctx, id := trace.Begin(ctx, http.Header{trace.Header: {"00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"}})
		requests = append(requests, id[0])
		must(t, s.AddAudit(ctx, auth.Audit{At: t0 + 1, Action: "of a request", Request: "the context has it"}))
	}
	for request, rows := range map[string][]string{requests[0]: requests[:1], requests[0][:32]: {requests[1], requests[0]}, requests[0][:31]: nil} {
		some, err := s.Trail(ctx, auth.TrailFilter{Request: request, Limit: 100})
		must(t, err)
		var of []string
		for _, r := range some {
			of = append(of, r.Request)
		}
		want(t, "rows of request "+request, of, rows)
	}
}

func purge(t *testing.T, s auth.Store) {
	ctx := t.Context()
	old, young, oldRevoked, youngRevoked := uuid.New(), uuid.New(), uuid.New(), uuid.New()
	for id, expires := range map[uuid.UUID]hazard.Instant{old: t0, young: t0 + 1} {
		x := session(id, id, "k")
		x.Expires = expires
		_, err := s.AdvanceSession(ctx, x)
		must(t, err)
	}
	must(t, s.RevokeSession(ctx, auth.Session{ID: oldRevoked, Expires: t0 + 9, Revoked: 1}, t0, auth.Audit{At: t0 - 2}))
	must(t, s.RevokeSession(ctx, auth.Session{ID: youngRevoked, Expires: t0 + 9, Revoked: 1}, t0+1, auth.Audit{At: t0}))
	must(t, s.AddKey(ctx, key("old", t0-1000), ""))
	must(t, s.AddKey(ctx, key("young", t0-999), "old"))
	must(t, s.AddFailure(ctx, []string{"old failure", "old failure, young success"}, t0-11, 0, nil))
	must(t, s.AddFailure(ctx, []string{"young failure"}, t0-10, 0, nil))
	must(t, s.AddSuccess(ctx, []string{"old failure, young success"}, t0-20, auth.Audit{At: t0 - 1}))
	must(t, s.AddSuccess(ctx, []string{"old success"}, t0-21, auth.Audit{At: t0 - 1}))

	must(t, s.Purge(ctx, auth.Purge{Now: t0, FailuresBefore: t0 - 10, SuccessesBefore: t0 - 20, AuditBefore: t0 - 1}))

	_, err := s.AdvanceSession(ctx, session(old, uuid.New(), "k"))
	wantErr(t, err, hazard.ErrNotFound)
	_, err = s.AdvanceSession(ctx, session(young, uuid.New(), "k"))
	must(t, err)
	d := load(t, s)
	want(t, "revocations", d.Revoked, []auth.Revocation{{ID: youngRevoked, Until: t0 + 1}})
	if len(d.Keys) != 1 || d.Keys[0].ID != "young" {
		t.Errorf("keys %v", d.Keys)
	}
	want(t, "old failure", attempts(t, s, "old failure"), auth.Attempts{})
	want(t, "old success", attempts(t, s, "old success"), auth.Attempts{})
	want(t, "young failure", attempts(t, s, "young failure").Failures, int64(1))
	want(t, "young success", attempts(t, s, "old failure, young success").LastSuccess, t0-20)
	rows, err := s.Trail(ctx, auth.TrailFilter{Limit: 10})
	must(t, err)
	want(t, "rows in the trail", len(rows), 3)
}

func cancelled(t *testing.T, s auth.Store) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	before := load(t, s).Version
	if err := s.CreateUser(ctx, ann, deed); err == nil {
		t.Error("CreateUser succeeded")
	}
	d := load(t, s)
	if len(d.Users) != 0 || d.Version != before {
		t.Errorf("got %+v", d)
	}
}
