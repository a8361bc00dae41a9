package main

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
)

// A request is sent unchanged, again and again, over connections that stay open.
type request struct {
	addr string
	head []byte
	want int // expected status
}

func get(addr, path, token string, header ...string) request {
	var b bytes.Buffer
	fmt.Fprintf(&b, "GET %s HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer %s\r\nAccept: application/json\r\n", path, addr, token)
	want := 200
	for i := 0; i < len(header); i += 2 {
		fmt.Fprintf(&b, "%s: %s\r\n", header[i], header[i+1])
		if header[i] == "If-None-Match" {
			want = 304
		}
	}
	b.WriteString("\r\n")
	return request{addr, b.Bytes(), want}
}

// client is one connection. It reads answers into one buffer and allocates nothing, so that only
// the server is measured.
type client struct {
	conn net.Conn
	buf  []byte
}

// readSize is how many bytes a client reads at once: as many as a common client library for a large
// body.
const readSize = 256 << 10

func dial(addr string) (*client, error) {
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		return nil, err
	}
	return &client{conn, make([]byte, readSize)}, nil
}

var (
	headEnd = []byte("\r\n\r\n")
	lengthA = []byte("\r\nContent-Length: ")
)

// do sends the request and reads the answer to its end. keep, if not nil, gets the head and the body.
func (c *client) do(r *request, keep *answer) error {
	if _, err := c.conn.Write(r.head); err != nil {
		return err
	}
	have, end := 0, -1
	for end < 0 {
		n, err := c.conn.Read(c.buf[have:])
		if err != nil {
			return err
		}
		have += n
		end = bytes.Index(c.buf[:have], headEnd)
	}
	head := c.buf[:end]
	if len(head) < 12 || string(head[:9]) != "HTTP/1.1 " {
		return fmt.Errorf("answer %.80q", head)
	}
	if status, err := strconv.Atoi(string(head[9:12])); err != nil || status != r.want {
		return fmt.Errorf("status %s, want %d", head[9:12], r.want)
	}
	left := 0
	if r.want != 304 {
		at := bytes.Index(head, lengthA)
		if at < 0 {
			return fmt.Errorf("no Content-Length in %.300q", head)
		}
		for _, digit := range head[at+len(lengthA):] {
			if digit < '0' || digit > '9' {
				break
			}
			left = left*10 + int(digit-'0')
		}
	}
	body := c.buf[end+len(headEnd) : have]
	if keep != nil {
		keep.head, keep.body = string(head), append([]byte(nil), body...)
	}
	for left -= len(body); left > 0; {
		n, err := c.conn.Read(c.buf)
		if err != nil {
			return err
		}
		if keep != nil {
			keep.body = append(keep.body, c.buf[:n]...)
		}
		left -= n
	}
	if left < 0 {
		return fmt.Errorf("%d bytes more than Content-Length", -left)
	}
	return nil
}

// answer is a complete answer.
type answer struct {
	head string
	body []byte
}

func once(r request) (answer, error) {
	var a answer
	c, err := dial(r.addr)
	if err != nil {
		return a, err
	}
	defer c.conn.Close()
	return a, c.do(&r, &a)
}

// load is a set of connections that send the same requests in turn.
type load struct {
	req     request
	clients []*client
}

func newLoad(r request, conns int) (*load, error) {
	l := &load{req: r}
	for range conns {
		c, err := dial(r.addr)
		if err != nil {
			return nil, errors.Join(err, l.close())
		}
		l.clients = append(l.clients, c)
	}
	return l, nil
}

func (l *load) close() error {
	var errs []error
	for _, c := range l.clients {
		errs = append(errs, c.conn.Close())
	}
	return errors.Join(errs...)
}

// warmUp is how long a load runs before it is measured. By then TCP windows are open, and caches
// contain this server's data.
const warmUp = 20 * time.Millisecond

// run sends requests for the time d, and returns requests per second and the duration of each
// request. edge is called at the start and at the end of the measurement.
func (l *load) run(d time.Duration, edge func()) (float64, []time.Duration, error) {
	var done atomic.Int64
	took := make([][]time.Duration, len(l.clients))
	var stop atomic.Bool
	var failed atomic.Pointer[error]
	var all sync.WaitGroup
	for i, c := range l.clients {
		took[i] = make([]time.Duration, 0, 4096)
		all.Go(func() {
			for !stop.Load() {
				begin := time.Now()
				if err := c.do(&l.req, nil); err != nil {
					failed.Store(&err)
					return
				}
				took[i] = append(took[i], time.Since(begin))
				done.Add(1)
			}
		})
	}
	time.Sleep(warmUp)
	edge()
	begin, before := time.Now(), done.Load()
	time.Sleep(d)
	n, slice := done.Load()-before, time.Since(begin)
	edge()
	stop.Store(true)
	all.Wait()
	if err := failed.Load(); err != nil {
		return 0, nil, *err
	}
	return float64(n) / slice.Seconds(), slices.Concat(took...), nil
}
