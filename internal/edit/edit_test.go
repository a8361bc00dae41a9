package edit_test

import (
	"errors"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/hazardd/hazardd/internal/auth"
	"github.com/hazardd/hazardd/internal/edit"
	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/ingest/fuse"
	"github.com/hazardd/hazardd/internal/store"
	"github.com/hazardd/hazardd/internal/test/datadir"
	"github.com/hazardd/hazardd/internal/test/postgres"
	"github.com/hazardd/hazardd/wire"
)

const org = 1

var (
	editor = edit.Author{Caller: auth.Caller{Name: "editor", Role: auth.Editor, Orgs: []int64{org}}}
	other  = edit.Author{Caller: auth.Caller{Name: "other", Role: auth.Editor, Orgs: []int64{2}}}
	admin  = edit.Author{Caller: auth.Caller{Name: "admin", Role: auth.Admin}}
	reader = edit.Author{Caller: auth.Caller{Name: "reader", Role: auth.Reader, Orgs: []int64{org}}}
)

// now is the time of every write in these tests.
var now = hazard.At(time.Date(2026, 11, 21, 6, 0, 0, 0, time.UTC))

// versions is a condition on the number of the change that made a state.
type versions []int64

func (v versions) Hazard(h *hazard.Hazard, _ int) bool { return slices.Contains(v, h.Version) }
func (v versions) Product(p *hazard.Product) bool      { return slices.Contains(v, p.Version) }

const smallest = `{"hazard_Name":"Flood","type_ID":"FLOOD","severity_ID":"WATCH","latitude":10,"longitude":20}`

