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
// A warning of MoWaS has no end. It is in force as long as the list of MoWaS names it, and over when
// the list no longer does, or with its all-clear, a separate message that the list names for some
// hours. Of the lists of the other publishers nothing of this is known.
//
// feed.go reads the lists, the warnings and the shapes. Parse is a pure function, safe for
// concurrent use, and needs memory proportional to the payload.
package bbk
