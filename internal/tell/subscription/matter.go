package subscription

import (
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/tell/message"
)

// said is what a message has told of a hazard, as far as it matters whether it is still so.
type said struct {
	Thread   string                      `json:"thread"`
	Kind     message.Kind                `json:"kind"`
	Severity hazard.Severity             `json:"severity"`
	Inside   bool                        `json:"inside"` // it reached a place of the subscription
	End      hazard.Instant              `json:"end,omitzero"`
	Over     bool                        `json:"over,omitzero"`
	Measured map[hazard.Quantity]float64 `json:"measured,omitzero"`
	Changed  []message.Change            `json:"changed,omitzero"` // what the message called changed
	Unsure   string                      `json:"unsure,omitzero"`  // ID of the message, if it is not known whether it came
}

// sayOf is what a message of the hazard tells.
func sayOf(h *hazard.Hazard, inside bool) said {
	s := said{Severity: h.Severity, Inside: inside, Over: h.Status == hazard.Expired}
	if h.AutoExpire {
		s.End = h.End
	}
	for _, m := range h.Measurements {
		if _, ok := steps[m.Name]; ok {
			if s.Measured == nil {
				s.Measured = map[hazard.Quantity]float64{}
			}
			s.Measured[m.Name] = m.Value
		}
	}
	return s
}

func (s *said) encode() []byte {
	text, err := json.Marshal(s, json.Deterministic(true))
	if err != nil {
		panic(err) // it holds finite numbers and identifiers
	}
	return text
}

func decodeSaid(text []byte) (s said, err error) {
	err = json.Unmarshal(text, &s)
	return s, err
}

// step is by how much a measurement must change to be told again: by so much, or to so many times the value.
type step struct{ by, times float64 }

// steps are the measurements that people are told of again. The others follow from these, or change with each report.
var steps = map[hazard.Quantity]step{
	hazard.Magnitude:     {by: 0.5},
	hazard.Intensity:     {by: 1},
	hazard.FeltIntensity: {by: 2},
	hazard.PagerLevel:    {by: 1},
	hazard.GDACSLevel:    {by: 1},
	hazard.Wind:          {by: 30},
	hazard.Gust:          {by: 40},
	hazard.Hail:          {by: 20},
	hazard.BurntArea:     {times: 2},
	hazard.VolcanoAlert:  {by: 1},
	hazard.AviationColor: {by: 1},
	hazard.DamageThreat:  {by: 1},
}

func (s step) passed(from, to float64) bool {
	if s.times > 0 {
		return to >= from*s.times && to > from || from >= to*s.times && from > to
	}
	return math.Abs(to-from) >= s.by-1e-9
}

// A later end is told when it is later by a good deal, or when what was told is about to run out: nobody must take a danger for over that goes on.
const (
	muchLater = 6 * time.Hour
	runsOut   = time.Hour
	// leastLater is how much later an end must be at all.
	leastLater = 10 * time.Minute
)

// matters lists what matters and is no longer as it was told, of a hazard that goes on; nil if nothing is. inside: it reaches a place of the subscription.
func (s *said) matters(h *hazard.Hazard, inside bool, now hazard.Instant) (changed []message.Change) {
	add := func(field, from, to string) {
		changed = append(changed, message.Change{Field: field, From: from, To: to})
	}
	if s.Over {
		add("status", string(hazard.Expired), string(hazard.Active))
	}
	if !inside && !s.Inside && !s.Over {
		return nil // it went away, and that was told
	}
	if s.Severity != h.Severity {
		add("severity", s.Severity.String(), h.Severity.String())
	}
	if s.Inside != inside {
		word := map[bool]string{true: "inside", false: "outside"}
		add("area", word[s.Inside], word[inside])
	}
	for _, m := range h.Measurements {
		step, ok := steps[m.Name]
		from, known := s.Measured[m.Name]
		if info, _ := m.Name.Info(); !known && len(info.Words) > 0 {
			from, known = 1, true // the mildest word is no news
		}
		if ok && known && step.passed(from, m.Value) {
			add(string(m.Name), number(from), number(m.Value))
		}
	}
	if h.AutoExpire && s.End > 0 && h.End != s.End {
		later := time.Duration(h.End-s.End) * time.Millisecond
		if later >= muchLater || later >= leastLater && s.End.Add(-runsOut) <= now {
			add("end", s.End.String(), h.End.String())
		}
	}
	return changed
}

// holds reports whether what was told still holds of the hazard.
func (s *said) holds(h *hazard.Hazard, inside bool, now hazard.Instant) bool {
	over := h.Status != hazard.Active
	return over == s.Over && (over || s.matters(h, inside, now) == nil)
}

func number(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }

// kindOfEnd is the kind of message that tells of an end.
func kindOfEnd(h *hazard.Hazard) message.Kind {
	switch h.Reason {
	case hazard.EndRetracted:
		return message.Correction
	case hazard.EndCancelled, hazard.EndWithdrawn:
		return message.Withdrawn
	}
	return message.Ended
}

// bySeverity orders items as lists do.
func bySeverity(items []message.Item) {
	slices.SortStableFunc(items, func(a, b message.Item) int { return hazard.Compare(&a.Hazard, &b.Hazard) })
}
