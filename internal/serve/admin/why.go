package admin

import (
	"net/http"

	"github.com/hazardd/hazardd/internal/auth"
	"github.com/hazardd/hazardd/internal/ingest/why"
	"github.com/hazardd/hazardd/internal/serve/route"
)

// evidenceFrom is the header with the time from which evidence was read.
const evidenceFrom = "Hazardd-Evidence-From"

// costOfWhy is the memory for reading payloads again, in bytes: the largest usual one, decompressed
// and parsed.
const costOfWhy = 64 << 20

// maxRef bounds a reference, in bytes.
const maxRef = 500

// explain serves what became of the records of a source that bear a name, to editors only, because it
// is unchecked content from outside.
func (a *Sources) explain(w http.ResponseWriter, r *http.Request, who *auth.Caller) error {
	name, err := a.KnownSource(r)
	if err != nil {
		return err
	}
	values, err := route.Parameters(r, "ref")
	if err != nil {
		return err
	}
	ref := values.Get("ref")
	if ref == "" || len(ref) > maxRef {
		return route.BadParameter("ref", "expected the name of an event or message at its source, of at most %d bytes", maxRef)
	}
	share, err := a.Budget.Take(r.Context(), a.Payer(r, who), costOfWhy)
	if err != nil {
		return err
	}
	defer share.Release()
	answer, err := a.Why(r.Context(), name, ref)
	if err != nil {
		return err
	}
	if answer.Since != 0 {
		w.Header().Set(evidenceFrom, answer.Since.String())
	}
	list := answer.Entries
	if list == nil {
		list = []why.Entry{}
	}
	return route.AnswerJSON(w, r, list, true)
}
