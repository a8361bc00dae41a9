package encoded

import (
	"errors"
	"io"
	"os"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"
)

// files are the temporary files of bodies that are too large for memory. They have no names.
type files struct {
	most int // bytes of all of them; one has at most half of that
	held atomic.Int64
}

// perFile is how many bytes in a file count as one in memory: the system keeps them where it has room.
const perFile = 8

// create returns a new file. It is nil if there is none: the disk is full, there are enough, or the system
// does not remove the name of an open file.
func (f *files) create() *os.File {
	if f == nil || f.held.Load() > int64(f.most/2) {
		return nil
	}
	file, err := os.CreateTemp("", "hazardd-*")
	if err != nil {
		return nil
	}
	if err := os.Remove(file.Name()); err != nil {
		_ = file.Close() // nothing was written
		_ = os.Remove(file.Name())
		return nil
	}
	return file
}

// body returns the body that was written to a file. tag names its bytes.
func (f *files) body(file *os.File, size int, tag string, restricted bool) *Body {
	s := &stored{file: file, size: int64(size), of: f}
	f.held.Add(s.size)
	b := &Body{Restricted: restricted, Plain: true, stored: s}
	b.forms[Identity].length = []string{strconv.Itoa(size)}
	b.etags[Identity] = []string{tag}
	runtime.AddCleanup(b, (*stored).drop, s) // of a view that was replaced before it was made
	return b
}

// stored is the file of a body. It is closed when neither a view nor a reader has it.
type stored struct {
	file *os.File
	size int64
	of   *files

	mu      sync.Mutex
	readers int
	dropped bool
	closed  bool
}

// drop says that no view has the body any more.
func (s *stored) drop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.dropped = true
	s.close()
}

// close closes the file if nobody needs it. The caller holds s.mu.
func (s *stored) close() {
	if s.dropped && s.readers == 0 && !s.closed {
		s.closed = true
		_ = s.file.Close() // it has been read, and has no name
		s.of.held.Add(-s.size)
	}
}

// InFile reports whether the body is not in memory: Bytes has nothing, and WriteTo reads it.
func (b *Body) InFile() bool { return b.stored != nil }

// Open keeps the file of a body open until Close. It reports false if the file has been closed, because the view
// was replaced.
func (b *Body) Open() bool {
	b.stored.mu.Lock()
	defer b.stored.mu.Unlock()
	if b.stored.closed {
		return false
	}
	b.stored.readers++
	return true
}

// Close ends what Open began.
func (b *Body) Close() {
	b.stored.mu.Lock()
	defer b.stored.mu.Unlock()
	b.stored.readers--
	b.stored.close()
}

// CopyCost is the memory that WriteTo takes, in bytes.
const CopyCost = chunk

// WriteTo writes a body whose file is open. Many may do so at once.
func (b *Body) WriteTo(w io.Writer) (n int64, err error) {
	part := make([]byte, CopyCost)
	for n < b.stored.size {
		read, err := b.stored.file.ReadAt(part[:min(int64(len(part)), b.stored.size-n)], n)
		if read == 0 {
			return n, errors.Join(err, io.ErrUnexpectedEOF)
		}
		written, err := w.Write(part[:read])
		n += int64(written)
		if err != nil {
			return n, err
		}
	}
	return n, nil
}
