package client

import (
	"context"
	"net/http"
)

// User is an account. Times are RFC 3339, and empty if unknown.
type User struct {
	Name            string  `json:"name"`
	DisplayName     string  `json:"display_name"` // what readers without an account see; empty means the organization's name
	Role            string  `json:"role"`         // reader, editor or admin
	Orgs            []int64 `json:"orgs"`
	Disabled        bool    `json:"disabled"`
	Created         string  `json:"created"`
	PasswordChanged string  `json:"password_changed"`
	PasswordEnds    string  `json:"password_ends"` // when the password expires; empty means never
	Issuer          string  `json:"issuer"`        // OpenID provider at which the user logs in; empty means none
	Subject         string  `json:"subject"`       // ID of the user at that provider
	Lapsed          string  `json:"lapsed"`        // since when the provider grants no role; empty if it grants one
	SecondFactor    bool    `json:"second_factor"` // logins need a code
	Password        string  `json:"password"`      // a generated password; only in the answer that generated it
}

// UserPassword is a password that an admin sets. If Password is empty, the server generates one
// that is valid for 24 hours.
type UserPassword struct {
	Password string `json:"password,omitzero"`
	Ends     string `json:"password_ends,omitzero"` // RFC 3339; if empty, a given password never expires
}

// NewUser describes a user to create.
type NewUser struct {
	Name         string  `json:"name"`
	Role         string  `json:"role"`
	Orgs         []int64 `json:"orgs,omitzero"`
	UserPassword `json:",inline"`
}

// UserFields are changes to a user. A nil field stays unchanged.
type UserFields struct {
	DisplayName *string  `json:"display_name,omitzero"`
	Role        *string  `json:"role,omitzero"`
	Orgs        *[]int64 `json:"orgs,omitzero"`
	Disabled    *bool    `json:"disabled,omitzero"`
}

// Organization is an organization. Its members may see what is restricted to it.
type Organization struct {
	ID      int64  `json:"id"`
	Acronym string `json:"acronym"`
	Name    string `json:"name"`
}

// Users lists all users by name.
func (a Admin) Users(ctx context.Context) (List[User], error) {
	return listAt[User](ctx, a.c, nil, "users")
}

// User returns one user.
func (a Admin) User(ctx context.Context, name string) (User, error) {
	return call[User](ctx, a.c, http.MethodGet, nil, "users", name)
}

// CreateUser creates a user. A generated password is only in this answer.
func (a Admin) CreateUser(ctx context.Context, u NewUser) (User, error) {
	return call[User](ctx, a.c, http.MethodPost, &u, "users")
}

// PatchUser changes a user.
func (a Admin) PatchUser(ctx context.Context, name string, fields UserFields) (User, error) {
	return call[User](ctx, a.c, http.MethodPatch, &fields, "users", name)
}

// SetUserPassword replaces a user's password, and ends the user's sessions.
func (a Admin) SetUserPassword(ctx context.Context, name string, p UserPassword) (User, error) {
	return call[User](ctx, a.c, http.MethodPost, &p, "users", name, "password")
}

// RemoveUser permanently removes a user. The name cannot be used again.
func (a Admin) RemoveUser(ctx context.Context, name string) error {
	return a.c.remove(ctx, "users", name)
}

// Organizations lists all organizations by ID.
func (a Admin) Organizations(ctx context.Context) (List[Organization], error) {
	return listAt[Organization](ctx, a.c, nil, "organizations")
}

// CreateOrganization creates an organization. The answer has its ID.
func (a Admin) CreateOrganization(ctx context.Context, acronym, name string) (Organization, error) {
	return call[Organization](ctx, a.c, http.MethodPost, map[string]string{"acronym": acronym, "name": name}, "organizations")
}
