// Package others tests hazardd with the programs that people really use: official SDKs and map
// libraries, installed from package-lock.json. Each script is a test of node.
package others

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"testing"

	"github.com/hazardd/hazardd/internal/test"
	"github.com/hazardd/hazardd/internal/test/server"
)

// installed skips the test where the programs are not installed.
func installed(t *testing.T) {
	t.Helper()
	test.Seconds(t)
	if _, err := os.Stat("node_modules/.package-lock.json"); err != nil {
		t.Skip("the programs of others are not installed: npm --prefix clients/others ci --ignore-scripts")
	}
}

// run runs a script's tests with the variables.
func run(t *testing.T, script string, variables ...string) {
	t.Helper()
	c := exec.CommandContext(t.Context(), "node", "--test", "--test-reporter=spec", script)
	c.Env = append(os.Environ(), variables...)
	if out, err := c.CombinedOutput(); err != nil {
		t.Errorf("%s: %v\n%s", script, err, out)
	}
}

func TestTheOfficialSDKOfMCP(t *testing.T) {
	installed(t)
	s := server.Serve(t)
	made := s.Do("red", "POST", "/hazards", json.RawMessage(`{"hazard_Name":"Flood of the Elbe","type_ID":"FLOOD","severity_ID":"WARNING","category_ID":"EVENT","latitude":53.5,"longitude":10}`))
	var h struct {
		ID int64 `json:"hazard_ID"`
	}
	made.JSON(t, &h)
	program := t.TempDir() + "/hazardd"
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", program, "../../cmd/hazardd").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	run(t, "mcp.test.mjs", "HAZARDD_URL="+s.URL(), "HAZARDD_TOKEN="+s.Token("reader"), "HAZARDD_PASSWORD="+server.Password, "HAZARDD="+program, "HAZARDD_HAZARD="+strconv.FormatInt(h.ID, 10))
}

// More hazards than fit one page of a layer, of which some have an area.
func TestProgramsOfEsri(t *testing.T) {
	installed(t)
	const points, areas = 530, 505
	s := server.Serve(t)
	first := int64(0)
	for i := range points {
		h := map[string]any{"hazard_Name": fmt.Sprint("Flood ", i), "type_ID": "FLOOD", "severity_ID": "WARNING", "category_ID": "EVENT", "latitude": 50, "longitude": 10}
		if i < areas {
			h["area"] = json.RawMessage(`{"type":"Polygon","coordinates":[[[9,49],[11,49],[11,51],[9,51],[9,49]]]}`)
		}
		var made struct {
			ID int64 `json:"hazard_ID"`
		}
		s.Do("red", "POST", "/hazards", h).JSON(t, &made)
		if i == 0 {
			first = made.ID
		}
	}
	var key struct{ Key string }
	if a := s.Do("red", "POST", "/keys", map[string]string{"title": "map"}); a.Status != 201 {
		t.Fatalf("%d %s", a.Status, a.Body)
	} else {
		a.JSON(t, &key)
	}
	for _, script := range []string{"arcgis.test.mjs", "leaflet.test.mjs"} {
		run(t, script, "HAZARDD_URL="+s.URL()+"/key/"+key.Key, fmt.Sprint("HAZARDD_COUNT=", points), fmt.Sprint("HAZARDD_AREAS=", areas), fmt.Sprint("HAZARDD_FIRST=", first))
	}
}
