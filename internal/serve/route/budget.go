package route

import (
	"net/http"

	"github.com/hazardd/hazardd/internal/auth"
	"github.com/hazardd/hazardd/internal/serve/encoded"
)

// Memory that an answer may take while it is built, in bytes: its text and the data behind it.
const (
	CostOfPage   = 2 * PageBytes
	CostOfObject = 4 << 20
	CostOfShapes = 16 << 20
	CostOfRecord = 8 << 10 // a record of the base interface in a list
)

// Payer returns the name on which the budgets of memory count a request: the user's, or that of the
// network from which a reader without an account asks.
func (a *Router) Payer(r *http.Request, who *auth.Caller) string {
	if who.Name != "" {
		return who.Name
	}
	return encoded.Network(network(a.ClientAddr(r)).String())
}

// Hold builds an answer once there is memory for it. The memory counts as used until the last
// byte is written.
func (a *Router) Hold(w http.ResponseWriter, r *http.Request, who *auth.Caller, cost int64, answer func(w http.ResponseWriter) error) error {
	share, err := a.Budget.Take(r.Context(), a.Payer(r, who), cost)
	if err != nil {
		return err
	}
	defer share.Release()
	return answer(&held{ResponseWriter: w, share: share})
}

// Holds wraps a handler whose whole answer is held in memory.
func (a *Router) Holds(cost int64, h Protected) Protected {
	return func(w http.ResponseWriter, r *http.Request, who *auth.Caller) error {
		return a.Hold(w, r, who, cost, func(w http.ResponseWriter) error { return h(w, r, who) })
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

// PageBytes bounds the size of one page of changes. A single larger change still gets a page: an
// editor's product may hold 4 MiB.
const PageBytes = 4 << 20
