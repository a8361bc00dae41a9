package poll

import (
	"bytes"
	"errors"
	"runtime/debug"

	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/ingest/evidence"
	"github.com/hazardd/hazardd/internal/ingest/source"
)

// parse parses a payload of a source, received at now; cut says why its end is missing, or is nil.
// usable reports whether the batch is good as far as it goes. It can be true beside an error, a
// *Failure, if only the end is missing; such a batch is not Whole.
func parse(src *Source, payload []byte, cut *Failure, now hazard.Instant) (batch source.Batch, usable bool, err error) {
	if isHTML(payload) {
		fail := failf(ClassUnreadable, "an HTML page instead of data")
		fail.payload = evidence.Digest(payload)
		return source.Batch{}, false, fail
	}
	err = protect(func() (err error) {
		batch, err = src.Parse(payload, now)
		return err
	})
	if err == nil && cut == nil {
		return batch, true, nil
	}
	batch.Whole = false
	if err == nil {
		return batch, true, cut
	}
	fail, ok := errors.AsType[*Failure](err)
	if !ok {
		fail = failf(ClassUnreadable, "%v", err)
	}
	if bad, ok := errors.AsType[*source.PayloadError](err); ok && bad.Cut {
		fail.Class = ClassIncomplete
	}
	fail.payload = evidence.Digest(payload)
	usable = fail.Class == ClassIncomplete
	if cut != nil {
		fail = cut
	}
	return batch, usable, fail
}

// Parse parses a payload of a source, received at now, as polling does. Beside an error, the batch
// holds the records before it.
func Parse(src *Source, payload []byte, now hazard.Instant) (source.Batch, error) {
	batch, _, err := parse(src, payload, nil, now)
	return batch, err
}

// isHTML reports whether a payload is a web page. No source publishes one; it is an error page, or
// a login page of a network on the way.
func isHTML(payload []byte) bool {
	head := bytes.ToLower(bytes.TrimSpace(bytes.TrimPrefix(payload[:min(len(payload), 1024)], []byte("\ufeff"))))
	return bytes.HasPrefix(head, []byte("<!doctype html")) || bytes.HasPrefix(head, []byte("<html"))
}

// protect turns a panic of f into a failure.
func protect(f func() error) (err error) {
	defer func() {
		if v := recover(); v != nil {
			fail := failf(ClassInternal, "panic: %v", v)
			fail.stack = string(debug.Stack())
			err = fail
		}
	}()
	return f()
}
