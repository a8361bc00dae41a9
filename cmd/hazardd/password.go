package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"golang.org/x/term"

	"github.com/hazardd/hazardd/internal/auth"
	"github.com/hazardd/hazardd/internal/hazard"
)

// passwordFlags choose the origin of a password. It is never a flag itself, because other users of
// the machine can read the command line.
type passwordFlags struct {
	PasswordStdin bool  `xor:"password" help:"Read the password from standard input. Default: ask for it, or generate one if there is no terminal."`
	Random        bool  `xor:"password" help:"Generate a random password, and print it."`
	ValidFor      *life `placeholder:"TIME" help:"When the password expires. Default: never."`
}

// password is a password, and whether it was generated.
type password struct {
	text   auth.Password
	random bool
}

// ends returns when the password expires; 0 means never.
func (f *passwordFlags) ends(now hazard.Instant) hazard.Instant {
	if f.ValidFor == nil {
		return 0
	}
	return now.Add(time.Duration(*f.ValidFor))
}

// maxPasswordInput bounds the input, in bytes. Package auth judges the password itself.
const maxPasswordInput = 4 << 10

func (f *passwordFlags) read(ctx context.Context, c *console) (password, error) {
	switch {
	case f.PasswordStdin:
		text, err := io.ReadAll(io.LimitReader(c.in, maxPasswordInput+1))
		if err != nil {
			return password{}, fmt.Errorf("read the password: %w", err)
		}
		line := strings.TrimSuffix(strings.TrimSuffix(string(text), "\n"), "\r")
		if strings.Contains(line, "\n") || len(text) > maxPasswordInput {
			return password{}, errors.New("password: expected one line on standard input")
		}
		return password{text: auth.Password(line)}, nil
	case f.Random || !c.inTerminal:
		return password{text: auth.RandomPassword(), random: true}, nil
	}
	first, err := ask(ctx, c, "Password: ")
	if err != nil {
		return password{}, err
	}
	again, err := ask(ctx, c, "The same again: ")
	if err != nil {
		return password{}, err
	}
	if first != again {
		return password{}, errors.New("the two passwords differ; nothing was changed")
	}
	return password{text: first}, nil
}

// ask reads a line from the terminal without showing it.
func ask(ctx context.Context, c *console, prompt string) (auth.Password, error) {
	fd := int(c.in.Fd())
	before, err := term.GetState(fd)
	if err != nil {
		return "", fmt.Errorf("read the password: %w", err)
	}
	fmt.Fprint(c.err, prompt)
	type answer struct {
		line []byte
		err  error
	}
	answers := make(chan answer, 1)
	// A read from a terminal cannot be canceled: if the user gives up, this goroutine lives until
	// the process ends.
	go func() {
		line, err := term.ReadPassword(fd)
		answers <- answer{line, err}
	}()
	select {
	case a := <-answers:
		fmt.Fprintln(c.err)
		if a.err != nil {
			return "", fmt.Errorf("read the password: %w", a.err)
		}
		return auth.Password(a.line), nil
	case <-ctx.Done():
		fmt.Fprintln(c.err)
		return "", errors.Join(ctx.Err(), term.Restore(fd, before))
	}
}
