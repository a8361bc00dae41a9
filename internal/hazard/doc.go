// Package hazard is the glossary of the service: what a hazard, a product, a change and a report are, the vocabularies
// of types, severities and categories, and the rules that hold for all of them (validity, life, visibility, order).
//
// Everything here is a value or a pure function. Time is an argument. Positions are WGS84, longitude before latitude in
// every pair; a geometry is the text of a GeoJSON geometry (RFC 7946). The package imports nothing of ours and knows
// neither HTTP nor SQL.
//
// "Base interface" in comments is the specification of the service's interface that its clients rely on; sections are
// its sections. "Decisions" are those of section 1 of our own interface description.
package hazard
