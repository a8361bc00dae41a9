// Package poll reads the sources: who polls which source when, and what follows from an answer.
//
// Of all processes that share a store one polls at a time: it holds a lease, and another takes over within 10 seconds
// after it died. Should two poll at once nothing happens twice, because taking in the same report again changes nothing.
// Each source has one goroutine, one request in flight and one payload in memory, so a source that is slow, huge, hostile or
// makes its parser panic delays and harms nobody else.
//
// A source is not polled faster than it states, also over restarts, but at a start where it warns (source.Source.Warns), each
// minute at most after a failure, when asked for by hand, and where a stop broke a request off; and never before the end of
// a Retry-After. Its validators (ETag,
// Last-Modified) are kept only once everything has been done that follows from the answer they belong to; a process that died in
// between reads anew. What came before a connection broke is taken in, and nothing is concluded from what is missing then.
//
// What an index announces is fetched until it arrives or the entry is over, with a backoff for each document, so that one that
// fails holds nothing else back. A source that lacks what it announced, or whose links are not followed, is failing.
//
// Nothing ends because a source is silent. An event that a source lists no longer ends only by what the source's contract
// says of its lists, read completely (see Source), and not in great numbers before a second list says the same.
//
// The state of each source is kept in the store and can be read by any process: see Statuses. The package knows neither the
// words of any source nor how reports become hazards.
package poll
