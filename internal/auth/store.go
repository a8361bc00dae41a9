package auth

import (
	"context"
	"net/netip"

	"github.com/google/uuid"

	"github.com/hazardd/hazardd/internal/hazard"
)

// Store is the store behind the package. All nodes of an installation share it.
//
// Each method is one transaction and atomic for other callers. Everything that it has stored
// without an error survives a crash of the process or the machine. An Audit passed to a method is
// stored in the same transaction, so that no change lacks its row. Errors that are not documented
// here are the store's own; hazard.ErrUnavailable means that it is unreachable.
//
// Slices of ids are sorted without duplicates in both directions. Instants keep their milliseconds,
// ids all their bits. The store does not check references between rows (a user's organizations, a
// session's user).
type Store interface {
	// Version returns a number that changes whenever a user, an organization, a key or a
	// revocation is written. While it is unchanged, the data loaded with it is up to date.
	Version(ctx context.Context) (int64, error)

	// Load returns all data as of one moment, with the version of that moment: users by name,
	// organizations by id, keys by Created and then ID, revocations in any order.
	Load(ctx context.Context) (Data, error)

	// CreateUser adds a user. It returns hazard.ErrConflict if the name exists.
	CreateUser(ctx context.Context, u User, a Audit) error

	// UpdateUser reads the user, calls change with it, and writes the result. No other write of
	// that user comes in between. change may be called several times, each time with the current
	// record. If change fails, nothing is written and its error is returned. The name does not
	// change. UpdateUser returns hazard.ErrNotFound if there is no such user.
	UpdateUser(ctx context.Context, name string, change func(*User) error, a Audit) error

	// SetFactorRoles replaces the roles of which admins require a second factor.
	SetFactorRoles(ctx context.Context, roles []Role, a Audit) error

	// CreateOrg adds an organization with a new id above 0, and returns it. o.ID is ignored. It
	// returns hazard.ErrConflict if the acronym exists.
	CreateOrg(ctx context.Context, o Org, a Audit) (Org, error)

	// AddKey adds a key if newest is still the newest key (by Created, then ID); newest is empty if
	// there is none. Otherwise it adds nothing and returns hazard.ErrConflict.
	AddKey(ctx context.Context, k Key, newest string) error

	// AddReadKey stores a read-only key.
	AddReadKey(ctx context.Context, k ReadKey, a Audit) error

	// RemoveReadKey removes a read-only key. It returns hazard.ErrNotFound if there is none with
	// that id.
	RemoveReadKey(ctx context.Context, id uuid.UUID, a Audit) error

	// NoteUses sets Used of each of the keys to the given moment, unless Used is later already or
	// the key does not exist. The version does not change.
	NoteUses(ctx context.Context, at map[uuid.UUID]hazard.Instant) error

	// Attempts returns the counts for the keys, in order, and the zero Attempts for an unknown key.
	Attempts(ctx context.Context, keys []string) ([]Attempts, error)

	// AddFailure counts one failed login for each of the keys. Failures increases by one, or
	// becomes 1 if LastFailure is before forget. LastFailure becomes at, unless it is later
	// already. The audit row may be nil.
	AddFailure(ctx context.Context, keys []string, at, forget hazard.Instant, a *Audit) error

	// AddSuccess sets Failures of each of the keys to 0, and LastSuccess to at, unless it is later already.
	AddSuccess(ctx context.Context, keys []string, at hazard.Instant, a Audit) error

	// AddSession stores a login that has not been renewed yet: the refresh token with its ID is the
	// next one to be used.
	AddSession(ctx context.Context, s Session) error

	// Sessions lists the stored sessions of a user that are not revoked, in any order.
	Sessions(ctx context.Context, user string) ([]Session, error)

	// ProviderSessions lists the stored sessions from a session of the OpenID provider that are not
	// revoked, in any order.
	ProviderSessions(ctx context.Context, provider string) ([]Session, error)

	// Once stores the id until the given time. It returns hazard.ErrConflict if the id is already
	// stored. The version does not change.
	Once(ctx context.Context, id uuid.UUID, until hazard.Instant) error

	// ReplaceKeys replaces all keys by k, and removes all sessions.
	ReplaceKeys(ctx context.Context, k Key, a Audit) error

	// AdvanceSession makes next.Child the pair that follows the refresh token next.Parent, if that
	// token is the next to be used. It decides and writes in one statement, so that only one of two
	// concurrent calls succeeds:
	//
	//   - no row with that ID: if next.Parent equals next.ID (the login's own token), next is inserted;
	//     otherwise the result is hazard.ErrNotFound.
	//   - a row with Revoked 0 whose Child.Refresh equals next.Parent: Parent, Child, Used, Addr and Client become those of next.
	//   - any other row does not change.
	//
	// It returns the resulting row. User, Expires, Created, Provider and ID of a row never change.
	AdvanceSession(ctx context.Context, next Session) (Session, error)

	// RevokeSession sets Revoked of the row with s.ID to s.Revoked, and adds the revocation of s.ID
	// until the given time. It inserts s if there is no such row; Parent and Child may then be
	// zero. If the session is already revoked, nothing happens: no audit row, no new version, no
	// error.
	RevokeSession(ctx context.Context, s Session, until hazard.Instant, a Audit) error

	// AddAudit stores a row for an action that changes nothing else.
	AddAudit(ctx context.Context, a Audit) error

	// Trail returns the audit rows that match the filter, newest first.
	Trail(ctx context.Context, f TrailFilter) ([]Audit, error)

	// Purge removes expired data, and need not change the version. It may use several transactions.
	Purge(ctx context.Context, p Purge) error
}

