package backup_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/store"
	"github.com/hazardd/hazardd/internal/store/backup"
	"github.com/hazardd/hazardd/internal/test"
)

// victim is the variable that makes this test binary a process that restores or migrates, and kills
// itself on the way. It says what to do, in which folders and databases, and after how many rows:
// -1 means after all rows, -2 means just before the success is reported.
const victim = "HAZARDD_ARCHIVE_VICTIM"

func dying() int {
	args := strings.Split(os.Getenv(victim), "\n")
	command, from, to := args[0], place{args[1], args[2]}, place{args[3], args[4]}
	at, err := strconv.ParseInt(args[5], 10, 64)
	if err == nil {
		err = transfer(context.Background(), command, from, to, func(what string, done, _ int64) {
			if what == "rows" && done == at || what == "searches" && at == -1 || what == "finish" && at == -2 {
				if me, err := os.FindProcess(os.Getpid()); err == nil {
					_ = me.Kill()
				}
				select {} // until the process is killed
			}
		})
	}
	fmt.Fprintln(os.Stderr, err)
	return 1
}

// transfer restores the archive beside from, or migrates from, to a place.
func transfer(ctx context.Context, command string, from, to place, tell backup.Progress) (err error) {
	if command == "restore" {
		f, err := os.Open(from.dir + ".backup")
		if err != nil {
			return err
		}
		defer f.Close()
		_, _, err = backup.Restore(ctx, f, to.into(), made, tell)
		return err
	}
	s, err := store.Open(ctx, from.dir, from.database)
	if err != nil {
		return err
	}
	_, err = backup.Migrate(ctx, s, to.into(), true, made, tell)
	return errors.Join(err, s.Close())
}

// A killed restore or migration continues where it was, with the same result as without the kill.
// Until it has finished, the store cannot be opened.
func TestWhatIsKilledGoesOn(t *testing.T) {
	test.Slow(t)
	test.NoRace(t)
	first := kinds["SQLite"](t)
	s := first.open(t)
	r := rand.New(rand.NewPCG(5, 6))
	const hazards = 800 // long ones, so that the largest tables need several transactions
	_, err := s.Write(t.Context(), hazard.At(made), store.Origin{User: "ada"}, func(tx *store.Tx) error {
		for i := range hazards {
			h := &hazard.Hazard{UUID: uuid.New(), Name: fmt.Sprint("Flood ", i), Description: fmt.Sprintf("%x", make([]byte, 2000+r.IntN(5000))), Type: hazard.Flood,
				Severity: hazard.Watch, Category: hazard.Event, Status: hazard.Active, Longitude: r.Float64(), Latitude: r.Float64()}
			if err := tx.SaveHazard(h, nil); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	text, _, totals := back(t, s)
	if err := errors.Join(s.Close(), os.WriteFile(first.dir+".backup", text, 0o600)); err != nil {
		t.Fatal(err)
	}
	for _, command := range []string{"restore", "migrate"} {
		for kind, place := range kinds {
			t.Run(command+" to "+kind, func(t *testing.T) {
				to := place(t)
				from := first
				if command == "migrate" { // a store can be moved to only one place
					from.dir = filepath.Join(t.TempDir(), "data")
					if err := os.CopyFS(from.dir, os.DirFS(first.dir)); err != nil {
						t.Fatal(err)
					}
					if err := os.Chmod(from.dir, 0o700); err != nil {
						t.Fatal(err)
					}
				}
				var points []int64
				for i := range int64(4) {
					points = append(points, i*totals.Rows()/4+1+r.Int64N(totals.Rows()/4))
				}
				for _, at := range append(points, -1, -2) {
					kill(t, command, from, to, at)
					unopened(t, to, command)
				}
				if err := transfer(t.Context(), command, from, to, nil); err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(sums(t, from, replaced...), sums(t, to, replaced...)); diff != "" {
					t.Error("tables differ:", diff)
				}
				found, err := to.open(t).Log.Last(t.Context())
				if want := map[string]int64{"restore": hazards + 1_000_000, "migrate": hazards}[command]; err != nil || found != want {
					t.Errorf("change %d, want %d, %v", found, want, err)
				}
			})
		}
	}
}

// kill starts another process that dies after at rows.
func kill(t testing.TB, command string, from, to place, at int64) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), self)
	cmd.Env = append(os.Environ(), victim+"="+strings.Join([]string{command, from.dir, from.database, to.dir, to.database, fmt.Sprint(at)}, "\n"))
	var out bytes.Buffer
	cmd.Stderr = &out
	err = cmd.Run()
	died, ok := errors.AsType[*exec.ExitError](err)
	if !ok || died.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
		t.Fatalf("%s until %d: %v %s", command, at, err, out.Bytes())
	}
}

// A backup that cannot be written completely leaves an error, and no file that looks like an
// archive.
func TestABackupThatCannotBeWrittenFails(t *testing.T) {
	s := kinds["SQLite"](t).filled(t).open(t)
	text, _, _ := back(t, s)
	for _, room := range []int{0, 10, len(text) / 2, len(text) - 200} {
		if _, _, err := backup.Write(t.Context(), s, &full{room}, "v1", made, nil); !errors.Is(err, syscall.ENOSPC) {
			t.Errorf("with room for %d bytes: %v", room, err)
		}
	}
}

// full is a disk with room for that many bytes.
type full struct{ room int }

func (f *full) Write(p []byte) (int, error) {
	n := min(len(p), f.room)
	f.room -= n
	if n < len(p) {
		return n, syscall.ENOSPC
	}
	return n, nil
}
