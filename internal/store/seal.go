package store

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/crc32"
	"strconv"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/hazardd/hazardd/internal/hazard"
)

// DamagedError is the error for data that differs from what was written: a bit has flipped on the
// disk, or somebody has edited the database by hand. Damaged data is never served.
type DamagedError struct {
	What string // what is damaged, for people: "change 17", "geometry 3f9c…"
}

func (e *DamagedError) Error() string {
	return e.What + " is damaged in the store: it is not as it was written. See hazardd check"
}

// HazardError names the hazard that cannot be processed.
type HazardError struct {
	ID  int64
	Err error
}

func (e *HazardError) Error() string { return fmt.Sprintf("hazard %d: %v", e.ID, e.Err) }

func (e *HazardError) Unwrap() error { return e.Err }

// Broken reports whether err means damaged or missing rows, rather than an unreachable store.
func Broken(err error) bool {
	_, damaged := errors.AsType[*DamagedError](err)
	_, unread := errors.AsType[*jsontext.SyntacticError](err)
	_, unfit := errors.AsType[*json.SemanticError](err)
	return damaged || unread || unfit || errors.Is(err, hazard.ErrNotFound)
}

// A sealed state ends with an additional member, a checksum: the CRC-32C (RFC 3720 section 12.1) of
// the change's number and of the text before the member, in base64. Earlier releases ignore the
// member; their states have none and are not checked. Held reports are sealed in the same way, with
// their own numbers.
const (
	sealStart = `,"~":"`
	sealEnd   = `"}`
	sealSize  = len(sealStart) + 6 + len(sealEnd)
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func checkOf(n int64, text []byte) string {
	sum := crc32.Update(0, castagnoli, strconv.AppendInt(nil, n, 10))
	sum = crc32.Update(sum, castagnoli, text)
	return base64.RawURLEncoding.EncodeToString([]byte{byte(sum >> 24), byte(sum >> 16), byte(sum >> 8), byte(sum)})
}

// seal adds a checksum to the state of change n, or to held report n: a JSON object with members.
func seal(n int64, body []byte) string {
	text := body[:len(body)-1]
	return string(text) + sealStart + checkOf(n, text) + sealEnd
}

// sealed reports whether a state has a checksum.
func sealed(body []byte) bool {
	at := len(body) - sealSize
	return at > 0 && string(body[at:at+len(sealStart)]) == sealStart && string(body[len(body)-len(sealEnd):]) == sealEnd
}

// intact returns a *DamagedError if a state is not the one that change n wrote.
func intact(n int64, body []byte) error {
	if !sealFits(n, body) {
		return &DamagedError{fmt.Sprint("change ", n)}
	}
	return nil
}

// sealFits reports whether a body has the checksum of that number and text, or none.
func sealFits(n int64, body []byte) bool {
	if !sealed(body) {
		return true
	}
	at := len(body) - sealSize
	return checkOf(n, body[:at]) == string(body[at+len(sealStart):len(body)-len(sealEnd)])
}

// intactGeometry returns a *DamagedError if a text does not have the geometry's digest.
func intactGeometry(digest, text string) error {
	if sum := sha256.Sum256([]byte(text)); hex.EncodeToString(sum[:]) != digest {
		return &DamagedError{"geometry " + digest}
	}
	return nil
}
