// Package tsunami reads the messages of the tsunami warning centres of the United States, as tsunami.gov publishes them: an Atom
// index for each centre (PAAQ, the National Tsunami Warning Center at Palmer, and PHEB, the Pacific Tsunami Warning Center at
// Honolulu), which leads to the latest message as a CAP document. The index holds the last message for ever, however old.
//
// An event is what one earthquake causes. Each centre has its own code for it (the CAP element incidents), which is the key;
// both centres are one event where origin time and place agree, by names that nearby origins share. A centre says everything anew in
// each message, one info block for each stretch of coast: the n-th block is the part "PAAQ#0n", of which the latest message counts, so
// a cancellation for one coast stands beside an advisory for another, and the event ends when nothing is left of either centre.
//
// Messages are not valid by the schema of CAP, and their times of expiry are at times hours before their times of issue (an hour
// computed on a clock of twelve). They hold "until further notice" by their own words: until cancelled, at most a day after the last message.
//
// A tsunami is a hazard of its own, beside its earthquake. References of the scheme "quake" are names of that earthquake, not of
// the tsunami: "quake:at00rcz9ap" and "quake:pt26268000" as USGS names the centres' solutions, and
// "quake:2022-06-04T23:59:13Z@51.885,-131.076", origin time and place, latitude first.
//
// Of the text bulletins of PHEB the tables are drawn: when the first wave is expected at which place, and what gauges have measured.
// No CAP document has these.
//
// Not read: the rest of these bulletins, which says the same in another form; the bulletins of PAAQ, whose tables give no positions;
// and the CAP documents' signatures.
package tsunami
