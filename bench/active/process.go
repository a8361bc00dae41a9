package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/hazardd/hazardd/bench/internal/measure"
)

// A server is a server process.
type server struct {
	ready
	cmd   *exec.Cmd
	stdin io.WriteCloser
	lines *bufio.Scanner
}

// start runs this program again as a server.
func start(args ...string) (*server, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	s := &server{cmd: exec.Command(self, args...)}
	s.cmd.Env = append(os.Environ(), asServer+"=1")
	s.cmd.Stderr = os.Stderr
	if s.stdin, err = s.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := s.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	s.lines = bufio.NewScanner(out)
	if err := s.cmd.Start(); err != nil {
		return nil, err
	}
	return s, s.answer(&s.ready)
}

func (s *server) answer(into any) error {
	if !s.lines.Scan() {
		return errors.Join(fmt.Errorf("the server %v ended", s.cmd.Args[1:]), s.lines.Err(), s.cmd.Wait())
	}
	return json.Unmarshal(s.lines.Bytes(), into)
}

func (s *server) tell(command string) error {
	_, err := io.WriteString(s.stdin, command+"\n")
	return err
}

// allocations returns the allocations of the server since its start.
func (s *server) allocations() (c counters, err error) {
	if err := s.tell("mallocs"); err != nil {
		return c, err
	}
	return c, s.answer(&c)
}

func (s *server) stop() error {
	if s.lines == nil { // nginx
		return errors.Join(s.cmd.Process.Signal(syscall.SIGTERM), s.cmd.Wait())
	}
	return errors.Join(s.stdin.Close(), s.cmd.Wait())
}

// nginxConfig serves the files of a folder, compressed ones if they exist. It starts as many
// workers as Go has threads.
const nginxConfig = `daemon off;
master_process on;
worker_processes auto;
pid %[1]s/nginx.pid;
error_log %[1]s/error.log warn;
events { worker_connections 1024; }
http {
	types { application/json json; }
	access_log off;
	sendfile on;
	tcp_nopush on;
	keepalive_requests 1000000000;
	open_file_cache max=100;
	client_body_temp_path %[1]s/body;
	proxy_temp_path %[1]s/proxy;
	fastcgi_temp_path %[1]s/fastcgi;
	uwsgi_temp_path %[1]s/uwsgi;
	scgi_temp_path %[1]s/scgi;
	server {
		listen %[2]s;
		root %[1]s/www;
		gzip_static on;
		etag on;
	}
}
`

// startNginx serves the folder www below dir. It returns nil without an error if nginx is not
// installed.
func startNginx(ctx context.Context, dir string) (*server, string, error) {
	path, err := exec.LookPath("nginx")
	if err != nil {
		path = "/usr/sbin/nginx" // Debian's path, which is only in root's PATH
		if _, err := os.Stat(path); err != nil {
			return nil, "", nil
		}
	}
	version, err := exec.CommandContext(ctx, path, "-v").CombinedOutput()
	if err != nil {
		return nil, "", fmt.Errorf("nginx -v: %w: %s", err, version)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, "", err
	}
	addr := l.Addr().String()
	if err := l.Close(); err != nil {
		return nil, "", err
	}
	config := filepath.Join(dir, "nginx.conf")
	user := ""
	if os.Getuid() == 0 { // otherwise the workers run as nobody, who may not read the temporary folder
		user = "user root;\n"
	}
	if err := os.WriteFile(config, fmt.Appendf(nil, user+nginxConfig, dir, addr), 0o600); err != nil {
		return nil, "", err
	}
	s := &server{ready: ready{addr, floorToken}, cmd: exec.Command(path, "-c", config, "-p", dir, "-e", filepath.Join(dir, "error.log"))}
	s.cmd.Stderr = os.Stderr
	if err := s.cmd.Start(); err != nil {
		return nil, "", err
	}
	for range 100 {
		if c, err := net.Dial("tcp", addr); err == nil {
			return s, strings.TrimSpace(string(version)), c.Close()
		}
		time.Sleep(50 * time.Millisecond)
	}
	return nil, "", errors.Join(errors.New("nginx does not listen"), s.stop())
}

// cpu returns the time that the process and its children have run on a processor.
func (s *server) cpu() (time.Duration, error) {
	pids := []int{s.cmd.Process.Pid}
	children, err := os.ReadFile(fmt.Sprintf("/proc/%[1]d/task/%[1]d/children", pids[0]))
	if err == nil {
		for word := range strings.FieldsSeq(string(children)) {
			pid, err := strconv.Atoi(word)
			if err != nil {
				return 0, err
			}
			pids = append(pids, pid)
		}
	}
	var total time.Duration
	for _, pid := range pids {
		ran, err := measure.ProcessorTime(pid)
		if err != nil {
			return 0, err
		}
		total += ran
	}
	return total, nil
}
