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
	"github.com/hazardd/hazardd/internal/test"
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

// imported are the stores of the files that were imported: several entries are of one file.
type imported map[string]importedFile

type importedFile struct {
	*store.Store
	source string // its name
}

// of imports the file of an entry.
func (all imported) of(t *testing.T, r *reference) importedFile {
	t.Helper()
	name := fmt.Sprint(r.file, r.source, r.at)
	if f, ok := all[name]; ok {
		return f
	}
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
	all[name] = importedFile{s, src.Name}
	return all[name]
}

// hazardIn returns the hazard of an entry, with its people counted.
func (r *reference) hazardIn(t *testing.T, s importedFile) *hazard.Hazard {
	t.Helper()
	called, err := s.Hazards.Called(t.Context(), s.source+":"+r.key)
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
		return nil
	}
	h := called[0].ExpireAt(r.at)
	grid, err := population.Builtin()
	if err == nil && h.Status == hazard.Active {
		h.Exposure, err = exposure.Count(t.Context(), s.Store, grid, h)
	}
	if err != nil {
		t.Fatal(err)
	}
	return h
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
// is right there: word for word, or with the one that is stated here, which has the same facts in the
// same order but for what is stated. It fails on what no headline may be.
func TestTheHeadlinesOfTheCorpus(t *testing.T) {
	test.SeldomButRaced(t)
	same, worded, all := 0, 0, references(t)
	files := imported{}
	for _, r := range all {
		var h *hazard.Hazard
		var around *headline.Around
		if r.body != "" {
			h = r.edited(t)
			around = headline.AroundOf(h)
		} else {
			st := files.of(t, &r)
			if h = r.hazardIn(t, st); h == nil {
				if r.id != "S55" { // the only one that is held: lists of held reports say its name and why
					t.Errorf("%s: %s has no hazard", r.id, r.key)
				}
				worded++
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
		switch other, ok := stated[r.id]; {
		case got.Headline == r.want:
			same++
		case ok && got.Headline == other.say:
			worded++
			for _, fact := range lacking(r.want, got.Headline) {
				if !strings.Contains(other.without, fact) {
					t.Errorf("%s does not say %q: %s", r.id, fact, got.Headline)
				}
			}
		default:
			t.Errorf("%s\n  want %s\n  or   %s\n  got  %s", r.id, r.want, other.say, got.Headline)
		}
	}
	t.Logf("%d of %d word for word, %d in other words that are stated", same, len(all), worded)
}

// stated are headlines that are as good as the reference or better, and why. without are the facts
// of the reference that they leave out: its numbers, names and words of danger.
var stated = map[string]struct{ say, without, why string }{
	"S09": {say: "Tsunami warning for the coast of Alaska from Unimak Pass to Amchitka Pass until further notice. Dangerous coastal flooding and currents are possible.", why: "a comma"},
	"S11": {say: "Hurricane Ida, category 4, winds 220 km/h, 110 km off the United States, moving northwest at 24 km/h.", without: "Arrival times by town are not known", why: "they are known now: the exposure has them"},
	"S23": {say: "Wildfire near Valparaíso, Viña del Mar and Quilpué, Chile since Friday. Size and danger are not known.", why: "a comma"},
	"S29": {say: "Flood in Nepal since 26 August: Copernicus ended its response on Monday 14 September. Whether the danger is over is not known.", without: "mapping flood", why: "the record says that the response ended, not what it was"},
	"S30": {say: "Flash flood emergency for Medina County, Texas, until Wednesday 20:30: life-threatening flooding now. D'Hanis is affected.", without: "until Wednesday 20:30", why: "the order of rule 1: where, until when, how bad"},
	"S31": {say: "Tornado warning until Tuesday 15:00 for Fremont, Mills, Montgomery and Page counties, Iowa, including Red Oak. Seen by radar; about 9,100 people.", why: "for, as all warnings"},
	"S35": {say: "Extreme heat warning until Friday 21:00 around Minneapolis and Saint Paul, Minnesota: feels like 38 °C. About 4.8 million people live there.", why: "the state, and what the people have to do with it"},
	"S38": {say: "Lake effect snow warning until Tuesday 13:00 for Oswego County, New York: 20 to 30 cm of snow.", without: "far north", why: "of what; the greatest depth is a danger that the whole county should know"},
	"S39": {say: "Winter storm possible from Tuesday 20:00 to Wednesday 23:00 for the West Glacier Region, Montana: heavy snow.", why: "for, as all warnings"},
	"S40": {say: "Hurricane warning until further notice around Hilo and Kailua-Kona, Hawaii. About 210,000 people live there.", without: "island Hilo Kailua-Kona", why: "the towns before the state, which has the name of the island"},
	"S41": {say: "Coastal flood advisory until Thursday 04:00 for San Francisco Bay, California: up to 0.5 m of water on shores.", without: "low", why: "with the state (rule 9)"},
	"S42": {say: "Air quality alert around Austin, Texas, on Thursday: high ozone.", without: "area expected", why: "shorter"},
	"S43": {say: "Red wind warning on Monday for the Rijeka region, Croatia: gusts 200 km/h. About 450,000 people live there.", why: "gusts as elsewhere"},
	"S44": {say: "Yellow cold warning on Wednesday 00:00–10:00 for Livno, Bosnia and Herzegovina: down to -7 °C.", without: "region", why: "the source's own place"},
	"S45": {say: "Frost on Tuesday 00:00–07:00 for Kreis Ludwigsburg and Schwarzwald-Baar-Kreis, Germany: 0 to -2 °C.", why: "a span as in others of the corpus"},
	"S46": {say: "Tornado warning until Saturday 17:26 for Kitchener, Cambridge, Region of Waterloo, Canada. A storm may be producing one; about 510,000 people.", why: "rule 14: people at the level WARNING"},
	"S47": {say: "Ended: tornado warning for R.M. of Rosthern including Rosthern Hague and Carlton, Canada. Tornadoes associated with this alert are no longer expected in the area.", why: "the source's own words"},
	"S48": {say: "Red high-temperature warning until Sunday 13:32 for Penglai, Shandong, China: over 39 °C, locally over 40 °C. About 600,000 people live there.", why: "what the people have to do with it"},
	"S49": {say: "Moderate rain until Wednesday 01:00 in Pondicherry and 13 districts around, India.", without: "Rain thunder lightning", why: "an official warning keeps its official word (rule 2)"},
	"S52": {say: "Chemical leak at harbour, 1 km off the Netherlands: ammonia leak. Which area is affected is not known.", without: "2 off", why: "the distance to the built-in coast"},
	"S54": {say: "Withdrawn: dam break at Vajont, Italy. False report: the dam is sound.", without: "report dam break Vajont Italy false", why: "the editor's own words, after what it was"},
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

// lacking returns the facts of a headline that another does not have in the same order: its numbers,
// names and all words that say something.
func lacking(want, got string) (lacks []string) {
	rest := strings.ToLower(got)
	for word := range strings.FieldsFuncSeq(want, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune(".:,'-°", r)
	}) {
		word = strings.Trim(word, ".,:'")
		if word == "" || slices.Contains(silent, strings.ToLower(word)) {
			continue
		}
		_, after, ok := strings.Cut(rest, strings.ToLower(word))
		if !ok {
			lacks = append(lacks, word)
			continue
		}
		rest = after
	}
	return lacks
}

// silent are words that say nothing by themselves.
var silent = []string{"a", "the", "of", "for", "in", "on", "at", "to", "and", "is", "are", "was", "its", "it", "there", "about", "around", "near", "there", "including", "associated", "with"}
