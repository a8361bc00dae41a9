package auth

import (
	"crypto/ed25519"
	"fmt"
	"io"
	"log/slog"
)

// The types of secrets. Printed, formatted by any verb, logged or marshalled they are the word "redacted"; only a conversion,
// which is easy to see in the code, gives the secret itself. There is no String and no MarshalText on purpose: database
// drivers use those to write a value, and would store the word.
type (
	// Password is what a user typed.
	Password string
	// Hash is the argon2id hash of a password in PHC string format.
	Hash string
	// Seed is the private part of a signing key (RFC 8032, section 5.1.5).
	Seed [ed25519.SeedSize]byte
	// Pair is what a login gives: two tokens, and a third for a device that had none (see Origin).
	Pair struct {
		Access  string `json:"-"`
		Refresh string `json:"-"`
		Device  string `json:"-"` // empty: it keeps the one that it has
	}
)

const redacted = "redacted"

// Format writes the word "redacted", whatever the verb.
func (Password) Format(s fmt.State, _ rune) { io.WriteString(s, redacted) }

// Format writes the word "redacted", whatever the verb.
func (Hash) Format(s fmt.State, _ rune) { io.WriteString(s, redacted) }

// Format writes the word "redacted", whatever the verb.
func (Seed) Format(s fmt.State, _ rune) { io.WriteString(s, redacted) }

// Format writes the word "redacted", whatever the verb.
func (Pair) Format(s fmt.State, _ rune) { io.WriteString(s, redacted) }

// LogValue returns the word "redacted".
func (Password) LogValue() slog.Value { return slog.StringValue(redacted) }

// LogValue returns the word "redacted".
func (Hash) LogValue() slog.Value { return slog.StringValue(redacted) }

// LogValue returns the word "redacted".
func (Seed) LogValue() slog.Value { return slog.StringValue(redacted) }

// LogValue returns the word "redacted".
func (Pair) LogValue() slog.Value { return slog.StringValue(redacted) }

// MarshalJSON returns the word "redacted".
func (Password) MarshalJSON() ([]byte, error) { return []byte(`"` + redacted + `"`), nil }

// MarshalJSON returns the word "redacted".
func (Hash) MarshalJSON() ([]byte, error) { return []byte(`"` + redacted + `"`), nil }

// MarshalJSON returns the word "redacted".
func (Seed) MarshalJSON() ([]byte, error) { return []byte(`"` + redacted + `"`), nil }

// MarshalJSON returns the word "redacted".
func (Pair) MarshalJSON() ([]byte, error) { return []byte(`"` + redacted + `"`), nil }
