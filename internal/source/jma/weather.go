package jma

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/source"
	"github.com/hazardd/hazardd/internal/source/frame"
)

// titleOfWeather begins the Control/Title of the documents of weather warnings as they are since 2026-05-28, VPWW55 to VPWW61. What they are of stands in brackets after it.
const titleOfWeather = "気象警報・注意報（Ｒ０６）（"

// A phenomenon is a row of the table of what is warned of. One document speaks of those of one name in brackets.
type phenomenon struct {
	document string // in the brackets
	id       string // in keys
	words    string // any of which the name of a kind has; the first row counts
	codes    string // of the code table of kinds (code.WeatherWarning, 2026-04-30)
	english  string // as the agency translates it
	advisory string // the English of its advisory, where that has another
	typ      hazard.Type
	basis    string
}

var phenomena = []phenomenon{
	{"大雨", "rain", "大雨", "03 10 33 43", "Heavy Rain", "", hazard.Flood, "the danger of inundation by rain; danger of landslides has documents of its own"},
	{"土砂", "landslide", "土砂", "09 29 39 49", "Landslide", "", hazard.Landslide, ""},
	{"高潮", "surge", "高潮", "08 19 38 48", "Storm Surge", "", hazard.Flood, "as coastal floods of others"},
	{"暴風", "snowstorm", "暴風雪 風雪", "02 13 32", "Snowstorm", "Gale and Snow", hazard.WinterStorm, "strong wind with snow"},
	{"暴風", "wind", "暴風 強風", "05 15 35", "Storm", "Gale", hazard.HighWind, "strong wind"},
	{"波浪", "waves", "波浪", "07 16 37", "High Wave", "", hazard.HighSurf, ""},
	{"大雪", "snow", "大雪", "06 12 36", "Heavy Snow", "", hazard.WinterStorm, ""},
	{others, "thunder", "雷", "14", "Thunderstorm", "", hazard.Storm, ""},
	{others, "snowmelt", "融雪", "17", "Snow-melting", "", hazard.Flood, "floods by melting snow"},
	{others, "fog", "濃霧", "20", "Dense Fog", "", hazard.Occurrence, "as fog of others"},
	{others, "dry", "乾燥", "21", "Dry Air", "", hazard.Occurrence, "fires may spread; none burns"},
	{others, "avalanche", "なだれ", "22", "Avalanche", "", hazard.Avalanche, ""},
	{others, "cold", "低温", "23", "Low Temperature", "", hazard.ExtremeTemperature, ""},
	{others, "frost", "霜", "24", "Frost", "", hazard.ExtremeTemperature, ""},
	{others, "icing", "着氷", "25", "Ice Accretion", "", hazard.WinterStorm, ""},
	{others, "accretion", "着雪", "26", "Snow Accretion", "", hazard.WinterStorm, ""},
	unnamed,
}

// others is in the brackets of the document of advisories that have none of their own.
const others = "その他注意報"

// unnamed is a kind of which nobody knows the phenomenon: a warning is not withheld for its word.
var unnamed = phenomenon{others, "other", "", "", "Weather", "", hazard.Storm, "a kind that is not in this table"}

// grade is a row of the table of levels.
type grade struct {
	word     string // that the name of a kind has; the first row counts
	codes    string
	english  string
	level    string // of the alert levels of Japan, where the kind has one
	severity hazard.Severity
	life     time.Duration // without another document
	basis    string
}

// lifeOfWarning and lifeOfAdvisory are how long a document holds without another. Each is to say what is in force until another does; a warning is restated as it changes, mostly several times
// a day, while some advisories (dry air, avalanches) stay for a week.
const (
	lifeOfWarning  = 48 * time.Hour
	lifeOfAdvisory = 7 * 24 * time.Hour
)

