package client

import (
	"context"
	"fmt"
	"net/http"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/hazardd/hazardd/wire"
)

// Draft is a request that needs, or needed, the approval of a second person.
type Draft struct {
	ID             string         `json:"id"`
	State          string         `json:"state"` // waiting, approved, refused or lapsed
	Author         string         `json:"author"`
	Created        string         `json:"created"`     // RFC 3339
	Expires        string         `json:"expires"`     // after this time it cannot be decided
	Deed           string         `json:"deed"`        // create, alter, merge, split, undo or release
	HazardUUID     string         `json:"hazard_uuid"` // UUID of the hazard to publish
	New            bool           `json:"new"`         // the hazard does not exist yet
	HazardName     string         `json:"hazard_Name"` // the resulting name; likewise the members below
	TypeID         string         `json:"type_ID"`
	SeverityID     string         `json:"severity_ID"`
	SeverityBefore string         `json:"severity_ID_before,omitzero"`
	CategoryID     string         `json:"category_ID"`
	Reach          Reach          `json:"reach"`
	Request        jsontext.Value `json:"request"`
	DecidedBy      string         `json:"decided_by,omitzero"`
	Decided        string         `json:"decided,omitzero"`
	Reason         string         `json:"reason,omitzero"` // why it was refused
	MayDecide      []string       `json:"may_decide,omitzero"`
	Seen           []DraftSeen    `json:"seen,omitzero"`
	Reminded       string         `json:"reminded,omitzero"` // when its author last reminded others of it
	Details        jsontext.Value `json:"details,omitzero"`  // what the hazard would say, and what it says now; not in lists
}

// DraftSeen is a user who has seen a draft.
type DraftSeen struct {
	User string `json:"user"`
	Time string `json:"time"`
}

// Reach is the number of people and subscribers that a hazard would reach.
type Reach struct {
	People      *int64  `json:"people,omitzero"`    // people living in the published area; nil if unknown
	CircleKm    float64 `json:"circle_km,omitzero"` // radius of the circle that is published for a point
	Subscribers int64   `json:"subscribers"`        // subscribers who would be notified
}

// DraftedError means that the server has not executed the request yet, because a second person must
// approve it. errors.Is(err, ErrDrafted) is true.
type DraftedError struct{ Draft Draft }

// Error says that nothing was published, and who has to do what.
func (d *DraftedError) Error() string {
	return fmt.Sprintf("not published yet: a second editor has to approve it (hazardd draft approve %s) before %s", d.Draft.ID, d.Draft.Expires)
}

// Is reports whether target is ErrDrafted.
func (d *DraftedError) Is(target error) bool { return target == ErrDrafted }

// drafted parses the draft in the answer to a request that waits for a second person.
func drafted(resp *http.Response) error {
	defer resp.Body.Close()
	d := &DraftedError{}
	if err := decodeOne(resp, &d.Draft); err != nil {
		return err
	}
	return d
}

// Drafts lists the drafts that the user may decide about or wrote, latest first: those that wait or, if
// all is true, all of the last 30 days. There are at most limit.
func (e Editor) Drafts(ctx context.Context, all bool, limit int, opts ...CallOption) ([]Draft, error) {
	r := newRequest(http.MethodGet, "/drafts", opts)
	r.set("limit", strconv.Itoa(limit))
	if all {
		r.set("state", "all")
	}
	l, _, err := list[Draft](ctx, e.Client, r)
	return l.Items, err
}

// DraftCount is how many drafts wait.
type DraftCount struct {
	ToDecide int64  `json:"to_decide"`       // drafts of others that the user may decide about
	Mine     int64  `json:"mine"`            // drafts of the user
	Oldest   string `json:"oldest,omitzero"` // when the oldest of those to decide was written (RFC 3339)
}

// CountDrafts counts the waiting drafts.
func (e Editor) CountDrafts(ctx context.Context, opts ...CallOption) (DraftCount, error) {
	one, err := record[DraftCount](ctx, e.Client, newRequest(http.MethodGet, "/drafts/count", opts))
	return one.Item, err
}

// RemindOfDraft reminds those who may decide of the user's own draft.
func (e Editor) RemindOfDraft(ctx context.Context, id string, opts ...CallOption) (Draft, error) {
	return write[Draft](ctx, e.Client, http.MethodPost, Fields{}, opts, "drafts", id, "remind")
}

// Draft returns one draft.
func (e Editor) Draft(ctx context.Context, id string, opts ...CallOption) (Draft, error) {
	p, err := pathOf("drafts", id)
	if err != nil {
		return Draft{}, err
	}
	one, err := record[Draft](ctx, e.Client, newRequest(http.MethodGet, p, opts))
	return one.Item, err
}

// ApproveDraft publishes another editor's draft in the user's name, and returns the published
// hazard.
func (e Editor) ApproveDraft(ctx context.Context, id string, opts ...CallOption) (wire.Hazard, error) {
	return write[wire.Hazard](ctx, e.Client, http.MethodPost, Fields{}, opts, "drafts", id, "approve")
}

// RefuseDraft refuses a draft: it will not be published.
func (e Editor) RefuseDraft(ctx context.Context, id, reason string, opts ...CallOption) (Draft, error) {
	return write[Draft](ctx, e.Client, http.MethodPost, Fields{"reason": reason}, opts, "drafts", id, "refuse")
}
