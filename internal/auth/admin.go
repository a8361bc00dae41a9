package auth

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/hazardd/hazardd/internal/hazard"
)

// The actions of this package in the audit trail.
const (
	ActionLogin       = "login" // OK says whether it succeeded; repeated successes are listed once an hour
	ActionIssue       = "token issued"
	ActionReuse       = "refresh token reused"
	ActionRevoke      = "session revoked"
	ActionUserAdd     = "user added"
	ActionPassword    = "password set"
	ActionDisable     = "user disabled"
	ActionEnable      = "user enabled"
	ActionRole        = "role set"
	ActionOrgs        = "organizations set"
	ActionDisplayName = "display name set"
	ActionRemove      = "user removed"
	ActionKeys        = "signing keys replaced"
	ActionOrgAdd      = "organization added"
	ActionPublish     = "publishing set"
	ActionAssets      = "assets loaded"
	ActionNoAssets    = "assets removed"
	ActionPeople      = "population raster loaded"
	ActionNoPeople    = "population raster removed"
	ActionMend        = "store mended"
	ActionUnsign      = "CAP messages no longer signed"
)

// did returns the audit row for an action of the actor.
func (by Actor) did(action, subject, detail string, now hazard.Instant) Audit {
	return Audit{At: now, Actor: by.Name, Addr: by.Addr, Client: by.Client, Action: action, Subject: subject, Detail: detail, OK: true}
}

// Accounts manages users, organizations and the audit trail. A change holds at once in the Service
// that it came from, and on other nodes with their next Poll.
type Accounts struct{ s *Service }

// Accounts returns the accounts of the service.
func (s *Service) Accounts() Accounts { return Accounts{s} }

// NewUser describes a user to add.
type NewUser struct {
	Name     string
	Role     Role
	Orgs     []int64 // in any order
	Password Password
	// PasswordEnds is when the password expires, so that the user must choose another one; 0 means
	// never.
	PasswordEnds hazard.Instant
}

// AddUser adds a user, who can log in at once. *hazard.InvalidError lists all faults;
// hazard.ErrConflict means that the name exists.
func (a Accounts) AddUser(ctx context.Context, by Actor, n NewUser, now hazard.Instant) error {
	var bad hazard.InvalidError
	if !validName(n.Name) {
		bad.Add("name", "must have 1 to %d characters, of a to z, 0 to 9 and . _ @ -", maxName)
	}
	checkRole(&bad, n.Role)
	orgs, err := a.s.checkOrgs(ctx, &bad, n.Orgs)
	if err != nil {
		return err
	}
	if why := weakness(n.Password, n.Name); why != "" {
		bad.Add("password", "%s", why)
	}
	if err := bad.Err(); err != nil {
		return err
	}
	h, err := a.s.newHash(ctx, n.Password)
	if err != nil {
		return err
	}
	u := User{Name: n.Name, Role: n.Role, Orgs: orgs, PasswordHash: h, Created: now, PasswordChanged: now,
		PasswordEnds: n.PasswordEnds}
	detail := fmt.Sprintf("role %s, organizations %v", u.Role, u.Orgs)
	if before := a.s.current.Load().users[u.Name]; before != nil && before.Removed != 0 {
		return fmt.Errorf("%w: user %q was removed, and hazards of that user keep the name; choose another", hazard.ErrConflict, u.Name)
	}
	if err := a.s.store.CreateUser(ctx, u, by.did(ActionUserAdd, u.Name, detail, now)); err != nil {
		return fmt.Errorf("add user %q: %w", u.Name, err)
	}
	a.s.reloadAfter(ctx)
	return nil
}

// FirstAdmin adds the user admin with a random password if there is no user at all. Otherwise it
// returns an empty password.
func (a Accounts) FirstAdmin(ctx context.Context, passwordEnds, now hazard.Instant) (Password, error) {
	if len(a.s.current.Load().users) > 0 {
		return "", nil
	}
	p := RandomPassword()
	err := a.AddUser(ctx, Actor{Client: "first start"}, NewUser{Name: "admin", Role: Admin, Password: p, PasswordEnds: passwordEnds}, now)
	if errors.Is(err, hazard.ErrConflict) { // another node was first
		return "", nil
	}
	if err != nil {
		return "", err
	}
	return p, nil
}

// SetPassword changes a user's password, valid until ends (0 means forever), and revokes the user's
// tokens. Errors: *hazard.InvalidError, hazard.ErrNotFound.
func (a Accounts) SetPassword(ctx context.Context, by Actor, name string, p Password, ends, now hazard.Instant) error {
	return a.s.setPassword(ctx, by, name, "password", p, ends, now)
}