// grades are in the order of danger (JMA, "new information for disaster prevention", 2026-05-28).
var grades = []grade{
	{"特別警報", "32 33 35 36 37 38 39", "Emergency Warning", "5", hazard.Warning, lifeOfWarning, "level 5: lives are in danger, save yourself at once"},
	{"危険警報", "43 48 49", "Warning", "4", hazard.Warning, lifeOfWarning, "level 4: all evacuate"},
	{"警報", "02 03 05 06 07 08 09", "Warning", "3", hazard.Warning, lifeOfWarning, "level 3: older people evacuate; a serious disaster may occur"},
	{"注意報", "10 12 13 14 15 16 17 19 20 21 22 23 24 25 26 27 29", "Advisory", "2", hazard.Advisory, lifeOfAdvisory, "level 2: a disaster may occur"},
}

// ungraded is the grade of a kind that nobody knows.
var ungraded = grade{english: "Notice of an unknown kind", severity: hazard.Advisory, life: lifeOfWarning}

// rank is the row of a grade: the least is the most dangerous.
func (g *grade) rank() int {
	if i := slices.IndexFunc(grades, func(row grade) bool { return row.word == g.word }); i >= 0 {
		return i
	}
	return len(grades)
}

// expected are the codes of danger of which an advisory says when it comes (code.Significancy: levels 3 to 5 and what corresponds). A warning is likely to follow: WATCH.
const expected = "30 31 41 50 51"

// prefectures by the first two digits of codes, 01 to 47 (JIS X 0401).
var prefectures = strings.Fields("Hokkaido Aomori Iwate Miyagi Akita Yamagata Fukushima Ibaraki Tochigi Gunma Saitama Chiba Tokyo Kanagawa Niigata Toyama Ishikawa Fukui Yamanashi Nagano " +
	"Gifu Shizuoka Aichi Mie Shiga Kyoto Osaka Hyogo Nara Wakayama Tottori Shimane Okayama Hiroshima Yamaguchi Tokushima Kagawa Ehime Kochi Fukuoka Saga Nagasaki Kumamoto Oita Miyazaki Kagoshima Okinawa")

// The layers of a document: its whole area in parts of ever smaller ones, by what stands in brackets in the type of a Warning.
const (
	layerOffices = "（府県予報区等）"
	layerRegions = "（一次細分区域等）"
	layerTowns   = "（市町村等）"
)

// areaForm is the code of a region or a municipality, and levelForm what the name of a kind with an alert level begins with.
var (
	areaForm  = regexp.MustCompile(`^\d{6,7}$`)
	levelForm = regexp.MustCompile(`^レベル[２-５2-5]`)
)

// office is the area of a document.
type office struct{ code, english string }

// inForce is what a document says of one phenomenon.
type inForce struct {
	kind           *phenomenon
	said           []*warned // the greatest danger first
	lifted         []string  // codes of the places where something was in force before it
	soon           bool      // it says when a warning is likely
	towns, regions []string  // codes of the places where something is in force
	details        []string  // how strong, and when
}

// warned is a kind in force, by its own name, and the towns.
type warned struct {
	name  string
	grade *grade
	names []string
}

// weather makes the reports of a document of weather warnings, one for each phenomenon that it is of. It says why, if it cannot; none without a reason is
// a document of other kinds.
func (p *parser) weather(n *frame.Node, h *head) (reports []hazard.Report, reason string) {
	of, _, _ := strings.Cut(strings.TrimPrefix(h.title, titleOfWeather), "）")
	var found []*inForce
	for i := range phenomena {
		if phenomena[i].document == of {
			found = append(found, &inForce{kind: &phenomena[i]})
		}
	}
	if found == nil { // the summary of all offices (VPWS50), or one that is not known
		return nil, ""
	}
	o, reason := officeOf(n, h.infoType == cancelled)
	if reason != "" {
		return nil, reason
	}
	var notes []string
	for _, layer := range all(at(n, "Body"), "Warning") {
		for _, item := range all(layer, "Item") {
			for _, k := range all(item, "Kind") {
				if note := read(found, layer.Attr("type"), item, k); note != "" && !slices.Contains(notes, note) {
					notes = append(notes, note)
				}
			}
		}
	}
	for _, f := range found {
		slices.SortStableFunc(f.said, func(a, b *warned) int { return a.grade.rank() - b.grade.rank() })
		r := f.report(h, o)
		h.mark(r, p.now)
		if r.Ended == "" {
			source.Note(r, notes...)
		}
		reports = append(reports, *r)
	}
	return reports, ""
}

