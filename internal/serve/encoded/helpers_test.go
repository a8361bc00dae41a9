package encoded

import (
	"bytes"
	"io"
	"testing"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

// decode reverses an encoding, with readers that are independent of the tested code.
func decode(t testing.TB, e Encoding, data []byte) []byte {
	t.Helper()
	var r io.Reader = bytes.NewReader(data)
	switch e {
	case Gzip:
		z, err := gzip.NewReader(r)
		if err != nil {
			t.Fatal(err)
		}
		r = z
	case Zstd:
		z, err := zstd.NewReader(r)
		if err != nil {
			t.Fatal(err)
		}
		defer z.Close()
		r = z
	case Brotli:
		r = brotli.NewReader(r)
	}
	text, err := io.ReadAll(r)
	if err != nil {
		t.Fatalf("%v: %v", e, err)
	}
	return text
}
