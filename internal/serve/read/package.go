package read

import (
	"errors"
	"fmt"
	"io"
	"net/http"

	"github.com/hazardd/hazardd/internal/auth"
	"github.com/hazardd/hazardd/internal/format"
	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/hazard/query"
	"github.com/hazardd/hazardd/internal/serve/encoded"
	"github.com/hazardd/hazardd/internal/serve/route"
)

// maxPackage bounds the hazards in one package.
const maxPackage = 20_000

// answerPackage serves all matches of a search as a packaged file. It has no pages, because a file
// cannot link to the next one.
func (a *Lists) answerPackage(w http.ResponseWriter, r *http.Request, who *auth.Caller, q query.Query, form format.PackageForm) error {
	if q.Limit != 0 || q.Cursor != "" {
		return route.BadParameter("f", "%s contains all results: it cannot be combined with limit or cursor", form)
	}
	wish, err := a.Wish(r, r.URL.Query())
	if err != nil {
		return err
	}
	now, reader := a.Now(), wish.Reader()
	_, number, err := a.CountWithin(r.Context(), q, "f")
	if err != nil {
		return err
	}
	a.SetFreshness(r.Context(), w, number, q.At != nil)
	doc, err := format.NewPackage(r.Context(), form, "Hazards", a.BaseURL, now)
	if err != nil {
		return err
	}
	restricted, _, err := a.Each(r.Context(), q, who, func(h *hazard.Hazard, products int) (bool, error) {
		row, err := a.Row(r.Context(), a.storeAt(q.At), reader.Of(h), products)
		if err != nil {
			return false, err
		}
		return true, doc.Add(row)
	})
	if err != nil {
		return errors.Join(err, doc.Discard())
	}
	return doc.Finish(func(size int64, file io.ReadSeeker) error {
		route.SetLanguages(w, reader.Used())
		h := w.Header()
		h["Content-Type"] = []string{form.MediaType()}
		h["Content-Disposition"] = []string{`attachment; filename="hazards.` + string(form) + `"`}
		if size <= a.LargestKept() {
			text := make([]byte, size)
			if _, err := io.ReadFull(file, text); err != nil {
				return err
			}
			body := encoded.NewBody(text, restricted)
			body.Plain = true
			return route.Answer(w, r, body)
		}
		tag := fmt.Sprintf(`"%s-%d-%d"`, form, number, now) // each request builds a new file, so the tag is unique
		return a.Streamed(w, r, tag, restricted, func(out io.Writer) error {
			_, err := io.Copy(out, file)
			return err
		})
	})
}
