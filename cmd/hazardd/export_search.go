package main

import (
	"context"
	"net/url"
	"slices"
	"strings"

	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/hazard/query"
	"github.com/hazardd/hazardd/internal/store"
)

// searchFlags are the parameters of a search, as flags.
type searchFlags struct {
	Type         string `placeholder:"TYPE,…" help:"Only hazards of these types."`
	Severity     string `placeholder:"SEVERITY,…" help:"Only hazards of these severities."`
	Category     string `placeholder:"CATEGORY,…" help:"Only hazards of these categories."`
	Status       string `placeholder:"A|E" help:"Only active hazards, or only ended ones."`
	Source       string `placeholder:"NAME,…" help:"Only hazards that one of these sources reported."`
	Ref          string `placeholder:"SCHEME:ID" help:"Only the hazard with this identifier."`
	BBox         string `name:"bbox" placeholder:"W,S,E,N" help:"Only hazards in this box."`
	Near         string `placeholder:"LON,LAT" help:"Only hazards near this place, within --radius."`
	Radius       string `placeholder:"METERS" help:"Radius of --near."`
	Intersects   string `placeholder:"WKT" help:"Only hazards that intersect this geometry."`
	Datetime     string `placeholder:"FROM/TO" help:"Only hazards that were active at some point in this period."`
	UpdatedSince string `placeholder:"TIME" help:"Only hazards that changed since this time."`
	Measure      string `placeholder:"NAME:LOW..HIGH" help:"Only hazards with a measurement in this range."`
	Query        string `name:"q" placeholder:"WORDS" help:"Only hazards that contain these words."`
	Filter       string `placeholder:"CQL2" help:"Only hazards that match this condition."`
	At           string `placeholder:"TIME" help:"Hazards as of this time."`
}

// values returns the parameters that are set.
func (f *searchFlags) values() url.Values {
	v := url.Values{}
	for name, value := range map[string]string{"type": f.Type, "severity": f.Severity, "category": f.Category, "status": f.Status, "source": f.Source, "ref": f.Ref, "bbox": f.BBox,
		"near": f.Near, "radius": f.Radius, "intersects": f.Intersects, "datetime": f.Datetime, "updated_since": f.UpdatedSince, "measure": f.Measure, "q": f.Query, "filter": f.Filter, "at": f.At} {
		if value != "" {
			v.Set(name, value)
		}
	}
	return v
}

// query parses the parameters. none reports that they exclude active hazards although only active
// ones are exported.
func (f *searchFlags) query(active bool) (q query.Query, none bool, err error) {
	q, faults := query.Parse(f.values())
	if faults != nil {
		for i := range faults {
			faults[i].Parameter = "--" + strings.ReplaceAll(faults[i].Parameter, "_", "-")
		}
		return q, false, faults
	}
	if active {
		if none = len(q.Statuses) > 0 && !slices.Contains(q.Statuses, hazard.Active); !none {
			q.Statuses = []hazard.Status{hazard.Active}
		}
	}
	return q, none, nil
}

// each calls use for all hazards that match, page by page, all as of one moment. It also passes the
// number of unrestricted products.
func each(ctx context.Context, s *store.Store, q query.Query, now hazard.Instant, use func(h *hazard.Hazard, products int) error) error {
	q.Limit = query.MaxLimit
	for {
		page, err := s.Search.Find(ctx, q, nil, now)
		if err != nil {
			return err
		}
		for i, h := range page.Hazards {
			if err := use(h, page.Totals[i]); err != nil {
				return err
			}
		}
		if q.Cursor = page.Cursor; q.Cursor == "" {
			return nil
		}
	}
}
