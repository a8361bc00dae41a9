// Package nginx gives tests a real nginx (Debian's package) with the recommended configuration,
// deploy/nginx.conf, in front of their nodes.
//
// It replaces only addresses, ports, certificates and folders in that file. Each answer names the
// node that gave it in the header ServedBy.
package nginx

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/hazardd/hazardd/internal/test"
	"github.com/hazardd/hazardd/internal/test/child"
)

// Program is nginx. It skips the test where there is none, by name; the variable HAZARDD_POSTGRES, which says that the machine has what a cluster
// takes, makes that a failure.
func Program(t testing.TB) string {
	t.Helper()
	if testing.Short() {
		t.Skip("runs nginx, which short tests do not")
	}
	if path, err := exec.LookPath("nginx"); err == nil {
		return path
	}
	const debian = "/usr/sbin/nginx" // in root's PATH alone
	if _, err := os.Stat(debian); err == nil {
		return debian
	}
	if os.Getenv("HAZARDD_POSTGRES") != "" {
		t.Fatal("HAZARDD_POSTGRES is set, so that a cluster can run, but there is no nginx")
	}
	t.Skip("needs nginx (Debian's package nginx)")
	return ""
}

// ServedBy is the field of an answer that lists the addresses of the nodes that were asked, the one that answered last.
const ServedBy = "X-Served-By"

// Server is a running nginx.
type Server struct {
	URL   string // https, without a slash at its end
	Plain string // http: it leads to where the service is in public
	Log   *Log   // of requests, and of errors
	roots *x509.CertPool
}

// Log is what nginx has logged. It is safe for concurrent use.
type Log struct {
	mu         sync.Mutex
	text       bytes.Buffer
	faultsOnly bool
}

// FaultsOnly keeps from now on only what is not of a request that was answered well.
func (l *Log) FaultsOnly() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.faultsOnly = true
}

func (l *Log) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.faultsOnly {
		return l.text.Write(b)
	}
	for line := range bytes.Lines(b) {
		if !answered.Match(line) {
			l.text.Write(line)
		}
	}
	return len(b), nil
}

func (l *Log) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// answered is a line of the log of requests, of an answer below 400.
var answered = regexp.MustCompile(` \S+" [123]\d\d \d+ `)

// faults are the last lines that are not of a request that was answered well, few enough that a reader of the test's output sees the rest of it too.
func (l *Log) faults() string {
	lines := slices.Collect(strings.Lines(l.String()))
	lines = slices.DeleteFunc(lines, answered.MatchString)
	return strings.Join(lines[max(0, len(lines)-20):], "")
}

// Start runs nginx in front of nodes, each HOST:PORT, until the test ends. It listens when Start returns.
func Start(t testing.TB, nodes ...string) *Server {
	t.Helper()
	return start(t, nil, "127.0.0.1", test.Address(t).String(), test.Address(t).String(), nodes)
}

// StartIn is Start in a network namespace where ports 443 and 80 of host, an IPv4 address, are free. Ours must lead to host.
func StartIn(t testing.TB, namespace, host string, nodes ...string) *Server {
	t.Helper()
	return start(t, []string{"ip", "netns", "exec", namespace}, host, net.JoinHostPort(host, "443"), net.JoinHostPort(host, "80"), nodes)
}

// start runs nginx by the command before, if there is one.
func start(t testing.TB, before []string, host, secure, plain string, nodes []string) *Server {
	t.Helper()
	program := Program(t)
	dir, err := os.MkdirTemp("", "hazardd-nginx-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	s := &Server{Log: &Log{}}
	s.URL, s.Plain = "https://"+secure, "http://"+plain
	if s.roots, err = certify(dir, host); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "nginx.conf")
	if err := os.WriteFile(file, []byte(render(t, dir, secure, plain, nodes)), 0o600); err != nil {
		t.Fatal(err)
	}
	command := slices.Concat(before, []string{program, "-p", dir, "-c", file, "-e", "stderr"})
	if out, err := exec.CommandContext(t.Context(), command[0], append(command[1:], "-t")...).CombinedOutput(); err != nil {
		t.Fatalf("nginx -t: %v\n%s", err, out)
	}
	cmd := exec.Command(command[0], append(command[1:], "-g", "daemon off;")...)
	cmd.Stdout, cmd.Stderr = s.Log, s.Log
	child.EndWithParent(cmd, syscall.SIGTERM)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	t.Cleanup(func() {
		if err := cmd.Process.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
			t.Error(err)
		}
		if err := <-ended; err != nil {
			t.Errorf("nginx: %v", err)
		}
		if t.Failed() {
			t.Logf("nginx has logged errors:\n%s", s.Log.faults())
		}
	})
	for tries := 0; ; tries++ {
		conn, err := net.Dial("tcp", secure)
		if err == nil {
			_ = conn.Close()
			return s
		}
		select {
		case err := <-ended:
			ended <- err
			t.Fatalf("nginx has ended: %v\n%s", err, s.Log)
		case <-time.After(20 * time.Millisecond):
			if tries > 500 {
				t.Fatalf("nginx does not listen: %v\n%s", err, s.Log)
			}
		}
	}
}

