package encoded

import (
	"bytes"
	"container/list"
	"errors"
	"sync"
	"sync/atomic"

	"github.com/hazardd/hazardd/internal/store/view"
)

// key names a list of a view.
type key struct {
	form     string // empty: the records of the base interface
	filter   view.Filter
	products int64 // the hazard whose products are listed; 0: a list of hazards
	audience view.Audience
	// languages is what a wish makes of the view (lang.Sets.Key): empty where it reads as it is stored.
	languages string
}

// maxCached bounds the bodies that are kept of one view, in bytes: the lists of 5,000 hazards in every form are 40 MB. Beyond it,
// those that nobody has asked for longest are dropped, and encoded again when somebody does.
const maxCached = 48 << 20

// cache holds the bodies of one view.
type cache struct {
	most  int // bytes
	mu    sync.Mutex
	slots map[key]*list.Element // of *slot
	order list.List             // the one that was asked for last is first
	bytes int
}

// slot is a place for a body. Its making may fail; then the next reader tries.
type slot struct {
	key  key
	size int // bytes that it counts for in the cache; 0 until it is made. Guarded by the cache's mu.
	body atomic.Pointer[Body]

	mu    sync.Mutex
	large bool // it is not made again
}

// ErrLarge reports that a body is too large to be kept: the caller must stream it.
var ErrLarge = errors.New("too large to be kept")

// find is the body of k; nil if it is yet to be made.
func (c *cache) find(k key) *Body {
	c.mu.Lock()
	defer c.mu.Unlock()
	e := c.slots[k]
	if e == nil {
		return nil
	}
	c.order.MoveToFront(e)
	return e.Value.(*slot).body.Load()
}

// get is the body of k, which the first who asks makes. The others wait for it.
func (c *cache) get(k key, make func() (*Body, error)) (*Body, error) {
	s := c.place(k)
	if body := s.body.Load(); body != nil {
		return body, nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if body := s.body.Load(); body != nil {
		return body, nil
	}
	if s.large {
		return nil, ErrLarge
	}
	body, err := make()
	if err != nil {
		s.large = errors.Is(err, ErrLarge)
		return nil, err
	}
	s.body.Store(body)
	c.count(s, body)
	return body, nil
}

func (c *cache) place(k key) *slot {
	c.mu.Lock()
	defer c.mu.Unlock()
	if e := c.slots[k]; e != nil {
		c.order.MoveToFront(e)
		return e.Value.(*slot)
	}
	if c.slots == nil {
		c.slots = map[key]*list.Element{}
	}
	s := &slot{key: k}
	c.slots[k] = c.order.PushFront(s)
	return s
}

// count makes room for the body of s, which is kept even if it is larger than all that may be.
func (c *cache) count(s *slot, body *Body) {
	c.mu.Lock()
	defer c.mu.Unlock()
	mine := c.slots[s.key]
	if mine == nil || mine.Value.(*slot) != s { // dropped while it was made
		return
	}
	s.size = body.size()
	c.bytes += s.size
	for e := c.order.Back(); e != nil && c.bytes > c.most; {
		old, before := e.Value.(*slot), e.Prev()
		if old != s && old.size > 0 {
			c.bytes -= old.size
			delete(c.slots, old.key)
			c.order.Remove(e)
		}
		e = before
	}
}

// largest is the largest body in a form that is kept, in bytes: 5,000 hazards with plain areas take half of it.
const largest = 16 << 20

// buffer holds a body that is being made.
type buffer struct{ bytes.Buffer }

func (b *buffer) Write(p []byte) (int, error) {
	if b.Len()+len(p) > largest {
		b.Buffer = bytes.Buffer{}
		return 0, ErrLarge
	}
	return b.Buffer.Write(p)
}
