package listen

import (
	"io"
	"math"
	"runtime"
	"sync/atomic"
)

// Memory is a text that the system holds as well, in a sealed file without a name. A Conn sends it
// without copying it. The file is closed when nobody has the Memory any more. It is immutable and
// safe for concurrent use.
type Memory struct {
	text []byte
	file int
}

// The bounds of all Memory of the process together. A Memory that was replaced counts until the
// next collection.
const (
	mostFiles = 64      // Share leaves at least 256 descriptors to the rest of the program
	mostBytes = 8 << 20 // beside the texts themselves
)

var files, bytesHeld atomic.Int64

// NewMemory returns a Memory of text, which must not change. It is nil if the system has none, or if there are
// enough: then text is to be written.
func NewMemory(text []byte) *Memory {
	size := int64(len(text))
	count, held := files.Add(1), bytesHeld.Add(size)
	if count > mostFiles || held > mostBytes {
		release(size)
		return nil
	}
	file, err := sealed(text)
	if err != nil {
		release(size)
		return nil
	}
	m := &Memory{text, file}
	runtime.AddCleanup(m, func(file int) { unseal(file); release(size) }, file)
	return m
}

func release(size int64) { files.Add(-1); bytesHeld.Add(-size) }

// Reader returns a reader of the text. Every reader has a place of its own.
func (m *Memory) Reader() io.Reader { return &memoryReader{m: m} }

type memoryReader struct {
	m  *Memory
	at int64
}

func (r *memoryReader) Read(b []byte) (int, error) {
	n := copy(b, r.m.text[r.at:])
	r.at += int64(n)
	if n == 0 && len(b) > 0 {
		return 0, io.EOF
	}
	return n, nil
}

// SendsMemory reports whether ReadFrom sends a Memory without copying it. c may be nil.
func (c *Conn) SendsMemory() bool {
	return c != nil && !c.listener.limits.Secure && !c.listener.limits.NoSendfile
}

// More says that the next Write is the header of a Memory that is sent right after it: both leave together, so that a
// reader is woken once.
func (c *Conn) More() { c.more = true }

// Write writes b.
func (c *Conn) Write(b []byte) (int, error) {
	if !c.more {
		return c.TCPConn.Write(b)
	}
	c.more = false
	return writeMore(c.TCPConn, b)
}

// ReadFrom sends what r reads. The system sends files and Memory by itself.
func (c *Conn) ReadFrom(r io.Reader) (int64, error) {
	part, ok := r.(*io.LimitedReader)
	if !ok {
		part = &io.LimitedReader{R: r, N: math.MaxInt64}
	}
	m, ok := part.R.(*memoryReader)
	if !ok {
		return c.TCPConn.ReadFrom(r)
	}
	text := m.m.text[m.at:]
	text = text[:min(part.N, int64(len(text)))]
	n, err := send(c.TCPConn, m.m.file, m.at, len(text))
	if err != nil { // the system cannot, or the connection is broken, which the write tells
		var rest int
		rest, err = c.TCPConn.Write(text[n:])
		n += rest
	}
	runtime.KeepAlive(m.m)
	m.at, part.N = m.at+int64(n), part.N-int64(n)
	return int64(n), err
}
