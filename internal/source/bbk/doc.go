// Package bbk reads the warnings of Germany's Federal Office of Civil Protection and Disaster Assistance (BBK), as its app NINA has them
// (warnung.bund.de, api31): those of the Modular Warning System (MoWaS), of KATWARN and BIWAPP, of the police, of the German Weather Service
// and of the flood portal of the states. A list by publisher leads to the warnings, each of which is CAP as JSON; an index by region, the
// dashboard, is read too.
//
// The event is that of CAP: see package cap. A warning does not say where it holds but in words: its shape is at an address of its own, where
// a report that has none leads by a place (PlaceURL, ParsePlace). Until it was fetched, the outline of Germany stands in.
//
// A list proves no absence: an all-clear is a warning of its own, which the lists name for some hours.
//
// feed.go is the lists, the warnings and the shapes. Parse is a pure function, may be called concurrently, and needs memory in proportion
// to the payload.
package bbk
