package encoded

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/hazardd/hazardd/internal/hazard"
)

// Limits are the limits of a Budget.
type Limits struct {
	All  int64         // bytes of all users together
	User int64         // bytes of one user
	Wait time.Duration // how long a request waits for others to release memory
	// Shared is how many bytes of shared lists are kept for one view. The lists of 5,000 hazards in
	// every form take 40 MB. Beyond it, the least recently used are dropped, and encoded again on
	// demand. Of costly answers to searches, half as many bytes are kept besides.
	Shared int64
	// Reading is how many bytes of different shared lists one user may be reading at the same time.
	Reading int64
}

// DefaultLimits fit into 512 MiB in total. Reading is nine versions of a list of 5,000 hazards,
// uncompressed.
var DefaultLimits = Limits{All: 96 << 20, User: 24 << 20, Wait: 5 * time.Second, Shared: 48 << 20, Reading: 64 << 20}

// The shares of readers without an account, whom the network stands for that they ask from: no
// network takes the share of the others, and all of them together leave room for users.
const (
	networkPart   = 3 // a network may hold one part in networkPart of what a user may
	strangersPart = 2 // all networks may hold one part in strangersPart of everything
	networkMark   = "\x00"
)

// Network returns the name that stands for the readers without an account of a network, where names
// of users are asked for. No user has such a name.
func Network(network string) string { return networkMark + network }

func isNetwork(user string) bool { return strings.HasPrefix(user, networkMark) }

// Budget limits the memory of answers that are made for one request. A request takes what its
// answer may need before it makes it, then keeps only what the answer needs, and releases that
// after the last byte. Shared bodies do not count. Requests wait in order, but those of a user who
// has too much do not delay others. It is safe for concurrent use.
type Budget struct {
	limits Limits

	mu        sync.Mutex
	held      int64
	strangers int64 // what networks hold of it
	users     map[string]int64
	waiting   []*claim
}

// claim is a waiting request.
type claim struct {
	user  string
	bytes int64
	ready chan struct{} // closed when the request has got its bytes
}

// NewBudget returns a budget of which nothing is taken.
func NewBudget(l Limits) *Budget { return &Budget{limits: l, users: map[string]int64{}} }

// Share is what a request has taken of a Budget.
type Share struct {
	budget *Budget
	user   string
	bytes  int64
}

// most is what one user or network may hold.
func (b *Budget) most(user string) int64 {
	if isNetwork(user) {
		return max(1, b.limits.User/networkPart)
	}
	return b.limits.User
}

// mostOfStrangers is what all networks together may hold.
func (b *Budget) mostOfStrangers() int64 { return max(1, b.limits.All/strangersPart) }

// Take takes bytes for a request of user, or of a Network. It waits while there is too little. If that takes too
// long, it returns a *hazard.LimitError, or ctx's error. The caller must release the share.
func (b *Budget) Take(ctx context.Context, user string, bytes int64) (*Share, error) {
	bytes = min(bytes, b.most(user), b.limits.All)
	if isNetwork(user) {
		bytes = min(bytes, b.mostOfStrangers())
	}
	b.mu.Lock()
	if b.fits(user, bytes) { // else next would have given it to those who wait, unless they want more
		b.give(user, bytes)
		b.mu.Unlock()
		return &Share{b, user, bytes}, nil
	}
	mine := &claim{user, bytes, make(chan struct{})}
	b.waiting = append(b.waiting, mine)
	b.mu.Unlock()
	late := time.NewTimer(b.limits.Wait)
	defer late.Stop()
	err := ctx.Err()
	select {
	case <-mine.ready:
		return &Share{b, user, bytes}, nil
	case <-ctx.Done():
		err = ctx.Err()
	case <-late.C:
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	i := slices.Index(b.waiting, mine)
	if i < 0 { // its turn came at this moment
		return &Share{b, user, bytes}, nil
	}
	b.waiting = slices.Delete(b.waiting, i, i+1)
	if err != nil {
		return nil, err
	}
	return nil, b.refusal(user, bytes)
}

// refusal returns why a request does not fit. The caller holds b.mu.
func (b *Budget) refusal(user string, bytes int64) error {
	no := func(limit string, kind hazard.LimitKind, detail string, most int64) error {
		return &hazard.LimitError{Limit: limit, Kind: kind, RetryAfter: b.limits.Wait, Detail: fmt.Sprintf(limit+": "+detail, most>>20)}
	}
	most := b.most(user)
	switch over := b.users[user]+bytes > most; {
	case over && isNetwork(user):
		return no("answer-bytes-address", hazard.LimitShare, "other requests without an account from your address hold %d MiB of answers that are being made or read, the most that an address may; read them, or log in", most)
	case over:
		return no("answer-bytes-user", hazard.LimitShare, "your other requests hold %d MiB of answers that are being made or read, the most that a user may; read them, or send fewer at once", most)
	case isNetwork(user) && b.strangers+bytes > b.mostOfStrangers():
		return no("answer-bytes-public", hazard.LimitCapacity, "answers of %d MiB are being made or read without an account, the most that this server holds at once; ask again, or log in", b.mostOfStrangers())
	}
	return no("answer-bytes", hazard.LimitCapacity, "answers of %d MiB are being made or read, the most that this server holds at once; ask again", b.limits.All)
}

func (b *Budget) fits(user string, bytes int64) bool {
	if isNetwork(user) && b.strangers+bytes > b.mostOfStrangers() {
		return false
	}
	return b.held+bytes <= b.limits.All && b.users[user]+bytes <= b.most(user)
}

func (b *Budget) give(user string, bytes int64) {
	b.held += bytes
	if isNetwork(user) {
		b.strangers += bytes
	}
	if b.users[user] += bytes; b.users[user] == 0 {
		delete(b.users, user)
	}
}

// next gives free bytes to waiting requests, in order. A request that must wait for its own user's
// answers does not delay others.
func (b *Budget) next() {
	b.waiting = slices.DeleteFunc(b.waiting, func(c *claim) bool {
		if !b.fits(c.user, c.bytes) {
			return false
		}
		b.give(c.user, c.bytes)
		close(c.ready)
		return true
	})
}

// Resize sets the share to the actual size of the answer. It does not wait.
func (s *Share) Resize(bytes int64) {
	s.budget.mu.Lock()
	defer s.budget.mu.Unlock()
	s.budget.give(s.user, bytes-s.bytes)
	s.bytes = bytes
	s.budget.next()
}

// Release releases the whole share.
func (s *Share) Release() { s.Resize(0) }
