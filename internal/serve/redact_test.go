package serve_test

import (
	"bytes"
	"fmt"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hazardd/hazardd/internal/app"
	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/ingest/fuse"
	"github.com/hazardd/hazardd/internal/ingest/source"
)

// An admin removes texts and a file for good, from
// every state, from every way to read them, and from the files of the server. The history says so.
func TestWhatIsRedactedIsGone(t *testing.T) {
	var data, database string
	s := start(t, func(c *app.Config) { data, database = c.DataDir, c.Database })
	const secret = "secretsong"
	r := quake("us1", 1)
	r.Description = "as " + secret + " says"
	r.Texts = []hazard.Text{{Language: "en", Own: true, Name: "Earthquake us1", Description: r.Description},
		{Language: "fr", Name: "Séisme", Description: secret + " a parlé", Instruction: secret + " le dit", Contact: secret, Area: secret}}
	s.report(r)
	h := hazard.EventUUID(r.Source, r.Key).String()
	if a := s.do("red", "PATCH", "/hazards/"+h, `{"comment_Text":"`+secret+` in a comment"}`); a.Status != http.StatusOK {
		t.Fatalf("%d %s", a.Status, a.Body)
	}
	var id item
	s.do("reader", "GET", "/hazards/"+h, nil).JSON(t, &id)
	long := strings.Repeat("word ", 3000) + secret
	p := s.product("red", id.HazardID, note("title", secret, "data", long, "comment_Text", secret))
	s.do("red", "PATCH", "/products/"+p.UUID, `{"data":"`+secret+` again"}`)
	var f item
	s.upload("red", id.HazardID, file("title", "A file"), secret+".txt", []byte(secret+" in a file")).JSON(t, &f)
	gone := s.product("red", id.HazardID, note("title", secret))
	s.do("red", "DELETE", "/products/"+gone.UUID, nil)
	time.Sleep(2 * time.Millisecond)
	at := "at=" + url.QueryEscape(time.Now().UTC().Format(time.RFC3339Nano))

	hidden := func(when string, want bool) {
		t.Helper()
		for _, user := range []string{"red", "reader"} {
			found := 0
			for _, path := range []string{"/hazards/active", "/hazards/" + h, "/hazards/" + h + "?" + at, "/hazards/" + h + "?lang=fr", "/hazards/" + h + "?lang=fr&" + at, "/hazards/" + h + "?f=cap", "/hazards/" + h + "?f=geojson", "/hazards/" + h + "?f=geojson&" + at, "/hazards/" + h + "/products", "/hazards/" + h + "/products?" + at,
				"/hazards/" + h + "/changes", "/hazards/" + h + "/changes?" + at, "/changes", "/hazards/" + h + "/reports", "/products/" + p.UUID + "?" + at, "/products/" + f.UUID, "/products/" + f.UUID + "/file", "/h/" + h} {
				a := s.do(user, "GET", path, nil)
				if path == "/h/"+h {
					a = visit(s, sessionOf(t, s, user), path)
				}
				if has := bytes.Contains(decode(t, a.Header.Get("Content-Encoding"), a.Body), []byte(secret)) || strings.Contains(a.Header.Get("Content-Disposition"), secret); has && !want {
					t.Errorf("%s, %s: GET %s: %d %.600s", when, user, path, a.Status, a.Body)
				} else if has {
					found++
				}
			}
			if want && found < 12 {
				t.Errorf("%s, %s finds the text in %d answers", when, user, found)
			}
		}
	}
	hidden("before", true)
	stream := s.subscribe("red", "?after=0")
	stream.next()

	requests := []struct{ path, body string }{
		{"/hazards/" + h, `{"fields":["description","comment_Text"],"reason":"private"}`},
		{"/products/" + p.UUID, `{"fields":["title","data","comment_Text"],"reason":"private"}`},
		{"/products/" + f.UUID, `{"fields":["file"],"reason":"private"}`},
		{"/products/" + gone.UUID, `{"fields":["title"],"reason":"private"}`},
	}
	for _, r := range requests {
		for _, user := range []string{"reader", "red"} {
			if a := s.do(user, "POST", r.path+"/redact", r.body); a.Status != http.StatusForbidden {
				t.Errorf("%s as %s: %d %s", r.path, user, a.Status, a.Body)
			}
		}
		for _, bad := range []string{`{"fields":["status"],"reason":"x"}`, `{"fields":[],"reason":"x"}`, `{"fields":["title","description"]}`} {
			if a := s.do("root", "POST", r.path+"/redact", bad); a.Status != http.StatusUnprocessableEntity && a.Status != http.StatusBadRequest {
				t.Errorf("%s: %d %s", bad, a.Status, a.Body)
			}
		}
	}
	hidden("after what was refused", true)
	if names := holds(t, data, secret); database == "" && len(names) < 2 {
		t.Errorf("before, only %v hold the text", names)
	}
	for _, r := range requests {
		for range 2 { // repeating it changes nothing
			if a := s.do("root", "POST", r.path+"/redact", r.body); a.Status != http.StatusOK || bytes.Contains(a.Body, []byte(secret)) {
				t.Fatalf("%s: %d %s", r.path, a.Status, a.Body)
			}
		}
	}
	last, err := s.Store.Log.Last(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	s.settle(last)
	hidden("after", false)
	if n := len(items(t, s.do("reader", "GET", "/hazards?q="+secret, nil))); n != 0 {
		t.Errorf("a search finds %d hazards by the text", n)
	}
	if got := s.replayTo(last, "red"); strings.Contains(got, secret) || strings.Count(got, `"reason":"private"`) < 4 {
		t.Errorf("the stream: %.3000s", got)
	}
	var history []struct {
		Type     string
		User     string
		Redacted []struct {
			Fields       []string
			User, Reason string
		}
	}
	s.do("reader", "GET", "/hazards/"+h+"/changes", nil).JSON(t, &history)
	marked := 0
	for _, c := range history {
		for _, m := range c.Redacted {
			if m.User == "root" && m.Reason == "private" && len(m.Fields) > 0 {
				marked++
			}
		}
	}
	if marked < 6 {
		t.Errorf("%d marks in the history, want at least 6: %+v", marked, history)
	}
	if database == "" { // PostgreSQL keeps its files itself
		if names := holds(t, data, secret); len(names) > 0 {
			t.Errorf("the text is still in %v", names)
		}
	}
	// The source repeats it, which does not bring it back.
	again := quake("us1", 2)
	again.Description = r.Description
	s.report(again)
	var now struct{ Description string }
	if s.do("reader", "GET", "/hazards/"+h, nil).JSON(t, &now); now.Description != "" {
		t.Errorf("the source has restored the text: %q", now.Description)
	}
}

// Text of a source is removed together with the hazard's text wherever the source repeats it:
// in the event's proper name, and in its products, without waiting for the next report. After the
// redaction of a product, the source's report does not contain it either.
func TestWhatASourceRepeatsOfARedactedTextIsGone(t *testing.T) {
	var data, database string
	s := start(t, func(c *app.Config) { data, database = c.DataDir, c.Database })
	const name, words = "Secretsong", "whisperedword"
	r := quake("us1", 1)
	r.Name, r.Called, r.Comment = name, name, "xy"
	r.Products = []hazard.ReportProduct{
		{Key: "folder", Title: "About " + name, Type: hazard.FolderProduct},
		{Key: "text", Parent: "folder", Title: "A text", Type: hazard.TextProduct, Data: words + " of nobody"},
		{Key: "other", Title: name, Type: hazard.TextProduct, Data: "Something else"},
	}
	s.report(r)
	h := hazard.EventUUID(r.Source, r.Key).String()
	before := items(t, s.do("reader", "GET", "/hazards/"+h+"/products", nil))
	if len(before) != 3 {
		t.Fatalf("%d products: %+v", len(before), before)
	}
	all := func() (text string) {
		for _, path := range []string{"/hazards/" + h, "/hazards/" + h + "/products", "/hazards/" + h + "/reports", "/hazards/" + h + "/changes", "/changes", "/hazards/active", "/hazards/" + h + "?f=cap"} {
			a := s.do("reader", "GET", path, nil)
			text += string(decode(t, a.Header.Get("Content-Encoding"), a.Body))
		}
		return text
	}
	for _, secret := range []string{name, words, `"xy"`} {
		if !strings.Contains(all(), secret) {
			t.Fatalf("no reader sees %s before the redaction", secret)
		}
	}
	redact := func(path, fields string) {
		t.Helper()
		if a := s.do("root", "POST", path+"/redact", `{"fields":[`+fields+`],"reason":"private"}`); a.Status != http.StatusOK {
			t.Fatalf("%d %s", a.Status, a.Body)
		}
		last, err := s.Store.Log.Last(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		s.settle(last)
	}
	gone := func(secret string) {
		t.Helper()
		if text := all(); strings.Contains(text, secret) {
			i := strings.Index(text, secret)
			t.Errorf("%s can still be read: %s", secret, text[max(0, i-300):min(len(text), i+100)])
		}
		if database == "" { // PostgreSQL keeps its files itself
			if names := holds(t, data, secret); len(names) > 0 {
				t.Errorf("%s is still in %v", secret, names)
			}
		}
	}
	redact("/hazards/"+h, `"hazard_Name","comment_Text"`)
	gone(name)
	if text := all(); strings.Contains(text, `"xy"`) { // too short to be searched for inside other texts, but this is the whole text
		t.Error("a short comment can still be read")
	}
	text := before[1].UUID
	for _, p := range before {
		if p.Title == "A text" {
			text = p.UUID
		}
	}
	redact("/products/"+text, `"data"`)
	gone(words)
	titles := map[string]bool{}
	for _, p := range items(t, s.do("reader", "GET", "/hazards/"+h+"/products", nil)) {
		titles[p.Title] = true
	}
	if len(titles) != 3 || !titles["About [redacted]"] || !titles["[redacted]"] || !titles["A text"] {
		t.Errorf("the products are called %v", titles)
	}
	if strings.Count(all(), `"reason":"private"`) < 4 {
		t.Error("the history does not mark each of them")
	}
}

// A redaction is not done while a held report that cannot be read may repeat the text: it removes nothing, and says which report that is and what to do first. Once
// the report is decided about, its content is of no use, and goes.
func TestARedactionNamesTheHeldReportThatCannotBeRead(t *testing.T) {
	var cfg app.Config
	s := start(t, func(c *app.Config) { cfg = *c })
	const name, words = "Secretsong", "whisperedword"
	r := quake("one", 1)
	r.Name, r.Products = name, []hazard.ReportProduct{{Key: "text", Title: "A text", Type: hazard.TextProduct, Data: words}}
	s.report(r)
	h := "/hazards/" + hazard.EventUUID(r.Source, r.Key).String()
	products := items(t, s.do("reader", "GET", h+"/products", nil))
	if len(products) != 1 {
		t.Fatalf("products are %+v", products)
	}
	var ids []int64 // of held reports, the newest first
	for r.Version, r.Suspect = 2, "the words say TEST"; r.Version < 5; r.Version++ {
		if _, err := fuse.New(s.Store, fuse.Known{}).Apply(t.Context(), r.Source, source.Batch{Reports: []hazard.Report{r}, Read: 1}, now(), fuse.Options{}); err != nil {
			t.Fatal(err)
		}
	}
	waiting := func() (names []string) {
		t.Helper()
		held, err := s.Store.Reports.Held(t.Context(), r.Source, 10)
		if err != nil {
			t.Fatal(err)
		}
		ids = nil
		for _, h := range held {
			ids, names = append(ids, h.ID), append(names, h.Report.Name)
		}
		return names
	}
	rows := func() (text string) {
		t.Helper()
		d, err := s.Store.Dump(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer d.Close()
		for _, table := range d.Tables {
			if table.Name != "held" {
				continue
			}
			for row, err := range d.Rows(t.Context(), &table) {
				if err != nil {
					t.Fatal(err)
				}
				text += fmt.Sprintln(row...)
			}
		}
		return text
	}
	dismiss := func(id int64) {
		t.Helper()
		if a := s.do("red", "POST", "/sources/usgs/held/"+digits(id), `{"decision":"dismissed"}`); a.Status != http.StatusNoContent {
			t.Errorf("dismissing report %d: %d %s", id, a.Status, a.Body)
		}
	}
	if len(waiting()) != 3 {
		t.Fatalf("held are %v", ids)
	}
	decided, unread := ids[0], ids[1]
	dismiss(decided)
	beside(t, cfg, `UPDATE held SET body = '[' || body WHERE version > 2`)
	before := rows()
	requests := map[string]string{h: `{"fields":["hazard_Name"],"reason":"private"}`, "/products/" + products[0].UUID: `{"fields":["data"],"reason":"private"}`}
	for path, body := range requests {
		p := wantProblem(t, s.do("root", "POST", path+"/redact", body), http.StatusConflict)
		for _, said := range []string{"nothing is redacted", "held report " + digits(unread) + " (usgs:one) is damaged", "hazardd check --mend", "dismiss"} {
			if !strings.Contains(p.Detail, said) {
				t.Errorf("%s: %q is not in %q", path, said, p.Detail)
			}
		}
	}
	var shown struct {
		Name string `json:"hazard_Name"`
	}
	if s.do("reader", "GET", h, nil).JSON(t, &shown); shown.Name != name || rows() != before {
		t.Errorf("after a redaction in vain it is called %q, and held is\n%s", shown.Name, rows())
	}
	dismiss(unread)
	check := func() (faults []string) {
		t.Helper()
		if _, err := s.Store.Check(t.Context(), func(what string) { faults = append(faults, what) }); err != nil {
			t.Error(err)
		}
		return faults
	}
	if faults := check(); len(faults) != 1 || !strings.Contains(faults[0], "held report "+digits(decided)) {
		t.Errorf("once one is dismissed, a check finds %q, want the one that was damaged afterwards", faults)
	}
	for path, body := range requests {
		if a := s.do("root", "POST", path+"/redact", body); a.Status != http.StatusOK {
			t.Errorf("%s, once it is dismissed: %d %s", path, a.Status, a.Body)
		}
	}
	if faults := check(); len(faults) > 0 {
		t.Errorf("after the redactions a check finds %q", faults)
	}
	if text := rows(); strings.Contains(text, name) || strings.Contains(text, words) {
		t.Errorf("held is still\n%s", text)
	}
	if names := waiting(); len(names) != 1 || names[0] != hazard.RedactedText {
		t.Errorf("held are still %q", names)
	}
}

// replayTo reads the stream of a user from the beginning up to a change.
func (w *world) replayTo(n int64, user string) string {
	w.t.Helper()
	stream := w.subscribe(user, "?after=0")
	for all := ""; ; {
		b := stream.next()
		all += b.data + "\n"
		if b.id == digits(n) {
			return all
		}
	}
}

// holds lists the files below a folder that contain a text.
func holds(t *testing.T, folder, text string) (names []string) {
	t.Helper()
	err := filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		content, err := os.ReadFile(path)
		if bytes.Contains(content, []byte(text)) {
			names = append(names, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}
