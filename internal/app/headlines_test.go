package app

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/hazardd/hazardd/internal/atlas/population"
	"github.com/hazardd/hazardd/internal/format/headline"
	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/ingest/enrich/exposure"
	"github.com/hazardd/hazardd/internal/ingest/poll"
	"github.com/hazardd/hazardd/internal/ingest/sources/cap"
	"github.com/hazardd/hazardd/internal/lang/words"
	"github.com/hazardd/hazardd/internal/store"
	"github.com/hazardd/hazardd/internal/test/datadir"
	"github.com/hazardd/hazardd/internal/test/recordings"
)

// reference is an entry of HAZARDD_SHARED/headlines.md.
type reference struct {
	id, file, source, key, name, start, want string
	at                                       hazard.Instant
	body                                     string // of an editor's POST /hazards
}

var (
	fromFile = regexp.MustCompile("^- from: `([^`]+)`, source ([\\w-]+), as of (\\S+?); (?:key|event) `([^`]+)`")
	fromBody = regexp.MustCompile("^- from: POST /hazards.*?`(\\{.*\\})` as of (\\S+)")
)

// references reads the entries of the corpus.
func references(t *testing.T) (all []reference) {
	t.Helper()
	for line := range strings.SplitSeq(string(recordings.Read(t, "headlines.md")), "\n") {
		var last *reference
		if len(all) > 0 {
			last = &all[len(all)-1]
		}
		at := ""
		switch {
		case strings.HasPrefix(line, "### S"):
			all = append(all, reference{id: line[4:7]})
		case last == nil:
		case fromFile.MatchString(line):
			m := fromFile.FindStringSubmatch(line)
			last.file, last.source, at, last.key = m[1], m[2], m[3], m[4]
		case fromBody.MatchString(line):
			m := fromBody.FindStringSubmatch(line)
			last.body, at = m[1], m[2]
		case strings.HasPrefix(line, "- facts: name = "):
			last.name, _, _ = strings.Cut(strings.TrimPrefix(line, "- facts: name = "), "; type_ID")
			_, last.start, _ = strings.Cut(line, "; start = ")
			last.start = last.start[:min(len(last.start), len("2006-01-02T15:04"))]
		case strings.HasPrefix(line, "- **") && last.want == "":
			last.want = strings.TrimSuffix(strings.TrimPrefix(line, "- **"), "**")
		}
		if at != "" {
			moment, err := time.Parse(time.RFC3339, at)
			if err != nil {
				t.Fatal(err)
			}
			last.at = hazard.At(moment)
		}
	}
	return all
}

// feeds are the sources that the corpus names and the operator would have to configure.
var feeds = map[string]string{"hr": "croatia", "ba": "bosnia-herzegovina", "de": "germany", "at": "austria"}

