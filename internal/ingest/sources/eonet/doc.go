// Package eonet reads NASA's Earth Observatory Natural Event Tracker, version 3: its lists of
// events and single events in JSON, and the same in GeoJSON, where each position of an event is a
// feature. Version 2.1 is rejected.
//
// EONET is a curator: it collects reports of others, hours or days late, and names its sources. It
// is useful because the addresses of its sources contain the events' names in their registers,
// which joins one event of several sources.
//
// JSON and GeoJSON with the same data give the same reports. An unreadable record or position does
// not affect its neighbors, nor those before it in a payload that was cut off. Texts for people
// contain no markup and no control characters, and only http and https addresses.
//
// The polled list is a window of days, so no Batch of this package is Whole: an event ends by its
// member closed, or by its life after the last position.
package eonet
