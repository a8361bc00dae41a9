package encoded

import (
	"crypto/sha256"
	"sync"

	"github.com/hazardd/hazardd/internal/store/view"
)

// Answers keeps answers that cost much processor time, for as long as the view is current by which
// they were made. Beyond its limit, the least recently used are dropped. Each is made once: readers who
// ask meanwhile wait for it. It is safe for concurrent use.
type Answers struct {
	most int // bytes of all that is kept

	mu   sync.Mutex
	view *view.View
	kept *cache
}

// NewAnswers returns Answers that keep at most so many bytes.
func NewAnswers(most int64) *Answers { return &Answers{most: int(most)} }

// Get returns the answer to a request that was made by v or later. said names all that make depends
// on besides the store: the request, and the rights of its reader. The error is ErrLarge if the
// answer is larger than half of what is kept, or if make returns that: each request must make it
// by itself then.
func (a *Answers) Get(v *view.View, said string, make func() (*Body, error)) (*Body, error) {
	sum := sha256.Sum256([]byte(said)) // requests may be long
	return a.of(v).get(key{form: string(sum[:])}, func() (*Body, error) {
		body, err := make()
		if err == nil && len(body.Bytes(Identity)) > a.most/2 {
			err = ErrLarge
		}
		return body, err
	})
}

// of returns what was made by v. For a view that was replaced it is not kept.
func (a *Answers) of(v *view.View) *cache {
	v = v.Base()
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.view == v {
		return a.kept
	}
	kept := &cache{most: a.most}
	if before := a.view; before == nil || before.Number() <= v.Number() && before.At() <= v.At() {
		a.view, a.kept = v, kept
	}
	return kept
}
