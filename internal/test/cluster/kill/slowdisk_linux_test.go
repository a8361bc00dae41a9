package kill

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/hazardd/hazardd/internal/test"
	"github.com/hazardd/hazardd/internal/test/postgres"
	"github.com/hazardd/hazardd/internal/test/program"
)

// alertFeed serves a feed of CAP alerts, each of them new.
func alertFeed(t *testing.T, name string, alerts int) string {
	t.Helper()
	var base string
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		now := time.Now().UTC()
		if r.URL.Path == "/feed" {
			fmt.Fprint(w, `<rss version="2.0"><channel><title>alerts</title>`)
			for i := range alerts {
				id := fmt.Sprintf("%s-%d-%d", name, now.Unix()/30, i)
				fmt.Fprintf(w, `<item><title>%s</title><guid>%s</guid><link>%s/%s</link><pubDate>%s</pubDate></item>`, id, id, base, id, now.Format(time.RFC1123Z))
			}
			fmt.Fprint(w, `</channel></rss>`)
			return
		}
		id := r.URL.Path[1:]
		number, _ := strconv.Atoi(id[strings.LastIndex(id, "-")+1:])
		fmt.Fprintf(w, `<alert xmlns="urn:oasis:names:tc:emergency:cap:1.2"><identifier>%s</identifier><sender>%s@example.org</sender><sent>%s</sent><status>Actual</status><msgType>Alert</msgType><scope>Public</scope>
<info><language>en</language><category>Met</category><event>Flood %s</event><urgency>Immediate</urgency><severity>Severe</severity><certainty>Observed</certainty><expires>%s</expires>
<headline>Flood</headline><area><areaDesc>%s</areaDesc><polygon>%d,10 %d,11 %d.5,11 %d,10</polygon></area></info></alert>`,
			id, name, now.Format("2006-01-02T15:04:05-00:00"), id, now.Add(time.Hour).Format("2006-01-02T15:04:05-00:00"), id, number, number, number, number)
	}))
	base = s.URL
	t.Cleanup(s.Close)
	return s.URL + "/feed"
}

// syncs returns when the syncs of the write-ahead log ended, from what strace wrote: of the files of a log whose names
// have that in them, the one of SQLite's writer is that which is synced most; PostgreSQL's are one log.
func syncs(t *testing.T, trace, log string) (ends []time.Time) {
	t.Helper()
	text, err := os.ReadFile(trace)
	if err != nil {
		t.Fatal(err)
	}
	begun, ended := map[string]string{}, map[string][]time.Time{}
	call := regexp.MustCompile(`^(\d+) +([0-9.]+) (?:f(?:data)?sync\((\d+<[^>]*>)|<\.\.\. f(?:data)?sync resumed)(.*?)(?:<([0-9.]+)>)?$`)
	for line := range strings.Lines(string(text)) {
		m := call.FindStringSubmatch(strings.TrimSpace(line))
		if m == nil {
			continue
		}
		file := m[3]
		if strings.Contains(m[4], "unfinished") {
			begun[m[1]] = file
			continue
		}
		at, _ := strconv.ParseFloat(m[2], 64)
		if took, _ := strconv.ParseFloat(m[5], 64); file != "" {
			at += took
		} else {
			file = begun[m[1]]
		}
		if strings.Contains(file, log) {
			if log == postgresLog {
				file = log
			}
			if ended[file] = append(ended[file], time.UnixMicro(int64(at*1e6))); len(ended[file]) > len(ends) {
				ends = ended[file]
			}
		}
	}
	return ends
}

// The write-ahead logs of the two databases.
const (
	sqliteLog   = "hazardd.db-wal>"
	postgresLog = "/pg_wal/"
)

// slowly returns the arguments of strace with which each sync of a program takes so long at least.
func slowly(sync time.Duration, trace string) []string {
	return []string{"-f", "--seccomp-bpf", "-qq", "-y", "-ttt", "-T", "-o", trace, "-e", "trace=fsync,fdatasync", "-e", "signal=none",
		"-e", fmt.Sprintf("inject=fsync,fdatasync:delay_enter=%d", sync.Microseconds())}
}

