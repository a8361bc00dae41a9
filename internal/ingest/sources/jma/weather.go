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
	"github.com/hazardd/hazardd/internal/ingest/lenient"
	"github.com/hazardd/hazardd/internal/ingest/source"
)

// titleOfWeather is the prefix of the Control/Title of weather warnings in the form since
// 2026-05-28, VPWW55 to VPWW61. The phenomenon follows in brackets.
const titleOfWeather = "気象警報・注意報（Ｒ０６）（"

// phenomenon is a row of the table of phenomena. A document is about all rows with the same name in
// brackets.
type phenomenon struct {
	document string // the text in brackets
	id       string // used in keys
	words    string // words in the name of a kind; the first row that fits is used
	codes    string // in the code table of kinds (code.WeatherWarning, 2026-04-30)
	english  string // the agency's translation
	advisory string // English name of its advisory, if different
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

// others is the text in brackets for advisories without a document of their own.
const others = "その他注意報"

// unnamed is a kind whose phenomenon is unknown: a new word must not hide a warning.
var unnamed = phenomenon{others, "other", "", "", "Weather", "", hazard.Storm, "a kind that is not in this table"}

// grade is a row of the table of levels.
type grade struct {
	word     string // part of the name of the kind; the first row that fits is used
	codes    string
	english  string
	level    string // one of the alert levels of Japan, if the kind has one
	severity hazard.Severity
	life     time.Duration // how long it lasts without another document
	basis    string
}

// lifeOfWarning and lifeOfAdvisory are how long a document is valid without another. In principle,
// it is valid until the next one. Warnings usually get a new document several times a day, while
// some advisories (dry air, avalanches) stay unchanged for a week.
const (
	lifeOfWarning  = 48 * time.Hour
	lifeOfAdvisory = 7 * 24 * time.Hour
)

// grades are in order of danger (JMA, "new information for disaster prevention", 2026-05-28).
var grades = []grade{
	{"特別警報", "32 33 35 36 37 38 39", "Emergency Warning", "5", hazard.Warning, lifeOfWarning, "level 5: lives are in danger, save yourself at once"},
	{"危険警報", "43 48 49", "Warning", "4", hazard.Warning, lifeOfWarning, "level 4: all evacuate"},
	{"警報", "02 03 05 06 07 08 09", "Warning", "3", hazard.Warning, lifeOfWarning, "level 3: older people evacuate; a serious disaster may occur"},
	{"注意報", "10 12 13 14 15 16 17 19 20 21 22 23 24 25 26 27 29", "Advisory", "2", hazard.Advisory, lifeOfAdvisory, "level 2: a disaster may occur"},
}

// ungraded is the grade of an unknown kind.
var ungraded = grade{english: "Notice of an unknown kind", severity: hazard.Advisory, life: lifeOfWarning}

// rank returns the row of a grade; the lowest row is the most dangerous.
func (g *grade) rank() int {
	if i := slices.IndexFunc(grades, func(row grade) bool { return row.word == g.word }); i >= 0 {
		return i
	}
	return len(grades)
}

// expected are the codes of danger for which an advisory gives a time (code.Significancy: levels 3
// to 5 and equivalents). A warning is likely to follow: WATCH.
const expected = "30 31 41 50 51"

// prefectures are in the order of the first two digits of codes, 01 to 47 (JIS X 0401).
var prefectures = strings.Fields("Hokkaido Aomori Iwate Miyagi Akita Yamagata Fukushima Ibaraki Tochigi Gunma Saitama Chiba Tokyo Kanagawa Niigata Toyama Ishikawa Fukui Yamanashi Nagano " +
	"Gifu Shizuoka Aichi Mie Shiga Kyoto Osaka Hyogo Nara Wakayama Tottori Shimane Okayama Hiroshima Yamaguchi Tokushima Kagawa Ehime Kochi Fukuoka Saga Nagasaki Kumamoto Oita Miyazaki Kagoshima Okinawa")

// The layers of a document. Each divides the whole area into smaller parts than the one before.
// They are recognized by the text in brackets in the type of a Warning.
const (
	layerOffices = "（府県予報区等）"
	layerRegions = "（一次細分区域等）"
	layerTowns   = "（市町村等）"
)

// areaForm matches the code of a region or a municipality, and levelForm the beginning of the name
// of a kind with an alert level.
var (
	areaForm  = regexp.MustCompile(`^\d{6,7}$`)
	levelForm = regexp.MustCompile(`^レベル[２-５2-5]`)
)

// office is the area of a document.
type office struct{ code, english string }

// inForce is the content of a document about one phenomenon.
type inForce struct {
	kind           *phenomenon
	said           []*warned // greatest danger first
	lifted         []string  // codes of the places where a warning was lifted
	soon           bool      // the document says when a warning is likely
	towns, regions []string  // codes of the places where something is in force
	details        []string  // texts about the strength and the time
}

// warned is a kind in force, with its own name and the towns.
type warned struct {
	name  string
	grade *grade
	names []string
}

// weather returns the reports of a document of weather warnings, one for each of its phenomena. If
// it cannot, it returns the reason. It returns none without a reason if the document is of another
// kind.
func (p *parser) weather(n *lenient.Node, h *head) (reports []hazard.Report, reason string) {
	of, _, _ := strings.Cut(strings.TrimPrefix(h.title, titleOfWeather), "）")
	var found []*inForce
	for i := range phenomena {
		if phenomena[i].document == of {
			found = append(found, &inForce{kind: &phenomena[i]})
		}
	}
	if found == nil { // the summary of all offices (VPWS50), or an unknown document
		return nil, source.Ignoring + "a summary of all offices, whose own documents are read, or of a phenomenon that is not a hazard"
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

// officeOf returns the area of a document. Each document of an office and kind contains the whole
// area, even if nothing is in force. So a document without it is rejected and ends nothing. A
// document that cancels another one may contain the area only in its headline. If there is none,
// officeOf returns the reason.
func officeOf(n *lenient.Node, takesBack bool) (o office, reason string) {
	var codes, names []string
	add := func(layer *lenient.Node, area *lenient.Node) {
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

// read reads one kind of an item. It returns a note if the kind is unknown.
func read(found []*inForce, layer string, item, k *lenient.Node) (note string) {
	name, code, status := get(k, "Name"), get(k, "Code"), get(k, "Status")
	lifted := status == "解除"
	if lifted || name == "" && code == "" {
		name, code = cmp.Or(name, get(k, "LastKind", "Name")), cmp.Or(code, get(k, "LastKind", "Code"))
		if name == "" && code == "" { // nothing is in force there
			return ""
		}
	}
	f := found[len(found)-1] // the last row is for kinds that fit no other row
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
		note = fmt.Sprintf("Kind: %q (%s), expected a warning or an advisory of the table of kinds", lenient.ExcerptText(name), lenient.ExcerptText(code))
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

// is reports whether a kind belongs to the phenomenon, by its name, or by its code if it has no
// name.
func (x *phenomenon) is(name, code string) bool {
	if name == "" {
		return slices.Contains(strings.Fields(x.codes), code)
	}
	return slices.ContainsFunc(strings.Fields(x.words), func(word string) bool { return strings.Contains(name, word) })
}

// gradeOf returns the grade of a kind, by its name, or by its code if it has no name.
func gradeOf(name, code string) *grade {
	for i := range grades {
		if g := &grades[i]; strings.Contains(name, g.word) || name == "" && slices.Contains(strings.Fields(g.codes), code) {
			return g
		}
	}
	return &ungraded
}

// Limits of a description: texts about strength and time, and towns for each kind. No office has as
// many.
const (
	maxDetails = 20
	maxTowns   = 100
)

// detail collects the texts of a kind about its strength and time.
func (f *inForce) detail(k *lenient.Node) {
	var walk func(n *lenient.Node)
	walk = func(n *lenient.Node) {
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

// report returns the report of a phenomenon: what is in force, or that it is over, or that nothing
// was in force.
func (f *inForce) report(h *head, o office) *hazard.Report {
	const page = "https://www.jma.go.jp/bosai/warning/"
	key := f.kind.id + "-" + o.code
	if h.category == hazard.Exercise { // a drill must not replace a real event
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
		// If nothing is in force, there is no hazard. But lifted warnings make a report, so that an
		// older document that is read later does not reactivate them.
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

// description describes what is in force in which places, in the agency's own words, the greatest
// danger first.
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
