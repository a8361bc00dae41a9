package hazard

import (
	"cmp"
	"slices"

	"github.com/google/uuid"
)

// Status tells whether a hazard goes on (base interface, section 3).
type Status string

// The states of a hazard.
const (
	Active  Status = "A"
	Expired Status = "E"
)

// EndReason says why a hazard ended. It stands beside the base record, never inside it.
type EndReason string

// The reasons.
const (
	EndExpired    EndReason = "expired"    // its end_Date was reached
	EndCancelled  EndReason = "cancelled"  // the source took it back before its end
	EndAllClear   EndReason = "all-clear"  // the source, or an editor, says that it is over
	EndSuperseded EndReason = "superseded" // another hazard took its place (an upgraded warning)
	EndWithdrawn  EndReason = "withdrawn"  // the source deleted the event or lists it no longer
	EndRetracted  EndReason = "retracted"  // an editor took back a false hazard
	EndMerged     EndReason = "merged"     // found to be the same as another
)

// Hazard is the state of one hazard as of one change. Its fields are those of the base interface, section 2.6, under
// their usual Go names, and what stands beside the base record.
type Hazard struct {
	ID          int64     `json:"id"` // hazard_ID: the number that this installation gave it
	UUID        uuid.UUID `json:"uuid"`
	Name        string    `json:"name"`
	Description string    `json:"description,omitzero"`
	Type        Type      `json:"type"`
	Severity    Severity  `json:"severity"`
	Category    Category  `json:"category"`
	Status      Status    `json:"status"`
	// AutoExpire: the hazard ends by itself at End. Without it End is only an expectation.
	AutoExpire bool    `json:"autoexpire"`
	Start      Instant `json:"start"`
	End        Instant `json:"end"`
	Created    Instant `json:"created"`     // create_Date
	LastUpdate Instant `json:"last_update"` // last_Update; moves at expiry too
	Updated    Instant `json:"updated"`     // update_Date; does not move at expiry
	UpdateUser string  `json:"update_user,omitzero"`
	Creator    string  `json:"creator,omitzero"`
	Longitude  float64 `json:"lon"`          // degrees east, WGS84
	Latitude   float64 `json:"lat"`          // degrees north, WGS84
	OrgID      int64   `json:"org"`          // -1 for what a source reports
	AppID      int64   `json:"app"`          // 0 for what a source reports
	URL        string  `json:"url,omitzero"` // the source's own page; empty: the service's page of the hazard
	Comment    string  `json:"comment,omitzero"`

	// Texts are what the authorities say in each of their languages, the first of each language before the others of it. At most
	// MaxTexts and MaxTextBytes. Nobody alters them.
	Texts []Text `json:"texts,omitzero"`
	// Spoken is what In has made Name and Description of; nil: they are as they are stored.
	Spoken *Spoken `json:"-"`

	Areas []AreaRef `json:"areas,omitzero"`
	// Measurements are what sources measured, each quantity once, by the most authoritative source that says it; in the order of names.
	Measurements []Measurement `json:"measurements,omitzero"`
	// Shapes are the cones, tracks, contours and the like that its sources give, those of the most authoritative source first.
	Shapes []ShapesRef `json:"shapes,omitzero"`
	// Exposure is who lives where it is, as counted last; nil: not yet. It may be that of earlier areas: see Exposed. Nobody alters it.
	Exposure *Exposure `json:"exposure,omitzero"`

	// Pinned: an editor wants it before all others where hazards are ordered by importance.
	Pinned bool `json:"pinned,omitzero"`

	Source string `json:"source,omitzero"` // name of the source that reported it first; empty for an editor's
	// Sources are the names of all sources that an event of the hazard is from, sorted; nil if that is Source alone.
	Sources []string `json:"sources,omitzero"`
	// Reason says why the hazard ended, Successor which hazard took its place, if one did.
	Reason    EndReason `json:"reason,omitzero"`
	Successor uuid.UUID `json:"successor,omitzero"`
	Note      string    `json:"note,omitzero"` // why an editor retracted it, in words
	// Edited names the fields (base-interface names, sorted) that an editor has set: a source no longer overwrites them.
	Edited   []string    `json:"edited,omitzero"`
	Redacted []Redaction `json:"redacted,omitzero"` // what was removed from this state for good, oldest first
	// Undoes is the number of the change that the change to this state took back; 0: none. The store sets it.
	Undoes int64 `json:"undoes,omitzero"`
	// Version is the number of the change that made this state. It is what If-Match compares.
	Version int64 `json:"-"`
}

