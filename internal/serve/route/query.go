package route

import (
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"

	"github.com/hazardd/hazardd/internal/edit"
)

// The number of changes per answer.
const (
	DefaultChanges = 100
	MaxChanges     = 1000
)

// UnknownID returns the problem of an id in the path that is none of the known ones.
func UnknownID(what, id string, known []string) error {
	detail := fmt.Sprintf("%q is not a %s; expected one of %s", id, what, strings.Join(known, ", "))
	return &Problem{Status: http.StatusNotFound, Detail: detail, Errors: []Fault{{Parameter: what + "-id", Detail: detail}}}
}

// PathRef parses an id or a UUID in the path.
func PathRef(r *http.Request, name string) (edit.Ref, error) {
	text := r.PathValue(name)
	ref, ok := edit.ParseRef(text)
	if !ok {
		return ref, BadParameter(name+"-id", "%q is neither a number (1, 2, 3 …) nor a uuid", text)
	}
	return ref, nil
}

// NoQuery refuses all parameters. If an unknown filter were ignored, the client would mistake all
// data for the filtered part.
func NoQuery(r *http.Request) error {
	if r.URL.RawQuery == "" {
		return nil
	}
	_, err := Parameters(r)
	return err
}

// QueryValues parses the query. It leaves out what browsers' programs and newsletters add to any
// address (isNoise), except below /ogc, where OGC API - Features (17-069r4, /req/core/query-param-unknown)
// requires an error for each unknown parameter.
func QueryValues(r *http.Request) (url.Values, error) {
	values, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return nil, &Problem{Status: http.StatusBadRequest, Detail: "the query cannot be read: a % without two hexadecimal digits, or a semicolon"}
	}
	if !strings.HasPrefix(r.URL.Path, "/ogc") {
		maps.DeleteFunc(values, func(name string, _ []string) bool { return isNoise(name) })
	}
	return values, nil
}

// isNoise reports whether a parameter asks for nothing: _ only keeps caches from answering, and the
// others say which link was followed.
func isNoise(name string) bool {
	return name == "_" || name == "fbclid" || name == "gclid" || strings.HasPrefix(name, "utm_")
}

// OptionalValues is QueryValues without the cost if there is no query.
func OptionalValues(r *http.Request) (url.Values, error) {
	if r.URL.RawQuery == "" {
		return nil, nil
	}
	return QueryValues(r)
}

// Repeated returns the problem of a parameter that is given more than once.
func Repeated(name string, times int) error {
	return BadParameter(name, "is given %d times, expected once", times)
}

// Parameters parses the query. Only the known parameters are allowed, each once.
func Parameters(r *http.Request, known ...string) (url.Values, error) {
	values, err := QueryValues(r)
	if err != nil {
		return nil, err
	}
	allowed := "no parameter is known here"
	if len(known) > 0 {
		allowed = "these are known here: " + strings.Join(known, ", ")
	}
	for name, given := range values {
		if !slices.Contains(known, name) {
			return nil, BadParameter(name, "is not known; %s", allowed)
		}
		if len(given) > 1 {
			return nil, Repeated(name, len(given))
		}
	}
	return values, nil
}

// IntParameter parses an integer parameter.
func IntParameter(values url.Values, name string, missing, low, high int64) (int64, error) {
	if !values.Has(name) {
		return missing, nil
	}
	n, err := strconv.ParseInt(values.Get(name), 10, 64)
	if err != nil || n < low || n > high {
		return 0, BadParameter(name, "%q is not a whole number from %d to %d", values.Get(name), low, high)
	}
	return n, nil
}

// FloatParameter parses a number parameter.
func FloatParameter(values url.Values, name string, missing, low, high float64) (float64, error) {
	if !values.Has(name) {
		return missing, nil
	}
	n, err := strconv.ParseFloat(values.Get(name), 64)
	if err != nil || !(n >= low && n <= high) { // also refuses NaN
		return 0, BadParameter(name, "%.60q is not a number from %v to %v", values.Get(name), low, high)
	}
	return n, nil
}

// expected describes the JSON value that a member must have, by its Go kind.
var expected = map[reflect.Kind]string{reflect.String: "a string", reflect.Bool: "true or false", reflect.Slice: "an array of integers", reflect.Int64: "an integer"}

// Object parses a body that must be one JSON object with only the members of into. Errors repeat
// nothing of the body, because it may hold a password.
func Object(w http.ResponseWriter, r *http.Request, into any) error {
	body, err := ReadBody(w, r, MaxLogin)
	if err != nil {
		return err
	}
	err = json.Unmarshal(body, into, json.RejectUnknownMembers(true))
	if bad, ok := errors.AsType[*json.SemanticError](err); ok && bad.JSONPointer != "" {
		detail := "is not known here"
		if !errors.Is(err, json.ErrUnknownName) {
			detail = "is not " + expected[bad.GoType.Kind()]
		}
		name := string(bad.JSONPointer)
		return &Problem{Status: http.StatusBadRequest, Detail: name[1:] + ": " + detail, Errors: []Fault{{Pointer: name, Detail: detail}}}
	}
	if err != nil {
		return &Problem{Status: http.StatusBadRequest, Detail: "the body is not one JSON object with unique names"}
	}
	return nil
}
