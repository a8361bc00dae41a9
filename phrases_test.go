package hazardd

import (
	"bytes"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
)

// unclear are phrases that need a second reading, each with what to write in its place.
var unclear = map[string]string{
	"in whose life lies":              "active at any point in this period",
	"is told a last time":             "you get one last event",
	"what you may know of":            "what you may see",
	"until when the password is good": "how long the password stays valid",
	"what readers caused":             "client errors",
	"beside anybody else's":           "any other source outranks it",
	"whose word counts":               "authority, or rank",
	"an editor has parted":            "an editor splits",
	"by the hundred messages":         "hundreds of messages",
	"for the own organizations":       "for their own organizations",
	"at three in the morning":         "runbook",
	"tells whether":                   "reports whether",
	"is no member of":                 "is not a member of",
	"told to nobody":                  "never shown to clients",
	"fuller report":                   "detail",
	"database for away":               "do not mark the database down",
	"of no kind":                      "unclassified, or of no known type",
	"restricted to nobody":            "unrestricted",
	"make worthless":                  "revoke",
	"are as they were":                "cannot refresh",
	"say what became of it":           "show the result",
	"what became of it":               "the result",
	"sources say again":               "sources repeat",
	"whoever is no member":            "people who are not members",
	"for whoever has nothing else":    "for restores without hazardd",
	"told of nothing":                 "not told about anything new",
}

// No document, message or comment has a phrase of the list.
func TestNoPhraseNeedsASecondReading(t *testing.T) {
	out, err := exec.CommandContext(t.Context(), "git", "ls-files", "-z", "*.go", "*.md", "internal/serve/openapi/*.yaml", "internal/lang/words/en.json", "web/src/*.ts", "web/src/*.tsx").Output()
	if err != nil {
		t.Skipf("needs a checkout of git: %v", err)
	}
	read := 0
	space := regexp.MustCompile(`\s*\n\s*(?://+\s*)?`)
	for name := range bytes.SplitSeq(bytes.TrimRight(out, "\x00"), []byte{0}) {
		file := string(name)
		if strings.HasSuffix(file, "_test.go") || strings.HasPrefix(file, "web/src/openapi.types") {
			continue
		}
		text, err := os.ReadFile(file)
		if err != nil {
			continue // removed, and not committed yet
		}
		read++
		prose := strings.ToLower(string(space.ReplaceAll(text, []byte(" "))))
		for phrase, better := range unclear {
			if strings.Contains(prose, phrase) {
				t.Errorf("%s has %q; write %q", file, phrase, better)
			}
		}
	}
	if read < 500 {
		t.Errorf("%d files were read", read)
	}
}
