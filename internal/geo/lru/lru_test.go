package lru

import (
	"sync"
	"testing"
)

func TestWhatWasNotUsedLatelyMakesRoom(t *testing.T) {
	c := New[int, string](80)
	for i := range 8 {
		c.Put(i, "value", 10)
	}
	if _, ok := c.Get(0); !ok {
		t.Fatal("there was room, and one is gone")
	}
	c.Put(8, "value", 10)
	c.Put(8, "another", 10)
	for key, want := range map[int]bool{0: true, 1: false, 2: true, 8: true} {
		if v, ok := c.Get(key); ok != want || ok && v != "value" {
			t.Errorf("%d: %v %q", key, ok, v)
		}
	}
	c.Put(9, "too large", 11)
	if _, ok := c.Get(9); ok || c.Size() != 80 || len(c.byKey) != 8 || c.used.Len() != 8 {
		t.Errorf("%d bytes, %d keys, %d values", c.Size(), len(c.byKey), c.used.Len())
	}
}

func TestManyUseItAtOnce(t *testing.T) {
	c := New[int, int](1000)
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for i := range 10_000 {
				if v, ok := c.Get(i % 300); ok && v != i%300 {
					t.Errorf("%d is %d", i%300, v)
				}
				c.Put(i%300, i%300, 10)
			}
		})
	}
	all.Wait()
	if c.Size() > 1000 {
		t.Errorf("%d bytes are kept", c.Size())
	}
}
