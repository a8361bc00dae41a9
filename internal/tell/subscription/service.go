// Package subscription notifies subscribers of hazards: it stores subscriptions, decides who gets a
// message about which hazard, and delivers messages.
//
// A subscription selects hazards by kind and place, and has channels. Each change of a hazard
// creates notices: one for each channel of each subscription that it concerns, or that was notified
// of the hazard before. Notices are rows, so they survive a crash, and one process at a time
// delivers them (package tell). A message is built when it is sent, from the hazard's present
// state and from the earlier messages of the channel. So an ended hazard is never announced,
// nothing is announced twice, a late message says so, and everybody who was notified of a hazard
// learns of its end and the reason. A message is stored before it is sent; after a crash it is sent
// again under the same ID, unless the hazard has changed meanwhile.
//
// Messages of one channel are sent one after the other. Channels on different servers do not wait
// for each other. Addresses are encrypted with a key outside of the database, and are in no log,
// error, metric, change or audit row.
package subscription

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"github.com/hazardd/hazardd/internal/auth"
	"github.com/hazardd/hazardd/internal/format/headline"
	"github.com/hazardd/hazardd/internal/geo"
	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/store"
	"github.com/hazardd/hazardd/internal/store/follow"
	"github.com/hazardd/hazardd/internal/store/lease"
	"github.com/hazardd/hazardd/internal/tell/channel"
	"github.com/hazardd/hazardd/internal/tell/message"
)

// Config configures a Service. All fields are required unless they say otherwise.
type Config struct {
	Store *store.Store
	Tail  *follow.Tail
	// Key encrypts addresses and signs links. If nil, there are no subscriptions, and NoKey says
	// why.
	Key   *Key
	NoKey string
	// Sender sends messages.
	Sender channel.Sender
	// Text returns a message as plain text for storage; if nil, it is not stored.
	Text func(message.Notice) string
	// Person reports whether the addresses of an HTTP channel are those of persons, such as telephone
	// numbers; nil means that none are.
	Person func(template string) bool
	// Standing returns the present role and organizations of a user; ok is false if the user has no
	// access.
	Standing func(user string) (role auth.Role, orgs []int64, ok bool)
	// Org returns the id of an organization by its acronym.
	Org func(acronym string) (id int64, ok bool)
	// Region returns the area of a country or a subdivision by its ISO 3166 code, and the distance
	// in meters within which a point counts as inside.
	Region func(code string) (area geo.Shape, margin float64, ok bool)
	// Authority returns who reports a hazard: the title of its source or of its editors'
	// organization; may be nil.
	Authority func(*hazard.Hazard) string
	// Counting reports whether people are counted now, so that every hazard will have a count.
	Counting func() bool
	// PushKey is the public key that browsers get for Web Push; empty without it.
	PushKey string
	// Links means that the service has a public address for links: BaseURL, without a trailing
	// slash.
	Links   bool
	BaseURL string
	// Storm is how many messages a channel gets per minute before further ones are combined into a
	// summary; 0 means DefaultStorm.
	Storm int
	// Confirmations is how many confirmations are sent per day in all; 0 means the default.
	Confirmations int
	Now           func() time.Time
	Logger        *slog.Logger
}

// The defaults.
const (
	DefaultStorm         = 5
	DefaultConfirmations = 2000
)

// Service stores subscriptions and notifies subscribers. It is safe for concurrent use.
type Service struct {
	Config
	measures  *measures
	headlines *headline.Maker
	leading   atomic.Pointer[lease.Lease]
	tally     atomic.Pointer[map[channelStatus]int] // counts of index; nil before the first read

	mu      sync.Mutex
	index   *index // index of subscriptions; guarded by mu
	version int64  // version of index
}

// New makes a Service. It starts nothing.
func New(c Config) *Service {
	if c.Storm == 0 {
		c.Storm = DefaultStorm
	}
	if c.Confirmations == 0 {
		c.Confirmations = DefaultConfirmations
	}
	return &Service{Config: c, measures: newMeasures(), headlines: headline.NewMaker(c.Store.Hazards), index: newIndex(), version: -1}
}

// ofPerson reports whether an address is a person's, who must agree before messages come.
func (s *Service) ofPerson(c *Channel) bool {
	return c.Kind == channel.Email || c.Kind == channel.HTTP && s.Person != nil && s.Person(c.Template)
}

// leads reports whether this process is the one that notifies subscribers.
func (s *Service) leads() bool { return s.leading.Load().Valid() }

// space is the namespace of the UUIDs in this package.
var space = uuid.MustParse("6f1b4b53-6f44-5d62-9d5c-0d3b0f6f4c11")

// sync updates the index from the store, with the changes of all nodes.
func (s *Service) sync(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	version, err := s.Store.Subscriptions.Version(ctx)
	if err != nil || version == s.version {
		return err
	}
	if version < s.version || version-s.version > resync { // another history, or too far behind to know what was removed
		s.index, s.version = newIndex(), -1
	}
	for {
		list, err := s.Store.Subscriptions.After(ctx, s.version, syncPage)
		if err != nil {
			return err
		}
		for i := range list {
			if err := s.index.put(&list[i], s.Region); err != nil { // an unreadable one must not block the others
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
	// resync is how many changes behind everything is read again. It is less than for how long the
	// store keeps removed rows.
	resync = 5000
)