// Client is a client of its own, with connections of its own, that trusts this nginx. It speaks HTTP/2 where version is 2, else HTTP/1.1, asks for no
// coding by itself, and does not follow redirects.
func (s *Server) Client(version int) *http.Client {
	var protocols http.Protocols
	protocols.SetHTTP1(version != 2)
	protocols.SetHTTP2(version == 2)
	return &http.Client{
		Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: s.roots}, Protocols: &protocols, DisableCompression: true,
			ExpectContinueTimeout: time.Second},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

var serverLine = regexp.MustCompile(`(?m)^( +server )hazardd-(\d):8080(.*;)\n`)

// render is deploy/nginx.conf with other places.
func render(t testing.TB, dir, secure, plain string, nodes []string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(Root(t), "deploy", "nginx.conf"))
	if err != nil {
		t.Fatal(err)
	}
	config := string(text)
	user := ""
	if os.Getuid() == 0 { // the workers must get at the folder
		user = "user root;"
	}
	temporary := ""
	for _, kind := range []string{"client_body", "proxy", "fastcgi", "uwsgi", "scgi"} {
		temporary += fmt.Sprintf("    %s_temp_path %s/%s;\n", kind, dir, kind)
	}
	for _, change := range [][2]string{
		{"user www-data;", user}, {"worker_processes auto;", "worker_processes 2;"}, {"worker_rlimit_nofile 140000;", ""}, {"worker_connections 65536;", "worker_connections 1024;"},
		{"pid /run/nginx.pid;", "pid " + dir + "/nginx.pid;"}, {"error_log /var/log/nginx/error.log", "error_log stderr"},
		{"access_log /var/log/nginx/access.log", "access_log /dev/stdout"}, {"http {\n", "http {\n" + temporary}, {"/var/cache/nginx-hazardd", dir + "/cache"},
		{"/etc/nginx/tls/hazards.crt", dir + "/crt"}, {"/etc/nginx/tls/hazards.key", dir + "/key"},
		{"add_header Strict-Transport-Security", "add_header " + ServedBy + " $upstream_addr always; add_header Strict-Transport-Security"},
		{"listen 80;", "listen " + plain + ";"}, {"listen 443 ssl", "listen " + secure + " ssl"}, {"listen [::]:80;", ""}, {"listen [::]:443 ssl http2 so_keepalive=15s:5s:3;", ""},
	} {
		if strings.Count(config, change[0]) != 1 {
			t.Fatalf("deploy/nginx.conf: %q is there %d times, want once", change[0], strings.Count(config, change[0]))
		}
		config = strings.Replace(config, change[0], change[1], 1)
	}
	places := 0
	config = serverLine.ReplaceAllStringFunc(config, func(line string) string {
		places++
		m := serverLine.FindStringSubmatch(line)
		if m[2] != "1" {
			return ""
		}
		lines := ""
		for _, node := range nodes {
			lines += m[1] + node + m[3] + "\n"
		}
		return lines
	})
	if places == 0 {
		t.Fatal("deploy/nginx.conf names no server hazardd-1:8080")
	}
	return config
}

// Root is the folder of the module, above the test's own.
func Root(t testing.TB) string {
	t.Helper()
	dir, err := os.Getwd()
	for err == nil {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir
		}
		if dir == filepath.Dir(dir) {
			err = errors.New("there is no go.mod above the test's folder")
		}
		dir = filepath.Dir(dir)
	}
	t.Fatal(err)
	return ""
}

// certify leaves a certificate for host, an IP address, and its key in dir.
func certify(dir, host string) (*x509.CertPool, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test"}, IPAddresses: []net.IP{net.ParseIP(host)},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour), IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		return nil, err
	}
	keyDER, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, err
	}
	certificate := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	err = errors.Join(os.WriteFile(filepath.Join(dir, "crt"), certificate, 0o600),
		os.WriteFile(filepath.Join(dir, "key"), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: keyDER}), 0o600))
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(certificate) {
		err = errors.Join(err, errors.New("the certificate cannot be read back"))
	}
	return roots, err
}
