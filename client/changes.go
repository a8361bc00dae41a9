package client

import (
	"context"
	"fmt"
	"iter"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/hazardd/hazardd/wire"
)

// Change is one numbered change of a hazard or product.
type Change struct {
	Number int64     `json:"change"`
	Time   time.Time `json:"time"`
	Type   string    `json:"type"` // hazard.created, hazard.updated, hazard.expired, product.created …
	// Left means that with this change the hazard no longer matches the filter. No more changes of
	// it follow unless it matches again.
	Left bool `json:"left"`
	// Late means that a webhook got this message long after the change. It describes the state as
	// of Number; Changes lists the changes that it covers.
	Late    bool    `json:"late"`
	Changes []int64 `json:"changes"`
	// User is the user who made the change, Source the source whose report made it. If both are
	// empty, the service made it: at the hazard's end, or after it counted the people.
	User   string `json:"user"`
	Source string `json:"source"`
	// For a change that ended a hazard: the reason (expired, cancelled, retracted …), the UUID of
	// the successor, and an editor's note.
	Reason    string `json:"reason"`
	Successor string `json:"successor"`
	Note      string `json:"note"`
	Retracted bool   `json:"retracted"`
	// Fields are the changed fields. Only the history of one hazard has them.
	Fields []FieldChange `json:"fields"`
	// The state after the change: exactly one of the two is set.
	Hazard  *wire.Hazard  `json:"hazard"`
	Product *wire.Product `json:"product"`
}

// FieldChange is the value of one field before and after a change, as JSON.
type FieldChange struct {
	Field string         `json:"field"`
	From  jsontext.Value `json:"from"`
	To    jsontext.Value `json:"to"`
}

// defaultPage is how many changes are requested at once, the server's maximum.
const defaultPage = 1000

// Changes yields the changes that the user may see, from the one after number after to the present
// end. To follow the log, call it again with the number of the last change, or use Events. It stops
// at the first error. ErrReset means that the number does not exist, because the server's history
// was replaced.
func (c *Client) Changes(ctx context.Context, after int64) iter.Seq2[Change, error] {
	return c.changes(ctx, after, "changes")
}

// HazardChanges yields the history of one hazard like Changes.
func (c *Client) HazardChanges(ctx context.Context, hazard string, after int64) iter.Seq2[Change, error] {
	return c.changes(ctx, after, "hazards", hazard, "changes")
}

func (c *Client) changes(ctx context.Context, after int64, path ...string) iter.Seq2[Change, error] {
	return func(yield func(Change, error) bool) {
		p, err := pathOf(path...)
		if err != nil {
			yield(Change{}, err)
			return
		}
		for {
			r := newRequest(http.MethodGet, p, nil)
			r.query = url.Values{"after": {strconv.FormatInt(after, 10)}, "limit": {strconv.Itoa(c.pageSize)}}
			page, next, err := list[Change](ctx, c, r)
			if err == nil && len(page.Rejected) > 0 { // one is missing, and with it the order
				err = fmt.Errorf("%s: %w", r, &AnswerError{Reason: fmt.Sprintf("record %d: %v", page.Rejected[0].Index, page.Rejected[0].Err)})
			}
			if err != nil {
				yield(Change{}, err)
				return
			}
			began := after
			for _, change := range page.Items {
				if change.Number <= after {
					yield(Change{}, fmt.Errorf("%s: %w", r, &AnswerError{Reason: fmt.Sprintf("change %d after change %d: expected them in order", change.Number, after)}))
					return
				}
				if after = change.Number; !yield(change, nil) {
					return
				}
			}
			if next == "" {
				return
			}
			// The link may lead anywhere, and by the name under which the server knows itself: only its number is taken from it.
			n, ok := afterOf(next)
			if !ok || n < after || n == began {
				yield(Change{}, fmt.Errorf("%s: %w", r, &AnswerError{Reason: fmt.Sprintf("the next page, %.200q, does not lead on", next)}))
				return
			}
			after = n
		}
	}
}

// nextPage returns the address of the next page (RFC 8288), or "".
func nextPage(links []string) string {
	for _, value := range links {
		for rest := value; rest != ""; {
			_, tail, ok := strings.Cut(rest, "<")
			target, tail, closed := strings.Cut(tail, ">")
			if !ok || !closed {
				break
			}
			params := tail
			if i := strings.IndexByte(tail, '<'); i >= 0 {
				params, rest = tail[:i], tail[i:]
			} else {
				rest = ""
			}
			for param := range strings.SplitSeq(params, ";") {
				name, rel, _ := strings.Cut(strings.Trim(param, " \t,"), "=")
				if strings.EqualFold(name, "rel") && strings.EqualFold(strings.Trim(rel, `"`), "next") {
					return target
				}
			}
		}
	}
	return ""
}

// afterOf returns the number after which a page of changes begins.
func afterOf(link string) (int64, bool) {
	u, err := url.Parse(link)
	if err != nil {
		return 0, false
	}
	n, err := strconv.ParseInt(u.Query().Get("after"), 10, 64)
	return n, err == nil
}