// officeOf is the area that a document is of. Each document of an office and kind names it whole, also where nothing is in force: one without it ends nothing.
// One that takes another back may have it in its headline alone. It says why, if there is none.
func officeOf(n *frame.Node, takesBack bool) (o office, reason string) {
	var codes, names []string
	add := func(layer *frame.Node, area *frame.Node) {
		code := get(area, "Code")
		if strings.Contains(layer.Attr("type"), layerOffices) && areaForm.MatchString(code) && !slices.Contains(codes, code) {
			codes, names = append(codes, code), append(names, get(area, "Name"))
		}
	}
	for _, layer := range all(at(n, "Body"), "Warning") {
		for _, item := range all(layer, "Item") {
			if len(all(item, "Kind")) > 0 {
				add(layer, at(item, "Area"))
			}
		}
	}
	if takesBack && len(codes) == 0 {
		for _, layer := range all(at(n, "Head", "Headline"), "Information") {
			for _, item := range all(layer, "Item") {
				for _, area := range all(at(item, "Areas"), "Area") {
					add(layer, area)
				}
			}
		}
	}
	if len(codes) == 0 {
		return o, "Body/Warning: no kind for the area of an office (府県予報区等), expected what is in force there, or that nothing is"
	}
	o.code = slices.Min(codes)
	number, _ := strconv.Atoi(o.code[:2])
	if number < 1 || number > len(prefectures) {
		return o, fmt.Sprintf("Body/Warning: the area %s, expected one of the 47 prefectures", o.code)
	}
	o.english = prefectures[number-1]
	if o.code[2:] != "0000" {
		o.english += " (" + strings.Join(names, "・") + ")"
	}
	return o, ""
}

// read reads what an item says of one kind. It returns a note, if the kind is not known.
func read(found []*inForce, layer string, item, k *frame.Node) (note string) {
	name, code, status := get(k, "Name"), get(k, "Code"), get(k, "Status")
	lifted := status == "解除"
	if lifted || name == "" && code == "" {
		name, code = cmp.Or(name, get(k, "LastKind", "Name")), cmp.Or(code, get(k, "LastKind", "Code"))
		if name == "" && code == "" { // nothing is in force there
			return ""
		}
	}
	f := found[len(found)-1] // the last row of a document has what no other has
	known := false
	for _, x := range found {
		if known = x.kind.is(name, code); known {
			f = x
			break
		}
	}
	area, inTowns := at(item, "Area"), strings.Contains(layer, layerTowns)
	place := get(area, "Code")
	placed := areaForm.MatchString(place)
	switch {
	case lifted && placed && inTowns:
		f.lifted = append(f.lifted, placeOf+place)
		return ""
	case lifted, status == "発表警報・注意報はなし":
		return ""
	}
	g := gradeOf(name, code)
	if !known || g == &ungraded {
		note = fmt.Sprintf("Kind: %q (%s), expected a warning or an advisory of the table of kinds", frame.ExcerptText(name), frame.ExcerptText(code))
	}
	i := slices.IndexFunc(f.said, func(w *warned) bool { return w.name == name && w.grade == g })
	if i < 0 {
		i, f.said = len(f.said), append(f.said, &warned{name: name, grade: g})
	}
	switch {
	case placed && inTowns:
		f.towns = append(f.towns, placeOf+place)
		f.said[i].names = append(f.said[i].names, get(area, "Name"))
		f.detail(k)
	case placed && strings.Contains(layer, layerRegions):
		f.regions = append(f.regions, placeOf+place)
	}
	return note
}

// is reports whether a kind is of the phenomenon, by its name, else by its code.
func (x *phenomenon) is(name, code string) bool {
	if name == "" {
		return slices.Contains(strings.Fields(x.codes), code)
	}
	return slices.ContainsFunc(strings.Fields(x.words), func(word string) bool { return strings.Contains(name, word) })
}

// gradeOf is the grade of a kind, by its name, else by its code.
func gradeOf(name, code string) *grade {
	for i := range grades {
		if g := &grades[i]; strings.Contains(name, g.word) || name == "" && slices.Contains(strings.Fields(g.codes), code) {
			return g
		}
	}
	return &ungraded
}

