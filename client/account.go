package client

import (
	"context"
	"errors"
	"net/http"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Session is a login of the user, on one device or in one program.
type Session struct {
	ID       string `json:"id"`
	Created  string `json:"created"`   // RFC 3339: when the user logged in
	LastUsed string `json:"last_used"` // when it last logged in or renewed a token
	Expires  string `json:"expires"`
	Address  string `json:"address"` // address of the last use
	Client   string `json:"client"`  // program of the last use
	Current  bool   `json:"current"` // whether the client's own token belongs to it
}

// Sessions lists the user's active sessions, most recently used first.
func (c *Client) Sessions(ctx context.Context) (List[Session], error) {
	return listAt[Session](ctx, c, nil, "account", "sessions")
}

// EndSession ends a session of the user and revokes its tokens.
func (c *Client) EndSession(ctx context.Context, id string) error {
	p, err := pathOf("account", "sessions", id)
	if err != nil {
		return err
	}
	resp, err := c.do(ctx, newRequest(http.MethodDelete, p, nil))
	if err != nil {
		return err
	}
	return resp.Body.Close()
}

// SetDisplayName sets the name under which readers without an account see the client's user; empty
// means the organization's name.
func (c *Client) SetDisplayName(ctx context.Context, display string) error {
	_, err := call[jsontext.Value](ctx, c, http.MethodPatch, map[string]string{"display_name": display}, "account")
	return err
}

// ChangePassword changes the user's password. It ends all sessions, including the client's own, so
// the client cannot be used afterwards.
func (c *Client) ChangePassword(ctx context.Context, old, fresh string) error {
	err := c.changePassword(ctx, map[string]string{"old": old, "new": fresh})
	p, ok := errors.AsType[*Problem](err)
	if !ok || !p.needsCode || c.session.code == nil {
		return err
	}
	code, err := c.session.code() // another than that of the login: each works once
	if err != nil {
		return err
	}
	return c.changePassword(ctx, map[string]string{"old": old, "new": fresh, "otp": code})
}

func (c *Client) changePassword(ctx context.Context, body map[string]string) error {
	text, err := json.Marshal(body)
	if err != nil {
		return &InputError{"the passwords are not valid text"}
	}
	r := newRequest(http.MethodPost, "/account/password", nil)
	r.body = content(text)
	r.header.Set("Content-Type", "application/json")
	resp, err := c.do(ctx, r)
	if err != nil {
		return err
	}
	return resp.Body.Close()
}
