package httpapi

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"net/http"
	"net/url"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/uuid"

	"hazardd/internal/auth"
	"hazardd/internal/hazard"
	"hazardd/wire"
)

// change is a change as the API shows it.
type change struct {
	Change int64  `json:"change"`
	Time   string `json:"time"` // RFC 3339, UTC
	Type   string `json:"type"`
	// User is who made it, Source which source's report did; neither: the service itself, at the hazard's end.
	User   string `json:"user,omitzero"`
	Source string `json:"source,omitzero"`
	// Of a change that ended a hazard: why, and what took its place.
	Reason    string `json:"reason,omitzero"`
	Successor string `json:"successor,omitzero"`
	Note      string `json:"note,omitzero"`
	Retracted bool   `json:"retracted,omitzero"`
	// Fields are the fields that differ from the state before; in the history of one hazard only.
	Fields  []fieldChange `json:"fields,omitzero"`
	Hazard  *wire.Hazard  `json:"hazard,omitzero"`
	Product *wire.Product `json:"product,omitzero"`
}

// fieldChange is one field's value before and after a change.
type fieldChange struct {
	Field string         `json:"field"`
	From  jsontext.Value `json:"from"`
	To    jsontext.Value `json:"to"`
}

// The number of changes in one answer.
const (
	defaultChanges = 100
	maxChanges     = 1000
)

// page is which changes are asked for.
type page struct{ after, limit int64 }

func readPage(r *http.Request) (p page, err error) {
	values, err := query(r, "after", "limit")
	if err != nil {
		return p, err
	}
	if p.after, err = intParameter(values, "after", 0, 0, math.MaxInt64); err != nil {
		return p, err
	}
	p.limit, err = intParameter(values, "limit", defaultChanges, 1, maxChanges)
	return p, err
}

// changes serves the change log after a number.
func (a *API) changes(w http.ResponseWriter, r *http.Request, who *auth.Caller) error {
	p, err := readPage(r)
	if err != nil {
		return err
	}
	return a.answerChanges(w, r, who, p, func(after int64, limit int) ([]hazard.Change, error) {
		return a.Store.Since(r.Context(), after, limit)
	}, nil)
}

// hazardChanges serves the history of one hazard: every change, and the fields that changed.
func (a *API) hazardChanges(w http.ResponseWriter, r *http.Request, who *auth.Caller) error {
	p, err := readPage(r)
	if err != nil {
		return err
	}
	now := a.now()
	h, err := a.findHazard(r, a.Live.View(now), now)
	if err != nil {
		return err
	}
	read := func(after int64, limit int) ([]hazard.Change, error) {
		return a.Store.HazardChanges(r.Context(), h.ID, after, limit)
	}
	before := newHistory(a.BaseURL)
	// What changed in the first change of the page depends on those before it that the caller may know of: a product that was restricted
	// then keeps what it said.
	for n := int64(0); n < p.after; {
		earlier, err := read(n, maxChanges)
		if err != nil {
			return err
		}
		for i := range earlier {
			if n = earlier[i].Number; n <= p.after && earlier[i].VisibleTo(who.Orgs) {
				before.add(&earlier[i])
			}
		}
		if len(earlier) < maxChanges {
			break
		}
	}
	return a.answerChanges(w, r, who, p, read, before)
}

// answerChanges reads changes until a page is full of those that the caller may know of, or there are no more.
func (a *API) answerChanges(w http.ResponseWriter, r *http.Request, who *auth.Caller, p page, read func(after int64, limit int) ([]hazard.Change, error), before *history) error {
	list := []change{}
	after, more, restricted := p.after, true, false
	for more && int64(len(list)) < p.limit {
		changes, err := read(after, int(p.limit))
		if err != nil {
			return err
		}
		more = int64(len(changes)) == p.limit
		for i := range changes {
			c := &changes[i]
			if int64(len(list)) == p.limit {
				more = true
				break
			}
			after = c.Number
			if !c.VisibleTo(who.Orgs) {
				continue
			}
			shown, err := a.showChange(r.Context(), c, who)
			if err != nil {
				return err
			}
			if before != nil {
				shown.Fields = before.add(c)
			}
			restricted = restricted || c.Product != nil && c.Product.Restricted()
			list = append(list, shown)
		}
	}
	if more {
		next := url.Values{"after": {fmt.Sprint(after)}, "limit": {fmt.Sprint(p.limit)}}
		w.Header().Set("Link", fmt.Sprintf(`<%s%s?%s>; rel="next"`, a.BaseURL, r.URL.EscapedPath(), next.Encode()))
	}
	w.Header()["Hazardd-Change"] = a.Live.View(a.now()).Digits()
	return answerJSON(w, r, list, restricted)
}

func (a *API) showChange(ctx context.Context, c *hazard.Change, who *auth.Caller) (change, error) {
	shown := change{Change: c.Number, Time: c.At.Time().Format(time.RFC3339Nano), Type: string(c.Kind), User: c.Actor, Source: c.Source}
	if c.Product != nil {
		shown.Product = new(wire.FromProduct(c.Product, a.BaseURL))
		return shown, nil
	}
	total, err := a.Store.ProductTotalAt(ctx, c.HazardID, c.Number, who.Orgs)
	if err != nil {
		return shown, err
	}
	shown.Hazard = new(wire.FromHazard(c.Hazard, total, a.BaseURL))
	shown.Reason, shown.Note, shown.Retracted = string(c.Hazard.Reason), c.Hazard.Note, c.Hazard.Reason == hazard.EndRetracted
	if c.Hazard.Successor != uuid.Nil {
		shown.Successor = c.Hazard.Successor.String()
	}
	return shown, nil
}

// history knows the states before a change, to tell what it changed.
type history struct {
	base   string
	states map[int64][]fieldChange // by product; 0 is the hazard. The values are in To.
}

func newHistory(base string) *history { return &history{base, map[int64][]fieldChange{}} }

// add is what c changed against the state before; nothing for the change that made the thing.
func (h *history) add(c *hazard.Change) []fieldChange {
	var record any
	id, area := int64(0), jsontext.Value("null")
	if c.Product != nil {
		id, record = c.Product.ID, wire.FromProduct(c.Product, h.base)
	} else {
		// product_total depends on the reader, and changes with products.
		record = wire.FromHazard(c.Hazard, 0, h.base)
		if text, err := json.Marshal(c.Hazard.Areas); err == nil && len(c.Hazard.Areas) > 0 {
			area = text
		}
	}
	now := fieldsOf(record)
	if c.Hazard != nil {
		now = append(now, fieldChange{Field: "area", To: area})
	}
	before := h.states[id]
	h.states[id] = now
	var changed []fieldChange
	for i := range before {
		if !bytes.Equal(before[i].To, now[i].To) {
			changed = append(changed, fieldChange{now[i].Field, before[i].To, now[i].To})
		}
	}
	return changed
}

// fieldsOf lists the members of a record in their order.
func fieldsOf(record any) []fieldChange {
	text, err := json.Marshal(record)
	if err != nil {
		panic(err) // a wire record is valid text
	}
	dec := jsontext.NewDecoder(bytes.NewReader(text))
	var fields []fieldChange
	for {
		token, err := dec.ReadToken()
		if err != nil || token.Kind() == '}' {
			return fields
		}
		if token.Kind() == '{' {
			continue
		}
		name := token.String()
		value, err := dec.ReadValue()
		if err != nil {
			return fields
		}
		fields = append(fields, fieldChange{Field: name, To: value.Clone()})
	}
}
