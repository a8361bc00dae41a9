package read

import (
	"cmp"
	"context"
	"net/http"
	"slices"

	"github.com/hazardd/hazardd/internal/auth"
	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/serve/route"
)

// quantity is a row of GET /measurements.
type quantity struct {
	Name    string   `json:"name"`
	Unit    string   `json:"unit"`
	Title   string   `json:"title"`
	Meaning string   `json:"meaning"`
	Words   []string `json:"words,omitzero"` // for a scale, mildest first: the value is the index, from 1
	Minimum float64  `json:"minimum"`
	Maximum float64  `json:"maximum"`
	// Worse says whether higher or lower values are worse: "higher" or "lower".
	Worse string `json:"worse"`
}

// quantities returns all quantities that can be measured.
func quantities() []quantity {
	list := []quantity{}
	for _, info := range hazard.Quantities() {
		low, high := info.Range()
		worse := "higher"
		if info.Falling {
			worse = "lower"
		}
		list = append(list, quantity{Name: string(info.Name), Unit: info.Unit, Title: info.Title, Meaning: info.Meaning, Words: info.Words, Minimum: low, Maximum: high, Worse: worse})
	}
	return list
}

// measurement is a measured value of a hazard.
type measurement struct {
	Name   string  `json:"name"`
	Value  float64 `json:"value"`
	Word   string  `json:"word,omitzero"` // name of the value, on a scale of words
	Unit   string  `json:"unit"`
	Scale  string  `json:"scale,omitzero"`
	Source string  `json:"source"`
	Time   string  `json:"time,omitzero"` // when this service first read this value
}

func measurementsOf(all []hazard.Measurement) []measurement {
	list := []measurement{}
	for _, m := range all {
		info, _ := m.Name.Info()
		row := measurement{Name: string(m.Name), Value: m.Value, Word: m.Word(), Unit: info.Unit, Scale: m.Scale, Source: m.Source}
		if m.Since != 0 {
			row.Time = m.Since.String()
		}
		list = append(list, row)
	}
	return list
}

// measurements serves the measurements of a hazard, and with earlier also those of the past.
func (a *Details) measurements(w http.ResponseWriter, r *http.Request, _ *auth.Caller) error {
	values, at, err := a.readAt(r, "earlier")
	if err != nil {
		return err
	}
	earlier, err := earlierParameter(values)
	if err != nil {
		return err
	}
	h, err := a.hazardNowOrAt(r, at)
	if err != nil {
		return err
	}
	all := h.Measurements
	if earlier {
		if all, err = a.measuredOver(r.Context(), h, at); err != nil {
			return err
		}
	}
	return route.AnswerJSON(w, r, measurementsOf(all), false)
}

// maxMeasured bounds the measurements of one answer: the latest ones.
const maxMeasured = 1000

// measuredOver returns what was ever measured of a hazard, oldest first, as of at (nil means now).
func (a *Hazards) measuredOver(ctx context.Context, h *hazard.Hazard, at *hazard.Instant) (all []hazard.Measurement, err error) {
	last := map[hazard.Quantity]hazard.Measurement{}
	err = a.statesOf(ctx, h.ID, at, func(c *hazard.Change) {
		for _, m := range c.Hazard.Measurements {
			if had, ok := last[m.Name]; ok && had.Value == m.Value && had.Source == m.Source {
				continue
			}
			m.Since = cmp.Or(m.Since, c.At)
			last[m.Name] = m
			all = append(all, m)
		}
	})
	slices.SortStableFunc(all, func(x, y hazard.Measurement) int { return cmp.Compare(x.Since, y.Since) })
	return all[max(0, len(all)-maxMeasured):], err
}
