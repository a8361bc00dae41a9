package main

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/hazardd/hazardd/internal/store"
)

// A file of /etc/hazardd/secrets is read where systemd has put it for the service.
func TestASecretIsReadFromSystemdsCredentials(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "secrets_smtp-password"), []byte("x"), 0o400); err != nil {
		t.Fatal(err)
	}
	t.Setenv("CREDENTIALS_DIRECTORY", dir)
	for path, want := range map[string]string{
		"/etc/hazardd/secrets/smtp-password": filepath.Join(dir, "secrets_smtp-password"),
		"/etc/hazardd/secrets/other":         "/etc/hazardd/secrets/other",
		"/etc/hazardd/smtp-password":         "/etc/hazardd/smtp-password",
	} {
		cli, err := parseIn(t, "smtp-password-file: "+path, nil, "serve")
		if err != nil || cli.Serve.SMTPPassword != want {
			t.Errorf("%s is read from %s, error %v; want %s", path, cli.Serve.SMTPPassword, err, want)
		}
	}
	t.Setenv("HAZARDD_S3_SECRET_KEY_FILE", "/etc/hazardd/secrets/smtp-password")
	if key, err := secretVariable("HAZARDD_S3_SECRET_KEY"); key != "x" || err != nil {
		t.Errorf("the key in a file is %q, error %v", key, err)
	}
}

func TestErrorsUnderSystemdNameTheLineOfTheUnit(t *testing.T) {
	t.Setenv("INVOCATION_ID", "1")
	t.Setenv("SYSTEMD_EXEC_PID", strconv.Itoa(os.Getpid()))
	for want, failed := range map[string]*os.PathError{
		"ReadWritePaths=/data/backup":         {Op: "mkdir", Path: "/data/backup", Err: syscall.EROFS},
		"ReadWritePaths=/var/log/audit.json":  {Op: "open", Path: "/var/log/audit.json", Err: syscall.EROFS},
		"give /srv/backup to it":              {Op: "mkdir", Path: "/srv/backup", Err: syscall.EACCES},
		"give the folder to it":               {Op: "mkdirat", Path: "20261127", Err: syscall.EACCES},
		"move a file with a secret to /etc/h": {Op: "open", Path: "/etc/hazardd/smtp-password", Err: syscall.EACCES},
		"handed on no such file":              {Op: "open", Path: "/etc/hazardd/secrets/smtp-password", Err: syscall.EACCES},
	} {
		wrapped := fmt.Errorf("a setting: %w", failed)
		if got := advise(wrapped, &globals{}); !strings.Contains(got, want) {
			t.Errorf("%v: advice %q, want %q in it", failed, got, want)
		}
		if got := adviseLine(nil, slog.Any("error", wrapped)).Value.String(); !strings.Contains(got, want) {
			t.Errorf("the log says %q, want %q in it", got, want)
		}
	}
	other := errors.New("no answer")
	if got := adviseLine(nil, slog.Any("error", other)); got.Value.Any() != any(other) {
		t.Errorf("another error became %v", got)
	}
}

func TestSystemdIsToldWhenTheServiceIsReady(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("there is no systemd")
	}
	name := filepath.Join(t.TempDir(), "notify")
	systemd, err := net.ListenPacket("unixgram", name)
	if err != nil {
		t.Fatal(err)
	}
	defer systemd.Close()
	t.Setenv("NOTIFY_SOCKET", name)
	if err := tellSystemd("READY=1"); err != nil {
		t.Fatal(err)
	}
	line := make([]byte, 100)
	if n, _, err := systemd.ReadFrom(line); err != nil || string(line[:n]) != "READY=1" {
		t.Errorf("systemd reads %q, error %v", line[:n], err)
	}
	t.Setenv("NOTIFY_SOCKET", name+"-gone")
	if err := tellSystemd("READY=1"); err == nil {
		t.Error("nobody listens, and no error says so")
	}
}

// What root makes in the folder of the service, the service could not open.
func TestRootMakesNoDatabaseInAnothersFolder(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root, to give a folder to another user")
	}
	dir := t.TempDir()
	if err := os.Chown(dir, 12345, 12345); err != nil {
		t.Fatal(err)
	}
	g := globals{Data: dir}
	err := g.withStore(t.Context(), func(*store.Store) error { return nil })
	if err == nil || !strings.Contains(err.Error(), "start the service first") {
		t.Errorf("a store in the folder of another user: %v", err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("the folder holds %v, error %v", left, err)
	}
}

func TestAMissingFlagIsNotTheFaultOfTheFile(t *testing.T) {
	_, err := parseIn(t, "sources: none", nil, "user", "add", "ann")
	if err == nil || !strings.HasPrefix(err.Error(), "missing flags: --role") {
		t.Errorf("without a role: %v", err)
	}
}
