package tell

import (
	"bytes"
	"net/netip"
	"path"
	"reflect"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json"

	"github.com/hazardd/hazardd/internal/auth"
	"github.com/hazardd/hazardd/internal/hazard"
)

// Author is the sender of a request. Caller is nil for people without an account.
type Author struct {
	*auth.Caller
	Addr netip.Addr
}

// User returns the author's username, empty without an account.
func (a Author) User() string {
	if a.Caller == nil {
		return ""
	}
	return a.Name
}

// Admin reports whether the author is an admin.
func (a Author) Admin() bool { return a.Caller != nil && a.Role == auth.Admin }

// Owns reports whether the author may see and change what belongs to a user.
func (a Author) Owns(user string) bool { return a.Admin() || a.Caller != nil && a.Name == user }

// Audit returns the audit row of an action of the author.
func (a Author) Audit(action, subject, detail string, now hazard.Instant) *auth.Audit {
	return &auth.Audit{At: now, Actor: a.User(), Addr: a.Addr, Action: action, Subject: subject, Detail: detail, OK: true}
}

// Tested is the result of a test message.
type Tested struct {
	Channel   string `json:"channel,omitzero"` // of a subscription
	Delivered bool   `json:"delivered"`
	Status    int    `json:"status,omitzero"` // HTTP status of a webhook's answer
	Error     string `json:"error,omitzero"`  // kind of error
	Took      int64  `json:"took_ms"`
	Message   string `json:"message_id"`
}

// maxName is the maximum length of a name in bytes.
const maxName = 200

// CheckName adds a fault if a text cannot name something: a name is one line that is not too long.
func CheckName(bad *hazard.InvalidError, field, text string) {
	if len(text) > maxName || hazard.CleanLine(text) != text || !utf8.ValidString(text) {
		bad.Add(field, "expected one line of at most %d bytes", maxName)
	}
}

// maxDetail is the maximum length in bytes of what Decode says about a body.
const maxDetail = 200

// Decode parses the body of a request: one JSON object whose members are known. members describes
// them in errors.
func Decode[T any](body []byte, members string) (*T, error) {
	value, detail := new(T), ""
	if err := json.Unmarshal(body, value, json.RejectUnknownMembers(true)); err != nil {
		local := "Go " + path.Base(reflect.TypeFor[T]().PkgPath()) + "." // before the names of types in errors
		detail = strings.ReplaceAll(strings.TrimPrefix(err.Error(), "json: "), local, "")
		detail = "the body is not one JSON object " + members + ": " + strings.ToValidUTF8(detail[:min(len(detail), maxDetail)], "")
	} else if bytes.Equal(bytes.TrimSpace(body), []byte("null")) {
		detail = "the body is null, not a JSON object"
	}
	if detail != "" {
		return nil, &hazard.InvalidError{Faults: []hazard.Fault{{Detail: detail}}}
	}
	return value, nil
}

// Set assigns a member of a request, unless it is missing, and reports whether it did.
func Set[T any](to, given *T) bool {
	if given != nil {
		*to = *given
	}
	return given != nil
}
