//go:build unix

package kill

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/hazardd/hazardd/internal/test"
)

// disk is a separate file system whose power can be cut.
type disk struct {
	t      testing.TB
	device string
	mount  string
}

// The ioctl of ext4 that shuts down a file system at once, like a power cut. Its flag prevents even
// the journal from being written (Linux: fs/ext4/ext4.h, EXT4_IOC_SHUTDOWN,
// EXT4_GOING_FLAGS_NOLOGFLUSH).
const (
	shutdownIoctl = 0x8004587D
	noLogFlush    = 2
)

// newDisk makes a file system in a file, or skips the test if that is not possible.
func newDisk(t testing.TB) *disk {
	t.Helper()
	if runtime.GOOS != "linux" || os.Geteuid() != 0 {
		t.Skip("cutting the power of a file system requires Linux and root")
	}
	for _, tool := range []string{"mkfs.ext4", "losetup", "mount", "umount"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("cutting the power of a file system requires %s (Debian: e2fsprogs, mount)", tool)
		}
	}
	tidy(t)
	dir := t.TempDir()
	image := filepath.Join(dir, tagged()+".img")
	f, err := os.Create(image)
	if err := errors.Join(err, f.Truncate(256<<20), f.Close()); err != nil {
		t.Fatal(err)
	}
	run(t, "mkfs.ext4", "-q", "-F", image)
	out, err := exec.Command("losetup", "--find", "--show", image).CombinedOutput()
	if err != nil {
		t.Skipf("no loop device is available: %v %s", err, out)
	}
	d := &disk{t, strings.TrimSpace(string(out)), filepath.Join(dir, "mnt")}
	t.Cleanup(func() {
		unmount(t, d.mount)
		run(t, "losetup", "--detach", d.device)
	})
	if err := os.Mkdir(d.mount, 0o755); err != nil {
		t.Fatal(err)
	}
	d.plugIn()
	return d
}

func run(t testing.TB, name string, args ...string) {
	t.Helper()
	if out, err := exec.Command(name, args...).CombinedOutput(); err != nil {
		t.Fatalf("%s %s: %v %s", name, strings.Join(args, " "), err, out)
	}
}

func (d *disk) plugIn() {
	d.t.Helper()
	run(d.t, "mount", d.device, d.mount)
}

// cut cuts the power: data that is not on the disk yet is lost.
func (d *disk) cut() {
	d.t.Helper()
	f, err := os.Open(d.mount)
	if err != nil {
		d.t.Fatal(err)
	}
	defer f.Close()
	if err := unix.IoctlSetPointerInt(int(f.Fd()), shutdownIoctl, noLogFlush); err != nil {
		d.t.Skipf("this kernel cannot shut down a file system: %v", err)
	}
}

// unplug unmounts the dead file system.
func (d *disk) unplug() {
	d.t.Helper()
	run(d.t, "umount", d.mount)
}

// powerCuts writes and cuts the power, n times. It returns the ledger and the acknowledged writes
// that were lost. If lossy is set, it stops at the first loss.
func powerCuts(t *testing.T, n int, database string, lossy bool) (l *ledger, lost []string) {
	d := newDisk(t)
	data := filepath.Join(d.mount, "data")
	start(t, data, database).kill()
	token := writer(t, data)
	run(t, "sync") // data that the test itself has written must not be lost
	seed := rand.Uint64()
	rnd := rand.New(rand.NewPCG(seed, 0))
	t.Logf("seed %d", seed)
	l = newLedger()
	l.dying, l.lossy = true, lossy
	for round := range n {
		s := start(t, data, database)
		stop := l.busy(t, s.url, token, seed+uint64(round)*writers)
		time.Sleep(time.Duration(100+rnd.IntN(900)) * time.Millisecond) // the moment of the cut
		d.cut()
		s.kill()
		stop()
		d.unplug()
		d.plugIn()

		s = start(t, data, database)
		c := newClient(s.url, token)
		for _, what := range l.check(t, c, false) {
			lost = append(lost, fmt.Sprintf("cut %d: %s", round, what))
		}
		if !lossy && round == n-1 {
			lost = append(lost, l.check(t, c, true)...)
			t.Logf("%d changes, each number once", checkLog(t, c))
		}
		s.kill()
		if lossy && len(lost) > 0 {
			break // a loss was found
		}
	}
	return l, lost
}

func TestPowerCutLosesNothing(t *testing.T) {
	test.Slow(t)
	n := rounds(t, "HAZARDD_POWER_CUTS", 20)
	l, lost := powerCuts(t, n, "", false)
	for _, what := range lost {
		t.Error(what)
	}
	t.Logf("%d cuts; %d writes and %d files acknowledged, %d lost", n, l.acked, l.files, len(lost))
}

// Without a loss here, the test above could not find one either.
func TestRigSeesTheLossWhenWritesAreNotSynchronous(t *testing.T) {
	test.Slow(t)
	l, lost := powerCuts(t, 10, "sqlite:?synchronous=off", true)
	if len(lost) == 0 {
		t.Errorf("%d writes acknowledged, none lost: the rig cannot detect a loss", l.acked)
	}
	t.Logf("%d writes acknowledged, %d lost", l.acked, len(lost))
}
