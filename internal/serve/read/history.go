package read

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"net/http"
	"net/url"
	"slices"
	"strconv"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/hazardd/hazardd/internal/auth"
	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/lang"
	"github.com/hazardd/hazardd/internal/serve/route"
	"github.com/hazardd/hazardd/internal/store"
	"github.com/hazardd/hazardd/wire"
)

// ChangePage says which changes are requested.
type ChangePage struct {
	After, Limit int64
	at           *hazard.Instant // only changes committed by then; nil means all
	wish         lang.Wish
}

// readPage parses the parameters of a page, and allows the parameters in more.
func (a *Streams) readPage(r *http.Request, more ...string) (p ChangePage, values url.Values, err error) {
	if values, p.at, err = a.readAt(r, append(more, "after", "limit", route.LangParameter)...); err != nil {
		return p, nil, err
	}
	if p.After, err = route.IntParameter(values, "after", 0, 0, math.MaxInt64); err != nil {
		return p, nil, err
	}
	if p.wish, err = a.Wish(r, values); err != nil {
		return p, nil, err
	}
	p.Limit, err = route.IntParameter(values, "limit", route.DefaultChanges, 1, route.MaxChanges)
	return p, values, err
}

// changes serves the change log after a number. If there is none yet, it waits as long as the
// client asks for.
func (a *Streams) changes(w http.ResponseWriter, r *http.Request, who *auth.Caller) error {
	p, values, err := a.readPage(r, "wait")
	if err != nil {
		return err
	}
	wait, err := waitParameter(values)
	if err != nil {
		return err
	}
	if wait > 0 && p.at != nil {
		return route.BadParameter("wait", "cannot be combined with at: nothing more comes at a moment that is past")
	}
	if err := a.notPruned(r.Context(), p); err != nil {
		return err
	}
	lost, err := a.Push.Resumable(r.Context(), p.After, 0, a.Now())
	if err != nil {
		return err
	}
	if lost != "" {
		return lostPlace(p.After, a.Live.View(a.Now()).Number())
	}
	if wait > 0 && r.Method != http.MethodHead {
		if who, err = a.await(r, who, p.After, wait); err != nil {
			return err
		}
	}
	err = a.answerChanges(w, r, who, p, 0)
	if _, ok := errors.AsType[*store.ForkedError](err); ok { // found meanwhile
		return lostPlace(p.After, a.Live.View(a.Now()).Number())
	}
	return err
}

// notPruned refuses a page that begins in the pruned part of the history.
func (a *Streams) notPruned(ctx context.Context, p ChangePage) error {
	h, err := a.Store.Pruning.Horizon(ctx, store.History)
	if err == nil && p.After < h.Number {
		err = &route.Problem{Status: http.StatusGone, Detail: fmt.Sprintf("after: changes up to %d are incomplete: %v; read the lists and continue after the change in Hazardd-Change, "+
			"or begin with after=%d", h.Number, &store.PrunedError{Horizon: h}, h.Number)}
	}
	return err
}

// keptFrom is the header of an answer that may lack pruned data. It holds the time from which the
// data is complete.
const keptFrom = "Hazardd-Kept-From"

// SetKept sets the header keptFrom if data since began was pruned. Call it after reading the
// answer's data.
func (a *Hazards) SetKept(ctx context.Context, w http.ResponseWriter, what store.Prunable, began hazard.Instant) error {
	kept, err := a.KeptSince(ctx, what, began)
	if err == nil && kept != 0 {
		w.Header()[keptFrom] = []string{kept.String()}
	}
	return err
}

// KeptSince returns the time from which data since began is complete; 0 means that all of it is.
func (a *Hazards) KeptSince(ctx context.Context, what store.Prunable, began hazard.Instant) (hazard.Instant, error) {
	h, err := a.Store.Pruning.Horizon(ctx, what)
	if err != nil || began >= h.Kept {
		return 0, err
	}
	return h.Kept, nil
}

// HazardChanges serves the history of one hazard: every change, with the changed fields.
func (a *Streams) HazardChanges(w http.ResponseWriter, r *http.Request, who *auth.Caller) error {
	p, _, err := a.readPage(r)
	if err != nil {
		return err
	}
	h, err := a.hazardNowOrAt(r, p.at)
	if err != nil {
		return err
	}
	return a.answerChanges(w, r, who, p, h.ID)
}

// answerChanges answers with a page of changes that the caller may see: of all hazards (0) or of
// one, with the changed fields.
func (a *Streams) answerChanges(w http.ResponseWriter, r *http.Request, who *auth.Caller, p ChangePage, hazardID int64) error {
	return a.Hold(w, r, who, route.CostOfPage, func(w http.ResponseWriter) error { return a.makeChanges(w, r, who, p, hazardID) })
}

