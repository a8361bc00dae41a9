package poll

import (
	"crypto/sha256"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/ingest/fuse"
	"github.com/hazardd/hazardd/internal/ingest/source"
	"github.com/hazardd/hazardd/internal/store"
)

// What the lists of a source mean: pure decisions, without store and clock. lists.go carries them out.

// fewEnds is how many hazards of a source may always end at once because a list lacks them. Of many
// hazards, a fifth may end. If a list lacks more, it is probably incomplete.
const fewEnds = 5

// absentees are active events that the last list lacked.
type absentees struct {
	since map[string]lack
	// spared holds events that were not ended because an editor has decided about them.
	spared map[string]bool
	// damaged holds events that could not be ended just now because their hazards are damaged.
	damaged map[string]bool
}

// lack counts the consecutive lists, some time apart, that lacked an event.
type lack struct {
	lists  int
	last   hazard.Instant // when the last of them was read
	enough bool           // the event is over, as far as these lists go
}

// judge examines the active events of a source after a complete read at now, and returns those that
// are over: those that as many reads as confirm, some time apart, have lacked, at least two if a
// read lacks many at once. The others wait for the next read. The events of one hazard end only
// together.
func (a *absentees) judge(active []store.ActiveEvent, named func(store.ActiveEvent) bool, now hazard.Instant, apart time.Duration, confirm int) (over, waiting []store.ActiveEvent) {
	present := map[int64]bool{}
	for _, e := range active {
		present[e.HazardID] = present[e.HazardID] || named(e)
	}
	var missed []store.ActiveEvent
	since, spared, lacking := map[string]lack{}, map[string]bool{}, map[int64]bool{}
	for _, e := range active {
		switch {
		case present[e.HazardID]:
		case a.spared[e.Event]:
			spared[e.Event] = true
		default:
			missed = append(missed, e)
			lacking[e.HazardID] = true
		}
	}
	if few := len(lacking) <= max(fewEnds, len(present)/5); !few {
		confirm = max(confirm, 2)
	}
	for _, e := range missed {
		l, again := a.since[e.Event]
		switch {
		case !again || l.last > now:
			l = lack{1, now, l.enough}
		case now >= l.last.Add(apart):
			l = lack{l.lists + 1, now, l.enough}
		}
		if l.enough = l.enough || l.lists >= confirm; l.enough {
			over = append(over, e)
		} else {
			waiting = append(waiting, e)
		}
		since[e.Event] = l
	}
	a.since, a.spared = since, spared
	return over, waiting
}

// spare keeps lists from ending an event until a list contains it again.
func (a *absentees) spare(event string) { a.spared[event] = true }

// listed is the last complete list of a feed.
type listed struct {
	source.Feed
	// named holds its events, or nil without one; empty reports whether it listed nothing at all.
	named map[string]bool
	parts map[fuse.Part]bool // its messages
	kept  map[string]bool    // the events of its rejected records
	empty bool
	// nameless holds its rejected records whose event is unknown, by digest, with the read in which
	// each first occurred.
	nameless map[[sha256.Size]byte]int
	events   account // of events
	messages account // of messages of events that go on
}

// apart is how far apart two lists must be to count as two: nearly the usual interval, however fast the
// feed is polled.
func (l *listed) apart() time.Duration { return l.Every * 9 / 10 }

// account is what the lists of a feed have said about active events, or about messages.
type account struct {
	absent absentees
	had    map[string]int // → the read (lists.reads) that contained it last
}

func (l *listed) ofEvents() *account   { return &l.events }
func (l *listed) ofMessages() *account { return &l.messages }

// missing returns what all lists lack, and how many things wait for another list. It is over when
// each feed that listed it, or any if none is known, has lacked it in enough consecutive lists.
func (s *lists) missing(l *listed, of func(*listed) *account, active []store.ActiveEvent, goesOn func(store.ActiveEvent) bool, now hazard.Instant) (over []store.ActiveEvent, waiting int) {
	mine, known := map[int64]bool{}, map[int64]bool{} // hazards that this feed listed, and that any did
	for _, e := range active {
		mine[e.HazardID] = mine[e.HazardID] || of(l).had[e.Event] > 0
		for _, o := range s.of {
			known[e.HazardID] = known[e.HazardID] || of(o).had[e.Event] > 0
		}
	}
	missed, waits := of(l).absent.judge(active, func(e store.ActiveEvent) bool {
		return goesOn(e) || known[e.HazardID] && !mine[e.HazardID]
	}, now, l.apart(), s.src.Lists.Confirmations())
	for _, e := range missed {
		if !slices.ContainsFunc(s.of, func(o *listed) bool { return of(o).had[e.Event] > 0 && !of(o).absent.since[e.Event].enough }) {
			over = append(over, e)
		}
	}
	return over, len(waits)
}

// accountName returns the name of a message in the accounts.
func accountName(key fuse.Part) string { return key.Event + "\x00" + key.Part }

// holds reports whether a list contains a message, which has a name in the accounts, or a rejected
// record may be it.
func (s *lists) holds(key fuse.Part, name string) bool {
	return slices.ContainsFunc(s.of, func(l *listed) bool { return l.parts[key] || l.kept[key.Event] }) || s.nameless((*listed).ofMessages, name)
}

// nameless reports whether a record without a known event is newer than the last listing of a thing.
func (s *lists) nameless(of func(*listed) *account, name string) bool {
	last := 0
	for _, l := range s.of {
		last = max(last, of(l).had[name])
	}
	for _, l := range s.of {
		for _, since := range l.nameless {
			if since > last {
				return true
			}
		}
	}
	return false
}

// listed reports whether a list names an event.
func (s *lists) listed(event string) bool {
	return slices.ContainsFunc(s.of, func(l *listed) bool { return l.named[event] })
}

// note counts a complete list, and records the read in which each active event and each nameless
// record occurred last.
func (s *lists) note(l *listed, active []store.ActiveEvent, rejects []source.Reject) {
	s.reads++
	l.begin(active)
	for _, e := range active {
		if l.named[e.Event] {
			l.events.had[e.Event] = s.reads
		}
	}
	nameless := map[[sha256.Size]byte]int{}
	for i := range rejects {
		r := &rejects[i]
		if r.Events != nil {
			continue
		}
		text := r.Raw // its position in the list may change
		if len(text) == 0 {
			text = []byte(r.Record + "\n" + r.Reason)
		}
		d := sha256.Sum256(text)
		if nameless[d] = l.nameless[d]; nameless[d] == 0 {
			nameless[d] = s.reads
		}
	}
	l.nameless = nameless
}

// begin forgets what is no longer active.
func (l *listed) begin(active []store.ActiveEvent) {
	if l.events.had == nil {
		l.events.had, l.messages.had = map[string]int{}, map[string]int{}
	}
	going := map[string]bool{}
	for _, e := range active {
		going[e.Event] = true
	}
	maps.DeleteFunc(l.events.had, func(event string, _ int) bool { return !going[event] })
	maps.DeleteFunc(l.messages.had, func(name string, _ int) bool {
		event, _, _ := strings.Cut(name, "\x00")
		return !going[event]
	})
}

// goesOn reports whether an event is listed, or a rejected record may be about it: one without a
// known event that is newer than the event's last listing.
func (s *lists) goesOn(e store.ActiveEvent) bool {
	return s.listed(e.Event) || s.nameless((*listed).ofEvents, e.Event)
}
