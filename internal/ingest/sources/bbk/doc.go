// Package bbk reads the warnings of Germany's Federal Office of Civil Protection and Disaster
// Assistance (BBK) from its app NINA (warnung.bund.de, api31): those of the Modular Warning System
// (MoWaS), of KATWARN and BIWAPP, of the police, of the German Weather Service and of the states'
// flood portal. A list for each publisher links to the warnings, each of which is CAP as JSON. The
// dashboard, an index by region, is supported too.
//
// Events are as in package cap. A warning contains its area only as words. Its shape has a separate
// address, to which a report without shape refers by a place (PlaceURL, ParsePlace). Until the
// shape is fetched, the outline of Germany is used.
//
// A warning that is missing in a list is not over: an all-clear is a separate warning, which the
// lists contain for some hours.
//
// feed.go reads the lists, the warnings and the shapes. Parse is a pure function, safe for
// concurrent use, and needs memory proportional to the payload.
package bbk
