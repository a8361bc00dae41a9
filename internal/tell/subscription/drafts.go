package subscription

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/hazardd/hazardd/internal/auth"
	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/store"
	"github.com/hazardd/hazardd/internal/tell/message"
)

// A subscription to drafts tells its owner, an editor or admin, of changes that wait for a second person:
// at once of those that the owner may decide about, again when their author reminds others of them, and
// of these and the owner's own ones before they lapse. A message lists what waits when it is sent, so
// nobody is told of what was decided meanwhile. It waits for no quiet hours and no digest.

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
		var notices []store.Notice
		q.mu.Lock()
		for n, owner := range owners {
			if decides, mine := q.concerns(owner, &d.Draft); !decides && !(mine && lapses) {
				continue
			}
			s := &q.index.slots[n]
			for _, r := range s.channels.routes {
				notices = append(notices, store.Notice{Subscription: s.id.String(), Channel: r.id, Lane: r.lane, HazardID: store.DraftsNotice, Since: now, Created: now})
			}
		}
		q.mu.Unlock()
		if err := q.Store.Notices.Tell(ctx, d.ID, kinds, notices, now); err != nil {
			return err
		}
		for _, n := range notices {
			q.measures.queued.WithLabelValues(kindOf(n.Lane)).Inc()
			q.wake(ctx, n.Lane)
		}
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
	slices.SortStableFunc(list, func(a, b store.DraftToTell) int { return int(a.Expires - b.Expires) })
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
			return nil, 0, fmt.Errorf("stored draft %s: %w", d.ID, err)
		}
		severity, _ := hazard.ParseSeverity(shown.Severity)
		out = append(out, message.Draft{Name: shown.Name, Type: shown.Type, Severity: severity, Exercise: shown.Category == hazard.Exercise, Author: d.Author, Mine: mine, People: shown.Reach.People,
			Subscribers: shown.Reach.Subscribers, Expires: d.Expires, Left: (time.Duration(d.Expires-now) * time.Millisecond).Truncate(time.Minute)})
	}
	return out, more, nil
}
