package mirror

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/ingest/lenient"
	"github.com/hazardd/hazardd/internal/ingest/source"
)

// otherTypes are types that servers use besides those of the base interface, section 2.3, which
// keep their names. "Spec" in this package means the notes on the base interface in practice.
var otherTypes = map[string]hazard.Type{
	// Spec, "extra type": version 2 of the original server and the Montandon extension know "Severe Weather"; map it to STORM.
	"SEVEREWEATHER":  hazard.Storm,
	"SEVERE_WEATHER": hazard.Storm,
	"Severe Weather": hazard.Storm,
}

const (
	// ahead is how far in the future a hazard may begin, and skew how far ahead the other server's
	// clock may be.
	ahead = 366 * 24 * time.Hour
	skew  = 24 * time.Hour
	// oldest is before any server of the interface. Times in seconds, read as milliseconds, are
	// before it.
	oldest hazard.Instant = 631152000000 // 1990-01-01
)

// report returns the report of a record, or the reason why the record is not usable.
func report(h *row, name string, schemes source.Schemes, now hazard.Instant) (r hazard.Report, reject string) {
	id, ok := readUUID(h.UUID)
	if !ok {
		return r, fmt.Sprintf("uuid: %q, expected a UUID: it is the hazard's identity", lenient.ExcerptText(h.UUID))
	}
	category := word(h.CategoryID)
	r = hazard.Report{Source: name, Key: id.String(), UUID: id, Relayed: true, Name: hazard.CleanLine(h.HazardName), Description: hazard.Clean(h.Description),
		Category: hazard.Category(cmp.Or(category, string(hazard.Event))), Creator: cmp.Or(hazard.CleanLine(h.Creator), name),
		Comment: cmp.Or(hazard.Clean(h.CommentText), name+":"+id.String())}
	var notes []string
	if r.Type, ok = typeOf(h.TypeID); !ok {
		r.Type = hazard.Occurrence
		notes = append(notes, fmt.Sprintf("type_ID: %q is none of the types", lenient.ExcerptText(h.TypeID)))
	}
	if r.Severity, ok = hazard.ParseSeverity(h.SeverityID); !ok {
		return r, fmt.Sprintf("severity_ID: %q is none of the severities", lenient.ExcerptText(h.SeverityID))
	}
	if _, ok = r.Category.Info(); !ok {
		return r, fmt.Sprintf("category_ID: %q is none of the categories", lenient.ExcerptText(category))
	}
	if r.Name == "" {
		info, _ := r.Type.Info()
		r.Name = info.Name
	}
	t, faults, reject := readTimes(h)
	if reject != "" {
		return r, reject
	}
	source.Note(&r, append(notes, faults...)...)
	r.Version, r.Start = int64(t.last), t.start
	if reject := life(&r, h, t); reject != "" {
		return r, reject
	}
	if link, ok := webAddress(h.SncURL); ok {
		r.URL = link
	}
	var doubts []string
	r.Point, doubts = point(h)
	r.Refs = refs(h, r.Type, schemes)
	r.Suspect = strings.Join(append(doubts, doubtsOf(&r, t, now)...), "; ")
	return r, ""
}

func typeOf(id string) (hazard.Type, bool) {
	if t, ok := otherTypes[id]; ok {
		return t, true
	}
	_, ok := hazard.Type(id).Info()
	return hazard.Type(id), ok
}

// times are the times in a record.
type times struct {
	start, last, updated hazard.Instant
	end                  *hazard.Instant
}

// readTimes parses the times. Section 2.6 defines them as strings of digits, but servers send
// numbers too. last_Update is the version. If it is missing or unreadable, the latest of the other
// times is used.
func readTimes(h *row) (t times, notes []string, reject string) {
	var start, created, last, updated *hazard.Instant
	for _, f := range []struct {
		field, text string
		into        **hazard.Instant
	}{{"start_Date", h.StartDate, &start}, {"end_Date", h.EndDate, &t.end}, {"create_Date", h.CreateDate, &created}, {"last_Update", h.LastUpdate, &last}, {"update_Date", h.UpdateDate, &updated}} {
		text := strings.TrimSpace(f.text)
		if text == "" {
			continue
		}
		n, err := strconv.ParseInt(text, 10, 64)
		if i := hazard.Instant(n); err == nil && i >= hazard.MinInstant && i <= hazard.MaxInstant {
			*f.into = &i
			continue
		}
		notes = append(notes, fmt.Sprintf("%s: %q, expected digits, milliseconds since 1970, in the years 1 to 9999", f.field, lenient.ExcerptText(text)))
	}
	first := func(choices ...*hazard.Instant) (hazard.Instant, bool) {
		for _, c := range choices {
			if c != nil {
				return *c, true
			}
		}
		return 0, false
	}
	var ok bool
	if t.start, ok = first(start, created); !ok {
		return t, nil, strings.Join(append(notes, "start_Date: missing, and create_Date too: expected one of them"), "; ")
	}
	t.last, _ = first(last, updated, created, start)
	t.updated, _ = first(updated, last, created, start)
	return t, notes, ""
}

