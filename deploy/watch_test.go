package deploy_test

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hazardd/hazardd/internal/app"
	"github.com/hazardd/hazardd/internal/test"
	"github.com/hazardd/hazardd/internal/test/nginx"
	"github.com/hazardd/hazardd/internal/test/server"
)

// labelled are metrics that exist only after an event, or only with more than one machine.
var labelled = []string{
	"hazardd_report_delay_seconds", "hazardd_source_age_seconds", "hazardd_source_unchanged_seconds", "hazardd_source_documents", "hazardd_store_writes_refused_total",
	"hazardd_webhook_attempts_total", "hazardd_webhook_attempt_seconds", "hazardd_limit_refusals_total", "hazardd_http_requests_total",
	"hazardd_http_request_seconds", "hazardd_source_state", "hazardd_source_warns", "hazardd_source_records_total", "hazardd_evidence_failures_total", "hazardd_tls_certificate_end_timestamp_seconds", "hazardd_history_kept_from_timestamp_seconds",
}

var metricName = regexp.MustCompile(`\bhazardd_[a-z_]+`)

// The metrics in alerts, dashboard and guide are those that the program exports.
func TestWhatWatchesAsksForMetricsThatThereAre(t *testing.T) {
	s := server.Serve(t, func(c *app.Config) { c.Backup = app.Backup{Dir: t.TempDir(), Keep: time.Hour} })
	resp, err := http.Get(s.URL() + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Fatal(resp.Status, err)
	}
	known := map[string]bool{}
	for _, name := range labelled {
		known[name] = true
	}
	for _, name := range metricName.FindAllString(string(text), -1) {
		known[name] = true
	}
	asked := map[string]bool{}
	for _, file := range []string{"deploy/prometheus/rules.yml", "deploy/prometheus/rules_test.yml", "deploy/prometheus/dashboard.json", "docs/operate.md"} {
		names := metricName.FindAllString(read(t, file), -1)
		if len(names) < 5 {
			t.Errorf("%s names %d metrics", file, len(names))
		}
		for _, name := range names {
			base := regexp.MustCompile(`_(bucket|sum|count)$`).ReplaceAllString(name, "")
			asked[base] = true
			if !known[name] && !known[base] {
				t.Errorf("%s uses %s, which the program does not export", file, name)
			}
		}
	}
	if len(asked) < 15 {
		t.Errorf("only %q are used", slices.Sorted(maps.Keys(asked)))
	}
	// Metrics that need an event are described in the code.
	out, err := exec.Command("grep", "-rhoE", `"(hazardd_)?[a-z_]+"`, "--include=*.go", filepath.Join(nginx.Root(t), "internal")).Output()
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range labelled {
		if short := strings.TrimPrefix(name, "hazardd_"); !strings.Contains(string(out), `"`+name+`"`) && !strings.Contains(string(out), `"`+short+`"`) {
			t.Errorf("%s is described nowhere", name)
		}
	}
}

// Each alert refers to an existing section that says what to do, and is tested in both directions.
func TestAlertsLeadToTheRunbook(t *testing.T) {
	rules, tests := read(t, "deploy/prometheus/rules.yml"), read(t, "deploy/prometheus/rules_test.yml")+read(t, "deploy/prometheus/rules_weeks_test.yml")
	alerts := regexp.MustCompile(`- alert: (\w+)`).FindAllStringSubmatch(rules, -1)
	runbooks := regexp.MustCompile(`runbook: (\S+)`).FindAllStringSubmatch(rules, -1)
	if len(alerts) < 10 || len(alerts) != len(runbooks) {
		t.Fatalf("%d alerts, of which %d have a link", len(alerts), len(runbooks))
	}
	for _, a := range alerts {
		if !strings.Contains(tests, "alertname: "+a[1]+"\n") {
			t.Errorf("no test checks that %s fires", a[1])
		}
		if !strings.Contains(read(t, "docs/operate.md"), "`"+a[1]+"`") {
			t.Errorf("docs/operate.md does not name %s", a[1])
		}
	}
	for _, r := range runbooks {
		file, heading, found := strings.Cut(r[1], "#")
		if found && !headings(read(t, "docs/"+file))[heading] {
			t.Errorf("an alert links to %s, which is not a heading", r[1])
		}
	}
}

// Alerts fire when they should, and not when all is well, according to Prometheus' own tool.
func TestAlertsFire(t *testing.T) {
	test.Seldom(t)
	if _, err := exec.LookPath("promtool"); err != nil {
		t.Skip("promtool is not installed: it is in Debian's package prometheus")
	}
	for _, args := range [][]string{{"check", "rules", "rules.yml"}, {"test", "rules", "rules_test.yml"}, {"test", "rules", "rules_weeks_test.yml"}} {
		cmd := exec.Command("promtool", args...)
		cmd.Dir = filepath.Join(nginx.Root(t), "deploy", "prometheus")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("promtool %s: %v\n%s", args, err, out)
		}
	}
}

