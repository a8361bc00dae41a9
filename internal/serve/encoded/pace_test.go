package encoded

import (
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"
)

// line is a connection for an answer, without buffers: written data has been read.
type line struct {
	net.Conn
	header http.Header
}

func (l *line) Header() http.Header { return l.header }

func (l *line) WriteHeader(int) {}

// slow is the pace of these tests.
var slow = Pace{Rate: 8 << 10, Patience: 10 * time.Second}

// answered writes size bytes to a reader. It returns how long that took, how many bytes the reader
// got, and whether the writer gave up.
func answered(t *testing.T, size int, file bool, read func(io.Reader) int) (took time.Duration, got int, late bool) {
	t.Helper()
	server, client := net.Pipe()
	done := make(chan int)
	go func() { done <- read(client) }()
	var p Paced
	p.Begin(&line{server, http.Header{}}, slow)
	began := time.Now()
	var err error
	if file {
		name := filepath.Join(t.TempDir(), "large")
		if err := os.WriteFile(name, make([]byte, size), 0o600); err != nil {
			t.Fatal(err)
		}
		f, err := os.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		if n, err := p.ReadFrom(io.LimitReader(f, int64(size))); (err == nil) != (n == int64(size)) {
			t.Errorf("%d bytes of %d were written, and the error is %v", n, size, err)
		}
	} else if _, err = p.Write(make([]byte, size)); (err != nil) != p.Late() {
		t.Errorf("the write fails with %v, its reader is late: %v", err, p.Late())
	}
	took = time.Since(began)
	_ = server.Close()
	got = <-done
	_ = client.Close()
	return took, got, p.Late()
}

// drain reads n bytes per second, and stops after a total of most.
func drain(perSecond, most int) func(io.Reader) int {
	return func(r io.Reader) int {
		got := 0
		for buf := make([]byte, perSecond); got < most; time.Sleep(time.Second) {
			n, err := io.ReadFull(r, buf)
			if got += n; err != nil {
				return got
			}
		}
		time.Sleep(time.Hour)
		return got
	}
}

func TestAReaderThatIsTooSlowIsGivenUp(t *testing.T) {
	const size = 2 << 20
	for name, tt := range map[string]struct {
		read func(io.Reader) int
		late bool
		took time.Duration // at most
	}{
		"who reads nothing":                        {drain(1, 0), true, 42 * time.Second},
		"who reads half and then nothing":          {drain(256<<10, size/2), true, 46 * time.Second},
		"who reads all but the end and stops":      {drain(1<<20, size-1<<20), true, 43 * time.Second},
		"who reads one byte each second":           {drain(1, size), true, 42 * time.Second},
		"who reads less than the least on average": {drain(7<<10, size), true, 2 * time.Minute},
		"who reads a little more":                  {drain(9<<10, size), false, 230 * time.Second},
		"who reads fast":                           {drain(1<<20, size), false, 2 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			for _, file := range []bool{false, true} {
				synctest.Test(t, func(t *testing.T) {
					took, got, late := answered(t, size, file, tt.read)
					if late != tt.late || took > tt.took || !late && got != size {
						t.Errorf("a file: %v; given up: %v after %v and %d bytes, want %v within %v", file, late, took, got, tt.late, tt.took)
					}
				})
			}
		})
	}
}

// Shared data of answers is not copied for each reader.
func TestALargeAnswerIsNotCopied(t *testing.T) {
	body := make([]byte, 8<<20)
	out := &discarding{header: http.Header{}}
	var p Paced
	if n := testing.AllocsPerRun(10, func() {
		p.Begin(out, slow)
		if n, err := p.Write(body); n != len(body) || err != nil {
			t.Fatal(n, err)
		}
	}); n > 0 {
		t.Errorf("%v allocations", n)
	}
	if out.most > largeChunk {
		t.Errorf("%d bytes were written at once, at most %d should be", out.most, largeChunk)
	}
}

// discarding accepts everything, and records the largest write.
type discarding struct {
	header http.Header
	most   int
}

func (d *discarding) Header() http.Header { return d.header }

func (d *discarding) WriteHeader(int) {}

func (d *discarding) Write(b []byte) (int, error) {
	d.most = max(d.most, len(b))
	return len(b), nil
}
