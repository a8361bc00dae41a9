package hazard

import (
	"cmp"
	"slices"

	"github.com/google/uuid"
)

// Status says whether a hazard is active or over (base interface, section 3).
type Status string

// The values of Status.
const (
	Active  Status = "A"
	Expired Status = "E"
)

// EndReason says why a hazard ended. It stands beside the base record, never inside it.
type EndReason string

// The reasons.
const (
	EndExpired    EndReason = "expired"    // its end_Date has passed
	EndCancelled  EndReason = "cancelled"  // the source canceled it before its end
	EndAllClear   EndReason = "all-clear"  // the source or an editor declared it over
	EndSuperseded EndReason = "superseded" // another hazard replaced it (an upgraded warning)
	EndWithdrawn  EndReason = "withdrawn"  // the source deleted the event or no longer lists it
	EndRetracted  EndReason = "retracted"  // an editor retracted a false hazard
	EndMerged     EndReason = "merged"     // it was merged into another hazard
)

// Hazard is the state of one hazard after one change. It has the fields of the base interface,
// section 2.6, under Go names, and additional ones outside the base record.
type Hazard struct {
	ID          int64     `json:"id"` // hazard_ID, assigned by this installation
	UUID        uuid.UUID `json:"uuid"`
	Name        string    `json:"name"`
	Description string    `json:"description,omitzero"`
	Type        Type      `json:"type"`
	Severity    Severity  `json:"severity"`
	Category    Category  `json:"category"`
	Status      Status    `json:"status"`
	// AutoExpire makes the hazard end by itself at End. Without it, End is only an expectation.
	AutoExpire bool    `json:"autoexpire"`
	Start      Instant `json:"start"`
	End        Instant `json:"end"`
	Created    Instant `json:"created"`     // create_Date
	LastUpdate Instant `json:"last_update"` // last_Update; changes at expiry too
	Updated    Instant `json:"updated"`     // update_Date; does not change at expiry
	UpdateUser string  `json:"update_user,omitzero"`
	Creator    string  `json:"creator,omitzero"`
	Longitude  float64 `json:"lon"` // degrees east, WGS84
	Latitude   float64 `json:"lat"` // degrees north, WGS84
	OrgID      int64   `json:"org"` // -1 for a source's hazard
	AppID      int64   `json:"app"` // 0 for a source's hazard
	// Instruction is what to do, in the words of an editor, or of a source that has no Texts.
	Instruction string `json:"instruction,omitzero"`
	// EndGiven means that a source or an editor said End. Otherwise it is only when the service takes
	// the hazard down, or when a message runs out: nobody knows when the hazard is over.
	EndGiven bool   `json:"end_given,omitzero"`
	URL      string `json:"url,omitzero"` // the source's own page; if empty, the service's page of the hazard
	Comment  string `json:"comment,omitzero"`

	// Texts are the authorities' texts in each of their languages, the main text of each language
	// first. There are at most MaxTexts of together MaxTextBytes. They are immutable.
	Texts []Text `json:"texts,omitzero"`
	// Spoken holds the text from which In has set Name and Description; nil means that both are as
	// stored.
	Spoken *Spoken `json:"-"`

	Areas []AreaRef `json:"areas,omitzero"`
	// Placed says how well the place is known. Empty means that the areas tell: see Place, which
	// readers use.
	Placed PlaceKind `json:"place_kind,omitzero"`
	// PlaceKnownAs names the region or the countries, in English, if Somewhere.
	PlaceKnownAs string `json:"place_known_as,omitzero"`
	// StandIns are where the hazard possibly is, if Somewhere. They are not its area: nobody is
	// counted in them, and nothing in them is filled.
	StandIns []AreaRef `json:"stand_ins,omitzero"`
	// Measurements holds each quantity once, from the most authoritative source that reports it, in
	// order of names.
	Measurements []Measurement `json:"measurements,omitzero"`
	// Shapes are the cones, tracks, contours and the like from its sources, the most authoritative
	// source first.
	Shapes []ShapesRef `json:"shapes,omitzero"`
	// Exposure is the last count of people in the area; nil means not counted yet. It may belong to
	// earlier areas; see Exposed. It is immutable.
	Exposure *Exposure `json:"exposure,omitzero"`

	// Pinned means that an editor wants the hazard first in the order of importance.
	Pinned bool `json:"pinned,omitzero"`

	Source string `json:"source,omitzero"` // name of the source that reported it first; empty for an editor's hazard
	// Sources are the names of all sources that report an event of the hazard, sorted; nil if
	// Source is the only one.
	Sources []string `json:"sources,omitzero"`
	// Reason says why the hazard ended. Successor is the hazard that replaced it, if any.
	Reason    EndReason `json:"reason,omitzero"`
	Successor uuid.UUID `json:"successor,omitzero"`
	Note      string    `json:"note,omitzero"` // an editor's reason for a retraction
	// Edited lists the fields that an editor has set, by their names in the base interface, sorted.
	// Sources no longer overwrite them.
	Edited   []string    `json:"edited,omitzero"`
	Redacted []Redaction `json:"redacted,omitzero"` // what was permanently removed from this state, oldest first
	// Undoes is the number of the change that this change undid, or 0. The store sets it.
	Undoes int64 `json:"undoes,omitzero"`
	// Version is the number of the change that created this state. If-Match compares it.
	Version int64 `json:"-"`
}

