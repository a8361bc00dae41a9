package browser

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/google/uuid"

	"github.com/hazardd/hazardd/internal/atlas/symbol"
	"github.com/hazardd/hazardd/internal/atlas/town"
	"github.com/hazardd/hazardd/internal/auth"
	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/ingest/poll"
	"github.com/hazardd/hazardd/internal/ingest/poll/delay"
	"github.com/hazardd/hazardd/internal/lang"
	"github.com/hazardd/hazardd/internal/lang/words"
	"github.com/hazardd/hazardd/internal/serve/encoded"
	pages "github.com/hazardd/hazardd/internal/serve/page"
	"github.com/hazardd/hazardd/internal/serve/read"
	"github.com/hazardd/hazardd/internal/serve/route"
	"github.com/hazardd/hazardd/internal/store"
	"github.com/hazardd/hazardd/wire"
)

// hazardPattern is the page of one hazard. A program that asks for JSON is redirected to the hazard
// in the API, where its access token is accepted.
const hazardPattern = "GET /h/{hazard}"

// paged serves a page to visitors with a session, and to everybody if the server is public. Others
// are redirected to the login form, and back after the login.
func (a *Pages) paged(pattern string, h route.Protected) { a.openPage(pattern, a.visited(pattern, h)) }

// visited is the handler of a page that paged serves.
func (a *Pages) visited(pattern string, h route.Protected) route.Handler {
	return func(w http.ResponseWriter, r *http.Request) error {
		if wantsJSON(r) && pattern == hazardPattern {
			a.seeOther(w, "/hazards/"+url.PathEscape(r.PathValue("hazard")))
			return nil
		}
		who, err := a.Auth.VerifyPage(a.Cookies.Token(r), a.Now())
		if err != nil {
			if who := a.PublicCaller(r, a.Now()); who != nil {
				return a.ServePublic(w, r, who, h)
			}
		}
		if err != nil && wantsJSON(r) {
			route.InvalidToken(w)
			return nil
		}
		if err != nil {
			a.seeOther(w, "/login?next="+url.QueryEscape(r.URL.RequestURI()))
			return nil
		}
		route.MarkKnown(r)
		share, err := a.Users.Enter(r, who, a.Time())
		if err != nil {
			return err
		}
		defer share.Leave()
		return h(w, r, who)
	}
}

// openPage serves a page that needs no session. Errors are pages too.
func (a *Pages) openPage(pattern string, h route.Handler) { a.Handle(pattern, a.pageHandler(h)) }

func (a *Pages) pageHandler(h route.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer func() {
			if p := recover(); p != nil {
				if p == http.ErrAbortHandler {
					panic(p)
				}
				a.failPage(w, r, &route.PanicError{Value: p})
			}
		}()
		head := w.Header()
		route.Secure(head)
		// Not no-referrer: browsers would then hide a form's origin from its own server (Fetch,
		// "append a request Origin").
		head.Set("Referrer-Policy", "same-origin")
		head.Set("Content-Security-Policy", route.PagePolicy)
		head.Set("Permissions-Policy", route.NoPermissions)
		head.Set("Cross-Origin-Opener-Policy", "same-origin")
		head.Set("Cross-Origin-Resource-Policy", "same-origin")
		head.Add("Vary", "Cookie")
		if err := h(w, r); err != nil {
			a.failPage(w, r, err)
		}
	})
}

// zoneParameter is the visitor's time zone (IANA). Pages show times in it beside UTC. The map adds
// it to its links.
const zoneParameter = "tz"

// frame returns the frame around a page's content in the visitor's language: from the parameter
// lang, Accept-Language or the server's setting, if it is translated. It ignores invalid values,
// because portals add parameters to links.
func (a *Pages) frame(r *http.Request) pages.Frame {
	values := r.URL.Query()
	accepted := lang.Accepted(r.Header["Accept-Language"])
	wish := accepted.Or(a.Languages)
	if asked, err := lang.Parse(values.Get(route.LangParameter)); err == nil {
		wish = asked.Or(wish)
	}
	f := pages.Frame{Root: a.Cookies.Root, Language: words.Best(wish.Tags()...), Miles: accepted.Miles()}
	if strings.HasPrefix(r.URL.Path, subscriptionsPath) {
		f.Token = values.Get(tokenParameter)
	}
	if name := values.Get(zoneParameter); name != "" && name != "Local" && len(name) < 64 {
		if visitors, err := time.LoadLocation(name); err == nil {
			f.Zone = visitors
		}
	}
	return f
}

