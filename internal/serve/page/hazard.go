package page

import (
	"cmp"
	"fmt"
	"math"
	"net/url"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/hazardd/hazardd/internal/atlas/gazetteer"
	"github.com/hazardd/hazardd/internal/atlas/population"
	"github.com/hazardd/hazardd/internal/format/headline"
	"github.com/hazardd/hazardd/internal/geo"
	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/lang"
	"github.com/hazardd/hazardd/internal/lang/words"
)

// Hazard is the page of one hazard for one visitor.
type Hazard struct {
	Frame
	// There is the time zone of the hazard's place; nil if unknown.
	There  *time.Location
	Now    hazard.Instant
	Hazard *hazard.Hazard // its state at Now
	// Headline is the hazard in a sentence or two.
	Headline string
	// Symbol returns the path of a hazard's symbol.
	Symbol func(*hazard.Hazard) string
	// Successor is the hazard that replaced it; nil if there is none, or it is unknown here.
	Successor *hazard.Hazard
	// Alike are active hazards of which it is unknown whether they are the same warning.
	Alike []*hazard.Hazard
	Areas []hazard.Area
	// Towns are the towns in its area and near its point. They are known once the people there were
	// counted.
	Towns []population.Place
	// Lands are the countries and divisions where the hazard lies.
	Lands Lands
	// Assets are the assets of the visitor's organizations; nil if they have none.
	Assets   *Assets
	Products []*hazard.Product // the products that the visitor may see
	// Pictures maps the numbers of products that are pictures to the time of their fetch or upload.
	Pictures map[int64]hazard.Instant
	Orgs     map[int64]string // acronyms
	Reports  []Report
	Sources  []Source
	// Drawn are the shapes of sources; only those of a storm are read.
	Drawn []hazard.Shape
	// Ground reports that the map shows land and towns, so that the page must credit their makers.
	Ground bool
	// Preview is what chats show for a link to the page; nil if their robots may not read the page.
	Preview *Preview
	// Changes are the latest changes that the visitor may see, newest first. Earlier is the number
	// of changes before them.
	Changes []Change
	Earlier int
	// Kept is the time since when no changes were pruned; 0 if none were pruned.
	Kept hazard.Instant
}

// Report is what a source currently reports about the hazard.
type Report struct {
	Source, Event string
	Joined        string // why the event is part of this hazard; empty: the event created the hazard
	Said          hazard.EventState
}

// Source is the state of a source.
type Source struct {
	Name, Title string
	// State is a word of poll.Status: ok, stale, failing, starting, disabled.
	State string
	Read  hazard.Instant // when it was last read; 0: never
}

// reasons maps the reasons of an end to keys of words: reason… is the short form, why… a sentence.
var reasons = map[hazard.EndReason]string{
	hazard.EndExpired: "Expired", hazard.EndCancelled: "Cancelled", hazard.EndAllClear: "AllClear", hazard.EndSuperseded: "Superseded",
	hazard.EndWithdrawn: "Withdrawn", hazard.EndRetracted: "Retracted", hazard.EndMerged: "Merged",
}

// view is the input of the template.
type view struct {
	Frame
	Preview                   *Preview
	H                         *hazard.Hazard
	Ref                       string // path of the page
	MapURL                    string // path of the whole map, centered on this hazard
	Title                     string
	Symbol                    string
	Exercise, Over            bool
	SeverityClass             string
	Severity, Category, Type  string
	Reason                    string
	Next                      *next
	Alike                     []*next // what may be the same warning
	Made, Start, End, Updated moment
	EndLabel                  string
	Winds                     []forecast // of a storm, at towns
	NoEnd                     string     // in place of an end that the service would only guess
	Position, Degrees         string
	KnownOnly                 string // instead of the position: the place is only known as a region or country
	MapAlt                    string
	Headline                  string
	Description               []block
	Original                  string // the description as it was received, if it is set otherwise
	Language, Dir             string // of the authority's text; empty: unknown
	Instruction, Contact      []block
	Responses                 []string
	Audience                  string
	Languages                 []tongueLink // other languages of the text
	Zones                     []zoneLink
	Note, Comment             []block
	Areas                     []area
	Products                  []*product
	ProductCount              int
	Reports                   []report
	Measured                  []measured
	People                    *people
	Lands                     landsSaid
	Assets                    *assets
	Importance, Why           string // importance of an active hazard compared with others, and why
	Origin, Org               string
	Sources, Doubts           []source // all sources, and those that readers must not rely on
	SourceLink                string
	Credits                   bool
	Recent, Older             []change
	Earlier                   int
	Kept                      string // says that changes before a moment may have been pruned; empty: they were not
	Total                     int
}

