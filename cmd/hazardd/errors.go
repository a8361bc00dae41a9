package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"github.com/hazardd/hazardd/internal/auth/secret"
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
	case file && underSystemd() && (errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.EROFS)):
		return adviseUnit(path)
	case file && (errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.EROFS)):
		return fmt.Sprintf("give the user that runs hazardd permission to read and write %s, or choose another folder with --data", path.Path)
	case file && (errors.Is(err, syscall.ENOTDIR) || errors.Is(err, fs.ErrExist)):
		return "choose another folder with --data"
	case errors.Is(err, hazard.ErrUnavailable):
		return fmt.Sprintf("check that %s is readable, writable and undamaged, and that no other program locks it; then try again", g.place())
	}
	return ""
}

// adviseUnit says how the service of systemd gets at a file or folder that is closed to it.
func adviseUnit(err *fs.PathError) string {
	place := err.Path
	if !filepath.IsAbs(place) { // within a folder that is open
		place = "the folder"
	}
	switch {
	case filepath.Dir(place) == secret.Folder:
		return fmt.Sprintf("the unit of hazardd handed on no such file when it started: create it in %s, then run systemctl restart hazardd", secret.Folder)
	case errors.Is(err, syscall.EROFS):
		return fmt.Sprintf("the unit of hazardd makes it read-only: add ReadWritePaths=%s below [Service] (systemctl edit hazardd), and make it a folder of the user hazardd (install -d -o hazardd -g hazardd -m 700 %[1]s)", place)
	case err.Op == "open" && place == err.Path:
		return fmt.Sprintf("the user hazardd cannot open it: move a file with a secret to %s, from where the unit hands it on; let others be read by the group hazardd (chgrp hazardd %s; chmod 640 %[2]s)", secret.Folder, place)
	}
	return fmt.Sprintf("the user hazardd cannot write there: give %s to it (chown -R hazardd:hazardd; install -d -o hazardd -g hazardd -m 700 makes one)", place)
}

// adviseLine adds to an error in the log how the service of systemd gets at what is closed to it.
func adviseLine(_ []string, a slog.Attr) slog.Attr {
	err, ok := a.Value.Any().(error)
	if !ok || !underSystemd() {
		return a
	}
	if path, ok := errors.AsType[*fs.PathError](err); ok && (errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.EROFS)) {
		return slog.String(a.Key, fmt.Sprintf("%v: %s", err, adviseUnit(path)))
	}
	return a
}

// underSystemd reports whether systemd runs this program as a service.
func underSystemd() bool {
	return os.Getenv("INVOCATION_ID") != "" && os.Getenv("SYSTEMD_EXEC_PID") == strconv.Itoa(os.Getpid())
}

// tellSystemd sends a line to systemd, if that waits for it (Type=notify, sd_notify(3)).
func tellSystemd(line string) error {
	name := os.Getenv("NOTIFY_SOCKET")
	if name == "" {
		return nil
	}
	conn, err := net.Dial("unixgram", name)
	if err != nil {
		return err
	}
	_, err = conn.Write([]byte(line))
	return errors.Join(err, conn.Close())
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
