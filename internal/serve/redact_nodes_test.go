package serve_test

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/minio/minio-go/v7"

	"github.com/hazardd/hazardd/internal/app"
	"github.com/hazardd/hazardd/internal/store/backup"
	"github.com/hazardd/hazardd/internal/test"
	"github.com/hazardd/hazardd/internal/test/postgres"
	"github.com/hazardd/hazardd/internal/test/s3"
	"github.com/hazardd/hazardd/internal/test/server"
)

// Data that an admin redacts on one node is also removed from the memory of the others, from the
// bucket, and from later backups.
func TestARedactionReachesTheOtherNodeTheBucketAndLaterBackups(t *testing.T) {
	test.SeldomButRaced(t)
	bucket, database := s3.New(t), postgres.URL(t)
	shared := func(c *app.Config) { c.Database, c.Files = database, bucket.Settings() }
	s := start(t, shared)
	other := &world{Server: server.ServeEmpty(t, t.TempDir(), shared), t: t, client: s.client}
	other.tokens = &tokens{issue: other.Token, byUser: map[string]string{}} // its address differs
	const secret = "secretsong"
	h := s.hazard("red", "description", "as "+secret+" says")
	p := s.product("red", h.HazardID, note("data", secret+" in a text"))
	var f item
	s.upload("red", h.HazardID, file(), "report.bin", []byte(secret+" in a file")).JSON(t, &f)

	last := func() int64 {
		n, err := s.Store.Log.Last(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	paths := []string{"/hazards/active", "/hazards/" + h.UUID, "/hazards/" + h.UUID + "/products", "/hazards/" + h.UUID + "/changes", "/products/" + p.UUID, "/products/" + f.UUID + "/file", "/changes", "/hazards/active?f=geojson"}
	finds := func(w *world) (found []string) {
		for _, path := range paths {
			if a := w.do("red", "GET", path, nil); bytes.Contains(a.Body, []byte(secret)) {
				found = append(found, path)
			}
		}
		if strings.Contains(w.replayTo(last(), "red"), secret) {
			found = append(found, "/events")
		}
		return found
	}
	stored := func() (n int) { // objects of the bucket that contain the text
		for o := range bucket.Client.ListObjects(t.Context(), bucket.Name, minio.ListObjectsOptions{Recursive: true}) {
			content, err := bucket.Client.GetObject(t.Context(), bucket.Name, o.Key, minio.GetObjectOptions{})
			if err != nil {
				t.Fatal(err)
			}
			var text bytes.Buffer
			if _, err := text.ReadFrom(content); err != nil {
				t.Fatal(err)
			}
			if bytes.Contains(text.Bytes(), []byte(secret)) {
				n++
			}
		}
		return n
	}
	backup := func() []string { // files of a store restored from a backup that contain the text
		var out bytes.Buffer
		if _, _, err := backup.Write(t.Context(), s.Store, &out, "v1", time.Now(), nil); err != nil {
			t.Fatal(err)
		}
		dir := t.TempDir()
		if _, _, err := backup.Restore(t.Context(), &out, backup.Into{Dir: dir}, time.Now(), nil); err != nil {
			t.Fatal(err)
		}
		return holds(t, dir, secret)
	}
	other.settle(last())
	if found := finds(other); len(found) != len(paths)+1 {
		t.Fatalf("before the redaction, the other node has the text only at %v", found)
	}
	if n, names := stored(), backup(); n != 1 || len(names) < 2 {
		t.Fatalf("before, %d objects and %v of a backup hold the text", n, names)
	}
	for path, fields := range map[string]string{"/hazards/" + h.UUID: "description", "/products/" + p.UUID: "data", "/products/" + f.UUID: "file"} {
		if a := s.do("root", "POST", path+"/redact", `{"fields":["`+fields+`"],"reason":"private"}`); a.Status != 200 {
			t.Fatalf("%d %s", a.Status, a.Body)
		}
	}
	for name, w := range map[string]*world{"the node": s, "the other node": other} {
		w.settle(last())
		if found := finds(w); len(found) > 0 {
			t.Errorf("%s has the text at %v", name, found)
		}
	}
	if n := stored(); n != 0 {
		t.Errorf("%d objects of the bucket hold the text", n)
	}
	if names := backup(); len(names) > 0 {
		t.Errorf("%v of a later backup hold the text", names)
	}
}
