package encoded

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"io"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"github.com/hazardd/hazardd/internal/net/listen"
)

// Encoding is a content coding (RFC 9110 section 8.4.1).
type Encoding uint8

// These are the codings of a Body.
const (
	Identity Encoding = iota
	Gzip
	Zstd
	Brotli
	encodings
)

// String returns the name of the coding in Content-Encoding; it is empty for Identity.
func (e Encoding) String() string { return [encodings]string{"", "gzip", "zstd", "br"}[e] }

// Body is an encoded text with its compressed forms, each made on first use. It is immutable
// and safe for concurrent use. Callers must not change the bytes.
type Body struct {
	// Restricted means that the body contains data that not everybody may see, so shared caches
	// must not keep it.
	Restricted bool
	// Plain means that it is sent as it is: it is compressed in itself, or would be sent late.
	Plain bool
	// Header is the rest of the header of an answer that is kept.
	Header  http.Header
	entries []entry // of Lists.Entries
	forms   [encodings]form
	etags   [encodings][]string // ready to be a header's value
	stored  *stored             // has the bytes, if it is not nil
}

type form struct {
	once   sync.Once
	data   []byte
	length []string

	sends  atomic.Int32
	sealed atomic.Pointer[listen.Memory]
}

// NewBody returns a Body with a JSON text.
func NewBody(text []byte, restricted bool) *Body {
	b := &Body{Restricted: restricted}
	b.forms[Identity].set(text)
	sum := sha256.Sum256(text)
	tag := base64.RawURLEncoding.EncodeToString(sum[:15])
	for e := range encodings {
		// A strong validator tells the bytes, and the codings have different ones (RFC 9110 section 8.8.3).
		suffix := ""
		if e != Identity {
			suffix = "-" + e.String()
		}
		b.etags[e] = []string{`"` + tag + suffix + `"`}
	}
	return b
}

// ETag returns the strong entity tag of the body in coding e, as the value list of a header.
func (b *Body) ETag(e Encoding) []string { return b.etags[e] }

// Bytes returns the body in coding e; nothing of a body in a file.
func (b *Body) Bytes(e Encoding) []byte {
	f := &b.forms[e]
	if e != Identity {
		f.once.Do(func() { f.set(compress(b.forms[Identity].data, e)) })
	}
	return f.data
}

// Length returns the number of bytes of the body in coding e, as the value list of a header.
func (b *Body) Length(e Encoding) []string {
	b.Bytes(e)
	return b.forms[e].length
}

// The sizes of bodies that the system sends by itself. Smaller ones cost as little to copy. Larger
// ones wait for the reader in between, and then it costs more than copies (bench/active).
const (
	leastSealed = 32 << 10
	mostSealed  = 512 << 10
	oftenSealed = 3 // sends of a form, from which on it is sealed: most bodies are sent once
)

// Memory is called for each send of the body in coding e. It returns what the system sends by itself,
// or nil if the bytes are to be written.
func (b *Body) Memory(e Encoding) *listen.Memory {
	f := &b.forms[e]
	if text := b.Bytes(e); len(text) >= leastSealed && len(text) <= mostSealed && f.sends.Add(1) == oftenSealed {
		f.sealed.Store(listen.NewMemory(text))
	}
	return f.sealed.Load()
}

// size returns the bytes that the body counts for: the compressed forms together are smaller than
// the text.
func (b *Body) size() int {
	if b.InFile() {
		return max(1, int(b.stored.size/perFile))
	}
	if b.Plain {
		return len(b.forms[Identity].data)
	}
	return 2 * len(b.forms[Identity].data)
}

// set sets the bytes. They are copied where they lie in much more memory, which would be kept with them.
func (f *form) set(data []byte) {
	if spare := cap(data) - len(data); spare > leastSpare && spare > len(data)/8 {
		data = bytes.Clone(data)
	}
	f.data, f.length = data, []string{strconv.Itoa(len(data))}
}

// leastSpare is the memory that is worth a copy, in bytes.
const leastSpare = 64 << 10

// compress encodes text. A body is compressed once and sent often, but the first reader after a
// change waits for it. So the levels are those beyond which one percent of size costs several times
// as much time.
func compress(text []byte, e Encoding) []byte {
	var out bytes.Buffer
	var w io.WriteCloser
	switch e {
	case Gzip:
		w, _ = gzip.NewWriterLevel(&out, 5) // the level is valid: no error
	case Zstd:
		w, _ = zstd.NewWriter(&out, zstd.WithEncoderConcurrency(1)) // the option is valid: no error
	case Brotli:
		w = brotli.NewWriterLevel(&out, 4)
	}
	_, _ = w.Write(text) // a bytes.Buffer does not fail
	_ = w.Close()
	return out.Bytes()
}