// statusPage shows people whether the service is up to date.
func (a *Pages) statusPage(w http.ResponseWriter, r *http.Request, who *auth.Caller) error {
	now := a.Now()
	states, err := a.Sources(r.Context())
	away := errors.Is(err, hazard.ErrUnavailable) && states != nil
	if err != nil && !away {
		return err
	}
	v := a.Live.View(now)
	s := &pages.Status{Frame: a.frame(r), Now: now, Away: away, Closed: a.Store.Unwritable() != nil, Damaged: len(a.Store.Quarantine.Found()), Change: v.Number(), Active: v.Len()}
	s.User = who.Name
	if who.Role == auth.Public {
		s.Login = a.Cookies.Root + "/login?next=/status"
	}
	for _, state := range states {
		source := pages.SourceStatus{Source: pageSource(&state)}
		if state.LastChanged != nil {
			source.Changed = hazard.At(*state.LastChanged)
		}
		if d := a.Delays.Of(state.Name, delay.Committed); d != nil {
			source.Delay, source.Slowest = time.Duration(d.Median*float64(time.Second)), time.Duration(d.P99*float64(time.Second))
		}
		s.Sources = append(s.Sources, source)
	}
	html, err := s.HTML()
	if err != nil {
		return err
	}
	writeHTML(w, http.StatusOK, html)
	return nil
}

// pageSource returns the state of a source for pages.
func pageSource(s *poll.Status) pages.Source {
	source := pages.Source{Name: s.Name, Title: s.Title, State: s.State}
	if s.LastSuccess != nil {
		source.Read = hazard.At(*s.LastSuccess)
	}
	return source
}

// failPage writes an error as a page, or as a problem if the client asked for JSON. The status is
// the API's.
func (a *Pages) failPage(w http.ResponseWriter, r *http.Request, err error) {
	if wantsJSON(r) {
		a.Fail(w, r, err)
		return
	}
	p := a.Problem(w, r, err)
	out := &pages.Problem{Frame: a.frame(r), Status: p.Status, Title: http.StatusText(p.Status), Foreign: true, Detail: sentence(p.Detail), Instance: p.Instance}
	if who, err := a.Auth.VerifyPage(a.Cookies.Token(r), a.Now()); err == nil {
		out.User = who.Name
	}
	if r.PathValue("hazard") != "" && r.PathValue("product") == "" && (p.Status == http.StatusNotFound || len(p.Errors) > 0 && p.Errors[0].Parameter == "hazard-id") {
		out.Title, out.Foreign, out.Hazard = out.Language.Say("noHazard"), false, true
	}
	html, err := out.HTML()
	if err != nil {
		a.Logger.ErrorContext(r.Context(), "no page for an error", "error", err)
		html = []byte(http.StatusText(p.Status))
	}
	writeHTML(w, p.Status, html)
}

// sentence returns text with a capital first letter.
func sentence(text string) string {
	if text == "" {
		return text
	}
	return strings.ToUpper(text[:1]) + text[1:]
}

func writeHTML(w http.ResponseWriter, status int, html []byte) {
	h := w.Header()
	h["Content-Type"], h["Cache-Control"] = route.HTMLType, route.NoStore
	h.Set("Content-Length", strconv.Itoa(len(html)))
	w.WriteHeader(status)
	_, _ = w.Write(html) // fails only if the client has gone
}

// wantsJSON reports whether the client is a program: it accepts a JSON type and not HTML.
func wantsJSON(r *http.Request) bool {
	accept := strings.ToLower(strings.Join(r.Header["Accept"], ","))
	return strings.Contains(accept, "json") && !strings.Contains(accept, "text/html")
}

// style serves the style sheet of the pages. It can be cached forever, because its path changes
// with its content.
func (a *Pages) style(w http.ResponseWriter, r *http.Request) error {
	if path, _ := pages.Style(); r.URL.Path != path {
		return &route.Problem{Status: http.StatusNotFound, Detail: "no such style sheet"}
	}
	w.Header().Set("Content-Type", "text/css; charset=utf-8")
	return route.Send(w, r, a.css, read.CacheForVersion, read.VaryEncoding)
}

