package live

import (
	"iter"
	"sync"

	"hazardd/internal/hazard"
)

type formKey struct {
	form string
	list listKey
}

// formBody is a body whose making may fail; then the next reader makes it.
type formBody struct {
	mu   sync.Mutex
	body *Body
}

// Hazards are the active hazards that f lets through, in the order of lists, each with the number of its products that a member of
// orgs may know of.
func (v *View) Hazards(f Filter, orgs []int64) iter.Seq2[*hazard.Hazard, int] {
	return func(yield func(*hazard.Hazard, int) bool) {
		for _, e := range v.list {
			if f.passes(e.hazard) && !yield(e.hazard, e.count(orgs)) {
				return
			}
		}
	}
}

// Form is a list in another form than Active: what encode makes of Hazards, once for each form and audience for as long as the view
// lasts. Other readers of the same form wait meanwhile.
func (v *View) Form(form string, f Filter, orgs []int64, encode func(iter.Seq2[*hazard.Hazard, int]) ([]byte, error)) (*Body, error) {
	key := formKey{form, listKey{f, v.audienceOf(orgs)}}
	got, ok := v.lists.Load(key)
	if !ok {
		got, _ = v.lists.LoadOrStore(key, &formBody{})
	}
	b := got.(*formBody)
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.body == nil {
		text, err := encode(v.Hazards(f, orgs))
		if err != nil {
			return nil, err
		}
		b.body = NewBody(text, key.list.audience != "")
	}
	return b.body, nil
}
