package app_test

import (
	"cmp"
	"fmt"
	"go/ast"
	goparser "go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/hazardd/hazardd/internal/app"
	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/ingest/source"
	"github.com/hazardd/hazardd/internal/ingest/sources/official"
)

// builtIn returns the built-in sources, without the catalog.
func builtIn(t *testing.T) (all []source.Source) {
	t.Helper()
	known := app.BuiltIn()
	for _, name := range known.Own() {
		src, err := known.Find(name)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, src.Source)
	}
	return all
}

// No package other than a source's own names it, in code or in texts for people (D9). Everything
// that depends on a source is in its description. The list of sources is the only exception. Tests
// and benchmarks may use names of sources.
func TestNoOtherPackageNamesASource(t *testing.T) {
	names := app.BuiltIn().Own()
	var words []string
	for _, name := range names {
		if name == "tsunami" { // also an ordinary word
			name = `tsunami:|sources/tsunami`
		}
		words = append(words, name)
	}
	word := regexp.MustCompile(`\b(` + strings.Join(words, "|") + `)\b`)
	root := filepath.Join("..", "..")
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, _ := filepath.Rel(root, path)
		rel = filepath.ToSlash(rel)
		if d.IsDir() {
			if rel == "bench" || rel == "web" || rel != "." && strings.HasPrefix(d.Name(), ".") || strings.HasPrefix(rel, "internal/ingest/sources/") && slices.Contains(names, d.Name()) {
				return fs.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(rel, ".go") || strings.HasSuffix(rel, "_test.go") || rel == "internal/app/sources.go" {
			return nil
		}
		set := token.NewFileSet()
		file, err := goparser.ParseFile(set, path, nil, goparser.SkipObjectResolution)
		if err != nil {
			return err
		}
		ast.Inspect(file, func(n ast.Node) bool {
			// The reader of CAP may contain words of a service that sends CAP.
			if _, isImport := n.(*ast.ImportSpec); isImport && strings.HasPrefix(rel, "internal/ingest/sources/") {
				return false
			}
			text, ok := n.(*ast.BasicLit)
			if !ok || text.Kind != token.STRING {
				return true
			}
			if s, err := strconv.Unquote(text.Value); err == nil && word.MatchString(s) {
				t.Errorf("%s:%d: %s names the source %s", rel, set.Position(text.Pos()).Line, text.Value, word.FindString(s))
			}
			return true
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// docs/sources.md contains the data of each source's description. make tables rewrites it.
func TestTheTablesOfSourcesAreThoseOfTheDescriptions(t *testing.T) {
	all := builtIn(t)
	tables(t, "../../docs/sources.md", map[string]string{"sources": sourcesTable(all), "ranks": ranksTable(all), "ends": endsTable(all), "terms": termsTable(all), "coverage": coverageTable(all), "types": typesTable(t, all)})
	tables(t, "../../docs/first-source.md", map[string]string{"lists": listsTable(t, all)})
	tables(t, "../../docs/sources.md", map[string]string{"practices": practicesTable()})
	tables(t, "../../docs/interface.md", map[string]string{"quantities": quantitiesTable()})
}

// tables checks the tables in a file, or writes them with -update.
func tables(t *testing.T, file string, tables map[string]string) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	doc := string(text)
	for name, table := range tables {
		begin, end := "<!-- begin "+name+": make tables -->\n", "<!-- end "+name+" -->\n"
		before, rest, ok := strings.Cut(doc, begin)
		is, after, ok2 := strings.Cut(rest, end)
		if !ok || !ok2 {
			t.Fatalf("%s: no part from %q to %q", file, begin, end)
		}
		if is != table && !*update {
			t.Errorf("%s: the table %s is not that of the descriptions; run make tables", file, name)
		}
		doc = before + begin + table + end + after
	}
	if *update {
		if err := os.WriteFile(file, []byte(doc), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func quantitiesTable() string {
	b := &strings.Builder{}
	fmt.Fprintln(b, "| name | unit | what it is | worse |\n|---|---|---|---|")
	for _, info := range hazard.Quantities() {
		unit := info.Unit
		if len(info.Words) > 0 {
			unit = strings.Join(info.Words, ", ")
		}
		fmt.Fprintf(b, "| `%s` | %s | %s | %s |\n", info.Name, unit, info.Meaning, map[bool]string{true: "lower", false: "higher"}[info.Falling])
	}
	return b.String()
}

func sourcesTable(all []source.Source) string {
	b := &strings.Builder{}
	fmt.Fprintln(b, "| name | title | what it reports | countries | polled | warns |\n|---|---|---|---|---|---|")
	for _, s := range all {
		var every []string
		for _, f := range s.Feeds {
			if text := pace(f); !slices.Contains(every, text) {
				every = append(every, text)
			}
		}
		covers := s.Covers
		if s.Off != "" {
			covers += ". Off unless you name it: " + s.Off
		}
		fmt.Fprintf(b, "| `%s` | %s | %s | %s | %s | %s |\n", s.Name, s.Title, covers, cmp.Or(strings.Join(s.Countries, ", "), "world"), strings.Join(every, ", "),
			map[bool]string{true: "yes"}[s.Warns])
	}
	return b.String()
}

// pace is how often a feed is polled: usually, and while it changes.
func pace(f source.Feed) string {
	if f.Fastest > 0 && f.Fastest < f.Every {
		return span(f.Every) + "–" + span(f.Fastest)
	}
	return span(f.Every)
}

func ranksTable(all []source.Source) string {
	means := map[source.Rank]string{
		source.Responsible: "the office whose duty these hazards are: it measures or warns",
		source.Specialist:  "another institute or service that observes them itself",
		source.National:    "a national authority that passes on what its offices say",
		source.Model:       "estimates the impact from the observations of others",
		source.Responder:   "reports a response, and has no level of its own",
		source.Curator:     "collects what others report",
		source.Relay:       "repeats what another server says",
	}
	more := map[source.Rank]string{source.National: "your CAP feeds, unless you state another `rank`", source.Relay: "another server"}
	b := &strings.Builder{}
	fmt.Fprintln(b, "| rank | what it means | sources |\n|---|---|---|")
	for rank := source.Responsible; rank <= source.Relay; rank++ {
		var who []string
		for _, s := range all {
			var types []string
			for _, typ := range slices.Sorted(maps.Keys(s.Rank)) {
				if s.Rank[typ] != rank {
					continue
				}
				if typ == "" {
					types = append(types, map[bool]string{true: "all types", false: "all other types"}[len(s.Rank) == 1])
					continue
				}
				info, _ := typ.Info()
				types = append(types, strings.ToLower(info.Name))
			}
			if types != nil {
				who = append(who, fmt.Sprintf("`%s` (%s)", s.Name, strings.Join(types, ", ")))
			}
		}
		if text := more[rank]; text != "" {
			who = append(who, text)
		}
		fmt.Fprintf(b, "| `%s` | %s | %s |\n", rank, means[rank], strings.Join(who, "; "))
	}
	return b.String()
}

func endsTable(all []source.Source) string {
	b := &strings.Builder{}
	fmt.Fprintln(b, "| name | an event that a whole list does not name | lasts without an end of its own |\n|---|---|---|")
	for _, s := range all {
		var lives []string
		for _, l := range s.Lives {
			lives = append(lives, l.Of+" "+span(l.For))
		}
		absence := "says nothing"
		if l := s.Lists; l.Complete == source.Yes && l.Confirmations() > 1 {
			absence = fmt.Sprintf("has ended, after %d lists", l.Confirmations())
		} else if l.Complete == source.Yes {
			absence = "has ended"
		}
		if s.Lasts != nil {
			absence += "; of some events it has ended, after 2 lists"
		}
		if s.Missing != nil {
			absence = "is asked about"
		}
		fmt.Fprintf(b, "| `%s` | %s | %s |\n", s.Name, absence, strings.Join(lives, "; "))
	}
	return b.String()
}

// listsTable has a row for each source: what is known of its lists, and what is not.
func listsTable(t *testing.T, all []source.Source) string {
	t.Helper()
	b := &strings.Builder{}
	fmt.Fprintln(b, "| name | listed is in force | absent is over | lists | silence | identity | no end |\n|---|---|---|---|---|---|---|")
	for _, s := range all {
		l := s.Lists
		if l.Identity == "" || l.NoEnd == "" || l.Cite == "" {
			t.Errorf("%s: lists %+v, expected an identity, what no end means, and the evidence", s.Name, l)
		}
		var confirm, silence string
		if l.InForce == source.Yes || l.Complete == source.Yes {
			confirm, silence = strconv.Itoa(l.Confirmations()), span(l.Patience())
		}
		fmt.Fprintf(b, "| `%s` | %s | %s | %s | %s | %s | %s |\n", s.Name, l.InForce, l.Complete, confirm, silence, l.Identity, l.NoEnd)
	}
	return b.String()
}

func practicesTable() string {
	feeds := map[string][]string{}
	for i := range official.Feeds() {
		if f := &official.Feeds()[i]; f.Default() {
			name := official.PracticeOf(f.URL).Name
			feeds[name] = append(feeds[name], f.Name)
		}
	}
	b := &strings.Builder{}
	fmt.Fprintln(b, "| sender | on by default | listed is in force | absent is over | cut at | identity | `expires` | not after `sent` | taken back by | languages |\n|---|---|---|---|---|---|---|---|---|---|")
	for _, p := range official.Practices() {
		var on string
		if all := feeds[p.Name]; len(all) > 40 { // the rest of one bucket
			on = fmt.Sprintf("%d feeds", len(all))
		} else if len(all) > 0 {
			on = "`" + strings.Join(all, "`, `") + "`"
		}
		fmt.Fprintf(b, "| %s | %s | %s | %s | %s | %s | %s | %s | %s | %s |\n", p.Name, on, p.Lists.InForce, p.Lists.Complete, strings.TrimPrefix(strconv.Itoa(p.Lists.Cut), "0"),
			p.Identity, cmp.Or(p.Expires, "unknown"), cmp.Or(p.Early, "unknown"), p.Cancels, p.Languages)
	}
	return b.String()
}

func termsTable(all []source.Source) string {
	b := &strings.Builder{}
	fmt.Fprintln(b, "| name | publisher | license | languages |\n|---|---|---|---|")
	for _, s := range all {
		fmt.Fprintf(b, "| `%s` | [%s](%s) | %s | %s |\n", s.Name, s.Attribution, s.Home, s.License, strings.Join(s.Languages, ", "))
	}
	return b.String()
}

// nobody says why no source that is on by default names a type, and what the way in is.
var nobody = map[hazard.Type]string{
	hazard.Accident:          "civil protection's CAP feeds, when they warn",
	hazard.ActiveShooter:     "no public source for machines; civil protection's CAP feeds, when they warn",
	hazard.CivilUnrest:       "ACLED forbids redistribution; editors",
	hazard.Combat:            "as conflict",
	hazard.Conflict:          "UCDP publishes four weeks late or more, which is no warning; ACLED forbids redistribution; editors",
	hazard.Cyber:             "CISA's catalog has neither place nor level, and adds about 20 entries a month (at most 15 at once in the states recorded); editors",
	hazard.Equipment:         "the operator's own: no public source can know it; editors",
	hazard.Incident:          "civil protection's CAP feeds, when they warn",
	hazard.PoliticalConflict: "as conflict",
	hazard.Terrorism:         "civil protection's CAP feeds, when they warn",
	hazard.Unit:              "the operator's own: no public source can know it; editors",
	hazard.Weapons:           "as conflict",
}

// typesTable has a row for each type: the sources that state it, on or off, and why nobody does.
func typesTable(t *testing.T, all []source.Source) string {
	t.Helper()
	b := &strings.Builder{}
	fmt.Fprintln(b, "| type | on by default | off by default | otherwise |\n|---|---|---|---|")
	for _, info := range hazard.Types() {
		var on, off []string
		for i := range all {
			s := &all[i]
			types := s.Types
			for _, c := range s.Covered() {
				types = append(slices.Clone(types), s.TypesOf(&c)...)
			}
			if !slices.Contains(types, info.ID) {
				continue
			}
			if s.Off != "" {
				off = append(off, "`"+s.Name+"`")
			} else {
				on = append(on, fmt.Sprintf("`%s` (%s)", s.Name, pace(s.Feeds[0])))
			}
		}
		reason := nobody[info.ID]
		if (len(on) == 0) != (reason != "") {
			t.Errorf("%s: sources %v, reason %q, expected one of the two", info.ID, on, reason)
		}
		fmt.Fprintf(b, "| `%s` | %s | %s | %s |\n", info.ID, strings.Join(on, ", "), strings.Join(off, ", "), reason)
	}
	return b.String()
}

func coverageTable(all []source.Source) string {
	b := &strings.Builder{}
	fmt.Fprintln(b, "| name | role | types | places | from |\n|---|---|---|---|---|")
	for _, s := range all {
		for _, c := range s.Covered() {
			var types, places []string
			for _, typ := range s.TypesOf(&c) {
				info, _ := typ.Info()
				types = append(types, strings.ToLower(info.Name))
			}
			if c.World {
				places = append(places, "world")
			}
			places = append(places, c.Countries...)
			for _, a := range c.Areas {
				places = append(places, a.Name)
			}
			where := strings.Join(places, ", ")
			for i, a := range c.Within {
				where += map[bool]string{true: ", only in ", false: " or "}[i == 0] + a.Name
			}
			if c.Sea > 0 {
				where += fmt.Sprintf(", to %.0f km off the coast", c.Sea)
			}
			fmt.Fprintf(b, "| `%s` | %s | %s | %s | %s |\n", s.Name, c.Role, cmp.Or(strings.Join(types, ", "), "not stated"), cmp.Or(where, "not known"), c.From)
		}
	}
	return b.String()
}

// span formats a duration for people.
func span(d time.Duration) string {
	switch {
	case d%(24*time.Hour) == 0 && d > 72*time.Hour:
		return fmt.Sprintf("%d d", d/(24*time.Hour))
	case d%time.Hour == 0:
		return fmt.Sprintf("%d h", d/time.Hour)
	case d%time.Minute == 0:
		return fmt.Sprintf("%d min", d/time.Minute)
	}
	return fmt.Sprintf("%d s", d/time.Second)
}

// checkDescription checks that a source's description agrees with its adapter: every report in the
// recordings has a type that the description lists, and lasts as long as it says.
func checkDescription(t testing.TB, src *source.Source, r *hazard.Report) {
	t.Helper()
	if !src.Reports(r.Type) {
		t.Errorf("%s: %s is of the type %s, which is not among its types", src.Name, r.Key, r.Type)
	}
	if r.LifeMS != 0 && !slices.ContainsFunc(src.Lives, func(l source.Life) bool { return l.For.Milliseconds() == r.LifeMS }) {
		t.Errorf("%s: %s lasts %d ms, which is not among its lives", src.Name, r.Key, r.LifeMS)
	}
}
