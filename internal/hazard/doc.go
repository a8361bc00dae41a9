// Package hazard is the glossary of the service. It defines what a hazard, a product, a change and
// a report are, the types, severities and categories, and the rules for all of them (validity,
// life, visibility, order).
//
// Everything here is a value or a pure function; time is an argument. Positions are WGS84,
// longitude before latitude in every pair. A geometry is the text of a GeoJSON geometry (RFC 7946).
// The package imports no other package of this module and knows neither HTTP nor SQL.
//
// In comments, "base interface" is the specification of the interface that clients rely on, with
// its section numbers. "Decisions" are those in section 1 of our own interface description.
package hazard
