package serve_test

import (
	"bytes"
	"net/http"
	"testing"

	"github.com/hazardd/hazardd/internal/app"
	"github.com/hazardd/hazardd/internal/test"
	"github.com/hazardd/hazardd/internal/test/s3"
	"github.com/hazardd/hazardd/internal/test/server"
)

func TestFilesInABucketAreUploadedAndServedAndTheRestGoesOnWhileItIsAway(t *testing.T) {
	test.SeldomButRaced(t)
	b := s3.New(t)
	gate := s3.NewGate(t, b)
	s := start(t, func(cfg *app.Config) { cfg.Files = b.At(gate.Addr) })
	below := s.hazard("red").HazardID
	content := bytes.Repeat([]byte("0123456789"), 30_000)
	upload := file("uuid", "0190a0a0-0000-7000-8000-000000000001")
	var made item
	a := s.upload("red", below, upload, "a.bin", content)
	if a.JSON(t, &made); a.Status != http.StatusCreated {
		t.Fatalf("%d %s", a.Status, a.Body)
	}
	address := "/products/" + digits(made.ProductID) + "/file"
	check := func() {
		t.Helper()
		if a := s.do("reader", "GET", address, nil); a.Status != http.StatusOK || !bytes.Equal(a.Body, content) {
			t.Errorf("%d, %d bytes", a.Status, len(a.Body))
		}
		wantDownload(t, s.do("reader", "GET", address, nil), "a.bin")
		if a := s.do("reader", "GET", address, nil, "Range", "bytes=123455-123459,299990-"); a.Status != http.StatusPartialContent || !bytes.Contains(a.Body, []byte("56789\r\n")) {
			t.Errorf("two parts: %d %q", a.Status, a.Body)
		}
		if a := s.do("reader", "GET", address, nil, "Range", "bytes=299997-"); a.Status != http.StatusPartialContent || string(a.Body) != "789" {
			t.Errorf("the last bytes: %d %q", a.Status, a.Body)
		}
	}
	check()

	gate.Shut()
	second := file("uuid", "0190a0a0-0000-7000-8000-000000000002")
	for what, a := range map[string]server.Answer{"a download": s.do("reader", "GET", address, nil), "an upload": s.upload("red", below, second, "b.bin", content)} {
		if a.Status != http.StatusServiceUnavailable || a.Header.Get("Retry-After") == "" {
			t.Errorf("%s while the bucket is unreachable: %d %s", what, a.Status, a.Body)
		}
	}
	list := s.do("reader", "GET", "/hazards/"+digits(below)+"/products", nil)
	if list.Status != http.StatusOK || bytes.Contains(list.Body, []byte("b.bin")) || !bytes.Contains(list.Body, []byte("a.bin")) {
		t.Errorf("the list while the bucket is unreachable: %d %s", list.Status, list.Body)
	}
	s.product("red", below, note()) // needs no file

	gate.Open()
	check()
	if a := s.upload("red", below, second, "b.bin", content); a.Status != http.StatusCreated {
		t.Errorf("the same request when the bucket is reachable again: %d %s", a.Status, a.Body)
	}
}
