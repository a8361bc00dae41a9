package model_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/uuid"

	program "github.com/hazardd/hazardd/internal/app"
	"github.com/hazardd/hazardd/internal/auth"
	"github.com/hazardd/hazardd/internal/edit"
	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/hazard/query"
	"github.com/hazardd/hazardd/internal/ingest/fuse"
	"github.com/hazardd/hazardd/internal/ingest/source"
	"github.com/hazardd/hazardd/internal/store"
	"github.com/hazardd/hazardd/internal/store/follow"
	"github.com/hazardd/hazardd/internal/store/view"
	"github.com/hazardd/hazardd/internal/test"
	"github.com/hazardd/hazardd/internal/test/model"
	"github.com/hazardd/hazardd/internal/test/postgres"
)

func TestMain(m *testing.M) { os.Exit(postgres.Main(m)) }

var (
	histories = flag.Int("histories", 0, "how many random histories are compared; 0: 30 if all tests run, otherwise a few")
	length    = flag.Int("steps", 50, "how many steps each of them has")
	first     = flag.Uint64("seed", 1, "the seed of the first of them")
	shortest  = flag.Bool("shrink", true, "look for the few steps that a difference needs")
)

// count returns the number of histories that a test compares, which is the given part of all.
func count(part uint64) uint64 {
	switch {
	case *histories > 0:
		return uint64(*histories) / part
	case test.All():
		return 30 / part
	}
	return 1
}

// sources are the facts about the sources in the histories.
var sources = model.Sources{
	Order:   known.Authority(),
	Places:  places,
	Point:   pointOf,
	Near:    near,
	Classes: []string{"Typhoon", "Super Typhoon", "Hurricane"},
}

var known = program.BuiltIn()

// service is the real service: store, intake, edit, and the readers of the log.
type service struct {
	t      testing.TB
	now    instant
	store  *store.Store
	intake *fuse.Intake
	edit   *edit.Editor
	live   *view.Live
	tail   *follow.Tail
	read   int64                        // number of the last change that a reader of the log has read
	last   instant                      // when that change was made
	seen   map[uuid.UUID]*hazard.Hazard // each hazard as the reader knows it
	areas  map[string]model.Area        // areas of hazards that were read
	labels map[string]string            // labels of shapes that were read, by digest
	uuids  map[int64]uuid.UUID          // uuids of hazards by number
	// products are the products known to readers of the log: to readers without an organization, of
	// the first, and of the second.
	products [3]map[uuid.UUID]*hazard.Product
	past     map[instant][]model.Product // products in the model at the moments of steps
	filtered []*filtered
	splits   map[*model.Split]int64 // numbers of the changes of the splits
}

var (
	readers = [3][]int64{nil, {1}, {2}}
	editors = [3]edit.Author{author("editor", nil), author("ann", readers[1]), author("bob", readers[2])}
)

func author(name string, orgs []int64) edit.Author {
	return edit.Author{Caller: auth.Caller{Name: name, Role: auth.Editor, Orgs: orgs}}
}

func newService(t testing.TB, dir, database string) *service {
	t.Helper()
	s, err := store.Open(context.Background(), dir, database)
	if err != nil {
		t.Fatal(err)
	}
	sv := &service{t: t, now: noon, store: s, intake: fuse.New(s, fuse.Known{Authority: known.Authority(), Schemes: known.Schemes()}),
		areas: map[string]model.Area{}, past: map[instant][]model.Product{}, seen: map[uuid.UUID]*hazard.Hazard{}, uuids: map[int64]uuid.UUID{},
		splits: map[*model.Split]int64{}, labels: map[string]string{}}
	for i := range sv.products {
		sv.products[i] = map[uuid.UUID]*hazard.Product{}
	}
	sv.edit = edit.New(s, sv.intake, 1, func(int64) bool { return true })
	quiet := slog.New(slog.NewTextHandler(io.Discard, nil))
	now := func() instant { return sv.now }
	if sv.live, err = view.Open(context.Background(), s.Log, quiet, now); err != nil {
		t.Fatal(err)
	}
	sv.tail = follow.New(s.Log, sv.live, now, follow.Memory, quiet)
	sv.filtered = sv.filteredReaders()
	return sv
}

func (sv *service) close() {
	if err := sv.store.Close(); err != nil {
		sv.t.Error(err)
	}
}

