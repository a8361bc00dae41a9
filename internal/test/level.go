// Package test decides which tests run where. The folders below it hold the servers, laws and recordings that tests use.
//
// There are four levels. Short tests (go test -short) take less than a second of processor time each; make check runs
// them. Plain go test, and make test, run all that a change needs, in minutes. With HAZARDD_TESTS=ci, as in .ci/run,
// there are those too that take seconds to guard what a change seldom touches. With HAZARDD_TESTS=all, as in make
// test-all, everything runs: kills, clusters, all recordings, long histories. A test names its level in its first line;
// a test without such a line is short.
package test

import (
	"flag"
	"fmt"
	"os"
	"strconv"
	"testing"
)

// All reports whether all tests run. It panics if HAZARDD_TESTS has an unknown value.
func All() bool {
	switch v := os.Getenv("HAZARDD_TESTS"); v {
	case "", "default", "ci":
		return false
	case "all":
		return true
	default:
		panic(fmt.Sprintf("HAZARDD_TESTS is %q, want default, ci or all", v))
	}
}

// Seconds skips t in short runs: it takes more than a second of processor time.
func Seconds(t testing.TB) {
	t.Helper()
	if testing.Short() {
		t.Skip("takes seconds")
	}
}

// Concurrent skips t in short runs, but not under the race detector, which finds most in tests like
// it: it takes more than a second of processor time.
func Concurrent(t testing.TB) {
	t.Helper()
	if testing.Short() && !raced {
		t.Skip("takes seconds")
	}
}

// Seldom skips t unless .ci/run or all tests run: it takes seconds of processor time, and guards what a change seldom
// touches.
func Seldom(t testing.TB) {
	t.Helper()
	if testing.Short() || !CI() {
		t.Skip("runs with HAZARDD_TESTS=ci, as in .ci/run")
	}
}

// SeldomButRaced is Seldom, but t always runs under the race detector, as with Concurrent.
func SeldomButRaced(t testing.TB) {
	t.Helper()
	if !raced {
		Seldom(t)
	}
}

// CI reports whether the tests of .ci/run are among those that run.
func CI() bool { return All() || os.Getenv("HAZARDD_TESTS") == "ci" }

// Slow skips t unless all tests run: it takes minutes, or seconds that a change seldom needs.
func Slow(t testing.TB) {
	t.Helper()
	if testing.Short() || !All() {
		t.Skip("runs with HAZARDD_TESTS=all, as in make test-all")
	}
}

// Rounds returns how often a test repeats something, or how much it takes: all if all tests run,
// otherwise few.
func Rounds(all, few int) int {
	if All() && !testing.Short() {
		return all
	}
	return few
}

// OneIn reports whether a test takes its input number i: one in n, or every one in .ci/run and if all tests run.
func OneIn(n, i int) bool {
	return i%n == 0 || !testing.Short() && CI()
}

// Checks limits how often rapid.Check tries a property of t, which is slow to try, unless all tests
// run. Such a test cannot be parallel.
func Checks(t testing.TB, few int) {
	t.Helper()
	checks := flag.Lookup("rapid.checks")
	if checks == nil || All() {
		return
	}
	before := checks.Value.String()
	t.Cleanup(func() { _ = checks.Value.Set(before) })
	if err := checks.Value.Set(strconv.Itoa(few)); err != nil {
		t.Fatal(err)
	}
}

// NoRace skips t under the race detector: it works in one goroutine, or other tests take the same
// way there. It would only run ten times slower.
func NoRace(t testing.TB) {
	t.Helper()
	if raced {
		t.Skip("nothing for the race detector")
	}
}