// tongueLink links to the page in another language.
type tongueLink struct {
	Tag, Href string
	Here      bool
}

// zoneLink links to the page with times in another zone, beside UTC.
type zoneLink struct {
	Name string // IANA
	Of   string // whose zone it is; empty: the visitor's
	Here bool
}

// zones returns the zones that a visitor may want: the hazard's, the one they chose, and UTC alone.
func (c *Hazard) zones() (list []zoneLink) {
	if c.There != nil {
		list = append(list, zoneLink{Name: c.There.String(), Of: c.say("zoneThere")})
	}
	if c.Zone != nil && c.Zone != time.UTC && (c.There == nil || c.Zone.String() != c.There.String()) {
		list = append(list, zoneLink{Name: c.Zone.String()})
	}
	list = append(list, zoneLink{Name: "UTC"})
	for i := range list {
		list[i].Here = c.Zone != nil && list[i].Name == c.Zone.String() || c.Zone == nil && list[i].Name == "UTC"
	}
	return list
}

// describe sets the description and the instruction, which stands above it and not in it too. What is
// written in capitals is set as sentences.
func (c *Hazard) describe(v *view, instruction string) {
	text := c.Hazard.Description
	if instruction != "" {
		text = strings.TrimSpace(strings.Replace(text, instruction, "", 1))
	}
	set := headline.Sentenced(text)
	v.Description, v.Instruction = blocks(set), blocks(headline.Sentenced(instruction))
	if set != text {
		v.Original = c.Hazard.Description
	}
}

// speak adds the authority's text in the language of the page.
func (c *Hazard) speak(v *view) {
	h := c.Hazard
	t := h.Says()
	if t == nil {
		c.describe(v, h.Instruction)
		return
	}
	v.Language, v.Dir = t.Language, "ltr"
	if lang.RTL(t.Language) {
		v.Dir = "rtl"
	}
	instruction := cmp.Or(h.Instruction, t.Instruction)
	if h.EditedField("description") && h.Instruction == "" {
		c.describe(v, "")
		v.Instruction = blocks(t.Instruction)
	} else {
		c.describe(v, instruction)
	}
	if h.EditedField("description") && h.EditedField("hazard_Name") {
		v.Language, v.Dir = "", ""
	}
	v.Contact, v.Audience = blocks(t.Contact), t.Audience
	for _, r := range t.Responses {
		if key := "response" + r; c.language().Knows(key) {
			v.Responses = append(v.Responses, c.say(key))
		}
	}
	if all := h.Languages(); len(all) > 1 {
		for _, l := range all {
			v.Languages = append(v.Languages, tongueLink{l, v.Ref + "?lang=" + url.QueryEscape(l), l == t.Language})
		}
	}
}

type next struct {
	Name, Href, Symbol, Severity, SeverityClass string
	Over                                        bool
}

type area struct {
	Role, What, Class string
	Size              string
}

type product struct {
	Title, Kind, Comment  string
	Folder, File          bool
	Text                  []block
	Again                 bool // the description contains all of the text
	Link, LinkText        string
	FileURL, Name, Detail string
	Picture               string  // address of the picture; empty: the product is none
	Fetched               *moment // nil: it was uploaded
	RestrictedTo          string  // organizations that may see it; empty: everybody
	By                    string
	At                    moment
	Place                 string
	Children              []*product
}

type report struct {
	Source, Joined, Name, Level, Severity, Type string
	SeverityClass                               string
	Link                                        string
	Said, Start, End                            moment
	EndLabel                                    string
	Reason                                      string
	Text                                        []block
}

type source struct {
	Title, State string
	Read         moment
	Never        bool
	Words        string
}

