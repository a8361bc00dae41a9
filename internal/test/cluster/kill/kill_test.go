//go:build unix

package kill

import (
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/hazardd/hazardd/internal/test"
)

// rounds returns the number of rounds: from the variable, or else the default, which is a fifth
// with -short.
func rounds(t testing.TB, variable string, usual int) int {
	if text := os.Getenv(variable); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 {
			t.Fatalf("%s=%q is not a number above 0", variable, text)
		}
		return n
	}
	if testing.Short() {
		return max(1, usual/5)
	}
	return usual
}

// writer creates a user who may write everything, and returns the user's token.
func writer(t testing.TB, data string) string {
	t.Helper()
	command(t, data, "violet kayak thermos orbit", "user", "add", "writer", "--role", "admin", "--password-stdin")
	return command(t, data, "", "token", "writer")
}

func TestKillLosesNothing(t *testing.T) {
	test.Slow(t)
	data := t.TempDir()
	start(t, data, "").kill() // the first start is not part of the rounds
	token := writer(t, data)
	seed := rand.Uint64()
	rnd := rand.New(rand.NewPCG(seed, 0))
	t.Logf("seed %d", seed)
	l := newLedger()
	n := rounds(t, "HAZARDD_KILLS", 50)
	inStart := 0
	for round := range n {
		if rnd.IntN(3) == 0 { // killed during startup
			s, _ := launch(t, data, "")
			time.Sleep(time.Duration(rnd.IntN(120)) * time.Millisecond) // the moment of the kill
			s.kill()
			inStart++
		}
		s := start(t, data, "")
		stop := l.busy(t, s.url, token, seed+uint64(round)*writers)
		time.Sleep(time.Duration(50+rnd.IntN(1150)) * time.Millisecond) // the moment of the kill
		s.kill()
		stop()

		s = start(t, data, "")
		for _, what := range l.check(t, newClient(s.url, token), false) {
			t.Errorf("round %d: %s", round, what)
		}
		s.kill() // writes from repeated requests must survive too
	}
	s := start(t, data, "")
	c := newClient(s.url, token)
	lost := l.check(t, c, true)
	for _, what := range lost {
		t.Errorf("at the end: %s", what)
	}
	last := checkLog(t, c)
	t.Logf("%d kills and %d while starting; %d writes and %d files acknowledged, %d lost; %d changes, each number once", 2*n, inStart, l.acked, l.files, len(lost), last)
}
