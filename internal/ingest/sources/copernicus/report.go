package copernicus

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/hazardd/hazardd/internal/geo"
	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/ingest/lenient"
	"github.com/hazardd/hazardd/internal/ingest/source"
)

// kind is a row of the table of categories.
type kind struct {
	category string
	typ      hazard.Type // empty if it is not a hazard, for the reason in basis
	label    string      // type in the names of events
	basis    string
}

// kinds is the table of categories, as the interfaces name them. A slug of the unified list has its
// own row. A category without a row is unknown.
var kinds = []kind{
	{"Wildfire", hazard.Wildfire, "Wildfire", "recorded (EMSR888)"},
	{"fire", hazard.Wildfire, "Wildfire", "recorded slug of it"},
	{"Forest fire, wild fire", hazard.Wildfire, "Wildfire", "the same in older activations (doc)"},
	{"Flood", hazard.Flood, "Flood", "recorded (EMSR927)"},
	{"Storm", hazard.Storm, "Storm", "recorded (EMSR930); a cyclone by its name or subcategory"},
	{"Earthquake", hazard.Earthquake, "Earthquake", "recorded (EMSR916)"},
	{"Volcanic activity", hazard.Volcano, "Volcanic Eruption", "recorded (EMSR912)"},
	{"Mass movement", hazard.Landslide, "Landslide", "recorded (EMSR751): landslides, mudflows"},
	{"Tsunami", hazard.Tsunami, "Tsunami", "category of CEMS (doc)"},
	{"Drought", hazard.Drought, "Drought", "category of CEMS (doc)"},
	{"Industrial accident", hazard.Accident, "Industrial Accident", "category of CEMS (doc)"},
	{"Transportation accident", hazard.Accident, "Transportation Accident", "category of CEMS (doc)"},
	{"Epidemic", hazard.Biomedical, "Epidemic", "category of CEMS (doc)"},
	{"Humanitarian", "", "", "a need, no hazard: refugee camps are mapped under it"},
	{"Other", "", "", "public events and what has no name (EMSR877, a festival): no hazard"},
}

func kindOf(c named) *kind {
	for i := range kinds {
		if strings.EqualFold(strings.TrimSpace(string(c)), kinds[i].category) {
			return &kinds[i]
		}
	}
	return nil
}

const (
	// severity is the level of every activation, because CEMS has no levels. It is our judgment: an
	// authority that asks for help reports more than INFORMATION, and other sources report how bad
	// the event is.
	severity = hazard.Advisory
	// life is how long an open activation lasts without an update. It is our judgment: recorded
	// ones are updated every few days, and closed after 4 to 28.
	life = 14 * 24 * time.Hour
	// Limits of the event's time: it is not years before its activation, nor is it forecast weeks
	// ahead.
	longBefore = 366 * 24 * time.Hour
	farAhead   = 30 * 24 * time.Hour
	clockSkew  = time.Hour
)

var (
	rapidCode    = regexp.MustCompile(`^EMSR\d{1,6}$`)
	recoveryCode = regexp.MustCompile(`^EMSN\d{1,6}$`)
	gdacsID      = regexp.MustCompile(`^(EQ|TC|FL|VO|DR|WF|TS)\d{1,12}$`)
	charterID    = regexp.MustCompile(`^\d{1,6}$`)
	// stormName matches "Tropical Cyclone Melissa", "Storm Boris".
	stormName = regexp.MustCompile(`^(?i:super typhoon|(?:post-)?tropical (?:cyclone|storm|depression)|hurricane|typhoon|cyclone|storm) ` +
		`(\p{Lu}[\p{L}'’-]+)$`)
	// cyclonic matches words for a tropical cyclone. The group matches words for a storm that is
	// not one, or no longer.
	cyclonic = regexp.MustCompile(`(?i)(extra-?tropical|post-?tropical)|\btropical|hurricane|typhoon|\bcyclone`)
	unreal   = regexp.MustCompile(`(?i)\b(test|exercise|drill)\b`)
)

// aTime is the form of the times of an activation.
const aTime = "a time such as 2026-07-03T16:38:00"

