package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/hazardd/hazardd/client"
)

type accountCmd struct {
	Passwd   accountPasswdCmd   `cmd:"" help:"Change your password and end all your sessions."`
	Sessions accountSessionsCmd `cmd:"" help:"List your sessions on the server."`
	End      accountEndCmd      `cmd:"" help:"End one of your sessions, with its tokens."`
}

// accountFlags are the flags of all account commands.
type accountFlags struct{ serverFlags }

// Validate reports contradicting flags before any password prompt.
func (a *accountFlags) Validate() error { return a.needed() }

// with logs in at the server and calls f.
func (a *accountFlags) with(ctx context.Context, c *console, f func(*client.Client) error) error {
	server, err := a.client(ctx, c, "hazardd-account")
	if err != nil {
		return err
	}
	return a.explain(f(server))
}

type accountPasswdCmd struct {
	Server        publicURL `default:"http://127.0.0.1:8080" placeholder:"URL" help:"Server to talk to."`
	User          string    `required:"" placeholder:"NAME" help:"User to log in as."`
	PasswordStdin bool      `help:"Read the old password and the new one from standard input, each on a line, and two codes of a second factor from two more: one to log in, one for the change. Without this they are asked for."`
}

// Run changes the password.
func (a *accountPasswdCmd) Run(ctx context.Context, c *console) error {
	old, fresh, code, err := a.read(ctx, c)
	if err != nil {
		return err
	}
	flags := serverFlags{Server: a.Server, User: a.User}
	server, err := client.New(string(a.Server), client.Options{Username: a.User, Password: old, Code: code, UserAgent: "hazardd-account"})
	if err != nil {
		return err
	}
	if err := server.ChangePassword(ctx, old, fresh); err != nil {
		return flags.explain(err)
	}
	result := struct {
		Changed bool `json:"changed"`
	}{true}
	return c.print(result, func(w io.Writer) error {
		_, err := fmt.Fprintln(w, "your password is changed, and all your sessions have ended")
		return err
	})
}

func (a *accountPasswdCmd) read(ctx context.Context, c *console) (old, fresh string, code func() (string, error), err error) {
	if a.PasswordStdin {
		lines, err := readLines(c, "passwords", 4, "two lines, and two more for codes of a second factor,")
		switch {
		case err != nil || len(lines) == 1:
			return "", "", nil, cmp.Or(err, errors.New("passwords: expected the old one and the new one on standard input, each on a line"))
		case len(lines) > 2:
			code = func() (string, error) {
				next := lines[2]
				if len(lines) > 3 {
					lines = slices.Delete(lines, 2, 3)
				}
				return next, nil
			}
		}
		return lines[0], lines[1], code, nil
	}
	if !c.inTerminal {
		return "", "", nil, errors.New("no terminal to ask for the passwords: use --password-stdin")
	}
	var answers [3]string
	for i, prompt := range []string{"Old password of " + a.User + ": ", "New password: ", "The same again: "} {
		p, err := ask(ctx, c, prompt)
		if err != nil {
			return "", "", nil, err
		}
		answers[i] = string(p)
	}
	if answers[1] != answers[2] {
		return "", "", nil, errors.New("the two new passwords differ; nothing was changed")
	}
	return answers[0], answers[1], askCode(ctx, c, a.User), nil
}

type accountSessionsCmd struct{ accountFlags }

// Run lists the sessions.
func (a *accountSessionsCmd) Run(ctx context.Context, c *console) error {
	return a.with(ctx, c, func(server *client.Client) error {
		list, err := server.Sessions(ctx)
		if err != nil {
			return err
		}
		return c.print(list.Items, func(w io.Writer) error {
			t := newTable("ID", "LOGGED IN", "LAST USED", "ADDRESS", "CLIENT", "")
			for _, s := range list.Items {
				current := ""
				if s.Current {
					current = "this one"
				}
				t.add(s.ID, clock(rfcTime(s.Created)), ago(rfcTime(s.LastUsed), c.now()), oneLine(s.Address), cut(s.Client, 50), current)
			}
			return t.write(w, c.colour)
		})
	})
}

// rfcTime parses an RFC 3339 time; it returns the zero time if text is not one.
func rfcTime(text string) time.Time {
	t, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return time.Time{}
	}
	return t
}

type accountEndCmd struct {
	ID string `arg:"" help:"ID of the session, from hazardd account sessions."`
	accountFlags
}

// Run ends the session.
func (a *accountEndCmd) Run(ctx context.Context, c *console) error {
	return a.with(ctx, c, func(server *client.Client) error {
		if err := server.EndSession(ctx, a.ID); err != nil {
			return err
		}
		result := struct {
			Ended string `json:"ended"`
		}{a.ID}
		return c.print(result, func(w io.Writer) error {
			_, err := fmt.Fprintln(w, "ended")
			return err
		})
	})
}
