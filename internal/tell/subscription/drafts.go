package subscription

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/google/uuid"

	"github.com/hazardd/hazardd/internal/auth"
	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/store"
	"github.com/hazardd/hazardd/internal/tell/message"
)

// A subscription to drafts tells its owner, an editor or admin, of changes that wait for a second person:
// at once of those that the owner may decide about, again when their author reminds others of them, and
// of these and the owner's own ones before they lapse. A message lists what waits when it is sent, so
// nobody is told of what was decided meanwhile. It waits for no quiet hours and no digest. An owner who
// wrote a draft is told, apart from these, when somebody else decides about it or when it lapses.

// lapsingAt returns when people are told that a draft lapses: an hour before, or half its time.
func lapsingAt(d *store.Draft) hazard.Instant {
	return max(d.Expires.Add(-time.Hour), d.Created+(d.Expires-d.Created)/2)
}

// concerns reports whether a user may decide about a draft, or wrote it.
func (s *Service) concerns(user string, d *store.Draft) (decides, mine bool) {
	role, orgs, ok := s.Standing(user)
	if !ok || role != auth.Editor && role != auth.Admin {
		return false, false
	}
	mine = d.Author == user
	return !mine && hazard.Actor{User: user, Admin: role == auth.Admin, Orgs: orgs}.Owns(d.OrgID), mine
}

// tellOfDrafts creates the notices of drafts that are due.
func (q *queue) tellOfDrafts(ctx context.Context) error {
	if err := q.sync(ctx); err != nil {
		return err
	}
	q.mu.Lock()
	owners := map[uint32]string{}
	for n, owner := range q.index.drafts {
		owners[n] = owner
	}
	q.mu.Unlock()
	if len(owners) == 0 {
		return nil
	}
	now := hazard.At(q.Now())
	list, err := q.Store.Drafts.ToTell(ctx, now)
	if err != nil {
		return err
	}
	for i := range list {
		d := &list[i]
		var kinds []store.MarkKind
		if d.Told == 0 || d.Reminded > d.Told {
			kinds = append(kinds, store.DraftTold)
		}
		lapses := d.Lapsing == 0 && lapsingAt(&d.Draft) <= now
		if lapses {
			kinds = append(kinds, store.DraftLapsing)
		}
		if len(kinds) == 0 {
			continue
		}
		err := q.tellOfDraft(ctx, d.ID, kinds, owners, store.DraftsNotice, func(owner string) bool {
			decides, mine := q.concerns(owner, &d.Draft)
			return decides || mine && lapses
		}, now)
		if err != nil {
			return err
		}
	}
	ended, err := q.Store.Drafts.Ended(ctx, now.Add(-outcomesFor), now)
	for i := 0; err == nil && i < len(ended); i++ {
		if d := &ended[i]; d.Outcome == 0 {
			err = q.tellOfDraft(ctx, d.ID, []store.MarkKind{store.DraftOutcome}, owners, store.OutcomesNotice, func(owner string) bool {
				_, mine := q.concerns(owner, &d.Draft)
				return mine
			}, now)
		}
	}
	return err
}

// outcomesFor is how long after its end the author of a draft is told of it, if there was no server to do
// so before.
const outcomesFor = 24 * time.Hour

// tellOfDraft marks a draft, and creates the notices of it for those owners whom it concerns.
func (q *queue) tellOfDraft(ctx context.Context, id uuid.UUID, kinds []store.MarkKind, owners map[uint32]string, notice int64, concerns func(owner string) bool, now hazard.Instant) error {
	var notices []store.Notice
	q.mu.Lock()
	for n, owner := range owners {
		if !concerns(owner) {
			continue
		}
		s := &q.index.slots[n]
		for _, r := range s.channels.routes {
			notices = append(notices, store.Notice{Subscription: s.id.String(), Channel: r.id, Lane: r.lane, HazardID: notice, Since: now, Created: now})
		}
	}
	q.mu.Unlock()
	if err := q.Store.Notices.Tell(ctx, id, kinds, notices, now); err != nil {
		return err
	}
	for _, n := range notices {
		q.measures.queued.WithLabelValues(kindOf(n.Lane)).Inc()
		q.wake(ctx, n.Lane)
	}
	return nil
}

// maxDraftsTold is how many drafts a message lists.
const maxDraftsTold = 10

// drafts returns what a message tells of the drafts that wait for a user, those that lapse first before
// the others, and of the user's own ones that lapse soon. more is how many it leaves out.
func (s *Service) drafts(ctx context.Context, user string, now hazard.Instant) (out []message.Draft, more int, err error) {
	list, err := s.Store.Drafts.ToTell(ctx, now)
	if err != nil {
		return nil, 0, err
	}
	slices.SortStableFunc(list, func(a, b store.MarkedDraft) int { return int(a.Expires - b.Expires) })
	for i := range list {
		d := &list[i].Draft
		decides, mine := s.concerns(user, d)
		if !decides && !(mine && lapsingAt(d) <= now) {
			continue
		}
		if len(out) == maxDraftsTold {
			more++
			continue
		}
		told, err := toldOf(d)
		if err != nil {
			return nil, 0, err
		}
		told.Mine, told.Expires, told.Left = mine, d.Expires, (time.Duration(d.Expires-now) * time.Millisecond).Truncate(time.Minute)
		out = append(out, told)
	}
	return out, more, nil
}

// outcomes returns what a message tells of the drafts of a user that ended, of those that were marked since.
// more is how many it leaves out.
func (s *Service) outcomes(ctx context.Context, user string, since, now hazard.Instant) (out []message.Draft, more int, err error) {
	list, err := s.Store.Drafts.Ended(ctx, since.Add(-outcomesFor), now)
	if err != nil {
		return nil, 0, err
	}
	for i := range list {
		d := &list[i].Draft
		if _, mine := s.concerns(user, d); !mine || list[i].Outcome < since {
			continue
		}
		if len(out) == maxDraftsTold {
			more++
			continue
		}
		told, err := toldOf(d)
		if err != nil {
			return nil, 0, err
		}
		told.Mine, told.By, told.Reason, told.Outcome = true, d.DecidedBy, d.Reason, message.Lapsed
		if d.State != store.DraftWaiting {
			told.Outcome = message.Outcome(d.State)
		}
		out = append(out, told)
	}
	return out, more, nil
}

// toldOf returns what every message tells of a draft.
func toldOf(d *store.Draft) (message.Draft, error) {
	var shown struct {
		Name     string          `json:"hazard_Name"`
		Type     hazard.Type     `json:"type_ID"`
		Severity string          `json:"severity_ID"`
		Category hazard.Category `json:"category_ID"`
		Reach    struct {
			People      *int64 `json:"people"`
			Subscribers int64  `json:"subscribers"`
		} `json:"reach"`
	}
	if err := json.Unmarshal(d.Shown, &shown); err != nil {
		return message.Draft{}, fmt.Errorf("stored draft %s: %w", d.ID, err)
	}
	severity, _ := hazard.ParseSeverity(shown.Severity)
	return message.Draft{Name: shown.Name, Type: shown.Type, Severity: severity, Exercise: shown.Category == hazard.Exercise, Author: d.Author, People: shown.Reach.People, Subscribers: shown.Reach.Subscribers}, nil
}
