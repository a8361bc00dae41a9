package serve_test

import (
	"bytes"
	"net/http"
	"os"
	"runtime"
	"strings"
	"testing"

	"github.com/hazardd/hazardd/internal/app"
)

// What the system sends by itself is what else would be written, to the last byte.
func TestAListIsSentFromSealedMemory(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only Linux has sealed memory")
	}
	sealed := func(body []byte) (n int) {
		all, err := os.ReadDir("/proc/self/fd")
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range all {
			if to, _ := os.Readlink("/proc/self/fd/" + f.Name()); strings.Contains(to, "memfd:hazardd") {
				if text, err := os.ReadFile("/proc/self/fd/" + f.Name()); err == nil && bytes.Equal(text, body) {
					n++
				}
			}
		}
		return n
	}
	for _, off := range []bool{true, false} {
		s := start(t, func(c *app.Config) { c.NoSendfile = off })
		for range 20 {
			s.hazard("red", "description", strings.Repeat("Water over the quay. ", 200))
		}
		first := s.do("reader", "GET", "/hazards/active", nil)
		for range 4 {
			a := s.do("reader", "GET", "/hazards/active", nil)
			if a.Status != http.StatusOK || !bytes.Equal(a.Body, first.Body) || a.Header.Get("Content-Length") == "" {
				t.Errorf("off: %v; %d, %d bytes that differ from the first %d", off, a.Status, len(a.Body), len(first.Body))
			}
		}
		if a := s.do("reader", "HEAD", "/hazards/active", nil); a.Status != http.StatusOK || len(a.Body) != 0 || a.Header.Get("Content-Length") != first.Header.Get("Content-Length") {
			t.Errorf("off: %v; HEAD has %d bytes, Content-Length %s", off, len(a.Body), a.Header.Get("Content-Length"))
		}
		if a := s.do("reader", "GET", "/hazards/active", nil, "If-None-Match", first.Header.Get("ETag")); a.Status != http.StatusNotModified {
			t.Errorf("off: %v; %d for what is known", off, a.Status)
		}
		if n := sealed(first.Body); off && n > 0 || !off && n != 1 {
			t.Errorf("off: %v; the list is sealed %d times", off, n)
		}
	}
}
