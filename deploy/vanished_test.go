package deploy_test

import (
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/hazardd/hazardd/internal/test"
	"github.com/hazardd/hazardd/internal/test/nginx"
)

// The test uses two network namespaces as machines, one for the proxy and one for the readers. The
// readers' machine is disconnected, so that no packet says that they are gone. The proxy's kernel
// must notice, and the readers' address must be free again.
func TestVanishedReadersAreGoneBehindNginxWithin45Seconds(t *testing.T) {
	test.Slow(t)
	if os.Getuid() != 0 {
		t.Skip("creates network namespaces, which requires root")
	}
	for _, needed := range []string{"ip", "curl"} {
		if _, err := exec.LookPath(needed); err != nil {
			t.Skipf("needs %s (Debian's packages iproute2 and curl)", needed)
		}
	}
	nginx.Program(t)
	t.Parallel()
	id := os.Getpid() % 100_000
	proxy, readers := fmt.Sprintf("hazardd-p%d", id), fmt.Sprintf("hazardd-r%d", id)
	// From the block for network tests, RFC 2544, which nothing else uses.
	const nodeIP, proxyIP, outerIP, readerIP = "198.19.77.1", "198.19.77.2", "198.19.78.1", "198.19.78.2"
	for i, namespace := range []string{proxy, readers} {
		if out, err := exec.Command("ip", "netns", "add", namespace).CombinedOutput(); err != nil {
			if i == 0 {
				t.Skipf("this machine cannot create network namespaces: %v, %s", err, out)
			}
			t.Fatal(string(out))
		}
		t.Cleanup(func() { command(t, "ip", "netns", "del", namespace) })
	}
	inner, outer := fmt.Sprintf("hz%dn", id), fmt.Sprintf("hz%dr", id)
	command(t, "ip", "link", "add", inner, "type", "veth", "peer", "name", "node", "netns", proxy)
	command(t, "ip", "-n", readers, "link", "add", outer, "type", "veth", "peer", "name", "readers", "netns", proxy)
	command(t, "ip", "address", "add", nodeIP+"/30", "dev", inner)
	command(t, "ip", "-n", proxy, "address", "add", proxyIP+"/30", "dev", "node")
	command(t, "ip", "-n", proxy, "address", "add", outerIP+"/30", "dev", "readers")
	command(t, "ip", "-n", readers, "address", "add", readerIP+"/30", "dev", outer)
	command(t, "ip", "link", "set", inner, "up")
	for _, device := range []string{"lo", "node", "readers"} {
		command(t, "ip", "-n", proxy, "link", "set", device, "up")
	}
	command(t, "ip", "-n", readers, "link", "set", outer, "up")
	command(t, "ip", "-n", readers, "route", "add", "default", "via", outerIP)
	// Readers are behind routers, which continue to accept packets for them.
	address := strings.TrimSpace(command(t, "ip", "netns", "exec", readers, "cat", "/sys/class/net/"+outer+"/address"))
	command(t, "ip", "-n", proxy, "neighbor", "replace", readerIP, "lladdr", address, "dev", "readers", "nud", "permanent")
	// As in deploy/nginx.conf.
	command(t, "ip", "netns", "exec", proxy, "sh", "-c", "echo 5 > /proc/sys/net/ipv4/tcp_retries2")

	data := t.TempDir()
	n, wait := begin(t, "--data", data, "--listen", nodeIP+":0", "--trusted-proxies", proxyIP)
	wait()
	if out, errs, status := hazardd(t, password, nil, "user", "add", "writer", "--role", "admin", "--password-stdin", "--data", data); status != 0 {
		t.Fatal(out, errs)
	}
	token, errs, status := hazardd(t, "", nil, "token", "writer", "--data", data)
	if status != 0 {
		t.Fatal(errs)
	}
	front := nginx.StartIn(t, proxy, proxyIP, n.addr)

	// The node knows the user within a second.
	await(t, "the user is known", func() bool {
		resp, _ := get(t, http.DefaultClient, "http://"+n.addr+"/metrics", "Authorization", "Bearer "+strings.TrimSpace(token))
		return resp.StatusCode == http.StatusOK
	})
	const each = 3
	for _, version := range []string{"--http1.1", "--http2"} {
		for range each {
			reader := exec.CommandContext(t.Context(), "ip", "netns", "exec", readers, "curl", version, "-skN", "-o", "/dev/null",
				"-H", "Authorization: Bearer "+strings.TrimSpace(token), front.URL+"/events")
			if err := reader.Start(); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = reader.Process.Kill(); _ = reader.Wait() })
		}
	}
	open := func() (count int) {
		_, body := get(t, http.DefaultClient, "http://"+n.addr+"/metrics", "Authorization", "Bearer "+strings.TrimSpace(token))
		for line := range strings.Lines(string(body)) {
			if value, ok := strings.CutPrefix(line, "hazardd_streams "); ok {
				if _, err := fmt.Sscan(value, &count); err != nil {
					t.Fatal(err)
				}
				return count
			}
		}
		t.Fatalf("no hazardd_streams in\n%.2000s", body)
		return 0
	}
	await(t, "all streams are open", func() bool { return open() == 2*each })
	command(t, "ip", "-n", readers, "link", "set", outer, "down")
	vanished := time.Now()
	for open() > 0 {
		if time.Since(vanished) > 45*time.Second {
			t.Fatalf("%d of %d streams are still open 45 s after their readers vanished", open(), 2*each)
		}
		time.Sleep(100 * time.Millisecond)
	}
	t.Logf("gone after %s", time.Since(vanished).Round(100*time.Millisecond))
}

// command runs a command that must succeed, and returns its output.
func command(t *testing.T, name string, args ...string) string {
	t.Helper()
	out, err := exec.Command(name, args...).CombinedOutput()
	if err != nil {
		t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, out)
	}
	return string(out)
}