// makeChanges builds the answer of answerChanges. It ends at the last change that the lists show,
// even if the store has later ones.
func (a *Streams) makeChanges(w http.ResponseWriter, r *http.Request, who *auth.Caller, p ChangePage, hazardID int64) error {
	v := a.Live.View(a.Now())
	changes, before, follows, err := a.HistoryPage(r.Context(), hazardID, who, p)
	if err != nil {
		return err
	}
	if i := slices.IndexFunc(changes, func(c hazard.Change) bool { return c.Number > v.Number() }); i >= 0 {
		changes, follows = changes[:i], 0
	}
	if hazardID == 0 {
		err = a.notPruned(r.Context(), p)
	} else if len(changes) > 0 {
		err = a.SetKept(r.Context(), w, store.History, changes[0].At)
	}
	if err != nil {
		return err
	}
	totals, err := a.Store.Log.Totals(r.Context(), changes)
	if err != nil {
		return err
	}
	list, restricted, reader := []wire.Change{}, false, p.wish.Reader()
	for i := range changes {
		c := &changes[i]
		total := 0
		if c.Hazard != nil {
			total = totals.Of(c, who.Orgs)
		}
		shown := wire.FromChange(c, total, a.BaseURL)
		if c.Hazard != nil {
			shown.Hazard = new(wire.FromHazard(reader.Of(c.Hazard), total, a.BaseURL))
		}
		if before != nil && (c.Product == nil || c.Product.VisibleTo(who.Orgs)) { // otherwise it only reports a deletion
			shown.Fields = before.Add(c)
		}
		restricted = restricted || c.Product != nil && !c.Product.Open()
		list = append(list, shown)
	}
	if follows > 0 {
		next := r.URL.Query()
		next.Set("after", strconv.FormatInt(follows, 10))
		next.Set("limit", strconv.FormatInt(p.Limit, 10))
		a.LinkNext(w, r, next)
	}
	if !p.wish.None() {
		route.SetLanguages(w, reader.Used())
	}
	if p.at != nil {
		return a.answerAt(w, r, list, restricted, *p.at)
	}
	w.Header()["Hazardd-Change"] = v.Digits()
	return route.AnswerJSON(w, r, list, restricted)
}

// HistoryPage reads a page of changes and, for one hazard, the states before it. follows is the
// number after which the next page begins, or 0 if there is none.
func (a *Hazards) HistoryPage(ctx context.Context, hazardID int64, who *auth.Caller, p ChangePage) (changes []hazard.Change, before *History, follows int64, err error) {
	piece, err := a.Store.Log.Page(ctx, store.LogPage{After: p.After, Limit: int(p.Limit), Bytes: route.PageBytes, Hazard: hazardID, At: p.at, Orgs: who.Orgs})
	if err != nil {
		return nil, nil, 0, err
	}
	names := route.NamesFor(ctx)
	if hazardID == 0 {
		return namedChanges(piece.Changes, names), nil, piece.Next, nil
	}
	changes, follows = piece.Changes, piece.Next
	states, known, err := a.Store.Log.StatesBefore(ctx, changes, who.Orgs, route.PageBytes)
	if err != nil {
		return nil, nil, 0, err
	}
	if known < len(changes) {
		changes, follows = changes[:known], changes[known-1].Number
	}
	before = newHistory(a.BaseURL)
	for _, c := range states {
		before.Add(c.Named(names))
	}
	return namedChanges(changes, names), before, follows, nil
}

// namedChanges returns the changes with the names of n.
func namedChanges(changes []hazard.Change, n hazard.Names) []hazard.Change {
	if n == nil {
		return changes
	}
	named := make([]hazard.Change, len(changes))
	for i := range changes {
		named[i] = *changes[i].Named(n)
	}
	return named
}

// History holds the previous states, to find out what a change modified.
type History struct {
	base   string
	states map[int64][]wire.FieldChange // by product; 0 is the hazard; values are in To
}

func newHistory(base string) *History { return &History{base, map[int64][]wire.FieldChange{}} }

// Add returns the fields that c changed. It returns nothing for the change that created the hazard
// or product.
func (h *History) Add(c *hazard.Change) []wire.FieldChange {
	var record any
	id := int64(0)
	if c.Product != nil {
		id, record = c.Product.ID, wire.FromProduct(c.Product, h.base)
	} else {
		// without product_total, which depends on the reader and changes with products
		record = wire.FromHazard(c.Hazard, 0, h.base)
	}
	now := fieldsOf(record)
	if c.Hazard != nil {
		now = append(now, besideRecord(c.Hazard)...)
	}
	before := h.states[id]
	h.states[id] = now
	var changed []wire.FieldChange
	for i := range before {
		if !bytes.Equal(before[i].To, now[i].To) {
			changed = append(changed, wire.FieldChange{Field: now[i].Field, From: before[i].To, To: now[i].To})
		}
	}
	return changed
}

// besideRecord returns the changeable data of a hazard outside its record: areas, measurements,
// shapes and people.
func besideRecord(h *hazard.Hazard) []wire.FieldChange {
	fields := []wire.FieldChange{{Field: "area"}, {Field: "measurements"}, {Field: "shapes"}, {Field: "people"}, {Field: "pinned"}, {Field: "place_kind"}, {Field: "place_known_as"}, {Field: "instruction"}}
	var people *int64 // nil if unknown or not counted yet
	if e := h.Exposed(); e != nil && e.People != nil {
		people = &e.People.People
	}
	var pinned *string
	if h.Pinned {
		pinned = new("Y")
	}
	for i, value := range []any{h.Areas, measurementsOf(h.Measurements), h.Shapes, people, pinned, h.Place(), h.PlaceKnownAs, h.Instruction} {
		text, err := json.Marshal(value)
		if err != nil {
			panic(err) // numbers and valid text always encode
		}
		if fields[i].To = text; string(text) == "[]" {
			fields[i].To = jsontext.Value("null")
		}
	}
	return fields
}

// fieldsOf lists the members of a record in order.
func fieldsOf(record any) []wire.FieldChange {
	text, err := json.Marshal(record)
	if err != nil {
		panic(err) // a wire record always encodes
	}
	dec := jsontext.NewDecoder(bytes.NewReader(text))
	var fields []wire.FieldChange
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
		fields = append(fields, wire.FieldChange{Field: name, To: value.Clone()})
	}
}
