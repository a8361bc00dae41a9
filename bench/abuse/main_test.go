package main

import (
	"os"
	"testing"
	"time"

	"github.com/hazardd/hazardd/bench/internal/measure"
	"github.com/hazardd/hazardd/internal/test"
)

// The abuses run in processes of this program, which here is the test binary.
func TestMain(m *testing.M) {
	if name := os.Getenv(asAbuser); name != "" {
		measure.Exit("abuse", abuseAs(name))
		return
	}
	os.Exit(m.Run())
}

// A short run against the real program: no request of others fails.
func TestOthersAreServedWhileOneUserFloods(t *testing.T) {
	test.Slow(t)
	o := options{hazards: 5}
	dir := t.TempDir()
	if err := build(t.Context(), &o, dir); err != nil {
		t.Fatal(err)
	}
	data, err := dataFolder(dir)
	if err != nil {
		t.Fatal(err)
	}
	w, err := prepare(t.Context(), o, data)
	if err != nil {
		t.Fatal(err)
	}
	o.slice = time.Second
	for _, name := range []string{"L4", "L5a"} {
		f, err := measureOne(t.Context(), o, data, w, name)
		if err != nil {
			t.Fatal(err)
		}
		if len(f.during.reads) == 0 || len(f.during.writes) == 0 || f.during.failed+f.after.failed > 0 {
			t.Errorf("%s: %d reads, %d writes, %d failed, %d failed after it", name, len(f.during.reads), len(f.during.writes), f.during.failed, f.after.failed)
		}
	}
}
