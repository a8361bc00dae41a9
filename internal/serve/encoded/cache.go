package encoded

import (
	"bytes"
	"container/list"
	"errors"
	"os"
	"sync"
	"sync/atomic"

	"github.com/hazardd/hazardd/internal/store/view"
)

// key identifies a list of a view.
type key struct {
	form     string // empty means the records of the base interface
	filter   view.Filter
	products int64 // hazard whose products are listed; 0 means a list of hazards
	audience view.Audience
	names    uint64 // View.Names
	// languages says which texts a language preference selects in the view (lang.Sets.Key). It is
	// empty if they are the stored ones.
	languages string
}

// cache holds the bodies of one view.
type cache struct {
	most  int // maximum, in bytes
	mu    sync.Mutex
	slots map[key]*list.Element // of *slot
	order list.List             // most recently used first
	bytes int
}

// slot is the place of a body. If making it fails, the next reader tries again.
type slot struct {
	key  key
	size int // bytes that it counts for; 0 until the body is made. Guarded by the cache's mu.
	body atomic.Pointer[Body]

	mu    sync.Mutex
	large bool // the body is too large to keep, and is not made again
}

// ErrLarge means that a body is too large to keep: the caller must stream it.
var ErrLarge = errors.New("too large to be kept")

// find returns the body of k, or nil if it has not been made.
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

// get returns the body of k. The first caller makes it, and the others wait.
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

// count makes room for the body of s. The body is kept even if it alone exceeds the limit.
func (c *cache) count(s *slot, body *Body) {
	c.mu.Lock()
	defer c.mu.Unlock()
	mine := c.slots[s.key]
	if mine == nil || mine.Value.(*slot) != s { // dropped while it was made: the collector closes its file
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
			old.drop()
		}
		e = before
	}
}

// drop closes the files of a view that was replaced, once nobody reads them.
func (c *cache) drop() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for e := c.order.Front(); e != nil; e = e.Next() {
		e.Value.(*slot).drop()
	}
}

func (s *slot) drop() {
	if body := s.body.Load(); body != nil && body.InFile() {
		body.stored.drop()
	}
}

// buffer holds a body while it is made, in parts: one that grows as a whole has up to twice the memory of
// what is in it, for as long as the body is kept. A kept body has at most a third of what is kept: 5,000
// hazards with plain areas take half of that. What is larger goes to a file.
type buffer struct {
	parts [][]byte
	bytes int
	most  int // in memory
	files *files
	file  *os.File // has all, if it is not nil
}

// partBytes is the size of a part, and least the size of a first one: most bodies are small.
const (
	partBytes = 256 << 10
	leastPart = 4 << 10
)

func (b *buffer) Write(p []byte) (int, error) {
	if b.file == nil && b.bytes+len(p) > b.most {
		if err := b.moveToFile(); err != nil {
			return 0, err
		}
	}
	if b.file != nil {
		n, err := b.file.Write(p)
		b.bytes += n
		if err != nil || b.bytes > b.files.most/2 { // a full disk is no reason to refuse it: it is streamed
			return n, ErrLarge
		}
		return n, nil
	}
	for rest := p; len(rest) > 0; {
		last := len(b.parts) - 1
		if last < 0 || len(b.parts[last]) == cap(b.parts[last]) {
			b.parts = append(b.parts, make([]byte, 0, min(partBytes, max(leastPart, b.bytes))))
			last++
		}
		n := min(len(rest), cap(b.parts[last])-len(b.parts[last]))
		b.parts[last] = append(b.parts[last], rest[:n]...)
		b.bytes, rest = b.bytes+n, rest[n:]
	}
	return len(p), nil
}

func (b *buffer) moveToFile() error {
	b.file = b.files.create()
	if b.file == nil {
		b.parts = nil
		return ErrLarge
	}
	for _, part := range b.parts {
		if _, err := b.file.Write(part); err != nil {
			return ErrLarge
		}
	}
	b.parts = nil
	return nil
}

// discard gives up what was written.
func (b *buffer) discard() {
	b.parts = nil
	if b.file != nil {
		_ = b.file.Close() // it has no name any more
	}
}

// text returns all that was written, if that is not in a file.
func (b *buffer) text() []byte { return bytes.Join(b.parts, nil) }
