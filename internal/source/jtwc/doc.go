// Package jtwc reads the tropical cyclones of the Joint Typhoon Warning Center: the index of its products (RSS), the text of a
// warning, and the significant tropical weather advisories of the Pacific and of the Indian Ocean.
//
// A storm is its ATCF identity ("wp252026": basin, number, year), as at the National Hurricane Center, whose storms the index
// lists too and this package leaves to it until they cross the date line. Each warning makes a report of its own Part, and an advisory one for each storm that
// it sums up, which counts for less than a warning of the same hour. Disturbances and formation alerts are ignored: their numbers (90 to 99)
// come round within weeks. Texts give a day and an hour alone; their month is that of the latest such day before they were read.
//
// Storms go on as long as the index names them (Batch.Lasting). It says so for each ocean: with their warnings, or with the words
// that there are none. An index in which an ocean says neither proves nothing.
//
// rss.go is the index, text.go the texts, report.go the report. Parse is a pure function, may be called concurrently, and needs
// memory in proportion to the payload.
package jtwc
