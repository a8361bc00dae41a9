//go:build race

package archive_test

// raced: the race detector slows what reads all recordings ten times; make test runs it without.
const raced = true
