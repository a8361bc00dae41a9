package query

import (
	"cmp"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/hazardd/hazardd/internal/hazard"
)

// Query is a search: a filter, an order, the size of a page, and a moment.
type Query struct {
	Filter
	Sort Sort
	// Limit is the size of a page; 0 means all.
	Limit int
	// At requests the result as of a past moment; nil means now.
	At *hazard.Instant
	// Cursor is the end of the previous page; empty for the first.
	Cursor string
	// Names are the names under which the caller sees people, so that no condition finds a hazard by
	// a name that the answer does not hold; nil means login names.
	Names hazard.Names
}

// The number of hazards in a page.
const (
	DefaultLimit = 100
	MaxLimit     = 1000
)

// Order is the key of a sort.
type Order uint8

// The orders. All but the first fall back on the number, in the same direction.
const (
	BySeverity   Order = iota // as lists are: most severe first, then last updated first, then by number
	ByLastUpdate              // last_Update
	ByStart                   // start_Date
	ByEnd                     // end_Date
	ByNumber                  // hazard_ID
	ByImportance              // hazard.Rank, the greatest first; hazards that are over have none, and are last
	ByMeasure                 // the value of a quantity; hazards without it are last in either direction
)

// Sort is an order and its direction. Descending is not used with BySeverity.
type Sort struct {
	By         Order
	Descending bool
	Quantity   hazard.Quantity // for ByMeasure only
}

// sorts are the values of the parameter sort.
var sorts = []struct {
	name string
	sort Sort
}{
	{"severity", Sort{}},
	{"last_Update", Sort{By: ByLastUpdate}}, {"-last_Update", Sort{By: ByLastUpdate, Descending: true}},
	{"start_Date", Sort{By: ByStart}}, {"-start_Date", Sort{By: ByStart, Descending: true}},
	{"end_Date", Sort{By: ByEnd}}, {"-end_Date", Sort{By: ByEnd, Descending: true}},
	{"importance", Sort{By: ByImportance, Descending: true}},
	{"hazard_ID", Sort{By: ByNumber}}, {"-hazard_ID", Sort{By: ByNumber, Descending: true}},
}

// String returns the sort as in the parameter.
func (s Sort) String() string {
	if s.By == ByMeasure {
		if s.Descending {
			return "-" + string(s.Quantity)
		}
		return string(s.Quantity)
	}
	for _, known := range sorts {
		if known.sort == s {
			return known.name
		}
	}
	return fmt.Sprintf("Sort(%d)", s.By)
}

// ByValue reports whether hazards come in the order of a value that some of them lack.
func (s Sort) ByValue() bool { return s.By == ByMeasure || s.By == ByImportance }

// parseSort reads the parameter sort.
func parseSort(text string) (Sort, bool) {
	for _, known := range sorts {
		if known.name == text {
			return known.sort, true
		}
	}
	name, descending := strings.CutPrefix(text, "-")
	_, ok := hazard.Quantity(name).Info()
	return Sort{By: ByMeasure, Descending: descending, Quantity: hazard.Quantity(name)}, ok
}

func sortNames() string {
	names := make([]string, len(sorts))
	for i, s := range sorts {
		names[i] = s.name
	}
	return strings.Join(names, ", ")
}

// Key is a hazard's position in an order.
type Key struct {
	Severity hazard.Severity // of BySeverity alone
	Moment   hazard.Instant  // that is sorted by; 0 by number
	Value    float64         // that is sorted by if the sort is ByValue, unless it Lacks
	Lacks    bool            // it has no such value
	ID       int64
}

// Key returns the position of h, as of now, in the order.
func (s Sort) Key(h *hazard.Hazard) Key {
	k := Key{ID: h.ID}
	switch s.By {
	case BySeverity:
		k.Severity, k.Moment = h.Severity, h.LastUpdate
	case ByLastUpdate:
		k.Moment = h.LastUpdate
	case ByStart:
		k.Moment = h.Start
	case ByEnd:
		k.Moment = h.End
	case ByImportance:
		rank, ok := hazard.Rank(h)
		k.Value, k.Lacks = rank, !ok
	case ByMeasure:
		m, ok := hazard.Measured(h.Measurements, s.Quantity)
		k.Value, k.Lacks = m.Value, !ok
	}
	return k
}

