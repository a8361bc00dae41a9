package client_test

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"io"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/hazardd/hazardd/client"
	"github.com/hazardd/hazardd/internal/app"
	"github.com/hazardd/hazardd/internal/test/server"
	"github.com/hazardd/hazardd/wire"
)

// as returns a client of the real server, and a record of its requests.
func as(t testing.TB, srv *server.Server, user string) (*client.Client, *tap) {
	t.Helper()
	tap := &tap{next: &http.Transport{}}
	t.Cleanup(tap.next.CloseIdleConnections)
	c, err := client.New(srv.URL()+"/", client.Options{Username: user, Password: server.Password, HTTPClient: &http.Client{Transport: tap}})
	if err != nil {
		t.Fatal(err)
	}
	return c, tap
}

// tap records requests and their statuses.
type tap struct {
	next *http.Transport
	mu   sync.Mutex
	seen []string
}

func (p *tap) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := p.next.RoundTrip(r)
	p.mu.Lock()
	defer p.mu.Unlock()
	word := r.Method + " " + r.URL.Path
	if err == nil {
		word += " " + resp.Status[:3]
	}
	p.seen = append(p.seen, word)
	return resp, err
}

func (p *tap) count(word string) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := 0
	for _, s := range p.seen {
		if strings.HasPrefix(s, word) {
			n++
		}
	}
	return n
}

func flood() client.NewHazard {
	return client.NewHazard{HazardName: "Flood - Boston", TypeID: "FLOOD", SeverityID: "WARNING", Latitude: 42.36, Longitude: -71.06,
		Description: "line 1\nline 2", Area: []byte(`{"type":"Point","coordinates":[-71.06,42.36]}`), CommentText: "FLOOD-1"}
}

