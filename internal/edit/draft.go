package edit

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/uuid"

	"github.com/hazardd/hazardd/internal/auth"
	"github.com/hazardd/hazardd/internal/geo"
	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/store"
)

// TwoPeople says which changes wait for a second person. It looks at the states that a request
// produces, whatever the request is. A state of an active hazard that tells anyone more than before
// has to wait. Ending or retracting a hazard, or only making it milder, never waits.
type TwoPeople struct {
	Warnings bool  // every WARNING
	People   int64 // minimum number of people, or of subscribers, that a hazard must reach to wait; 0 means never
	// Reach counts whom a hazard with these areas reaches with what is published for it.
	Reach func(ctx context.Context, h *hazard.Hazard, areas []hazard.Area) (Reach, error)
	// Standing returns the present role and organizations of a user or service; ok is false if it
	// has no access.
	Standing func(name string) (role auth.Role, orgs []int64, ok bool)
	// Deciders returns the names of the users who may write hazards of an organization; may be nil.
	Deciders func(org int64) []string
}

// Rule says which changes wait, as in "warnings; people=1000000"; empty means none.
func (e *Editor) Rule() string {
	var parts []string
	if e.Two != nil && e.Two.Warnings {
		parts = append(parts, "warnings")
	}
	if e.Two != nil && e.Two.People > 0 {
		parts = append(parts, fmt.Sprintf("people=%d", e.Two.People))
	}
	return strings.Join(parts, "; ")
}

// Reach is whom a hazard reaches with what is published for it.
type Reach struct {
	People      *int64  `json:"people,omitzero"`    // people who live in the published area; nil if unknown
	CircleKm    float64 `json:"circle_km,omitzero"` // radius of the circle that is published for a mere point; 0: an area
	Subscribers int     `json:"subscribers"`        // subscribers who would be notified
	// Published is the area that is published, or nearest to it what can be drawn.
	Published geo.Shape `json:"-"`
}

// many reports whether a hazard reaches at least n people or subscribers, or an unknown number.
func (r Reach) many(n int64) bool {
	return n > 0 && (r.People == nil || *r.People >= n || int64(r.Subscribers) >= n)
}

// grew reports whether more is reached than before, or an unknown number. Subscribers come and go while
// somebody reads: up to a tenth more of them, or ten, is not more.
func (r Reach) grew(before Reach) bool {
	switch {
	case before.People != nil && (r.People == nil || *r.People > *before.People):
		return true
	default:
		return r.Subscribers > before.Subscribers+max(10, before.Subscribers/10)
	}
}

// Shown is what the second person sees of a draft besides the request: the hazard as it would
// become, and whom it reaches.
type Shown struct {
	Name     string          `json:"hazard_Name"`
	Type     hazard.Type     `json:"type_ID"`
	Severity string          `json:"severity_ID"`
	Category hazard.Category `json:"category_ID"`
	New      bool            `json:"new"`                         // whether the hazard would be new
	Before   string          `json:"severity_ID_before,omitzero"` // its present severity
	Reach    Reach           `json:"reach"`
	Details  *Details        `json:"details,omitzero"` // nil in a draft of an earlier release
}

// Details is what the second person compares: all that a hazard would say, and what it says now.
type Details struct {
	Says Content  `json:"says"`
	Said *Content `json:"said,omitzero"` // nil if the hazard would be new
	// Published is the area that is published, as a GeoJSON geometry.
	Published jsontext.Value `json:"published,omitzero"`
}

// Content is what a hazard says.
type Content struct {
	Name        string          `json:"hazard_Name"`
	Description string          `json:"description,omitzero"`
	Type        hazard.Type     `json:"type_ID"`
	Severity    string          `json:"severity_ID"`
	Category    hazard.Category `json:"category_ID"`
	Status      hazard.Status   `json:"status"`
	Start       string          `json:"start"`
	End         string          `json:"end,omitzero"`
	AutoExpire  bool            `json:"autoexpire"`
	Latitude    float64         `json:"latitude"`
	Longitude   float64         `json:"longitude"`
	Link        string          `json:"snc_url,omitzero"`
	Texts       []ContentText   `json:"texts,omitzero"`
}

