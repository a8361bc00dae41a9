package main

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
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
}

func TestErrorsUnderSystemdNameTheLineOfTheUnit(t *testing.T) {
	t.Setenv("INVOCATION_ID", "1")
	t.Setenv("SYSTEMD_EXEC_PID", strconv.Itoa(os.Getpid()))
	for errno, want := range map[syscall.Errno]string{syscall.EROFS: "ReadWritePaths=/data/backup", syscall.EACCES: "/etc/hazardd/secrets"} {
		if got := advise(&os.PathError{Op: "mkdir", Path: "/data/backup", Err: errno}, &globals{}); !strings.Contains(got, want) {
			t.Errorf("%v: advice %q", errno, got)
		}
	}
}
