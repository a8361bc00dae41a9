package app

import (
	"context"

	"github.com/hazardd/hazardd/internal/atlas/population"
	"github.com/hazardd/hazardd/internal/edit"
	"github.com/hazardd/hazardd/internal/geo"
	"github.com/hazardd/hazardd/internal/hazard"
)

// twoPeople returns which drafts need a second person, or nil if none does.
func (s *Service) twoPeople() *edit.TwoPeople {
	if !s.cfg.ApproveWarnings && s.cfg.ApprovePeople <= 0 {
		return nil
	}
	return &edit.TwoPeople{Warnings: s.cfg.ApproveWarnings, People: s.cfg.ApprovePeople, Reach: s.reach, Standing: s.Auth.WriterStanding}
}

// reach returns whom a hazard reaches: the people in its areas, counted as for any hazard, and its
// subscribers. If the population data is damaged, the number of people is not known.
func (s *Service) reach(ctx context.Context, h *hazard.Hazard, areas []hazard.Area) (r edit.Reach, err error) {
	var where []population.Area
	var shapes []geo.Shape
	for _, a := range areas {
		shape, err := geo.ReadStored(a.Geometry)
		if err != nil {
			return r, err
		}
		where, shapes = append(where, population.Area{Role: a.Role, Shape: shape}), append(shapes, shape)
	}
	grid, err := s.people.Grid()
	var counted *hazard.Exposure
	if err == nil {
		counted, err = population.Expose(grid, h.ExposureKey(), where, nil, h.Longitude, h.Latitude)
	}
	if err != nil {
		s.cfg.Logger.Warn("the people that an editor's hazard reaches cannot be counted", "error", err)
		counted = &hazard.Exposure{Of: h.ExposureKey(), Why: hazard.WhyDamaged}
	}
	told := *h
	told.Exposure = counted
	if counted.People != nil {
		r.People = new(counted.People.People)
	}
	r.Subscribers, err = s.notify.Reach(ctx, &told, shapes)
	return r, err
}

// counting reports whether people are counted now: it is not turned off, and there is population
// data that can be read.
func (s *Service) counting() bool {
	if s.cfg.NoExposure {
		return false
	}
	_, err := s.people.Grid()
	return err == nil
}
