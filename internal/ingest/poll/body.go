package poll

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

// maxWindow bounds the window of a zstd frame, which the decoder allocates before it has seen a byte (RFC 8878 section 3.1.1.1.2
// recommends to support 8 MB).
const maxWindow = 8 << 20

// readBody reads and decompresses a response of at most max bytes. Its memory is bounded by max
// plus a constant, whatever the body claims. The error is a *Failure, unless the connection broke
// (wire.err): then the payload is the part before.
func readBody(body *wire, codings []string, max int64) ([]byte, error) {
	limited := &limitReader{r: body, left: max, max: max}
	coding := strings.ToLower(strings.TrimSpace(strings.Join(codings, ",")))
	var plain io.Reader
	switch coding {
	case "", "identity":
		plain = limited
	case "gzip", "x-gzip":
		// Several members are one body (RFC 1952 section 2.2). Checksums are verified; what follows the last member is an error.
		z, err := gzip.NewReader(limited)
		if err != nil {
			return nil, decodeFailure(coding, err)
		}
		defer func() { _ = z.Close() }()
		plain = z
	case "zstd":
		z, err := zstd.NewReader(limited, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(maxWindow))
		if err != nil {
			return nil, decodeFailure(coding, err)
		}
		defer z.Close()
		plain = z
	default:
		return nil, failf(ClassUnreadable, "Content-Encoding %.40q, expected gzip", coding)
	}
	pieces, err := readAll(&limitReader{r: plain, left: max, max: max})
	if err != nil && body.err == nil {
		return nil, decodeFailure(coding, err)
	}
	if len(pieces) == 1 {
		return pieces[0], err
	}
	return bytes.Join(pieces, nil), err
}

func decodeFailure(coding string, err error) *Failure {
	if e, ok := errors.AsType[*tooLargeError](err); ok {
		return failf(ClassTooLarge, "%v", e)
	}
	if errors.Is(err, zstd.ErrWindowSizeExceeded) || errors.Is(err, zstd.ErrDecoderSizeExceeded) {
		return failf(ClassTooLarge, "%s: %v", coding, err)
	}
	return failf(ClassUnreadable, "not whole as %s: %v", coding, err)
}

// tooLargeError means more than max bytes.
type tooLargeError struct{ max int64 }

func (e *tooLargeError) Error() string { return fmt.Sprintf("more than %d bytes", e.max) }

// limitReader fails after left bytes.
type limitReader struct {
	r         io.Reader
	left, max int64
}

func (l *limitReader) Read(p []byte) (int, error) {
	if l.left < 0 {
		return 0, &tooLargeError{l.max}
	}
	if int64(len(p)) > l.left+1 {
		p = p[:l.left+1]
	}
	n, err := l.r.Read(p)
	l.left -= int64(n)
	if l.left < 0 {
		return n + int(l.left), &tooLargeError{l.max}
	}
	return n, err
}

// The sizes of the pieces in which a payload is collected.
const (
	firstPiece = 4 << 10 // size of an alert; a server that polls the whole catalog reads 6,000 at its start
	maxPiece   = 4 << 20
)

// readAll reads r to its end, and also returns what comes before an error. It collects pieces
// instead of growing one buffer, so that a too large body needs no more memory than its read part.
func readAll(r io.Reader) (pieces [][]byte, err error) {
	for size := firstPiece; ; size = min(4*size, maxPiece) {
		piece := make([]byte, 0, size)
		for len(piece) < size && err == nil {
			var n int
			n, err = r.Read(piece[len(piece):size])
			piece = piece[:len(piece)+n]
		}
		pieces = append(pieces, piece)
		if err == io.EOF {
			return pieces, nil
		}
		if err != nil {
			return pieces, err
		}
	}
}