// do performs one step in the service and in the model. It returns how they differ.
func (sv *service) do(w *model.World, s step) error {
	ctx := context.Background()
	sv.now = s.At
	if next, any, err := sv.store.Hazards.NextMoment(ctx); err != nil {
		return err
	} else if any && next <= s.At {
		if err := sv.intake.PassUntil(ctx, s.At); err != nil {
			return err
		}
		w.Pass(s.At)
		if err := sv.compare(w); err != nil {
			return fmt.Errorf("after time has passed: %w", err)
		}
	}
	var h *model.Hazard
	var ref edit.Ref
	if len(w.Hazards) > 0 {
		h = w.Hazards[s.N%len(w.Hazards)]
		if several := slices.DeleteFunc(slices.Clone(w.Hazards), func(h *model.Hazard) bool { return len(w.Events(h)) < 2 }); s.Do == "split" && s.Of2 && len(several) > 0 {
			h = several[s.N%len(several)]
		}
		ref = edit.Ref{UUID: h.UUID}
	}
	editor := editors[s.Who]
	w.By = model.Person{Name: editor.Name, Orgs: editor.Orgs}
	var err error
	allowed := true
	switch s.Do {
	case "report":
		batch := source.Batch{Read: len(s.Reports), Reports: s.Reports}
		for _, d := range s.Drawings {
			drawing := source.Drawing{Key: d.Key, Part: d.Part, Version: d.Version}
			if d.Text != "" {
				drawing.Shapes = []hazard.Shape{{Role: hazard.PositionShape, From: noon, Label: d.Text, Geometry: `{"type":"Point","coordinates":[1,2]}`}}
			}
			batch.Drawings = append(batch.Drawings, drawing)
		}
		_, err = sv.intake.Apply(ctx, s.Reports[0].Source, batch, s.At, fuse.Options{})
		w.Report(s.Reports[0].Source, s.Reports, s.Drawings, s.At)
	case "withdraw":
		reason := hazard.EndWithdrawn
		if s.Of2 {
			reason = hazard.EndExpired
		}
		if _, err = sv.intake.Withdraw(ctx, s.Source, s.Key, nil, reason, s.At); errors.Is(err, hazard.ErrNotFound) {
			err = nil
		}
		w.Withdraw(model.Name{Source: s.Source, Key: s.Key}, reason, s.At)
	case "pass":
	case "release", "dismiss":
		if len(w.Held) == 0 {
			return nil
		}
		i, word := s.N%len(w.Held), s.Do+"d"
		if s.Do == "dismiss" {
			word = "dismissed"
		}
		_, err = sv.edit.Decide(ctx, editor, w.Held[i].Report.Source, int64(i+1), nil, text(map[string]any{"decision": word}), s.At)
		allowed = w.Decide(w.Held[i], word, s.At)
	case "create":
		id := uuid.NewSHA1(uuid.NameSpaceURL, fmt.Append(nil, s.At, len(w.Hazards)))
		given := body(s.Fields)
		given["uuid"] = id.String()
		_, err = sv.edit.CreateHazard(ctx, editor, nil, text(given), s.At)
		fields := map[string]any{"description": "", "start_Date": s.At}
		for field, value := range s.Fields {
			fields[field] = value
		}
		if _, ok := fields["end_Date"]; !ok {
			info, _ := fields["type_ID"].(hazard.Type).Info()
			fields["end_Date"] = s.At.Add(info.Life)
		}
		allowed = w.Create(id, fields, s.At)
	case "nest":
		known := sv.products[s.Who]
		var folders []*model.Product
		for _, p := range w.Products() {
			if p.Folder && p.Visible(editor.Orgs) {
				folders = append(folders, p)
			}
		}
		if len(folders) == 0 {
			return nil
		}
		slices.SortFunc(folders, func(a, b *model.Product) int { return strings.Compare(a.UUID.String(), b.UUID.String()) })
		folder := folders[s.N%len(folders)]
		h = folder.Hazard()
		id := uuid.NewSHA1(uuid.NameSpaceURL, fmt.Append(nil, s.At, s.N, s.M, s.Fields))
		if slices.ContainsFunc(w.Products(), func(p *model.Product) bool { return p.UUID == id }) { // the same step twice
			return nil
		}
		given := map[string]any{"uuid": id.String(), "title": s.Fields["title"], "product_Type": "TEXT_PRODUCT", "data": "a text", "parent_ID": known[folder.UUID].ID}
		_, err = sv.edit.CreateProduct(ctx, editor, edit.Ref{UUID: h.UUID}, nil, text(given), nil, s.At)
		allowed = w.Add(h, id, s.Fields["title"].(string), false, folder, false, s.At)
	case "put":
		var ofPeople, folders []*model.Product
		known := sv.products[s.Who]
		for p := sv.product(w, 0, editor.Orgs); p != nil && len(ofPeople) < len(known); p = sv.product(w, len(ofPeople), editor.Orgs) {
			ofPeople = append(ofPeople, p)
		}
		all := ofPeople
		if !s.Any {
			ofPeople = slices.DeleteFunc(slices.Clone(all), func(p *model.Product) bool { return known[p.UUID].Source != "" })
		}
		if len(ofPeople) == 0 {
			return nil
		}
		p := ofPeople[s.N%len(ofPeople)]
		if !s.Of2 {
			all = ofPeople
		}
		for _, o := range all {
			if o.Folder && known[o.UUID].HazardID == known[p.UUID].HazardID {
				folders = append(folders, o)
			}
		}
		var folder *model.Product
		given := int64(0)
		if len(folders) > 0 && s.Fields["inside"] == true {
			folder = folders[s.M%len(folders)]
			given = known[folder.UUID].ID
		}
		_, err = sv.edit.PatchProduct(ctx, editor, edit.Ref{UUID: p.UUID}, nil, text(map[string]any{"parent_ID": given}), s.At)
		allowed = w.Put(p, folder, s.At)
	case "retitle", "remove":
		p := sv.product(w, s.N, editor.Orgs)
		if p == nil {
			return nil
		}
		if have := sv.products[s.Who][p.UUID]; have.Source != "" && !s.Of2 && (s.Do == "remove" || p.Folder || have.ParentID != 0) {
			return nil
		}
		of := edit.Ref{UUID: p.UUID}
		if s.Do == "remove" {
			_, err = sv.edit.DeleteProduct(ctx, editor, of, nil, s.At)
			allowed = w.Remove(p, s.At)
			break
		}
		title := s.Fields["title"].(string)
		_, err = sv.edit.PatchProduct(ctx, editor, of, nil, text(map[string]any{"title": title}), s.At)
		allowed = w.Retitle(p, title, s.At)
	default:
		if h == nil {
			return nil
		}
		switch s.Do {
		case "add":
			id := uuid.NewSHA1(uuid.NameSpaceURL, fmt.Append(nil, s.At, s.N, s.M, s.Fields))
			if slices.ContainsFunc(w.Products(), func(p *model.Product) bool { return p.UUID == id }) { // the same step twice
				return nil
			}
			given := map[string]any{"uuid": id.String(), "title": s.Fields["title"], "product_Type": "TEXT_PRODUCT", "data": "a text"}
			if s.Fields["folder"] == true {
				given["product_Type"] = "FOLDER_PRODUCT"
				delete(given, "data")
			}
			if s.Fields["restricted"] == true {
				given["security_Flag"] = "R"
			}
			parent := sv.product(w, s.M, editor.Orgs)
			if parent != nil && s.Fields["inside"] == true && sv.products[s.Who][parent.UUID].Source == "" {
				given["parent_ID"] = sv.products[s.Who][parent.UUID].ID
			} else {
				parent = nil
			}
			_, err = sv.edit.CreateProduct(ctx, editor, ref, nil, text(given), nil, s.At)
			allowed = w.Add(h, id, s.Fields["title"].(string), s.Fields["folder"] == true, parent, s.Fields["restricted"] == true, s.At)
		case "patch":
			_, err = sv.edit.PatchHazard(ctx, editor, ref, nil, text(body(s.Fields)), s.At)
			allowed = w.Patch(h, s.Fields, s.At)
		case "end":
			_, err = sv.edit.PatchHazard(ctx, editor, ref, nil, []byte(`{"status":"E"}`), s.At)
			allowed = w.End(h, hazard.EndAllClear, "", s.At)
		case "merge":
			into := w.Hazards[s.M%len(w.Hazards)]
			_, err = sv.edit.Merge(ctx, editor, ref, nil, text(map[string]any{"into": into.UUID.String()}), s.At)
			allowed = w.Merge(h, into, s.At)
		case "split":
			events := w.Events(h)
			if len(events) == 0 {
				return nil
			}
			e := events[s.M%len(events)]
			_, err = sv.edit.Split(ctx, editor, ref, nil, text(map[string]any{"source": e.Source, "event": e.Key}), s.At)
			before := len(h.Splits)
			if allowed = w.Split(h, e, s.At); len(h.Splits) > before && err == nil {
				stored, err := sv.store.Hazards.ByUUID(ctx, h.UUID)
				if err != nil {
					return err
				}
				sv.splits[h.Splits[len(h.Splits)-1]] = stored.Version
			}
		case "unsplit":
			var all []*model.Split
			for _, h := range w.Hazards {
				all = append(all, h.Splits...)
			}
			if len(all) == 0 {
				return nil
			}
			split := all[s.N%len(all)]
			ref.UUID = split.Hazard.UUID
			_, err = sv.edit.Undo(ctx, editor, ref, nil, text(map[string]any{"change": sv.splits[split]}), s.At)
			allowed = w.Unsplit(split, s.At)
		case "undo":
			if len(h.Ends) == 0 {
				return nil
			}
			end := h.Ends[s.M%len(h.Ends)]
			change, errC := sv.changeOf(h, end)
			if errC != nil || change == 0 {
				return errC
			}
			_, err = sv.edit.Undo(ctx, editor, ref, nil, text(map[string]any{"change": change}), s.At)
			allowed = w.Undo(end, s.At)
		case "redact":
			if twice, errT := sv.twice(ref.UUID); errT != nil || twice {
				return errT
			}
			fields := s.Fields["fields"].([]string)
			who := edit.Author{Caller: auth.Caller{Name: editor.Name, Role: auth.Admin}}
			_, err = sv.edit.RedactHazard(ctx, who, ref, nil, text(map[string]any{"fields": fields, "reason": "r"}), s.At)
			forget := w.Redact(h, fields, "r", s.At)
			for _, then := range sv.past {
				forget(then)
			}
		case "retract":
			_, err = sv.edit.Retract(ctx, editor, ref, nil, []byte(`{"reason":"false"}`), s.At)
			allowed = w.End(h, hazard.EndRetracted, "false", s.At)
		}
	}
	if (err == nil) != allowed {
		return fmt.Errorf("the service returns %v, the model allows it: %t", err, allowed)
	}
	return sv.compare(w)
}

