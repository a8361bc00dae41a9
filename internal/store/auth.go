package store

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math"
	"net/netip"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/google/uuid"

	"github.com/hazardd/hazardd/internal/auth"
	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/net/trace"
	"github.com/hazardd/hazardd/internal/store/sqlc"
)

func (a *Accounts) Version(ctx context.Context) (int64, error) {
	n, err := a.readQ.Counter(ctx, "auth")
	return n, storeError(err)
}

func (a *Accounts) Load(ctx context.Context) (auth.Data, error) {
	tx, err := a.read.BeginTx(ctx, a.database.snapshot())
	if err != nil {
		return auth.Data{}, storeError(err)
	}
	defer func() { _ = rollback(tx) }()
	d, damaged, err := loadAccounts(ctx, a.readQ.WithTx(tx))
	if err == nil {
		a.store.Quarantine.accounts(damaged)
	}
	return d, storeError(err)
}

// loadAccounts reads all rows but the damaged ones, which it names.
func loadAccounts(ctx context.Context, q *sqlc.Queries) (d auth.Data, damaged []string, err error) {
	if d.Version, err = q.Counter(ctx, "auth"); err != nil {
		return d, nil, err
	}
	users, err := q.Users(ctx)
	if err != nil {
		return d, nil, err
	}
	for _, row := range users {
		if u, err := decodeUser(row.Body, row.Hash); err == nil && u.Name == row.Name {
			d.Users = append(d.Users, u)
		} else {
			damaged = append(damaged, "the user "+row.Name)
		}
	}
	orgs, err := q.Organizations(ctx)
	if err != nil {
		return d, nil, err
	}
	for _, o := range orgs {
		d.Orgs = append(d.Orgs, auth.Org{ID: o.ID, Acronym: o.Acronym, Name: o.Name})
	}
	keys, err := q.SigningKeys(ctx)
	if err != nil {
		return d, nil, err
	}
	for _, k := range keys {
		key := auth.Key{ID: k.ID, Created: hazard.Instant(k.CreatedMs), NotAfter: hazard.Instant(k.NotAfterMs)}
		if !usable(k) {
			damaged = append(damaged, "the signing key "+k.ID)
			continue
		}
		copy(key.Seed[:], k.Seed)
		d.Keys = append(d.Keys, key)
	}
	reading, err := q.ReadKeys(ctx)
	if err != nil {
		return d, nil, err
	}
	for _, r := range reading {
		k := auth.ReadKey{User: r.Username, Title: r.Title, Created: hazard.Instant(r.CreatedMs), Scope: auth.Scope(r.Scope), Used: hazard.Instant(r.UsedMs)}
		if k.ID, err = uuid.Parse(r.ID); err != nil || len(r.Sum) != len(k.Sum) {
			damaged = append(damaged, "the read key "+r.ID)
			continue
		}
		copy(k.Sum[:], r.Sum)
		d.ReadKeys = append(d.ReadKeys, k)
	}
	revoked, err := q.Revocations(ctx)
	if err != nil {
		return d, nil, err
	}
	for _, r := range revoked {
		id, err := uuid.Parse(r.ID)
		if err != nil {
			damaged = append(damaged, "the revocation "+r.ID)
			continue
		}
		d.Revoked = append(d.Revoked, auth.Revocation{ID: id, Until: hazard.Instant(r.UntilMs)})
	}
	roles, err := q.Meta(ctx, metaFactorRoles)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return d, nil, err
	}
	for name := range strings.FieldsSeq(roles) {
		if role := auth.Role(name); role.Known() {
			d.FactorRoles = append(d.FactorRoles, role)
		} else {
			damaged = append(damaged, "the roles that need a second factor")
		}
	}
	return d, damaged, nil
}

// metaFactorRoles holds the roles of which admins require a second factor, with spaces between.
const metaFactorRoles = "factor_roles"

func (a *Accounts) SetFactorRoles(ctx context.Context, roles []auth.Role, audit auth.Audit) error {
	names := make([]string, len(roles))
	for i, r := range roles {
		names[i] = string(r)
	}
	return a.changed(ctx, &audit, func(ctx context.Context, q *sqlc.Queries) error {
		return q.SetMeta(ctx, sqlc.SetMetaParams{Name: metaFactorRoles, Value: strings.Join(names, " ")})
	})
}

