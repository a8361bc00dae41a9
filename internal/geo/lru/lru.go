// Package lru is a cache by key with a limit in bytes. It drops the least recently used values
// first.
package lru

import (
	"container/list"
	"sync"
)

// Cache keeps values whose sizes add up to at most a number of bytes. A value larger than an eighth of that is not kept, so
// that no single one drives out all others. It is safe for concurrent use.
type Cache[K comparable, V any] struct {
	maxSize int

	mu    sync.Mutex
	size  int
	byKey map[K]*list.Element
	used  *list.List // of *entry[K, V], the one used last first
}

type entry[K comparable, V any] struct {
	key   K
	value V
	size  int
}

// New makes a Cache of at most maxSize bytes.
func New[K comparable, V any](maxSize int) *Cache[K, V] {
	return &Cache[K, V]{maxSize: maxSize, byKey: map[K]*list.Element{}, used: list.New()}
}

// Get returns the value of key, and whether there is one.
func (c *Cache[K, V]) Get(key K) (value V, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e, ok := c.byKey[key]
	if !ok {
		return value, false
	}
	c.used.MoveToFront(e)
	return e.Value.(*entry[K, V]).value, true
}

// Put keeps the value of key, which has size bytes, unless there is one already.
func (c *Cache[K, V]) Put(key K, value V, size int) {
	if size > c.maxSize/8 {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, ok := c.byKey[key]; ok {
		return
	}
	c.byKey[key] = c.used.PushFront(&entry[K, V]{key, value, size})
	for c.size += size; c.size > c.maxSize; {
		oldest := c.used.Remove(c.used.Back()).(*entry[K, V])
		delete(c.byKey, oldest.key)
		c.size -= oldest.size
	}
}

// Size returns the bytes of all values that are kept.
func (c *Cache[K, V]) Size() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.size
}
