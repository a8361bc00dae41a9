// Package reliefweb reads the disasters of ReliefWeb (UN OCHA): the RSS of its latest disasters, which
// needs no approved appname.
//
// The event is the disaster, by its GLIDE number; the version is its day, as the list has no other
// time. The number joins it to what GDACS and Copernicus say. Its first two
// letters are the type, its last three the country, and a country is a place and not an area: its
// outline stands in.
//
// In the list nothing ends: a disaster falls out of it when newer ones come, so each lasts for its
// kind's life. Earthquakes, tsunamis, cyclones and volcanoes are left to the sources that watch them.
//
// Texts belong to the sources that ReliefWeb names: only the title and the link are kept.
//
// Parse is a pure function, safe for concurrent use, and needs memory proportional to the payload.
package reliefweb
