package others

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"os/exec"
	"strconv"
	"testing"

	"github.com/hazardd/hazardd/internal/app"
	"github.com/hazardd/hazardd/internal/serve/openapi"
	"github.com/hazardd/hazardd/internal/test"
	"github.com/hazardd/hazardd/internal/test/program"
	"github.com/hazardd/hazardd/internal/test/server"
)

// installed skips the test where the programs of a folder are not installed.
func installed(t *testing.T, folder string) {
	t.Helper()
	test.Seldom(t)
	if _, err := os.Stat(folder + "/node_modules/.package-lock.json"); err != nil {
		t.Skipf("the programs of others are not installed: npm --prefix clients/others/%s ci", folder)
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
	installed(t, ".")
	run(t, "mcp.test.mjs", assistant(t)...)
}

// The inspector takes 110 MB to install.
func TestTheInspectorOfMCP(t *testing.T) {
	test.Slow(t)
	installed(t, "inspector")
	run(t, "inspector/inspector.test.mjs", assistant(t)...)
}

// assistant starts a service with a hazard, and builds the program. It returns the variables for
// scripts that ask both as assistants do.
func assistant(t *testing.T) []string {
	t.Helper()
	s := server.Serve(t)
	made := s.Do("red", "POST", "/hazards", json.RawMessage(`{"hazard_Name":"Flood of the Elbe","type_ID":"FLOOD","severity_ID":"WARNING","category_ID":"EVENT","latitude":53.5,"longitude":10}`))
	var h struct {
		ID int64 `json:"hazard_ID"`
	}
	made.JSON(t, &h)
	path, err := program.Build(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return []string{"HAZARDD_URL=" + s.URL(), "HAZARDD_TOKEN=" + s.Token("reader"), "HAZARDD_PASSWORD=" + server.Password, "HAZARDD=" + path, "HAZARDD_HAZARD=" + strconv.FormatInt(h.ID, 10)}
}

// The integration for Home Assistant, with aiohttp and voluptuous, in place of Home Assistant itself
// with classes of our own (see its README).
func TestHomeAssistant(t *testing.T) {
	test.Seldom(t)
	python := ""
	for _, p := range []string{"python3", "/usr/bin/python3"} { // Debian's packages are in its own alone
		if exec.CommandContext(t.Context(), p, "-c", "import aiohttp, voluptuous").Run() == nil {
			python = p
		}
	}
	if python == "" {
		t.Skip("python3-aiohttp and python3-voluptuous are missing")
	}
	s := server.Serve(t)
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`[1]`))
	}))
	defer other.Close()
	c := exec.CommandContext(t.Context(), python, "-W", "error", "-B", "-m", "unittest", "-v", "tests/test_integration.py")
	c.Dir = "../homeassistant"
	c.Env = append(os.Environ(), "HAZARDD_URL="+s.URL(), "HAZARDD_OTHER="+other.URL, "HAZARDD_READER="+s.Token("reader"), "HAZARDD_EDITOR="+s.Token("red"))
	if out, err := c.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

func TestGeneratorsOfTypeScript(t *testing.T) {
	test.Slow(t)
	installed(t, ".")
	s := server.Serve(t)
	run(t, "generators.test.mjs", "HAZARDD_URL="+s.URL(), "HAZARDD_TOKEN="+s.Token("red"))
}

// ogen and oapi-codegen make clients that compile, write and read.
func TestGeneratorsOfGo(t *testing.T) {
	test.Slow(t)
	s, dir := server.Serve(t), t.TempDir()
	if err := os.CopyFS(dir, os.DirFS("../../.ci/generated")); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(os.WriteFile(dir+"/openapi.json", openapi.JSON(s.URL()), 0o600), os.Mkdir(dir+"/oapi", 0o700)); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{
		{"tool", "ogen", "--config", "ogen.yml", "-package", "ogen", "-target", "ogen", "openapi.json"},
		{"tool", "oapi-codegen", "-generate", "types,client", "-package", "oapi", "-o", "oapi/client.go", "openapi.json"},
		{"run", "."},
	} {
		c := exec.CommandContext(t.Context(), "go", args...)
		c.Dir, c.Env = dir, append(os.Environ(), "HAZARDD_URL="+s.URL(), "HAZARDD_TOKEN="+s.Token("red"))
		if out, err := c.CombinedOutput(); err != nil {
			t.Fatalf("%v: %v\n%s", args, err, out[max(0, len(out)-4000):])
		}
	}
}

