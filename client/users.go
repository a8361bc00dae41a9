package client

import (
	"context"
	"net/http"
)

// User is an account, as admins see it.
type User struct {
	Name            string  `json:"name"`
	Role            string  `json:"role"` // reader, editor or admin
	Orgs            []int64 `json:"orgs"`
	Disabled        bool    `json:"disabled"`
	Created         string  `json:"created"` // RFC 3339, as all times here; empty if there is none
	PasswordChanged string  `json:"password_changed"`
	PasswordEnds    string  `json:"password_ends"` // from then on the password is refused; empty: never
	Issuer          string  `json:"issuer"`        // the OpenID provider that the user logs in at; empty: none
	Subject         string  `json:"subject"`       // the id of the user there
	Lapsed          string  `json:"lapsed"`        // since when that provider gives no role; empty: it gives one
	Password        string  `json:"password"`      // one that was made for this request; it is in no other answer
}

// UserPassword is a password that an admin gives to a user. Without Password one is made, which is accepted for 24 hours.
type UserPassword struct {
	Password string `json:"password,omitzero"`
	Ends     string `json:"password_ends,omitzero"` // RFC 3339; empty: a password that is given never ends
}

// NewUser is a user to be added.
type NewUser struct {
	Name         string  `json:"name"`
	Role         string  `json:"role"`
	Orgs         []int64 `json:"orgs,omitzero"`
	UserPassword `json:",inline"`
}

// UserFields are what is to change of a user; nil stays as it is.
type UserFields struct {
	Role     *string  `json:"role,omitzero"`
	Orgs     *[]int64 `json:"orgs,omitzero"`
	Disabled *bool    `json:"disabled,omitzero"`
}

// Organization is an organization, whose members may see what is restricted to it.
type Organization struct {
	ID      int64  `json:"id"`
	Acronym string `json:"acronym"`
	Name    string `json:"name"`
}

// Users lists all users by name. Like all that follows here it takes the role admin.
func (c *Client) Users(ctx context.Context) (List[User], error) {
	return listAt[User](ctx, c, nil, "users")
}

// User is one user.
func (c *Client) User(ctx context.Context, name string) (User, error) {
	return call[User](ctx, c, http.MethodGet, nil, "users", name)
}

// CreateUser adds a user. A password that was made is in the answer, and nowhere else.
func (c *Client) CreateUser(ctx context.Context, u NewUser) (User, error) {
	return call[User](ctx, c, http.MethodPost, &u, "users")
}

// PatchUser changes a user.
func (c *Client) PatchUser(ctx context.Context, name string, fields UserFields) (User, error) {
	return call[User](ctx, c, http.MethodPatch, &fields, "users", name)
}

// SetUserPassword gives a user another password, and ends the user's sessions.
func (c *Client) SetUserPassword(ctx context.Context, name string, p UserPassword) (User, error) {
	return call[User](ctx, c, http.MethodPost, &p, "users", name, "password")
}

// RemoveUser removes a user for good: nobody gets that name again.
func (c *Client) RemoveUser(ctx context.Context, name string) error {
	return c.remove(ctx, "users", name)
}

// Organizations lists all organizations by id.
func (c *Client) Organizations(ctx context.Context) (List[Organization], error) {
	return listAt[Organization](ctx, c, nil, "organizations")
}

// CreateOrganization adds an organization; its ID is in the answer.
func (c *Client) CreateOrganization(ctx context.Context, acronym, name string) (Organization, error) {
	return call[Organization](ctx, c, http.MethodPost, map[string]string{"acronym": acronym, "name": name}, "organizations")
}
