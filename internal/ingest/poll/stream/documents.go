package stream

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"regexp"
	"time"

	"github.com/hazardd/hazardd/internal/ingest/source"
)

// listenDocuments reads XML documents from a connection, one after another.
func (d *Dialer) listenDocuments(ctx context.Context, p *source.Push, address string, h Handler) error {
	conn, closed, err := d.open(ctx, address, false)
	if err != nil {
		return err
	}
	defer closed()
	h.Up()
	cut := newDocuments(p.Root, p.MaxBytes)
	for {
		// Single bytes do not extend the deadline; only a whole message does.
		if err := conn.SetReadDeadline(time.Now().Add(p.Silence)); err != nil {
			return err
		}
		message, err := cut.next(conn)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			return silent(err, p.Silence)
		}
		if err := h.Receive(ctx, message); err != nil {
			return err
		}
	}
}

// documents splits a stream into XML documents. Text between two documents, or an unfinished
// document before the next one, is returned as a message too, so that the caller can report it.
type documents struct {
	root    []byte
	opening *regexp.Regexp // its opening tag
	max     int64
	buf     []byte // read, but not returned yet
	scanned int    // buf has been searched for the end of a document up to here
}

func newDocuments(root string, maxSize int64) *documents {
	return &documents{root: []byte(root), opening: regexp.MustCompile(`<(?:[\pL_][\pL\d._-]*:)?` + regexp.QuoteMeta(root) + `[\s/>]`), max: maxSize}
}

// next returns the next document. The caller owns the memory.
func (d *documents) next(r io.Reader) ([]byte, error) {
	for {
		if end := d.end(); end > 0 {
			begin := d.begin(end)
			if begin > 0 { // the next call returns the document itself
				end, d.scanned = begin, 0
			} else {
				d.scanned = 0
			}
			message := bytes.TrimSpace(bytes.Clone(d.buf[:end]))
			d.buf = append(d.buf[:0], d.buf[end:]...)
			return message, nil
		}
		if int64(len(d.buf)) > d.max {
			return nil, fmt.Errorf("%w: no end of a document in %d bytes", ErrTooLarge, d.max)
		}
		if len(d.buf) == 0 && cap(d.buf) > 8*bufferBytes {
			d.buf = nil // drops the large buffer of an earlier message
		}
		have := len(d.buf)
		d.buf = append(d.buf, make([]byte, bufferBytes)...)
		n, err := r.Read(d.buf[have:])
		d.buf = d.buf[:have+n]
		if err == io.EOF && len(bytes.TrimSpace(d.buf)) > 0 && n == 0 {
			err = errors.New("the connection ended within a document")
		}
		if err != nil && n == 0 {
			return nil, err
		}
	}
}

// end returns the end of the first document in buf, after its closing tag, or 0 if the document is
// not complete yet.
func (d *documents) end() int {
	for at := d.scanned; ; {
		i := bytes.Index(d.buf[at:], []byte("</"))
		if i < 0 {
			d.scanned = max(0, len(d.buf)-1)
			return 0
		}
		tag := at + i
		j := bytes.IndexByte(d.buf[tag:min(len(d.buf), tag+maxTag)], '>')
		if j < 0 && len(d.buf) < tag+maxTag { // the rest of the tag has not arrived yet
			d.scanned = tag
			return 0
		}
		at = tag + 2
		if j < 0 {
			continue
		}
		name := bytes.TrimSpace(d.buf[tag+2 : tag+j])
		if colon := bytes.IndexByte(name, ':'); colon >= 0 {
			name = name[colon+1:]
		}
		if bytes.Equal(name, d.root) {
			return tag + j + 1
		}
	}
}

// maxTag bounds the length of a closing tag in bytes.
const maxTag = 200

// begin returns the beginning of the document that ends at end. It is 0 unless there is other text
// before the document.
func (d *documents) begin(end int) int {
	text := d.buf[:end]
	begin := bytes.LastIndex(text, []byte("<?xml"))
	if begin < 0 {
		if all := d.opening.FindAllIndex(text, -1); all != nil {
			begin = all[len(all)-1][0]
		}
	}
	if begin <= 0 || len(bytes.TrimPrefix(bytes.TrimSpace(text[:begin]), []byte("\ufeff"))) == 0 {
		return 0
	}
	return begin
}
