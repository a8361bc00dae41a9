//go:build unix

package cluster

import (
	"math/rand/v2"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/hazardd/hazardd/internal/test"
)

// Two faults at once: one of the nodes and one of the database. The test runs for the time
// HAZARDD_CLUSTER_SOAK ("30m"), with a new pair each time.
func TestPairs(t *testing.T) {
	test.Slow(t)
	text := os.Getenv("HAZARDD_CLUSTER_SOAK")
	if text == "" {
		t.Skip("takes as long as HAZARDD_CLUSTER_SOAK says, such as 30m: make soak")
	}
	soak, err := time.ParseDuration(text)
	if err != nil {
		t.Fatalf("HAZARDD_CLUSTER_SOAK: %v", err)
	}
	ofNodes := []nemesis{
		{"a node is killed", three, killNode, nil},
		{"a node is cut off in silence", three, cutOff, nil},
		{"a node is refused by the database", three, refuse, nil},
		{"all nodes are replaced", three, roll, nil},
		{"a node is stopped", three, stopNode, nil},
	}
	ofDatabases := []nemesis{
		{"the primary is killed", three, killPrimary, nil},
		{"a standby that lags is promoted", options{nodes: 3, asynchronous: true}, promoteLagging, nil},
		{"a transaction is held open", three, holdOpen, nil},
		{"the database is restarted", three, restartDatabase, nil},
	}
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	rnd := rand.New(rand.NewPCG(seed, 0))
	var pairs [][2]int
	for i := range ofNodes {
		for j := range ofDatabases {
			pairs = append(pairs, [2]int{i, j})
		}
	}
	for end := time.Now().Add(soak); time.Now().Before(end); {
		rnd.Shuffle(len(pairs), func(i, j int) { pairs[i], pairs[j] = pairs[j], pairs[i] })
		for _, p := range pairs {
			if time.Now().After(end) {
				return
			}
			a, b := ofNodes[p[0]], ofDatabases[p[1]]
			name, delay := a.name+", "+b.name, time.Duration(rnd.IntN(3000))*time.Millisecond
			t.Run(name, func(t *testing.T) {
				run(t, nemesis{name, b.options, func(br *breaker) {
					var both sync.WaitGroup
					both.Go(func() { a.do(br) })
					time.Sleep(delay)
					both.Go(func() { b.do(br) })
					both.Wait()
				}, nil})
			})
		}
	}
}
