// Package cyclone holds what the sources of tropical cyclones have in common: the level by wind, and the identity by number and basin.
package cyclone

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/hazardd/hazardd/internal/hazard"
)

// Levels is the table of levels by the highest wind over one minute, in kt: the first row that fits decides.
var Levels = []struct {
	Wind     float64 // at least
	Severity hazard.Severity
	Basis    string
}{
	{64, hazard.Warning, "hurricane force (Saffir-Simpson scale)"},
	{StormForce, hazard.Watch, "tropical storm force (WMO-No. 1163)"},
	{0, hazard.Advisory, "tropical depression"},
}

// StormForce is the least wind of a tropical storm, kt.
const StormForce = 34

// Level is the level of a cyclone of that wind, in kt.
func Level(wind float64) hazard.Severity {
	for _, l := range Levels {
		if wind >= l.Wind {
			return l.Severity
		}
	}
	return Levels[len(Levels)-1].Severity
}

var ones = strings.Fields("ONE TWO THREE FOUR FIVE SIX SEVEN EIGHT NINE TEN ELEVEN TWELVE THIRTEEN FOURTEEN FIFTEEN SIXTEEN SEVENTEEN EIGHTEEN NINETEEN")

var tens = []string{"TWENTY", "THIRTY", "FORTY"}

// Number is the number of a storm that has no name yet, in words ("FIFTEEN", "TWENTY-EIGHT", "TWENTYEIGHT"); 0 if it is none.
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

// late is a number that no storm has in the first month of a season: there have never been that many.
const late = 10

// Identity is the identity in the Automated Tropical Cyclone Forecast system ("WP152026") of the storm of a number, by where and when it began; empty if
// the place is of no basin. The Joint Typhoon Warning Center numbers the storms of the Western Pacific (WP, from 100 degrees east to 180), the
// North Indian Ocean (IO) and the Southern Hemisphere (SH, whose years begin in July of the year before; metoc.navy.mil/jtwc, "FAQ").
// letter is the one after a number, if there is one: of the National Hurricane Center ("ONE-C", C or E; its storms without one are of the Atlantic),
// or of the Joint Typhoon Warning Center ("25W": W, A and B in the North Indian Ocean, S and P in the Southern Hemisphere), which
// decides before the place. A high number in the first month of a season is still of the season before.
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
