package route

import (
	"context"
	"fmt"
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

// HoldInTurns is Hold for an answer that costs much processor time. It is made in turns with others of its
// kind: answer passes the request that it is given on to what may pause. The turn ends when the first
// byte is written, so that a slow reader holds up nobody.
func (a *Router) HoldInTurns(w http.ResponseWriter, r *http.Request, who *auth.Caller, cost int64, answer func(w http.ResponseWriter, r *http.Request) error) error {
	return a.Hold(w, r, who, cost, func(w http.ResponseWriter) error {
		return a.InTurns(r.Context(), a.Payer(r, who), func(ctx context.Context, turn *encoded.Turn) error {
			w.(*held).turn = turn
			return answer(w, r.WithContext(ctx))
		})
	})
}

// InTurns calls f in the turns of payer.
func (a *Router) InTurns(ctx context.Context, payer string, f func(ctx context.Context, turn *encoded.Turn) error) error {
	turn, err := a.turns.Begin(ctx, payer)
	if err != nil {
		return err
	}
	defer turn.End()
	return f(context.WithValue(ctx, turnContext{}, turn), turn)
}

type turnContext struct{}

// Pause lets others go on with their costly answers, if this one is made in turns and has had its time.
func Pause(ctx context.Context) error {
	turn, _ := ctx.Value(turnContext{}).(*encoded.Turn)
	return turn.Pause(ctx)
}

// HeldOnce returns an answer that costs much processor time and that the same readers may ask for
// again. It is made in turns, once for all requests with the same key until the view changes; the
// first of them pays for it. answer ends with Answer. said is what it depends on besides the path
// and the rights of its reader. The error is encoded.ErrLarge if it cannot be kept.
func (a *Router) HeldOnce(r *http.Request, who *auth.Caller, cost int64, said string, answer func(w http.ResponseWriter, r *http.Request) error) (*encoded.Body, error) {
	var names uint64
	if n := NamesFor(r.Context()); n != nil {
		names = n.Names()
	}
	said = fmt.Sprintf("%s %s%s %d %d\n%s", r.Method, a.Base(r), r.URL.EscapedPath(), who.Orgs, names, said)
	return a.once.Get(a.Live.View(a.Now()), said, func() (*encoded.Body, error) {
		ctx, payer, k := context.WithoutCancel(r.Context()), a.Payer(r, who), &keeper{header: http.Header{}} // others may still wait when this reader has gone
		share, err := a.Budget.Take(ctx, payer, cost)
		if err != nil {
			return nil, err
		}
		defer share.Release()
		err = a.InTurns(ctx, payer, func(ctx context.Context, _ *encoded.Turn) error { return answer(k, r.WithContext(ctx)) })
		return k.body, err
	})
}

// LargestKept returns the size of the largest answer that HeldOnce keeps, in bytes.
func (a *Router) LargestKept() int64 { return a.Answers.Shared / 2 / 2 }

// keeper takes a body that Send is given, with the header.
type keeper struct {
	header http.Header
	body   *encoded.Body
}

// Header implements http.ResponseWriter.
func (k *keeper) Header() http.Header { return k.header }

// Write implements http.ResponseWriter. It fails: an answer that is sent while it is made is not kept.
func (k *keeper) Write([]byte) (int, error) { return 0, encoded.ErrLarge }

// WriteHeader implements http.ResponseWriter.
func (k *keeper) WriteHeader(int) {}

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
	turn  *encoded.Turn // nil: it is not made in turns
	made  bool
}

// Write writes the answer. From now on only b counts toward the budget.
func (h *held) Write(b []byte) (int, error) {
	if !h.made {
		h.made = true
		h.turn.End()
		h.share.Resize(int64(len(b)))
	}
	return h.ResponseWriter.Write(b)
}

// Unwrap is for http.ResponseController.
func (h *held) Unwrap() http.ResponseWriter { return h.ResponseWriter }

// PageBytes bounds the size of one page of changes. A single larger change still gets a page: an
// editor's product may hold 4 MiB.
const PageBytes = 4 << 20