// shownChanges is how many changes are shown; the others are collapsed.
const shownChanges = 12

// knownAs names the region or countries that the hazard is somewhere in.
func (c *Hazard) knownAs() string { return gazetteer.KnownAs(c.Hazard.PlaceKnownAs, c.language().ID) }

func (c *Hazard) view() *view {
	h := c.Hazard
	v := &view{Frame: c.Frame, Preview: c.Preview, H: h, Ref: c.Root + "/h/" + h.UUID.String(), MapURL: c.Root + "/#h=" + h.UUID.String(), Title: h.Name, Headline: c.Headline, Symbol: c.Symbol(h),
		Exercise: h.Category == hazard.Exercise, Over: !h.ActiveAt(c.Now), SeverityClass: severityClass(h.Severity), Severity: c.severity(h.Severity),
		Category: c.language().NameOf("category", string(h.Category)), Type: c.language().NameOf("type", string(h.Type)), Made: c.at(c.Now, c.Now), Start: c.at(h.Start, c.Now), End: c.at(h.End, c.Now), Updated: c.at(h.LastUpdate, c.Now),
		Position: dms(h.Latitude, h.Longitude), Degrees: fmt.Sprintf("%s, %s", number(h.Latitude, 5), number(h.Longitude, 5)),
		Description: blocks(h.Description), Note: blocks(h.Note), Comment: blocks(forPeople(h.Comment)), SourceLink: safeLink(h.URL, "https", "http"), Earlier: c.Earlier, Credits: c.Ground}
	if h.Somewhere() {
		v.KnownOnly = c.say("knownOnly", "known", c.knownAs())
	}
	c.speak(v)
	if v.Exercise {
		v.Title = c.say("exerciseNamed", "name", v.Title)
	}
	switch {
	case v.Over:
		v.EndLabel = c.say("ended")
		if h.End > c.Now { // its end was unknown at that time
			v.End = v.Updated
		}
	case !h.AutoExpire && h.End <= c.Now:
		v.EndLabel = c.say("wasExpected")
	case !h.AutoExpire:
		v.EndLabel = c.say("expected")
	default:
		v.EndLabel = c.say("ends")
	}
	if !h.EndGiven && h.ActiveAt(c.Now) && h.End > c.Now {
		v.NoEnd = c.say("headline.noEnd")
	}
	if v.Over {
		v.Title = c.say("endedNamed", "name", v.Title)
		v.Reason = c.say("why" + cmp.Or(reasons[h.Reason], "Over"))
	}
	v.Winds = c.winds(c.Drawn)
	v.Zones = c.zones()
	v.Next = c.next()
	for _, o := range c.Alike {
		v.Alike = append(v.Alike, c.link(o))
	}
	v.Areas, v.MapAlt = c.areas()
	v.Products, v.ProductCount = c.products()
	for i := range c.Reports {
		v.Reports = append(v.Reports, c.report(&c.Reports[i]))
	}
	v.Measured = c.measurements()
	v.People, v.Lands = c.people(), c.Lands.said(c.language())
	v.Assets = c.assets()
	if h := c.Hazard; h.Status == hazard.Active {
		i := hazard.ImportanceOf(h)
		v.Importance = c.say("importanceOf", "n", strconv.Itoa(i.Score))
		v.Why = Why(c.Hazard, &i, c.language())
	}
	c.origin(v)
	for i := range c.Changes {
		if i < shownChanges {
			v.Recent = append(v.Recent, c.change(&c.Changes[i]))
		} else {
			v.Older = append(v.Older, c.change(&c.Changes[i]))
		}
	}
	v.Total = len(c.Changes) + c.Earlier
	if c.Kept != 0 {
		v.Kept = c.say("keptFrom", "when", c.at(c.Kept, c.Now).Words)
	}
	return v
}

func (c *Hazard) next() *next {
	h := c.Hazard
	if h.Successor == uuid.Nil {
		return nil
	}
	if c.Successor != nil {
		return c.link(c.Successor)
	}
	return &next{Name: c.say("nextUnknown", "id", h.Successor), Href: c.Root + "/h/" + h.Successor.String()}
}

