package kill

import (
	"bytes"
	"encoding/json"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/hazardd/hazardd/internal/test"
	"github.com/hazardd/hazardd/internal/test/program"
)

// A start without network, with all sources that are read by default, is a handful of lines, all in the
// format that was asked for.
func TestAStartWithoutNetworkIsAHandfulOfLines(t *testing.T) {
	test.Slow(t)
	var logs bytes.Buffer // of one writer, and read after its end
	p, err := program.Start(t.Context(), "unshare", nil, &logs, "--net", "sh", "-c", `ip link set lo up; exec "$@"`, "sh",
		binary, "serve", "--data", filepath.Join(t.TempDir(), "data"), "--listen", "127.0.0.1:0", "--log-format", "json", "--log-level", "warn")
	if err != nil {
		t.Skipf("needs the right to be without network: %v\n%s", err, &logs)
	}
	time.Sleep(time.Minute) // what is measured
	if err := p.End(syscall.SIGTERM); err != nil {
		t.Error(err)
	}
	lines, of := 0, map[string]int{}
	for line := range bytes.Lines(logs.Bytes()) {
		var l struct{ Msg string }
		if err := json.Unmarshal(line, &l); err != nil {
			t.Errorf("no JSON: %s", line)
		}
		lines++
		of[l.Msg]++
	}
	t.Logf("%d lines of warnings in the first minute: %v", lines, of)
	if lines > 20 {
		t.Error("expected 20 at most")
	}
}
