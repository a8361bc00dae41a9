package read

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/hazardd/hazardd/internal/auth"
	"github.com/hazardd/hazardd/internal/format"
	"github.com/hazardd/hazardd/internal/geo"
	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/lang"
	"github.com/hazardd/hazardd/internal/lang/words"
	"github.com/hazardd/hazardd/internal/serve/encoded"
	"github.com/hazardd/hazardd/internal/serve/route"
	"github.com/hazardd/hazardd/internal/store"
	"github.com/hazardd/hazardd/internal/store/view"
)

// formatOf returns the requested format, from the parameter f or from Accept.
func formatOf(r *http.Request, values url.Values) (format.Format, error) {
	accept := ""
	if lines := r.Header["Accept"]; len(lines) > 0 {
		if accept = lines[0]; len(lines) > 1 {
			accept = strings.Join(lines, ",")
		}
	}
	name := values.Get("f")
	if name == "" && values.Has("f") {
		return format.JSON, route.BadParameter("f", "is empty; these formats are known: %s", strings.Join(format.Names(), ", "))
	}
	f, err := format.Choose(accept, name)
	if unknown, ok := errors.AsType[*format.UnknownError](err); ok {
		return f, route.BadParameter("f", "%v", unknown)
	}
	if err != nil {
		return f, &route.Problem{Status: http.StatusNotAcceptable, Detail: err.Error()}
	}
	return f, nil
}

// networkLink is the value of f for a small KML file that makes Google Earth reload a list.
const networkLink = "networklink"

// linkEvery is the reload interval. Sources are polled once a minute at most, so faster reloads
// show nothing new.
const linkEvery = time.Minute

// activeForm serves a list of active hazards in a format other than JSON. It is encoded once per
// change and format, as the JSON is; path is the list's own.
func (a *Lists) activeForm(w http.ResponseWriter, r *http.Request, who *auth.Caller, v *view.View, filter view.Filter, f format.Format, wish lang.Wish, now hazard.Instant) error {
	if f == format.CAP { // CAP has no lists: a feed links to the alerts
		f = format.Atom
	}
	o := a.documentOf(r, f)
	o.Title, o.Updated = "Active hazards", v.At()
	w.Header().Set("Last-Modified", v.At().Time().Format(http.TimeFormat))
	said := f.String() + saidFor(o.Language, o.At)
	sum := sha256.Sum256(fmt.Append(nil, o.Self, " ", v.Audience(who.Orgs), " ", v.Names(), " ", wish, said))
	tag := fmt.Sprintf(`"%d-%d-%s-%x"`, v.Number(), v.At(), f, sum[:9])
	body, err := a.lists.Form(v, said, tag, filter, who.Orgs, wish, func(out io.Writer, list iter.Seq2[*hazard.Hazard, int]) error {
		// The first request may be canceled while others still wait for the body.
		return a.InTurns(context.WithoutCancel(r.Context()), a.Payer(r, who), func(ctx context.Context, _ *encoded.Turn) error {
			return a.Encode(ctx, out, a.Store.Log, f, o, list)
		})
	})
	if err == nil && body.InFile() {
		if body.Open() {
			defer body.Close()
			sendAs(w, f, false, "hazards-active")
			return a.Hold(w, r, who, encoded.CopyCost, func(w http.ResponseWriter) error { return a.AnswerList(w, r, v, body, now) })
		}
		err = encoded.ErrLarge // of a view that was replaced at this moment
	}
	if errors.Is(err, encoded.ErrLarge) {
		return a.Hold(w, r, who, route.CostOfPage, func(w http.ResponseWriter) error {
			sendAs(w, f, false, "hazards-active")
			a.SetView(w, v, now)
			return a.Streamed(w, r, tag, v.Audience(who.Orgs) != "", func(out io.Writer) error {
				return a.encodeStream(r, who, out, f, o, wish.Reader().All(v.Hazards(filter, who.Orgs)))
			})
		})
	}
	if err != nil {
		return err
	}
	sendAs(w, f, false, "hazards-active")
	return a.answerShared(w, r, who, v, body, now)
}

// encodeStream writes a document that is sent while it is made: in turns, and in none while its reader is
// waited for.
func (a *Lists) encodeStream(r *http.Request, who *auth.Caller, out io.Writer, f format.Format, o format.Options, list iter.Seq2[*hazard.Hazard, int]) error {
	return a.InTurns(r.Context(), a.Payer(r, who), func(ctx context.Context, turn *encoded.Turn) error {
		sent := turn.Writer(ctx, out)
		if err := a.Encode(ctx, sent, a.Store.Log, f, o, list); err != nil {
			return err
		}
		return sent.Flush()
	})
}

