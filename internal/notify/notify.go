// Package notify tells people what concerns them: subscriptions, who is told what of which hazard, and the delivery of it.
//
// A subscription says what is wanted where, and over which channels. Each change of a hazard becomes notices, one for each channel of each
// subscription that it concerns or that was told of the hazard before. Notices are rows: they survive the death of the process, and one process at a time works them off
// (internal/lease). A message is made when it is sent, from the hazard as it is then and from what this channel was told of it before: so a hazard that has ended is
// never announced, what was told is never told again, a late message says so, and whoever was told is told of the end and why. Before a message goes out it is
// written down; after a crash the same message goes out again under the same ID, unless the hazard has changed meanwhile.
//
// Messages of one channel of a subscription go out one after the other. Channels that lead to different servers do not wait for each other.
// Addresses are kept encrypted under a key that is not in the database, and are in no log, error, metric, change or audit row.
package notify

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"github.com/hazardd/hazardd/internal/auth"
	"github.com/hazardd/hazardd/internal/channel"
	"github.com/hazardd/hazardd/internal/geo"
	"github.com/hazardd/hazardd/internal/lease"
	"github.com/hazardd/hazardd/internal/notice"
	"github.com/hazardd/hazardd/internal/store"
	"github.com/hazardd/hazardd/internal/tail"
)

// Config says what a Service works with. All of it is needed unless it says otherwise.
type Config struct {
	Store *store.Store
	Tail  *tail.Tail
	// Key is what addresses are encrypted and links are signed with; nil: there are no subscriptions, and NoKey says why.
	Key   *Key
	NoKey string
	// Sender sends messages.
	Sender channel.Sender
	// Text is a message in plain text, as it is kept; nil: it is not kept.
	Text func(notice.Notice) string
	// Standing is the role and the organizations that a user has now; not ok: the user may not come in.
	Standing func(user string) (role auth.Role, orgs []int64, ok bool)
	// Org is the id of an organization, by its acronym.
	Org func(acronym string) (id int64, ok bool)
	// Region is the area of a country or a part of one, by its code of ISO 3166, and within how many meters of it a point counts as inside.
	Region func(code string) (area geo.Shape, margin float64, ok bool)
	// Authority is the title of a source, by its name; may be nil.
	Authority func(source string) string
	// Counting: people are counted, so that a hazard without a count will have one.
	Counting bool
	// Links: the service has a public address, BaseURL without a slash at its end, that messages lead to.
	Links   bool
	BaseURL string
	// Storm is how many messages a channel of a subscription is sent in a minute before what follows becomes a summary; 0: DefaultStorm.
	Storm int
	// Confirmations is how many confirmation messages are sent in a day in all; 0: defaultConfirmations.
	Confirmations int
	Now           func() time.Time
	Logger        *slog.Logger
}

// The defaults.
const (
	DefaultStorm         = 5
	defaultConfirmations = 2000
)

// Service keeps subscriptions and tells people. It is safe for concurrent use.
type Service struct {
	Config
	measures *measures
	leading  atomic.Pointer[lease.Lease]
	tally    atomic.Pointer[map[channelState]int] // of index; nil before it is read

	mu      sync.Mutex
	index   *index // of subscriptions, kept by whoever holds mu
	version int64  // of index
}

// New makes a Service. It starts nothing.
func New(c Config) *Service {
	if c.Storm == 0 {
		c.Storm = DefaultStorm
	}
	if c.Confirmations == 0 {
		c.Confirmations = defaultConfirmations
	}
	return &Service{Config: c, measures: newMeasures(), index: newIndex(), version: -1}
}

// Leads reports whether this process is the one that tells people.
func (s *Service) Leads() bool { return s.leading.Load().Valid() }

// space names what this package derives UUIDs in.
var space = uuid.MustParse("6f1b4b53-6f44-5d62-9d5c-0d3b0f6f4c11")

// sync brings the index up to date with the store, whoever has changed it.
func (s *Service) sync(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	version, err := s.Store.SubscriptionVersion(ctx)
	if err != nil || version == s.version {
		return err
	}
	if version < s.version || version-s.version > resync { // another history, or too far behind to know what was removed
		s.index, s.version = newIndex(), -1
	}
	for {
		list, err := s.Store.SubscriptionsAfter(ctx, s.version, syncPage)
		if err != nil {
			return err
		}
		for i := range list {
			if err := s.index.put(&list[i], s.Region); err != nil { // one that cannot be read must not keep the others
				s.Logger.Error("a subscription cannot be read", "subscription", list[i].ID, "error", err)
			}
			s.version = list[i].Version
		}
		if len(list) < syncPage {
			s.version = max(s.version, version)
			tally := s.index.tally()
			s.tally.Store(&tally)
			return nil
		}
	}
}

const (
	syncPage = 1000
	// resync is how many changes behind all subscriptions are read anew: less than the store keeps the rows of removed ones for.
	resync = 5000
)
