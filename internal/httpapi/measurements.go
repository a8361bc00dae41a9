package httpapi

import (
	"net/http"

	"github.com/hazardd/hazardd/internal/auth"
	"github.com/hazardd/hazardd/internal/hazard"
)

// quantity is a row of GET /measurements.
type quantity struct {
	Name    string   `json:"name"`
	Unit    string   `json:"unit"`
	Title   string   `json:"title"`
	Meaning string   `json:"meaning"`
	Words   []string `json:"words,omitzero"` // of a scale, the mildest first: the value is the place in it, from 1
	Minimum float64  `json:"minimum"`
	Maximum float64  `json:"maximum"`
	// Worse says which values are the worse: "higher" or "lower".
	Worse string `json:"worse"`
}

// quantities are all that can be measured.
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

// measurement is what was measured of a hazard.
type measurement struct {
	Name   string  `json:"name"`
	Value  float64 `json:"value"`
	Word   string  `json:"word,omitzero"` // that the value stands for, in a scale of words
	Unit   string  `json:"unit"`
	Scale  string  `json:"scale,omitzero"`
	Source string  `json:"source"`
	Time   string  `json:"time,omitzero"` // since when the source says so, as this service has read it
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

// measurements serves what was measured of a hazard.
func (a *API) measurements(w http.ResponseWriter, r *http.Request, _ *auth.Caller) error {
	_, at, err := a.readAt(r)
	if err != nil {
		return err
	}
	h, err := a.hazardNowOrAt(r, at)
	if err != nil {
		return err
	}
	return answerJSON(w, r, measurementsOf(h.Measurements), false)
}
