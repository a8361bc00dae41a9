// Package served runs the service in a separate process, so that its time and memory are not mixed
// with those of the measuring program.
//
// A program starts itself again: StartServer runs it with a variable set; then it calls Serve. The
// two processes exchange lines of JSON, on the standard input and output of the second.
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

	"github.com/hazardd/hazardd/internal/app"
	"github.com/hazardd/hazardd/internal/auth"
	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/serve/route"
)

// asProcess is the variable with the kind of this process.
const asProcess = "HAZARDD_BENCH_PROCESS"

// KindServer is the kind of process that StartServer starts.
const KindServer = "serve"

// maxLine is the maximum size in bytes of a line between two processes.
const maxLine = 1 << 20

// Kind returns the kind of this process; empty if a person started it.
func Kind() string { return os.Getenv(asProcess) }

// ready is the first line from a server.
type ready struct{ Addr, Token string }

// Serve runs the service with these settings, without limits for users, and prints its address. It
// ends when obey returns.
func Serve(cfg app.Config, obey func(ctx context.Context, s *app.Service, orders *Orders) error) error {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	cfg.Listen, cfg.Grace, cfg.Version, cfg.Logger = "127.0.0.1:0", time.Second, "bench", slog.New(slog.DiscardHandler)
	cfg.Requests = route.RequestLimits{UserRate: -1, UserRequests: -1}
	s, err := app.Open(ctx, cfg)
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

// Orders are the orders to a process, and its answers.
type Orders struct {
	in  *bufio.Scanner
	out *json.Encoder
}

// NewOrders returns the orders of this process. Call it once.
func NewOrders() *Orders { return &Orders{lines(os.Stdin), json.NewEncoder(os.Stdout)} }

// Next reads the next order. It returns io.EOF after the last one.
func (o *Orders) Next(order any) error { return decodeLine(o.in, order) }

// Answer answers an order.
func (o *Orders) Answer(answer any) error { return o.out.Encode(answer) }

// Wait waits until the standard input ends, for a server without orders.
func Wait(_ context.Context, _ *app.Service, o *Orders) error {
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

// Process is another process of this program.
type Process struct {
	cmd   *exec.Cmd
	stdin io.WriteCloser
	out   *bufio.Scanner
}

// Start starts this program again as a process of that kind, until ctx ends.
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

// Stop ends the process's standard input, and waits for the process to end.
func (p *Process) Stop() error { return errors.Join(p.stdin.Close(), p.cmd.Wait()) }

// Ask sends the process an order, and reads the answer.
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

// Memory returns the peak memory of the process in MB; 0 on systems without /proc.
func (p *Process) Memory() (float64, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.PID()))
	if err != nil {
		return 0, nil
	}
	_, rest, _ := strings.Cut(string(text), "VmHWM:")
	kB, err := strconv.ParseFloat(strings.Fields(rest)[0], 64)
	return kB / 1024, err
}

// Server is the service in a separate process.
type Server struct {
	*Process
	ready
	// ReadyIn is the time from the start of the process until /readyz reported ready.
	ReadyIn time.Duration
	client  http.Client
}

// StartServer starts a server, and waits until it is ready. Requests to it have that timeout; 0
// means none.
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

// Call makes a request as an admin, with a JSON body unless body is nil, and returns the
// uncompressed answer. A status other than success is an error.
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
