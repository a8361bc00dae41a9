package app

import (
	"os"
	"runtime/debug"
)

// CollectOften makes the garbage collector run when the heap has grown by half, not when it has
// doubled, unless GOGC is set. A server that polls 300 feeds then takes 194 MB instead of 224 MB;
// the extra CPU time is too small to measure (bench/poll, bench/push). The setting is global to the
// process.
func CollectOften() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(50)
	}
}
