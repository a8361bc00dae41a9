package page

import "github.com/hazardd/hazardd/internal/words"

// Document is a page that is made of tables and links: what a program reads as JSON, for people.
type Document struct {
	Frame
	Title, Description string
	Tables             []Table
	Links              []Cell
}

// Table is a table of a Document.
type Table struct {
	Title string
	Head  []string
	Rows  [][]Cell
}

// Cell is text, which may lead somewhere on this server.
type Cell struct {
	Text string
	Href string
}

// HTML is the page.
func (d *Document) HTML() ([]byte, error) { return execute(words.English(), "document.html", d) }
