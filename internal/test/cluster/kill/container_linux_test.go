package kill

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/hazardd/hazardd/internal/app"
	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/store"
	"github.com/hazardd/hazardd/internal/test"
	"github.com/hazardd/hazardd/internal/test/program"
	"github.com/hazardd/hazardd/internal/test/recordings"
)

// group is a control group with a limit of memory (cgroup v1, or v2 where that is mounted alone).
type group struct{ dir, most, peak string }

func newGroup(t *testing.T, limit int64) group {
	t.Helper()
	g := group{"/sys/fs/cgroup/memory/hazardd-test-" + strconv.Itoa(os.Getpid()), "memory.limit_in_bytes", "memory.max_usage_in_bytes"}
	if _, err := os.Stat("/sys/fs/cgroup/cgroup.controllers"); err == nil {
		g = group{"/sys/fs/cgroup/hazardd-test-" + strconv.Itoa(os.Getpid()), "memory.max", "memory.peak"}
	}
	if err := os.Mkdir(g.dir, 0o755); err != nil {
		t.Skipf("needs the right to make a control group: %v", err)
	}
	t.Cleanup(func() { _ = os.Remove(g.dir) }) // its processes have ended
	if err := os.WriteFile(filepath.Join(g.dir, g.most), []byte(strconv.FormatInt(limit, 10)), 0o644); err != nil {
		t.Skipf("needs the right to limit memory: %v", err)
	}
	return g
}

// within returns the arguments that run a command in the group.
func (g group) within(args ...string) []string {
	return append([]string{"-c", "echo $$ > " + g.dir + "/cgroup.procs; exec \"$@\"", "sh"}, args...)
}

func (g group) read(name string) string {
	text, err := os.ReadFile(filepath.Join(g.dir, name))
	if err != nil {
		return err.Error()
	}
	return strings.TrimSpace(string(text))
}

// manyHazards fills a store with active hazards with areas and texts of the usual size.
func manyHazards(t *testing.T, data string, n int) {
	t.Helper()
	s, err := store.Open(t.Context(), data, "sqlite:?synchronous=off")
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	now := hazard.At(time.Now())
	text := strings.Repeat("Water rises along the river, and roads are closed. ", 20)
	for done := 0; done < n; {
		_, err := s.Write(t.Context(), hazard.ClockFunc(func() hazard.Instant { return now }), store.Origin{Admin: true}, func(tx *store.Tx) error {
			for range 500 {
				lon, lat := float64(done%340)-170, float64(done/340)-20
				var box strings.Builder
				for i := range 60 {
					fmt.Fprintf(&box, "[%.4f,%.4f],", lon+float64(i)/100, lat)
				}
				area := fmt.Sprintf(`{"type":"Polygon","coordinates":[[%s[%.4f,%.4f],[%.4f,%.4f]]]}`, box.String(), lon+0.3, lat+0.5, lon, lat)
				refs, err := tx.KeepAreas([]hazard.Area{{Role: hazard.AlertArea, Geometry: area}})
				if err != nil {
					return err
				}
				h := &hazard.Hazard{UUID: uuid.New(), Type: hazard.Flood, Severity: hazard.Watch, Category: hazard.Event, Status: hazard.Active, OrgID: -1, Name: fmt.Sprintf("Flood %d", done),
					Description: text, Longitude: lon, Latitude: lat, Start: now.Add(-time.Hour), End: now.Add(24 * time.Hour), AutoExpire: true, Areas: refs}
				if err := tx.SaveHazard(h, nil); err != nil {
					return err
				}
				done++
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

// In a container of 256 MiB a server with 10,000 active hazards keeps 1,000 streams, while the largest
// recording is imported and 20 readers of one user ask for the largest answers.
func TestAServerFitsAContainer(t *testing.T) {
	test.Slow(t)
	const limit = int64(app.SmallestMemory)
	recording := recordings.Path(t, "feeds/nsw-rfs/majorIncidents-20200125T1115Z.json")
	g := newGroup(t, limit)
	data := filepath.Join(t.TempDir(), "data")
	start(t, data, "").kill()
	token := writer(t, data)
	manyHazards(t, data, 10_000)
	var logs bytes.Buffer
	p, err := program.Start(t.Context(), "sh", nil, &logs, g.within(binary, "serve", "--data", data, "--listen", "127.0.0.1:0", "--sources", "none", "--log-level", "warn", "--user-streams", "2000")...)
	if err != nil {
		t.Fatalf("%v\n%s", err, &logs)
	}
	defer func() { _ = p.End(syscall.SIGTERM) }()
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var streams, open sync.WaitGroup
	var got atomic.Int64
	opening := make(chan struct{}, 50) // a client may open 256 connections before it has logged in
	for range 1000 {
		opening <- struct{}{}
		open.Add(1)
		streams.Go(func() {
			req, err := http.NewRequestWithContext(ctx, http.MethodGet, p.URL+"/events", nil)
			if err != nil {
				t.Error(err)
			}
			req.Header.Set("Authorization", "Bearer "+token)
			resp, err := http.DefaultClient.Do(req)
			<-opening
			open.Done()
			if err != nil {
				return
			}
			if resp.StatusCode != http.StatusOK {
				t.Errorf("a stream: %s", resp.Status)
			}
			defer resp.Body.Close()
			got.Add(1)
			_, _ = io.Copy(io.Discard, resp.Body)
		})
	}
	open.Wait()
	imported := make(chan string, 1)
	go func() {
		out, err := program.Command("sh", "", g.within(binary, "import", "--source", "nswrfs", recording, "--data", data)...)
		imported <- fmt.Sprint(strings.TrimSpace(out), " ", err)
	}()
	statuses := map[int]int{}
	var mu sync.Mutex
	var readers sync.WaitGroup
	paths := []string{"/hazards/active", "/hazards/active?f=geojson", "/hazards/active?f=kml", "/hazards?limit=1000", "/hazards/active?f=csv"}
	for i := range 20 {
		readers.Go(func() {
			c := &http.Client{Transport: &http.Transport{DisableCompression: i%2 == 0}, Timeout: 10 * time.Minute}
			for round := range 5 {
				req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, p.URL+paths[(i+round)%len(paths)], nil)
				if err != nil {
					t.Error(err)
					return
				}
				req.Header.Set("Authorization", "Bearer "+token)
				status := 0
				if resp, err := c.Do(req); err == nil {
					status = resp.StatusCode
					if _, err := io.Copy(io.Discard, resp.Body); err != nil {
						status = -1
					}
					_ = resp.Body.Close()
				}
				mu.Lock()
				statuses[status]++
				mu.Unlock()
			}
		})
	}
	readers.Wait()
	result := <-imported
	status := 0
	if resp, err := http.Get(p.URL + "/healthz"); err == nil {
		status = resp.StatusCode
		_ = resp.Body.Close()
	}
	t.Logf("limit %d MiB: %d streams, answers by status %v, import: %s; peak %s bytes, %s", limit>>20, got.Load(), statuses, result, g.read(g.peak), strings.ReplaceAll(g.read("memory.oom_control")+g.read("memory.events"), "\n", ", "))
	if status != http.StatusOK {
		t.Errorf("the server has ended\n%s", &logs)
	}
	if statuses[0]+statuses[-1] > 0 || got.Load() != 1000 {
		t.Errorf("answers were cut, or streams refused\n%s", &logs)
	}
	stop()
	streams.Wait()
}