// link leads to the page of another hazard.
func (c *Hazard) link(h *hazard.Hazard) *next {
	return &next{Name: h.Name, Href: c.Root + "/h/" + h.UUID.String(), Symbol: c.Symbol(h), Severity: c.severity(h.Severity), SeverityClass: severityClass(h.Severity), Over: !h.ActiveAt(c.Now)}
}

// roles maps the roles of areas to keys of texts; with the suffix What, to keys of their
// explanations.
var roles = map[hazard.AreaRole]string{hazard.AlertArea: "areaAlert", hazard.ImpactArea: "areaImpact", hazard.TrackArea: "areaTrack", hazard.PointArea: "areaPoint"}

// areas lists the areas by role. alt says what the map shows.
func (c *Hazard) areas() (list []area, alt string) {
	names := []string{}
	for _, role := range []hazard.AreaRole{hazard.AlertArea, hazard.ImpactArea, hazard.TrackArea} {
		n, km2 := 0, 0.0
		for _, a := range c.Areas {
			if a.Role != role {
				continue
			}
			n++
			if s, err := geo.ReadStored(a.Geometry); err == nil {
				km2 += s.AreaKm2()
			}
		}
		if n == 0 {
			continue
		}
		size := ""
		if km2 > 0 {
			size = c.squareKilometres(km2)
		}
		if n > 1 {
			size = strings.TrimSuffix(c.say("shapes", "n", n)+", "+size, ", ")
		}
		list = append(list, area{Role: c.say(roles[role]), What: c.say(roles[role] + "What"), Class: string(role), Size: size})
		names = append(names, c.say(roles[role]))
	}
	if c.Hazard.Somewhere() {
		known := c.knownAs()
		list = append(list, area{Role: c.say("areaUnknown"), What: c.say("areaUnknownWhat", "known", known), Class: string(hazard.PointArea)})
		return list, c.say("knownOnly", "known", known)
	}
	if len(list) == 0 {
		list = append(list, area{Role: c.say(roles[hazard.PointArea]), What: c.say(roles[hazard.PointArea] + "What"), Class: string(hazard.PointArea)})
	}
	alt = c.say("mapAlt", "position", dms(c.Hazard.Latitude, c.Hazard.Longitude))
	if len(names) > 0 {
		alt = c.say("mapAreas", "map", alt, "areas", strings.Join(names, ", "))
	}
	return list, alt
}

// products builds the tree of the visible products. A product in a hidden folder is hidden too.
func (c *Hazard) products() (roots []*product, count int) {
	known := map[int64]bool{}
	for _, p := range c.Products {
		known[p.ID] = true
	}
	below := map[int64][]*hazard.Product{}
	for _, p := range c.Products {
		if p.Hidden {
			continue
		}
		parent := p.ParentID
		if !known[parent] {
			parent = 0
		}
		below[parent] = append(below[parent], p)
	}
	var grow func(parent int64) []*product
	grow = func(parent int64) (list []*product) {
		for _, p := range below[parent] {
			count++
			shown := c.product(p)
			shown.Children = grow(p.ID)
			list = append(list, shown)
		}
		return list
	}
	return grow(0), count
}

// MadeBy returns the author of a product: the title of its source, or the user who last changed it.
func (c *Hazard) MadeBy(p *hazard.Product) string {
	if p.Source != "" && !p.Edited {
		return c.sourceTitle(p.Source)
	}
	return cmp.Or(p.UpdateUser, p.UserID)
}