// twice reports whether a hazard has changed twice in one moment. A redaction affects both states,
// but the model keeps only the last.
func (sv *service) twice(id uuid.UUID) (bool, error) {
	stored, err := sv.store.Hazards.ByUUID(context.Background(), id)
	if err != nil {
		return false, err
	}
	changes, err := sv.store.Log.HazardChanges(context.Background(), stored.ID, 0, 1000)
	seen := map[instant]bool{}
	for _, c := range changes {
		if c.Hazard != nil && seen[c.At] {
			return true, err
		}
		seen[c.At] = seen[c.At] || c.Hazard != nil
	}
	return false, err
}

// changeOf returns the number of the change that was an end of a hazard, or 0 if it cannot be
// distinguished from others of the same moment.
func (sv *service) changeOf(h *model.Hazard, end *model.End) (int64, error) {
	if last := h.Ends[len(h.Ends)-1]; last != end && last.Reason == end.Reason { // the service would take the last end for this one
		return 0, nil
	}
	stored, err := sv.store.Hazards.ByUUID(context.Background(), h.UUID)
	if err != nil {
		return 0, err
	}
	changes, err := sv.store.Log.HazardChanges(context.Background(), stored.ID, 0, 1000)
	if err != nil {
		return 0, err
	}
	var found []int64
	last := hazard.EndReason("")
	for _, c := range changes {
		if c.Hazard == nil {
			continue
		}
		if r := c.Hazard.Reason; r != last && r == end.Reason && c.At == end.At && (r == hazard.EndMerged || c.Actor != "") {
			found = append(found, c.Number)
		}
		last = c.Hazard.Reason
	}
	if len(found) != 1 {
		return 0, nil
	}
	return found[0], nil
}

