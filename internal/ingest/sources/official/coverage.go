package official

import (
	_ "embed"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/ingest/source"
)

//go:embed covers.tsv
var coversTable string

// duty is what an authority is responsible for.
type duty struct {
	none   bool          // for nothing in its country
	all    bool          // for types that it does not state
	types  []hazard.Type // otherwise, for these types
	why    string        // the reason for none
	code   string        // if not empty, the country, where it differs from the feed's
	within []source.Area // if not empty, only for these parts of the country
}

// duties are the words in covers.tsv. Every national meteorological service warns about severe
// weather: for WMO's members, it is the authoritative voice for that in its country. Further duties
// must be stated by the service itself.
var duties = map[string][]hazard.Type{
	"weather":    {hazard.Storm, hazard.HighWind, hazard.Cyclone, hazard.WinterStorm, hazard.ExtremeTemperature},
	"flood":      {hazard.Flood},
	"landslide":  {hazard.Landslide},
	"avalanche":  {hazard.Avalanche},
	"fire":       {hazard.Wildfire},
	"earthquake": {hazard.Earthquake},
	"volcano":    {hazard.Volcano},
	"tsunami":    {hazard.Tsunami},
}

// nameForm matches COUNTRY-AUTHORITY-LANGUAGE, with a number if there are several.
var nameForm = regexp.MustCompile(`^([a-z]+-.*?)-[a-z]{2,3}(-[0-9]+)?$`)

// coverage returns what the feed covers: its country, for the types of its authority, or for
// unstated types if these are unknown.
func (f *Feed) coverage() []source.Coverage {
	name := nameForm.FindStringSubmatch(f.Name)
	if f.Country == "" || name == nil {
		return []source.Coverage{{Role: source.RoleUnknown, Cite: "the feed is of no one country"}}
	}
	d, ok := readDuties()[name[1]]
	cite := "WMO Register of Alerting Authorities"
	if f.OID != "" {
		cite += ", urn:oid:" + f.OID
	}
	c := source.Coverage{Role: source.RoleResponsible, Countries: []string{f.Country}, Cite: cite}
	switch {
	case !ok || d.all:
		c.Within = d.within
	case d.none:
		return []source.Coverage{{Role: source.RoleUnknown, Cite: d.why}}
	default:
		c.Types, c.Within = d.types, d.within
	}
	if d.code != "" {
		c.Countries = []string{d.code}
	}
	return []source.Coverage{c}
}

var readDuties = sync.OnceValue(func() map[string]duty {
	all, err := parseDuties(coversTable)
	if err != nil {
		panic(err) // the table is built in, and a test reads it
	}
	return all
})

// parseDuties parses the table.
func parseDuties(text string) (map[string]duty, error) {
	all := map[string]duty{}
	n := 0
	for line := range strings.Lines(text) {
		n++
		line = strings.TrimRight(line, "\n")
		if strings.HasPrefix(line, "#") || strings.HasPrefix(line, "authority\t") {
			continue
		}
		c := strings.Split(line, "\t")
		if len(c) != 3 {
			return nil, fmt.Errorf("covers.tsv:%d: %d values, expected 3", n, len(c))
		}
		if _, twice := all[c[0]]; twice {
			return nil, fmt.Errorf("covers.tsv:%d: %q is listed twice", n, c[0])
		}
		d, err := parseDuty(c[1], c[2])
		if err != nil {
			return nil, fmt.Errorf("covers.tsv:%d: %w", n, err)
		}
		all[c[0]] = d
	}
	return all, nil
}

func parseDuty(words, where string) (d duty, err error) {
	for word := range strings.FieldsSeq(words) {
		types, ok := duties[word]
		switch {
		case word == "none":
			d.none, d.why = true, where
			return d, nil
		case word == "all":
			d.all = true
		case !ok:
			return d, fmt.Errorf("duty: %q is not one of the words", word)
		}
		d.types = append(d.types, types...)
	}
	if len(where) == 2 {
		d.code = where
		return d, nil
	}
	for part := range strings.SplitSeq(where, ";") {
		if part = strings.TrimSpace(part); part == "" {
			continue
		}
		i := strings.LastIndexByte(part, ' ')
		var box [4]float64
		corners := strings.Split(part[i+1:], ",")
		if i < 0 || len(corners) != 4 {
			return d, fmt.Errorf("where: %q is not a name with a box", part)
		}
		for j := range box {
			if box[j], err = strconv.ParseFloat(corners[j], 64); err != nil {
				return d, fmt.Errorf("where: %q: %w", part, err)
			}
		}
		d.within = append(d.within, source.Box(part[:i], box[0], box[1], box[2], box[3]))
	}
	return d, nil
}