func (c *Hazard) product(p *hazard.Product) *product {
	out := &product{Title: p.Title, Comment: forPeople(p.Comment), At: c.at(p.Updated, c.Now), By: c.MadeBy(p), Place: cut(p.Geometry, 120)}
	own := c.Root + "/h/" + c.Hazard.UUID.String() + "/products/" + strconv.FormatInt(p.ID, 10)
	if at, ok := c.Pictures[p.ID]; ok {
		out.Picture = own + "/picture"
		if p.File == nil {
			out.Fetched = new(c.at(at, c.Now))
		}
	}
	orgs := make([]string, len(p.OrgIDs))
	for i, id := range p.OrgIDs {
		orgs[i] = c.org(id)
	}
	out.RestrictedTo = strings.Join(orgs, ", ")
	switch p.Type {
	case hazard.FolderProduct:
		out.Kind, out.Folder = c.say("folder"), true
	case hazard.TextProduct:
		out.Kind, out.Text, out.Again = c.say("text"), blocks(p.Data), saysAgain(p.Data, c.Hazard.Description)
	case hazard.URLProduct:
		out.Kind, out.Link, out.LinkText = c.say("link"), safeLink(p.Data, "https", "http"), p.Data
	case hazard.FileProduct:
		out.Kind, out.File = c.say("file"), true
		out.FileURL = own + "/file"
		out.Name, out.Detail = p.File.Name, strings.TrimPrefix(strings.ToUpper(strings.TrimPrefix(path.Ext(p.File.Name), "."))+", "+c.bytes(p.File.Size), ", ")
	}
	return out
}

func (c *Hazard) report(r *Report) report {
	head := &r.Said.Head
	out := report{Source: c.sourceTitle(r.Source), Joined: r.Joined, Name: head.Name, Level: head.Level, Severity: c.severity(head.Severity),
		SeverityClass: severityClass(head.Severity), Type: c.language().NameOf("type", string(head.Type)), Link: safeLink(head.URL, "https", "http"), Start: c.at(head.Start, c.Now),
		End: c.at(r.Said.Over(), c.Now), EndLabel: c.say("ends")}
	if key, ok := reasons[r.Said.Ended]; ok {
		out.Reason = c.say("reason" + key)
	}
	if r.Said.Over() <= c.Now {
		out.EndLabel = c.say("ended")
	}
	// A version is the time of issue in most sources, but a counter in some.
	if said := hazard.Instant(head.Version); said > 1e12 && said < c.Now.Add(maxRelative) {
		out.Said = c.at(said, c.Now)
	}
	if !saysAgain(head.Description, c.Hazard.Description) {
		out.Text = blocks(head.Description)
	}
	return out
}

// measured is a measurement in words.
type measured struct{ Title, Value, Source string }

// measurements returns the measurements in the order in which people read them.
func (c *Hazard) measurements() (list []measured) {
	for _, info := range hazard.Quantities() {
		m, ok := hazard.Measured(c.Hazard.Measurements, info.Name)
		if !ok {
			continue
		}
		value := c.measure(&m)
		if m.Scale != "" {
			value += " (" + m.Scale + ")"
		}
		list = append(list, measured{c.say("quantity_" + string(info.Name)), value, c.sourceTitle(m.Source)})
	}
	return list
}

// Why returns what makes a hazard important, in the words of a language.
func Why(h *hazard.Hazard, i *hazard.Importance, language *words.Language) string {
	if language == words.English() {
		return i.Reason()
	}
	f := Frame{Language: language}
	list := make([]string, len(i.Causes))
	for j, cause := range i.Causes {
		switch cause.Kind {
		case hazard.ByLevel:
			list[j] = f.say("important_level", "level", f.severity(h.Severity))
		case hazard.ByKind:
			list[j] = f.say("important_kind", "type", language.NameOf("type", string(h.Type)), "level", f.severity(h.Severity))
		case hazard.ByForce:
			list[j] = f.say("quantity_"+string(cause.Measured.Name)) + " " + f.measure(&cause.Measured)
		default:
			list[j] = f.say("important_"+string(cause.Kind), "n", f.grouped(hazard.TwoDigits(cause.People)))
		}
	}
	return strings.Join(list, "; ")
}

// people says in words how many people live where the hazard is.
type people struct {
	Text, Why, Method string
	Bands             []measured
	Places            []string
}

// These are reasons why nobody was counted, in addition to those from the count itself.
const (
	NotThen      = "nobody had been counted by then"
	EndedBefore  = "it ended before people were counted"
	CountsNobody = "this server does not count people"
)

// uncounted maps each reason to the key of its words.
var uncounted = map[string]string{hazard.WhyNoArea: "peoplePoint", hazard.WhyIntricate: "peopleIntricate", NotThen: "peopleThen", EndedBefore: "peopleEnded", CountsNobody: "peopleOff"}

