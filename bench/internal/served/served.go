// Package served runs the service in a process of its own, so that its time and memory are not those of what measures it.
//
// A program starts itself again: StartServer runs it with a variable set, in which case it calls Serve. The two speak in lines of JSON, on the
// standard input and output of the second.
package served

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"github.com/hazardd/hazardd/internal/auth"
	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/httpapi"
	"github.com/hazardd/hazardd/internal/service"
)

// asProcess is the variable that says what this program is.
const asProcess = "HAZARDD_BENCH_PROCESS"

// KindServer is the kind of process that StartServer starts.
const KindServer = "serve"

// maxLine is the most bytes of a line between two processes.
const maxLine = 1 << 20

// Kind is what this process was started as; empty: by a person.
func Kind() string { return os.Getenv(asProcess) }

// ready is what a server says first.
type ready struct{ Addr, Token string }

// Serve runs the service with these settings, without a limit for users, and says where it listens, until obey returns.
func Serve(cfg service.Config, obey func(ctx context.Context, s *service.Service, orders *Orders) error) error {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	cfg.Listen, cfg.Grace, cfg.Version, cfg.Logger = "127.0.0.1:0", time.Second, "bench", slog.New(slog.DiscardHandler)
	cfg.Requests = httpapi.RequestLimits{UserRate: -1, UserRequests: -1}
	s, err := service.Open(ctx, cfg)
	if err != nil {
		return err
	}
	pair, err := s.Auth.Issue(ctx, auth.Actor{}, "admin", hazard.At(time.Now()))
	if err != nil {
		return err
	}
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx) }()
	orders := NewOrders()
	if err = orders.Answer(ready{s.Addr().String(), pair.Access}); err == nil {
		err = obey(ctx, s, orders)
	}
	cancel()
	return errors.Join(err, <-ended)
}

// Orders are what a process is told, and its answers.
type Orders struct {
	in  *bufio.Scanner
	out *json.Encoder
}

// NewOrders returns those of this process. There is one set.
func NewOrders() *Orders { return &Orders{lines(os.Stdin), json.NewEncoder(os.Stdout)} }

// Next reads the next order; io.EOF after the last one.
func (o *Orders) Next(order any) error { return decodeLine(o.in, order) }

// Answer answers an order.
func (o *Orders) Answer(answer any) error { return o.out.Encode(answer) }

// Wait waits until the standard input ends: for a server that is told nothing.
func Wait(_ context.Context, _ *service.Service, o *Orders) error {
	for o.in.Scan() {
	}
	return o.in.Err()
}

func lines(r io.Reader) *bufio.Scanner {
	s := bufio.NewScanner(r)
	s.Buffer(nil, maxLine)
	return s
}

func decodeLine(s *bufio.Scanner, into any) error {
	if !s.Scan() {
		if err := s.Err(); err != nil {
			return err
		}
		return io.EOF
	}
	return json.Unmarshal(s.Bytes(), into)
}

// Process is a process of this program.
type Process struct {
	cmd   *exec.Cmd
	stdin io.WriteCloser
	out   *bufio.Scanner
}

// Start starts this program again as a kind of process, until ctx ends.
func Start(ctx context.Context, kind string, args ...string) (*Process, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	p := &Process{cmd: exec.CommandContext(ctx, self, args...)}
	p.cmd.Env = append(os.Environ(), asProcess+"="+kind)
	p.cmd.Stderr = os.Stderr
	if p.stdin, err = p.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	p.out = lines(out)
	return p, p.cmd.Start()
}

// Stop ends its standard input, and waits for its end.
func (p *Process) Stop() error { return errors.Join(p.stdin.Close(), p.cmd.Wait()) }

// Ask gives it an order, and reads the answer.
func (p *Process) Ask(order, answer any) error {
	if err := json.NewEncoder(p.stdin).Encode(order); err != nil {
		return err
	}
	return p.read(answer)
}

func (p *Process) read(answer any) error {
	err := decodeLine(p.out, answer)
	if errors.Is(err, io.EOF) {
		return errors.New("the process ended")
	}
	return err
}

// PID returns the number of the process.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// Memory returns the most that the process ever held, in MB; 0 where there is no /proc.
func (p *Process) Memory() (float64, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.PID()))
	if err != nil {
		return 0, nil
	}
	_, rest, _ := strings.Cut(string(text), "VmHWM:")
	kB, err := strconv.ParseFloat(strings.Fields(rest)[0], 64)
	return kB / 1024, err
}

// Server is the service in a process of its own.
type Server struct {
	*Process
	ready
	// ReadyIn is the time from the start of the process until /readyz said so.
	ReadyIn time.Duration
	client  http.Client
}

// StartServer starts a server, and waits until it is ready. A request to it may take timeout; 0: as long as it takes.
func StartServer(ctx context.Context, timeout time.Duration, args ...string) (*Server, error) {
	begin := time.Now()
	p, err := Start(ctx, KindServer, args...)
	if err != nil {
		return nil, err
	}
	s := &Server{Process: p, client: http.Client{Timeout: timeout}}
	if err := p.read(&s.ready); err != nil {
		return nil, errors.Join(err, p.Stop())
	}
	poll := time.NewTicker(5 * time.Millisecond)
	defer poll.Stop()
	for {
		if _, err = s.Call(ctx, http.MethodGet, "/readyz", nil); err == nil {
			s.ReadyIn = time.Since(begin)
			return s, nil
		}
		if time.Since(begin) > time.Minute || ctx.Err() != nil {
			return nil, errors.Join(err, p.Stop())
		}
		<-poll.C
	}
}

// Call makes a request as an admin, with a body of JSON unless that is nil, and returns the answer, which is not compressed. One that is no success is an error.
func (s *Server) Call(ctx context.Context, method, path string, body any) ([]byte, error) {
	var sent io.Reader
	if body != nil {
		text, err := json.Marshal(body)
		if err != nil {
			return nil, err
		}
		sent = bytes.NewReader(text)
	}
	req, err := http.NewRequestWithContext(ctx, method, "http://"+s.Addr+path, sent)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Authorization", "Bearer "+s.Token)
	req.Header.Set("Accept-Encoding", "identity")
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	resp, err := s.client.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode/100 != 2 {
		err = fmt.Errorf("%s %s: %s %.300s", method, path, resp.Status, text)
	}
	return text, err
}