// ContentText is what a hazard says in one language.
type ContentText struct {
	Language    string `json:"language"`
	Name        string `json:"name,omitzero"`
	Headline    string `json:"headline,omitzero"`
	Description string `json:"description,omitzero"`
	Instruction string `json:"instruction,omitzero"`
}

func contentOf(h *hazard.Hazard) *Content {
	c := &Content{Name: h.Name, Description: h.Description, Type: h.Type, Severity: h.Severity.String(), Category: h.Category, Status: h.Status, Start: h.Start.String(),
		AutoExpire: h.AutoExpire, Latitude: h.Latitude, Longitude: h.Longitude, Link: h.URL}
	if h.End != 0 {
		c.End = h.End.String()
	}
	for _, t := range h.Texts {
		c.Texts = append(c.Texts, ContentText{t.Language, t.Name, t.Headline, t.Description, t.Instruction})
	}
	return c
}

// DraftedError reports that nothing was written yet, because the change waits for a second person.
type DraftedError struct{ Draft store.Draft }

func (d *DraftedError) Error() string {
	return fmt.Sprintf("draft %s waits for the approval of a second editor", d.Draft.ID)
}

// The limits of drafts.
const (
	// DraftLife is how long a draft can be approved at most, because the situation may change. A
	// draft also expires when its hazard ends.
	DraftLife = 24 * time.Hour
	// DraftsKept is how long a draft is kept.
	DraftsKept = 30 * 24 * time.Hour
	maxDrafts  = 100 // waiting drafts per author
	// maxTries is how often a change is retried if its hazards change while its reach is counted.
	maxTries = 4
)

// draftSpace is the namespace of drafts' UUIDs. It makes a repeated request find the same draft.
var draftSpace = uuid.MustParse("7d2f2a2e-6c0b-5f0e-8a43-1f9d0a8c5f77")

// deed is a change that can be carried out later.
type deed struct {
	name    string
	subject string // UUID of a hazard, or source and id of a held report
	body    []byte
}

// The names of the kinds of change.
const (
	deedCreate  = "create"
	deedAlter   = "alter"
	deedMerge   = "merge"
	deedSplit   = "split"
	deedUndo    = "undo"
	deedRelease = "release"
)

// about returns a change of the hazard in a path.
func about(name string, id Ref, body []byte) deed {
	if id.ID != 0 {
		return deed{name, strconv.FormatInt(id.ID, 10), body}
	}
	return deed{name, id.UUID.String(), body}
}

// second is the person who approves a draft, the draft, and the resulting state.
type second struct {
	Author
	draft *store.Draft
	made  store.Saved
	// counted means that the reach of what is published was counted again now.
	counted bool
}

// recount is the error of a transaction that publishes a draft whose reach has to be counted again. The
// transaction is rolled back.
type recount struct{ heavy }

func (*recount) Error() string { return "whom the draft reaches is counted again" }

// waits is the error of a transaction whose change has to wait, or may have to because its reach is
// unknown. The transaction is rolled back.
type waits struct {
	touched string
	states  []heavy
}

// heavy is a state that says more than the one before, with its areas.
type heavy struct {
	store.Saved
	areas []hazard.Area
}

func (*waits) Error() string { return "the decision waits for a second person" }

// decide makes a change of hazards in one transaction, in the author's name. If it has to wait for
// a second person, it is stored as a draft instead, and the error is a *DraftedError. f may run
// more than once.
func (e *Editor) decide(ctx context.Context, who Author, d deed, clock hazard.Clock, f func(*store.Tx) error) (last int64, err error) {
	switch {
	case who.second != nil:
		return e.approved(ctx, who, clock, f)
	case e.Two == nil:
		return e.write(ctx, who, clock, f)
	}
	few, known := "", false // the states that the change touched when its reach was found to be small
	for range maxTries {
		last, err = e.write(ctx, who, clock, func(tx *store.Tx) error {
			if err := f(tx); err != nil {
				return err
			}
			return e.mustWait(tx, few, known)
		})
		w, ok := errors.AsType[*waits](err)
		if !ok {
			return last, err
		}
		if err := e.settle(ctx, who, d, w, clock); err != nil {
			return 0, err
		}
		few, known = w.touched, true
	}
	return 0, fmt.Errorf("%w: the hazard changed each time its reach was counted; send the request again", hazard.ErrConflict)
}

