//go:build unix

package kill

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"os/exec"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/hazardd/hazardd/internal/test"
)

// soon is the time within which writes of another process must be visible. On an idle machine it
// takes at most a second.
const soon = 20 * time.Second

// A second server on the same folder is a second writing process. Each shows the other's writes
// within a second, or soon on a busy machine.
func TestTwoProcessesShareTheStore(t *testing.T) {
	test.Slow(t)
	data := t.TempDir()
	start(t, data, "").kill()
	token := writer(t, data)
	servers := []*server{start(t, data, ""), start(t, data, "")}
	l := newLedger()
	var wg sync.WaitGroup
	const each = 100
	for i := range writers {
		wg.Go(func() {
			c := newClient(servers[i%2].url, token)
			defer c.http.CloseIdleConnections()
			for n := range each {
				id := "0190a0b0-0000-7000-8000-" + strconv.FormatInt(1e11+int64(i)*1e6+int64(n), 10)
				if err := l.create(t.Context(), c, id); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	for _, s := range servers {
		deadline := time.Now().Add(soon)
		c := newClient(s.url, token)
		for {
			_, answer, header, err := c.do(t.Context(), http.MethodGet, "/hazards/active", "", nil)
			var list []json.RawMessage
			if err == nil {
				err = json.Unmarshal(answer, &list)
			}
			if err != nil {
				t.Fatal(err)
			}
			if len(list) == writers*each {
				break
			}
			if time.Now().After(deadline) {
				t.Fatalf("one of two processes still shows %d of %d hazards, as of change %s", len(list), writers*each, header.Get("Hazardd-Change"))
			}
		}
		if last := checkLog(t, c); last != writers*each {
			t.Errorf("%d changes, want %d", last, writers*each)
		}
	}
	if out, err := exec.Command(binary, "user", "disable", "writer", "--data", data).CombinedOutput(); err != nil {
		t.Fatalf("%v %s", err, out)
	}
	deadline := time.Now().Add(soon)
	for _, s := range servers {
		for {
			status, _, _, err := newClient(s.url, token).do(t.Context(), http.MethodGet, "/hazards/types", "", nil)
			if err != nil {
				t.Fatal(err)
			}
			if status == http.StatusForbidden {
				break
			}
			if time.Now().After(deadline) {
				t.Fatal("a user who was disabled on the command line still has access")
			}
		}
	}
}

// quake is what the command line imports while the server runs.
const quake = `{"type":"FeatureCollection","metadata":{"generated":%[1]d,"title":"USGS All Earthquakes","status":200,"api":"1.10.3","count":1},"features":[
{"type":"Feature","properties":{"mag":6.9,"place":"266 km S of Burica, Panama","time":%[1]d,"updated":%[1]d,"url":"https://earthquake.usgs.gov/earthquakes/eventpage/us6000kxfl",
"status":"reviewed","tsunami":0,"sig":537,"net":"us","code":"6000kxfl","ids":",us6000kxfl,","sources":",us,","types":",origin,","magType":"mww","type":"earthquake",
"title":"M 6.9 - 266 km S of Burica, Panama"},"geometry":{"type":"Point","coordinates":[-82.6217,5.6346,8]},"id":"us6000kxfl"}]}`

func TestCommandLineBesideTheServerIsSeen(t *testing.T) {
	test.Slow(t)
	data := t.TempDir()
	start(t, data, "").kill()
	token := writer(t, data)
	s := start(t, data, "")
	command(t, data, fmt.Sprintf(quake, time.Now().UnixMilli()), "import", "--source", "usgs", "-")
	deadline := time.Now().Add(soon)
	c := newClient(s.url, token)
	for {
		status, answer, _, err := c.do(t.Context(), http.MethodGet, "/hazards/active", "", nil)
		if err != nil || status != http.StatusOK {
			t.Fatalf("%d %v", status, err)
		}
		if bytes.Contains(answer, []byte("266 km S of Burica")) {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("the server does not show what was imported: %s", answer)
		}
	}
}
