package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"

	"github.com/hazardd/hazardd/client"
)

// serverFlags name the server and the login of a command.
type serverFlags struct {
	Server        publicURL `default:"http://127.0.0.1:8080" placeholder:"URL" help:"Server to talk to."`
	User          string    `placeholder:"NAME" help:"User to log in as."`
	PasswordStdin bool      `xor:"secret" help:"Read the password from standard input, and a code of a second factor from its second line. Default: ask for them."`
	TokenStdin    bool      `xor:"secret" help:"Read the output of hazardd token from standard input, instead of a user and password."`
}

// nobody reports whether no login is given.
func (e *serverFlags) nobody() bool { return e.User == "" && !e.TokenStdin }

// Validate reports contradicting flags before any password prompt.
func (e *serverFlags) Validate() error {
	if e.User != "" && e.TokenStdin {
		return errors.New("--user and --token-stdin exclude each other")
	}
	return nil
}

// needed is Validate for commands that always need a login.
func (e *serverFlags) needed() error {
	if e.nobody() {
		return errors.New("a login is missing: give --user NAME, or --token-stdin")
	}
	return e.Validate()
}

// explain adds advice to an error of the server.
func (e *serverFlags) explain(err error) error {
	switch {
	case errors.Is(err, client.ErrUnauthorized):
		return fmt.Errorf("%w: check the user and the password, and the code of a second factor; a token is valid for an hour only", err)
	case isNetwork(err):
		// Not wrapped: explain would advise about --listen.
		return fmt.Errorf("%v: check that a server is running at %s, or name another with --server", err, e.Server)
	}
	return err
}

func isNetwork(err error) bool {
	_, is := errors.AsType[net.Error](err)
	return is && !errors.Is(err, context.Canceled)
}

// client returns a client of the server. agent is its User-Agent.
func (e *serverFlags) client(ctx context.Context, c *console, agent string) (*client.Client, error) {
	o := client.Options{Username: e.User, UserAgent: agent}
	switch {
	case e.TokenStdin:
		text, err := readSecret(c, "token")
		if err != nil {
			return nil, err
		}
		if o.Token, o.RefreshToken, err = readToken(text); err != nil {
			return nil, err
		}
	case e.PasswordStdin:
		lines, err := readLines(c, "password", 2, "a line, and a second one for a code of a second factor,")
		if err != nil {
			return nil, err
		}
		if o.Password = lines[0]; len(lines) > 1 {
			o.Code = func() (string, error) { return lines[1], nil }
		}
	case c.inTerminal:
		password, err := ask(ctx, c, "Password of "+e.User+": ")
		if err != nil {
			return nil, err
		}
		o.Password, o.Code = string(password), askCode(ctx, c, e.User)
	default:
		return nil, errors.New("no terminal to ask for the password: use --password-stdin")
	}
	if o.Username != "" && o.Password == "" {
		return nil, errors.New("the password is empty")
	}
	return client.New(string(e.Server), o)
}

// readToken parses the output of hazardd token, with or without --json.
func readToken(text string) (access, refresh string, err error) {
	if !strings.HasPrefix(text, "{") {
		return text, "", nil
	}
	var pair struct {
		AccessToken  string `json:"accessToken"`
		RefreshToken string `json:"refreshToken"`
	}
	if err := json.Unmarshal([]byte(text), &pair); err != nil || pair.AccessToken == "" {
		return "", "", errors.New("token: expected what hazardd token prints, with or without --json")
	}
	return pair.AccessToken, pair.RefreshToken, nil
}

// askCode returns a function that asks for a code of a second factor.
func askCode(ctx context.Context, c *console, user string) func() (string, error) {
	return func() (string, error) {
		code, err := ask(ctx, c, "Code of the second factor of "+user+": ")
		return strings.TrimSpace(string(code)), err
	}
}

// readSecret reads one line from standard input.
func readSecret(c *console, what string) (string, error) {
	lines, err := readLines(c, what, 1, "one line")
	if err != nil {
		return "", err
	}
	return lines[0], nil
}

// readLines reads at least one line from standard input, at most so many; expected says so.
func readLines(c *console, what string, most int, expected string) ([]string, error) {
	text, err := io.ReadAll(io.LimitReader(c.in, maxPasswordInput+1))
	if err != nil {
		return nil, fmt.Errorf("read the %s: %w", what, err)
	}
	lines := strings.Split(strings.TrimSuffix(strings.ReplaceAll(string(text), "\r\n", "\n"), "\n"), "\n")
	if len(lines) > most || len(text) > maxPasswordInput || slices.Contains(lines, "") {
		return nil, fmt.Errorf("%s: expected %s on standard input", what, expected)
	}
	return lines, nil
}