// approved makes the change of a draft as its author saw it, and records who approved it.
func (e *Editor) approved(ctx context.Context, who Author, clock hazard.Clock, f func(*store.Tx) error) (last int64, err error) {
	d := who.second.draft
	return e.write(ctx, who, clock, func(tx *store.Tx) error {
		if err := tx.ApproveDraft(d); err != nil {
			return err
		}
		if err := f(tx); err != nil {
			return err
		}
		if touched(tx) != d.Touched {
			return fmt.Errorf("%w: the hazard has changed since draft %s was made; refuse it, and have it made again", hazard.ErrStale, d.ID)
		}
		for _, s := range tx.Saved() {
			if err := who.second.mayWrite(s.After); err != nil {
				return err
			}
		}
		list := heavier(tx)
		i := slices.IndexFunc(list, func(s store.Saved) bool { return s.After.UUID == d.Hazard })
		if i < 0 || list[i].After.OrgID != d.OrgID {
			return fmt.Errorf("%w: draft %s says something else now, or nothing any more; refuse it, and have it made again", hazard.ErrConflict, d.ID)
		}
		if !who.second.counted {
			areas, err := tx.Areas(list[i].After.Areas)
			if err != nil {
				return err
			}
			return &recount{heavy{list[i], areas}}
		}
		who.second.made = list[i]
		return nil
	})
}

// mustWait returns *waits if a state that the transaction has saved must wait, or if its reach is
// unknown. few holds the touched states if their reach is known to be small.
func (e *Editor) mustWait(tx *store.Tx, few string, known bool) error {
	list := heavier(tx)
	w := &waits{touched: touched(tx)}
	warning := slices.ContainsFunc(list, e.warns)
	if len(list) == 0 || !warning && (e.Two.People <= 0 || known && few == w.touched) {
		return nil
	}
	for _, s := range list {
		areas, err := tx.Areas(s.After.Areas)
		if err != nil {
			return err
		}
		w.states = append(w.states, heavy{s, areas})
	}
	return w
}

// warns reports whether a state must wait regardless of its reach.
func (e *Editor) warns(s store.Saved) bool {
	return e.Two.Warnings && s.After.Severity >= hazard.Warning
}

// touched returns a text that identifies the states that a transaction has changed.
func touched(tx *store.Tx) string {
	var names []string
	for _, s := range tx.Saved() {
		if s.Before != nil {
			names = append(names, fmt.Sprintf("%d:%d", s.Before.ID, s.Before.Version))
		}
	}
	slices.Sort(names)
	return strings.Join(names, " ")
}

// heavier returns the saved states that say more than the ones before.
func heavier(tx *store.Tx) (list []store.Saved) {
	for _, s := range tx.Saved() {
		if s.After.ExpireAt(tx.Now()).Status != hazard.Active {
			continue
		}
		if s.Before == nil || saysMore(s.Before.ExpireAt(tx.Now()), s.After) {
			list = append(list, s)
		}
	}
	return list
}

// saysMore reports whether a state of an active hazard says more than the one before. It ignores
// changes that make the hazard only milder or shorter, and those on which no reader acts.
func saysMore(before, h *hazard.Hazard) bool {
	if before.Status != hazard.Active {
		return true
	}
	same := *before
	same.Severity = min(same.Severity, h.Severity)
	if h.End <= same.End && (h.AutoExpire || !same.AutoExpire) {
		same.End, same.AutoExpire = h.End, h.AutoExpire
	}
	same.Comment, same.Pinned, same.Edited, same.Sources, same.Exposure = h.Comment, h.Pinned, h.Edited, h.Sources, h.Exposure
	return !h.Equal(&same)
}