// body returns fields in the form of the base interface.
func body(fields map[string]any) map[string]any {
	given := map[string]any{}
	for name, value := range fields {
		switch v := value.(type) {
		case instant:
			given[name] = v.Digits()
		case bool:
			given[name] = map[bool]string{true: "Y", false: "N"}[v]
		case hazard.Severity:
			given[name] = v.String()
		case model.Area:
			given[name] = nil
			if v != nil {
				var place int
				if _, err := fmt.Sscanf(v[0], string(hazard.AlertArea)+" %d", &place); err != nil {
					panic(err)
				}
				given[name] = jsontext.Value(strip(place, 1))
			}
		default:
			given[name] = v
		}
	}
	return given
}

func text(given map[string]any) []byte {
	b, err := json.Marshal(given)
	if err != nil {
		panic(err)
	}
	return b
}

// compare compares a reader of all changes, and the list of the active hazards, with the model.
func (sv *service) compare(w *model.World) error {
	ctx := context.Background()
	if err := sv.tail.CatchUp(ctx); err != nil {
		return err
	}
	for {
		entries, upTo, _, err := sv.tail.After(ctx, sv.read)
		if err != nil {
			return err
		}
		for _, e := range entries {
			if e.At < sv.last {
				return fmt.Errorf("change %d is from %s, after one from %s", e.Number, stamp(e.At), stamp(sv.last))
			}
			sv.last = e.At
			if e.Hazard != nil {
				sv.seen[e.Hazard.UUID], sv.uuids[e.HazardID] = e.Hazard, e.Hazard.UUID
				continue
			}
			for i, orgs := range readers {
				c := e.SeenBy(orgs)
				switch {
				case c == nil:
				case c.Product.Deleted:
					delete(sv.products[i], c.Product.UUID)
				default:
					sv.products[i][c.Product.UUID] = c.Product
				}
			}
		}
		if upTo == sv.read {
			break
		}
		sv.read = upTo
	}
	if err := sv.comparePage(w, slices.Collect(maps.Values(sv.seen)), sv.now); err != nil {
		return fmt.Errorf("by the changes: %w", err)
	}
	if err := errors.Join(sv.compareProducts(w), sv.compareFiltered(w)); err != nil {
		return err
	}
	var active []uuid.UUID
	for h := range sv.live.View(sv.now).Hazards(view.Filter{}, nil) {
		active = append(active, h.UUID)
	}
	if want := w.Active(sv.now); !slices.Equal(active, want) {
		return fmt.Errorf("active are %v, by the model %v", active, want)
	}
	return nil
}

