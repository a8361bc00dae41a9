// Package scenarios holds the scenarios that are built into hazardd: for each a file NAME.yaml, and
// a folder NAME with the files of its products. docs/drill.md describes how to write one.
//
// The places are real, the events are invented, and nothing in them is anybody's plan.
package scenarios

import "embed"

// Files are the scenarios.
//
//go:embed *.yaml earthquake-tsunami cyclone-flood
var Files embed.FS