// Data is all data needed to verify tokens, as of one moment.
type Data struct {
	Version int64
	Users   []User
	Orgs    []Org
	Keys    []Key
	Revoked []Revocation
	// ReadKeys are sorted by Created and then ID.
	ReadKeys []ReadKey
	// FactorRoles are the roles of which admins require a second factor.
	FactorRoles []Role
}

// User is a user who may log in. The record of a removed user stays, disabled, so that a name never
// refers to another person.
type User struct {
	Name string // [a-z0-9._@-]{1,64}, case-sensitive
	Role Role
	Orgs []int64
	// DisplayName is the name under which readers without an account see the user; empty means the
	// name of the organization.
	DisplayName     string `json:",omitzero"`
	PasswordHash    Hash   `json:"-"`
	Disabled        bool
	Removed         hazard.Instant // 0 if not removed
	Created         hazard.Instant
	PasswordChanged hazard.Instant
	// PasswordEnds is when a password chosen by somebody else expires; 0 means never.
	PasswordEnds hazard.Instant
	// NotBefore is the time of issue before which tokens are refused, even if they have not
	// expired.
	NotBefore hazard.Instant

	// Issuer and Subject identify the user at an OpenID provider. Such a user has no password here.
	// They are empty for a local account.
	Issuer  string `json:",omitzero"`
	Subject string `json:",omitzero"`
	// Vouched is when the provider issued the newest token from which Role and Orgs were taken.
	Vouched hazard.Instant `json:",omitzero"`
	// Lapsed is since when the provider gives the user no role here, so that the user has no
	// access; otherwise 0.
	Lapsed hazard.Instant `json:",omitzero"`
	// Factor is the second factor of a local account; nil if there is none.
	Factor *Factor `json:",omitzero"`
	// LoggedOut is when the provider last ended the user's logins. Its tokens issued until then are
	// refused.
	LoggedOut hazard.Instant `json:",omitzero"`
}

// Org is an organization. Its members see the products that are restricted to it.
type Org struct {
	ID      int64
	Acronym string
	Name    string
}

// Key signs tokens.
type Key struct {
	ID      string // kid
	Seed    Seed   `json:"-"`
	Created hazard.Instant
	// NotAfter is when everything that the key signed stops being valid; the row may then be
	// deleted.
	NotAfter hazard.Instant
}

// Revocation revokes access tokens before they expire: the token with that jti, or the tokens with
// that sid.
type Revocation struct {
	ID    uuid.UUID
	Until hazard.Instant // all these tokens have expired by then, and the row may be deleted
}

// Attempts counts the logins for one key: of a user, of a network, or of a user on a network or
// device.
type Attempts struct {
	Failures    int64 // since the last success, or since they were last reset
	LastFailure hazard.Instant
	LastSuccess hazard.Instant // 0: none
}

// Session is a renewed or revoked login, with the state of its refresh tokens.
type Session struct {
	ID      uuid.UUID // jti of the login's first refresh token, and sid of all tokens of the login
	User    string
	Expires hazard.Instant // when all refresh tokens of the login expire; the row may then be deleted
	Parent  uuid.UUID      // jti of the refresh token last used
	Child   Grant          // the result of that use; only its refresh token can be used next
	Revoked hazard.Instant // 0 if active

	// Provider is the id of the OpenID provider's session behind the login; empty if there is none
	// or it is unknown.
	Provider string

	// Created is the time of the login. Used is the time of the last login or renewal. Both are 0
	// if unknown.
	Created, Used hazard.Instant
	Addr          netip.Addr // address of the last use
	Client        string     // client of the last use
}

// Grant is the content of a pair of tokens, from which the same pair can be created again. It
// contains no token.
type Grant struct {
	Access  uuid.UUID // jti of the access token
	Refresh uuid.UUID // jti of the refresh token
	Issued  hazard.Instant
	KeyID   string
	Role    Role
	Orgs    []int64
}

// Audit records who did what, from where, when, and whether it was allowed. It contains no secret.
// Of the names that strangers typed into a login it holds those that cannot be a password, because
// people sometimes type theirs there (tried).
type Audit struct {
	ID      int64 // increases with each row; assigned by the store
	At      hazard.Instant
	Actor   string     // the acting user; empty if unknown
	Addr    netip.Addr // zero means on the machine itself
	Client  string     // the program, as it names itself; "console": a command on the machine itself; "first start": the service, when it created the first user
	Action  string     // one of the Action constants of its writer
	Subject string     // the affected user, organization or key; may be empty
	Detail  string     // a description; may be empty
	OK      bool
	Request string // the request id, which the store takes from the context (package trace); empty if there is none
}

// TrailFilter selects audit rows. Zero values select all.
type TrailFilter struct {
	User          string // the acting or the affected user
	Action        string
	Request       string         // a request id, or its first part, the trace, which selects all requests of that trace
	Since, Until  hazard.Instant // from Since up to, but not including, Until; 0 means no limit
	After, Before int64          // ids between them; 0 means no limit
	Limit         int            // maximum number of rows, above 0
}

// Purge says which data has expired.
type Purge struct {
	// Now is the current time. It removes sessions by Expires, revocations by Until and keys by
	// NotAfter, if these are not later than Now.
	Now hazard.Instant
	// FailuresBefore and SuccessesBefore remove attempts whose LastFailure is before the first and
	// whose LastSuccess is before the second.
	FailuresBefore, SuccessesBefore hazard.Instant
	// AuditBefore removes older audit rows.
	AuditBefore hazard.Instant
}
