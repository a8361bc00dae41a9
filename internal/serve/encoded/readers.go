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

// Begin records that a request of user reads body, until End. It returns a *hazard.LimitError if
// the user is reading too many others.
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
	k := reading{user, body}
	if r.reads[k] == 0 {
		if held := r.bytes[user]; held > 0 && int64(held+size) > r.Most {
			return &hazard.LimitError{Limit: "list-bytes-user", Kind: hazard.LimitShare, RetryAfter: 5 * time.Second,
				Detail: fmt.Sprintf("list-bytes-user: your other requests are still reading %d MiB of older lists, the most that a user may is %d MiB; read them, ask for gzip, or send fewer at once", held>>20, r.Most>>20)}
		}
		r.bytes[user] += size
	}
	r.reads[k]++
	return nil
}

// End ends what Begin recorded.
func (r *Readers) End(user string, body *Body) {
	size := len(body.Bytes(Identity))
	if size < smallBody {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	k := reading{user, body}
	if r.reads[k]--; r.reads[k] > 0 {
		return
	}
	delete(r.reads, k)
	if r.bytes[user] -= size; r.bytes[user] == 0 {
		delete(r.bytes, user)
	}
}
