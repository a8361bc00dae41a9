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
	"github.com/hazardd/hazardd/internal/ingest/lenient"
)

// layouts are the formats of dates, all in UTC.
var layouts = []string{
	"2006-01-02T15:04:05.999999999", // the API, without zone
	"Mon, 2 Jan 2006 15:04:05",      // RSS, after "GMT" is removed
	"Mon, 2 Jan 2006 15:04",         // the CAP index
	"2 Jan 2006 15:04:05",           // gdacs.geojson
	"2/Jan/2006 15:04:05",           // gdacs.geojson in 2021
	"2006-01-02T15:04:05.999999999Z07:00",
}

var errNoDate = errors.New("expected a date such as 2026-07-28T03:34:05")

// date parses a date in any of GDACS's formats.
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

// number parses a plausible number.
func number(s string) (float64, bool) {
	v, err := strconv.ParseFloat(strings.TrimSpace(s), 64)
	return v, err == nil && !math.IsNaN(v) && !math.IsInf(v, 0)
}

// places returns the names in a list of countries. Lists may have empty entries and double blanks,
// and use "&" or " and " for the same.
func places(list string) []string {
	var names []string
	for name := range strings.SplitSeq(hazard.CleanLine(strings.ReplaceAll(lenient.Clip(list, maxText), "&", " and ")), ",") {
		name = strings.TrimSpace(name)
		if name != "" && !strings.EqualFold(name, "[unknown]") && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// mostPlaces bounds the countries in a name, because names appear in lists.
const maxPlaces = 3

// shortPlaces returns up to maxPlaces names. If there are more, it returns the region, or else the
// first two names.
func shortPlaces(names []string, region string) string {
	switch {
	case len(names) <= maxPlaces:
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

// proper returns the name of an event without its year ("LALA-26", " Southern Africa-2018"), in
// readable case.
func proper(name string) string {
	name = yearSuffix.ReplaceAllString(lenient.Clip(hazard.CleanLine(lenient.Clip(name, maxText)), maxName), "")
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

// isProper reports whether a storm has a proper name. A number word that is used until then is not
// one: each basin has a "ONE". With the letter of its basin ("ONE-C"), it is, because the national
// center uses it as the name.
func isProper(storm string) bool {
	return storm != "" && !countingOne.MatchString(storm) && !strings.ContainsFunc(storm, unicode.IsDigit)
}

const (
	maxName  = 120     // of a name, in bytes
	maxText  = 4 << 10 // of a displayed text, in bytes
	maxID    = 64      // of an id, in bytes
	maxQuote = 80      // of a quotation in a reason, in bytes
)

// quote returns a value as a reason quotes it.
func quote(s string) string {
	s = hazard.CleanLine(lenient.Clip(s, 4*maxQuote))
	if s == "" {
		return "missing"
	}
	if len(s) > maxQuote {
		s = lenient.Clip(s, maxQuote) + "…"
	}
	return strconv.Quote(s)
}

// decimal formats a number with one decimal, as is usual for magnitudes; never as -0.0.
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
