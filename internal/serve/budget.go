package serve

import (
	"net/http"

	"github.com/hazardd/hazardd/internal/auth"
	"github.com/hazardd/hazardd/internal/format"
	"github.com/hazardd/hazardd/internal/hazard/query"
	"github.com/hazardd/hazardd/internal/serve/encoded"
)

// Memory that an answer may take while it is built, in bytes: its text and the data behind it.
const (
	costOfPage   = 2 * pageBytes
	costOfObject = 4 << 20
	costOfRecord = 8 << 10 // a record of the base interface in a list
)

// costOfSearch returns the memory that a page of hazards may take while it is built.
func costOfSearch(q *query.Query, f format.Format) int64 {
	if f != format.JSON || q.Limit == 0 {
		return costOfPage
	}
	return min(costOfPage, int64(q.Limit)*costOfRecord)
}

// holding builds an answer once there is memory for it. The memory counts as used until the last
// byte is written.
func (a *API) holding(w http.ResponseWriter, r *http.Request, who *auth.Caller, cost int64, answer func(w http.ResponseWriter) error) error {
	share, err := a.budget.Take(r.Context(), who.Name, cost)
	if err != nil {
		return err
	}
	defer share.Release()
	return answer(&held{ResponseWriter: w, share: share})
}

// holds wraps a handler whose whole answer is held in memory.
func (a *API) holds(cost int64, h protected) protected {
	return func(w http.ResponseWriter, r *http.Request, who *auth.Caller) error {
		return a.holding(w, r, who, cost, func(w http.ResponseWriter) error { return h(w, r, who) })
	}
}

// held is an answer with a share of the memory budget.
type held struct {
	http.ResponseWriter
	share *encoded.Share
	made  bool
}

// Write writes the answer. From now on only b counts toward the budget.
func (h *held) Write(b []byte) (int, error) {
	if !h.made {
		h.made = true
		h.share.Resize(int64(len(b)))
	}
	return h.ResponseWriter.Write(b)
}

// Unwrap is for http.ResponseController.
func (h *held) Unwrap() http.ResponseWriter { return h.ResponseWriter }