func decodeUser(body, hash string) (u auth.User, err error) {
	if err = json.Unmarshal([]byte(body), &u); err != nil {
		return u, fmt.Errorf("stored user: %w", err)
	}
	u.PasswordHash = auth.Hash(hash)
	return u, nil
}

// changed runs f in one transaction, increments the version, and adds the audit row.
func (a *Accounts) changed(ctx context.Context, audit *auth.Audit, f func(context.Context, *sqlc.Queries) error) error {
	return a.inTx(ctx, func(ctx context.Context, _ *sql.Tx, q *sqlc.Queries) error {
		if err := f(ctx, q); err != nil {
			return err
		}
		if _, err := q.Next(ctx, sqlc.NextParams{Name: "auth", Count: 1}); err != nil {
			return err
		}
		return addAudit(ctx, q, audit)
	})
}

func addAudit(ctx context.Context, q *sqlc.Queries, a *auth.Audit) error {
	if a == nil {
		return nil
	}
	id, err := q.Next(ctx, sqlc.NextParams{Name: "audit", Count: 1})
	if err != nil {
		return err
	}
	return q.AddAudit(ctx, sqlc.AddAuditParams{ID: id, AtMs: int64(a.At), Actor: a.Actor, Addr: addrText(a.Addr), Client: a.Client, Action: a.Action, Subject: a.Subject, Detail: a.Detail, Ok: a.OK,
		Request: trace.ID(ctx)})
}

// addrText returns an address as stored: "" if there is none.
func addrText(a netip.Addr) string {
	if !a.IsValid() {
		return ""
	}
	return a.String()
}

func addrOf(text string) (netip.Addr, error) {
	if text == "" {
		return netip.Addr{}, nil
	}
	return netip.ParseAddr(text)
}

func (a *Accounts) CreateUser(ctx context.Context, u auth.User, audit auth.Audit) error {
	body, err := json.Marshal(u)
	if err != nil {
		return err
	}
	return a.changed(ctx, &audit, func(ctx context.Context, q *sqlc.Queries) error {
		n, err := q.AddUser(ctx, sqlc.AddUserParams{Name: u.Name, Body: string(body), Hash: string(u.PasswordHash)})
		if err == nil && n == 0 {
			err = fmt.Errorf("%w: there is a user %s already", hazard.ErrConflict, u.Name)
		}
		return err
	})
}

func (a *Accounts) UpdateUser(ctx context.Context, name string, change func(*auth.User) error, audit auth.Audit) error {
	return a.changed(ctx, &audit, func(ctx context.Context, q *sqlc.Queries) error {
		row, err := q.User(ctx, name)
		if err != nil {
			return found(err, "user %s", name)
		}
		u, err := decodeUser(row.Body, row.Hash)
		if err != nil {
			return err
		}
		if err := change(&u); err != nil {
			return err
		}
		u.Name = name
		body, err := json.Marshal(u)
		if err != nil {
			return err
		}
		return q.SaveUser(ctx, sqlc.SaveUserParams{Name: name, Body: string(body), Hash: string(u.PasswordHash)})
	})
}

func (a *Accounts) CreateOrg(ctx context.Context, o auth.Org, audit auth.Audit) (auth.Org, error) {
	err := a.changed(ctx, &audit, func(ctx context.Context, q *sqlc.Queries) (err error) {
		if o.ID, err = q.Next(ctx, sqlc.NextParams{Name: "organization", Count: 1}); err != nil {
			return err
		}
		n, err := q.AddOrganization(ctx, sqlc.AddOrganizationParams{ID: o.ID, Acronym: o.Acronym, Name: o.Name})
		if err == nil && n == 0 {
			err = fmt.Errorf("%w: there is an organization %s already", hazard.ErrConflict, o.Acronym)
		}
		return err
	})
	return o, err
}

func (a *Accounts) AddKey(ctx context.Context, k auth.Key, newest string) error {
	return a.changed(ctx, nil, func(ctx context.Context, q *sqlc.Queries) error {
		keys, err := q.SigningKeys(ctx)
		if err != nil {
			return err
		}
		have := ""
		for _, key := range keys {
			if usable(key) {
				have = key.ID
			}
		}
		if have != newest {
			return fmt.Errorf("%w: another key was added", hazard.ErrConflict)
		}
		return q.AddSigningKey(ctx, sqlc.AddSigningKeyParams{ID: k.ID, Seed: k.Seed[:], CreatedMs: int64(k.Created), NotAfterMs: int64(k.NotAfter)})
	})
}