// saidFor is what the headlines of a list depend on besides its hazards: the language, and the day.
func saidFor(l *words.Language, at hazard.Instant) string {
	return fmt.Sprintf(" %s %d", l.ID, at.Time().Unix()/(24*60*60))
}

// answerLink serves the network link of the requested list. Google Earth cannot send headers: if
// the request has a read key, the link contains that key and the answer is private.
func (a *Lists) answerLink(w http.ResponseWriter, r *http.Request) error {
	list := strings.TrimPrefix(a.documentOf(r, format.KML).Self, a.BaseURL)
	path, query, _ := strings.Cut(list, "?")
	values, err := url.ParseQuery(query)
	if err != nil {
		return err
	}
	const title = "Active hazards"
	body := format.NetworkLink(title, a.Base(r)+list, linkEvery)
	if !slices.ContainsFunc([]string{"bbox", "near", "intersects", "limit", "cursor"}, values.Has) {
		// What is only known to be somewhere in a country there is shown, too.
		values.Set("possible", "true")
		values.Set("limit", linkLimit)
		body = format.RegionLinks(title, func(b geo.Box) string {
			values.Set("bbox", fmt.Sprintf("%g,%g,%g,%g", b.West, b.South, b.East, b.North))
			return a.Base(r) + path + "?" + values.Encode()
		}, linkEvery)
	}
	sendAs(w, format.KML, false, "hazards-link")
	return route.Answer(w, r, encoded.NewBody(body, route.Keyed(r) != nil))
}

// linkLimit is the most hazards of a page of a region; a globe reads the next page by itself.
const linkLimit = "250"

// hazardForm serves one hazard in a format other than JSON.
func (a *Lists) hazardForm(w http.ResponseWriter, r *http.Request, f format.Format, v *view.View, h *hazard.Hazard, products int, who *auth.Caller, now hazard.Instant) error {
	return a.Hold(w, r, who, route.CostOfObject, func(w http.ResponseWriter) error {
		body, err := a.hazardDocument(w, r, a.Store.Log, f, h, products)
		if err != nil {
			return err
		}
		return a.AnswerList(w, r, v, body, now)
	})
}

// hazardDocument writes one hazard in a format other than JSON.
func (a *Lists) hazardDocument(w http.ResponseWriter, r *http.Request, from format.Store, f format.Format, h *hazard.Hazard, products int) (*encoded.Body, error) {
	o := a.documentOf(r, f)
	o.Title, o.Updated, o.Single = h.Name, h.LastUpdate, true
	if f == format.CAP && h.OrgID != hazard.NoOrg { // as the organization publishes it
		settings, err := a.Store.Publishing.Settings(r.Context())
		if err != nil {
			return nil, err
		}
		if p := settings.At(h.OrgID, h.Version); p != nil {
			o.RadiusKm = p.RadiusKm
		}
	}
	var body bytes.Buffer
	err := a.Encode(r.Context(), &body, from, f, o, func(yield func(*hazard.Hazard, int) bool) { yield(h, products) })
	if err != nil {
		return nil, err
	}
	if f == format.CAP { // regardless of the requested language
		route.SetLanguages(w, h.Languages())
	}
	sendAs(w, f, true, "hazard-"+h.UUID.String())
	return encoded.NewBody(body.Bytes(), false), nil
}

// documentOf returns the metadata of a document. Its address names the format, even if the request
// used Accept, so that the link returns the same document.
func (a *Lists) documentOf(r *http.Request, f format.Format) format.Options {
	values := r.URL.Query()
	wish, err := a.Wish(r, values)
	if err != nil { // the caller has refused it
		wish = lang.Wish{}
	}
	values.Set("f", f.String())
	return format.Options{Base: a.BaseURL, Language: words.Best(wish.Tags()...), At: a.Now(), Self: a.BaseURL + r.URL.EscapedPath() + "?" + values.Encode()}
}

// sendAs sets the media type, and the name under which a browser saves the answer.
func sendAs(w http.ResponseWriter, f format.Format, single bool, name string) {
	h := w.Header()
	h["Content-Type"] = []string{f.MediaType(single)}
	if f != format.JSON {
		h["Content-Disposition"] = []string{fmt.Sprintf("inline; filename=%q", f.FileName(name))}
	}
}

// storeAt reads the store as of a moment.
type storeAt struct {
	*store.Log
	at hazard.Instant
}

func (s storeAt) HazardChanges(ctx context.Context, hazardID, n int64, limit int) ([]hazard.Change, error) {
	return s.HazardChangesAt(ctx, hazardID, n, limit, s.at)
}
