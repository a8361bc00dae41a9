package page

import (
	"time"

	"github.com/hazardd/hazardd/internal/hazard"
)

// Status is the page that shows whether the service is up to date.
type Status struct {
	Frame
	Now hazard.Instant
	// Away reports that the database is unreachable. The page then shows the last known state.
	Away    bool
	Closed  bool  // the store cannot be written
	Damaged int   // records that are damaged and left out
	Change  int64 // number of the last change that lists show
	Active  int   // number of active hazards
	Sources []SourceStatus
}

// SourceStatus is a source as the page shows it.
type SourceStatus struct {
	Source
	Changed hazard.Instant // when it last reported a change; 0: never
	// Delay is the delay that half of its reports do not exceed, and Slowest that of 99 of 100. 0
	// means unknown.
	Delay, Slowest time.Duration
}

type statusView struct {
	Frame
	Ref    string // path of the page
	Made   moment
	Away   bool
	Closed bool
	Damage int
	None   bool // no source has been read
	Bad    int  // sources that are not up to date
	Change int64
	Active int
	Read   []statusRow
	Others []string // titles of sources that are not polled
}

type statusRow struct {
	Title, State   string
	Never          bool
	At, Changed    moment
	Delay, Slowest string
}

// HTML returns the page.
func (s *Status) HTML() ([]byte, error) {
	v := statusView{Frame: s.Frame, Ref: s.Root + "/status", Made: s.at(s.Now, s.Now), Away: s.Away, Closed: s.Closed, Damage: s.Damaged, None: true, Change: s.Change, Active: s.Active}
	for _, source := range s.Sources {
		if source.State == "disabled" {
			v.Others = append(v.Others, source.Title)
			continue
		}
		row := statusRow{Title: source.Title, State: source.State, Never: source.Read == 0}
		if !row.Never {
			row.At, v.None = s.at(source.Source.Read, s.Now), false
		}
		if source.Changed != 0 {
			row.Changed = s.at(source.Changed, s.Now)
		}
		if source.Delay > 0 {
			row.Delay, row.Slowest = s.seconds(source.Delay), s.seconds(source.Slowest)
		}
		if source.State != "ok" {
			v.Bad++
		}
		v.Read = append(v.Read, row)
	}
	return execute(s.language(), "status.html", &v)
}

// seconds returns a duration, with a precision that suits its size.
func (f *Frame) seconds(d time.Duration) string {
	if d < 10*time.Second {
		return f.say("statusSeconds", "n", number(d.Seconds(), 1))
	}
	return f.say("statusSeconds", "n", f.grouped(int64(d.Round(time.Second)/time.Second)))
}
