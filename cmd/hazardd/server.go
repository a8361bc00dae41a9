package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"

	"github.com/go-json-experiment/json"

	"github.com/hazardd/hazardd/client"
)

// serverFlags say which server a command talks to, and as whom.
type serverFlags struct {
	Server        publicURL `default:"http://127.0.0.1:8080" placeholder:"URL" help:"Server to talk to."`
	User          string    `placeholder:"NAME" help:"User to log in as."`
	PasswordStdin bool      `xor:"secret" help:"Read the password from standard input. Without this it is asked for."`
	TokenStdin    bool      `xor:"secret" help:"Read what hazardd token prints from standard input, in place of a user and password."`
}

// nobody tells whether it was not said who talks.
func (e *serverFlags) nobody() bool { return e.User == "" && !e.TokenStdin }

// Validate refuses what does not go together, before anything is asked for.
func (e *serverFlags) Validate() error {
	if e.User != "" && e.TokenStdin {
		return errors.New("--user and --token-stdin exclude each other")
	}
	return nil
}

// needed is Validate for commands that always talk to the server.
func (e *serverFlags) needed() error {
	if e.nobody() {
		return errors.New("say who asks: --user NAME, or --token-stdin")
	}
	return e.Validate()
}

// explain adds what to do about an error of the server.
func (e *serverFlags) explain(err error) error {
	switch {
	case errors.Is(err, client.ErrUnauthorized):
		return fmt.Errorf("%w: see that user and password are right; a token lasts an hour", err)
	case isNetwork(err):
		// Not wrapped: it is not about an address of ours.
		return fmt.Errorf("%v: see that a server runs at %s, or name another with --server", err, e.Server)
	}
	return err
}

func isNetwork(err error) bool {
	_, is := errors.AsType[net.Error](err)
	return is && !errors.Is(err, context.Canceled)
}

// client makes a client of the server. agent names the program to it.
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
		text, err := readSecret(c, "password")
		if err != nil {
			return nil, err
		}
		o.Password = text
	case c.inTerminal:
		password, err := ask(ctx, c, "Password of "+e.User+": ")
		if err != nil {
			return nil, err
		}
		o.Password = string(password)
	default:
		return nil, errors.New("there is no terminal to ask for the password on: give it with --password-stdin")
	}
	if o.Username != "" && o.Password == "" {
		return nil, errors.New("the password is empty")
	}
	return client.New(string(e.Server), o)
}

// readToken reads what hazardd token prints, with or without --json.
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

// readSecret reads one line from standard input.
func readSecret(c *console, what string) (string, error) {
	text, err := io.ReadAll(io.LimitReader(c.in, maxPasswordInput+1))
	if err != nil {
		return "", fmt.Errorf("read the %s: %w", what, err)
	}
	line := strings.TrimSuffix(strings.TrimSuffix(string(text), "\n"), "\r")
	if strings.Contains(line, "\n") || len(text) > maxPasswordInput || line == "" {
		return "", fmt.Errorf("%s: expected one line on standard input", what)
	}
	return line, nil
}