// setPassword is SetPassword with the name of the field for faults of the password.
func (s *Service) setPassword(ctx context.Context, by Actor, name, field string, p Password, ends, now hazard.Instant) error {
	var bad hazard.InvalidError
	if why := weakness(p, name); why != "" {
		bad.Add(field, "%s", why)
		return bad.Err()
	}
	if u := s.current.Load().users[name]; u != nil && u.Subject != "" {
		return fmt.Errorf("%w: user %q logs in at the OpenID provider %s and has no password here", hazard.ErrConflict, name, u.Issuer)
	}
	h, err := s.newHash(ctx, p)
	if err != nil {
		return err
	}
	return s.update(ctx, by, ActionPassword, name, "", now, func(u *User) {
		u.PasswordHash, u.PasswordChanged, u.PasswordEnds = h, now, ends
		u.NotBefore = max(u.NotBefore, nextSecond(now))
	})
}

// Disable disables a user and revokes the user's tokens: on this node at once, on others after
// their next reload. It may return hazard.ErrNotFound.
func (a Accounts) Disable(ctx context.Context, by Actor, name string, now hazard.Instant) error {
	return a.s.update(ctx, by, ActionDisable, name, "", now, func(u *User) {
		u.Disabled = true
		u.NotBefore = max(u.NotBefore, nextSecond(now))
	})
}

// Enable lets a disabled user log in again. Earlier tokens stay revoked. It may return
// hazard.ErrNotFound.
func (a Accounts) Enable(ctx context.Context, by Actor, name string, now hazard.Instant) error {
	return a.s.update(ctx, by, ActionEnable, name, "", now, func(u *User) { u.Disabled = false })
}

// RemoveUser removes a user with all rights, tokens and read keys. The user's hazards keep the
// name, and the name cannot be used again. It may return hazard.ErrNotFound.
func (a Accounts) RemoveUser(ctx context.Context, by Actor, name string, now hazard.Instant) error {
	err := a.s.update(ctx, by, ActionRemove, name, "", now, func(u *User) {
		*u = User{Name: name, Role: Reader, PasswordHash: a.s.dummy, Disabled: true, Removed: now, Created: u.Created, NotBefore: max(u.NotBefore, nextSecond(now)),
			Issuer: u.Issuer, Subject: u.Subject} // so that a login at the provider does not add the user again under another name
	})
	if err != nil {
		return err
	}
	for _, k := range a.s.ReadKeys(name) {
		if err := a.s.RevokeReadKey(ctx, by, name, k.ID, now); err != nil && !errors.Is(err, hazard.ErrNotFound) {
			return err
		}
	}
	return nil
}

// SetRole changes a user's role, also for existing tokens. Errors: *hazard.InvalidError,
// hazard.ErrNotFound.
func (a Accounts) SetRole(ctx context.Context, by Actor, name string, r Role, now hazard.Instant) error {
	var bad hazard.InvalidError
	if checkRole(&bad, r); bad.Err() != nil {
		return bad.Err()
	}
	return a.s.update(ctx, by, ActionRole, name, string(r), now, func(u *User) { u.Role = r })
}

// SetOrgs changes the organizations of a user; the order does not matter. Errors:
// *hazard.InvalidError, hazard.ErrNotFound.
func (a Accounts) SetOrgs(ctx context.Context, by Actor, name string, orgs []int64, now hazard.Instant) error {
	var bad hazard.InvalidError
	orgs, err := a.s.checkOrgs(ctx, &bad, orgs)
	if err != nil {
		return err
	}
	if err := bad.Err(); err != nil {
		return err
	}
	return a.s.update(ctx, by, ActionOrgs, name, fmt.Sprint(orgs), now, func(u *User) { u.Orgs = orgs })
}

// AddOrg adds an organization. Errors: *hazard.InvalidError; hazard.ErrConflict if the acronym
// exists.
func (a Accounts) AddOrg(ctx context.Context, by Actor, acronym, name string, now hazard.Instant) (Org, error) {
	var bad hazard.InvalidError
	for _, f := range []struct {
		field, value string
		most         int
	}{{"acronym", acronym, maxAcronym}, {"name", name, maxOrgName}} {
		if n := utf8.RuneCountInString(f.value); n < 1 || n > f.most || hazard.CleanLine(f.value) != f.value {
			bad.Add(f.field, "must be one line of 1 to %d characters without spaces at either end", f.most)
		}
	}
	if strings.ContainsAny(acronym, ", ") {
		bad.Add("acronym", "must contain no spaces or commas")
	}
	if err := bad.Err(); err != nil {
		return Org{}, err
	}
	o, err := a.s.store.CreateOrg(ctx, Org{Acronym: acronym, Name: name}, by.did(ActionOrgAdd, acronym, name, now))
	if err != nil {
		return Org{}, fmt.Errorf("add organization %q: %w", acronym, err)
	}
	a.s.reloadAfter(ctx)
	return o, nil
}

