package auth

import (
	"time"

	"github.com/hazardd/hazardd/internal/hazard"
)

// UserRecord is a user as admins see it, by GET /users and hazardd user list --json.
type UserRecord struct {
	Name            string     `json:"name"`
	Role            Role       `json:"role"`
	Orgs            []int64    `json:"orgs"`
	Disabled        bool       `json:"disabled"`
	Created         *time.Time `json:"created"`
	PasswordChanged *time.Time `json:"password_changed"`
	PasswordEnds    *time.Time `json:"password_ends"`
	// Issuer and Subject name a user of an OpenID provider; Lapsed is since when the provider gives no role.
	Issuer  string     `json:"issuer,omitzero"`
	Subject string     `json:"subject,omitzero"`
	Lapsed  *time.Time `json:"lapsed,omitzero"`
	// Password is there only in the answer to the request or command that had it made: nobody knows it yet.
	Password string `json:"password,omitzero"`
}

// Record returns the user as admins see it.
func (u User) Record() UserRecord {
	return UserRecord{Name: u.Name, Role: u.Role, Orgs: u.Orgs, Disabled: u.Disabled, Created: Moment(u.Created), PasswordChanged: Moment(u.PasswordChanged),
		PasswordEnds: Moment(u.PasswordEnds), Issuer: u.Issuer, Subject: u.Subject, Lapsed: Moment(u.Lapsed)}
}

// Moment is an instant of an account as JSON has it: nil if it never was.
func Moment(i hazard.Instant) *time.Time {
	if i == 0 {
		return nil
	}
	return new(i.Time())
}