// slowPostgres starts a PostgreSQL on such a disk, with the settings that docs/install.md recommends, after fill has filled its database on a fast one. It returns what ends
// it.
func slowPostgres(t *testing.T, sync time.Duration, trace string, fill func(url string)) (end func()) {
	t.Helper()
	bin := postgres.Programs(t)
	dir, err := postgres.TempDir()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	data, slow := filepath.Join(dir, "data"), filepath.Join(dir, "bin")
	own := filepath.Join(dir, "trace") // a file of the server's user
	script := fmt.Sprintf("#!/bin/sh\nexec strace -D '%s' %s/postgres \"$@\"\n", strings.Join(slowly(sync, own), "' '"), bin)
	if err := errors.Join(os.Mkdir(slow, 0o755), os.WriteFile(filepath.Join(slow, "postgres"), []byte(script), 0o755), postgres.Init(bin, data, "wal_writer_delay = 10s", "commit_delay = 100000", "commit_siblings = 1"), os.Symlink(own, trace)); err != nil {
		t.Fatal(err)
	}
	s, err := postgres.Start(bin, data, 0)
	if err != nil {
		t.Fatal(err)
	}
	fill(s.URL("postgres"))
	// As in a database that has run for a while, there are files of the log to use again.
	for _, do := range append(slices.Repeat([]string{`SELECT pg_logical_emit_message(false, '', ''), pg_switch_wal()`}, 6), `CHECKPOINT`) {
		if err := s.Exec(do); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Stop(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	if s, err = postgres.Start(slow, data, s.Port); err != nil {
		t.Skipf("strace does not run it: %v", err)
	}
	end = func() { _ = s.Stop(syscall.SIGQUIT) }
	t.Cleanup(end)
	return end
}

// On a disk that commits slowly, while 40 feeds bring new alerts, an editor's WARNING is never refused,
// and stored within three syncs of the disk (p99): that under way, its own, and one by which the log begins
// again. On PostgreSQL the WAL writer and autovacuum sync the log too: within three are nine of ten, and within four all. The
// feeds get on.
func TestAnEditorComesFirstOnASlowDisk(t *testing.T) {
	test.Slow(t)
	if _, err := exec.LookPath("strace"); err != nil {
		t.Skip("a slow disk needs strace (Debian: strace)")
	}
	for _, on := range []struct {
		log    string
		commit time.Duration
	}{{sqliteLog, 300 * time.Millisecond}, {sqliteLog, 2 * time.Second}, {postgresLog, 300 * time.Millisecond}, {postgresLog, 2 * time.Second}} {
		commit := on.commit
		t.Run(map[string]string{sqliteLog: "SQLite", postgresLog: "PostgreSQL"}[on.log]+" "+commit.String(), func(t *testing.T) {
			data := filepath.Join(t.TempDir(), "data")
			trace := filepath.Join(t.TempDir(), "trace")
			path, first, stop, token := "strace", append(slowly(commit, trace), binary), func() {}, ""
			fill := func(database string) {
				start(t, data, database).kill()
				token = writer(t, data)
			}
			if on.log == sqliteLog {
				fill("")
			} else {
				path, first = binary, nil
				stop = slowPostgres(t, commit, trace, func(url string) {
					t.Setenv("HAZARDD_DATABASE", url)
					fill(url)
				})
			}
			arguments := append(first, "serve", "--data", data, "--listen", "127.0.0.1:0", "--private-sources", "--log-level", "warn")
			var names []string
			for i := range 40 {
				name := fmt.Sprintf("f%02d", i)
				arguments = append(arguments, "--cap", fmt.Sprintf("name=%s url=%s every=1m", name, alertFeed(t, name, 20)))
				names = append(names, name)
			}
			arguments = append(arguments, "--sources", strings.Join(names, ","))
			var logs bytes.Buffer
			p, err := program.Start(t.Context(), path, nil, &logs, arguments...)
			if err != nil {
				t.Skipf("strace does not run it: %v\n%s", err, &logs)
			}
			end := func() {
				children, _ := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", p.Cmd.Process.Pid, p.Cmd.Process.Pid))
				for _, child := range strings.Fields(string(children)) {
					if pid, err := strconv.Atoi(child); err == nil {
						_ = syscall.Kill(pid, syscall.SIGKILL)
					}
				}
				if on.log == postgresLog {
					_ = p.Cmd.Process.Kill()
				}
				<-p.Gone
				stop()
			}
			defer end()
			c := newClient(p.URL, token)
			time.Sleep(10 * time.Second) // the feeds have begun
			var began, ended []time.Time
			refused := 0
			for range min(int(2*time.Minute/(commit+time.Second)), 110) {
				body := fmt.Sprintf(`{"uuid":%q,"type_ID":"FLOOD","severity_ID":"WARNING","hazard_Name":"Dam","latitude":47,"longitude":12}`, uuid.NewString())
				began = append(began, time.Now())
				status, answer, _, err := c.do(t.Context(), http.MethodPost, "/hazards", "application/json", []byte(body))
				if err != nil || status != http.StatusCreated {
					refused++
					t.Logf("refused: %d %s %v", status, answer, err)
				}
				ended = append(ended, time.Now())
				time.Sleep(time.Second)
			}
			status, list, _, err := c.do(t.Context(), http.MethodGet, "/hazards/active", "", nil)
			if err != nil || status != http.StatusOK {
				t.Errorf("%d %v", status, err)
			}
			end()
			all := syncs(t, trace, on.log)
			var waited []int // for syncs
			var took []float64
			for i, from := range began {
				n := 0
				for _, at := range all {
					if at.After(from) && at.Before(ended[i]) {
						n++
					}
				}
				waited, took = append(waited, n), append(took, ended[i].Sub(from).Seconds()/commit.Seconds())
			}
			slices.Sort(waited)
			slices.Sort(took)
			p99 := min(len(took)-1, len(took)*99/100)
			ofFeeds := bytes.Count(list, []byte(`"hazard_ID"`)) - len(took) + refused
			t.Logf("%v a commit, 40 feeds, %d hazards of them so far: %d WARNINGs of an editor, %d refused, p90 %d, p99 %d syncs; p50 %.1f, p99 %.1f times that of a commit",
				commit, ofFeeds, len(took), refused, waited[len(waited)*90/100], waited[p99], took[len(took)/2], took[p99])
			late := waited[p99] > 3
			if on.log == postgresLog {
				late = waited[len(waited)*90/100] > 3 || waited[p99] > 4
			}
			if refused > 0 || late || waited[0] < 1 || ofFeeds == 0 {
				t.Errorf("expected none refused, three syncs at most, and hazards of feeds: %d\n%s", waited, &logs)
			}
		})
	}
}
