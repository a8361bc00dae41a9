package auth

import (
	"crypto/ed25519"
	"fmt"
	"io"
	"log/slog"
)

// These are the types of secrets. If they are printed, formatted with any verb, logged or
// marshalled, the result is the word "redacted". Only a conversion, which is easy to see in the
// code, returns the secret itself. There is deliberately no String and no MarshalText: database
// drivers use these to write a value, and would store the word.
type (
	// Password is the password that a user typed.
	Password string
	// Hash is the argon2id hash of a password in PHC string format.
	Hash string
	// Seed is the private part of a signing key (RFC 8032, section 5.1.5).
	Seed [ed25519.SeedSize]byte
	// Pair is the result of a login: two tokens, and a third for a device that had none (see
	// Origin).
	Pair struct {
		Access  string `json:"-"`
		Refresh string `json:"-"`
		Device  string `json:"-"` // empty: the device keeps its present token
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
