//go:build race

package main

// raced: the race detector slows a day of payloads ten times; make test replays it without.
const raced = true
