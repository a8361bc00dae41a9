package deploy_test

import (
	"strings"
	"testing"
)

// The notes of the release fit one screen, and name the files that release.sh makes.
func TestTheNotesOfTheReleaseAreShort(t *testing.T) {
	notes := read(t, "deploy/notes.md")
	if n := strings.Count(notes, "\n"); n > 40 {
		t.Errorf("the notes have %d lines, want 40 or fewer", n)
	}
	version, _, _ := strings.Cut(strings.TrimPrefix(notes, "# hazardd "), "\n")
	if !strings.Contains(read(t, "CHANGELOG.md"), "\n## "+version) {
		t.Errorf("CHANGELOG.md has no heading for %s", version)
	}
	for _, file := range []string{"hazardd_" + version + "_source.tar.gz", "SHA256SUMS", ".spdx.json"} {
		if !strings.Contains(notes, file) {
			t.Errorf("the notes do not name %s", file)
		}
	}
}
