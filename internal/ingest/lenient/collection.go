package lenient

import (
	"bytes"
	"cmp"
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/hazardd/hazardd/internal/ingest/source"
)

// Collection describes a JSON document that is an object around a list of records, like most feeds.
type Collection struct {
	Want  string   // the expected kind of document, for errors: "GeoJSON"
	Lists []string // the members that may contain the records, if they are arrays
	Heads []string // the members that identify the document
}

// Document is what Collection.Read has read of a document besides its records.
type Document struct {
	Object []byte            // the document without the text around it
	Head   map[string][]byte // the document's members in Heads, and those in Lists that are not arrays
	Listed string            // the name of the list that was read, or ""
}

// Word returns the text of a member in Head, or "" if it is not a string.
func (d *Document) Word(name string) string { return Word(d.Head[name]) }

// Read calls record for each record of the list, with its position in the document ("features/12").
// The record shares the payload's memory and may be invalid; see Decode. The error is a
// *source.PayloadError. If its Cut is true, the records before the error are good.
func (k Collection) Read(payload []byte, record func(where func() string, raw []byte)) (Document, error) {
	doc, err := JSON(payload)
	d := Document{Head: map[string][]byte{}}
	if err != nil {
		return d, err
	}
	c := Cursor{Doc: doc}
	if err := c.begin('{', "an object of "+k.Want); err != nil {
		return d, err
	}
	list := elements{Cursor: &c, first: -1}
	err = c.Members(func(name string) error {
		isList := slices.Contains(k.Lists, name)
		if !isList && !slices.Contains(k.Heads, name) {
			_, err := c.Value()
			return err
		}
		if _, twice := d.Head[name]; twice || isList && name == d.Listed {
			return source.Errorf("%s: the member is there twice", name)
		}
		if isList && c.Next() == '[' {
			if d.Listed != "" {
				return source.Errorf("%s beside %s, expected one of them", name, d.Listed)
			}
			d.Listed = name
			c.At++
			list.read = func(i int, raw []byte) { record(place(name, i), raw) }
			return list.rest()
		}
		raw, err := c.Value()
		if err == nil {
			d.Head[name] = raw
		}
		return err
	})
	if err == nil {
		d.Object = bytes.TrimSpace(doc[:c.At])
		err = c.finish()
	}
	return d, list.ended(err)
}

// List calls record for each element of a JSON document that is an array. See Collection.Read.
func List(payload []byte, want string, record func(where func() string, raw []byte)) error {
	doc, err := JSON(payload)
	if err != nil {
		return err
	}
	c := Cursor{Doc: doc}
	if err := c.begin('[', "an array of "+want); err != nil {
		return err
	}
	c.At++
	list := elements{Cursor: &c, first: -1, read: func(i int, raw []byte) { record(place("records", i), raw) }}
	if err = list.rest(); err == nil {
		err = c.finish()
	}
	return list.ended(err)
}

// ended continues after a fault that ended the document too early. It returns the fault, because
// the records so far are good, but the list is not complete.
func (e *elements) ended(fault error) error {
	if bad, ok := errors.AsType[*source.PayloadError](fault); ok && e.resume() {
		bad.Cut = true
	}
	if fault == nil && e.guessed {
		return &source.PayloadError{Reason: "an element of the list has no end, or the payload was cut", Cut: true}
	}
	return fault
}

// place returns a function that names a record. Most records never need their name.
func place(list string, i int) func() string {
	return func() string { return list + "/" + strconv.Itoa(i) }
}

// begin moves to the beginning of the document, which must be the bracket.
func (c *Cursor) begin(bracket byte, want string) error {
	switch c.Next() {
	case bracket:
		return nil
	case End:
		return source.Errorf("an empty payload, expected %s", want)
	case '<':
		return source.Errorf("HTML or XML instead of %s: %s", want, Excerpt(c.Doc))
	}
	return source.Errorf("begins with %s, expected %s", Excerpt(c.Doc), want)
}

// finish returns an error if the document is followed by other text. The records before it are
// good.
func (c *Cursor) finish() error {
	if c.Next() == End {
		return nil
	}
	bad, _ := c.unexpected("the end of the document").(*source.PayloadError)
	bad.Cut = true
	return bad
}

// Complaints are the members that contain an error message: those of RFC 9457, and others that
// servers use.
var Complaints = []string{"status", "title", "error", "message", "Message", "detail"}

// Complaint returns the error message in the Complaints of a document that is not a list, or "" if
// there is none.
func (d *Document) Complaint() string {
	var complaints []string
	for _, name := range Complaints {
		if raw, ok := d.Head[name]; ok {
			complaints = append(complaints, cmp.Or(ExcerptText(Word(raw)), Excerpt(raw)))
		}
	}
	return strings.Join(complaints, ", ")
}