// settle stores a change that has to wait as a draft and returns it as a *DraftedError. It returns
// nil if the change reaches too few people to wait.
func (e *Editor) settle(ctx context.Context, who Author, d deed, w *waits, clock hazard.Clock) error {
	var heaviest *heavy
	var shown Shown
	for i := range w.states {
		s := &w.states[i]
		reach, err := e.Two.Reach(ctx, s.After, s.areas)
		if err != nil {
			return err
		}
		if !e.warns(s.Saved) && !reach.many(e.Two.People) {
			continue
		}
		if heaviest == nil || reach.Subscribers > shown.Reach.Subscribers {
			heaviest, shown = s, Shown{Name: s.After.Name, Type: s.After.Type, Severity: s.After.Severity.String(), Category: s.After.Category, New: s.Before == nil, Reach: reach}
			shown.Details = &Details{Says: *contentOf(s.After)}
			if !reach.Published.IsZero() {
				shown.Details.Published = jsontext.Value(reach.Published.GeoJSON())
			}
			if s.Before != nil {
				shown.Before, shown.Details.Said = s.Before.Severity.String(), contentOf(s.Before)
			}
		}
	}
	if heaviest == nil {
		return nil
	}
	given, err := decode(d.body)
	if err != nil {
		return err
	}
	h := heaviest.After
	if _, chosen := given["uuid"]; d.name == deedCreate && !chosen {
		given["uuid"] = jsontext.Value(fmt.Sprintf("%q", h.UUID)) // the hazard named in the draft
	}
	now := clock.Now()
	draft := store.Draft{Deed: d.name, Subject: d.subject, Touched: w.touched, Hazard: h.UUID, OrgID: h.OrgID, Author: who.Name, Created: now, Expires: now.Add(DraftLife)}
	if h.AutoExpire {
		draft.Expires = min(draft.Expires, h.End)
	}
	if draft.Body, err = json.Marshal(given, json.Deterministic(true)); err != nil {
		return err
	}
	if draft.Shown, err = json.Marshal(shown); err != nil {
		return err
	}
	draft.ID = uuid.NewSHA1(draftSpace, fmt.Appendf(nil, "%q %s %q %q %s", who.Name, d.name, d.subject, w.touched, draft.Body))
	if err := e.store.Drafts.Add(ctx, &draft, maxDrafts, who.audit("draft.create", draft.ID, "hazard "+h.UUID.String(), now)); err != nil {
		return err
	}
	if draft, err = e.store.Drafts.Get(ctx, draft.ID); err != nil {
		return err
	}
	switch draft.State {
	case store.DraftRefused:
		return fmt.Errorf("%w: %s has refused the same request: %s", hazard.ErrConflict, draft.DecidedBy, draft.Reason)
	case store.DraftApproved:
		return fmt.Errorf("%w: draft %s of the same request was approved; read the hazard again", hazard.ErrConflict, draft.ID)
	}
	return &DraftedError{draft}
}

func (a Author) audit(action string, id uuid.UUID, detail string, now hazard.Instant) *auth.Audit {
	addr, _ := netip.ParseAddr(a.Addr) // on error there is no address
	return &auth.Audit{At: now, Actor: a.Name, Addr: addr, Client: a.Client, Action: action, Subject: "draft " + id.String(), Detail: detail, OK: true}
}

// Approve makes the change of a draft now, in the name of the approving user. Both people must have
// the right now, and they must be different. It returns the published hazard.
func (e *Editor) Approve(ctx context.Context, who Author, id uuid.UUID, clock hazard.Clock) (done Done[hazard.Hazard], err error) {
	d, err := e.Draft(ctx, who, id)
	if err != nil {
		return done, err
	}
	switch {
	case who.Scope != "":
		return done, fmt.Errorf("%w: a person approves drafts, not a service", hazard.ErrForbidden)
	case d.Author == who.Name:
		return done, fmt.Errorf("%w: a second person must approve the draft of %s", hazard.ErrForbidden, d.Author)
	case d.State == store.DraftWaiting && d.Expires <= clock.Now():
		return done, fmt.Errorf("%w: draft %s expired at %s; have it made again", hazard.ErrConflict, id, d.Expires)
	case e.Two == nil:
		return done, fmt.Errorf("%w: nothing waits for a second person any more on this server; have the request sent again", hazard.ErrConflict)
	}
	by := &second{Author: who, draft: &d}
	author := Author{second: by}
	author.Name = d.Author
	var ok bool
	if author.Role, author.Orgs, ok = e.Two.Standing(d.Author); !ok {
		return done, fmt.Errorf("%w: %s, the author of the draft, may not log in any more", hazard.ErrConflict, d.Author)
	}
	done.Last, err = e.again(ctx, author, &d, clock)
	if r, ok := errors.AsType[*recount](err); ok {
		if err = e.recounted(ctx, &d, r); err == nil {
			by.counted = true
			done.Last, err = e.again(ctx, author, &d, clock)
		}
	}
	if err != nil {
		return done, err
	}
	done.State, done.New = by.made.After, by.made.Before == nil
	return done, nil
}

