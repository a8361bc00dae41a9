package nhc

import (
	"cmp"
	"fmt"
	"html"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/ingest/lenient"
	"github.com/hazardd/hazardd/internal/ingest/source"
)

// item is an item of the RSS of a basin (nhc.noaa.gov/aboutrss.shtml). Items about the present
// state of one storm contain nhc:Cyclone. Of the others, only the used members are read.
type item struct {
	Title string
	GUID  string // "summary-al012022-202206060549": contains the minute of its creation
	Link  string
	// PubDate is in RFC 1123; empty in an item that says that there are no storms.
	PubDate     string
	Description string // HTML that contains the text of the product
	// Cyclone is nil in an item that is not about the present state of a storm.
	Cyclone *present
}

// present is the element nhc:Cyclone, whose children are texts for people.
type present struct {
	Center   string // "32.9, -68.1": latitude first
	Type     string // "Tropical Storm"
	Name     string
	ATCF     string // "AL012022"
	Movement string // "ENE at 28 mph"
	Pressure string // "986 mb"
	Wind     string // "70 mph"
	Headline string // "...TROPICAL STORM CONDITIONS HAVE BEGUN ON BERMUDA..."
}

// itemOf reads an item. Of several elements with the same name, the first counts.
func itemOf(n *lenient.Node) *item {
	get := func(n *lenient.Node, name string) string { return lenient.Clip(n.Child("*", name).Text, maxText) }
	it := &item{Title: get(n, "title"), GUID: get(n, "guid"), Link: get(n, "link"), PubDate: get(n, "pubDate"), Description: get(n, "description")}
	if c := n.Child("*", "Cyclone"); c.Name != "" {
		it.Cyclone = &present{Center: get(c, "center"), Type: get(c, "type"), Name: get(c, "name"), ATCF: get(c, "atcf"), Movement: get(c, "movement"),
			Pressure: get(c, "pressure"), Wind: get(c, "wind"), Headline: get(c, "headline")}
	}
	return it
}

// Limits of a document. The longest recorded one has seven items; on the busiest day of a season
// there are about forty.
const (
	maxItems    = 1000
	maxElements = 200 // largest number of elements in an item
)

// xml reads an RSS, or a single item of one.
func (p *parser) xml(doc []byte) error {
	text, err := lenient.Text(doc, "windows-1252")
	if err != nil {
		return err
	}
	quiet, cyclones, items := false, 0, 0
	root, err := lenient.XML{Want: "RSS", Roots: []string{"rss", "item", "kml"}, Records: []string{"item"}}.Read(text, func(e lenient.Element) {
		if items++; items > maxItems {
			return
		}
		n, notes, err := e.Tree(lenient.Limits{Elements: maxElements})
		if err != nil {
			p.Batch.Read++
			p.Reject(lenient.At("item/"+strconv.Itoa(items-1)), e.Raw, err.Error())
			return
		}
		it := itemOf(n)
		if it.Cyclone != nil {
			cyclones++
		}
		quiet = quiet || strings.HasPrefix(it.Title, noStorms)
		made := len(p.Batch.Reports)
		if it.Cyclone == nil && len(notes) > 0 && !strings.HasPrefix(it.Title, noStorms) { // the unreadable part may have contained a storm
			p.Batch.Read++
			p.Reject(lenient.At("item/"+strconv.Itoa(items-1)), e.Raw, append(notes, "nhc:Cyclone: missing")...)
			return
		}
		p.item(it, items-1, e.Raw)
		for i := made; i < len(p.Batch.Reports); i++ {
			source.Note(&p.Batch.Reports[i], notes...)
		}
	})
	switch {
	case err != nil:
		return err
	case items > maxItems:
		return source.Errorf("more than %d items, expected a basin's RSS", maxItems)
	case root == "kml":
		p.Batch.Read++
		p.ignore("kml", "outlook")
	}
	// A basin's RSS either lists its storms or says that there are none.
	p.whole = root == "rss" && (cyclones > 0 || quiet)
	return nil
}

// noStorms is the beginning of the title of the item for a basin without storms.
const noStorms = "There are no tropical cyclones"

