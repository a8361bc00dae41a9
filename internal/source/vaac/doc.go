// Package vaac reads the advisories of the nine Volcanic Ash Advisory Centers: the list of the texts that the gateway of the US National Weather
// Service holds, the latest of each bulletin, and those texts (ICAO Annex 3, appendix 2, template for advisories of volcanic ash).
//
// The event is the volcano by its number in the register of the Smithsonian, by which it joins what other sources say of it. An advisory is for aviation: it
// says where ash is and where it will be, which is drawn, and nothing of the danger on the ground, so its level is INFORMATION. It holds until
// the next one is due; the last one of a series says so, and the event is over with it. Ash of a volcano without a number is rejected.
//
// list.go is the list, advisory.go the text. Parse is a pure function, may be called concurrently, and needs memory in proportion to the
// payload.
package vaac
