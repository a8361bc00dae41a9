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
// subscribers.
func (s *Service) reach(ctx context.Context, h *hazard.Hazard, areas []hazard.Area) (r edit.Reach, err error) {
	grid, err := s.people.Grid()
	if err != nil {
		return r, err
	}
	var where []population.Area
	var shapes []geo.Shape
	for _, a := range areas {
		shape, err := geo.ReadStored(a.Geometry)
		if err != nil {
			return r, err
		}
		where, shapes = append(where, population.Area{Role: a.Role, Shape: shape}), append(shapes, shape)
	}
	counted, err := population.Expose(grid, h.ExposureKey(), where, nil, h.Longitude, h.Latitude)
	if err != nil {
		return r, err
	}
	told := *h
	told.Exposure = counted
	if counted.People != nil {
		r.People = new(counted.People.People)
	}
	r.Subscribers, err = s.notify.Reach(ctx, &told, shapes)
	return r, err
}
