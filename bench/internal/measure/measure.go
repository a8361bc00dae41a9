// Package measure is shared by the programs below bench: it combines repeated measurements into one
// figure, and prints figures.
//
// On a shared machine, absolute figures differ from run to run. So each program measures its
// baseline in the same run, in rounds with rotating order, and compares within a round: a
// disturbance in a round affects both sides of its ratios. The result is the median of the rounds,
// so that a round with a disturbance on one side only does not change it.
package measure

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"text/tabwriter"
)

// Median returns the median of values; NaN without values. It does not modify values.
func Median(values []float64) float64 { return Quantile(values, 0.5) }

// Quantile returns the value below which the share q of values lies, interpolated between two of
// them; NaN without values.
func Quantile(values []float64, q float64) float64 {
	if len(values) == 0 {
		return math.NaN()
	}
	sorted := slices.Sorted(slices.Values(values))
	at := q * float64(len(sorted)-1)
	low := int(at)
	high := min(low+1, len(sorted)-1)
	return sorted[low] + (at-float64(low))*(sorted[high]-sorted[low])
}

// Ratio returns the median of the ratios of a to b, each within one round.
func Ratio(a, b []float64) float64 {
	var each []float64
	for i := range min(len(a), len(b)) {
		each = append(each, a[i]/b[i])
	}
	return Median(each)
}

// Rotated returns the order of round r of n things: each is first equally often, and follows a
// different one each time.
func Rotated(n, r int) []int {
	order := make([]int, n)
	for i := range order {
		order[i] = (i + r) % n
	}
	if r%2 == 1 {
		slices.Reverse(order)
	}
	return order
}

// Goal is a promised figure and the measured value.
type Goal struct {
	Name  string  `json:"name"`
	Value float64 `json:"value"`
	// Bound is the minimum of Value, or its maximum if AtMost is set.
	Bound  float64 `json:"bound"`
	AtMost bool    `json:"at_most,omitempty"`
	Met    bool    `json:"met"`
}

// AtLeast returns a goal that value reaches bound.
func AtLeast(name string, value, bound float64) Goal {
	return Goal{Name: name, Value: value, Bound: bound, Met: value >= bound}
}

// AtMost returns a goal that value stays within bound.
func AtMost(name string, value, bound float64) Goal {
	return Goal{Name: name, Value: value, Bound: bound, AtMost: true, Met: value <= bound}
}

// Report is the output of a program: tables for people, or everything as JSON.
type Report struct {
	Program string            `json:"program"`
	Machine map[string]string `json:"machine"` // conditions of the measurement
	Tables  []Table           `json:"tables"`
	Goals   []Goal            `json:"goals"`
	Notes   []string          `json:"notes,omitempty"`
}

// Table is a set of rows under headings. A cell is text or a number.
type Table struct {
	Title string   `json:"title"`
	Heads []string `json:"heads"`
	Rows  [][]any  `json:"rows"`
}

// Add adds a row. NaN stands for a measurement that was not made.
func (t *Table) Add(cells ...any) {
	for i, c := range cells {
		if f, ok := c.(float64); ok && math.IsNaN(f) {
			cells[i] = nil
		}
	}
	t.Rows = append(t.Rows, cells)
}

// Write prints the report.
func (r *Report) Write(w io.Writer, asJSON bool) error {
	if asJSON {
		enc := json.NewEncoder(w)
		enc.SetIndent("", "  ")
		return enc.Encode(r)
	}
	var out strings.Builder
	for i := range r.Tables {
		fmt.Fprintf(&out, "%s\n", r.Tables[i].Title)
		tab := tabwriter.NewWriter(&out, 0, 0, 2, ' ', tabwriter.AlignRight)
		fmt.Fprintln(tab, strings.Join(r.Tables[i].Heads, "\t")+"\t")
		for _, row := range r.Tables[i].Rows {
			for _, c := range row {
				fmt.Fprint(tab, cell(c), "\t")
			}
			fmt.Fprintln(tab)
		}
		if err := tab.Flush(); err != nil {
			return err
		}
		fmt.Fprintln(&out)
	}
	for _, g := range r.Goals {
		verdict, sign := "met", "≥"
		if !g.Met {
			verdict = "MISSED"
		}
		if g.AtMost {
			sign = "≤"
		}
		fmt.Fprintf(&out, "%-6s  %s: %s (goal %s %s)\n", verdict, g.Name, number(g.Value), sign, number(g.Bound))
	}
	for _, n := range r.Notes {
		fmt.Fprintf(&out, "note: %s\n", n)
	}
	_, err := io.WriteString(w, out.String())
	return err
}

func cell(c any) string {
	switch c := c.(type) {
	case nil:
		return "–"
	case float64:
		return number(c)
	default:
		return fmt.Sprint(c)
	}
}

// number formats about three digits, which is more than the precision of the figures.
func number(f float64) string {
	switch a := math.Abs(f); {
	case a >= 100:
		return fmt.Sprintf("%.0f", f)
	case a >= 10:
		return fmt.Sprintf("%.1f", f)
	case a >= 0.1 || a == 0:
		return fmt.Sprintf("%.2f", f)
	}
	return fmt.Sprintf("%.4f", f)
}