// The pages of docs/integrate.md draw the danger in a browser, and the script of docs/interface.md
// follows the stream there.
func TestThePagesOfTheRecipes(t *testing.T) {
	test.Slow(t)
	installed(t, ".")
	if _, err := os.Stat("../../web/node_modules/maplibre-gl"); err != nil {
		t.Skip("the map's packages are not installed: npm --prefix web ci")
	}
	run(t, "pages.test.mjs", manyHazards(t, 60, 60)...)
}

func TestQGIS(t *testing.T) {
	test.Seldom(t)
	const python = "/usr/bin/python3" // Debian's, to which its package python3-qgis belongs
	if err := exec.CommandContext(t.Context(), python, "-c", "import qgis.core").Run(); err != nil {
		t.Skip("python3-qgis is not installed")
	}
	c := exec.CommandContext(t.Context(), python, "-B", "qgis_reads.py")
	c.Env = append(append(os.Environ(), "QT_QPA_PLATFORM=offscreen", "HOME="+t.TempDir()), manyHazards(t, 60, 60)...)
	if out, err := c.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// manyHazards fills a service with more hazards than fit one page of a layer, of which the first areas
// have an area. It returns the variables for scripts.
func manyHazards(t *testing.T, points, areas int) []string {
	t.Helper()
	s := server.Serve(t)
	first := int64(0)
	for i := range points {
		lon, lat := float64(i%50)*0.4, 40+float64(i/50)*0.4
		h := map[string]any{"hazard_Name": fmt.Sprint("Flood ", i), "type_ID": "FLOOD", "severity_ID": []string{"WARNING", "WATCH", "ADVISORY"}[i%3], "category_ID": "EVENT", "latitude": lat, "longitude": lon}
		if i < areas {
			h["area"] = map[string]any{"type": "Polygon", "coordinates": [][][2]float64{{{lon, lat}, {lon + 0.3, lat}, {lon + 0.3, lat + 0.3}, {lon, lat + 0.3}, {lon, lat}}}}
		}
		var made struct {
			ID int64 `json:"hazard_ID"`
		}
		if s.Do("red", "POST", "/hazards", h).JSON(t, &made); i == 0 {
			first = made.ID
		}
	}
	var key struct{ Key string }
	s.Do("red", "POST", "/keys", map[string]string{"title": "map"}).JSON(t, &key)
	return []string{"HAZARDD_URL=" + s.URL() + "/key/" + key.Key, "HAZARDD_TOKEN=" + s.Token("red"), fmt.Sprint("HAZARDD_COUNT=", points), fmt.Sprint("HAZARDD_AREAS=", areas), fmt.Sprint("HAZARDD_FIRST=", first)}
}

func TestProgramsOfEsri(t *testing.T) {
	installed(t, ".")
	run(t, "arcgis.test.mjs", manyHazards(t, 530, 505)...)
}

func TestPluginsOfLeaflet(t *testing.T) {
	installed(t, ".")
	run(t, "leaflet.test.mjs", manyHazards(t, 100, 60)...)
}

func TestOpenLayers(t *testing.T) {
	installed(t, ".")
	run(t, "openlayers.test.mjs", manyHazards(t, 100, 60)...)
}

// Node-RED takes 130 MB to install.
func TestNodeRED(t *testing.T) {
	test.Slow(t)
	installed(t, "nodered")
	s := server.Serve(t, func(cfg *app.Config) { cfg.WebhookAllow = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")} })
	s.Do("red", "POST", "/hazards", json.RawMessage(`{"hazard_Name":"Flood of the Elbe","type_ID":"FLOOD","severity_ID":"WARNING","latitude":53.5,"longitude":10}`))
	var key struct{ Key string }
	s.Do("red", "POST", "/keys", map[string]string{"title": "Node-RED"}).JSON(t, &key)
	run(t, "nodered/flow.test.mjs", "HAZARDD_URL="+s.URL()+"/key/"+key.Key, "HAZARDD_TOKEN="+s.Token("red"))
}

// The SDK draws in a browser, and takes 400 MB to install.
func TestTheArcGISMapsSDK(t *testing.T) {
	test.Slow(t)
	installed(t, "arcgis")
	run(t, "arcgis/sdk.test.mjs", append(manyHazards(t, 2_100, 1_100), "OUT="+t.TempDir())...)
}