// usable reports whether a key can sign: its name is a text in each token.
func usable(k sqlc.SigningKey) bool {
	return utf8.ValidString(k.ID) && len(k.Seed) == len(auth.Key{}.Seed)
}

func (a *Accounts) AddReadKey(ctx context.Context, k auth.ReadKey, audit auth.Audit) error {
	return a.changed(ctx, &audit, func(ctx context.Context, q *sqlc.Queries) error {
		return q.AddReadKey(ctx, sqlc.AddReadKeyParams{ID: k.ID.String(), Username: k.User, Title: k.Title, Sum: k.Sum[:], CreatedMs: int64(k.Created), Scope: string(k.Scope)})
	})
}

func (a *Accounts) NoteUses(ctx context.Context, at map[uuid.UUID]hazard.Instant) error {
	return a.inTx(ctx, func(ctx context.Context, _ *sql.Tx, q *sqlc.Queries) error {
		for id, used := range at {
			if err := q.NoteUse(ctx, sqlc.NoteUseParams{ID: id.String(), UsedMs: int64(used)}); err != nil {
				return err
			}
		}
		return nil
	})
}

func (a *Accounts) RemoveReadKey(ctx context.Context, id uuid.UUID, audit auth.Audit) error {
	return a.changed(ctx, &audit, func(ctx context.Context, q *sqlc.Queries) error {
		n, err := q.RemoveReadKey(ctx, id.String())
		if err == nil && n == 0 {
			err = fmt.Errorf("%w: read key %s", hazard.ErrNotFound, id)
		}
		return err
	})
}

func (a *Accounts) Attempts(ctx context.Context, keys []string) ([]auth.Attempts, error) {
	attempts := make([]auth.Attempts, len(keys))
	for i, key := range keys {
		row, err := a.readQ.AttemptsOf(ctx, key)
		if none(err) {
			continue
		}
		if err != nil {
			return nil, storeError(err)
		}
		attempts[i] = auth.Attempts{Failures: row.Failures, LastFailure: hazard.Instant(row.LastFailureMs), LastSuccess: hazard.Instant(row.LastSuccessMs)}
	}
	return attempts, nil
}

func (a *Accounts) AddFailure(ctx context.Context, keys []string, at, forget hazard.Instant, audit *auth.Audit) error {
	return a.inTx(ctx, func(ctx context.Context, _ *sql.Tx, q *sqlc.Queries) error {
		for _, key := range keys {
			if err := q.AddFailure(ctx, sqlc.AddFailureParams{Key: key, AtMs: int64(at), ForgetMs: int64(forget)}); err != nil {
				return err
			}
		}
		return addAudit(ctx, q, audit)
	})
}

func (a *Accounts) AddSuccess(ctx context.Context, keys []string, at hazard.Instant, audit auth.Audit) error {
	return a.inTx(ctx, func(ctx context.Context, _ *sql.Tx, q *sqlc.Queries) error {
		for _, key := range keys {
			if err := q.AddSuccess(ctx, sqlc.AddSuccessParams{Key: key, AtMs: int64(at)}); err != nil {
				return err
			}
		}
		return addAudit(ctx, q, &audit)
	})
}

func (a *Accounts) AdvanceSession(ctx context.Context, next auth.Session) (after auth.Session, err error) {
	child, err := json.Marshal(next.Child)
	if err != nil {
		return after, err
	}
	err = a.inTx(ctx, func(ctx context.Context, _ *sql.Tx, q *sqlc.Queries) error {
		n, err := q.AdvanceSession(ctx, sqlc.AdvanceSessionParams{ID: next.ID.String(), Parent: next.Parent.String(), Refresh: next.Child.Refresh.String(), Child: string(child),
			UsedMs: int64(next.Used), Addr: addrText(next.Addr), Client: next.Client})
		if err == nil && n == 0 && next.Parent == next.ID {
			err = addSession(ctx, q, next, string(child))
		}
		if err != nil {
			return err
		}
		row, err := q.Session(ctx, next.ID.String())
		if err != nil {
			return found(err, "session %s", next.ID)
		}
		after, err = decodeSession(row)
		return err
	})
	return after, err
}

func addSession(ctx context.Context, q *sqlc.Queries, s auth.Session, child string) error {
	_, err := q.BeginSession(ctx, sqlc.BeginSessionParams{ID: s.ID.String(), Username: s.User, ExpiresMs: int64(s.Expires),
		Parent: s.Parent.String(), Refresh: s.Child.Refresh.String(), Child: child,
		CreatedMs: int64(s.Created), UsedMs: int64(s.Used), Addr: addrText(s.Addr), Client: s.Client, Provider: s.Provider})
	return err
}