// hazardPage serves the page of one hazard. Unlike the API it ignores unknown parameters, because
// mail programs and portals add theirs to links.
func (a *Pages) hazardPage(w http.ResponseWriter, r *http.Request, who *auth.Caller) error {
	now := a.Now()
	h, err := a.FindHazard(r, a.Live.View(now), now)
	if err != nil {
		return err
	}
	wish, err := a.Wish(r, r.URL.Query())
	if err != nil { // a parameter that a portal has added
		wish = lang.Accepted(r.Header["Accept-Language"]).Or(a.Languages)
	}
	content, restricted, err := a.pageOf(r, wish.Reader().Of(h), who, now)
	if err != nil {
		return err
	}
	html, err := content.HTML()
	if err != nil {
		return err
	}
	w.Header()["Content-Type"] = route.HTMLType
	return route.Answer(w, r, encoded.NewBody(html, restricted))
}

// pageOf collects what the visitor may see of the hazard, and reports whether any of it is
// restricted.
func (a *Pages) pageOf(r *http.Request, h *hazard.Hazard, who *auth.Caller, now hazard.Instant) (c *pages.Hazard, restricted bool, err error) {
	ctx := r.Context()
	c = &pages.Hazard{Frame: a.frame(r), Now: now, Hazard: h, Ground: a.Pictures.Ground != nil, Symbol: a.symbolPath, Orgs: map[int64]string{}}
	c.User = who.Name
	said, err := a.Headlines.Of(ctx, h, c.Language, now)
	if err != nil {
		return nil, false, err
	}
	c.Headline = said.Headline
	if h.Type == hazard.Cyclone {
		if c.Drawn, err = a.DrawnOn(ctx, h); err != nil {
			return nil, false, err
		}
	}
	if !h.Somewhere() {
		c.There = town.Zone(h.Latitude, h.Longitude)
	}
	if c.Zone == nil {
		c.Zone = c.There
	}
	if a.Public.On() {
		c.Preview = a.Preview(h, "/h/"+h.UUID.String(), now)
	}
	if who.Role == auth.Public {
		c.Login = a.Cookies.Root + "/login?next=" + url.QueryEscape("/h/"+h.UUID.String())
	}
	for _, o := range a.Auth.Accounts().Orgs() {
		c.Orgs[o.ID] = o.Acronym
	}
	if h.Successor != uuid.Nil {
		s, err := a.Store.Hazards.ByUUID(ctx, h.Successor)
		if err != nil && !errors.Is(err, hazard.ErrNotFound) {
			return nil, false, err
		}
		if err == nil {
			c.Successor = s.ExpireAt(now)
		}
	}
	if c.Areas, err = a.Store.Log.Areas(ctx, h.Viewed()); err != nil {
		return nil, false, err
	}
	near, err := a.Details.Around(ctx, h)
	if err != nil {
		return nil, false, err
	}
	c.Towns, c.Lands = near.Towns, read.LandsIn(near.Lands, c.Language)
	if err := a.pageProducts(ctx, c, who); err != nil {
		return nil, false, err
	}
	restricted = slices.ContainsFunc(c.Products, (*hazard.Product).Restricted)
	if len(who.Orgs) > 0 {
		reached, err := a.Details.AssetsOf(ctx, h, who.Orgs, read.AndBeside, "", pages.MaxAssets, c.Language)
		if err != nil {
			return nil, false, err
		}
		if len(reached.Sets) > 0 {
			c.Assets, restricted = &reached.Said, true
		}
	}
	if err := a.pageReports(ctx, c); err != nil {
		return nil, false, err
	}
	secret, err := a.pageHistory(r, c, who)
	return c, restricted || secret, err
}

// pageProducts adds the products that the caller may read, and when their pictures were fetched.
func (a *Pages) pageProducts(ctx context.Context, c *pages.Hazard, who *auth.Caller) (err error) {
	if c.Products, err = a.ProductsOf(ctx, c.Hazard.ID, who); err != nil {
		return err
	}
	photos, err := a.Pictures.PhotosOf(ctx, c.Hazard.ID, c.Products)
	if err != nil {
		return err
	}
	c.Pictures = map[int64]hazard.Instant{}
	for _, p := range photos {
		c.Pictures[p.Of.ID] = p.At
	}
	return nil
}

// pageReports adds what each source says of the hazard, which others may be one with it, and the state of all sources.
func (a *Pages) pageReports(ctx context.Context, c *pages.Hazard) error {
	events, err := a.Store.Reports.Of(ctx, c.Hazard.ID)
	if err != nil {
		return err
	}
	if c.Hazard.ActiveAt(c.Now) {
		if c.Alike, err = a.Details.Intake.MayBeOne(ctx, c.Hazard, events, c.Now); err != nil {
			return err
		}
	}
	for _, e := range events {
		c.Reports = append(c.Reports, pages.Report{Source: e.Source, Event: e.Key, Joined: e.Joined, Said: hazard.Derive(e.Parts, c.Now)})
	}
	states, err := a.Sources(ctx)
	if err != nil {
		return err
	}
	for _, s := range states {
		c.Sources = append(c.Sources, pageSource(&s))
	}
	return nil
}

