package encoded

import (
	"fmt"
	"sync"
	"time"

	"github.com/hazardd/hazardd/internal/hazard"
)

// The limits of the shared bodies that one user reads at the same time, in bytes.
const (
	smallBody = 256 << 10 // smaller bodies are not counted: the limit of connections bounds them
)

// Readers counts the shared bodies that each user is reading. A body stays in memory while somebody
// reads it, even after its view was replaced. So a user who reads many slowly would keep a version
// of the list for each change. A body counts once for a user, however many of their requests read
// it. It is safe for concurrent use.
type Readers struct {
	Most int64 // bytes that one user may be reading

	mu    sync.Mutex
	reads map[reading]int // requests
	bytes map[string]int  // by user
}

type reading struct {
	user string
	body *Body
}

// allStrangers stands for all networks together.
var allStrangers = Network("")

// Begin records that a request of user, or of a Network, reads body, until End. It returns a
// *hazard.LimitError if the user is reading too many others.
func (r *Readers) Begin(user string, body *Body) error {
	size := len(body.Bytes(Identity))
	if size < smallBody {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.reads == nil {
		r.reads, r.bytes = map[reading]int{}, map[string]int{}
	}
	no := func(user string, most int64, limit hazard.LimitError) error {
		held := r.bytes[user]
		if r.reads[reading{user, body}] > 0 || held == 0 || int64(held+size) <= most {
			return nil
		}
		refused := limit // a copy, so that only a refusal allocates
		refused.RetryAfter = 5 * time.Second
		refused.Detail = fmt.Sprintf("%s: %d MiB of older lists are still being read, the most is %d MiB; read them, ask for gzip, or send fewer at once", refused.Limit, held>>20, most>>20)
		return &refused
	}
	if !isNetwork(user) {
		if err := no(user, r.Most, hazard.LimitError{Limit: "list-bytes-user", Kind: hazard.LimitShare}); err != nil {
			return err
		}
		r.add(user, body, size)
		return nil
	}
	if err := no(user, r.Most/networkPart, hazard.LimitError{Limit: "list-bytes-address", Kind: hazard.LimitShare}); err != nil {
		return err
	}
	if err := no(allStrangers, r.Most, hazard.LimitError{Limit: "list-bytes-public", Kind: hazard.LimitCapacity}); err != nil {
		return err
	}
	r.add(user, body, size)
	r.add(allStrangers, body, size)
	return nil
}

// add counts a request. The caller holds r.mu.
func (r *Readers) add(user string, body *Body, size int) {
	k := reading{user, body}
	if r.reads[k] == 0 {
		r.bytes[user] += size
	}
	r.reads[k]++
}

// End ends what Begin recorded.
func (r *Readers) End(user string, body *Body) {
	size := len(body.Bytes(Identity))
	if size < smallBody {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.end(user, body, size)
	if isNetwork(user) {
		r.end(allStrangers, body, size)
	}
}

func (r *Readers) end(user string, body *Body, size int) {
	k := reading{user, body}
	if r.reads[k]--; r.reads[k] > 0 {
		return
	}
	delete(r.reads, k)
	if r.bytes[user] -= size; r.bytes[user] == 0 {
		delete(r.bytes, user)
	}
}