// recounted counts whom a draft reaches again, just before it is published. If that is more than was
// shown, it shows the new numbers and returns hazard.ErrConflict: the second person is asked once more.
func (e *Editor) recounted(ctx context.Context, d *store.Draft, r *recount) error {
	var shown Shown
	if err := json.Unmarshal(d.Shown, &shown); err != nil {
		return fmt.Errorf("stored draft %s: %w", d.ID, err)
	}
	now, err := e.Two.Reach(ctx, r.After, r.areas)
	if err != nil {
		return err
	}
	before := shown.Reach
	if !now.grew(before) {
		return nil
	}
	shown.Reach = now
	if d.Shown, err = json.Marshal(shown); err != nil {
		return err
	}
	if err := e.store.Drafts.Show(ctx, d.ID, d.Shown); err != nil {
		return err
	}
	return fmt.Errorf("%w: draft %s reaches more than was shown: %s instead of %s; look again, and approve once more", hazard.ErrConflict, d.ID, now, before)
}

// String is the reach for errors: "1200 people and 40 subscribers".
func (r Reach) String() string {
	people := "an unknown number of"
	if r.People != nil {
		people = strconv.FormatInt(*r.People, 10)
	}
	return fmt.Sprintf("%s people and %d subscribers", people, r.Subscribers)
}

// again makes the change of a draft.
func (e *Editor) again(ctx context.Context, author Author, d *store.Draft, clock hazard.Clock) (int64, error) {
	if d.Deed == deedRelease {
		source, number, _ := strings.Cut(d.Subject, "/")
		held, err := strconv.ParseInt(number, 10, 64)
		if err != nil {
			return 0, fmt.Errorf("stored draft %s: %w", d.ID, err)
		}
		res, err := e.Decide(ctx, author, source, held, nil, d.Body, clock)
		return res.Last, err
	}
	if d.Deed == deedCreate {
		done, err := e.CreateHazard(ctx, author, nil, d.Body, clock)
		return done.Last, err
	}
	id, err := reference(nil, jsontext.Value(d.Subject))
	if err != nil {
		return 0, fmt.Errorf("stored draft %s: %w", d.ID, err)
	}
	f, ok := map[string]func(context.Context, Author, Ref, Match, []byte, hazard.Clock) (Done[hazard.Hazard], error){
		deedAlter: e.PatchHazard, deedMerge: e.Merge, deedSplit: e.Split, deedUndo: e.Undo}[d.Deed]
	if !ok {
		return 0, fmt.Errorf("stored draft %s: unknown deed %q", d.ID, d.Deed)
	}
	done, err := f(ctx, author, id, nil, d.Body, clock)
	return done.Last, err
}

// Refuse decides that a draft is not published. text is {"reason": …}. The author may refuse it
// too.
func (e *Editor) Refuse(ctx context.Context, who Author, id uuid.UUID, text []byte, clock hazard.Clock) (store.Draft, error) {
	reason, err := asked(who, reasonFields, text)
	if err != nil {
		return store.Draft{}, err
	}
	d, err := e.Draft(ctx, who, id)
	if err != nil {
		return d, err
	}
	now := clock.Now()
	if err := e.store.Drafts.Refuse(ctx, id, who.Name, reason, now, who.audit("draft.refuse", id, "of "+d.Author, now)); err != nil {
		return d, err
	}
	return e.store.Drafts.Get(ctx, id)
}

// draftsPage is how many drafts are read at a time.
const draftsPage = 500

// Drafts lists the drafts after a place that who may decide about or wrote, latest first: those that
// can be decided if waiting, else all. It returns at most limit.
func (e *Editor) Drafts(ctx context.Context, who Author, waiting bool, after store.DraftPlace, limit int, now hazard.Instant) (list []store.Draft, err error) {
	if err := who.mayEdit(); err != nil {
		return nil, err
	}
	for {
		page, err := e.store.Drafts.List(ctx, waiting, after, now, draftsPage)
		if err != nil {
			return nil, err
		}
		for _, d := range page {
			if who.sees(&d) {
				list = append(list, d)
			}
			if len(list) == limit {
				return list, nil
			}
			after = store.DraftPlace{Created: d.Created, ID: d.ID}
		}
		if len(page) < draftsPage {
			return list, nil
		}
	}
}

