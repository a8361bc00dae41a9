package page

import "github.com/hazardd/hazardd/internal/lang/words"

// Document is a page of tables and links. It shows people what programs read as JSON.
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

// Cell is text that may link to a page of this server.
type Cell struct {
	Text string
	Href string
}

// HTML returns the page.
func (d *Document) HTML() ([]byte, error) { return execute(words.English(), "document.html", d) }
