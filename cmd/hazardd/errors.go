package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/url"
	"os"
	"strconv"
	"strings"
	"syscall"

	"github.com/hazardd/hazardd/internal/hazard"
)

// explain adds advice to an error that does not say what to do.
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
		return "check that the server at that address is running and reachable from here"
	case network && errors.Is(err, fs.ErrPermission) && underSystemd():
		return "ports below 1024 need a privilege: the unit of hazardd needs AmbientCapabilities=CAP_NET_BIND_SERVICE and CapabilityBoundingSet=CAP_NET_BIND_SERVICE, and no PrivateUsers=yes (systemctl edit hazardd)"
	case network && errors.Is(err, fs.ErrPermission):
		return "ports below 1024 need a privilege; choose another port with --listen"
	case network:
		return "choose an address of this machine with --listen"
	case errors.Is(err, hazard.ErrFull), errors.Is(err, syscall.ENOSPC):
		return fmt.Sprintf("free some space on the disk of %s, then try again", g.place())
	case file && errors.Is(err, syscall.EROFS) && underSystemd():
		return fmt.Sprintf("the unit of hazardd makes it read-only: add ReadWritePaths=%s below [Service] (systemctl edit hazardd), and make it a folder of the user hazardd", path.Path)
	case file && errors.Is(err, fs.ErrPermission) && underSystemd():
		return fmt.Sprintf("the user hazardd cannot read and write %s: give it a folder of its own (install -d -o hazardd -g hazardd -m 700), and put files with secrets into %s, from where the unit hands them on", path.Path, secretsFolder)
	case file && (errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.EROFS)):
		return fmt.Sprintf("give the user that runs hazardd permission to read and write %s, or choose another folder with --data", path.Path)
	case file && (errors.Is(err, syscall.ENOTDIR) || errors.Is(err, fs.ErrExist)):
		return "choose another folder with --data"
	case errors.Is(err, hazard.ErrUnavailable):
		return fmt.Sprintf("check that %s is readable, writable and undamaged, and that no other program locks it; then try again", g.place())
	}
	return ""
}

// underSystemd reports whether systemd runs this program as a service.
func underSystemd() bool {
	return os.Getenv("INVOCATION_ID") != "" && os.Getenv("SYSTEMD_EXEC_PID") == strconv.Itoa(os.Getpid())
}

// flags returns the flags that make another command use the same store.
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

// shown returns a database URL for a command line that is shown, without its password.
func shown(database string) string {
	return "'" + strings.ReplaceAll(redacted(database), "'", `'\''`) + "'"
}

// redacted returns a database URL without its password.
func redacted(database string) string {
	u, err := url.Parse(database)
	if err != nil {
		return "URL"
	}
	return u.Redacted()
}

// place returns where the store is, for people.
func (g *globals) place() string {
	if g.Database != "" {
		return "the database"
	}
	return "the data folder " + g.Data
}
