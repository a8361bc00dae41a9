package subscription

import (
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/google/uuid"

	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/store"
	"github.com/hazardd/hazardd/internal/tell/message"
)

// lastMessage is what the last message to a mailbox said about a hazard, as far as it matters
// whether that is still true.
type lastMessage struct {
	Thread   string                      `json:"thread"`
	Kind     message.Kind                `json:"kind"`
	Severity hazard.Severity             `json:"severity"`
	Inside   bool                        `json:"inside"` // it reached a place of the subscription
	End      hazard.Instant              `json:"end,omitzero"`
	Over     bool                        `json:"over,omitzero"`
	Measured map[hazard.Quantity]float64 `json:"measured,omitzero"`
	Changed  []message.Change            `json:"changed,omitzero"` // what the message called changed
	Unsure   string                      `json:"unsure,omitzero"`  // ID of the message, if it is not known whether it arrived
	Listed   bool                        `json:"listed,omitzero"`  // it was only named among others: no message has begun the thread
	Begun    int64                       `json:"begun,omitzero"`   // the hazard with which the thread began; 0: this one
	Went     int64                       `json:"went,omitzero"`    // the hazard with which this one's thread has gone on; 0: this one
}

// messageAbout returns what a message about a hazard says.
func messageAbout(h *hazard.Hazard, inside bool) lastMessage {
	m := lastMessage{Severity: h.Severity, Inside: inside, Over: h.Status == hazard.Expired}
	if h.AutoExpire && h.EndGiven {
		m.End = h.End
	}
	for _, x := range h.Measurements {
		if _, ok := steps[x.Name]; ok {
			m.remember(x.Name, x.Value)
		}
	}
	return m
}

// threadOf names the conversation about a hazard that begins with it.
func threadOf(subscription string, id uuid.UUID) string {
	return "thread-" + uuid.NewSHA1(space, []byte(subscription+"\x00"+id.String())).String()
}

func (m *lastMessage) remember(name hazard.Quantity, value float64) {
	if m.Measured == nil {
		m.Measured = map[hazard.Quantity]float64{}
	}
	m.Measured[name] = value
}

// carry keeps what m does not call changed as it was sent before, so that small steps add up.
func (m *lastMessage) carry(before *lastMessage) {
	changed := func(field string) bool {
		return slices.ContainsFunc(m.Changed, func(c message.Change) bool { return c.Field == field })
	}
	for name, value := range before.Measured {
		if !changed(string(name)) {
			m.remember(name, value)
		}
	}
	if !changed("end") && before.End > 0 && m.End > 0 {
		m.End = before.End
	}
}

func (m *lastMessage) encode() []byte {
	text, err := json.Marshal(m, json.Deterministic(true))
	if err != nil {
		panic(err) // it holds finite numbers and identifiers
	}
	return text
}

func decodeMessage(text []byte) (*lastMessage, error) {
	m := &lastMessage{}
	return m, json.Unmarshal(text, m)
}

// told returns the record that a mailbox was sent m as of a change of the hazard.
func (m *lastMessage) told(box store.Mailbox, hazardID, change int64, now hazard.Instant) store.Told {
	return store.Told{Subscription: box.Subscription, Channel: box.Channel, HazardID: hazardID, Change: change, At: now, Gone: m.Over && m.Unsure == "", Said: m.encode()}
}

// step is the smallest change of a measurement that is worth a message: a difference, or a ratio.
type step struct{ by, times float64 }

// steps holds the measurements whose changes are worth a message. The others follow from these, or
// change with each report.
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

// A later end is worth a message if it is much later, or if the last one is near: nobody must
// believe that a danger is over while it goes on.
const (
	muchLater = 6 * time.Hour
	nearEnd   = time.Hour
	// minLater is how much later an end must be in any case.
	minLater = 10 * time.Minute
)

// changes lists what matters about an active hazard and is no longer as the message said; nil if
// there is nothing. inside means that the hazard reaches a place of the subscription.
func (m *lastMessage) changes(h *hazard.Hazard, inside bool, now hazard.Instant) (changed []message.Change) {
	add := func(field, from, to string) {
		changed = append(changed, message.Change{Field: field, From: from, To: to})
	}
	if m.Over {
		add("status", string(hazard.Expired), string(hazard.Active))
	}
	if !inside && !m.Inside && !m.Over {
		return nil // it went away, and the message said so
	}
	if m.Severity != h.Severity {
		add("severity", m.Severity.String(), h.Severity.String())
	}
	if m.Inside != inside {
		word := map[bool]string{true: "inside", false: "outside"}
		add("area", word[m.Inside], word[inside])
	}
	for _, x := range h.Measurements {
		step, ok := steps[x.Name]
		from, known := m.Measured[x.Name]
		if info, _ := x.Name.Info(); !known && len(info.Words) > 0 {
			from, known = 1, true // the mildest word is no news
		}
		if ok && known && step.passed(from, x.Value) {
			add(string(x.Name), number(from), number(x.Value))
		}
	}
	if h.AutoExpire && h.EndGiven && m.End > 0 && h.End != m.End {
		later := time.Duration(h.End-m.End) * time.Millisecond
		if later >= muchLater || later >= minLater && m.End.Add(-nearEnd) <= now {
			add("end", m.End.String(), h.End.String())
		}
	}
	return changed
}

// holds reports whether the message is still true.
func (m *lastMessage) holds(h *hazard.Hazard, inside bool, now hazard.Instant) bool {
	over := h.Status != hazard.Active
	return over == m.Over && (over || m.changes(h, inside, now) == nil)
}

func number(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }

// bySeverity sorts items as lists do.
func bySeverity(items []message.Item) {
	slices.SortStableFunc(items, func(a, b message.Item) int { return hazard.Compare(&a.Hazard, &b.Hazard) })
}
