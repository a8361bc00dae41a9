//go:build race

package intake_test

// raced: the race detector slows the store ten times, and what an order comes to is worked out by one goroutine. With it a few are tried.
const raced = true
