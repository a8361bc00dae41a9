package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/url"
	"strings"
	"syscall"

	"github.com/hazardd/hazardd/internal/hazard"
)

// explain adds to an error what to do about it, where that does not follow from its own words.
func explain(ctx context.Context, err error, g *globals) error {
	if interrupted(ctx) && (errors.Is(err, context.Canceled) || errors.Is(err, context.Cause(ctx))) {
		return errors.New("interrupted")
	}
	if advice := advise(err, g); advice != "" {
		return fmt.Errorf("%w: %s", err, advice)
	}
	return err
}

func advise(err error, g *globals) string {
	socket, network := errors.AsType[*net.OpError](err)
	path, file := errors.AsType[*fs.PathError](err)
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return "stop the program that listens there, or choose another address with --listen (of plain HTTP: --http-listen)"
	case network && socket.Op == "dial":
		return "see that the server at that address runs and can be reached from here"
	case network && errors.Is(err, fs.ErrPermission):
		return "ports below 1024 need a privilege; choose another one with --listen"
	case network:
		return "choose an address of this machine with --listen"
	case errors.Is(err, hazard.ErrFull), errors.Is(err, syscall.ENOSPC):
		return fmt.Sprintf("make room on the disk of %s, then try again", g.place())
	case file && (errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.EROFS)):
		return fmt.Sprintf("let the user that runs hazardd read and write %s, or choose another folder with --data", path.Path)
	case file && (errors.Is(err, syscall.ENOTDIR) || errors.Is(err, fs.ErrExist)):
		return "choose another folder with --data"
	case errors.Is(err, hazard.ErrUnavailable):
		return fmt.Sprintf("see that %s can be read and written, is undamaged, and that no other program keeps it locked; then try again", g.place())
	}
	return ""
}

// flags is what a command needs to be told to find the same store.
func (g *globals) flags() string {
	text := ""
	if g.Data != defaultData {
		text += " --data " + g.Data
	}
	if g.Database != "" {
		text += " --database " + shown(g.Database)
	}
	return text
}

// shown is the URL of a database for a command line.
func shown(database string) string {
	return "'" + strings.ReplaceAll(redacted(database), "'", `'\''`) + "'"
}

// redacted hides the password of a database's URL.
func redacted(database string) string {
	u, err := url.Parse(database)
	if err != nil {
		return "URL"
	}
	return u.Redacted()
}

// place is where the store is, for people.
func (g *globals) place() string {
	if g.Database != "" {
		return "the database"
	}
	return "the data folder " + g.Data
}