// compareProducts compares the products that readers know, from the changes and from the list of
// active hazards, with the model.
func (sv *service) compareProducts(w *model.World) error {
	view := sv.live.View(sv.now)
	all := w.Products()
	for i, orgs := range readers {
		left := maps.Clone(sv.products[i])
		for _, want := range all {
			if !want.Visible(orgs) {
				continue
			}
			have := left[want.UUID]
			if delete(left, want.UUID); have == nil {
				return fmt.Errorf("members of %v lack product %s %s", orgs, want.UUID, want)
			}
			parent := uuid.Nil
			for _, p := range sv.products[i] {
				if p.ID == have.ParentID {
					parent = p.UUID
				}
			}
			if is := fmt.Sprintf("%q of %s in %s", have.Title, sv.uuids[have.HazardID], parent); is != want.String() {
				return fmt.Errorf("for members of %v product %s is %s, by the model %s", orgs, want.UUID, is, want)
			}
			if list, active := view.Products(have.HazardID, orgs); active && !slices.ContainsFunc(list, func(p *hazard.Product) bool { return p.UUID == want.UUID }) {
				return fmt.Errorf("the active hazard lacks product %s %s for members of %v", want.UUID, want, orgs)
			}
		}
		for _, p := range left {
			return fmt.Errorf("members of %v see product %+v, the model has none", orgs, *p)
		}
	}
	return nil
}

// product returns a product that members of the organizations may see, or nil if there is none.
func (sv *service) product(w *model.World, n int, orgs []int64) *model.Product {
	list := slices.DeleteFunc(w.Products(), func(p *model.Product) bool { return !p.Visible(orgs) })
	if len(list) == 0 {
		return nil
	}
	slices.SortFunc(list, func(a, b *model.Product) int { return strings.Compare(a.UUID.String(), b.UUID.String()) })
	return list[n%len(list)]
}

// compareList compares the list of all hazards with the model.
func (sv *service) compareList(w *model.World) error {
	page, err := sv.store.Search.Find(context.Background(), query.Query{Sort: query.Sort{By: query.ByLastUpdate}}, nil, sv.now)
	if err != nil {
		return err
	}
	return sv.comparePage(w, page.Hazards, sv.now)
}

// comparePage compares hazards as of a moment with the model.
func (sv *service) comparePage(w *model.World, got []*hazard.Hazard, at instant) error {
	found := map[uuid.UUID]*hazard.Hazard{}
	for _, h := range got {
		found[h.UUID] = h
	}
	for _, h := range w.Hazards {
		want := h.AsOf(at)
		if want == nil {
			continue
		}
		have := found[h.UUID]
		if have == nil {
			return fmt.Errorf("the service lacks %q, %s", want.Name, h.UUID)
		}
		delete(found, h.UUID)
		area, errA := sv.area(have)
		drawn, errD := sv.drawn(have)
		if err := errors.Join(errA, errD); err != nil {
			return err
		}
		diff := different(have, want)
		if !slices.Equal(drawn, want.Shapes) {
			diff += fmt.Sprintf("; drawn are %v, by the model %v", drawn, want.Shapes)
		}
		if !slices.Equal(area, want.Area) {
			diff += fmt.Sprintf("; its area is %v, by the model %v", area, want.Area)
		}
		if diff != "" {
			return fmt.Errorf("%q of %s, %s: %s\nevents: %s, by the model %v", want.Name, want.Source, h.UUID, diff, sv.events(have.ID), w.Events(h))
		}
	}
	for _, h := range found {
		return fmt.Errorf("the model has no %q, %s\nevents: %s\nby the model: %s", h.Name, h.UUID, sv.events(h.ID), w)
	}
	return nil
}

// drawn lists the shapes of a hazard in the service, with the label of each instead of its digest.
func (sv *service) drawn(h *hazard.Hazard) (list []hazard.ShapesRef, err error) {
	for _, ref := range h.Shapes {
		label, known := sv.labels[ref.Digest]
		if !known {
			shapes, err := sv.store.Hazards.ShapesOf(context.Background(), ref)
			if err != nil {
				return nil, err
			}
			label = shapes[0].Label
			sv.labels[ref.Digest] = label
		}
		list = append(list, hazard.ShapesRef{Source: ref.Source, Part: ref.Part, Digest: label})
	}
	return list, nil
}

// events lists the events of a hazard, for error messages.
func (sv *service) events(id int64) (list []string) {
	events, err := sv.store.Reports.Of(context.Background(), id)
	if err != nil {
		return []string{err.Error()}
	}
	for _, e := range events {
		list = append(list, e.Source+" "+e.Key+" "+e.Joined)
	}
	changes, err := sv.store.Log.HazardChanges(context.Background(), id, 0, 1000)
	if err != nil {
		return []string{err.Error()}
	}
	for _, c := range changes {
		if h := c.Hazard; h != nil {
			list = append(list, fmt.Sprintf("\n  change %d, %s, %s: %+v", c.Number, stamp(c.At), c.Kind, *h))
		}
	}
	return list
}

