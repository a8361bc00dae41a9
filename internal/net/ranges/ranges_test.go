package ranges

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// A file is read by ranges, again after a failure, and not if it is replaced meanwhile.
func TestAFileIsReadInParts(t *testing.T) {
	all := bytes.Repeat([]byte("0123456789abcdef"), 100)
	asked, tag := 0, `"1"`
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if asked++; asked == 2 {
			http.Error(w, "busy", http.StatusServiceUnavailable)
			return
		}
		if r.URL.Path == "/whole" {
			r.Header.Del("Range")
		}
		w.Header().Set("ETag", tag)
		http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(all))
	}))
	defer server.Close()
	f, err := Open(t.Context(), server.Client(), server.URL+"/world.pmtiles")
	if err != nil {
		t.Fatal(err)
	}
	f.pause = 0
	if got, err := io.ReadAll(f.Section()); err != nil || !bytes.Equal(got, all) {
		t.Errorf("%d bytes of %d, %v", len(got), len(all), err)
	}
	part := make([]byte, 20)
	if n, err := f.ReadAt(part, int64(len(all)-5)); n != 5 || !errors.Is(err, io.EOF) || string(part[:5]) != "bcdef" {
		t.Errorf("the end: %d, %q, %v", n, part, err)
	}
	tag = `"2"`
	if _, err := f.ReadAt(part, 0); err == nil || !strings.Contains(err.Error(), "replaced while it was read") {
		t.Errorf("a replaced file: %v", err)
	}
	if _, err := Open(t.Context(), server.Client(), server.URL+"/whole"); err == nil || !strings.Contains(err.Error(), "does not answer range requests") {
		t.Errorf("without ranges: %v", err)
	}
	over, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Open(over, server.Client(), server.URL); err == nil {
		t.Error("read after the end")
	}
}
