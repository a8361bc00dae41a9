package hazardd

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/hazardd/hazardd/internal/test/program"
	"github.com/hazardd/hazardd/internal/test/server"
)

// The tour works when pasted: each of its commands runs, and each has an answer.
func TestTheTourWorks(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	text, err := os.ReadFile("docs/start.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, found := strings.Cut(string(text), "## Build on it")
	var tour string
	for _, m := range regexp.MustCompile("(?ms)^```sh\n(.*?)^```$").FindAllStringSubmatch(rest, -1) {
		tour += m[1]
	}
	if !found || tour == "" {
		t.Fatal("docs/start.md has no tour")
	}
	if _, err := exec.LookPath("curl"); err != nil {
		t.Skip("the tour needs curl, which is not installed")
	}
	dir := t.TempDir()
	path, err := program.Build(dir)
	if err != nil {
		t.Fatal(err)
	}
	data := filepath.Join(dir, "data")
	server := server.ServeEmpty(t, data)

	tour = strings.ReplaceAll(tour, "bin/hazardd", path+" --data "+data)
	tour = strings.ReplaceAll(tour, "http://127.0.0.1:8080", server.URL())
	// Put each answer on its own line, and fail on error statuses.
	tour = strings.ReplaceAll(tour, "curl -s", "curl --fail-with-body -w '\\n' -s")
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "bash", "-euo", "pipefail")
	cmd.Dir, cmd.Stdin = dir, strings.NewReader(tour)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("the tour: %v\n%s", err, out)
	}
	for _, want := range []string{`"severity_ID":"WARNING"`, `"product_total":"1"`, `"title":"The quay at 06:10"`, `"field":"severity_ID","from":"WATCH","to":"WARNING"`,
		`"type":"FeatureCollection"`, `"retracted":true`, `"note":"It was the spring tide."`, "Flood - New Harbour", "event: hazard.created\ndata: {"} {
		if !strings.Contains(string(out), want) {
			t.Errorf("%s is missing in the output of the tour:\n%s", want, out)
		}
	}
}
