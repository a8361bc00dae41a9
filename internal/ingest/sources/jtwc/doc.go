// Package jtwc reads the tropical cyclones of the Joint Typhoon Warning Center: the index of its
// products (RSS), the text of a warning, and the significant tropical weather advisories for the
// Pacific and for the Indian Ocean.
//
// A storm is identified by its ATCF identity ("wp252026": basin, number, year), as at the National
// Hurricane Center. The index also lists that center's storms, but this package ignores them until
// they cross the date line. Each warning makes a report with its own Part. An advisory makes one
// for each storm in its summary, which has less weight than a warning of the same hour.
// Disturbances and formation alerts are ignored, because their numbers (90 to 99) are reused within
// weeks. Texts only contain day and hour; the month is that of the latest such day before they were
// read.
//
// Storms last as long as the index contains them (Batch.Lasting). For each ocean, it contains
// either warnings or the words that there are none. If an ocean has neither, nothing is concluded
// from the index.
//
// rss.go reads the index, text.go the texts, and report.go makes the reports. Parse is a pure
// function, safe for concurrent use, and needs memory proportional to the payload.
package jtwc
