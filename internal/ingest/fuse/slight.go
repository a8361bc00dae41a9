package fuse

import (
	"context"
	"slices"

	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/store"
)

// concerning returns the reports without those slight ones (hazard.Report.Full) that concern nothing: no
// event has a name of theirs, nor has an earlier report of the batch, and no event of another source
// began near. Most of a list of all earthquakes are such reports, so they need no transaction. Whether
// one that is left concerns an event is decided again, exactly (linker.link).
func (in *Intake) concerning(ctx context.Context, src string, reports []hazard.Report) ([]hazard.Report, error) {
	var names []string
	for i := range reports {
		if r := &reports[i]; r.Full != nil {
			names = append(append(names, r.Key), r.Aliases...)
		}
	}
	if names == nil {
		return reports, nil
	}
	used, err := in.store.Reports.Used(ctx, src, names, epochName("", 1))
	if err != nil {
		return nil, err
	}
	others := othersOf(reports, src, func(typ hazard.Type, from, to hazard.Instant) ([]store.Event, error) {
		return in.store.Reports.EventsStarting(ctx, typ, from, to)
	})
	var left []hazard.Report
	for i := range reports {
		r := &reports[i]
		named := func(name string) bool { return used[name] }
		if r.Full != nil && !named(r.Key) && !slices.ContainsFunc(r.Aliases, named) {
			if near, err := others.near(r.Type, r.Start); err != nil {
				return nil, err
			} else if !near {
				continue
			}
		}
		left = append(left, *r)
		for _, name := range r.Names() {
			used[name] = true
		}
	}
	return left, nil
}

// others holds when events of sources other than src began that may match reports, by type.
type others struct {
	src      string
	from, to hazard.Instant // starts of the first and of the last report
	starts   map[hazard.Type][]hazard.Instant
	starting func(typ hazard.Type, from, to hazard.Instant) ([]store.Event, error)
}

func othersOf(reports []hazard.Report, src string, starting func(typ hazard.Type, from, to hazard.Instant) ([]store.Event, error)) *others {
	o := &others{src, hazard.MaxInstant, hazard.MinInstant, map[hazard.Type][]hazard.Instant{}, starting}
	for i := range reports {
		o.from, o.to = min(o.from, reports[i].Start), max(o.to, reports[i].Start)
	}
	return o
}

// near reports whether events of other sources began near a moment, within the rule of their type. It may
// be wrongly true. A transaction of src does not change when they began.
func (o *others) near(typ hazard.Type, at hazard.Instant) (bool, error) {
	rule, ok := rules[typ]
	if !ok {
		return false, nil
	}
	if at < o.from || at > o.to {
		return true, nil
	}
	list, ok := o.starts[typ]
	if !ok {
		events, err := o.starting(typ, o.from.Add(-rule.window), o.to.Add(rule.window))
		if err != nil {
			return false, err
		}
		for _, e := range events {
			if rule.compares(e.Source, o.src) {
				list = append(list, e.Start)
			}
		}
		o.starts[typ] = list
	}
	i, _ := slices.BinarySearch(list, at.Add(-rule.window))
	return i < len(list) && list[i] <= at.Add(rule.window), nil
}