func (a *Accounts) AddSession(ctx context.Context, s auth.Session) error {
	child, err := json.Marshal(s.Child)
	if err != nil {
		return err
	}
	return a.inTx(ctx, func(ctx context.Context, _ *sql.Tx, q *sqlc.Queries) error {
		return addSession(ctx, q, s, string(child))
	})
}

func (a *Accounts) Sessions(ctx context.Context, user string) ([]auth.Session, error) {
	rows, err := a.readQ.SessionsOf(ctx, user)
	if err != nil {
		return nil, storeError(err)
	}
	list := make([]auth.Session, len(rows))
	for i, row := range rows {
		if list[i], err = decodeSession(sqlc.SessionRow(row)); err != nil {
			return nil, err
		}
	}
	return list, nil
}

func (a *Accounts) ProviderSessions(ctx context.Context, provider string) ([]auth.Session, error) {
	rows, err := a.readQ.SessionsOfProvider(ctx, provider)
	if err != nil {
		return nil, storeError(err)
	}
	list := make([]auth.Session, len(rows))
	for i, row := range rows {
		if list[i], err = decodeSession(sqlc.SessionRow(row)); err != nil {
			return nil, err
		}
	}
	return list, nil
}

func (a *Accounts) Once(ctx context.Context, id uuid.UUID, until hazard.Instant) error {
	return a.inTx(ctx, func(ctx context.Context, _ *sql.Tx, q *sqlc.Queries) error {
		n, err := q.AddOnce(ctx, sqlc.AddOnceParams{ID: id.String(), UntilMs: int64(until)})
		if err == nil && n == 0 {
			err = fmt.Errorf("%w: used already", hazard.ErrConflict)
		}
		return err
	})
}

func (a *Accounts) ReplaceKeys(ctx context.Context, k auth.Key, audit auth.Audit) error {
	return a.changed(ctx, &audit, func(ctx context.Context, q *sqlc.Queries) error {
		return cmp.Or(q.RemoveSigningKeys(ctx), q.EndAllSessions(ctx),
			q.AddSigningKey(ctx, sqlc.AddSigningKeyParams{ID: k.ID, Seed: k.Seed[:], CreatedMs: int64(k.Created), NotAfterMs: int64(k.NotAfter)}))
	})
}

func decodeSession(row sqlc.SessionRow) (s auth.Session, err error) {
	id, err1 := uuid.Parse(row.ID)
	parent, err2 := uuid.Parse(row.Parent)
	s = auth.Session{ID: id, User: row.Username, Expires: hazard.Instant(row.ExpiresMs), Parent: parent, Revoked: hazard.Instant(row.RevokedMs),
		Created: hazard.Instant(row.CreatedMs), Used: hazard.Instant(row.UsedMs), Client: row.Client, Provider: row.Provider}
	addr, err3 := addrOf(row.Addr)
	s.Addr = addr
	if err := errors.Join(err1, err2, err3, json.Unmarshal([]byte(row.Child), &s.Child)); err != nil {
		return s, fmt.Errorf("stored session %s: %w", row.ID, err)
	}
	return s, nil
}

func (a *Accounts) RevokeSession(ctx context.Context, s auth.Session, until hazard.Instant, audit auth.Audit) error {
	child, err := json.Marshal(s.Child)
	if err != nil {
		return err
	}
	return a.inTx(ctx, func(ctx context.Context, _ *sql.Tx, q *sqlc.Queries) error {
		n, err := q.RevokeSession(ctx, sqlc.RevokeSessionParams{ID: s.ID.String(), Username: s.User, ExpiresMs: int64(s.Expires),
			Parent: s.Parent.String(), Refresh: s.Child.Refresh.String(), Child: string(child), RevokedMs: int64(s.Revoked)})
		if err != nil || n == 0 { // already revoked
			return err
		}
		if err := q.AddRevocation(ctx, sqlc.AddRevocationParams{ID: s.ID.String(), UntilMs: int64(until)}); err != nil {
			return err
		}
		if _, err := q.Next(ctx, sqlc.NextParams{Name: "auth", Count: 1}); err != nil {
			return err
		}
		return addAudit(ctx, q, &audit)
	})
}

