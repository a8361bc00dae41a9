package page

import (
	"cmp"
	"crypto/sha256"
	"encoding/base64"
	"html/template"
	"math"
	"slices"
	"strings"

	"github.com/hazardd/hazardd/internal/atlas/symbol"
	"github.com/hazardd/hazardd/internal/atlas/town"
	"github.com/hazardd/hazardd/internal/hazard"
)

// Brief is a hazard on one or two printed pages: what, where, how bad, who, since when, what is
// expected, what to do, and how old the data is. It is one document that loads nothing, so that it
// can be saved and sent. It says so where something is unknown.
type Brief struct {
	*Hazard
	URL      string // address of the hazard's page, which shows later changes
	Paper    Paper
	Map      Map
	Pictures []Picture
}

// Paper is the paper size of a brief; empty: the printer's default.
type Paper string

// The paper sizes.
const (
	A4     Paper = "a4"
	Letter Paper = "letter"
)

// Papers lists the papers.
func Papers() []Paper { return []Paper{A4, Letter} }

// Picture is a small picture from a hazard's products.
type Picture struct {
	Title, By string
	At        hazard.Instant
	JPEG      []byte
}

// These limits keep a brief to two pages. They are for Latin letters; others may be twice as wide.
const (
	briefName        = 110
	briefDescription = 1100 // less if there is much other content, see HTML
	briefInstruction = 450
	briefContact     = 120
	briefRows        = 5 // of a list
	briefMeasured    = 8
	briefSources     = 2
	// MaxPictures is the maximum number of pictures in a brief.
	MaxPictures = 2
)

var briefStyle, briefPolicy = func() (template.CSS, string) {
	css, err := files.ReadFile("brief.css")
	if err != nil {
		panic(err) // the files are embedded in the program
	}
	css = append([]byte(symbol.CSS()), css...)
	sum := sha256.Sum256(css)
	return template.CSS(css), "default-src 'none'; img-src data:; style-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) +
		"'; form-action 'none'; base-uri 'none'; frame-ancestors 'none'"
}()

// BriefPolicy returns the Content-Security-Policy of a brief: it loads nothing, and no script runs.
func BriefPolicy() string { return briefPolicy }

// HTML returns the brief.
func (b *Brief) HTML() ([]byte, error) { return execute(b.language(), "brief.html", b.view()) }

// briefView is the input of the template.
type briefView struct {
	*view
	Style         template.CSS
	Paper         Paper
	URL           string
	Papers        []paperLink
	Map, Sign     template.HTML // SVG written by the packages page and symbol
	Name          string
	What, Do, Ask []block
	Cut           bool
	Forecast      []forecast
	Arrivals      []forecast
	Winds         []forecast // at towns
	Pictures      []picture64
	MoreSources   int
	MoreReports   int
}

type paperLink struct {
	Paper Paper
	Name  string
	Here  bool
}

// forecast is the forecast for one time.
type forecast struct {
	At    moment
	Where string
	What  string
}

type picture64 struct {
	Title, By string
	At        moment
	Data      template.URL
}

func (b *Brief) view() *briefView {
	v := &briefView{view: b.Hazard.view(), Style: briefStyle, Paper: b.Paper, URL: b.URL, Name: cut(b.Hazard.Hazard.Name, briefName)}
	b.Map.Over = v.Over
	v.Map = template.HTML(b.Map.SVG())
	h := b.Hazard.Hazard
	if svg, err := (symbol.Symbol{Type: h.Type, Category: h.Category, Severity: h.Severity}).SVG(); err == nil {
		v.Sign = template.HTML(svg)
	}
	for _, p := range []struct {
		paper Paper
		name  string
	}{{A4, "A4"}, {Letter, "Letter"}} {
		v.Papers = append(v.Papers, paperLink{p.paper, p.name, p.paper == b.Paper})
	}
	var shortened [3]bool
	v.Do, shortened[1] = shorten(v.Instruction, briefInstruction)
	v.Ask, shortened[2] = shorten(v.Contact, briefContact)
	if p := v.People; p != nil {
		p.Bands, p.Places = p.Bands[:min(len(p.Bands), briefRows)], p.Places[:min(len(p.Places), briefRows)]
	}
	rows := 0
	if v.Assets != nil {
		v.Assets.first(briefRows)
		rows = 2 + len(v.Assets.Rows)
	}
	v.Forecast, v.Arrivals = b.forecasts(hazard.PositionShape), b.forecasts(hazard.CoastShape)
	v.Winds = b.Hazard.winds(b.Map.Shapes)
	// Other content takes room from the description, which the hazard's page shows in full.
	room := briefDescription - 60*(len(v.Forecast)+len(v.Arrivals)+len(v.Winds)+rows) - 150*min(len(b.Pictures), MaxPictures)
	v.What, shortened[0] = shorten(v.Description, max(room, briefContact))
	v.Cut = slices.Contains(shortened[:], true) || len(v.Measured) > briefMeasured || len(v.Doubts) > briefSources
	v.Measured, v.Doubts = v.Measured[:min(len(v.Measured), briefMeasured)], v.Doubts[:min(len(v.Doubts), briefSources)]
	v.MoreSources = max(0, len(v.view.Sources)-briefSources)
	v.view.Sources = v.view.Sources[:len(v.view.Sources)-v.MoreSources]
	v.MoreReports = max(0, len(v.view.Reports)-briefSources)
	v.view.Reports = v.view.Reports[:len(v.view.Reports)-v.MoreReports]
	for i := range v.Reports {
		if v.Reports[i].Name == h.Name { // already shown above
			v.Reports[i].Name = ""
		}
		v.Reports[i].Name = cut(v.Reports[i].Name, briefName/2)
	}
	for _, p := range b.Pictures[:min(len(b.Pictures), MaxPictures)] {
		v.Pictures = append(v.Pictures, picture64{cut(p.Title, briefName/2), p.By, b.at(p.At, b.Now), template.URL("data:image/jpeg;base64," + base64.StdEncoding.EncodeToString(p.JPEG))})
	}
	return v
}

