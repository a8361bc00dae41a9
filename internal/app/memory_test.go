package app

import (
	"testing"
	"testing/fstest"
)

// The least limit of the control groups counts, of both versions, inside and outside of a container.
func TestTheMemoryOfAContainerIsFound(t *testing.T) {
	for name, c := range map[string]struct {
		groups string
		files  map[string]string
		want   Memory
	}{
		"another system":                  {"", nil, 0},
		"version 2, no limit":             {"0::/\n", map[string]string{"sys/fs/cgroup/memory.max": "max\n"}, 0},
		"version 2, in a container":       {"0::/\n", map[string]string{"sys/fs/cgroup/memory.max": "268435456\n"}, 256 << 20},
		"version 2, of a group above":     {"0::/a/b\n", map[string]string{"sys/fs/cgroup/a/b/memory.max": "max\n", "sys/fs/cgroup/a/memory.max": "1000000\n"}, 1000000},
		"version 1, in a container":       {"4:memory:/docker/1\n0::/\n", map[string]string{"sys/fs/cgroup/memory/memory.limit_in_bytes": "536870912\n"}, 512 << 20},
		"version 1, outside":              {"4:cpu,memory:/x\n", map[string]string{"sys/fs/cgroup/memory/x/memory.limit_in_bytes": "1000\n", "sys/fs/cgroup/memory/memory.limit_in_bytes": "9223372036854771712\n"}, 1000},
		"version 1, no limit":             {"4:memory:/\n", map[string]string{"sys/fs/cgroup/memory/memory.limit_in_bytes": "9223372036854771712\n"}, 0},
		"another controller of version 1": {"4:cpu:/x\n", map[string]string{"sys/fs/cgroup/memory/x/memory.limit_in_bytes": "1000\n"}, 0},
	} {
		root := fstest.MapFS{}
		if c.groups != "" {
			root["proc/self/cgroup"] = &fstest.MapFile{Data: []byte(c.groups)}
		}
		for file, text := range c.files {
			root[file] = &fstest.MapFile{Data: []byte(text)}
		}
		if got := memoryLimit(root); got != c.want {
			t.Errorf("%s: %d, expected %d", name, got, c.want)
		}
	}
}

// Budgets shrink with the limit, and fit into it together with what answers need.
func TestBudgetsFitTheMemory(t *testing.T) {
	for m, want := range map[Memory]bool{0: false, SmallestMemory: false, SmallestMemory - 1: true} {
		if got := m.Short() != ""; got != want {
			t.Errorf("%d: remarked on: %v, expected %v", m, got, want)
		}
	}
	for _, m := range []Memory{SmallestMemory, 512 << 20, 1 << 30} {
		l := m.Answers()
		sum := l.All + l.Shared + int64(m.Changes().Bytes) + int64(m.Pages())
		if sum > int64(m)/2 || l.User > l.All || m.heap() <= 0 || m.heap()+int64(m.Pages()) > int64(m)*4/5 {
			t.Errorf("%d MiB: budgets of %d MiB, a heap of %d MiB: %+v", m>>20, sum>>20, m.heap()>>20, l)
		}
	}
	if l := Memory(0).Answers(); l != Memory(8<<30).Answers() {
		t.Errorf("without a limit: %+v", l)
	}
}
