package route

import (
	"net/http"

	"github.com/hazardd/hazardd/internal/auth"
)

// The functions here adapt the functions of handlers, so that these know neither decoding nor
// encoding: they check, ask and return. What they return is only for the caller.

// JSON adapts f, which answers a read without parameters.
func JSON[Out any](f func(r *http.Request, who *auth.Caller) (Out, error)) Protected {
	return func(w http.ResponseWriter, r *http.Request, who *auth.Caller) error {
		if err := NoQuery(r); err != nil {
			return err
		}
		out, err := f(r, who)
		if err != nil {
			return err
		}
		return AnswerJSON(w, r, out, true)
	}
}

// Created adapts f, which makes something of the object in the body. It returns what it made, and
// the address of that.
func Created[In, Out any](f func(r *http.Request, who *auth.Caller, in In) (out Out, address string, err error)) Protected {
	return changing(f, true)
}

// Changed adapts f, which changes something by the object in the body. It returns what it changed,
// and the address of that.
func Changed[In, Out any](f func(r *http.Request, who *auth.Caller, in In) (out Out, address string, err error)) Protected {
	return changing(f, false)
}

func changing[In, Out any](f func(r *http.Request, who *auth.Caller, in In) (Out, string, error), isNew bool) Protected {
	return func(w http.ResponseWriter, r *http.Request, who *auth.Caller) error {
		var in In
		if err := Object(w, r, &in); err != nil {
			return err
		}
		out, address, err := f(r, who, in)
		if err != nil {
			return err
		}
		return WrittenJSON(w, out, address, isNew)
	}
}

// Done adapts f, whose success has no content.
func Done(f func(r *http.Request, who *auth.Caller) error) Protected {
	return func(w http.ResponseWriter, r *http.Request, who *auth.Caller) error {
		if err := f(r, who); err != nil {
			return err
		}
		w.WriteHeader(http.StatusNoContent)
		return nil
	}
}

// For lets only callers with one of the roles through.
func For(h Protected, roles ...auth.Role) Protected {
	return func(w http.ResponseWriter, r *http.Request, who *auth.Caller) error {
		if err := Role(who, roles...); err != nil {
			return err
		}
		return h(w, r, who)
	}
}
