// Package vaac reads the advisories of the nine Volcanic Ash Advisory Centers: the list of texts on
// the gateway of the US National Weather Service, which has the latest text of each bulletin, and
// those texts (ICAO Annex 3, appendix 2, template for advisories of volcanic ash).
//
// The event is the volcano, identified by its number in the Smithsonian's register, which joins it
// with reports of other sources. An advisory is for aviation. It contains the present and expected
// positions of ash, which are drawn, but no danger on the ground, so its level is INFORMATION. It
// is valid until the next one is due. The last advisory of a series says that it is the last, and
// ends the event. An advisory for a volcano without a number is rejected.
//
// list.go reads the list, advisory.go the text. Parse is a pure function, safe for concurrent use,
// and needs memory proportional to the payload.
package vaac