// hazardOf imports the file of an entry and returns its hazard, with its people counted, and the
// store that holds it.
func (r *reference) hazardOf(t *testing.T) (*hazard.Hazard, *store.Store) {
	t.Helper()
	var set SourceSettings
	if country, ok := feeds[r.source]; ok {
		set.CAP = []CAPSource{{Config: cap.Config{Name: r.source, URL: "https://feeds.meteoalarm.org/api/v1/warnings/feeds-" + country}}}
	}
	known, err := NewSources(set)
	if err != nil {
		t.Fatal(err)
	}
	s, err := store.Open(t.Context(), datadir.Empty(t), "sqlite:?synchronous=off")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	src, feed, err := known.FindFeed(r.source)
	if err != nil {
		t.Fatal(err)
	}
	replay := poll.NewReplay(s, known.Intake(s), hazard.MinInstant, slog.New(slog.DiscardHandler))
	files := []string{r.file}
	if r.id == "S47" { // the end of an earlier warning
		files = []string{strings.Replace(r.file, "00-19-update", "00-01-alert", 1), r.file}
	}
	for i, file := range files {
		payload := recordings.Read(t, filepath.Join("feeds", file))
		at := r.at.Add(time.Duration(i-len(files)+1) * time.Minute)
		if _, err := replay.Take(t.Context(), &src, feed, payload, nil, at); err != nil {
			if _, ok := errors.AsType[*poll.Failure](err); !ok {
				t.Fatal(err)
			}
		}
	}
	if err := replay.Until(t.Context(), r.at); err != nil {
		t.Fatal(err)
	}
	called, err := s.Hazards.Called(t.Context(), src.Name+":"+r.key)
	if err != nil || len(called) == 0 {
		ids, err := s.Hazards.IDs(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, id := range ids {
			if h, err := s.Hazards.Get(t.Context(), id); err == nil && h.Name == r.name && (r.start == "" || strings.HasPrefix(h.Start.String(), r.start)) {
				called = append(called, h)
			}
		}
	}
	if len(called) == 0 {
		return nil, s
	}
	h := called[0].ExpireAt(r.at)
	grid, err := population.Builtin()
	if err == nil && h.Status == hazard.Active {
		h.Exposure, err = exposure.Count(t.Context(), s, grid, h)
	}
	if err != nil {
		t.Fatal(err)
	}
	return h, s
}

// edited returns the hazard of an editor's POST.
func (r *reference) edited(t *testing.T) *hazard.Hazard {
	t.Helper()
	var b struct {
		Name                     string `json:"hazard_Name"`
		Type                     hazard.Type
		TypeID                   hazard.Type     `json:"type_ID"`
		Severity                 string          `json:"severity_ID"`
		Category                 hazard.Category `json:"category_ID"`
		Latitude, Longitude      float64
		Description, Instruction string
		Start, End               string
		StartDate                string `json:"start_Date"`
		EndDate                  string `json:"end_Date"`
	}
	if err := json.Unmarshal([]byte(r.body), &b); err != nil {
		t.Fatal(err)
	}
	level, _ := hazard.ParseSeverity(b.Severity)
	h := &hazard.Hazard{ID: 1, Name: b.Name, Type: b.TypeID, Severity: level, Category: cmp.Or(b.Category, hazard.Event), Latitude: b.Latitude, Longitude: b.Longitude,
		Description: b.Description, Instruction: b.Instruction, Status: hazard.Active, LastUpdate: r.at, Updated: r.at}
	start, _ := time.Parse("2006-01-02T15:04Z07:00", b.StartDate)
	h.Start = hazard.At(start)
	h.End = h.Start.Add(24 * time.Hour)
	if end, err := time.Parse("2006-01-02T15:04Z07:00", b.EndDate); err == nil {
		h.End, h.EndGiven = hazard.At(end), true
	}
	if r.id == "S54" {
		h.Status, h.Reason, h.Note, h.Severity = hazard.Expired, hazard.EndRetracted, "False report: the dam is sound.", hazard.Termination
		h.End = r.at
	}
	return h
}

// TestTheHeadlinesOfTheCorpus says each hazard of headlines.md, and compares with the headline that
// is right there. It fails on what no headline may be, and reports how many have the same facts in
// the same order.
func TestTheHeadlinesOfTheCorpus(t *testing.T) {
	same, all := 0, references(t)
	for _, r := range all {
		var h *hazard.Hazard
		var around *headline.Around
		var st *store.Store
		if r.body != "" {
			h = r.edited(t)
			around = headline.AroundOf(h)
		} else {
			if h, st = r.hazardOf(t); h == nil {
				t.Logf("%s: %s has no hazard (held)", r.id, r.key)
				continue
			}
			var err error
			if around, err = headline.NewMaker(st.Hazards).Around(t.Context(), h); err != nil {
				t.Fatal(err)
			}
		}
		got := headline.Make(h, around, headline.Reader{Language: words.English(), At: r.at})
		for _, fault := range faultsOf(got.Headline) {
			t.Errorf("%s: %s: %s", r.id, fault, got.Headline)
		}
		if r.want != got.Headline {
			t.Logf("DIFF %s\n  want %s\n  got  %s", r.id, r.want, got.Headline)
		}
		if lacks := lacking(r.want, got.Headline); len(lacks) == 0 {
			same++
		} else {
			t.Logf("%s lacks %q\n  want %s\n  got  %s", r.id, lacks, r.want, got.Headline)
		}
	}
	t.Logf("%d of %d have the same facts in the same order", same, len(all))
}

// faultsOf returns what no headline may be (rules 1 and 19).
func faultsOf(s string) (faults []string) {
	if n := utf8.RuneCountInString(s); n > 190 {
		faults = append(faults, fmt.Sprintf("%d characters", n))
	}
	if !strings.HasSuffix(s, ".") || strings.Contains(s, "!") {
		faults = append(faults, "it does not end as a sentence, or has signs of teletype")
	}
	for _, word := range []string{"MMI", "PAGER", "VTEC", " event", "activity", "significant", "potentially", "more zones", "and 7 more", "OCCURRENCE", "%!"} {
		if strings.Contains(s, word) {
			faults = append(faults, "it says "+word)
		}
	}
	return faults
}

// lacking returns the facts of a headline that another does not have in the same order: its numbers
// and names.
func lacking(want, got string) (lacks []string) {
	rest := got
	for _, word := range strings.FieldsFunc(want, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune(".:,'-°", r)
	}) {
		word = strings.Trim(word, ".,:'")
		if word == "" || !unicode.IsDigit(rune(word[0])) && !unicode.IsUpper([]rune(word)[0]) || slices.Contains([]string{"About", "A", "No", "The", "Its", "There", "Which", "Whether", "Some", "Seen", "Dangerous"}, word) {
			continue
		}
		_, after, ok := strings.Cut(rest, word)
		if !ok {
			lacks = append(lacks, word)
			continue
		}
		rest = after
	}
	return lacks
}
