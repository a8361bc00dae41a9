package hazard

import (
	"errors"
	"fmt"
	"slices"

	"github.com/google/uuid"
)

// NoOrg is the org_ID of things that no organization owns: reports of sources, and hazards of
// editors without an organization.
const NoOrg = -1

// Actor is who makes a change: a user, a source, or the service itself (the zero Actor).
type Actor struct {
	User   string  // empty for no user, and for the operator on the console
	Admin  bool    // may do everything; also true for the operator
	Orgs   []int64 // organizations of the user
	Source string  // empty for no source
}

// Owns reports whether a user may write the things of organization org: an admin those of all
// organizations, an editor those of the user's own organizations and of none (interface, section
// 4). The caller has already checked that the user is an editor.
func (a Actor) Owns(org int64) bool {
	return a.Admin || a.User != "" && (org == NoOrg || slices.Contains(a.Orgs, org))
}

func (a Actor) person() bool { return a.User != "" || a.Admin }

// LawError reports a forbidden change of a hazard. It is forbidden for everybody.
type LawError struct {
	Kind   error // ErrConflict or ErrForbidden
	Detail string
}

func (e *LawError) Error() string { return e.Kind.Error() + ": " + e.Detail }

// Unwrap returns the kind.
func (e *LawError) Unwrap() error { return e.Kind }

func unlawful(kind error, format string, args ...any) error {
	return &LawError{kind, fmt.Sprintf(format, args...)}
}

// Drill reports whether the hazard is not real.
func (h *Hazard) Drill() bool { return h.Category == Exercise }

// Reality returns "real" or "a drill", for errors.
func (h *Hazard) Reality() string {
	if h.Drill() {
		return "a drill"
	}
	return "real"
}

// MayAbsorb returns an error if hazard other must not be merged into h at now. Both must be real or
// both drills. h must be active, so that a merge never hides a danger.
func (h *Hazard) MayAbsorb(other *Hazard, now Instant) error {
	switch {
	case h.ID == other.ID:
		return unlawful(ErrConflict, "a hazard cannot be merged into itself")
	case h.Drill() != other.Drill():
		return unlawful(ErrConflict, "hazard %d is %s, hazard %d is %s: real hazards and drills never become one", other.ID, other.Reality(), h.ID, h.Reality())
	case !h.ActiveAt(now):
		return unlawful(ErrConflict, "hazard %d has ended, so nothing can become part of it; undo its end first, or merge it into the active one", h.ID)
	}
	return nil
}

// Lawful returns an error if a hazard must not go from the state before to the state after. before
// is nil for a new hazard. successor is the present state of the successor that after names, or
// nil. Every write is checked here, so the rules hold for all writers and programs:
//
//   - a user changes only what the user owns;
//   - a real hazard stays real and a drill stays a drill, also in its successor;
//   - EVENT becomes RESPONSE; back only where sources decide it;
//   - what an editor made is ended before its end_Date, and reopened, by its owner or an admin only; what sources report, by
//     sources too;
//   - what absorbs a hazard is active;
//   - end_Date is not before start_Date.
func Lawful(before, after, successor *Hazard, by Actor, now Instant) error {
	if (before == nil || before.Start != after.Start || before.End != after.End) && after.End < after.Start {
		return unlawful(ErrConflict, "end_Date %s would be before start_Date %s", after.End, after.Start)
	}
	if successor != nil && (before == nil || before.Successor != after.Successor || before.Reason != after.Reason) {
		if successor.Drill() != after.Drill() {
			return unlawful(ErrConflict, "hazard %d is %s, its successor %d is %s", after.ID, after.Reality(), successor.ID, successor.Reality())
		}
		if after.Reason == EndMerged {
			if err := successor.MayAbsorb(after, now); err != nil {
				return err
			}
		}
	}
	if before == nil {
		return nil
	}
	if after.Reason == EndMerged && after.Successor == uuid.Nil && before.Reason != EndMerged {
		return unlawful(ErrConflict, "hazard %d would be merged into nothing", after.ID)
	}
	return errors.Join(lawfulCategory(before, after), lawfulStatus(before, after, by, now))
}

func lawfulCategory(before, after *Hazard) error {
	switch {
	case before.Category == after.Category:
	case before.Drill() != after.Drill():
		return unlawful(ErrConflict, "hazard %d is %s and stays so: its category_ID cannot change from %s to %s", after.ID, before.Reality(), before.Category, after.Category)
	case before.Category == Response && (before.Source == "" || before.EditedField("category_ID") || after.EditedField("category_ID")):
		return unlawful(ErrConflict, "category_ID can only change from EVENT to RESPONSE, not from %s to %s", before.Category, after.Category)
	}
	return nil
}

func lawfulStatus(before, after *Hazard, by Actor, now Instant) error {
	ends, reopens := before.Status == Active && after.Status == Expired, before.Status == Expired && after.Status == Active
	switch {
	case by.person() && !by.Owns(before.OrgID):
		return unlawful(ErrForbidden, "hazard %d belongs to an organization that %s is not a member of", after.ID, by.User)
	case by.person():
	case before.Source == "" && reopens:
		return unlawful(ErrConflict, "hazard %d was made by an editor: only its owner or an admin can reopen it", after.ID)
	case before.Source == "" && ends && before.ActiveAt(now):
		return unlawful(ErrConflict, "hazard %d was made by an editor and is not past its end_Date: only its owner or an admin can end it", after.ID)
	}
	return nil
}
