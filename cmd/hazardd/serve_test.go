package main

import (
	"strings"
	"testing"
)

// A password on the command line is in the list of processes.
func TestPasswordsOnTheCommandLineAreRemarkedOn(t *testing.T) {
	for line, want := range map[string]string{
		"serve --smtp smtps://ann:secret@mail.example.org":                                      "--smtp",
		"serve --smtp=smtps://ann:secret@mail.example.org --database postgres://h:x@db/hazardd": "--smtp --database",
		"serve --smtp smtps://ann@mail.example.org --smtp-password-file /run/secrets/smtp":      "",
		"serve --listen 127.0.0.1:80 --public-url https://h.example.org":                        "",
	} {
		if got := strings.Join(passwordsIn(strings.Fields(line)), " "); got != want {
			t.Errorf("%s: %q, want %q", line, got, want)
		}
	}
}