// life sets the end of the hazard.
func life(r *hazard.Report, h *row, t times) (reject string) {
	expires := strings.EqualFold(h.AutoExpire, "Y")
	switch {
	case !expires:
		// Section 2.6: end_Date is "the time the hazard expires if it is set to auto-expire".
		// Without it, the hazard lasts while it is listed.
		r.Open = true
		if t.end != nil && *t.end >= t.start {
			r.End = t.end
		}
	case t.end != nil && *t.end >= t.start:
		r.End = t.end
	default:
		// Spec, "start > end": it occurs; accept it. The life of the type is the best guess, also
		// if there is no end at all.
	}
	switch status := word(h.Status); {
	case status == "E":
		// Spec, "expiry act": when a hazard expires, last_Update moves past end_Date, and
		// update_Date stays. Otherwise somebody ended it; the record does not contain the reason.
		r.Ended = hazard.EndWithdrawn
		if expires && t.end != nil && *t.end <= t.last && t.updated < t.last {
			r.Ended = hazard.EndExpired
			r.EndedAt = cmp.Or(r.End, &t.last)
		}
	case status != "A" && status != "": // missing on some servers; the list says that the hazard is active
		return fmt.Sprintf("status: %q is neither A nor E", lenient.ExcerptText(status))
	}
	return ""
}

// point returns the position, or why it is not plausible. Longitudes from 180 to 360 degrees east
// are converted to west.
func point(h *row) (*hazard.Point, []string) {
	lon, lat := h.Longitude.Value, h.Latitude.Value
	if lon > 180 && lon <= 360 {
		lon -= 360
	}
	switch {
	case !h.Longitude.Known || !h.Latitude.Known:
		return nil, []string{fmt.Sprintf("latitude %s, longitude %s: expected two numbers", h.Latitude.Said(), h.Longitude.Said())}
	case math.Abs(lat) > 90 && math.Abs(lat) <= 180 && math.Abs(lon) <= 90:
		return nil, []string{fmt.Sprintf("latitude %v, longitude %v: they look exchanged", h.Latitude.Value, h.Longitude.Value)}
	case math.Abs(lat) > 90 || math.Abs(lon) > 180:
		return nil, []string{fmt.Sprintf("latitude %v, longitude %v: not on Earth", h.Latitude.Value, h.Longitude.Value)}
	case lat == 0 && lon == 0:
		return &hazard.Point{}, []string{"latitude, longitude: 0, 0: missing, or not filled in"}
	}
	return &hazard.Point{Lon: lon, Lat: lat}, nil
}

// doubtsOf returns further reasons to hold the report.
func doubtsOf(r *hazard.Report, t times, now hazard.Instant) (doubts []string) {
	if t.last < oldest || t.last > now.Add(skew) {
		doubts = append(doubts, fmt.Sprintf("last_Update: %s, expected 1990 to now", t.last))
	}
	if t.start > now.Add(ahead) {
		doubts = append(doubts, fmt.Sprintf("start_Date: %s is more than a year ahead", t.start))
	}
	if word := drillWord(r.Name); word != "" && (r.Category == hazard.Event || r.Category == hazard.Response) {
		doubts = append(doubts, fmt.Sprintf("category_ID is %s, but hazard_Name says %q", r.Category, word))
	}
	return doubts
}

// drill matches a name that begins with a word for a drill, or contains one in capitals. Other
// names may contain such words too, because there are places called Test.
var drill = regexp.MustCompile(`^(?i:test|exercise|drill|training)(?:$|[^\p{L}])|(?:^|[^\p{L}])(?:TEST|EXERCISE|DRILL)(?:$|[^\p{L}])`)

func drillWord(name string) string {
	return strings.Trim(drill.FindString(name), " _-:.,;!()[]\"'0123456789")
}

// Names of events in other registers.
var (
	glideNumber = regexp.MustCompile(`\b[A-Z]{2}-\d{4}-\d{6}-[A-Z]{3}\b`)
	registered  = regexp.MustCompile(`^([a-z]+):(\S{1,200})$`)
)

// refs returns the names of the event at other sources: in comment_Text, where hazardd writes the
// source and the source's key, and in glide_URI.
func refs(h *row, t hazard.Type, schemes source.Schemes) (refs []string) {
	comment := strings.TrimSpace(h.CommentText)
	if m := registered.FindStringSubmatch(comment); m != nil {
		if of, known := schemes[m[1]]; known && of.CausedBy == "" && (of.Type == "" || of.Type == t) {
			refs = append(refs, comment)
		}
	}
	// Spec, "comment_Text": the original server writes a machine-readable key there; for a volcano
	// its Smithsonian number.
	for _, name := range slices.Sorted(maps.Keys(schemes)) {
		if of := schemes[name]; of.Bare != nil && of.Type == t && of.Bare.MatchString(comment) {
			refs = append(refs, name+":"+comment)
		}
	}
	if n := glideNumber.FindString(h.GlideURI); n != "" {
		refs = append(refs, "glide:"+n)
	}
	return refs
}

// webAddress returns an absolute http or https address without a password in it.
func webAddress(s string) (string, bool) {
	s = hazard.CleanLine(s)
	u, err := url.Parse(s)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil {
		return "", false
	}
	return s, true
}
