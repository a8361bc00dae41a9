package intake

import (
	"fmt"
	"slices"

	"github.com/google/uuid"

	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/store"
)

// keyLife is how long after the end of an event its source's key still means that event: longer than
// the life of any type of hazard, and as long as a volcano may be quiet within one eruption.
const keyLife = sameEruption

// epoch is one of the events that a source has had under one key, one after the other.
type epoch struct {
	key      string
	from, to hazard.Instant
}

// covers reports whether a report that holds from … to belongs to the event.
func (e *epoch) covers(from, to hazard.Instant) bool {
	return from <= e.to.Add(keyLife) && e.from <= to.Add(keyLife)
}

// epochs gives the reports that use the key of an event again, long after it or long before, a key
// of their own: the second event under key "332010" has the key "332010@2" (finding D33).
func (w *writer) epochs(reports []hazard.Report, known map[string]bool) error {
	byKey := map[string][]epoch{}
	for i := range reports {
		r := &reports[i]
		if r.UUID != uuid.Nil { // keys of other servers are uuids
			continue
		}
		name := r.Key
		all, read := byKey[name]
		if !read && known[name] {
			var err error
			if all, err = w.epochsOf(name); err != nil {
				return err
			}
			for _, e := range all {
				known[e.key] = true
			}
		}
		n := -1
		if from, to := r.Start, r.OverAt(); r.Ended != "" {
			for i, e := range all { // an end may give any start: it ends what went on before it
				if n < 0 || e.from <= to && (all[n].from > to || e.from > all[n].from) {
					n = i
				}
			}
		} else {
			if n = slices.IndexFunc(all, func(e epoch) bool { return e.covers(from, to) }); n < 0 {
				first := name
				if len(all) > 0 {
					first = all[0].key
				}
				n, all = len(all), append(all, epoch{epochKey(first, len(all)), from, to})
			}
			all[n].from, all[n].to = min(all[n].from, from), max(all[n].to, to)
		}
		if byKey[name] = all; n > 0 {
			// Its other names may come round like its key.
			r.Key, r.Aliases = all[n].key, nil
		}
	}
	return nil
}

// epochKey is the key of the nth event, from 0, that a source has had under key.
func epochKey(key string, n int) string {
	if n == 0 {
		return key
	}
	return fmt.Sprintf("%s@%d", key, n+1)
}

// epochsOf lists the events that the source has had under a known key, in the order in which they came.
func (w *writer) epochsOf(key string) (all []epoch, err error) {
	first, _, err := w.tx.Event(w.src, key)
	for n := 0; err == nil; n++ {
		e, ok, err := w.tx.FindEvent(store.EventName{Source: w.src, Key: epochKey(first, n)})
		if err != nil || !ok {
			return all, err
		}
		all = append(all, epoch{e.Key, e.Start, max(e.Start, e.End)})
	}
	return nil, err
}