// AreaRole says what an area means.
type AreaRole string

// The roles of an area.
const (
	AlertArea  AreaRole = "alert"  // who should be told
	ImpactArea AreaRole = "impact" // where damage is or will be
	TrackArea  AreaRole = "track"  // where it went or will go
	PointArea  AreaRole = "point"  // only the hazard's point is known
)

// ShownRoles are the roles of areas, what is shown before what is not.
func ShownRoles() []AreaRole { return []AreaRole{AlertArea, ImpactArea, TrackArea, PointArea} }

// ShownRole is the role of the areas that stand for where the hazard is; PointArea if it has none.
func (h *Hazard) ShownRole() AreaRole {
	for _, role := range ShownRoles() {
		if slices.ContainsFunc(h.Areas, func(a AreaRef) bool { return a.Role == role }) {
			return role
		}
	}
	return PointArea
}

// Area is a geometry of a hazard: the text of a GeoJSON geometry.
type Area struct {
	Role     AreaRole `json:"role"`
	Geometry string   `json:"geometry"`
}

// AreaRef names a kept geometry by the SHA-256 of its text, in hexadecimal. States of a hazard share geometries.
type AreaRef struct {
	Role   AreaRole `json:"role"`
	Digest string   `json:"digest"`
}

// ActiveAt tells whether the hazard is shown as active at now: status A, and not past its end if it expires by itself.
// The end itself is past: a hazard leaves every active list at its end_Date (decisions, "expiry").
func (h *Hazard) ActiveAt(now Instant) bool {
	return h.Status == Active && !(h.AutoExpire && h.End <= now)
}

// ExpireAt is the hazard as readers see it at now: when its end has come and the change to E is not yet in the log, it
// reads as the change will be. It returns h itself when there is nothing to do.
func (h *Hazard) ExpireAt(now Instant) *Hazard {
	if h.Status != Active || h.ActiveAt(now) {
		return h
	}
	over := *h
	over.Status, over.Reason, over.LastUpdate = Expired, EndExpired, h.End
	return &over
}

// Compare orders hazards as lists do: most severe first, then last updated first, then by number.
func Compare(a, b *Hazard) int {
	return cmp.Or(
		cmp.Compare(b.Severity, a.Severity),
		cmp.Compare(b.LastUpdate, a.LastUpdate),
		cmp.Compare(a.ID, b.ID),
	)
}

// MarkEdited notes that an editor has set the named field.
func (h *Hazard) MarkEdited(field string) {
	if i, found := slices.BinarySearch(h.Edited, field); !found {
		h.Edited = slices.Insert(slices.Clone(h.Edited), i, field)
	}
}

// EditedField tells whether an editor has set the named field.
func (h *Hazard) EditedField(field string) bool {
	_, found := slices.BinarySearch(h.Edited, field)
	return found
}

// Equal tells whether both states say the same to a reader; when they were written, and by whom, does not count.
func (h *Hazard) Equal(o *Hazard) bool {
	return equalScalars(h, o) && slices.Equal(h.Areas, o.Areas) && slices.Equal(h.Edited, o.Edited) && slices.Equal(h.Sources, o.Sources) &&
		slices.Equal(h.Measurements, o.Measurements) && slices.EqualFunc(h.Shapes, o.Shapes, ShapesRef.same) && EqualTexts(h.Texts, o.Texts) && h.Exposure.Equal(o.Exposure)
}

func equalScalars(a, b *Hazard) bool {
	return a.ID == b.ID && a.UUID == b.UUID && a.Name == b.Name && a.Description == b.Description && a.Type == b.Type &&
		a.Severity == b.Severity && a.Category == b.Category && a.Status == b.Status && a.AutoExpire == b.AutoExpire &&
		a.Start == b.Start && a.End == b.End && a.Created == b.Created && a.Creator == b.Creator &&
		a.Longitude == b.Longitude && a.Latitude == b.Latitude && a.OrgID == b.OrgID && a.AppID == b.AppID &&
		a.URL == b.URL && a.Comment == b.Comment && a.Source == b.Source && a.Reason == b.Reason && a.Successor == b.Successor && a.Note == b.Note && a.Pinned == b.Pinned
}