// forecasts lists at most briefRows forecasts, from now on: the positions of a storm, or the coasts
// that a wave reaches.
func (b *Brief) forecasts(role hazard.ShapeRole) (list []forecast) {
	var of []*hazard.Shape
	for i := range b.Map.Shapes {
		s := &b.Map.Shapes[i]
		if s.Role == role && s.Forecast && s.From > b.Now {
			of = append(of, s)
		}
	}
	slices.SortStableFunc(of, func(x, y *hazard.Shape) int { return cmp.Compare(x.From, y.From) })
	for i, s := range of {
		// If there are too many, list the first, the last, and some between them.
		if len(of) > briefRows && i*(briefRows-1)/(len(of)-1) == (i-1)*(briefRows-1)/(len(of)-1) && i > 0 {
			continue
		}
		f := forecast{At: b.at(s.From, b.Now), What: cut(s.Title(), briefName/2)}
		if s.Band != nil {
			f.What = b.say("quantity_"+string(s.Band.Kind)) + " " + b.measure(&hazard.Measurement{Name: s.Band.Kind, Value: s.Band.Value})
		}
		if p := readShape([]byte(s.Geometry)).points; role == hazard.PositionShape && len(p) == 1 {
			f.Where = dms(p[0][1], p[0][0])
		}
		list = append(list, f)
	}
	return list
}

// shorten returns about that many letters of the text, and whether there is more. Letters of
// scripts wider than Latin count as two, and each line break as 45.
func shorten(all []block, most int) (short []block, more bool) {
	const line = 45
	for _, b := range all {
		out := block{Table: b.Table}
		most -= line
		for _, r := range b.Runs {
			if r.Break {
				most -= line
			}
			most -= line * strings.Count(r.Text, "\n")
			room := most
			for i, letter := range r.Text {
				if room--; letter > 0x2E80 {
					room--
				}
				if room >= 0 {
					continue
				}
				if end := strings.LastIndexByte(r.Text[:i], ' '); end > i/2 {
					i = end
				}
				if r.Href != "" { // a shortened address does not work
					i = 0
				}
				r.Text = r.Text[:i] + "…"
				break
			}
			if most = room; room < 0 {
				r.Href = ""
			}
			if out.Runs = append(out.Runs, r); room < 0 {
				break
			}
		}
		if short = append(short, out); most < 0 {
			return short, true
		}
	}
	return short, false
}

// measure returns a measurement in the language of the page.
func (f *Frame) measure(m *hazard.Measurement) string {
	info, _ := m.Name.Info()
	if word := m.Word(); word != "" {
		return f.say("word_" + word)
	}
	value, unit := m.Value, info.Unit
	if own, ok := customary[unit]; ok && f.Miles {
		value, unit = value*own.factor, own.unit
	}
	if info.Unit == "km/h" { // 50 kt would become 92.6 km/h, which is too precise
		value = math.Round(value)
	}
	return strings.TrimSpace(f.decimal(value) + " " + unit)
}

const (
	kmInMile   = 1.609344
	acresInHa  = 2.471054
	metersInFt = 0.3048
)

// customary are the units of the United States for metric ones, and how many are in one of these.
var customary = map[string]struct {
	unit   string
	factor float64
}{
	"km/h": {"mph", 1 / kmInMile},
	"km":   {"mi", 1 / kmInMile},
	"m":    {"ft", 1 / metersInFt},
	"ha":   {"acres", acresInHa},
	"km2":  {"mi²", 1 / (kmInMile * kmInMile)},
}

// Away says how far away something is, in the units of the reader.
func (f *Frame) Away(km float64) string {
	if f.Miles {
		return f.say("hereAwayMiles", "n", f.distance(km/kmInMile))
	}
	return f.say("hereAway", "n", f.distance(km))
}

// townAway says how far away and in which direction a town is; bearing is in degrees.
func (f *Frame) townAway(km, bearing float64) string {
	key := "townAway"
	if f.Miles {
		key, km = "townAwayMiles", km/kmInMile
	}
	return f.say(key, "n", f.distance(km), "direction", town.Direction(bearing))
}

// distance returns a number to one digit after the point below ten, as the map has it.
func (f *Frame) distance(n float64) string {
	if n < 9.95 {
		return number(n, 1)
	}
	return f.grouped(int64(math.Round(n)))
}

// decimal returns a number to about three digits. A large one has its digits in groups of three.
func (f *Frame) decimal(x float64) string {
	switch size := math.Abs(x); {
	case size < 10:
		return number(x, 2)
	case size < 100:
		return number(x, 1)
	case size < 10_000:
		return number(x, 0)
	}
	return f.grouped(int64(math.Round(x)))
}
