//go:build race

package service_test

// raced: the race detector slows the store ten times, and what recordings come to is worked out by one goroutine. With it a few are taken in;
// the Makefile has all of them tested without it.
const raced = true
