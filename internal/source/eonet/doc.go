// Package eonet reads NASA's Earth Observatory Natural Event Tracker, version 3: its lists of events and single events in JSON, and
// the same in GeoJSON, where each position of an event is a feature. Version 2.1 is refused.
//
// EONET is a curator: it gathers what others report, late by hours or days, and says where from. What it adds is that the addresses
// of its sources name the event in their registers, so that one event of several sources can be known to be one.
//
// The package promises that JSON and GeoJSON that say the same come to the same reports; that a record or a position which cannot be
// read costs neither its neighbours nor, in a payload that was cut off, those before it; and that what a report shows to people
// holds no markup, no control characters and no address but of http and https.
//
// The polled list is a window of days, so no Batch of this package is Whole: an event ends by its member closed, or by its
// life after the last position.
package eonet
