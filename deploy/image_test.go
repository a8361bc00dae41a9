//go:build linux

package deploy_test

import (
	"errors"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/hazardd/hazardd/client"
	"github.com/hazardd/hazardd/internal/test"
)

// The image contains only the program, certificates and an empty folder: no shell, no /tmp, no list
// of users. The program must run with that.
func TestTheProgramNeedsNothingThatTheImageHasNot(t *testing.T) {
	test.Seldom(t)
	if os.Getuid() != 0 {
		t.Skip("needs root, to change the root folder")
	}
	root := t.TempDir()
	for dir := root; dir != "/"; dir = filepath.Dir(dir) { // another user must have access to it
		if err := os.Chmod(dir, 0o755); err != nil && dir == root {
			t.Fatal(err)
		}
		if dir == os.TempDir() {
			break
		}
	}
	text, err := os.ReadFile(program)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(root, "hazardd"), text, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(os.MkdirAll(filepath.Join(root, "var/lib"), 0o755), os.Mkdir(filepath.Join(root, "var/lib/hazardd"), 0o700)); err != nil {
		t.Fatal(err)
	}
	const user = 65532
	if err := os.Chown(filepath.Join(root, "var/lib/hazardd"), user, user); err != nil {
		t.Fatal(err)
	}
	var environment []string
	for _, line := range regexp.MustCompile(`(?m)^ENV (.*)$`).FindAllStringSubmatch(read(t, "deploy/Dockerfile"), -1) {
		environment = append(environment, strings.Fields(line[1])...)
	}
	inside := func(cmd *exec.Cmd) {
		cmd.Path, cmd.Dir = "/hazardd", "/"
		cmd.Env = environment
		cmd.SysProcAttr = &syscall.SysProcAttr{Chroot: root, Credential: &syscall.Credential{Uid: user, Gid: user}, Pdeathsig: syscall.SIGKILL}
	}
	n, wait := beginAs(t, inside)
	wait()
	run := func(stdin string, args ...string) string {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), "/hazardd", args...)
		inside(cmd)
		cmd.Stdin = strings.NewReader(stdin)
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("hazardd %s: %v\n%s", strings.Join(args, " "), err, out)
		}
		return strings.TrimSpace(string(out))
	}
	run("", "ready", "--server", "http://"+n.addr)
	run(password, "user", "add", "writer", "--role", "admin", "--password-stdin")
	token := run("", "token", "writer")
	await(t, "the user is known", func() bool {
		resp, _ := get(t, http.DefaultClient, "http://"+n.addr+"/hazards/types", "Authorization", "Bearer "+token)
		return resp.StatusCode == http.StatusOK
	})
	cl, err := client.New("http://"+n.addr, client.Options{Token: token})
	if err != nil {
		t.Fatal(err)
	}
	hazard, err := cl.Editor().CreateHazard(t.Context(), flood("Flood - Old Harbour"))
	if err != nil {
		t.Fatal(err)
	}
	content := strings.Repeat("a photograph ", 1<<18) // more than is kept in memory
	if _, err := cl.Editor().CreateFile(t.Context(), hazard.UUID, client.NewProduct{Title: "The quay"}, "quay.jpg", strings.NewReader(content)); err != nil {
		t.Error(err)
	}
	if resp, body := get(t, http.DefaultClient, "http://"+n.addr+"/symbols/FLOOD/EVENT/WARNING.png"); resp.StatusCode != http.StatusOK || len(body) == 0 {
		t.Errorf("a symbol: %s", resp.Status)
	}
	for _, form := range []string{"gpkg", "parquet"} { // they are made in temporary files
		if resp, body := get(t, http.DefaultClient, "http://"+n.addr+"/hazards?f="+form, "Authorization", "Bearer "+token); resp.StatusCode != http.StatusOK || len(body) == 0 {
			t.Errorf("%s: %s", form, resp.Status)
		}
	}
	n.end(syscall.SIGTERM)
	if code := n.cmd.ProcessState.ExitCode(); code != 0 {
		t.Errorf("it ended with status %d", code)
	}
}