// maxPageChanges is how many of the latest changes a page shows; it links to the whole history.
const maxPageChanges = 200

// pageHistory adds the latest changes that the visitor may see, and reports whether any is
// restricted.
func (a *Pages) pageHistory(r *http.Request, c *pages.Hazard, who *auth.Caller) (restricted bool, err error) {
	after, earlier, err := a.Store.Log.Latest(r.Context(), c.Hazard.ID, maxPageChanges, who.Orgs)
	if err != nil {
		return false, err
	}
	c.Earlier = int(earlier)
	for more := true; more; more = after > 0 {
		var changes []hazard.Change
		var before *read.History
		if changes, before, after, err = a.HistoryPage(r.Context(), c.Hazard.ID, who, read.ChangePage{After: after, Limit: maxPageChanges}); err != nil {
			return false, err
		}
		for i := range changes {
			ch := &changes[i]
			shown := pages.Change{Change: ch}
			var fields []wire.FieldChange
			if ch.Product == nil || ch.Product.VisibleTo(who.Orgs) { // otherwise it only reports a deletion
				fields = before.Add(ch)
			}
			for _, f := range fields {
				field := pages.Field{Name: f.Field}
				if err := errors.Join(json.Unmarshal(f.From, &field.From), json.Unmarshal(f.To, &field.To)); err != nil {
					return false, err
				}
				shown.Fields = append(shown.Fields, field)
			}
			restricted = restricted || ch.Product != nil && !ch.Product.Open()
			c.Changes = append(c.Changes, shown)
		}
	}
	slices.Reverse(c.Changes)
	c.Kept, err = a.KeptSince(r.Context(), store.History, c.Hazard.Created)
	return restricted, err
}

// symbolPath returns the address of a hazard's symbol, with the version that makes it cacheable
// forever.
func (a *Pages) symbolPath(h *hazard.Hazard) string {
	return a.Cookies.Root + "/symbols/" + string(h.Type) + "/" + string(h.Category) + "/" + h.Severity.String() + ".svg?v=" + symbol.Version
}

// pageMap serves the small map on a hazard's page.
func (a *Pages) pageMap(w http.ResponseWriter, r *http.Request, _ *auth.Caller) error {
	values, err := route.Parameters(r, "theme")
	if err != nil {
		return err
	}
	dark, err := read.DarkTheme(values)
	if err != nil {
		return err
	}
	now := a.Now()
	h, err := a.FindHazard(r, a.Live.View(now), now)
	if err != nil {
		return err
	}
	areas, err := a.Store.Log.Areas(r.Context(), h.Viewed())
	if err != nil {
		return err
	}
	drawn, err := a.DrawnOn(r.Context(), h)
	if err != nil {
		return err
	}
	m := pages.Map{Hazard: h, Areas: areas, Ground: a.Pictures.Ground, Dark: dark, Shapes: drawn}
	read.SetSVG(w)
	return route.Answer(w, r, encoded.NewBody(m.SVG(), false))
}

// inForm serves data in the format of the address, whatever the browser prefers.
func inForm(mediaType string, h route.Protected) route.Protected {
	return func(w http.ResponseWriter, r *http.Request, who *auth.Caller) error {
		r = r.Clone(r.Context())
		r.Header.Set("Accept", mediaType)
		return h(w, r, who)
	}
}

// ofPage wraps a handler of a product: it must belong to the hazard of the page.
func (a *Pages) ofPage(serve route.Protected) route.Protected {
	return func(w http.ResponseWriter, r *http.Request, who *auth.Caller) error {
		now := a.Now()
		h, err := a.FindHazard(r, a.Live.View(now), now)
		if err != nil {
			return err
		}
		p, err := a.FindProduct(r, who)
		if err != nil {
			return err
		}
		if p.HazardID != h.ID {
			return hazard.ErrNotFound
		}
		return serve(w, r, who)
	}
}

// seeOther redirects to a path of this server.
func (a *Pages) seeOther(w http.ResponseWriter, to string) {
	h := w.Header()
	h.Set("Location", a.Cookies.Root+to)
	h["Cache-Control"] = route.NoStore
	w.WriteHeader(http.StatusSeeOther)
}