// different returns the fields in which the service's state differs from the model's.
func different(have *hazard.Hazard, want *model.State) string {
	var list []string
	check := func(field string, have, want any) {
		if have != want {
			list = append(list, fmt.Sprintf("%s is %v, by the model %v", field, have, want))
		}
	}
	check("name", have.Name, want.Name)
	check("description", have.Description, want.Description)
	check("type", have.Type, want.Type)
	check("severity", have.Severity, want.Severity)
	check("category", have.Category, want.Category)
	check("status", have.Status, want.Status)
	check("autoexpire", have.AutoExpire, want.AutoExpire)
	check("start", have.Start, want.Start)
	check("end", have.End, want.End)
	check("reason", have.Reason, want.Reason)
	check("successor", have.Successor, want.Successor)
	check("note", have.Note, want.Note)
	check("url", have.URL, want.URL)
	check("comment", have.Comment, want.Comment)
	check("source", have.Source, want.Source)
	check("org", have.OrgID, want.OrgID)
	check("creator", have.Creator, want.Creator)
	check("created", have.Created, want.Created)
	check("last update", have.LastUpdate, want.LastUpdate)
	check("latitude", have.Latitude, want.Latitude)
	check("longitude", have.Longitude, want.Longitude)
	check("sources", strings.Join(have.Sources, " "), strings.Join(want.Sources, " "))
	if !hazard.EqualTexts(have.Texts, want.Texts) {
		check("texts", told(have.Texts), told(want.Texts))
	}
	check("measurements", fmt.Sprint(have.Measurements), fmt.Sprint(want.Measurements))
	check("redacted", fmt.Sprint(have.Redacted), fmt.Sprint(want.Redacted))
	check("edited", strings.Join(have.Edited, " "), strings.Join(want.Edited, " "))
	return strings.Join(list, "; ")
}

// told returns texts, with long ones shortened.
func told(texts []hazard.Text) string {
	var list []string
	for _, t := range texts {
		list = append(list, fmt.Sprintf("%.80s", fmt.Sprint(t)))
	}
	return strings.Join(list, " ")
}

// compareHistory compares past moments.
func (sv *service) compareHistory(w *model.World, steps []step) error {
	ctx := context.Background()
	for i, s := range steps {
		if i%7 != 3 {
			continue
		}
		page, err := sv.store.Search.Find(ctx, query.Query{At: &s.At}, nil, sv.now)
		if err != nil {
			return err
		}
		if err := sv.comparePage(w, page.Hazards, s.At); err != nil {
			return fmt.Errorf("at=%s, asked later: %w", stamp(s.At), err)
		}
		if i%14 == 3 {
			if err := sv.comparePastProducts(w, s.At); err != nil {
				return err
			}
		}
	}
	return sv.compareList(w)
}

// run performs the steps with a new service. It returns the step at which the service differs from
// the model, and how.
func run(t testing.TB, dir, database string, steps []step) (n int, err error) {
	sv := newService(t, dir, database)
	defer sv.close()
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("panic: %v\n%s", r, debug.Stack())
		}
	}()
	w := model.New(sources)
	for i, s := range steps {
		n = i
		if err := sv.do(w, s); err != nil {
			return n, err
		}
		if n%14 == 3 || n > 0 && steps[n-1].At == s.At {
			sv.past[s.At] = nil
			for _, p := range w.Products() {
				sv.past[s.At] = append(sv.past[s.At], *p)
			}
		}
		if n%5 == 0 {
			if err := sv.compareList(w); err != nil {
				return n, err
			}
		}
	}
	return len(steps) - 1, errors.Join(sv.compareHistory(w, steps), sv.refused())
}

// refused returns the error of a law that refused a change of a source. Derived changes must never
// break a law.
func (sv *service) refused() (err error) {
	for _, src := range []string{"", "usgs", "gdacs", "emsc", "cap", "nws", "mirrored", "other", "nhc", "eonet", "gvp", "hans"} {
		errs, e := sv.store.Sources.Errors(context.Background(), src, 10)
		err = errors.Join(err, e)
		for _, refused := range errs {
			err = errors.Join(err, fmt.Errorf("of %s: %s: %s", src, refused.Record, refused.Reason))
		}
	}
	return err
}

// template returns a store in which nothing has happened yet.
func template(t testing.TB) string {
	dir := t.TempDir()
	s, err := store.Open(context.Background(), dir, fast)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	return dir
}

const fast = "sqlite:?synchronous=off"

// shrink removes steps that the difference does not need.
func shrink(t testing.TB, from string, steps []step, n int) []step {
	steps = steps[:n+1]
	fails := func(steps []step) bool {
		_, err := run(t, anew(t, from), fast, steps)
		return err != nil
	}
	for i := len(steps) - 1; i >= 0; i-- {
		if less := slices.Delete(slices.Clone(steps), i, i+1); len(less) > 0 && fails(less) {
			steps = less
			continue
		}
		for j := len(steps[i].Reports) - 1; j >= 0 && len(steps[i].Reports) > 1; j-- {
			less := slices.Clone(steps)
			less[i].Reports = slices.Delete(slices.Clone(steps[i].Reports), j, j+1)
			if fails(less) {
				steps = less
			}
		}
	}
	return steps
}