func newEditor(t testing.TB) (*edit.Editor, *store.Store) {
	t.Helper()
	s, err := store.Open(t.Context(), datadir.Empty(t), postgres.Database(t, t.TempDir(), "sqlite:?synchronous=off"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return edit.New(s, fuse.New(s, fuse.Known{}), 1, func(id int64) bool { return id == 1 || id == 2 }), s
}

func made(t testing.TB, e *edit.Editor, body string) *hazard.Hazard {
	t.Helper()
	done, err := e.CreateHazard(t.Context(), editor, nil, []byte(body), now)
	if err != nil {
		t.Fatal(err)
	}
	return done.State
}

func TestRefusedWriteChangesNothing(t *testing.T) {
	e, s := newEditor(t)
	h := made(t, e, smallest)
	folder, err := e.CreateProduct(t.Context(), editor, edit.Ref{ID: h.ID}, nil, []byte(`{"title":"F","product_Type":"FOLDER_PRODUCT"}`), nil, now)
	if err != nil {
		t.Fatal(err)
	}
	text, err := e.CreateProduct(t.Context(), editor, edit.Ref{UUID: h.UUID}, nil, []byte(`{"title":"T","product_Type":"TEXT_PRODUCT","data":"d","parent_ID":1}`), nil, now)
	if err != nil {
		t.Fatal(err)
	}
	before, err := s.Log.Last(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	hazardRef, folderRef, textRef := edit.Ref{ID: h.ID}, edit.Ref{ID: folder.State.ID}, edit.Ref{ID: text.State.ID}
	create := func(who edit.Author, body string) func() error {
		return func() error { _, err := e.CreateHazard(t.Context(), who, nil, []byte(body), now); return err }
	}
	patch := func(who edit.Author, match edit.Match, body string) func() error {
		return func() error {
			_, err := e.PatchHazard(t.Context(), who, hazardRef, match, []byte(body), now)
			return err
		}
	}
	invalid := new(hazard.InvalidError)
	for name, tt := range map[string]struct {
		write func() error
		want  error
	}{
		"a reader makes a hazard":                  {create(reader, smallest), hazard.ErrForbidden},
		"a reader alters a hazard":                 {patch(reader, nil, `{"hazard_Name":"x"}`), hazard.ErrForbidden},
		"a reader with an invalid body":            {create(reader, `{`), hazard.ErrForbidden},
		"an editor of another organization alters": {patch(other, nil, `{"hazard_Name":"x"}`), hazard.ErrForbidden},
		"an editor of another alters what is past": {patch(other, versions{99}, `{"hazard_Name":"x"}`), hazard.ErrForbidden},
		"an editor alters what is past":            {patch(editor, versions{99}, `{"hazard_Name":"x"}`), hazard.ErrStale},
		"an editor alters what he has not read":    {patch(editor, versions{}, `{"hazard_Name":"x"}`), hazard.ErrStale},
		"an editor makes a mistake":                {patch(editor, nil, `{"hazard_Name":""}`), invalid},
		"an editor retracts without a reason":      {func() error { _, err := e.Retract(t.Context(), editor, hazardRef, nil, []byte(`{}`), now); return err }, invalid},
		"another retracts": {func() error {
			_, err := e.Retract(t.Context(), other, hazardRef, nil, []byte(`{"reason":"r"}`), now)
			return err
		}, hazard.ErrForbidden},
		"a hazard that is none is altered": {func() error {
			_, err := e.PatchHazard(t.Context(), admin, edit.Ref{ID: 99}, nil, []byte(`{}`), now)
			return err
		}, hazard.ErrNotFound},
		"a product of a hazard that is none": {func() error {
			_, err := e.CreateProduct(t.Context(), admin, edit.Ref{ID: 99}, nil, []byte(`{}`), nil, now)
			return err
		}, hazard.ErrNotFound},
		"a reader makes a product": {func() error {
			_, err := e.CreateProduct(t.Context(), reader, hazardRef, nil, []byte(`{}`), nil, now)
			return err
		}, hazard.ErrForbidden},
		"another alters a product": {func() error {
			_, err := e.PatchProduct(t.Context(), other, textRef, nil, []byte(`{}`), now)
			return err
		}, hazard.ErrForbidden},
		"another deletes a product":             {func() error { _, err := e.DeleteProduct(t.Context(), other, textRef, nil, now); return err }, hazard.ErrForbidden},
		"a folder that is not empty is deleted": {func() error { _, err := e.DeleteProduct(t.Context(), admin, folderRef, nil, now); return err }, hazard.ErrConflict},
		"a product that is past is deleted":     {func() error { _, err := e.DeleteProduct(t.Context(), editor, textRef, versions{1}, now); return err }, hazard.ErrStale},
	} {
		t.Run(name, func(t *testing.T) {
			err := tt.write()
			if _, bad := errors.AsType[*hazard.InvalidError](err); bad != (tt.want == invalid) || tt.want != invalid && !errors.Is(err, tt.want) {
				t.Errorf("got %v, want %v", err, tt.want)
			}
			if after, err := s.Log.Last(t.Context()); err != nil || after != before {
				t.Errorf("the log went from %d to %d: %v", before, after, err)
			}
		})
	}
}

func TestEditorEndsAHazard(t *testing.T) {
	const later = 1_000 * 3600 // in milliseconds
	for name, tt := range map[string]struct {
		first, patch string
		at           hazard.Instant
		want         hazard.Hazard
	}{
		"by its status": {smallest, `{"status":"E"}`, now + later,
			hazard.Hazard{Status: hazard.Expired, Reason: hazard.EndAllClear, End: now + later, Severity: hazard.Watch}},
		"before it has begun": {`{"start_Date":"` + (now + 2*later).Digits() + `",` + smallest[1:], `{"status":"E"}`, now + later,
			hazard.Hazard{Status: hazard.Expired, Reason: hazard.EndAllClear, End: now + 2*later, Severity: hazard.Watch}},
		"by an end that is past": {smallest, `{"autoexpire":"Y","end_Date":"` + now.Digits() + `"}`, now + later,
			hazard.Hazard{Status: hazard.Expired, Reason: hazard.EndExpired, End: now, Severity: hazard.Watch}},
		"by an end that is now": {smallest, `{"autoexpire":"Y","end_Date":"` + (now + later).Digits() + `"}`, now + later,
			hazard.Hazard{Status: hazard.Expired, Reason: hazard.EndExpired, End: now + later, Severity: hazard.Watch}},
		"not by an end that is only expected": {smallest, `{"end_Date":"` + now.Digits() + `"}`, now + later,
			hazard.Hazard{Status: hazard.Active, End: now, Severity: hazard.Watch}},
		"not by an end to come": {smallest, `{"autoexpire":"Y","end_Date":"` + (now + later + 1).Digits() + `"}`, now + later,
			hazard.Hazard{Status: hazard.Active, End: now + later + 1, Severity: hazard.Watch}},
	} {
		t.Run(name, func(t *testing.T) {
			e, s := newEditor(t)
			h := made(t, e, tt.first)
			done, err := e.PatchHazard(t.Context(), editor, edit.Ref{ID: h.ID}, nil, []byte(tt.patch), tt.at)
			if err != nil {
				t.Fatal(err)
			}
			got, err := s.Hazards.Get(t.Context(), h.ID)
			if err != nil {
				t.Fatal(err)
			}
			if got.Status != tt.want.Status || got.Reason != tt.want.Reason || got.End != tt.want.End || got.Severity != tt.want.Severity {
				t.Errorf("%+v, want %+v", got, tt.want)
			}
			if got.LastUpdate != tt.at || got.Updated != tt.at || got.UpdateUser != "editor" || got.Version != done.Last {
				t.Errorf("written at %d by %q as %d; want %d, editor, %d", got.LastUpdate, got.UpdateUser, got.Version, tt.at, done.Last)
			}
		})
	}
}

func TestHazardOfASourceRemembersWhatAnEditorSet(t *testing.T) {
	e, s := newEditor(t)
	h := &hazard.Hazard{UUID: hazard.EventUUID("usgs", "us1"), Name: "Quake", Type: hazard.Earthquake, Severity: hazard.Watch, Category: hazard.Event, Status: hazard.Active, AutoExpire: true,
		Start: now, End: now + 1000, Created: now, OrgID: -1, Source: "usgs"}
	if _, err := s.Write(t.Context(), now, store.Origin{Source: "usgs"}, func(tx *store.Tx) error { return tx.SaveHazard(h, nil) }); err != nil {
		t.Fatal(err)
	}
	for _, step := range []struct {
		body string
		want []string
	}{
		{`{}`, nil},
		{`{"severity_ID":"WATCH","area":null,"status":"A"}`, nil}, // as before
		{`{"hazard_Name":"Set","latitude":1,"longitude":0}`, []string{"hazard_Name", "latitude"}},
		{`{"hazard_Name":"Set again"}`, []string{"hazard_Name", "latitude"}},
		{`{"hazard_Name":"Set again","area":{"type":"Point","coordinates":[1,1]}}`, []string{"area", "hazard_Name", "latitude"}},
	} {
		done, err := e.PatchHazard(t.Context(), editor, edit.Ref{ID: h.ID}, nil, []byte(step.body), now)
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(done.State.Edited, step.want) {
			t.Errorf("after %s: %v, want %v", step.body, done.State.Edited, step.want)
		}
	}
}

// wantValid checks that a hazard can be shown to every reader.
func wantValid(t *testing.T, h *hazard.Hazard) {
	t.Helper()
	_, knownType := h.Type.Info()
	_, knownCategory := h.Category.Info()
	switch {
	case h.Name == "" || h.Name != hazard.CleanLine(h.Name) || h.Description != hazard.Clean(h.Description) || h.Comment != hazard.Clean(h.Comment) || h.URL != hazard.CleanLine(h.URL):
		t.Errorf("texts: %q %q %q %q", h.Name, h.Description, h.Comment, h.URL)
	case !knownType || !knownCategory || h.Severity < hazard.Termination || h.Severity > hazard.Warning || h.Status != hazard.Active && h.Status != hazard.Expired:
		t.Errorf("words: %q %q %v %q", h.Type, h.Category, h.Severity, h.Status)
	case !(math.Abs(h.Latitude) <= 90 && math.Abs(h.Longitude) <= 180):
		t.Errorf("place: %v %v", h.Latitude, h.Longitude)
	case h.End < h.Start || h.Start < hazard.MinInstant || h.End > hazard.MaxInstant || h.Status == hazard.Active && !h.ActiveAt(now):
		t.Errorf("times: %s to %s, %s", h.Start, h.End, h.Status)
	case h.URL != "" && !strings.HasPrefix(strings.ToLower(h.URL), "http"):
		t.Errorf("link: %q", h.URL)
	}
	if _, err := json.Marshal(wire.FromHazard(h, 0, "")); err != nil {
		t.Error(err)
	}
}

func FuzzHazardBody(f *testing.F) {
	for _, seed := range []string{smallest, `{}`, `null`, `{"status":"E"}`, `{"status":"A","autoexpire":"Y","end_Date":"1"}`, `{"category_ID":"RESPONSE","severity_ID":"WARNING"}`, `{"hazard_Name":"\u202e\u0000a"}`,
		`{"area":{"type":"Polygon","coordinates":[[[0,0],[1,0],[1,1],[0,0]]]}}`, `{"area":null,"snc_url":null}`, `{"latitude":1e400}`, `{"latitude":-0,"longitude":-180}`, `{"start_Date":"-62135596800000","end_Date":"0"}`,
		`{"snc_url":"http://a b/\u0001"}`, `{"uuid":"0190a0b0-0000-7000-8000-000000000001","org_ID":1,` + smallest[1:], `{"a/b~":1,"x":{},"":[]}`, `{"hazard_Name":"a","hazard_Name":"b"}`, `{"description":"` + strings.Repeat("a\\n", 100) + `"}`,
		`{"title":"T","product_Type":"TEXT_PRODUCT","data":"d","parent_ID":0,"security_Flag":"R","geo_Locations":"POINT(1 2)","timeline_Date":"0"}`, `{"reason":"r"}`} {
		f.Add([]byte(seed))
	}
	e, s := newEditor(f)
	f.Fuzz(func(t *testing.T, body []byte) {
		h := made(t, e, smallest)
		ref := edit.Ref{ID: h.ID}
		if done, err := e.CreateHazard(t.Context(), editor, nil, body, now); kind(t, err) {
			wantValid(t, done.State)
		}
		if done, err := e.PatchHazard(t.Context(), editor, ref, nil, body, now); kind(t, err) {
			wantValid(t, done.State)
			stored, err := s.Hazards.Get(t.Context(), h.ID)
			if err != nil || !stored.Equal(done.State) {
				t.Errorf("the write returned %+v, a read returns %+v %v", done.State, stored, err)
			}
			if again, err := e.PatchHazard(t.Context(), editor, ref, nil, body, now); err != nil || again.Last != 0 {
				t.Errorf("the same patch again makes change %d, %v", again.Last, err)
			}
		} else if stored, err := s.Hazards.Get(t.Context(), h.ID); err != nil || stored.Version != h.Version {
			t.Errorf("a refused patch changed %+v: %v", stored, err)
		}
		if done, err := e.CreateProduct(t.Context(), editor, ref, nil, body, nil, now); kind(t, err) {
			p := done.State
			if _, err := json.Marshal(wire.FromProduct(p, "")); err != nil || p.Title == "" || p.Title != hazard.CleanLine(p.Title) || p.Data != hazard.Clean(p.Data) || !p.VisibleTo(editor.Orgs) || !p.Type.Known() {
				t.Errorf("%+v: %v", p, err)
			}
			if again, err := e.PatchProduct(t.Context(), editor, edit.Ref{ID: p.ID}, nil, []byte(`{}`), now); err != nil || again.Last != 0 {
				t.Errorf("an empty patch makes change %d, %v", again.Last, err)
			}
		}
		if _, err := e.Retract(t.Context(), editor, ref, nil, body, now); kind(t, err) {
			if stored, err := s.Hazards.Get(t.Context(), h.ID); err != nil || stored.Status != hazard.Expired || stored.Severity != hazard.Termination {
				t.Errorf("retracted it reads %+v: %v", stored, err)
			}
		}
	})
}

// kind reports whether there is no error. It fails the test on errors that are not meant for the
// writer.
func kind(t *testing.T, err error) bool {
	t.Helper()
	if err == nil {
		return true
	}
	invalid, ok := errors.AsType[*hazard.InvalidError](err)
	if !ok && !errors.Is(err, hazard.ErrConflict) {
		t.Fatalf("an error of no kind: %v", err)
	}
	if ok {
		if len(invalid.Faults) == 0 || len(invalid.Faults) > 200 {
			t.Errorf("%d faults", len(invalid.Faults))
		}
		for _, f := range invalid.Faults {
			if f.Detail == "" || f.Field != "" && f.Field[0] != '/' {
				t.Errorf("fault %+v", f)
			}
		}
	}
	return false
}