// kind returns the kind of an activation, and its code. It is nil if the activation is not a hazard;
// reason says why one is rejected.
func (a *activation) kind() (k *kind, code string, notes []string, reason string) {
	code = strings.ToUpper(strings.TrimSpace(string(a.Code)))
	secret := strings.Trim(string(a.Sensitive), `"`)
	k = kindOf(a.Category)
	switch {
	case recoveryCode.MatchString(code), a.DRMPhase != "" && !strings.EqualFold(string(a.DRMPhase), "response"):
		return nil, code, nil, source.Ignoring + "risk and recovery mapping, not an emergency"
	case !rapidCode.MatchString(code):
		return nil, code, nil, fault("code", string(a.Code), "EMSR and a number")
	case strings.EqualFold(secret, "true"):
		return nil, code, nil, source.Ignoring + "the activation is sensitive: not public"
	case len(a.Sensitive) > 0 && a.Sensitive.Kind() != 'n' && !strings.EqualFold(secret, "false"):
		return nil, code, nil, "sensitive: " + lenient.Excerpt(a.Sensitive) + ", expected true or false"
	case k == nil: // unknown category, but still an emergency
		notes = append(notes, fault("category", string(a.Category), "a category of Copernicus EMS such as Wildfire"))
		k = &kind{typ: hazard.Occurrence, label: "Emergency"}
	case k.typ == "": // k.basis gives the reason
		return nil, code, nil, source.Ignoring + "the category " + k.category + ": " + k.basis
	}
	return k, code, notes, ""
}

// dates are the times of an activation, and whether it is closed.
type dates struct {
	start, activated, updated, renewed hazard.Instant
	closed                             bool
}

// dates reads the times. The notes describe what is replaced; reason says why there is no time at
// all.
func (a *activation) dates(now hazard.Instant) (d dates, notes []string, reason string) {
	var ok, known bool
	d.activated, ok = date(string(a.ActivationTime))
	d.start, known = date(string(a.EventTime))
	switch {
	case !ok && !known:
		return d, nil, fault("activationTime", string(a.ActivationTime), aTime)
	case !ok:
		notes = append(notes, fault("activationTime", string(a.ActivationTime), aTime))
		d.activated = d.start
	case !known:
		if a.EventTime != "" {
			notes = append(notes, fault("eventTime", string(a.EventTime), aTime))
		}
		d.start = d.activated
	}
	var err error
	if d.closed, err = strconv.ParseBool(cmp.Or(string(a.Closed), "false")); err != nil {
		notes = append(notes, fault("closed", string(a.Closed), "true or false"))
	}
	d.renewed = a.renewed(max(d.start, d.activated), now)
	switch d.updated, ok = date(string(a.LastUpdate)); {
	case ok:
		d.renewed = max(d.renewed, d.updated)
	case a.AOIs == nil || a.LastUpdate != "": // a list was made some time before it was read
		notes = append(notes, fault("lastUpdate", string(a.LastUpdate), aTime))
		d.updated = d.renewed
	case d.closed: // the detail contains no time of its creation, and after the last product nothing changes any more
		d.updated = d.renewed
	default: // the detail is as of the time it was read
		d.updated = now
	}
	return d, notes, ""
}

// report returns the report of an activation, or nil if it is not a hazard. reason says why an
// activation is rejected.
func (c config) report(a *activation, now hazard.Instant) (r *hazard.Report, reason string) {
	k, code, notes, reason := a.kind()
	if k == nil {
		return nil, reason
	}
	d, replaced, reason := a.dates(now)
	if reason != "" {
		return nil, reason
	}
	name := line(a.Name)
	typ, title, called := a.title(k, name)
	r = &hazard.Report{
		Source:   Name,
		Key:      code,
		Version:  a.version(d.updated),
		Name:     title,
		Called:   called,
		Type:     typ,
		Severity: severity,
		Category: hazard.Event,
		Start:    d.start,
		LifeMS:   life.Milliseconds(),
		Renewed:  &d.renewed,
		Point:    position(a.Centroid),
		Areas:    a.areas(),
		Refs:     a.refs(code),
		URL:      site + code,
		Comment:  Name + ":" + code,
		Creator:  "Copernicus EMS",
	}
	if c.RespondOnActivation {
		r.Category = hazard.Response
	}
	if d.closed {
		r.Ended = hazard.EndAllClear
	}
	r.Description = a.description(code, d.activated, d.updated, d.closed)
	if a.AOIs != nil {
		r.Products = a.products(r, d.activated)
	} else if !d.closed {
		r.Detail = api + "public-activations/?code=" + code
	}
	source.InCountries(r, a.Countries)
	r.Suspect = strings.Join(a.suspicions(r, name, d.activated, d.updated, now), "; ")
	source.Note(r, append(notes, replaced...)...)
	return r, ""
}