// must returns a value, and fails the test on an error.
func must[T any](v T, err error) func(testing.TB) T {
	return func(t testing.TB) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

func TestReadsOfTheRealServer(t *testing.T) {
	srv := server.Serve(t)
	ctx := t.Context()
	editor, _ := as(t, srv, "red")
	c, requests := as(t, srv, "reader")

	types := must(c.Types(ctx))(t)
	if diff := cmp.Diff(wire.Types(), types.Items); diff != "" || types.ETag == "" {
		t.Errorf("etag %q, %s", types.ETag, diff)
	}
	if diff := cmp.Diff(wire.Severities(), must(c.Severities(ctx))(t).Items); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(wire.Categories(), must(c.Categories(ctx))(t).Items); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(wire.ProductTypes(), must(c.ProductTypes(ctx))(t).Items); diff != "" {
		t.Error(diff)
	}
	none := must(c.Active(ctx))(t)
	if none.Items == nil || len(none.Items) != 0 || none.Sources == "" {
		t.Errorf("no hazards yet: %+v", none)
	}

	made := must(editor.Editor().CreateHazard(ctx, flood()))(t)
	exercise := flood()
	exercise.CategoryID, exercise.SeverityID = "EXERCISE", "ADVISORY"
	must(editor.Editor().CreateHazard(ctx, exercise))(t)
	all := must(c.Active(ctx))(t)
	if len(all.Items) != 2 || all.Change != none.Change+2 || all.ETag == none.ETag {
		t.Errorf("active: %+v", all)
	}
	if diff := cmp.Diff(made, all.Items[0]); diff != "" {
		t.Error(diff)
	}
	if l := must(c.ActiveByCategory(ctx, "EXERCISE"))(t); len(l.Items) != 1 || l.Items[0].SeverityID != "ADVISORY" {
		t.Errorf("exercises: %+v", l)
	}
	if l := must(c.ActiveBySeverity(ctx, "WARNING"))(t); len(l.Items) != 1 || l.Items[0].UUID != made.UUID {
		t.Errorf("warnings: %+v", l)
	}
	for _, id := range []string{made.UUID, client.ID(made.HazardID)} {
		if diff := cmp.Diff(made, must(c.Hazard(ctx, id))(t).Item); diff != "" {
			t.Error(diff)
		}
	}
	if _, err := c.Active(ctx, client.IfNoneMatch(all.ETag)); !errors.Is(err, client.ErrNotModified) {
		t.Errorf("unchanged: %v", err)
	}
	if l, err := c.Active(ctx, client.IfNoneMatch(none.ETag)); err != nil || len(l.Items) != 2 {
		t.Errorf("changed: %v", err)
	}
	for _, sources := range must(c.Sources(ctx))(t).Items {
		if sources.Name == "" || sources.State != "disabled" {
			t.Errorf("source %+v", sources)
		}
	}
	for name, f := range map[string]func() error{
		"hazard":   func() error { _, err := c.Hazard(ctx, "999"); return err },
		"products": func() error { _, err := c.Products(ctx, uuid.NewString()); return err },
		"product":  func() error { _, err := c.Product(ctx, "999"); return err },
		"category": func() error { _, err := c.ActiveByCategory(ctx, "event"); return err },
		"file":     func() error { _, err := c.DownloadFile(ctx, "999"); return err },
	} {
		if err := f(); !errors.Is(err, client.ErrNotFound) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := c.Editor().CreateHazard(ctx, flood()); !errors.Is(err, client.ErrForbidden) || errors.Is(err, client.ErrUnauthorized) {
		t.Errorf("a reader writes: %v", err)
	}
	if n := requests.count("POST /authorize"); n != 1 {
		t.Errorf("%d logins", n)
	}
	wrong, err := client.New(srv.URL(), client.Options{Username: "reader", Password: "wrong"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := wrong.Active(ctx); !errors.Is(err, client.ErrUnauthorized) {
		t.Errorf("wrong password: %v", err)
	}
}

func TestWritesOfTheRealServer(t *testing.T) {
	srv := server.Serve(t)
	ctx := t.Context()
	c, _ := as(t, srv, "red")

	wanted := flood()
	wanted.UUID, wanted.Start, wanted.End, wanted.AutoExpire = uuid.NewString(), time.Now().Add(-time.Hour), time.Now().Add(time.Hour), true
	h := must(c.Editor().CreateHazard(ctx, wanted))(t)
	if h.UUID != wanted.UUID || h.AutoExpire != "Y" || h.StartDate != client.Digits(wanted.Start) || h.EndDate != client.Digits(wanted.End) || h.OrgID != srv.RedCross {
		t.Errorf("made %+v", h)
	}
	if start, err := client.Time(h.StartDate); err != nil || start.UnixMilli() != wanted.Start.UnixMilli() {
		t.Errorf("start %s, error %v", start, err)
	}
	if again := must(c.Editor().CreateHazard(ctx, wanted))(t); again.HazardID != h.HazardID {
		t.Errorf("the same call created hazard %d in addition to %d", again.HazardID, h.HazardID)
	}
	_, err := c.Editor().CreateHazard(ctx, client.NewHazard{TypeID: "FLOD", Latitude: 91})
	if p, ok := errors.AsType[*client.Problem](err); !ok || !errors.Is(err, client.ErrInvalid) || len(p.Errors) < 3 || p.Errors[0].Pointer == "" {
		t.Errorf("error %#v", err)
	}

	read := must(c.Hazard(ctx, h.UUID))(t)
	h = must(c.Editor().PatchHazard(ctx, h.UUID, client.Fields{"severity_ID": "WATCH", "comment_Text": nil}, client.IfMatch(read.ETag)))(t)
	if h.SeverityID != "WATCH" || h.CommentText != "" {
		t.Errorf("altered %+v", h)
	}
	if _, err := c.Editor().PatchHazard(ctx, h.UUID, client.Fields{"severity_ID": "WARNING"}, client.IfMatch(read.ETag)); !errors.Is(err, client.ErrStale) {
		t.Errorf("stale: %v", err)
	}

	folder := must(c.Editor().CreateProduct(ctx, h.UUID, client.NewProduct{Title: "Reports", ProductType: "FOLDER_PRODUCT"}))(t)
	text := must(c.Editor().CreateProduct(ctx, client.ID(h.HazardID), client.NewProduct{Title: "Note", ProductType: "TEXT_PRODUCT", Data: "boil water", ParentID: folder.ProductID,
		Hidden: true, Timeline: wanted.Start, GeoLocations: "POINT (1 2)"}))(t)
	secret := must(c.Editor().CreateProduct(ctx, h.UUID, client.NewProduct{Title: "Secret", ProductType: "URL_PRODUCT", Data: "https://example.org/x", SecurityFlag: "R"}))(t)
	if text.ParentID != folder.ProductID || text.IsHidden != "Y" || text.TimelineDate != client.Digits(wanted.Start) || *text.Data != "boil water" || secret.OrgIDs != client.ID(srv.RedCross) {
		t.Errorf("made %+v and %+v", text, secret)
	}
	if _, err := c.Editor().CreateProduct(ctx, h.UUID, client.NewProduct{Title: "Map", ProductType: "FILE_PRODUCT"}); !errors.Is(err, client.ErrInvalid) {
		t.Errorf("a file without a file: %v", err)
	}
	product := must(c.Product(ctx, text.UUID))(t)
	if diff := cmp.Diff(text, product.Item); diff != "" {
		t.Error(diff)
	}
	if text = must(c.Editor().PatchProduct(ctx, text.UUID, client.Fields{"data": "water is safe"}, client.IfMatch(product.ETag)))(t); *text.Data != "water is safe" {
		t.Errorf("altered %+v", text)
	}
	if err := c.Editor().DeleteProduct(ctx, text.UUID, client.IfMatch(product.ETag)); !errors.Is(err, client.ErrStale) {
		t.Errorf("stale: %v", err)
	}
	if err := c.Editor().DeleteProduct(ctx, folder.UUID); !errors.Is(err, client.ErrConflict) {
		t.Errorf("a folder that is not empty: %v", err)
	}
	if err := errors.Join(c.Editor().DeleteProduct(ctx, text.UUID), c.Editor().DeleteProduct(ctx, folder.UUID)); err != nil {
		t.Error(err)
	}
	reader, _ := as(t, srv, "reader")
	if l := must(reader.Products(ctx, h.UUID))(t); len(l.Items) != 0 {
		t.Errorf("a reader of no organization sees %+v", l.Items)
	}

	if h = must(c.Editor().Retract(ctx, h.UUID, "it was a drill"))(t); h.Status != "E" || h.SeverityID != "TERMINATION" {
		t.Errorf("retracted %+v", h)
	}
	var last client.Change
	for change, err := range c.HazardChanges(ctx, h.UUID, 0) {
		if err != nil {
			t.Fatal(err)
		}
		last = change
	}
	if !last.Retracted || last.Note != "it was a drill" || last.User != "red" || last.Hazard == nil || last.Hazard.UUID != h.UUID || len(last.Fields) == 0 {
		t.Errorf("last change %+v", last)
	}
}

func TestUndoRedactionSessionsAndAuditOfTheRealServer(t *testing.T) {
	srv := server.Serve(t)
	red, _ := as(t, srv, "red")
	root, _ := as(t, srv, "root")
	ctx := t.Context()
	from, into := must(red.Editor().CreateHazard(ctx, flood()))(t), must(red.Editor().CreateHazard(ctx, flood()))(t)
	p := must(red.Editor().CreateProduct(ctx, client.ID(into.HazardID), client.NewProduct{Title: "Note", ProductType: "TEXT_PRODUCT", Data: "a name"}))(t)
	if h := must(red.Editor().Merge(ctx, from.UUID, into.UUID))(t); h.UUID != into.UUID {
		t.Errorf("merged into %+v", h)
	}
	var merge int64
	for c, err := range red.HazardChanges(ctx, from.UUID, 0) {
		if err != nil {
			t.Fatal(err)
		}
		merge = c.Number
	}
	if h := must(red.Editor().Undo(ctx, from.UUID, merge))(t); h.UUID != from.UUID || h.Status != "A" {
		t.Errorf("after the undo: %+v", h)
	}
	var problem *client.Problem
	if _, err := red.Editor().Undo(ctx, from.UUID, merge); !errors.As(err, &problem) || problem.Status != http.StatusConflict {
		t.Errorf("a second undo: %v", err)
	}
	if _, err := red.Editor().RedactHazard(ctx, into.UUID, []string{"description"}, "private"); !errors.Is(err, client.ErrForbidden) {
		t.Errorf("an editor redacts: %v", err)
	}
	if h := must(root.Editor().RedactHazard(ctx, into.UUID, []string{"description"}, "private"))(t); h.Description != "" {
		t.Errorf("after the redaction: %+v", h)
	}
	if q := must(root.Editor().RedactProduct(ctx, p.UUID, []string{"data"}, "private"))(t); q.Data == nil || *q.Data != "[redacted]" {
		t.Errorf("after the redaction: %+v", q)
	}

	second, _ := as(t, srv, "red")
	must(second.Types(ctx))(t)
	sessions := must(red.Sessions(ctx))(t).Items
	if len(sessions) != 2 || sessions[0].Current == sessions[1].Current {
		t.Fatalf("sessions: %+v", sessions)
	}
	for _, s := range sessions {
		if !s.Current {
			if err := red.EndSession(ctx, s.ID); err != nil {
				t.Fatal(err)
			}
		}
	}
	if left := must(red.Sessions(ctx))(t).Items; len(left) != 1 || !left[0].Current {
		t.Errorf("left: %+v", left)
	}

	client.PageSize(root, 3)
	var refused, all int
	for row, err := range root.Admin().Audit(ctx, client.AuditFilter{User: "red", Since: time.Now().Add(-time.Hour)}) {
		if err != nil {
			t.Fatal(err)
		}
		if all++; !row.OK {
			refused++
		}
		if row.User != "red" && row.Subject != "red" || row.Time.IsZero() {
			t.Errorf("%+v", row)
		}
	}
	if all < 5 || refused == 0 {
		t.Errorf("%d rows, %d of them refused", all, refused)
	}
	for _, err := range red.Admin().Audit(ctx, client.AuditFilter{}) {
		if !errors.Is(err, client.ErrForbidden) {
			t.Errorf("an editor reads the trail: %v", err)
		}
	}
}

func TestFilesGoThereAndBack(t *testing.T) {
	srv := server.Serve(t)
	ctx := t.Context()
	c, _ := as(t, srv, "red")
	h := must(c.Editor().CreateHazard(ctx, flood()))(t)
	content := make([]byte, 3<<20)
	for i := range content {
		content[i] = byte(rand.Uint32())
	}
	for name, file := range map[string]io.Reader{
		"of a known size": bytes.NewReader(content), "as it comes": io.MultiReader(bytes.NewReader(content)), "from a pipe": io.LimitReader(bytes.NewReader(content), int64(len(content))),
	} {
		p := must(c.Editor().CreateFile(ctx, h.UUID, client.NewProduct{Title: name}, "übersicht.bin", file))(t)
		if p.Title != name || *p.Filename != "übersicht.bin" || p.ProductType != "FILE_PRODUCT" {
			t.Errorf("%s: made %+v", name, p)
		}
		f := must(c.DownloadFile(ctx, client.ID(p.ProductID)))(t)
		sum := sha256.New()
		n, err := io.Copy(sum, f.Body)
		_ = f.Body.Close()
		if want := sha256.Sum256(content); err != nil || n != int64(len(content)) || f.Size != n || !bytes.Equal(sum.Sum(nil), want[:]) {
			t.Errorf("%s: %d bytes of %d, error %v", name, n, f.Size, err)
		}
		if f.Name != "übersicht.bin" || f.MediaType != "application/octet-stream" || f.ETag == "" {
			t.Errorf("%s: %+v", name, f)
		}
		if _, err := c.DownloadFile(ctx, p.UUID, client.IfNoneMatch(f.ETag)); !errors.Is(err, client.ErrNotModified) {
			t.Errorf("%s: %v", name, err)
		}
	}
	reader, _ := as(t, srv, "reader")
	if _, err := reader.Editor().CreateFile(ctx, h.UUID, client.NewProduct{Title: "x"}, "x", endless{}); !errors.Is(err, client.ErrForbidden) {
		t.Errorf("a reader sends a file: %v", err)
	}
	if _, err := c.Editor().CreateFile(ctx, h.UUID, client.NewProduct{Title: "x"}, "x", endless{}); !errors.Is(err, client.ErrTooLarge) {
		t.Errorf("a file without an end: %v", err)
	}
	if _, err := c.Editor().CreateFile(ctx, h.UUID, client.NewProduct{Title: "x"}, "x", io.MultiReader(strings.NewReader("abc"), broken{})); err == nil || !strings.Contains(err.Error(), "the disk is gone") {
		t.Errorf("a file that cannot be read: %v", err)
	}
	if l := must(c.Products(ctx, h.UUID))(t); len(l.Items) != 3 {
		t.Errorf("%d products, expected 3", len(l.Items))
	}
}

type endless struct{}

func (endless) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}

type broken struct{}

func (broken) Read([]byte) (int, error) { return 0, errors.New("the disk is gone") }

func TestChangesOfTheRealServer(t *testing.T) {
	srv := server.Serve(t)
	ctx := t.Context()
	red, _ := as(t, srv, "red")
	h := must(red.Editor().CreateHazard(ctx, flood()))(t)
	for i := range 7 {
		flag := ""
		if i%2 == 1 {
			flag = "R"
		}
		must(red.Editor().CreateProduct(ctx, h.UUID, client.NewProduct{Title: "p", ProductType: "TEXT_PRODUCT", Data: "x", SecurityFlag: flag}))(t)
	}
	for name, want := range map[string]int{"red": 8, "reader": 5} {
		c, requests := as(t, srv, name)
		client.PageSize(c, 2)
		var numbers []int64
		for change, err := range c.Changes(ctx, 0) {
			if err != nil {
				t.Fatal(err)
			}
			if (change.Hazard == nil) == (change.Product == nil) || change.Time.IsZero() || change.User != "red" {
				t.Errorf("change %+v", change)
			}
			numbers = append(numbers, change.Number)
		}
		if len(numbers) != want || requests.count("GET /changes 200") < want/2 {
			t.Errorf("%s: changes %v in %d pages", name, numbers, requests.count("GET /changes 200"))
		}
		for range c.Changes(ctx, 0) { // a reader may stop at any time
			break
		}
		for change, err := range c.Changes(ctx, numbers[len(numbers)-1]) {
			t.Errorf("after the last: %+v, %v", change, err)
		}
	}
}

func TestTheRealServerRefreshes(t *testing.T) {
	srv := server.Serve(t, func(cfg *app.Config) { cfg.AccessLife = 4 * time.Second })
	c, requests := as(t, srv, "reader")
	for range 8 {
		must(c.Active(t.Context()))(t)
		time.Sleep(300 * time.Millisecond)
	}
	if requests.count("POST /authorize 200") != 1 || requests.count("POST /authorize/refresh 200") < 1 || requests.count("GET /hazards/active 200") != 8 {
		t.Errorf("asked %v", requests.seen)
	}
	if err := c.Logout(t.Context()); err != nil || requests.count("POST /authorize/revoke 204") != 1 {
		t.Errorf("logout: %v, asked %v", err, requests.seen)
	}
	must(c.Active(t.Context()))(t)
	if requests.count("POST /authorize 200") != 2 {
		t.Errorf("after logout: asked %v", requests.seen)
	}
}
