package edit_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/hazardd/hazardd/internal/auth"
	"github.com/hazardd/hazardd/internal/edit"
	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/store"
)

var second = edit.Author{Caller: auth.Caller{Name: "second", Role: auth.Editor, Orgs: []int64{org}}}

// draftOf returns the draft that an error names.
func draftOf(t *testing.T, err error) uuid.UUID {
	t.Helper()
	d, ok := errors.AsType[*edit.DraftedError](err)
	if !ok {
		t.Fatalf("no draft: %v", err)
	}
	return d.Draft.ID
}

func twoPeople(e *edit.Editor, two edit.TwoPeople) {
	if two.Reach == nil {
		two.Reach = func(context.Context, *hazard.Hazard, []hazard.Area) (edit.Reach, error) { return edit.Reach{}, nil }
	}
	two.Standing = func(string) (auth.Role, []int64, bool) { return auth.Editor, []int64{org}, true }
	e.Two = &two
}

// A draft approved after the end of its hazard is never published.
func TestDraftsLapse(t *testing.T) {
	for name, tt := range map[string]struct {
		body  string
		lives time.Duration
	}{
		"with its hazard": {`{"hazard_Name":"F","type_ID":"FLOOD","severity_ID":"WARNING","latitude":10,"longitude":20,"autoexpire":"Y","end_Date":"` + now.Add(time.Hour).Digits() + `"}`, time.Hour},
		"after a day":     {`{"hazard_Name":"F","type_ID":"FLOOD","severity_ID":"WARNING","latitude":10,"longitude":20}`, edit.DraftLife},
	} {
		t.Run(name, func(t *testing.T) {
			e, s := newEditor(t)
			twoPeople(e, edit.TwoPeople{Warnings: true})
			_, err := e.CreateHazard(t.Context(), editor, nil, []byte(tt.body), now)
			id := draftOf(t, err)
			if list, err := e.Drafts(t.Context(), second, true, store.DraftPlace{}, 10, now.Add(tt.lives-1)); err != nil || len(list) != 1 {
				t.Errorf("before its end: %v %v", list, err)
			}
			if list, err := e.Drafts(t.Context(), second, true, store.DraftPlace{}, 10, now.Add(tt.lives)); err != nil || len(list) != 0 {
				t.Errorf("after its end: %v %v", list, err)
			}
			if _, err := e.Approve(t.Context(), second, id, now.Add(tt.lives)); !errors.Is(err, hazard.ErrConflict) {
				t.Errorf("approved after its end: %v", err)
			}
			if last, err := s.Log.Last(t.Context()); err != nil || last != 0 {
				t.Errorf("something was written: %d %v", last, err)
			}
			if _, err := e.Refuse(t.Context(), second, id, []byte(`{"reason":"r"}`), now.Add(tt.lives)); !errors.Is(err, hazard.ErrConflict) {
				t.Errorf("refused after its end: %v", err)
			}
			// No draft is kept forever.
			if err := s.Drafts.Purge(t.Context(), now+1); err != nil {
				t.Fatal(err)
			}
			if _, err := s.Drafts.Get(t.Context(), id); !errors.Is(err, hazard.ErrNotFound) {
				t.Errorf("%v", err)
			}
		})
	}
}

// A request repeated after its draft has lapsed creates a new draft.
func TestALapsedDraftBeginsAnew(t *testing.T) {
	e, _ := newEditor(t)
	h := made(t, e, smallest)
	twoPeople(e, edit.TwoPeople{Warnings: true})
	patch := func(at hazard.Instant) uuid.UUID {
		_, err := e.PatchHazard(t.Context(), editor, edit.Ref{ID: h.ID}, nil, []byte(`{"severity_ID":"WARNING","end_Date":"`+now.Add(72*time.Hour).Digits()+`"}`), at)
		return draftOf(t, err)
	}
	later := now.Add(edit.DraftLife)
	if one, two := patch(now), patch(later); one != two {
		t.Errorf("%s, then %s", one, two)
	} else if done, err := e.Approve(t.Context(), second, one, later.Add(time.Hour)); err != nil || done.State.Severity != hazard.Warning || done.State.Creator != "editor" {
		t.Errorf("%+v %v", done.State, err)
	}
}