func (a *Accounts) AddAudit(ctx context.Context, audit auth.Audit) error {
	return a.inTx(ctx, func(ctx context.Context, _ *sql.Tx, q *sqlc.Queries) error { return addAudit(ctx, q, &audit) })
}

func (a *Accounts) Trail(ctx context.Context, f auth.TrailFilter) ([]auth.Audit, error) {
	rows, err := a.readQ.Trail(ctx, sqlc.TrailParams{After: f.After, Before: cmp.Or(f.Before, math.MaxInt64), SinceMs: int64(f.Since),
		UntilMs: cmp.Or(int64(f.Until), math.MaxInt64), Username: f.User, Action: f.Action, Request: f.Request, MaxRows: int32(f.Limit)})
	if err != nil {
		return nil, storeError(err)
	}
	trail := make([]auth.Audit, len(rows))
	for i, r := range rows {
		trail[i] = auth.Audit{ID: r.ID, At: hazard.Instant(r.AtMs), Actor: r.Actor, Client: r.Client, Action: r.Action, Subject: r.Subject, Detail: r.Detail, OK: r.Ok, Request: r.Request}
		if trail[i].Addr, err = addrOf(r.Addr); err != nil {
			return nil, fmt.Errorf("stored audit row: %w", err)
		}
	}
	return trail, nil
}

// metaTrailSent is the id of the last audit row that was sent on.
const metaTrailSent = "audit sent"

// TrailToSend returns the first audit rows that were not sent on yet, the earliest first. Before anything
// was, it begins with the rows from now on.
func (a *Accounts) TrailToSend(ctx context.Context, limit int) (rows []auth.Audit, err error) {
	text, err := a.readQ.Meta(ctx, metaTrailSent)
	if none(err) {
		var last int64
		if err := a.reads.QueryRowContext(ctx, `SELECT coalesce(max(id), 0) FROM audit`).Scan(&last); err != nil {
			return nil, storeError(err)
		}
		return nil, a.TrailSent(ctx, last)
	}
	if err != nil {
		return nil, storeError(err)
	}
	after, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return nil, fmt.Errorf("the last audit row that was sent: %w", err)
	}
	found, err := a.reads.QueryContext(ctx, `SELECT id, at_ms, actor, addr, client, action, subject, detail, ok, request FROM audit WHERE id > $1 ORDER BY id LIMIT $2`, after, limit)
	if err != nil {
		return nil, storeError(err)
	}
	defer found.Close()
	for found.Next() {
		var r auth.Audit
		var addr string
		if err := found.Scan(&r.ID, &r.At, &r.Actor, &addr, &r.Client, &r.Action, &r.Subject, &r.Detail, &r.OK, &r.Request); err != nil {
			return nil, storeError(err)
		}
		if r.Addr, err = addrOf(addr); err != nil {
			return nil, fmt.Errorf("stored audit row: %w", err)
		}
		rows = append(rows, r)
	}
	return rows, storeError(found.Err())
}

// TrailSent records that the audit rows up to an id were sent on.
func (a *Accounts) TrailSent(ctx context.Context, id int64) error {
	return a.inTx(ctx, func(ctx context.Context, _ *sql.Tx, q *sqlc.Queries) error {
		return q.SetMeta(ctx, sqlc.SetMetaParams{Name: metaTrailSent, Value: strconv.FormatInt(id, 10)})
	})
}

// Purge removes old audit rows in several transactions, so that writers do not wait for a long
// trail.
func (a *Accounts) Purge(ctx context.Context, p auth.Purge) error {
	err := a.inTx(ctx, func(ctx context.Context, _ *sql.Tx, q *sqlc.Queries) error {
		return errors.Join(
			q.PurgeSessions(ctx, int64(p.Now)),
			q.PurgeRevocations(ctx, int64(p.Now)),
			q.PurgeSigningKeys(ctx, int64(p.Now)),
			q.PurgeAttempts(ctx, sqlc.PurgeAttemptsParams{FailuresBefore: int64(p.FailuresBefore), SuccessesBefore: int64(p.SuccessesBefore)}),
		)
	})
	for gone := int64(rowsAtOnce); err == nil && gone == rowsAtOnce; {
		err = a.inTx(ctx, func(ctx context.Context, _ *sql.Tx, q *sqlc.Queries) (err error) {
			gone, err = q.PurgeAudit(ctx, sqlc.PurgeAuditParams{BeforeMs: int64(p.AuditBefore), MaxRows: rowsAtOnce})
			return err
		})
	}
	return err
}