// Compare is negative when a comes before b.
func (s Sort) Compare(a, b Key) int {
	if s.By == BySeverity {
		return cmp.Or(cmp.Compare(b.Severity, a.Severity), cmp.Compare(b.Moment, a.Moment), cmp.Compare(a.ID, b.ID))
	}
	if a.Lacks != b.Lacks {
		if a.Lacks {
			return 1
		}
		return -1
	}
	if s.Descending {
		a, b = b, a
	}
	return cmp.Or(cmp.Compare(a.Moment, b.Moment), cmp.Compare(a.Value, b.Value), cmp.Compare(a.ID, b.ID))
}

// Cursor is the end of a page, and the moment of the search's first page: the pages do not change
// by writes or ends while they are read.
type Cursor struct {
	Number int64          // the last change that counts
	Now    hazard.Instant // when the first page was asked for
	Key    Key            // key of the last returned hazard
}

// Encode returns the cursor as text for the client. history identifies the store's history, to
// which its numbers belong.
func (q *Query) Encode(c Cursor, history string) string {
	payload := binary.AppendVarint(nil, c.Number)
	payload = binary.AppendVarint(payload, int64(c.Now))
	payload = binary.AppendVarint(payload, int64(c.Key.Severity))
	payload = binary.AppendVarint(payload, int64(c.Key.Moment))
	payload = binary.AppendVarint(payload, c.Key.ID)
	if c.Key.Lacks {
		payload = append(payload, lacksValue...)
	} else if q.Sort.ByValue() {
		payload = binary.BigEndian.AppendUint64(payload, math.Float64bits(c.Key.Value))
	}
	return base64.RawURLEncoding.EncodeToString(append(q.seal(payload, history), payload...))
}

// sealSize is how many bytes of the hash a cursor begins with, so that no invalid cursor is
// accepted by accident. It is not for security: a search shows the same to everybody.
const sealSize = 8

// seal ties a cursor to its search and its history.
func (q *Query) seal(payload []byte, history string) []byte {
	of := *q
	of.Limit, of.Cursor = 0, ""
	sum := sha256.New()
	fmt.Fprintf(sum, "%s\n%s\n", history, of.Values().Encode())
	sum.Write(payload)
	return sum.Sum(nil)[:sealSize]
}

// Decode parses the query's cursor. A cursor of another search or history is a fault.
func (q *Query) Decode(history string) (Cursor, error) {
	raw, err := base64.RawURLEncoding.Strict().DecodeString(q.Cursor)
	if err != nil || len(raw) < sealSize {
		return Cursor{}, errCursor
	}
	payload := raw[sealSize:]
	if string(q.seal(payload, history)) != string(raw[:sealSize]) {
		return Cursor{}, errCursor
	}
	var numbers [5]int64
	for i := range numbers {
		n, size := binary.Varint(payload)
		if size <= 0 {
			return Cursor{}, errCursor
		}
		numbers[i], payload = n, payload[size:]
	}
	key := Key{Severity: hazard.Severity(numbers[2]), Moment: hazard.Instant(numbers[3]), ID: numbers[4]}
	switch {
	case string(payload) == lacksValue:
		key.Lacks = true
	case len(payload) == 8:
		key.Value = math.Float64frombits(binary.BigEndian.Uint64(payload))
	}
	return Cursor{Number: numbers[0], Now: hazard.Instant(numbers[1]), Key: key}, nil
}

// lacksValue ends a cursor that stands behind a hazard without the value that is sorted by. Otherwise such a cursor ends with the value, in eight bytes.
const lacksValue = "-"

// errCursor is the fault of every cursor that cannot be used.
var errCursor = Faults{{Parameter: "cursor", Detail: `is not one of this search: follow the link "next" as it was given, with the same parameters, or begin without a cursor`}}

// CursorLife is how long after its first page a search can continue, because each page looks up the
// changes since then.
const CursorLife = time.Hour

// ErrOldCursor is the fault of a cursor whose time is over.
var ErrOldCursor = Faults{{Parameter: "cursor", Detail: "is of a search that began more than an hour ago, or before a failover: begin again without a cursor"}}

// ErrTooBroad: the search would take too long.
var ErrTooBroad = errors.New("the search takes too long: ask for less, by bbox, datetime, type or q")