// Uncounted returns in a language why people were not counted. In English, it returns the given
// text.
func Uncounted(why string, language *words.Language) string {
	if key := uncounted[why]; key != "" && language != words.English() {
		return language.Say(key)
	}
	return why
}

// people returns nil until the people were counted.
func (c *Hazard) people() *people {
	e := c.Hazard.Exposed()
	if e == nil {
		return nil
	}
	p := &people{Text: c.estimate(e.People), Method: e.Method}
	if e.People == nil && slices.ContainsFunc(e.Bands, func(b hazard.ExposedBand) bool { return b.People != nil }) {
		p.Text = "" // "not known" beside a number would contradict it
	}
	if key := uncounted[e.Why]; key != "" {
		p.Why = c.say(key)
	}
	if e.Year != 0 {
		p.Method += ", " + strconv.Itoa(e.Year)
	}
	bands := slices.DeleteFunc(slices.Clone(e.Bands), func(b hazard.ExposedBand) bool { // half a degree more or less would be a row that nobody reads
		return b.Kind == string(hazard.Intensity) && b.Value != math.Trunc(b.Value)
	})
	for i, b := range bands {
		if follows(b, bands[i+1:], nobody) || i > 0 && follows(b, bands[i-1:i], unknown) {
			continue
		}
		p.Bands = append(p.Bands, measured{Title: c.bandTitle(b), Value: c.estimate(b.People)})
	}
	for _, t := range c.Towns {
		where := c.say("townInside")
		if !t.Inside {
			where = c.townAway(t.Km, t.Bearing)
		}
		p.Places = append(p.Places, fmt.Sprintf("%s (%s), %s, %s", t.Name, t.Country, c.grouped(hazard.TwoDigits(t.People)), where))
	}
	return p
}

// bandTitle says which people a band holds.
func (c *Hazard) bandTitle(b hazard.ExposedBand) string {
	info, ok := hazard.Quantity(b.Kind).Info()
	if !ok {
		return c.say("peopleKind", "name", c.say("shape_"+strings.ReplaceAll(b.Kind, " ", "_")))
	}
	value := c.measure(&hazard.Measurement{Name: info.Name, Value: b.Value})
	switch info.Name {
	case hazard.Intensity:
		return c.say("peopleIntensity", "value", value)
	case hazard.Wind:
		return c.say("peopleWind", "value", value)
	}
	return c.say("peopleBand", "name", strings.ToLower(c.say("quantity_"+b.Kind)), "value", value)
}

func nobody(b hazard.ExposedBand) bool  { return b.People != nil && b.People.High == 0 }
func unknown(b hazard.ExposedBand) bool { return b.People == nil }

// follows reports whether a band and the first of others have the same quantity, and so is true for
// both. The bands of a quantity start with the worst, and each includes those before it.
func follows(b hazard.ExposedBand, others []hazard.ExposedBand, so func(hazard.ExposedBand) bool) bool {
	return len(others) > 0 && others[0].Kind == b.Kind && so(b) && so(others[0])
}

// estimate returns a number of people for readers, rounded to two digits.
func (c *Hazard) estimate(e *hazard.Estimate) string {
	if e == nil {
		return c.say("peopleUnknown")
	}
	return c.say("peopleAbout", "n", c.grouped(hazard.TwoDigits(e.People)), "low", c.grouped(hazard.TwoDigits(e.Low)), "high", c.grouped(hazard.TwoDigits(e.High)))
}

// origin says where the hazard comes from, and how recent the data of its sources is.
func (c *Hazard) origin(v *view) {
	h := c.Hazard
	v.Origin = cmp.Or(h.Creator, h.UpdateUser)
	if h.OrgID > 0 {
		v.Org = c.org(h.OrgID)
	}
	var names []string
	if h.Source != "" {
		names = append(names, h.Source)
	}
	for _, r := range c.Reports {
		if !slices.Contains(names, r.Source) {
			names = append(names, r.Source)
		}
	}
	for _, name := range names {
		i := slices.IndexFunc(c.Sources, func(s Source) bool { return s.Name == name })
		if i < 0 {
			v.Sources = append(v.Sources, source{Title: name, State: "imported", Never: true, Words: c.say("sourceImported")})
			continue
		}
		s := c.Sources[i]
		out := source{Title: s.Title, State: s.State, Never: s.Read == 0, Read: c.at(s.Read, c.Now)}
		switch s.State {
		case "stale":
			out.Words = c.say("sourceStale")
		case "failing":
			out.Words = c.say("sourceFailing")
		case "disabled":
			out.Words = c.say("sourceDisabled")
		case "starting":
			out.Words = c.say("sourceStarting")
		}
		if (s.State == "stale" || s.State == "disabled") && !v.Over {
			v.Doubts = append(v.Doubts, out)
		}
		v.Sources = append(v.Sources, out)
	}
}

