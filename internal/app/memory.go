package app

import (
	"fmt"
	"io/fs"
	"math"
	"os"
	"path"
	"runtime/debug"
	"strconv"
	"strings"

	"github.com/hazardd/hazardd/internal/serve/encoded"
	"github.com/hazardd/hazardd/internal/store/follow"
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

// Memory is how many bytes this process may use, in a container with a limit; 0 means no limit.
type Memory int64

// roomy is the limit above which all budgets have their usual size. Below it they shrink with the
// limit, down to an eighth.
const roomy Memory = 1 << 30

// SmallestMemory is the least limit of a container that a server is tested with: 10,000 active hazards,
// 1,000 streams, an import of the largest recording and 20 readers of the largest answers
// (internal/test/cluster/kill, TestAServerFitsAContainer).
const SmallestMemory Memory = 256 << 20

// Short returns a sentence if the limit is below SmallestMemory, otherwise "".
func (m Memory) Short() string {
	if m == 0 || m >= SmallestMemory {
		return ""
	}
	return fmt.Sprintf("the container's memory limit is %d MiB, expected %d MiB or more: the kernel may end the server when it is used much", m>>20, SmallestMemory>>20)
}

// FitMemory reads the limit of the container, and makes the garbage collector of a server work harder
// when the heap comes close to it, unless GOMEMLIMIT is set. The setting is global to the process.
func FitMemory() Memory {
	m := memoryLimit(os.DirFS("/"))
	if m > 0 && os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(m.heap())
	}
	return m
}

// FitBeside does the same for a command, such as an import, that runs beside a server in its container.
func FitBeside() {
	if m := memoryLimit(os.DirFS("/")); m > 0 && os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(int64(m) / 5)
	}
}

// heap returns the soft limit of a server's heap: what SQLite allocates beside it, the pages of the
// program and of files that the kernel counts, and a command beside it need the rest.
func (m Memory) heap() int64 { return int64(m)*5/8 - int64(m.Pages()) }

// share returns what is left of n bytes under the limit.
func (m Memory) share(n int64) int64 {
	if m == 0 || m >= roomy {
		return n
	}
	return max(n/8, int64(float64(n)*float64(m)/float64(roomy)))
}

// Answers returns the limits of what answers take.
func (m Memory) Answers() encoded.Limits {
	l := encoded.DefaultLimits
	l.All, l.Shared, l.Reading = m.share(l.All), m.share(l.Shared), m.share(l.Reading)
	l.User = min(l.User, l.All/2)
	return l
}

// Changes returns how much of the log is kept in memory.
func (m Memory) Changes() follow.Bounds {
	b := follow.Memory
	b.Bytes = m.share(b.Bytes)
	return b
}

// sqlitePages is what SQLite's connections may cache together, usually.
const sqlitePages = 128 << 20

// Pages returns how many bytes of pages the connections of SQLite may cache together.
func (m Memory) Pages() int { return int(m.share(sqlitePages)) }

// memoryLimit reads the least limit of the control groups that this process is in, of version 2 or 1
// (Linux: Documentation/admin-guide/cgroup-v2.rst, cgroup-v1/memory.rst); 0 if there is none.
func memoryLimit(root fs.FS) Memory {
	groups, err := fs.ReadFile(root, "proc/self/cgroup")
	if err != nil {
		return 0 // another system
	}
	least := int64(math.MaxInt64)
	for line := range strings.Lines(string(groups)) {
		parts := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(parts) < 3 {
			continue
		}
		base, file := "sys/fs/cgroup", "memory.max"
		if parts[0] != "0" {
			if !strings.Contains(","+parts[1]+",", ",memory,") {
				continue
			}
			base, file = "sys/fs/cgroup/memory", "memory.limit_in_bytes"
		}
		// A container sees its group as the root, or by the path that it has outside.
		for at := path.Clean("/" + parts[2]); ; at = path.Dir(at) {
			if text, err := fs.ReadFile(root, path.Join(base, at, file)); err == nil {
				if n, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64); err == nil && n > 0 { // "max" is no number
					least = min(least, n)
				}
			}
			if at == "/" {
				break
			}
		}
	}
	if least > 1<<46 { // version 1 says "no limit" by a number near 2^63
		return 0
	}
	return Memory(least)
}
