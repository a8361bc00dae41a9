package page

import (
	"slices"
	"strconv"
	"strings"

	"github.com/hazardd/hazardd/internal/lang/words"
)

// MaxAssets is the maximum number of assets that a page lists.
const MaxAssets = 20

// Assets are the places of the visitor's organizations, and which of them a hazard reaches.
type Assets struct {
	HasArea      bool    // the hazard has an area, so assets can be inside
	Km           float64 // maximum distance of assets outside; 0: only those inside
	Total        int64   // all assets of the organizations
	Inside, Near int64   // Near: outside, within Km
	List         []Asset // the nearest first, not always all
}

// Asset is one of the Assets.
type Asset struct {
	Name, Kind, Org string
	Inside          bool
	Km              float64 // from the area, or from the point of a hazard without one
}

// Words returns a sentence on how many assets are reached. It distinguishes between no loaded
// assets and none inside.
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

// assets is the input of the template.
type assets struct {
	Text string
	Rows []assetRow
	Rest int64 // assets without a row
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
			row.Where = c.Away(a.Km)
		}
		out.Rows = append(out.Rows, row)
	}
	out.Rest = c.Assets.Inside + c.Assets.Near - int64(len(out.Rows))
	return out
}

// first keeps the first n rows.
func (a *assets) first(n int) {
	n = min(n, len(a.Rows))
	a.Rest += int64(len(a.Rows) - n)
	a.Rows = a.Rows[:n]
}

// More returns the number of assets without a row as text; empty if there are none.
func (a *assets) More() string {
	if a.Rest <= 0 {
		return ""
	}
	return "+ " + strconv.FormatInt(a.Rest, 10)
}
