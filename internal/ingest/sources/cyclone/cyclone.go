// Package cyclone holds what the sources of tropical cyclones have in common: the level by wind, and the identity by number and basin.
package cyclone

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/hazardd/hazardd/internal/hazard"
)

// levels is the table of levels by the highest one-minute wind in kt. The first row that fits is
// used.
var levels = []struct {
	Wind     float64 // the lowest wind
	Severity hazard.Severity
	Basis    string
}{
	{64, hazard.Warning, "hurricane force (Saffir-Simpson scale)"},
	{StormForce, hazard.Watch, "tropical storm force (WMO-No. 1163)"},
	{0, hazard.Advisory, "tropical depression"},
}

// StormForce is the lowest wind of a tropical storm, in kt.
const StormForce = 34

// Level returns the level of a cyclone with that wind in kt.
func Level(wind float64) hazard.Severity {
	for _, l := range levels {
		if wind >= l.Wind {
			return l.Severity
		}
	}
	return levels[len(levels)-1].Severity
}

var ones = strings.Fields("ONE TWO THREE FOUR FIVE SIX SEVEN EIGHT NINE TEN ELEVEN TWELVE THIRTEEN FOURTEEN FIFTEEN SIXTEEN SEVENTEEN EIGHTEEN NINETEEN")

var tens = []string{"TWENTY", "THIRTY", "FORTY"}

// Number returns the number of a storm that has no name yet, in words ("FIFTEEN", "TWENTY-EIGHT",
// "TWENTYEIGHT"), or 0 if words is not a number.
func Number(words string) int {
	words = strings.Map(func(r rune) rune {
		if r == '-' || r == ' ' {
			return -1
		}
		return r
	}, strings.ToUpper(words))
	n := 0
	for i, ten := range tens {
		if rest, ok := strings.CutPrefix(words, ten); ok {
			n, words = 10*(i+2), rest
			if words == "" {
				return n
			}
		}
	}
	one := slices.Index(ones, words) + 1
	if one == 0 || n > 0 && one > 9 {
		return 0
	}
	return n + one
}

// late is a number that no storm reaches in the first month of a season: there were never that
// many.
const late = 10

// Identity returns the identity of a storm in the Automated Tropical Cyclone Forecast system
// ("WP152026"), from its number and from where and when it began. It is empty if the place lies in
// no basin.
//
// The Joint Typhoon Warning Center (JTWC) numbers the storms of the Western Pacific (WP, from 100
// degrees east to 180), the North Indian Ocean (IO) and the Southern Hemisphere (SH, whose years
// begin in July of the year before; metoc.navy.mil/jtwc, "FAQ").
//
// letter is the letter after the number, if any. It has precedence over the place. The National
// Hurricane Center uses C or E ("ONE-C"); its storms without a letter are in the Atlantic. JTWC
// uses W ("25W"), A and B in the North Indian Ocean, S and P in the Southern Hemisphere. A high
// number in the first month of a season belongs to the season before.
func Identity(number int, letter string, at hazard.Point, began hazard.Instant) string {
	basin, year, month := "", began.Time().Year(), began.Time().Month()
	switch {
	case number <= 0 || number >= 50:
		return ""
	case letter == "W" || letter == "A" || letter == "B":
		if basin = "WP"; letter != "W" {
			basin = "IO"
		}
		if month == time.January && number >= late {
			year--
		}
	case letter == "S" || letter == "P":
		if basin = "SH"; month > time.July || month == time.July && number < late {
			year++
		}
	case letter == "C" || letter == "E":
		basin = letter + "P"
	case letter != "":
		return ""
	case at.Lat < 0:
		if basin = "SH"; month >= time.July {
			year++
		}
	case at.Lon >= 30 && at.Lon < 100:
		basin = "IO"
	case at.Lon >= 100:
		basin = "WP"
	case at.Lon > -100 && at.Lon < 0:
		basin = "AL"
	default:
		return ""
	}
	return fmt.Sprintf("%s%02d%d", basin, number, year)
}
