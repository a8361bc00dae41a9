package client

import (
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strconv"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// lenient accepts the JSON of different servers of this interface: timestamps and counts may be
// strings of digits or numbers. By the rules of package json, null means the zero value and unknown
// members are ignored.
var lenient = json.JoinOptions(jsontext.AllowInvalidUTF8(true), json.WithUnmarshalers(json.JoinUnmarshalers(
	json.UnmarshalFromFunc(func(dec *jsontext.Decoder, s *string) error {
		if dec.PeekKind() != '0' {
			return errors.ErrUnsupported
		}
		v, err := dec.ReadValue()
		if err != nil {
			return err
		}
		*s = string(v)
		return nil
	}),
	json.UnmarshalFromFunc(func(dec *jsontext.Decoder, n *int64) error {
		if dec.PeekKind() != '"' {
			return errors.ErrUnsupported
		}
		token, err := dec.ReadToken()
		if err != nil {
			return err
		}
		*n, err = strconv.ParseInt(token.String(), 10, 64)
		return err
	}),
	json.UnmarshalFromFunc(func(dec *jsontext.Decoder, f *float64) error {
		if dec.PeekKind() != '"' {
			return errors.ErrUnsupported
		}
		token, err := dec.ReadToken()
		if err != nil {
			return err
		}
		*f, err = strconv.ParseFloat(token.String(), 64)
		return err
	}),
)))

// Rejected is an invalid record of a list.
type Rejected struct {
	Index int    // position in the list, from 0
	Raw   []byte // the record as received
	Err   error  // what was found and what was expected
}

// ReadList reads a JSON array record by record, as a Client reads answers. If the array is cut off,
// it returns the records before the cut and an *AnswerError.
func ReadList[T any](r io.Reader) (items []T, rejected []Rejected, err error) {
	dec := jsontext.NewDecoder(r, jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	items = []T{}
	switch kind := dec.PeekKind(); kind {
	case '[':
	case jsontext.KindInvalid:
		_, err := dec.ReadToken()
		return items, nil, notJSON(err)
	default:
		return items, nil, &AnswerError{Reason: fmt.Sprintf("the answer is %s, expected a JSON array", kindName(kind))}
	}
	if _, err := dec.ReadToken(); err != nil {
		return items, nil, notJSON(err)
	}
	for i := 0; ; i++ {
		if dec.PeekKind() == ']' {
			break
		}
		value, err := dec.ReadValue()
		if err != nil {
			return items, rejected, notJSON(err)
		}
		item, err := readObject[T](value)
		if err != nil {
			rejected = append(rejected, Rejected{Index: i, Raw: value.Clone(), Err: err})
			continue
		}
		items = append(items, item)
	}
	_, err = dec.ReadToken()
	if err == nil {
		_, err = dec.ReadToken()
	}
	if errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return items, rejected, nil
	}
	if err == nil {
		return items, rejected, &AnswerError{Reason: "something follows the JSON array"}
	}
	return items, rejected, notJSON(err)
}

// readObject reads one record. It refuses duplicate names, because readers would differ in which
// value counts.
func readObject[T any](value jsontext.Value) (item T, err error) {
	if value.Kind() != '{' {
		return item, fmt.Errorf("the record is %s, expected an object", kindName(value.Kind()))
	}
	if err := json.Unmarshal(value, &item, lenient); err != nil {
		if at, ok := errors.AsType[*json.SemanticError](err); ok {
			return item, fmt.Errorf("%s: cannot be read: %.100s", at.JSONPointer, at.JSONValue)
		}
		return item, fmt.Errorf("the record cannot be read: %w", err)
	}
	return item, nil
}

func kindName(k jsontext.Kind) string {
	switch k {
	case '{':
		return "an object"
	case '[':
		return "an array"
	case '"':
		return "a string"
	case '0':
		return "a number"
	}
	return k.String()
}

// notJSON returns the error for an answer that is unreadable, or that did not arrive.
func notJSON(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return &AnswerError{Reason: "the answer broke off", Cut: true}
	}
	if bad, ok := errors.AsType[*jsontext.SyntacticError](err); ok {
		return &AnswerError{Reason: fmt.Sprintf("the answer is not JSON: %s", line(bad.Error(), maxDetail))}
	}
	return err
}

// ofOther returns the error for an answer with another media type than JSON, such as a proxy's page
// or a login form.
func ofOther(resp *http.Response) error {
	media, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	if media == "text/html" || media == "application/xhtml+xml" {
		return &AnswerError{Reason: fmt.Sprintf("the answer is %s, expected JSON", media)}
	}
	return nil
}

// decodeOne reads an answer that is one object.
func decodeOne[T any](resp *http.Response, into *T) error {
	if err := ofOther(resp); err != nil {
		return err
	}
	value, err := readValue(resp.Body)
	if err != nil {
		return err
	}
	item, err := readObject[T](value)
	if err != nil {
		return &AnswerError{Reason: err.Error()}
	}
	*into = item
	return nil
}

// readValue reads one JSON value that nothing follows.
func readValue(r io.Reader) (jsontext.Value, error) {
	dec := jsontext.NewDecoder(r, jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	value, err := dec.ReadValue()
	if err != nil {
		return nil, notJSON(err)
	}
	value = value.Clone()
	if _, err := dec.ReadToken(); err == nil {
		return nil, &AnswerError{Reason: "something follows the JSON value"}
	} else if !errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return nil, notJSON(err)
	}
	return value, nil
}