// item reads the i-th item.
func (p *parser) item(it *item, i int, raw []byte) {
	p.Batch.Read++
	where := "item/" + strconv.Itoa(i)
	if it.Cyclone != nil {
		f, reason := it.fix()
		if reason == "" {
			reason = p.add(f, formRSS)
		}
		if reason != "" {
			p.Reject(lenient.At(cmp.Or(atcfID(it.Cyclone.ATCF), where)), fmt.Appendf(nil, "%+v", *it.Cyclone), reason)
		}
		return
	}
	if isTCM([]byte(it.Description)) {
		p.tcm(strings.ToUpper(flatten(plain(it.Description))), []byte(it.Description))
		return
	}
	title := strings.ToLower(lenient.Clip(hazard.CleanLine(lenient.Clip(it.Title, 4*maxName)), 4*maxName))
	switch {
	case title == "" && it.Description == "" && it.GUID == "":
		p.Reject(lenient.At(where), raw, "title: missing, and description too, expected one of them")
	case strings.HasPrefix(title, "summary for"):
		p.Reject(lenient.At(where), []byte(it.Title+"\n"+it.Description), "nhc:Cyclone: missing, expected one in "+lenient.ExcerptText(it.Title))
	case strings.HasPrefix(title, strings.ToLower(noStorms)):
		p.ignore(where, "none")
	case strings.Contains(title, "outlook"):
		p.ignore(where, "outlook")
	case strings.Contains(title, "public advisory"), strings.Contains(title, "forecast adv"): // a forecast/advisory without its text
		p.ignore(where, "public")
	default:
		p.ignore(where, "document")
	}
}

var tag = regexp.MustCompile(`</?[a-zA-Z][^<>]*>`)

// plain returns the text of HTML without its tags.
func plain(markup string) string {
	return html.UnescapeString(tag.ReplaceAllString(markup, " "))
}

var (
	mph      = regexp.MustCompile(`(?i)^(\d{1,3}) mph$`)
	millibar = regexp.MustCompile(`(?i)^(\d{3,4}) (?:mb|hpa)$`)
	madeAt   = regexp.MustCompile(`-(\d{12})$`)
)

// fix returns the state of a storm in nhc:Cyclone.
func (it *item) fix() (f fix, reason string) {
	c := it.Cyclone
	f = fix{id: atcfID(c.ATCF), name: c.Name, url: lenient.WebAddress(it.Link)}
	if f.id == "" {
		return f, "nhc:atcf: " + cmp.Or(lenient.ExcerptText(c.ATCF), lenient.Nothing) + ", expected an ATCF identity such as AL012022"
	}
	issued, ok := parseTime(it.PubDate)
	if m := madeAt.FindStringSubmatch(strings.TrimSpace(it.GUID)); !ok && m != nil {
		issued, ok = parseTime(m[1][:4] + "-" + m[1][4:6] + "-" + m[1][6:8] + "T" + m[1][8:10] + ":" + m[1][10:] + ":00Z")
	}
	if f.issued = issued; !ok {
		return f, "pubDate: " + cmp.Or(lenient.ExcerptText(it.PubDate), lenient.Nothing) + ", expected a time of RFC 1123"
	}
	class, rest := classOfWords(c.Type)
	if class != nil && rest == "" || class != nil && class.words == "Remnants of" {
		f.class = class
	} else if strings.EqualFold(strings.TrimSpace(c.Type), "Remnants") {
		f.class, _ = classOfWords("Remnants of")
	} else {
		f.notes = append(f.notes, "nhc:type: "+cmp.Or(lenient.ExcerptText(c.Type), lenient.Nothing)+", expected a class such as Tropical Storm")
	}
	lat, lon, _ := strings.Cut(c.Center, ",")
	if f.point = onEarth(decimal(lon), decimal(lat)); f.point == nil {
		return f, "nhc:center: " + cmp.Or(lenient.ExcerptText(c.Center), lenient.Nothing) + ", expected latitude and longitude"
	}
	if m := mph.FindStringSubmatch(strings.TrimSpace(c.Wind)); m != nil {
		// The center works in steps of 5 kt, and rounds to 5 mph for people. This converts back.
		v := integer(m[1])
		f.wind = lenient.Number{Value: float64(int(v.Value/1.150779/5+0.5)) * 5, Known: v.Known}
	}
	if m := millibar.FindStringSubmatch(strings.TrimSpace(c.Pressure)); m != nil {
		f.pressure = integer(m[1])
	}
	f.movement = lenient.Clip(hazard.CleanLine(lenient.Clip(c.Movement, 4*maxName)), maxName)
	f.headline = sentence(c.Headline)
	return f, ""
}

func decimal(s string) lenient.Number {
	v, err := strconv.ParseFloat(strings.TrimSpace(s), 64)
	return lenient.Number{Value: v, Known: err == nil && v == v}
}

// maxHeadline bounds a headline, in bytes.
const maxHeadline = 500

// sentence returns a headline without its dots: "TROPICAL STORM CONDITIONS HAVE BEGUN ON BERMUDA".
func sentence(headline string) string {
	parts := strings.Split(lenient.Clip(hazard.CleanLine(lenient.Clip(headline, 4*maxHeadline)), maxHeadline), "...")
	for i := range parts {
		parts[i] = strings.TrimSpace(parts[i])
	}
	parts = slices.DeleteFunc(parts, func(s string) bool { return s == "" })
	return strings.Join(parts, "; ")
}