func (c *Hazard) sourceTitle(name string) string {
	for _, s := range c.Sources {
		if s.Name == name {
			return s.Title
		}
	}
	return name
}

func (c *Hazard) org(id int64) string {
	if id < 0 {
		return c.say("none")
	}
	return cmp.Or(c.Orgs[id], c.say("organizationNumber", "id", id))
}

// severity returns the name of the level in the language of the page.
func (f *Frame) severity(s hazard.Severity) string {
	return f.language().NameOf("severity", s.String())
}

func severityName(s hazard.Severity) string {
	for _, info := range hazard.Severities() {
		if info.Severity == s {
			return info.Name
		}
	}
	return "None"
}

// severityClass returns the CSS class with the severity's color.
func severityClass(s hazard.Severity) string { return "sev-" + strings.ToLower(severityName(s)) }

// typeName returns the type in words. For POLITICALCONFLICT the base interface has only a file
// name.
func typeName(t hazard.Type) string {
	info, ok := t.Info()
	if !ok {
		return string(t)
	}
	if name, isFile := strings.CutSuffix(info.Name, ".png"); isFile {
		first, rest, _ := strings.Cut(name, "_")
		return strings.ToUpper(first[:1]) + first[1:] + " " + strings.ToUpper(rest[:1]) + rest[1:]
	}
	return info.Name
}

// dms returns a position in degrees, minutes and seconds.
func dms(lat, lon float64) string {
	return angle(lat, "N", "S") + ", " + angle(lon, "E", "W")
}

func angle(degrees float64, positive, negative string) string {
	side := positive
	if degrees < 0 {
		side = negative
	}
	seconds := int(math.Round(math.Abs(degrees) * 3600))
	return fmt.Sprintf("%d° %02d′ %02d″ %s", seconds/3600, seconds/60%60, seconds%60, side)
}

// number returns x with at most that many decimals.
func number(x float64, decimals int) string {
	text := strconv.FormatFloat(x, 'f', decimals, 64)
	if strings.Contains(text, ".") {
		text = strings.TrimRight(strings.TrimRight(text, "0"), ".")
	}
	if text == "-0" {
		return "0"
	}
	return text
}

func (f *Frame) squareKilometres(km2 float64) string {
	if f.Miles {
		return f.decimal(km2/(kmInMile*kmInMile)) + " mi²"
	}
	switch {
	case km2 < 0.01:
		return f.grouped(int64(math.Round(km2*1e6))) + " m²"
	case km2 < 10:
		return strconv.FormatFloat(km2, 'f', 2, 64) + " km²"
	}
	return f.grouped(int64(math.Round(km2))) + " km²"
}

// grouped returns n with its digits in groups of three. The separator is a comma in English, or
// else a narrow space, which no language uses as a decimal separator.
func (f *Frame) grouped(n int64) string {
	part := "\u202f"
	if f.language() == words.English() {
		part = ","
	}
	text := strconv.FormatInt(n, 10)
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + part + text[i:]
	}
	return text
}

func (f *Frame) bytes(n int64) string {
	switch {
	case n < 1000:
		return f.say("bytes", "n", n)
	case n < 1000_000:
		return fmt.Sprintf("%d kB", (n+500)/1000)
	}
	return fmt.Sprintf("%.1f MB", float64(n)/1e6)
}

// cut returns the text, shortened to at most that many characters.
func cut(text string, most int) string {
	if runes := []rune(text); len(runes) > most {
		return string(runes[:most-1]) + "…"
	}
	return text
}
