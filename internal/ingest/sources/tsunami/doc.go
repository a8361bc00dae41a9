// Package tsunami reads the messages of the tsunami warning centers of the United States from
// tsunami.gov. Each center has an Atom index, which links to its latest message as a CAP document:
// PAAQ is the National Tsunami Warning Center at Palmer, and PHEB the Pacific Tsunami Warning
// Center at Honolulu. The index contains the last message forever, even if it is old.
//
// An event is the tsunami of one earthquake. Each center has its own code for it (the CAP element
// incidents), which is the key. The events of both centers are joined if origin time and place
// agree, by names that nearby origins share. Each message of a center repeats everything, with one
// info block for each stretch of coast. The n-th block is the part "PAAQ#0n", of which the latest
// message counts. So a cancellation for one coast can coexist with an advisory for another, and the
// event ends when no center has an active block.
//
// Messages are not valid by the schema of CAP, and some of their times of expiry are hours before
// their times of issue (an hour computed on a 12-hour clock). By their own words, they are valid
// "until further notice": until cancelled, at most a day after the last message.
//
// A tsunami is a separate hazard beside its earthquake. References of the scheme "quake" are names
// of the earthquake, not of the tsunami: "quake:at00rcz9ap" and "quake:pt26268000" are USGS's names
// for the centers' solutions, and "quake:2022-06-04T23:59:13Z@51.885,-131.076" is origin time and
// place, latitude first.
//
// Of the text bulletins of PHEB, the tables are drawn: when the first wave is expected at which
// place, and what gauges have measured. No CAP document contains these.
//
// The package does not read the rest of these bulletins, which repeats the messages in another
// form, nor the bulletins of PAAQ, whose tables give no positions, nor the CAP documents'
// signatures.
package tsunami
