package serve_test

import (
	"bytes"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"

	"github.com/hazardd/hazardd/internal/app"
	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/ingest/evidence"
	"github.com/hazardd/hazardd/internal/ingest/fuse"
	"github.com/hazardd/hazardd/internal/ingest/source"
	"github.com/hazardd/hazardd/internal/store"
	"github.com/hazardd/hazardd/internal/test"
	"github.com/hazardd/hazardd/internal/test/server"
)

// songWord is a word in every text that goes in and is redacted, and song is such a text.
const (
	songWord = "secretsong"
	song     = "The " + songWord + " of Anna Nobody was heard at her house by the river."
)

// A text goes in on every way there is, is redacted, and is then in no file of the server, in no part
// of its continuous backup, and in no answer to a reader or an editor.
func TestACanaryIsNowhereAfterARedaction(t *testing.T) {
	test.NoRace(t)
	t.Parallel() // it waits more than it works
	var data, database string
	backup := t.TempDir()
	s, box := posted(t, func(c *app.Config) {
		if data, database = c.DataDir, c.Database; database == "" {
			c.Backup = app.Backup{Dir: backup, Keep: 24 * time.Hour}
		}
		c.ApproveWarnings = true
	})
	in := s.canaries(t, box)
	before, _ := s.hears(t, in)
	if len(before) < 25 {
		t.Errorf("before, only these answers hold the canary: %v", before)
	}
	if database == "" {
		eventually(t, "the backup holds the canary", func() bool { names, _ := holding(t, backup); return len(names) > 0 })
	}
	for _, r := range in.redactions {
		if a := s.do("root", "POST", r[0]+"/redact", r[1]); a.Status != http.StatusOK || bytes.Contains(a.Body, []byte(songWord)) {
			t.Fatalf("%s: %d %s", r[0], a.Status, a.Body)
		}
	}
	last, err := s.Store.Log.Last(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	s.settle(last)
	after, heard := s.hears(t, in)
	if len(after) > 0 {
		t.Errorf("after, these answers hold the canary: %v", after)
	}
	if a := s.do("red", "GET", "/payloads/"+in.innocent, nil); a.Status != http.StatusOK {
		t.Errorf("a payload without the text is gone too: %d %s", a.Status, a.Body)
	}
	if database != "" { // PostgreSQL keeps its files itself
		t.Logf("%d answers, %d bytes searched, %d traces", heard.places, heard.bytes, len(after))
		return
	}
	var kept walk
	eventually(t, "the backup begins anew", func() bool {
		var names []string
		names, kept = holding(t, backup)
		return len(names) == 0
	})
	names, stored := holding(t, data)
	if len(names) > 0 {
		t.Errorf("these files hold the canary: %v", names)
	}
	t.Logf("%d answers, %d files of the server and %d of its backup, %d bytes searched, %d traces",
		heard.places, stored.places, kept.places, heard.bytes+stored.bytes+kept.bytes, len(after)+len(names))
	s.knownFiles(t, data)
}

// walk counts where a canary was looked for.
type walk struct{ places, bytes int }

func (w *walk) add(text []byte) { w.places, w.bytes = w.places+1, w.bytes+len(text) }

// canaries is what went in.
type canaries struct {
	parameters map[string][]string // of paths
	redactions [][2]string         // path and body
	innocent   string              // digest of a payload without the text
}

// canaries lets the text in on every way.
func (w *world) canaries(t *testing.T, box *mailbox) *canaries {
	t.Helper()
	if a := w.do("root", "PUT", "/organizations/"+digits(w.RedCross)+"/publishing", plainProfile()); a.Status != http.StatusOK {
		t.Fatalf("%d %s", a.Status, a.Body)
	}
	a := w.do("root", "POST", "/subscriptions", `{"channels":[{"kind":"email","to":"bob@example.org"}],"confirmed":true}`)
	var sub struct{ ID string }
	if a.JSON(t, &sub); a.Status != http.StatusCreated {
		t.Fatalf("%d %s", a.Status, a.Body)
	}
	// A source: reports with texts in two languages and products, held ones, unreadable records, payloads.
	r := quake("us7000canary", 1)
	r.Name, r.Description = "Earthquake of the "+songWord, song+"\n\nMore of it is not known."
	r.Texts = []hazard.Text{{Language: "en", Own: true, Name: r.Name, Description: r.Description}, {Language: "fr", Name: "Séisme de la " + songWord, Description: "On a entendu la " + songWord + " chez Anna Nobody."}}
	r.Products = []hazard.ReportProduct{{Key: "text", Title: "The text", Type: hazard.TextProduct, Data: "AS SENT:\n" + strings.ReplaceAll(strings.ToUpper(song), " ", "\n")}}
	feed := fmt.Appendf(nil, `{"id":"us7000canary","title":"Earthquake of the %s","text":"%s","fr":"On a entendu la %s chez Anna Nobody."}`, songWord, strings.ReplaceAll(song, " of ", `\nof\n`), songWord)
	other := []byte(`{"id":"us7000other","text":"Nothing was heard."}`)
	now := w.Now()
	for _, payload := range [][]byte{feed, other} {
		kept := store.Receipt{Source: "usgs", Kind: evidence.Feed, Read: now, Taken: now, Kept: now, Error: "cannot read: " + song}
		if err := w.Evidence.Keep(t.Context(), kept, payload); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := w.intake().Apply(t.Context(), "usgs", source.Batch{Reports: []hazard.Report{r}, Rejects: []source.Reject{{Record: "us7000bad", Reason: "cannot read " + song, Raw: []byte(song)}}, Read: 2},
		now, fuse.Options{Payload: evidence.Digest(feed)}); err != nil {
		t.Fatal(err)
	}
	r.Version, r.Suspect = 2, "it says: "+song
	if _, err := w.intake().Apply(t.Context(), "usgs", source.Batch{Reports: []hazard.Report{r}, Read: 1}, now, fuse.Options{}); err != nil {
		t.Fatal(err)
	}
	quake := hazard.EventUUID(r.Source, r.Key).String()
	// An editor: a hazard that is published and told of, changes of it, products, a file, and a draft.
	h := w.hazard("red", "hazard_Name", "Flood of the "+songWord, "description", song, "instruction", "Listen to the "+songWord+".")
	w.do("red", "PATCH", "/hazards/"+h.UUID, `{"description":"Again: `+song+`","comment_Text":"the `+songWord+`"}`)
	p := w.product("red", h.HazardID, note("title", "The "+songWord, "data", song, "comment_Text", songWord))
	var f item
	w.upload("red", h.HazardID, file("title", "A file"), songWord+".txt", []byte(song)).JSON(t, &f)
	gone := w.product("red", h.HazardID, note("title", "A title with the "+songWord))
	w.do("red", "DELETE", "/products/"+gone.UUID, nil)
	var d drafted
	if a := w.do("red", "PATCH", "/hazards/"+h.UUID, `{"severity_ID":"WARNING","description":"More of it: `+song+`"}`); a.Status != http.StatusAccepted {
		t.Fatalf("no draft: %d %s", a.Status, a.Body)
	} else {
		a.JSON(t, &d)
	}
	for told := 0; told < 2; { // of both hazards
		if m := box.next(t); strings.Contains(m.text, songWord) {
			told++
		}
	}
	last, err := w.Store.Log.Last(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	w.settle(last)
	return &canaries{innocent: evidence.Digest(other),
		parameters: map[string][]string{"{hazard-id}": {h.UUID, quake}, "{feature-id}": {h.UUID, quake}, "{product-id}": {p.UUID, f.UUID, gone.UUID}, "{source-id}": {"usgs"}, "{draft-id}": {d.ID},
			"{subscription-id}": {sub.ID}, "{sha256}": {evidence.Digest(feed)}, "{org}": {digits(w.RedCross)}, "{user}": {"red"}, "{collection-id}": {"hazards", "active-hazards"}},
		redactions: [][2]string{
			{"/hazards/" + h.UUID, `{"fields":["hazard_Name","description","comment_Text","instruction"],"reason":"private"}`},
			{"/hazards/" + quake, `{"fields":["hazard_Name","description"],"reason":"private"}`},
			{"/products/" + p.UUID, `{"fields":["title","data","comment_Text"],"reason":"private"}`},
			{"/products/" + f.UUID, `{"fields":["file"],"reason":"private"}`},
			{"/products/" + gone.UUID, `{"fields":["title"],"reason":"private"}`},
		}}
}

// hears lists the answers that hold the canary, to a reader, an editor and an admin: of each operation
// that reads, in every format.
func (w *world) hears(t *testing.T, in *canaries) (found []string, walked walk) {
	t.Helper()
	contract, err := server.Contract()
	if err != nil {
		t.Fatal(err)
	}
	var paths []string
	for _, op := range contract.Operations() {
		path, reads := strings.CutPrefix(op, "GET ")
		if !reads || strings.HasPrefix(path, "/key/") || strings.HasPrefix(path, "/login") || path == "/events" {
			continue
		}
		filled := []string{path}
		for name, values := range in.parameters {
			var more []string
			for _, path := range filled {
				if !strings.Contains(path, name) {
					more = append(more, path)
					continue
				}
				for _, value := range values {
					more = append(more, strings.ReplaceAll(path, name, value))
				}
			}
			filled = more
		}
		paths = append(paths, filled...)
	}
	for _, path := range []string{"/hazards/active", "/hazards/" + in.parameters["{hazard-id}"][0], "/hazards/" + in.parameters["{hazard-id}"][1]} {
		for _, f := range []string{"geojson", "cap", "atom", "rss", "kml", "csv"} {
			paths = append(paths, path+"?f="+f)
		}
		paths = append(paths, path+"?lang=fr")
	}
	paths = append(paths, "/hazards?q="+songWord, "/hazards?f=gpkg", "/hazards?f=kml", "/hazards?f=geojson", "/arcgis/rest/services/hazards/FeatureServer/0/query?where=1%3D1&outFields=*&f=json")
	for _, user := range []string{"reader", "red", "root"} {
		for _, path := range paths {
			req := newRequest(t, w.tokens, user, "GET", w.URL()+path, nil)
			resp, err := w.client.Do(req)
			if err != nil {
				t.Fatalf("%s: %v", path, err)
			}
			var body bytes.Buffer
			_, err = body.ReadFrom(resp.Body)
			resp.Body.Close()
			if err != nil {
				t.Fatalf("%s: %v", path, err)
			}
			text := decode(t, resp.Header.Get("Content-Encoding"), body.Bytes())
			walked.add(text)
			if text = bytes.ReplaceAll(text, []byte("q="+songWord), nil); holdsCanary(text) || holdsCanary([]byte(resp.Header.Get("Content-Disposition"))) {
				found = append(found, user+" "+path)
			}
		}
		last, err := w.Store.Log.Last(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		events := []byte(w.replayTo(last, user))
		if walked.add(events); holdsCanary(events) {
			found = append(found, user+" /events")
		}
	}
	return found, walked
}

func holdsCanary(text []byte) bool { return bytes.Contains(bytes.ToLower(text), []byte(songWord)) }

// holding lists the files below a folder that hold the canary, as they are or within zstd.
func holding(t *testing.T, folder string) (names []string, walked walk) {
	t.Helper()
	unzip, err := zstd.NewReader(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer unzip.Close()
	err = filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return skipGone(err)
		}
		content, err := os.ReadFile(path)
		if err != nil {
			return skipGone(err)
		}
		if plain, err := unzip.DecodeAll(content, nil); err == nil {
			content = append(content, plain...)
		}
		if walked.add(content); holdsCanary(content) {
			names = append(names, path)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return names, walked
}

// skipGone ignores that a file was removed while others were read.
func skipGone(err error) error {
	if os.IsNotExist(err) {
		return nil
	}
	return err
}

// knownFiles checks that each file of the data folder is in the inventory, or holds no text.
func (w *world) knownFiles(t *testing.T, data string) {
	t.Helper()
	all, err := w.Store.Inventory(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	err = filepath.WalkDir(data, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return skipGone(err)
		}
		name, _ := filepath.Rel(data, path)
		if !slices.ContainsFunc(all, func(h store.Holding) bool {
			return name == h.Place || strings.HasSuffix(h.Place, "/") && strings.HasPrefix(filepath.ToSlash(name), h.Place)
		}) {
			t.Errorf("the inventory of redactions does not know the file %s of the data folder; add it to besideTables", name)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func eventually(t testing.TB, what string, holds func() bool) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); !holds(); time.Sleep(100 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Errorf("after a minute it does not hold: %s", what)
			return
		}
	}
}
