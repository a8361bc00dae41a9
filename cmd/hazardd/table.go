package main

import (
	"io"
	"slices"
	"strings"
	"unicode/utf8"
)

// table prints text in aligned columns, measured in characters. Columns of numbers are
// right-aligned.
type table struct {
	head []string
	rows [][]string
	// colours maps the text of a cell to its color, by column.
	colours map[int]map[string]string
}

func newTable(head ...string) *table { return &table{head: head, colours: map[int]map[string]string{}} }

func (t *table) add(cells ...string) { t.rows = append(t.rows, cells) }

// Colors, by the codes of ECMA-48, section 8.3.117.
const (
	red    = "31"
	green  = "32"
	yellow = "33"
	dim    = "2"
)

func (t *table) write(w io.Writer, colour bool) error {
	lines := append([][]string{t.head}, t.rows...)
	widths := make([]int, len(t.head))
	for _, line := range lines {
		for i, cell := range line {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	var text strings.Builder
	for _, line := range lines {
		var out strings.Builder
		for i, cell := range line {
			pad := strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell))
			if code := t.colours[i][cell]; colour && code != "" {
				cell = "\x1b[" + code + "m" + cell + "\x1b[0m"
			}
			if i > 0 {
				out.WriteString("  ")
			}
			if t.numbers(i) {
				out.WriteString(pad + cell)
			} else {
				out.WriteString(cell + pad)
			}
		}
		text.WriteString(strings.TrimRight(out.String(), " ") + "\n")
	}
	_, err := io.WriteString(w, text.String())
	return err
}

// numbers reports whether all cells of column i are numbers.
func (t *table) numbers(i int) bool {
	return len(t.rows) > 0 && !slices.ContainsFunc(t.rows, func(row []string) bool {
		return row[i] == "" || strings.Trim(row[i], "0123456789") != ""
	})
}
