//go:build race

package usgs

// raced: the race detector slows parsers ten times, and one goroutine parses. With it payloads are a tenth as large.
const raced = true