// The number of people must belong to the state that is written, not to an earlier one.
func TestReachIsCountedOfWhatIsWritten(t *testing.T) {
	e, _ := newEditor(t)
	h := made(t, e, smallest)
	counted := 0
	people := int64(10)
	twoPeople(e, edit.TwoPeople{People: 1000, Reach: func(ctx context.Context, h *hazard.Hazard, _ []hazard.Area) (edit.Reach, error) {
		if counted++; counted == 1 { // meanwhile another user changes it
			also := *e
			also.Two = nil
			if _, err := also.PatchHazard(ctx, editor, edit.Ref{ID: h.ID}, nil, []byte(`{"latitude":50}`), now); err != nil {
				return edit.Reach{}, err
			}
			return edit.Reach{People: &people}, nil
		}
		many := int64(5000)
		return edit.Reach{People: &many}, nil
	}})
	_, err := e.PatchHazard(t.Context(), editor, edit.Ref{ID: h.ID}, nil, []byte(`{"severity_ID":"WARNING"}`), now)
	draftOf(t, err)
	if counted != 2 {
		t.Errorf("counted %d times", counted)
	}
}

// The number of waiting drafts per author is limited.
func TestDraftsOfAnAuthorAreBounded(t *testing.T) {
	e, _ := newEditor(t)
	twoPeople(e, edit.TwoPeople{Warnings: true})
	body := []byte(`{"hazard_Name":"F","type_ID":"FLOOD","severity_ID":"WARNING","latitude":10,"longitude":20}`)
	for range 100 {
		_, err := e.CreateHazard(t.Context(), editor, nil, body, now)
		draftOf(t, err)
	}
	if _, err := e.CreateHazard(t.Context(), editor, nil, body, now); !errors.Is(err, hazard.ErrConflict) {
		t.Errorf("%v", err)
	}
	_, err := e.CreateHazard(t.Context(), second, nil, body, now)
	draftOf(t, err)
}

// Whom a draft reaches is counted again when it is approved: if that is more than the second person saw,
// they are asked once more.
func TestAGrownReachIsAskedAboutAgain(t *testing.T) {
	few, many := int64(1000), int64(5000)
	for name, tt := range map[string]struct {
		then edit.Reach
		grew bool
	}{
		"as before":              {edit.Reach{People: &few, Subscribers: 40}, false},
		"fewer":                  {edit.Reach{People: new(int64(10))}, false},
		"more people":            {edit.Reach{People: &many, Subscribers: 40}, true},
		"unknown":                {edit.Reach{Subscribers: 40}, true},
		"a few more subscribers": {edit.Reach{People: &few, Subscribers: 50}, false},
		"many more subscribers":  {edit.Reach{People: &few, Subscribers: 51}, true},
	} {
		t.Run(name, func(t *testing.T) {
			e, s := newEditor(t)
			reach := edit.Reach{People: &few, Subscribers: 40}
			twoPeople(e, edit.TwoPeople{Warnings: true, Reach: func(context.Context, *hazard.Hazard, []hazard.Area) (edit.Reach, error) { return reach, nil }})
			_, err := e.CreateHazard(t.Context(), editor, nil, []byte(`{"hazard_Name":"F","type_ID":"FLOOD","severity_ID":"WARNING","latitude":10,"longitude":20}`), now)
			id := draftOf(t, err)
			reach = tt.then
			_, err = e.Approve(t.Context(), second, id, now)
			if tt.grew {
				if !errors.Is(err, hazard.ErrConflict) || !strings.Contains(err.Error(), "more than was shown") {
					t.Fatalf("approved what grew: %v", err)
				}
				if last, err := s.Log.Last(t.Context()); err != nil || last != 0 {
					t.Errorf("something was written: %d %v", last, err)
				}
				if d, err := e.Draft(t.Context(), second, id); err != nil || !strings.Contains(string(d.Shown), fmt.Sprintf(`"subscribers":%d`, tt.then.Subscribers)) {
					t.Errorf("the draft shows %s %v", d.Shown, err)
				}
				_, err = e.Approve(t.Context(), second, id, now)
			}
			if err != nil {
				t.Error(err)
			}
		})
	}
}