// What a description says at most of how strong and when, and of towns for a kind: no office has as many.
const (
	maxDetails = 20
	maxTowns   = 100
)

// detail keeps what a kind says of how strong it will be, and when.
func (f *inForce) detail(k *frame.Node) {
	var walk func(n *frame.Node)
	walk = func(n *frame.Node) {
		text := ""
		switch {
		case n.Name == "Sentence":
			text = hazard.CleanLine(n.Text)
		case n.Name == "CriteriaClass":
			f.soon = f.soon || slices.Contains(strings.Fields(expected), get(n, "Code"))
		case n.Attr("description") != "":
			text = hazard.CleanLine(n.Attr("type") + " " + n.Attr("description"))
		}
		if text != "" && len(f.details) < maxDetails && !slices.Contains(f.details, text) {
			f.details = append(f.details, text)
		}
		for _, kid := range n.Kids {
			walk(kid)
		}
	}
	for _, property := range all(k, "Property") {
		walk(property)
	}
}

// report makes the report of a phenomenon: of what is in force, that it is over, or that nothing is.
func (f *inForce) report(h *head, o office) *hazard.Report {
	const page = "https://www.jma.go.jp/bosai/warning/"
	key := f.kind.id + "-" + o.code
	if h.category == hazard.Exercise { // beside what is real
		key = "drill-" + key
	}
	r := &hazard.Report{
		Source: Name, Key: key, Version: h.version, Type: f.kind.typ, Category: h.category, Severity: hazard.Information,
		Start: h.issued, Renewed: &h.issued, LifeMS: lifeOfWarning.Milliseconds(), Name: f.kind.english + " - " + o.english, Country: "JP",
		URL: page, Comment: Name + ":" + key, Creator: "JMA",
	}
	switch {
	case h.infoType == cancelled:
		r.Ended, r.Minor, r.Places = hazard.EndCancelled, true, []string{"JP"}
		return r
	case len(f.said) == 0:
		// That nothing is in force makes no hazard. What was does, so that an older document read later finds it over.
		r.Ended, r.Minor, r.Places, r.Description = hazard.EndAllClear, len(f.lifted) == 0, f.lifted, f.description(h)
		if r.Minor {
			r.Places = []string{"JP"}
		}
		return r
	}
	worst := f.said[0]
	r.Severity, r.Level, r.LifeMS = worst.grade.severity, worst.name, worst.grade.life.Milliseconds()
	if f.soon && r.Severity < hazard.Watch {
		r.Severity = hazard.Watch
	}
	english := f.kind.english
	if worst.grade.word == "注意報" {
		english = cmp.Or(f.kind.advisory, english)
	}
	r.Name = english + " " + worst.grade.english
	if levelForm.MatchString(worst.name) && worst.grade.level != "" {
		r.Name += " (level " + worst.grade.level + ")"
	}
	r.Name += " - " + o.english
	slices.Sort(f.towns)
	slices.Sort(f.regions)
	r.Places, r.Within = slices.Compact(f.towns), slices.Compact(f.regions)
	if len(r.Places) == 0 {
		r.Places, r.Within = r.Within, nil
	}
	if len(r.Places) == 0 {
		r.Places = []string{placeOf + o.code}
	}
	r.Description = f.description(h)
	return r
}

// description says what is in force where, in the agency's own words, the greatest danger first.
func (f *inForce) description(h *head) string {
	var b strings.Builder
	if h.headline != "" {
		b.WriteString(h.headline + "\n")
	}
	for _, w := range f.said {
		b.WriteString(w.name)
		if towns := slices.Compact(w.names); len(towns) > 0 {
			b.WriteString(": " + strings.Join(towns[:min(len(towns), maxTowns)], ", "))
		}
		b.WriteString(".\n")
	}
	if len(f.details) > 0 {
		b.WriteString(strings.Join(f.details, "; ") + ".\n")
	}
	fmt.Fprintf(&b, "Issued by the Japan Meteorological Agency, %s UTC.", h.issued.Time().Format("2006-01-02 15:04"))
	return hazard.Clean(b.String())
}