// version orders the documents about an activation by the time of its last update. For the same
// update, the unified list, which has less detail, comes before the other documents. A detail comes
// after all lists that were made before it was read, until the activation is closed.
func (a *activation) version(updated hazard.Instant) int64 {
	v := int64(updated) &^ 1
	if a.EventTime != "" {
		v++
	}
	return v
}

// renewed returns the time of the last work on the activation, from its products. It is not before
// begun, nor after now.
func (a *activation) renewed(begun, now hazard.Instant) hazard.Instant {
	last := begun
	for _, area := range a.AOIs {
		for _, p := range area.Products {
			if at, ok := date(string(p.Version.Time)); ok && at <= now {
				last = max(last, at)
			}
		}
	}
	return last
}

// title returns the type, our name ("Wildfire - Les Gavarres, Spain") and the proper name of the
// event.
func (a *activation) title(k *kind, name string) (typ hazard.Type, title, called string) {
	what, where, found := strings.Cut(strings.TrimRight(name, " ."), " in ")
	if !found {
		what, where = "", strings.Join(a.Countries, ", ")
	}
	typ, label := k.typ, k.label
	if typ == hazard.Storm {
		if isCyclone(string(a.SubCategory)) || isCyclone(name) || strings.HasPrefix(strings.ToUpper(string(a.GDACS)), "TC") {
			typ, label = hazard.Cyclone, "Tropical Cyclone"
		}
		if m := stormName.FindStringSubmatch(what); m != nil {
			called = m[1]
			label += " " + called
		}
	}
	if where == "" {
		return typ, lenient.Clip(label, maxName), called
	}
	return typ, lenient.Clip(label+" - "+where, maxName), called
}

// isCyclone reports whether text is about a tropical cyclone.
func isCyclone(text string) bool {
	return slices.ContainsFunc(cyclonic.FindAllStringSubmatch(text, -1), func(m []string) bool { return m[1] == "" })
}

func (a *activation) refs(code string) []string {
	refs := []string{"cems:" + code}
	if id := strings.ToUpper(strings.TrimSpace(string(a.GDACS))); gdacsID.MatchString(id) {
		refs = append(refs, "gdacs:"+id)
	}
	if n := strings.TrimSpace(string(a.Charter)); charterID.MatchString(n) {
		refs = append(refs, "charter:"+n)
	}
	return refs
}

// position returns the position of a centroid, or nil if it is invalid.
func position(centroid text) *hazard.Point {
	s, err := geo.ParseWKT(strings.TrimSpace(string(centroid)))
	if err != nil || !s.IsPoint() {
		return nil
	}
	lon, lat := s.Point()
	return &hazard.Point{Lon: lon, Lat: lat}
}

// areas returns the areas of interest. If none is readable, it returns the box around them. These
// are the areas in which damage is mapped.
func (a *activation) areas() []hazard.Area {
	var all []hazard.Area
	add := func(wkt text, role hazard.AreaRole) {
		s, err := geo.ParseWKT(strings.TrimSpace(string(wkt)))
		if err == nil && s.AreaKm2() > 0 {
			all = append(all, hazard.Area{Role: role, Geometry: s.GeoJSON()})
		}
	}
	for _, area := range a.AOIs {
		add(area.Extent, hazard.ImpactArea)
	}
	if len(all) == 0 {
		add(a.Extent, hazard.AlertArea)
	}
	return all
}

// description describes what is known.
func (a *activation) description(code string, activated, updated hazard.Instant, closed bool) string {
	var lines []string
	say := func(format string, args ...any) { lines = append(lines, fmt.Sprintf(format, args...)) }
	why := hazard.Clean(lenient.Clip(string(cmp.Or(a.Reason, a.Snippet)), maxText))
	if why != "" {
		lines = append(lines, why, "")
	}
	if len(a.Countries) > 0 {
		say("%s: %s.", map[bool]string{true: "Countries", false: "Country"}[len(a.Countries) > 1], strings.Join(a.Countries, ", "))
	}
	who := ""
	if _, office, ok := strings.Cut(line(a.Activator), "|"); ok {
		who = ", requested by " + office
	}
	say("Copernicus EMS Rapid Mapping activation %s of %s UTC%s.", code, minute(activated), who)
	if sub := line(a.SubCategory); sub != "" {
		say("Kind: %s.", sub)
	}
	for _, f := range figures(a) {
		say("%s.", f)
	}
	if n := len(a.AOIs); n > 0 {
		say("Areas of interest: %d.", n)
	}
	state := "open"
	if closed {
		state = "closed"
	}
	if a.LastUpdate != "" {
		state += ", last updated " + minute(updated) + " UTC"
	}
	say("State: %s.", state)
	return hazard.Clean(strings.Join(lines, "\n"))
}

