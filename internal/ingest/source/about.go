package source

import "github.com/hazardd/hazardd/internal/hazard"

// About describes a source to readers, besides its state. It is part of GET /sources.
type About struct {
	Warns     bool          `json:"warns"`
	Covers    string        `json:"covers"`
	Types     []hazard.Type `json:"types"`     // [] stands for any
	Countries []string      `json:"countries"` // ISO 3166-1 alpha-2; [] stands for the world
	Languages []string      `json:"languages"` // RFC 5646; [] stands for any
	Home      string        `json:"home"`      // the page about the feed; may be empty
	OID       string        `json:"oid"`       // the authority's number in WMO's register; empty if unknown
	License   string        `json:"license"`
	// Attribution is how to credit the publisher.
	Attribution string `json:"attribution"`
	// Absence says what it means when a list does not contain an active event.
	Absence string `json:"absence"`
	// Rank is the authority of the source by type; the type "" stands for all unlisted types.
	Rank map[hazard.Type]string `json:"rank"`
	// Coverage lists the places that the source covers.
	Coverage []AboutCoverage `json:"coverage"`
}

// About returns the description of the source for readers.
func (s *Source) About() About {
	a := About{
		Warns: s.Warns, Covers: s.Covers, Types: append([]hazard.Type{}, s.Types...), Countries: append([]string{}, s.Countries...),
		Languages: append([]string{}, s.Languages...), Home: s.Home, OID: s.OID, License: s.License, Attribution: s.Attribution,
		Absence: s.Lists.Absence(), Rank: map[hazard.Type]string{}, Coverage: s.aboutCoverage(),
	}
	for t, rank := range s.Rank {
		a.Rank[t] = rank.String()
	}
	return a
}