// healthy are services where all is well, as Prometheus sees them for thirteen hours, a sample a minute. Each
// value is of a node; what only one of them does has its own label.
var healthy = map[string]struct {
	nodes  []string
	series map[string]string
}{
	"a cluster": {[]string{"a", "b", "c"}, map[string]string{
		`view_change`: "0+600x780", `disk_free_bytes`: "400e9-1e6x780", `backup_age_seconds`: "1x780", `clock_skew_seconds`: "0.02x780",
		`lease_held{lease="poll"}`: "1x780", `source_state{source="nws", state="ok"}`: "1x100 0x5 1x675", `source_state{source="nws", state="stale"}`: "0x100 1x5 0x675",
		`source_state{source="nws", state="disabled"}`: "0x780", `source_warns{source="nws", country="US"}`: "1x780", `source_unchanged_seconds{source="nws"}`: "60x780",
		`source_documents{source="nws", state="missing"}`: "0x300 1x5 0x475", `notices_attempts_total{channel="email", result="sent"}`: "0+5x780",
		`notices_attempts_total{channel="email", result="failed"}`: "0+1x780", `draft_oldest_seconds`: "0x200 0+60x9 0x570", `evidence_failures_total`: "2x780",
		`prune_failures_total`: "1x780", `report_delay_seconds_bucket{stage="sent", le="1"}`: "0+99x780", `report_delay_seconds_bucket{stage="sent", le="+Inf"}`: "0+99x780",
		`webhook_attempts_total{result="ok"}`: "0+3x780", `webhook_attempts_total{result="failed"}`: "0+1x780", `webhooks{status="disabled"}`: "0x780",
		`store_writes_refused_total{reason="full"}`: "4x780", `tls_certificate_end_timestamp_seconds`: "7e6x780"}},
	"one small node": {[]string{"a"}, map[string]string{
		`view_change`: "0x60 1x720", `disk_free_bytes`: "9e9x780", `lease_held{lease="poll"}`: "1x780", `source_state{source="usgs", state="ok"}`: "1x780",
		`source_state{source="usgs", state="disabled"}`: "0x780", `source_warns{source="usgs", country=""}`: "1x780", `source_unchanged_seconds{source="usgs"}`: "0+60x300 0+60x480",
		`notices_attempts_total{channel="email", result="sent"}`: "1x780", `notices_attempts_total{channel="email", result="failed"}`: "0x300 1x480", `draft_oldest_seconds`: "0x780"}},
	"--sources=none": {[]string{"a"}, map[string]string{
		`view_change`: "7x780", `disk_free_bytes`: "40e9x780", `lease_held{lease="poll"}`: "0x780", `source_state{source="nws", state="disabled"}`: "1x780",
		`source_state{source="nws", state="ok"}`: "0x780", `draft_oldest_seconds`: "0x780"}},
}

// No alert fires where all is well.
func TestNoAlertFiresOnAHealthyService(t *testing.T) {
	test.Seldom(t)
	if _, err := exec.LookPath("promtool"); err != nil {
		t.Skip("promtool is not installed: it is in Debian's package prometheus")
	}
	path := filepath.Join(nginx.Root(t), "deploy", "prometheus", "rules.yml")
	alerts := regexp.MustCompile(`- alert: (\w+)`).FindAllStringSubmatch(read(t, "deploy/prometheus/rules.yml"), -1)
	for name, service := range healthy {
		t.Run(name, func(t *testing.T) {
			var b strings.Builder
			fmt.Fprintf(&b, "rule_files: [%q]\nevaluation_interval: 1m\ntests:\n  - interval: 1m\n    input_series:\n", path)
			for i, node := range service.nodes {
				add := func(metric, values string) {
					metric, labels, _ := strings.Cut(strings.TrimSuffix(metric, "}"), "{")
					if metric == "hazardd_lease_held" && i > 0 { // one node polls
						values = "0x780"
					}
					fmt.Fprintf(&b, "      - {series: '%s{instance=%q, %s}', values: '%s'}\n", metric, node, labels, values)
				}
				add(`up{job="hazardd"}`, "1x780")
				add("hazardd_ready", "1x780")
				for _, metric := range []string{"view_age_seconds", "store_away", "store_full", "due_seconds", "damaged_hazards", "damaged_held_reports", "damaged_records", "missing_keys", "clock_step_seconds"} {
					add("hazardd_"+metric, "0x780")
				}
				for metric, values := range service.series {
					add("hazardd_"+metric, values)
				}
			}
			b.WriteString("    alert_rule_test:\n")
			for minute := 3; minute < 780; minute += 37 {
				for _, a := range alerts {
					fmt.Fprintf(&b, "      - {eval_time: %dm, alertname: %s, exp_alerts: []}\n", minute, a[1])
				}
			}
			file := filepath.Join(t.TempDir(), "healthy.yml")
			if err := os.WriteFile(file, []byte(b.String()), 0o600); err != nil {
				t.Fatal(err)
			}
			if out, err := exec.Command("promtool", "test", "rules", file).CombinedOutput(); err != nil {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
}

func TestTheDashboardIsWhole(t *testing.T) {
	var d struct {
		Title  string
		Panels []struct {
			Title   string
			Type    string
			GridPos struct{ W, H int }
			Targets []struct{ Expr string }
		}
	}
	if err := json.Unmarshal([]byte(read(t, "deploy/prometheus/dashboard.json")), &d); err != nil {
		t.Fatal(err)
	}
	if d.Title == "" || len(d.Panels) < 8 {
		t.Errorf("%q has %d panels", d.Title, len(d.Panels))
	}
	for _, p := range d.Panels {
		if p.Title == "" || p.Type == "" || p.GridPos.W == 0 || p.GridPos.H == 0 || len(p.Targets) == 0 || p.Targets[0].Expr == "" {
			t.Errorf("the panel %q has no data", p.Title)
		}
	}
}
