package page

import (
	"slices"
	"strconv"
	"strings"

	"github.com/hazardd/hazardd/internal/words"
)

// MaxAssets is how many assets a page lists.
const MaxAssets = 20

// Assets are the places of the visitor's organizations, and which of them a hazard reaches.
type Assets struct {
	HasArea      bool    // of the hazard: something can be inside
	Km           float64 // how far outside they were looked for; 0: inside alone
	Total        int64   // that there are
	Inside, Near int64   // Near: outside, within Km
	List         []Asset // the nearest first, not always all
}

// Asset is one of them.
type Asset struct {
	Name, Kind, Org string
	Inside          bool
	Km              float64 // from the area, or from the point of a hazard without one
}

// Words says how many assets are there, in a language. Nothing loaded is not nothing inside.
func (a *Assets) Words(l *words.Language) string {
	km := number(a.Km, 1)
	switch {
	case a.Total == 0:
		return l.Say("assetsNone")
	case !a.HasArea:
		return l.Say("assetsPoint", "near", a.Near, "total", a.Total, "km", km)
	case a.Km == 0:
		return l.Say("assetsInside", "inside", a.Inside, "total", a.Total)
	}
	return l.Say("assetsNear", "inside", a.Inside, "total", a.Total, "near", a.Near, "km", km)
}

// assets is what the template reads.
type assets struct {
	Text string
	Rows []assetRow
	Rest int64 // that are there, and in no row
}

type assetRow struct{ Name, What, Where string }

func (c *Hazard) assets() *assets {
	if c.Assets == nil {
		return nil
	}
	out := &assets{Text: c.Assets.Words(c.language())}
	for _, a := range c.Assets.List {
		row := assetRow{Name: a.Name, What: strings.Join(slices.DeleteFunc([]string{a.Kind, a.Org}, func(s string) bool { return s == "" }), ", "), Where: c.say("townInside")}
		if !a.Inside {
			row.Where = c.say("assetAway", "n", c.decimal(a.Km))
		}
		out.Rows = append(out.Rows, row)
	}
	out.Rest = c.Assets.Inside + c.Assets.Near - int64(len(out.Rows))
	return out
}

// first keeps that many rows.
func (a *assets) first(n int) {
	n = min(n, len(a.Rows))
	a.Rest += int64(len(a.Rows) - n)
	a.Rows = a.Rows[:n]
}

// More says how many there are beside the rows; empty: none.
func (a *assets) More() string {
	if a.Rest <= 0 {
		return ""
	}
	return "+ " + strconv.FormatInt(a.Rest, 10)
}
