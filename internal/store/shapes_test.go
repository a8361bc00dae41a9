package store

import (
	"fmt"
	"testing"

	"hazardd/internal/geo"
)

func TestShapesThatNobodyAskedForLatelyMakeRoom(t *testing.T) {
	c := newShapeCache()
	const size = maxShapes / 4
	for i := range 4 {
		c.put(fmt.Sprint(i), geo.Place(float64(i), 0), size)
	}
	if _, ok := c.get("0"); !ok {
		t.Fatal("there was room, and one is gone")
	}
	c.put("4", geo.Place(4, 0), size)
	c.put("4", geo.Place(4, 0), size)
	for digest, want := range map[string]bool{"0": true, "1": false, "2": true, "3": true, "4": true} {
		if s, ok := c.get(digest); ok != want || ok && s.WKT() != fmt.Sprintf("POINT(%s 0)", digest) {
			t.Errorf("%s: %v %s", digest, ok, s.WKT())
		}
	}
	c.put("too large", geo.Place(5, 0), maxShapes+1)
	if c.size > maxShapes || len(c.byKey) != c.used.Len() {
		t.Errorf("%d bytes, %d names, %d shapes", c.size, len(c.byKey), c.used.Len())
	}
}
