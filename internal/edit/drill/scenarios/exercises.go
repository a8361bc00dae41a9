// Package scenarios holds the scenarios that are built into hazardd, with the files of their products: NAME.yaml, and a folder NAME beside it.
// docs/exercises.md says how one is written. The places are real, the events are made up, and nothing in them is a plan of anybody.
package scenarios

import "embed"

// Files are the scenarios.
//
//go:embed *.yaml earthquake-tsunami cyclone-flood
var Files embed.FS
