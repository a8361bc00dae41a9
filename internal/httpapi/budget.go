package httpapi

import (
	"net/http"

	"github.com/hazardd/hazardd/internal/auth"
	"github.com/hazardd/hazardd/internal/format"
	"github.com/hazardd/hazardd/internal/reply"
	"github.com/hazardd/hazardd/internal/search"
)

// What an answer may hold while it is made, in bytes: its text, and what the text is made of.
const (
	costOfPage   = 2 * pageBytes
	costOfObject = 4 << 20
	costOfRecord = 8 << 10 // of the base interface, in a list
)

// costOfSearch is what a page of hazards may hold while it is made.
func costOfSearch(q *search.Query, f format.Format) int64 {
	if f != format.JSON || q.Limit == 0 {
		return costOfPage
	}
	return min(costOfPage, int64(q.Limit)*costOfRecord)
}

// holding makes an answer when there is room for it in memory, and counts it until its last byte is written.
func (a *API) holding(w http.ResponseWriter, r *http.Request, who *auth.Caller, cost int64, answer func(w http.ResponseWriter) error) error {
	share, err := a.budget.Take(r.Context(), who.Name, cost)
	if err != nil {
		return err
	}
	defer share.Release()
	return answer(&held{ResponseWriter: w, share: share})
}

// holds is a handler of which each answer is held in memory.
func (a *API) holds(cost int64, h protected) protected {
	return func(w http.ResponseWriter, r *http.Request, who *auth.Caller) error {
		return a.holding(w, r, who, cost, func(w http.ResponseWriter) error { return h(w, r, who) })
	}
}

// held is an answer that a share of the budget was taken for.
type held struct {
	http.ResponseWriter
	share *reply.Share
	made  bool
}

// Write writes an answer, of which from now on only b is held.
func (h *held) Write(b []byte) (int, error) {
	if !h.made {
		h.made = true
		h.share.Resize(int64(len(b)))
	}
	return h.ResponseWriter.Write(b)
}

// Unwrap is for http.ResponseController.
func (h *held) Unwrap() http.ResponseWriter { return h.ResponseWriter }