// AreaRole says what an area means.
type AreaRole string

// The roles of an area.
const (
	AlertArea  AreaRole = "alert"  // where people should be alerted
	ImpactArea AreaRole = "impact" // where damage occurs or is expected
	TrackArea  AreaRole = "track"  // the past or expected path
	PointArea  AreaRole = "point"  // only the hazard's point is known
)

// ShownRoles returns the roles of areas in order: the first role that a hazard has is the one
// shown.
func ShownRoles() []AreaRole { return []AreaRole{AlertArea, ImpactArea, TrackArea, PointArea} }

// ShownRole returns the role of the areas that are shown as the hazard's place; PointArea if it has
// no area.
func (h *Hazard) ShownRole() AreaRole {
	for _, role := range ShownRoles() {
		if slices.ContainsFunc(h.Areas, func(a AreaRef) bool { return a.Role == role }) {
			return role
		}
	}
	return PointArea
}

// Area is a geometry of a hazard, as the text of a GeoJSON geometry.
type Area struct {
	Role     AreaRole `json:"role"`
	Geometry string   `json:"geometry"`
}

// AreaRef refers to a stored geometry by the hexadecimal SHA-256 of its text. States of a hazard
// share geometries.
type AreaRef struct {
	Role   AreaRole `json:"role"`
	Digest string   `json:"digest"`
}

// ActiveAt reports whether the hazard is active at now: its status is A, and its end has not come
// if it expires by itself. At end_Date itself the hazard is no longer active (decisions, "expiry").
func (h *Hazard) ActiveAt(now Instant) bool {
	return h.Status == Active && !(h.AutoExpire && h.End <= now)
}

// ExpireAt returns the hazard as readers see it at now. If its end has come but is not recorded in
// the log yet, the result is what will be recorded. Otherwise it returns h itself.
func (h *Hazard) ExpireAt(now Instant) *Hazard {
	if h.Status != Active || h.ActiveAt(now) {
		return h
	}
	over := *h
	over.Status, over.Reason, over.LastUpdate = Expired, EndExpired, h.End
	return &over
}

// Compare orders hazards as lists do: most severe first, then last updated first, then by id.
func Compare(a, b *Hazard) int {
	return cmp.Or(
		cmp.Compare(b.Severity, a.Severity),
		cmp.Compare(b.LastUpdate, a.LastUpdate),
		cmp.Compare(a.ID, b.ID),
	)
}

// MarkEdited records that an editor has set the named field.
func (h *Hazard) MarkEdited(field string) {
	if i, found := slices.BinarySearch(h.Edited, field); !found {
		h.Edited = slices.Insert(slices.Clone(h.Edited), i, field)
	}
}

// EditedField reports whether an editor has set the named field.
func (h *Hazard) EditedField(field string) bool {
	_, found := slices.BinarySearch(h.Edited, field)
	return found
}

// Equal reports whether two states have the same content for a reader. It ignores when and by whom
// they were written.
func (h *Hazard) Equal(o *Hazard) bool {
	return equalScalars(h, o) && slices.Equal(h.Areas, o.Areas) && equalPlace(h, o) && slices.Equal(h.Edited, o.Edited) && slices.Equal(h.Sources, o.Sources) &&
		slices.Equal(h.Measurements, o.Measurements) && slices.EqualFunc(h.Shapes, o.Shapes, ShapesRef.same) && EqualTexts(h.Texts, o.Texts) && h.Exposure.Equal(o.Exposure)
}

func equalScalars(a, b *Hazard) bool {
	return a.ID == b.ID && a.UUID == b.UUID && a.Name == b.Name && a.Description == b.Description && a.Type == b.Type &&
		a.Severity == b.Severity && a.Category == b.Category && a.Status == b.Status && a.AutoExpire == b.AutoExpire &&
		a.Start == b.Start && a.End == b.End && a.Created == b.Created && a.Creator == b.Creator &&
		a.Longitude == b.Longitude && a.Latitude == b.Latitude && a.OrgID == b.OrgID && a.AppID == b.AppID &&
		a.URL == b.URL && a.Comment == b.Comment && a.Source == b.Source && a.Reason == b.Reason && a.Successor == b.Successor && a.Note == b.Note && a.Pinned == b.Pinned &&
		a.Instruction == b.Instruction && a.EndGiven == b.EndGiven
}
