package gdacs

import (
	"errors"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/source/frame"
)

// layouts are the forms of dates, all of them UTC.
var layouts = []string{
	"2006-01-02T15:04:05.999999999", // the API, which writes no zone
	"Mon, 2 Jan 2006 15:04:05",      // RSS, after "GMT" is taken off
	"Mon, 2 Jan 2006 15:04",         // the CAP index
	"2 Jan 2006 15:04:05",           // gdacs.geojson
	"2/Jan/2006 15:04:05",           // gdacs.geojson of 2021
	"2006-01-02T15:04:05.999999999Z07:00",
}

var errNoDate = errors.New("expected a date such as 2026-07-28T03:34:05")

// date reads a date in any of the forms that GDACS writes.
func date(s string) (hazard.Instant, error) {
	s = strings.TrimSpace(s)
	for _, zone := range []string{"GMT", "UTC"} {
		if rest, ok := strings.CutSuffix(s, zone); ok {
			s = strings.TrimSpace(rest)
		}
	}
	for _, layout := range layouts {
		if t, err := time.Parse(layout, s); err == nil {
			if at := hazard.At(t); at >= hazard.MinInstant && at <= hazard.MaxInstant {
				return at, nil
			}
		}
	}
	return 0, errNoDate
}

// number reads a number that can be.
func number(s string) (float64, bool) {
	v, err := strconv.ParseFloat(strings.TrimSpace(s), 64)
	return v, err == nil && !math.IsNaN(v) && !math.IsInf(v, 0)
}

// places are the names in a list of countries. Lists have empty entries, blanks in double and "&" or " and " for the same.
func places(list string) []string {
	var names []string
	for name := range strings.SplitSeq(hazard.CleanLine(strings.ReplaceAll(frame.Clip(list, maxText), "&", " and ")), ",") {
		name = strings.TrimSpace(name)
		if name != "" && !strings.EqualFold(name, "[unknown]") && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// mostPlaces is how many countries a name may list: names stand in lists.
const mostPlaces = 3

// shortPlaces names a few places: all of them, else the region that they are, else the first two.
func shortPlaces(names []string, region string) string {
	switch {
	case len(names) <= mostPlaces:
		return strings.Join(names, ", ")
	case region != "":
		return region
	}
	return fmt.Sprintf("%s, %s and %d more", names[0], names[1], len(names)-2)
}

var (
	yearSuffix  = regexp.MustCompile(`\s*-\s*(\d{2}|\d{4})$`)
	countingOne = regexp.MustCompile(`^(?i:ONE|TWO|THREE|FOUR|FIVE|SIX|SEVEN|EIGHT|NINE|TEN|ELEVEN|TWELVE|THIRTEEN|FOURTEEN|` +
		`FIFTEEN|SIXTEEN|SEVENTEEN|EIGHTEEN|NINETEEN|(TWENTY|THIRTY|FORTY)[- ]?(ONE|TWO|THREE|FOUR|FIVE|SIX|SEVEN|EIGHT|NINE)?)$`)
)

// proper is the name of an event without its year ("LALA-26", " Southern Africa-2018"), in readable case.
func proper(name string) string {
	name = yearSuffix.ReplaceAllString(frame.Clip(hazard.CleanLine(frame.Clip(name, maxText)), maxName), "")
	if name != strings.ToUpper(name) {
		return name
	}
	inWord := false
	return strings.Map(func(r rune) rune {
		if !unicode.IsLetter(r) {
			inWord = r == '\'' || r == '’'
			return r
		}
		if inWord {
			return unicode.ToLower(r)
		}
		inWord = true
		return unicode.ToUpper(r)
	}, name)
}

// isProper tells whether the name of a storm is its own. A counting word that stands until it is named is not: there is a
// "ONE" in each basin. With the letter of its basin ("ONE-C") the national centre calls it so too.
func isProper(storm string) bool {
	return storm != "" && !countingOne.MatchString(storm) && !strings.ContainsFunc(storm, unicode.IsDigit)
}

const (
	maxName = 120     // bytes of a name
	maxText = 4 << 10 // bytes of a text that is shown
	maxID   = 64      // bytes of an id
	maxSaid = 80      // bytes that a reason quotes
)

// said is a value as a reason quotes it.
func said(s string) string {
	s = hazard.CleanLine(frame.Clip(s, 4*maxSaid))
	if s == "" {
		return "missing"
	}
	if len(s) > maxSaid {
		s = frame.Clip(s, maxSaid) + "…"
	}
	return strconv.Quote(s)
}

// decimal writes a number with one decimal, as magnitudes are; never as -0.0.
func decimal(v float64) string {
	if v = math.Round(v*10) / 10; v == 0 {
		v = 0
	}
	return strconv.FormatFloat(v, 'f', 1, 64)
}

func degrees(p hazard.Point) string {
	return fmt.Sprintf("%.2f %s, %.2f %s", math.Abs(p.Lat), side(p.Lat, "N", "S"), math.Abs(p.Lon), side(p.Lon, "E", "W"))
}

func side(degrees float64, positive, negative string) string {
	if degrees < 0 {
		return negative
	}
	return positive
}
