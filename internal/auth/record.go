package auth

import (
	"strings"
	"time"

	"github.com/hazardd/hazardd/internal/hazard"
)

// UserRecord is a user as shown to admins, by GET /users and hazardd user list --json.
type UserRecord struct {
	Name string `json:"name"`
	// DisplayName is the name that readers without an account see; empty means the organization's.
	DisplayName     string     `json:"display_name"`
	Role            Role       `json:"role"`
	Orgs            []int64    `json:"orgs"`
	Disabled        bool       `json:"disabled"`
	Created         *time.Time `json:"created"`
	PasswordChanged *time.Time `json:"password_changed"`
	PasswordEnds    *time.Time `json:"password_ends"`
	// Issuer and Subject identify a user of an OpenID provider. Lapsed is since when the provider
	// gives no role.
	Issuer  string     `json:"issuer,omitzero"`
	Subject string     `json:"subject,omitzero"`
	Lapsed  *time.Time `json:"lapsed,omitzero"`
	// SecondFactor says that logins need a code.
	SecondFactor bool `json:"second_factor"`
	// Password is set only in the answer to the request or command that created it, because nobody
	// knows it yet.
	Password string `json:"password,omitzero"`
}

// Record returns the user as shown to admins.
func (u User) Record() UserRecord {
	return UserRecord{Name: u.Name, DisplayName: u.DisplayName, Role: u.Role, Orgs: u.Orgs, Disabled: u.Disabled, Created: Moment(u.Created), PasswordChanged: Moment(u.PasswordChanged),
		PasswordEnds: Moment(u.PasswordEnds), Issuer: u.Issuer, Subject: u.Subject, Lapsed: Moment(u.Lapsed), SecondFactor: u.HasFactor()}
}

// Moment returns an instant of an account for JSON; nil for an instant of 0.
func Moment(i hazard.Instant) *time.Time {
	if i == 0 {
		return nil
	}
	return new(i.Time())
}

// AuditRecord is an Audit as shown by GET /audit and hazardd audit --json.
type AuditRecord struct {
	ID      int64     `json:"id"`
	Time    time.Time `json:"time"`
	User    string    `json:"user"`
	Address string    `json:"address"`
	Client  string    `json:"client"`
	Action  string    `json:"action"`
	Subject string    `json:"subject"`
	Detail  string    `json:"detail"`
	OK      bool      `json:"ok"`
	Request string    `json:"request"`
}

// Record returns the row as shown to people and programs.
func (a Audit) Record() AuditRecord {
	// What a request named may be no text, and JSON of such a row would fail with all rows beside it.
	text := func(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }
	r := AuditRecord{ID: a.ID, Time: a.At.Time(), User: text(a.Actor), Client: text(a.Client), Action: a.Action, Subject: text(a.Subject), Detail: text(a.Detail), OK: a.OK, Request: a.Request}
	if a.Addr.IsValid() {
		r.Address = a.Addr.String()
	}
	return r
}
