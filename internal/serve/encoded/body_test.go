package encoded

import (
	"bytes"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
)

func TestEachCodingDecodesToTheSameBytes(t *testing.T) {
	for name, text := range map[string][]byte{
		"nothing":          {},
		"an empty list":    []byte("[]"),
		"a list of 200 kB": bytes.Repeat([]byte(`{"hazard_ID":1,"hazard_Name":"Überschwemmung"},`), 4000),
	} {
		t.Run(name, func(t *testing.T) {
			b := NewBody(text, false)
			tags := map[string]bool{}
			var readers sync.WaitGroup
			for e := range encodings {
				for range 4 { // the first compresses, the others wait for it
					readers.Go(func() {
						if got := decode(t, e, b.Bytes(e)); !bytes.Equal(got, text) {
							t.Errorf("%q decodes to %d bytes, want %d", e, len(got), len(text))
						}
					})
				}
				readers.Wait()
				if got := b.Length(e)[0]; got != strconv.Itoa(len(b.Bytes(e))) {
					t.Errorf("length of %q is given as %s, it is %d", e, got, len(b.Bytes(e)))
				}
				tag := b.ETag(e)[0]
				if tags[tag] || !strings.HasPrefix(tag, `"`) || !strings.HasSuffix(tag, `"`) {
					t.Errorf("the tag %s of %q is not strong, or belongs to another encoding", tag, e)
				}
				tags[tag] = true
			}
		})
	}
}

// The system sends what is asked for often, and neither small nor large.
func TestWhatIsSentOftenIsSealed(t *testing.T) {
	for size, want := range map[int]bool{1000: false, 40_000: runtime.GOOS == "linux", 513 << 10: false} {
		b := NewBody(bytes.Repeat([]byte{'x'}, size), false)
		for n := 1; n < 6; n++ {
			if got := b.Memory(Identity) != nil; got != (want && n >= oftenSealed) {
				t.Errorf("%d bytes, sent %d times: sealed is %v", size, n, got)
			}
		}
	}
}

func TestTagFollowsTheBytes(t *testing.T) {
	a, same, other := NewBody([]byte("[1]"), false), NewBody([]byte("[1]"), true), NewBody([]byte("[2]"), false)
	for e := range encodings {
		if a.ETag(e)[0] != same.ETag(e)[0] || a.ETag(e)[0] == other.ETag(e)[0] {
			t.Errorf("%q: the tags are %s and %s for the same text and %s for another", e, a.ETag(e), same.ETag(e), other.ETag(e))
		}
	}
}
