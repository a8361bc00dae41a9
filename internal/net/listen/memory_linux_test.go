package listen

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// sealedFiles counts the files of Memory that this process has open.
func sealedFiles(t *testing.T) (n int) {
	t.Helper()
	all, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range all {
		if to, err := os.Readlink("/proc/self/fd/" + f.Name()); err == nil && strings.Contains(to, "memfd:hazardd") {
			n++
		}
	}
	return n
}

// collected waits until no file of Memory is open.
func collected(t *testing.T) {
	t.Helper()
	for range 1000 {
		if runtime.GC(); sealedFiles(t) == 0 && files.Load() == 0 && bytesHeld.Load() == 0 {
			return
		}
		runtime.Gosched()
	}
	t.Errorf("%d files are still open, %d and %d bytes are counted", sealedFiles(t), files.Load(), bytesHeld.Load())
}

func text(size int, seed byte) []byte {
	all := make([]byte, size)
	for i := range all {
		all[i] = byte(i*7+i>>9) ^ seed
	}
	return all
}

// serving answers with what m returns at the time, and returns the address.
func serving(t *testing.T, limits Limits, m func() *Memory, ended func(int64, error)) string {
	t.Helper()
	inner, err := Options().Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l := New(inner, limits)
	s := &http.Server{ConnContext: Context, ConnState: func(c net.Conn, state http.ConnState) { Below(c).State(state) }, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		m := m()
		if !Of(r.Context()).SendsMemory() {
			t.Error("the connection does not send memory")
		}
		w.Header().Set("Content-Length", strconv.Itoa(len(m.text)))
		if r.Method == http.MethodHead {
			return
		}
		_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(time.Minute))
		Of(r.Context()).More()
		ended(io.Copy(w, m.Reader()))
	})}
	done := make(chan error, 1)
	go func() { done <- s.Serve(l) }()
	t.Cleanup(func() {
		_ = s.Close()
		if err := <-done; !errors.Is(err, http.ErrServerClosed) {
			t.Error(err)
		}
	})
	return inner.Addr().String()
}

// memoryOf returns a Memory of a text within the bounds. It skips the test where the system has no sealed files.
func memoryOf(t *testing.T, text []byte) *Memory {
	t.Helper()
	file, err := sealed(nil)
	if err != nil {
		t.Skipf("this system has no sealed files: %v", err)
	}
	unseal(file)
	m := NewMemory(text)
	if m == nil {
		t.Fatalf("no Memory of %d bytes", len(text))
	}
	return m
}

// Every reader gets the text that was current when it asked, however slow it is and whatever
// replaces the text meanwhile, and no file is left open.
func TestMemoryIsSentWhole(t *testing.T) {
	texts := [][]byte{text(300_000, 1), text(512<<10, 2), text(40_000, 3)}
	var mu sync.Mutex
	current := 0
	memories := make([]*Memory, len(texts))
	for i := range texts {
		memories[i] = memoryOf(t, texts[i])
	}
	addr := serving(t, Limits{All: 100, Address: 100}, func() *Memory {
		mu.Lock()
		defer mu.Unlock()
		return memories[current%len(memories)]
	}, func(n int64, err error) {
		if err != nil {
			t.Errorf("%d bytes were sent: %v", n, err)
		}
	})
	slow, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer slow.Close()
	_ = slow.(*net.TCPConn).SetReadBuffer(64 << 10) // less than the text
	if _, err := io.WriteString(slow, "GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	begin := make([]byte, 1)
	if _, err := io.ReadFull(slow, begin); err != nil { // the answer has begun
		t.Fatal(err)
	}
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			client := &http.Client{Transport: &http.Transport{}}
			defer client.CloseIdleConnections()
			for range 6 {
				req, _ := http.NewRequestWithContext(context.Background(), []string{"GET", "HEAD"}[i%2], "http://"+addr, nil)
				resp, err := client.Do(req)
				if err != nil {
					t.Error(err)
					return
				}
				body, err := io.ReadAll(resp.Body)
				_ = resp.Body.Close()
				switch is := func(want []byte) bool { return bytes.Equal(body, want) }; {
				case err != nil || resp.StatusCode != 200:
					t.Error(resp.Status, err)
				case i%2 == 1 && len(body) > 0:
					t.Errorf("HEAD has %d bytes", len(body))
				case i%2 == 0 && !is(texts[0]) && !is(texts[1]) && !is(texts[2]):
					t.Errorf("%d bytes that are none of the texts", len(body))
				}
				mu.Lock()
				current++
				mu.Unlock()
			}
		})
	}
	all.Wait()
	mu.Lock()
	memories = []*Memory{NewMemory(text(1000, 9))} // the others are in the slow reader's hands alone
	mu.Unlock()
	runtime.GC()
	rest, err := io.ReadAll(slow)
	if _, body, _ := bytes.Cut(append(begin, rest...), []byte("\r\n\r\n")); err != nil || !bytes.Equal(body, texts[0]) {
		t.Errorf("the slow reader has %d bytes that are not its text: %v", len(body), err)
	}
	mu.Lock()
	memories = nil
	mu.Unlock()
	collected(t)
}