// DraftCount is how many drafts wait.
type DraftCount struct {
	ToDecide, Mine int64          // that the caller may decide about, and that the caller wrote
	Oldest         hazard.Instant // when the oldest of those to decide was written; 0: there is none
}

// CountDrafts counts the drafts that wait. A service that watches drafts hears of those of all
// organizations.
func (e *Editor) CountDrafts(ctx context.Context, who Author, now hazard.Instant) (n DraftCount, err error) {
	watches := who.Scope == auth.ScopeDrafts
	if !watches {
		if err := who.mayEdit(); err != nil {
			return n, err
		}
	}
	counts, err := e.store.Drafts.CountBy(ctx, now)
	for _, c := range counts {
		switch {
		case c.Author == who.Name:
			n.Mine += c.N
		case watches || who.actor().Owns(c.OrgID):
			if n.ToDecide == 0 || c.Oldest < n.Oldest {
				n.Oldest = c.Oldest
			}
			n.ToDecide += c.N
		}
	}
	return n, err
}

// Draft returns a draft that who may decide about or wrote; otherwise hazard.ErrNotFound.
func (e *Editor) Draft(ctx context.Context, who Author, id uuid.UUID) (store.Draft, error) {
	if err := who.mayEdit(); err != nil {
		return store.Draft{}, err
	}
	d, err := e.store.Drafts.Get(ctx, id)
	if err == nil && !who.sees(&d) {
		err = fmt.Errorf("%w: draft %s", hazard.ErrNotFound, id)
	}
	return d, err
}

// sees reports whether an author may know of a draft: a user of its organization, and its own author.
func (a Author) sees(d *store.Draft) bool { return d.Author == a.Name || a.actor().Owns(d.OrgID) }

// ReadDraft returns a draft for reading, and records that somebody who may decide has seen it.
func (e *Editor) ReadDraft(ctx context.Context, who Author, id uuid.UUID, now hazard.Instant) (store.Draft, error) {
	d, err := e.Draft(ctx, who, id)
	if err != nil || d.Author == who.Name || who.Scope != "" || d.State != store.DraftWaiting || d.Expires <= now {
		return d, err
	}
	marks, err := e.store.Drafts.Marks(ctx, id)
	if err != nil || slices.ContainsFunc(marks, func(m store.DraftMark) bool { return m.Kind == store.DraftSeen && m.Who == who.Name }) {
		return d, err
	}
	_, _ = e.store.Drafts.Mark(ctx, id, store.DraftMark{Kind: store.DraftSeen, Who: who.Name, At: now}) // a draft can be read where nothing can be written
	return d, nil
}

// RemindEvery is how long an author waits before reminding others again.
const RemindEvery = 5 * time.Minute

// Remind reminds those who may decide of a waiting draft, for its author.
func (e *Editor) Remind(ctx context.Context, who Author, id uuid.UUID, now hazard.Instant) (store.Draft, error) {
	d, err := e.Draft(ctx, who, id)
	switch {
	case err != nil:
		return d, err
	case d.Author != who.Name:
		return d, fmt.Errorf("%w: only the author of a draft reminds others of it", hazard.ErrForbidden)
	case d.State != store.DraftWaiting || d.Expires <= now:
		return d, fmt.Errorf("%w: draft %s was decided before, or its time is over", hazard.ErrConflict, id)
	}
	isNew, err := e.store.Drafts.MarkAgain(ctx, id, store.DraftMark{Kind: store.DraftReminded, Who: who.Name, At: now}, now.Add(-RemindEvery))
	if err == nil && !isNew {
		err = fmt.Errorf("%w: others were reminded of draft %s less than %v ago", hazard.ErrConflict, id, RemindEvery)
	}
	return d, err
}

// DraftMarks returns what happened to a draft besides its decision, in order of time.
func (e *Editor) DraftMarks(ctx context.Context, d *store.Draft) ([]store.DraftMark, error) {
	return e.store.Drafts.Marks(ctx, d.ID)
}

// Deciders returns the names of those who may decide about a draft.
func (e *Editor) Deciders(d *store.Draft) []string {
	if e.Two == nil || e.Two.Deciders == nil {
		return nil
	}
	return slices.DeleteFunc(e.Two.Deciders(d.OrgID), func(name string) bool { return name == d.Author })
}
