package app

import (
	"context"

	"github.com/hazardd/hazardd/internal/atlas/population"
	"github.com/hazardd/hazardd/internal/edit"
	"github.com/hazardd/hazardd/internal/format"
	"github.com/hazardd/hazardd/internal/format/publisher"
	"github.com/hazardd/hazardd/internal/geo"
	"github.com/hazardd/hazardd/internal/hazard"
)

// twoPeople returns which drafts need a second person, or nil if none does.
func (s *Service) twoPeople() *edit.TwoPeople {
	if !s.cfg.ApproveWarnings && s.cfg.ApprovePeople <= 0 {
		return nil
	}
	return &edit.TwoPeople{Warnings: s.cfg.ApproveWarnings, People: s.cfg.ApprovePeople, Reach: s.reach, Standing: s.Auth.WriterStanding, Deciders: s.Auth.Writers}
}

// unpublishedKm is the radius around a point that counts for an organization without a publishing
// profile, in kilometres. Others draw their own conclusions from a point; this is the widest usual one.
const unpublishedKm = 50

// reach returns whom a hazard reaches: the people in its areas and in the area that is published
// for it, whichever are more, and its subscribers. If one of the two cannot be counted, the number
// of people is not known.
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
	profiles, err := s.Store.Publishing.Settings(ctx)
	if err != nil {
		return r, err
	}
	profile := profiles.Now(h.OrgID)
	if profile == nil {
		profile = &publisher.Profile{RadiusKm: unpublishedKm}
	}
	var published geo.Shape
	published, r.CircleKm = format.PublishedArea(profile, h, areas)
	if r.Published = published; r.Published.IsZero() && len(shapes) > 0 {
		r.Published = shapes[0]
	}
	counted, told := s.counted(h, where), *h
	told.Exposure = counted
	if counted.People != nil {
		r.People = new(counted.People.People)
	}
	if counted.People != nil || counted.Why == hazard.WhyNoArea && !h.Somewhere() {
		out := s.counted(h, []population.Area{{Role: hazard.AlertArea, Shape: published}})
		if out.People == nil {
			r.People = nil
		} else if r.People == nil || *r.People < out.People.People {
			r.People = new(out.People.People)
		}
	}
	r.Subscribers, err = s.notify.Reach(ctx, &told, shapes)
	return r, err
}

// counted counts the people in areas of a hazard. If the population data is damaged, their number is
// unknown.
func (s *Service) counted(h *hazard.Hazard, areas []population.Area) *hazard.Exposure {
	grid, err := s.people.Grid()
	if err == nil {
		var e *hazard.Exposure
		if e, err = population.Expose(grid, h.ExposureKey(), areas, nil, h.Longitude, h.Latitude); err == nil {
			return e
		}
	}
	s.cfg.Logger.Warn("the people that an editor's hazard reaches cannot be counted", "error", err)
	return &hazard.Exposure{Of: h.ExposureKey(), Why: hazard.WhyDamaged}
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