// anew returns a copy of a folder.
func anew(t testing.TB, from string) string {
	dir, err := os.MkdirTemp(filepath.Dir(from), "h")
	if err == nil {
		err = os.CopyFS(dir, os.DirFS(from))
	}
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// The service and the model agree at every moment of random histories.
func TestServiceIsWhatTheModelSays(t *testing.T) {
	test.Seconds(t)
	from := template(t)
	for name, tt := range map[string]struct {
		can   abilities
		found []uint64 // seeds of earlier differences
	}{
		"names and rules": {abilities{parts: true, people: true, late: true, quakes: true, names: true}, []uint64{8, 10, 34, 130, 180, 279}},
		"all":             {abilities{parts: true, people: true, late: true, quakes: true, names: true, merges: true}, []uint64{129, 138, 162, 539}},
		"undo":            {abilities{parts: true, people: true, late: true, quakes: true, names: true, merges: true, undo: true}, []uint64{8, 39, 58, 191, 238, 379, 1100493, 1100678}},
		"held and epochs": {abilities{parts: true, people: true, late: true, quakes: true, names: true, merges: true, undo: true, held: true, years: true}, []uint64{48, 87, 227, 257, 355, 543, 569, 5752, 20214, 2000121}},
		"products":        {abilities{parts: true, people: true, late: true, quakes: true, names: true, merges: true, undo: true, products: true}, []uint64{5, 143, 203, 5798}},
		"folders":         {abilities{parts: true, people: true, late: true, names: true, merges: true, undo: true, products: true, splits: true, folders: true}, nil},
		"nested":          {abilities{parts: true, people: true, late: true, names: true, merges: true, undo: true, products: true, splits: true, folders: true, nested: true}, []uint64{30020, 30092, 30120, 30150, 3000108, 6000085}},
		"altered":         {abilities{parts: true, people: true, late: true, names: true, merges: true, undo: true, products: true, splits: true, folders: true, nested: true, altered: true}, []uint64{1355, 30392, 30975}},
		"drills":          {abilities{parts: true, people: true, late: true, quakes: true, names: true, merges: true, undo: true, drills: true}, []uint64{32, 40441}},
		"aliases":         {abilities{parts: true, people: true, late: true, quakes: true, names: true, merges: true, aliases: true}, []uint64{21, 39, 104, 300003, 300046, 300122, 300213, 310019, 5190}},
		"linked":          {abilities{parts: true, people: true, late: true, quakes: true, names: true, merges: true, aliases: true, linked: true}, []uint64{11, 1095, 1345, 1389, 10000486}},
		"years of names":  {abilities{parts: true, people: true, late: true, quakes: true, names: true, merges: true, undo: true, years: true, aliases: true, rules: true}, []uint64{20002, 20085, 20170, 3000473, 8000054, 72001399}},
		"areas":           {abilities{parts: true, people: true, late: true, quakes: true, names: true, merges: true, undo: true, areas: true}, []uint64{19, 300073}},
		"slight":          {abilities{parts: true, people: true, late: true, quakes: true, names: true, merges: true, undo: true, slight: true}, []uint64{15, 82, 141, 142, 378, 40198, 200062, 2000217}},
		"slight years":    {abilities{parts: true, people: true, late: true, quakes: true, names: true, merges: true, undo: true, slight: true, years: true, aliases: true}, nil},
		"rules":           {abilities{parts: true, people: true, late: true, quakes: true, names: true, merges: true, undo: true, rules: true}, []uint64{300045, 1100578}},
		"splits":          {abilities{parts: true, people: true, late: true, quakes: true, names: true, merges: true, undo: true, products: true, slight: true, splits: true}, []uint64{31, 76, 5007, 340145, 340226, 1100559, 1100771, 10000148, 4000147, 9000086}},
		"relays":          {abilities{parts: true, people: true, late: true, names: true, merges: true, undo: true, drills: true, relays: true}, []uint64{2, 2008, 2054, 2100, 5000005}},
		"next":            {abilities{parts: true, people: true, late: true, names: true, merges: true, undo: true, drills: true, next: true}, []uint64{28, 2024}},
		"next of years":   {abilities{parts: true, people: true, late: true, names: true, merges: true, years: true, aliases: true, next: true}, nil},
		"nowhere":         {abilities{parts: true, people: true, late: true, quakes: true, names: true, merges: true, undo: true, rules: true, slight: true, areas: true, nowhere: true}, nil},
		"nowhere split":   {abilities{parts: true, people: true, late: true, names: true, merges: true, undo: true, products: true, splits: true, rules: true, nowhere: true}, nil},
		"nowhere in time": {abilities{parts: true, people: true, late: true, quakes: true, names: true, merges: true, undo: true, beside: true, years: true, next: true, relays: true, nowhere: true}, []uint64{7, 16, 60000131, 70000853, 73000132}},
		"many at once":    {abilities{parts: true, people: true, late: true, quakes: true, names: true, merges: true, undo: true, rules: true, slight: true, next: true, relays: true, many: true}, []uint64{2149, 5000017, 3000285, 3000348}},
		"redacted":        {abilities{parts: true, people: true, late: true, quakes: true, names: true, merges: true, undo: true, held: true, redacts: true}, []uint64{4000009, 4000320}},
		"redacted beside": {abilities{parts: true, people: true, late: true, names: true, merges: true, undo: true, splits: true, beside: true, areas: true, rules: true, fires: true, redacts: true}, []uint64{4000027, 12000045}},
		"redacted names":  {abilities{parts: true, people: true, late: true, names: true, merges: true, held: true, years: true, aliases: true, redacts: true}, []uint64{4000245, 4000561}},
		"moved":           {abilities{parts: true, people: true, late: true, names: true, products: true, folders: true, altered: true, moved: true}, nil},
		"redacted given":  {abilities{parts: true, people: true, late: true, names: true, merges: true, undo: true, splits: true, products: true, folders: true, nested: true, altered: true, redacts: true}, nil},
		"merges":          {abilities{parts: true, people: true, late: true, merges: true}, []uint64{2, 56, 1389}},
		"renewed":         {abilities{parts: true, people: true, late: true, quakes: true, names: true, merges: true, undo: true, renewed: true}, []uint64{6000629, 910063}},
		"fires":           {abilities{parts: true, people: true, late: true, names: true, merges: true, undo: true, rules: true, areas: true, fires: true}, nil},
		"beside":          {abilities{parts: true, people: true, late: true, quakes: true, names: true, merges: true, undo: true, beside: true}, []uint64{133, 162}},
		"beside in time":  {abilities{parts: true, people: true, late: true, quakes: true, names: true, merges: true, undo: true, beside: true, years: true, held: true, rules: true, renewed: true}, []uint64{174, 228, 50000192, 70000722, 70000736}},
		"beside split":    {abilities{parts: true, people: true, late: true, quakes: true, names: true, merges: true, undo: true, beside: true, splits: true, slight: true}, []uint64{5000095, 12000299, 50000098}},
		"verbose":         {abilities{parts: true, people: true, late: true, quakes: true, names: true, merges: true, undo: true, verbose: true}, []uint64{5000019, 5000029}},
		"beside aliases":  {abilities{parts: true, people: true, late: true, quakes: true, names: true, merges: true, beside: true, aliases: true}, []uint64{11000411, 14000291, 60000410}},
	} {
		t.Run(name, func(t *testing.T) {
			if *first == 1 && test.All() { // not needed in a run with other seeds
				for _, seed := range tt.found {
					compareOne(t, from, seed, tt.can)
				}
			}
			for seed := *first; seed < *first+count(2); seed++ {
				compareOne(t, from, seed, tt.can)
			}
			t.Logf("%d histories", count(2))
		})
	}
}

// compareOne compares the service with the model for one history. If they differ, it reports the
// shortest history that differs.
func compareOne(t *testing.T, from string, seed uint64, can abilities) {
	t.Helper()
	steps := history(seed, *length, can)
	dir := anew(t, from)
	n, err := run(t, dir, fast, steps)
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	if err == nil {
		return
	}
	if !*shortest {
		t.Errorf("seed %d, %d steps differs: %v", seed, n+1, err)
		return
	}
	short := shrink(t, from, steps, n)
	_, err = run(t, anew(t, from), fast, short)
	var told strings.Builder
	for _, s := range short {
		fmt.Fprintln(&told, s)
	}
	t.Errorf("seed %d, %d steps of %d:\n%s%v", seed, len(short), n+1, &told, err)
}

// All databases give the same results as the model.
func TestDatabasesAreWhatTheModelSays(t *testing.T) {
	test.SeldomButRaced(t)
	for name, database := range map[string]func(t *testing.T, dir string) string{
		"SQLite on disk": func(*testing.T, string) string { return "" },
		"PostgreSQL":     func(t *testing.T, _ string) string { return postgres.URL(t) },
	} {
		t.Run(name, func(t *testing.T) {
			seeds := []uint64{50000002} // the point of a fire is far from its perimeter
			for seed := *first; seed < *first+count(20); seed++ {
				seeds = append(seeds, seed)
			}
			for _, seed := range seeds {
				mixed := abilities{parts: true, people: true, late: true, quakes: true, names: true, merges: true, undo: true, held: seed%2 == 0,
					years: seed%2 == 0, products: seed%2 == 1, drills: seed%3 == 0, rules: true, slight: true, areas: true, splits: seed%4 == 3, renewed: seed%5 == 4, beside: seed%3 == 1 && seed < 50000000, fires: seed%7 == 5}
				named := abilities{parts: true, people: true, late: true, quakes: true, names: true, merges: true, aliases: true, linked: true}
				if seed%2 == 1 {
					named = abilities{parts: true, people: true, late: true, names: true, merges: true, undo: true, products: true, splits: true, folders: true, nested: true, altered: true}
				}
				for _, can := range []abilities{mixed, named} {
					dir := t.TempDir()
					steps := history(seed, *length, can)
					if n, err := run(t, dir, database(t, dir), steps); err != nil {
						t.Fatalf("seed %d, step %d: %s\n%v", seed, n, steps[n], err)
					}
				}
			}
		})
	}
}