// Users lists all users by name, including disabled but not removed ones. The caller must not
// change their organizations.
func (a Accounts) Users() []User {
	p := a.s.current.Load()
	users := make([]User, 0, len(p.users))
	for _, u := range p.users {
		if u.Removed == 0 {
			users = append(users, *u)
		}
	}
	slices.SortFunc(users, func(a, b User) int { return strings.Compare(a.Name, b.Name) })
	return users
}

// User returns a user who has access, or hazard.ErrNotFound.
func (a Accounts) User(name string) (User, error) {
	u := a.s.current.Load().user(name)
	if u == nil {
		return User{}, fmt.Errorf("%w: user %q", hazard.ErrNotFound, name)
	}
	return *u, nil
}

// Orgs lists all organizations by id. The caller must not change the slice.
func (a Accounts) Orgs() []Org { return a.s.current.Load().orgs }

// Trail returns the audit rows that match the filter, newest first.
func (a Accounts) Trail(ctx context.Context, f TrailFilter) ([]Audit, error) {
	return a.s.store.Trail(ctx, f)
}

// Refused records in the audit trail that a user was refused an action. In a flood it records only
// some, each with the number of those left out.
func (a Accounts) Refused(ctx context.Context, by Actor, action, subject, why string, now hazard.Instant) {
	ok, missed := a.s.take(a.s.refusals, by.Name, &bucket{size: 30, every: 10 * time.Second}, now)
	if !ok {
		return
	}
	row := by.did(action, subject, why, now)
	if row.OK = false; missed > 0 {
		row.Detail += fmt.Sprintf(" (%d refusals before this one are not listed)", missed)
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience)
	defer cancel()
	if err := a.s.store.AddAudit(ctx, row); err != nil {
		a.s.warn(ctx, now, "a refusal is missing in the audit trail", "error", err)
	}
}

func (s *Service) update(ctx context.Context, by Actor, action, name, detail string, now hazard.Instant, change func(*User)) error {
	err := s.store.UpdateUser(ctx, name, func(u *User) error {
		if u.Removed != 0 {
			return hazard.ErrNotFound
		}
		change(u)
		return nil
	}, by.did(action, name, detail, now))
	if err != nil {
		return fmt.Errorf("user %q: %w", name, err)
	}
	s.reloadAfter(ctx)
	return nil
}

func (s *Service) newHash(ctx context.Context, p Password) (Hash, error) {
	leave, err := s.hasher.enter(ctx, place{class: classFamiliar})
	if err != nil {
		return "", err
	}
	defer leave()
	return s.hasher.hash(p, s.cfg.Rand)
}

// nextSecond returns the first whole second after now. Times in tokens are whole seconds, so only
// from that second on does iat distinguish later tokens from earlier ones. grant dates new tokens
// accordingly.
func nextSecond(now hazard.Instant) hazard.Instant { return now - now%1000 + 1000 }

const (
	maxName    = 64  // in characters
	maxAcronym = 32  // characters
	maxOrgName = 200 // characters
)

// validName allows only characters that look unlike any others and need no quoting.
func validName(name string) bool {
	const letters = "abcdefghijklmnopqrstuvwxyz0123456789._@-"
	return len(name) >= 1 && len(name) <= maxName &&
		!strings.ContainsFunc(name, func(r rune) bool { return !strings.ContainsRune(letters, r) })
}

func checkRole(bad *hazard.InvalidError, r Role) {
	if !r.Known() {
		bad.Add("role", "%q is not one of reader, editor, admin", r)
	}
}

// checkOrgs returns the ids sorted and without duplicates, and adds unknown ones to the faults.
func (s *Service) checkOrgs(ctx context.Context, bad *hazard.InvalidError, ids []int64) ([]int64, error) {
	ids = slices.Compact(slices.Sorted(slices.Values(ids)))
	if len(ids) == 0 {
		return nil, nil
	}
	if err := s.Reload(ctx); err != nil { // another node may have just added one
		return nil, err
	}
	for _, id := range ids {
		if !slices.ContainsFunc(s.Accounts().Orgs(), func(o Org) bool { return o.ID == id }) {
			bad.Add("orgs", "there is no organization %d", id)
		}
	}
	return ids, nil
}
