package read

import (
	"io"
	"iter"
	"net/http"
	"slices"

	"github.com/go-json-experiment/json"

	"github.com/hazardd/hazardd/internal/auth"
	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/hazard/query"
	"github.com/hazardd/hazardd/internal/lang"
	"github.com/hazardd/hazardd/internal/lang/words"
	pages "github.com/hazardd/hazardd/internal/serve/page"
	"github.com/hazardd/hazardd/internal/serve/route"
	"github.com/hazardd/hazardd/internal/store/view"
)

// byImportance is the order of sort=importance.
var byImportance = query.Sort{By: query.ByImportance, Descending: true}

// activeOrder serves the ids of the active hazards, most important first, for clients that already
// have the records. The records do not contain the order.
func (a *Lists) activeOrder(w http.ResponseWriter, r *http.Request, who *auth.Caller) error {
	if err := route.NoQuery(r); err != nil {
		return err
	}
	now := a.Now()
	v := a.Live.View(now)
	// The importance of a hazard does not depend on the caller.
	body, err := a.lists.Form(v, "order", "", view.Filter{}, nil, lang.Wish{}, func(out io.Writer, list iter.Seq2[*hazard.Hazard, int]) error {
		var keys []query.Key
		for h := range list {
			keys = append(keys, byImportance.Key(h))
		}
		slices.SortFunc(keys, byImportance.Compare)
		ids := make([]int64, len(keys))
		for i, k := range keys {
			ids[i] = k.ID
		}
		return json.MarshalWrite(out, ids)
	})
	if err != nil {
		return err
	}
	w.Header()["Content-Type"] = route.JSONType
	return a.answerShared(w, r, who, v, body, now)
}

// importance is the rank of a hazard among others.
type importance struct {
	Importance *int   `json:"importance"` // null after the end
	Emergency  bool   `json:"emergency"`
	Pinned     bool   `json:"pinned"`
	Reason     string `json:"reason"`
	Language   string `json:"language"` // language of the reason
}

// importance serves how important a hazard is and why, in the reader's language if it is
// translated.
func (a *Details) importance(w http.ResponseWriter, r *http.Request, _ *auth.Caller) error {
	values, at, err := a.readAt(r, route.LangParameter)
	if err != nil {
		return err
	}
	wish, err := a.Wish(r, values)
	if err != nil {
		return err
	}
	h, err := a.hazardNowOrAt(r, at)
	if err != nil {
		return err
	}
	language := words.Best(wish.Tags()...)
	out := importance{Pinned: h.Pinned, Language: language.ID}
	if h.Status == hazard.Active {
		i := hazard.ImportanceOf(h)
		out.Importance, out.Emergency, out.Reason = &i.Score, i.Emergency, pages.Why(h, &i, language)
	}
	route.SetLanguages(w, []string{language.ID})
	return route.AnswerJSON(w, r, out, false)
}