// A reader that takes nothing is given up at the deadline, and what it took is counted.
func TestMemoryKeepsTheDeadline(t *testing.T) {
	client, conn := connected(t)
	_ = client.(*net.TCPConn).SetReadBuffer(4096)
	_ = conn.SetWriteBuffer(4096)
	all := text(mostBytes/2, 5) // more than the system keeps for a connection
	m := memoryOf(t, all)
	_ = conn.SetWriteDeadline(time.Now().Add(time.Second)) // long enough for the first bytes
	n, err := conn.ReadFrom(m.Reader())
	if !errors.Is(err, os.ErrDeadlineExceeded) || n <= 0 || n >= int64(len(all)) {
		t.Fatalf("%d bytes were sent: %v", n, err)
	}
	got := make([]byte, n)
	if _, err := io.ReadFull(client, got); err != nil || !bytes.Equal(got, all[:n]) {
		t.Errorf("the reader does not have the %d bytes: %v", n, err)
	}
	m = nil
	collected(t)
}

// The header of a Memory leaves together with it: a reader finds both at once.
func TestMemoryLeavesWithItsHeader(t *testing.T) {
	client, conn := connected(t)
	conn.More()
	if n, err := conn.Write([]byte("header ")); n != 7 || err != nil {
		t.Fatalf("%d bytes: %v", n, err)
	}
	m := memoryOf(t, []byte("body"))
	if n, err := conn.ReadFrom(m.Reader()); n != 4 || err != nil {
		t.Fatalf("%d bytes: %v", n, err)
	}
	got := make([]byte, 100)
	if n, err := client.Read(got); string(got[:n]) != "header body" || err != nil {
		t.Errorf("%q, %v", got[:n], err)
	}
	if n, err := conn.Write([]byte("next")); n != 4 || err != nil {
		t.Fatalf("%d bytes: %v", n, err)
	}
	if n, err := client.Read(got); string(got[:n]) != "next" || err != nil {
		t.Errorf("%q, %v", got[:n], err)
	}
	m = nil
	collected(t)
}

// What is being sent cannot be changed, and there is never more of it than the bounds allow.
func TestMemoryIsSealedAndBounded(t *testing.T) {
	m := memoryOf(t, text(1000, 1))
	if _, err := unix.Pwrite(m.file, []byte("x"), 0); !errors.Is(err, unix.EPERM) {
		t.Errorf("a write to it: %v", err)
	}
	if err := unix.Ftruncate(m.file, 10); !errors.Is(err, unix.EPERM) {
		t.Errorf("it is cut: %v", err)
	}
	var held []*Memory
	for range mostFiles + 10 {
		held = append(held, NewMemory([]byte("text")))
	}
	if n := sealedFiles(t); n != mostFiles {
		t.Errorf("%d files are open, the most is %d", n, mostFiles)
	}
	runtime.KeepAlive(held)
	runtime.KeepAlive(m)
	held, m = nil, nil
	collected(t)
	if NewMemory(make([]byte, mostBytes+1)) != nil {
		t.Error("more bytes are held than may be")
	}
	collected(t)
}

func TestMemoryIsNotSentWhereItCannotBe(t *testing.T) {
	for name, c := range map[string]*Conn{"none": nil, "TLS": {listener: New(nil, Limits{Secure: true})}, "switched off": {listener: New(nil, Limits{NoSendfile: true})}} {
		if c.SendsMemory() {
			t.Errorf("%s: memory is sent", name)
		}
	}
}
