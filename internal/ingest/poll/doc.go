// Package poll polls the sources: it decides which process polls which source when, and handles the
// responses.
//
// Of all processes that share a store, one polls at a time. It holds a lease; if it dies, another
// takes over within 10 seconds. If two ever poll at once, nothing happens twice, because processing
// the same report again changes nothing. Each source has one goroutine, one request in flight and
// one payload in memory. So a source that is slow, huge, hostile or crashes its parser affects no
// other source.
//
// A source is not polled more often than it states, even across restarts. There are exceptions: the
// start, if the source asks for warnings at once (source.Source.Warns); after a failure, once a
// minute at most; on request by hand; and a request that a stop has cut off. A Retry-After is
// honored for an hour at most; the first long one of a source that warns for againAfter. Validators (ETag, Last-Modified) are stored only after a response was fully
// processed; if a process dies before that, the next one reads again. If a connection breaks, the
// part that arrived is processed, but nothing is concluded from what is missing.
//
// Documents that an index announces are fetched until they arrive or their entry expires. Each has
// its own backoff, so that a failing one does not delay the others. A source is failing if
// announced documents are missing or their links are not followed.
//
// Nothing ends because a source is silent. An event that a source no longer lists ends only
// according to the contract of that source's lists, after a complete read (see Source), and many at
// once end only after a second list.
//
// The state of each source is in the store, and any process can read it; see Statuses. The package
// knows neither the formats of sources nor how reports become hazards.
package poll