func minute(at hazard.Instant) string { return at.Time().Format("2006-01-02 15:04") }

// maxFigures bounds the displayed figures. The largest recorded number is six.
const maxFigures = 30

// figures returns the measured values by name, without "-" and "NA".
func figures(a *activation) []string {
	var all map[string]text
	if a.Stats.Kind() != '{' || json.Unmarshal(a.Stats, &all, tolerant) != nil {
		return nil
	}
	var lines []string
	for name, value := range all {
		v := line(value)
		if name = lenient.Clip(hazard.CleanLine(lenient.Clip(name, 4*maxName)), maxName); name == "" || name == "max_extent" || v == "" || v == "-" || v == "NA" {
			continue
		}
		lines = append(lines, name+": "+lenient.Clip(v, maxName))
	}
	slices.Sort(lines)
	return lines[:min(len(lines), maxFigures)]
}

// productNames are the kinds of maps.
var productNames = map[text]string{"FEP": "First estimate", "DEL": "Delineation", "GRA": "Damage grading", "REF": "Reference"}

// maxProducts bounds the links to maps. The largest recorded number is 55.
const maxProducts = 300

// products returns the product tree of a detail.
func (a *activation) products(r *hazard.Report, activated hazard.Instant) []hazard.ReportProduct {
	tree := []hazard.ReportProduct{{Key: Name, Title: "Copernicus EMS", Type: hazard.FolderProduct, Time: activated}}
	seen := map[string]bool{}
	add := func(key, title, at string, when hazard.Instant) {
		if at != "" && !seen[key] {
			seen[key] = true
			tree = append(tree, hazard.ReportProduct{Key: key, Parent: Name, Title: title, Type: hazard.URLProduct, Data: at, Time: when})
		}
	}
	add("activation", "Activation "+r.Key, r.URL, activated)
	add("report", "Report", address(a.ReportAt), activated)
	add("charter", strings.TrimSpace("International Charter activation "+line(a.Charter)), address(a.CharterAt), activated)
	add("all", "All maps and data (ZIP)", address(a.AllAt), activated)
	for _, area := range a.AOIs {
		for _, p := range area.Products {
			if p.Version.Status != "F" || len(tree) > maxProducts {
				continue
			}
			when, ok := date(string(p.Version.Time))
			if !ok || when > hazard.Instant(r.Version) {
				when = activated
			}
			kind := cmp.Or(productNames[p.Type], line(p.Type))
			monitoring := lenient.Clip(line(p.Monitoring), maxName)
			title := lenient.Clip(fmt.Sprintf("%s: %s", line(area.Name), kind), maxName)
			if monitoring != "" && monitoring != "0" {
				title += ", monitoring " + monitoring
			}
			key := lenient.Clip(fmt.Sprintf("aoi%s/%s/%s", line(area.Number), line(p.Type), cmp.Or(monitoring, "0")), maxName)
			add(key, title, address(p.At), when)
		}
	}
	return tree
}

// suspicions returns the reasons why a readable report must be held until somebody has checked it.
func (a *activation) suspicions(r *hazard.Report, name string, activated, updated, now hazard.Instant) []string {
	var why []string
	doubt := func(format string, args ...any) { why = append(why, fmt.Sprintf(format, args...)) }
	if r.Start > now.Add(farAhead) {
		doubt("eventTime: %v is more than 30 days ahead", r.Start)
	}
	if r.Start < activated.Add(-longBefore) {
		doubt("eventTime: %v is more than 366 days before the activation", r.Start)
	}
	if activated > now.Add(clockSkew) {
		doubt("activationTime: %v is in the future", activated)
	}
	if updated > now.Add(clockSkew) {
		doubt("lastUpdate: %v is in the future", updated)
	}
	switch {
	case r.Point == nil && len(r.Areas) == 0 && len(r.Places) == 0:
		doubt("%s", fault("centroid", string(a.Centroid), "a place such as POINT (3.03 41.85)"))
	case r.Point != nil && *r.Point == (hazard.Point{}):
		doubt("centroid: 0 0, expected the place of the event")
	}
	if name == "" {
		doubt("name: missing, expected what has happened where")
	}
	if w := unreal.FindString(name); w != "" {
		doubt("name: %s says %s", quote(name), strings.ToUpper(w))
	}
	return why
}
