//go:build unix

package kill

import (
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// tag is the prefix of the name of every image and mount of the rig. The id of the process that
// made it follows, so that leftovers of a killed test can be distinguished from what another test
// is using.
const tag = "hazardd-rig-"

func tagged() string { return tag + strconv.Itoa(os.Getpid()) }

// abandoned reports whether a line of a listing names something of the rig whose process has ended.
func abandoned(words string) bool {
	_, rest, ok := strings.Cut(words, tag)
	if !ok {
		return false
	}
	pid, err := strconv.Atoi(rest[:len(rest)-len(strings.TrimLeft(rest, "0123456789"))])
	return err == nil && unix.Kill(pid, 0) == unix.ESRCH
}

// tidy removes mounts and loop devices that killed tests left behind. Nothing else removes them,
// and there are few devices.
func tidy(t testing.TB) {
	t.Helper()
	for _, m := range mounts(t) {
		if abandoned(m.device) || abandoned(backing(m.device)) {
			t.Logf("a killed test left %s on %s", m.device, m.folder)
			unmount(t, m.folder)
		}
	}
	out, err := exec.Command("losetup", "--list", "--noheadings", "--output", "NAME").Output()
	if err != nil {
		return // no loop devices here; tests that need one report it
	}
	for _, device := range strings.Fields(string(out)) {
		if abandoned(backing(device)) {
			t.Logf("a killed test left %s", device)
			run(t, "losetup", "--detach", device)
		}
	}
}

// mount is a mounted file system.
type mount struct{ device, folder string }

func mounts(t testing.TB) (all []mount) {
	t.Helper()
	text, err := os.ReadFile("/proc/mounts")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if words := strings.Fields(line); len(words) > 1 {
			all = append(all, mount{words[0], words[1]})
		}
	}
	return all
}

// backing returns the file behind a loop device, or "" for anything else.
func backing(device string) string {
	name, ok := strings.CutPrefix(device, "/dev/")
	if !ok {
		return ""
	}
	file, err := os.ReadFile(fmt.Sprintf("/sys/block/%s/loop/backing_file", name))
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(file))
}

// unmount unmounts a file system, even one that is still in use, because the devices must not
// outlive the test.
func unmount(t testing.TB, folder string) {
	t.Helper()
	var out []byte
	var err error
	for range 20 { // a killed process closes its files a moment later
		if out, err = exec.Command("umount", folder).CombinedOutput(); err == nil || strings.Contains(string(out), "not mounted") {
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
	t.Logf("umount %s: %v %s; detached instead", folder, err, out)
	run(t, "umount", "--lazy", folder)
}
