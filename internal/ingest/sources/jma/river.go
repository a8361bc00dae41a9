package jma

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/ingest/lenient"
	"github.com/hazardd/hazardd/internal/ingest/source"
)

// titleOfRiver is the Control/Title of flood forecasts of designated rivers, VXKO50 to VXKO89.
const titleOfRiver = "指定河川洪水予報"

// riverFile matches the part of the name of such a document that says its kind.
var riverFile = regexp.MustCompile(`_VXKO[5-8]\d_`)

// riverForm matches the Head/EventID of such a document: the forecast area of a river.
var riverForm = regexp.MustCompile(`^\d{12}$`)

// riverGrades are in order of danger: the words are those since 2026-05-28, and those before.
var riverGrades = []struct {
	words, codes string
	english      string
	severity     hazard.Severity
	basis        string
}{
	{"特別警報 発生", "50 51 52 53", "Emergency Warning (level 5)", hazard.Warning, "the river floods, or is about to: save yourself at once"},
	{"危険", "40 41", "Warning (level 4)", hazard.Warning, "it may flood at any time: all evacuate"},
	{"警戒 警報", "30", "Warning (level 3)", hazard.Warning, "the danger level is expected: older people evacuate"},
	{"注意", "20 21 22", "Advisory (level 2)", hazard.Advisory, "the water may rise further"},
}

var bracketed = regexp.MustCompile(`[（(][^）)]*[）)]`)

// riverGradeOf returns the row of riverGrades of a kind, len(riverGrades) if it is lifted, or -1 if
// neither its name nor its code is known. What is in brackets says what was before: an advisory
// "（警戒情報解除）" is in force, after a warning.
func riverGradeOf(name, code string) int {
	plain := bracketed.ReplaceAllString(name, "")
	if strings.Contains(plain, "解除") || plain == "" && code == "10" {
		return len(riverGrades)
	}
	for i, g := range riverGrades {
		if slices.ContainsFunc(strings.Fields(g.words), func(w string) bool { return strings.Contains(plain, w) }) || plain == "" && slices.Contains(strings.Fields(g.codes), code) {
			return i
		}
	}
	return -1
}

// river returns the report of a flood forecast of a river. If it cannot, it returns the reason. Its
// area is that of the towns that the forecast expects under water, or else of the prefectures.
func (p *parser) river(n *lenient.Node, h *head) (r *hazard.Report, reason string) {
	key := "river-" + h.events[0]
	if h.category == hazard.Exercise { // a drill must not replace a real event
		key = "drill-" + key
	}
	r = &hazard.Report{
		Source: Name, Key: key, Version: h.version, Type: hazard.Flood, Category: h.category, Severity: hazard.Information, Start: h.issued, Renewed: &h.issued,
		LifeMS: lifeOfWarning.Milliseconds(), Country: "JP", URL: "https://www.jma.go.jp/bosai/flood/", Comment: Name + ":" + key, Creator: "JMA",
	}
	h.mark(r, p.now)
	worst, lifted, name := len(riverGrades), false, ""
	var regions, states []string
	for _, info := range all(at(n, "Head", "Headline"), "Information") {
		for _, item := range all(info, "Item") {
			areas := all(at(item, "Areas"), "Area")
			switch of := info.Attr("type"); {
			case strings.Contains(of, "（予報区域）"):
				kind, code := get(item, "Kind", "Name"), get(item, "Kind", "Code")
				i := riverGradeOf(kind, code)
				if i < 0 {
					source.Note(r, fmt.Sprintf("Headline/Information/Item/Kind: %q (%s), expected an advisory or a warning of floods", lenient.ExcerptText(kind), lenient.ExcerptText(code)))
					i = len(riverGrades) - 1 // a new word must not hide a warning
				}
				lifted = lifted || i == len(riverGrades)
				if worst = min(worst, i); worst == i && i < len(riverGrades) {
					r.Level = kind
				}
				if len(areas) > 0 {
					name = cmp.Or(name, get(areas[0], "Name"))
				}
			case strings.Contains(of, layerOffices):
				for _, a := range areas {
					code := get(a, "Code")
					if i, err := strconv.Atoi(code[:min(2, len(code))]); areaForm.MatchString(code) && err == nil && i >= 1 && i <= len(prefectures) {
						regions, states = append(regions, placeOf+code), append(states, prefectures[i-1])
					}
				}
			}
		}
	}
	slices.Sort(regions)
	r.Places, r.Within = floodedTowns(n), slices.Compact(regions)
	if len(r.Places) == 0 {
		r.Places, r.Within = r.Within, nil
	}
	if len(r.Places) == 0 {
		r.Places = []string{"JP"}
	}
	r.Called = lenient.Clip(name, 100)
	where := lenient.Joined(", ", cmp.Or(r.Called, "river "+h.events[0]), lenient.Names(slices.Compact(states), 80), "Japan")
	switch {
	case h.infoType == cancelled:
		r.Ended, r.Minor = hazard.EndCancelled, true
	case worst < len(riverGrades):
		r.Severity, r.Name = riverGrades[worst].severity, "River Flood "+riverGrades[worst].english+" - "+where
	case !lifted:
		return nil, "Head/Headline/Information: no kind for the forecast area （予報区域）, expected one at least"
	default:
		r.Ended = hazard.EndAllClear
	}
	if r.Ended != "" {
		r.Name, r.Level = "River Flood - "+where, ""
	}
	r.Description = riverText(n, h)
	return r, ""
}

// floodedTowns returns the codes of the towns that may be under water.
func floodedTowns(n *lenient.Node) (codes []string) {
	for _, layer := range all(at(n, "Body"), "Warning") {
		for _, item := range all(layer, "Item") {
			for _, a := range all(at(item, "Areas"), "Area") {
				if code := get(a, "CityCode"); areaForm.MatchString(code) && strings.Trim(code, "0") != "" {
					codes = append(codes, placeOf+code)
				}
			}
		}
	}
	slices.Sort(codes)
	return slices.Compact(codes)
}

// riverText is the headline and the main text, in the agency's own words.
func riverText(n *lenient.Node, h *head) string {
	texts := []string{h.headline}
	for _, layer := range all(at(n, "Body"), "Warning") {
		for _, item := range all(layer, "Item") {
			if property := at(item, "Kind", "Property"); get(property, "Type") == "主文" {
				texts = append(texts, lenient.Clip(hazard.Clean(at(property, "Text").Text), 4000))
			}
		}
	}
	by := cmp.Or(lenient.Clip(get(n, "Control", "PublishingOffice"), 200), "Japan Meteorological Agency")
	return hazard.Clean(lenient.Joined("\n", append(texts, fmt.Sprintf("Issued by %s, %s UTC.", by, h.issued.Time().Format("2006-01-02 15:04")))...))
}
