package app

import (
	"errors"
	"fmt"
	"sync/atomic"
)

// optional is a file that makes an answer better, and that a setting names. While it cannot be read,
// what it would say is not known, and it is asked for again. Nothing else waits for it.
type optional[T any] struct {
	what  string // for people, as lacks
	lacks string // what is not there while it cannot be read
	read  func() (T, error)
	value atomic.Pointer[T]
}

// get returns the content; while there is none, the zero value.
func (o *optional[T]) get() (v T) {
	if p := o.value.Load(); p != nil {
		v = *p
	}
	return v
}

// again reads the file, unless it was read. It returns why it cannot be read.
func (o *optional[T]) again() error {
	if o.value.Load() != nil {
		return nil
	}
	v, err := o.read()
	if err != nil {
		return fmt.Errorf("%s: %w; until then %s", o.what, err, o.lacks)
	}
	o.value.Store(&v)
	return nil
}

// Unread returns why files of the operator's that help to place hazards cannot be read; nil if all are.
func (s *Sources) Unread() error {
	var errs []error
	for _, f := range s.optional {
		errs = append(errs, f.again())
	}
	return errors.Join(errs...)
}

// watchFiles says which of these cannot be read, until they can.
func (s *Service) watchFiles() {
	for _, f := range s.cfg.Known.optional {
		s.watchFile(f)
	}
}

func (s *Service) watchFile(f optionalFile) {
	if err := f.again(); err != nil {
		s.cfg.Logger.Error("a file cannot be read; the service goes on without it, and tries again each minute", "error", err)
	}
	s.Store.Quarantine.Watch(f.named(), f.again)
}

func (o *optional[T]) named() string { return o.what }

// optionalFile is an optional of any content.
type optionalFile interface {
	named() string
	again() error
}
