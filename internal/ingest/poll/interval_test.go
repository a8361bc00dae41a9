package poll

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/hazardd/hazardd/internal/store/lease"
)

func TestAFeedIsReadInItsRhythmAndNeverFaster(t *testing.T) {
	bubble(t, func(t *testing.T, b *bed) {
		src := testSource("a")
		b.net.text("a.example", list("x"))
		p := b.poller(src)
		began := time.Now()
		b.run(p, time.Hour)
		asks := b.net.asks("a.example")
		if len(asks) < 54 || len(asks) > 61 {
			t.Errorf("%d polls in an hour", len(asks))
		}
		if first := asks[0].at.Sub(began); first > spread+lease.Try {
			t.Errorf("first poll after %s", first)
		}
		different := map[time.Duration]bool{}
		for i := range asks[1:] {
			gap := asks[i+1].at.Sub(asks[i].at)
			different[gap] = true
			if gap < time.Minute || gap > 66*time.Second {
				t.Errorf("gap of %s", gap)
			}
		}
		if len(different) < 10 {
			t.Errorf("%d different gaps, expected jitter", len(different))
		}
		if a := asks[0].header.Get("User-Agent"); a != "hazardd/1.2 (+ops@example.org)" {
			t.Errorf("User-Agent %q", a)
		}
		b.wantActive("a", "x")
		if s := b.status(src)[0]; s.State != OK || *s.Lag > 66 || s.Total.New != 1 || s.Total.Unchanged != int64(len(asks)-1) || s.Last.Read != 1 {
			t.Errorf("status %+v", s)
		}
	})
}

func TestARestartDoesNotAskFasterThanTheRhythm(t *testing.T) {
	bubble(t, func(t *testing.T, b *bed) {
		src := testSource("a")
		src.Feeds[0].Every = 6 * time.Hour
		b.net.text("a.example", list("x"))
		for range 10 {
			b.run(b.poller(src), 10*time.Minute)
		}
		if n := len(b.net.asks("a.example")); n != 1 {
			t.Errorf("%d polls within two hours, want 1", n)
		}
	})
}

func TestValidatorsAreKeptOverRestarts(t *testing.T) {
	bubble(t, func(t *testing.T, b *bed) {
		src := testSource("a")
		full := 0
		b.net.serve("a.example", func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("ETag", `"1"`)
			w.Header().Set("Last-Modified", "Sat, 01 Jan 2000 00:00:00 GMT")
			if r.Header.Get("If-None-Match") == `"1"` && r.Header.Get("If-Modified-Since") == "Sat, 01 Jan 2000 00:00:00 GMT" {
				w.WriteHeader(http.StatusNotModified)
				return
			}
			full++
			_, _ = w.Write([]byte(list("x")))
		})
		b.run(b.poller(src), 2*time.Minute)
		b.run(b.poller(src), 3*time.Minute)
		if full != 1 {
			t.Errorf("read in full %d times, want 1", full)
		}
		s := b.status(src)[0]
		if s.State != OK || !s.LastChanged.Before(*s.LastSuccess) || s.Last != (Counts{}) {
			t.Errorf("status %+v", s)
		}
	})
}

func TestACacheThatIsStuckIsPassed(t *testing.T) {
	bubble(t, func(t *testing.T, b *bed) {
		src := testSource("a")
		full := 0
		b.net.serve("a.example", func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("ETag", `"1"`)
			if r.Header.Get("If-None-Match") != "" {
				w.WriteHeader(http.StatusNotModified)
				return
			}
			if full++; full == 1 {
				_, _ = w.Write([]byte(list("x")))
				return
			}
			_, _ = w.Write([]byte(list("x", "y")))
		})
		b.run(b.poller(src), 12*time.Minute)
		if full != 2 {
			t.Errorf("read in full %d times in 12 rhythms, want 2", full)
		}
		b.wantActive("a", "x", "y")
	})
}

func TestDelaysStayWithinTheirBounds(t *testing.T) {
	for _, every := range []time.Duration{time.Second, time.Minute, 10 * time.Minute, time.Hour, 6 * time.Hour} {
		for _, warns := range []bool{false, true} {
			longest := max(maxBackoff, every)
			if warns {
				longest = maxWarnBackoff
			}
			for failures := range 70 {
				least, most := pause(every, warns, failures, 0.999999), pause(every, warns, failures, 0)
				if failures < 2 {
					least, most = most, least
				}
				shortest, bound := min(every, firstRetry), longest
				if failures == 0 {
					shortest, bound = every, every+every/10
				}
				if least < shortest || most > bound || most < least || most-least > most/5+time.Millisecond {
					t.Errorf("every %s, warns %t, %d failures: from %s to %s, want within %s and %s", every, warns, failures, least, most, shortest, bound)
				}
				if failures > 30 && most != longest {
					t.Errorf("every %s, warns %t, %d failures: %s, want %s", every, warns, failures, most, longest)
				}
			}
		}
	}
}

func TestASourceThatFailsIsAskedLessAndLessUntilItAnswers(t *testing.T) {
	bubble(t, func(t *testing.T, b *bed) {
		src := testSource("a")
		b.net.serve("a.example", func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(http.StatusServiceUnavailable) })
		p := b.poller(src)
		stop := b.start(p)
		time.Sleep(3 * time.Hour)
		asks := b.net.asks("a.example")
		for i := range asks[1:] {
			gap := asks[i+1].at.Sub(asks[i].at)
			want := min(time.Minute<<i, maxBackoff)
			if gap < want*4/5 || gap > want*11/10 {
				t.Errorf("gap %d is %s, want about %s", i+1, gap, want)
			}
		}
		s := b.status(src)[0]
		if s.State != Stale || s.Circuit != "open" || s.Error.Class != ClassServer || s.Failures != len(asks) || !strings.Contains(s.Error.Text, "503") {
			t.Errorf("status %+v", s)
		}
		if n := b.log.count("level=WARN"); n != 1 {
			t.Errorf("%d warnings, want 1:\n%s", n, b.log)
		}
		b.net.text("a.example", list("x"))
		time.Sleep(31 * time.Minute)
		stop()
		if s := b.status(src)[0]; s.State != OK || s.Circuit != "closed" || s.Error != nil || s.Failures != 0 {
			t.Errorf("status %+v", s)
		}
		asks = b.net.asks("a.example")
		if gap := asks[len(asks)-1].at.Sub(asks[len(asks)-2].at); gap > 66*time.Second {
			t.Errorf("gap after success %s", gap)
		}
		b.wantActive("a", "x")
	})
}

func TestRetryAfterIsHonoured(t *testing.T) {
	for name, tt := range map[string]struct {
		code        int
		value, date string
		want        time.Duration
	}{
		"seconds":                    {429, "300", "", 5 * time.Minute},
		"a date, by our clock":       {429, "Sat, 01 Jan 2000 00:20:00 GMT", "-", 20 * time.Minute},
		"a date, by another clock":   {503, "Mon, 01 Jan 2035 00:10:00 GMT", "Mon, 01 Jan 2035 00:00:00 GMT", 10 * time.Minute},
		"a day is cut to an hour":    {429, "86400", "", time.Hour},
		"less than the rhythm":       {429, "5", "", time.Minute},
		"the past":                   {429, "Fri, 31 Dec 1999 00:00:00 GMT", "", time.Minute},
		"nonsense":                   {429, "soon", "", time.Minute},
		"a number that is too large": {429, "99999999999999999999", "", time.Minute},
		"negative":                   {429, "-5", "", time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, b *bed) { // a bubble's clock begins at 2000-01-01T00:00:00Z
				src := testSource("a")
				first := true
				b.net.serve("a.example", func(w http.ResponseWriter, r *http.Request) {
					if !first {
						_, _ = w.Write([]byte(list("x")))
						return
					}
					first = false
					w.Header().Set("Retry-After", tt.value)
					switch tt.date {
					case "":
					case "-":
						w.Header()["Date"] = nil
					default:
						w.Header().Set("Date", tt.date)
					}
					w.WriteHeader(tt.code)
				})
				p := b.poller(src)
				stop := b.start(p)
				time.Sleep(10 * time.Second)
				s := b.status(src)[0]
				if s.State != Failing || s.Error == nil || (s.Error.Class == ClassBusy) != (tt.code == 429) {
					t.Errorf("status %+v", s)
				}
				stop()
				stop = b.start(b.poller(src)) // a restart forgets nothing
				time.Sleep(tt.want*6/5 + time.Minute)
				stop()
				asks := b.net.asks("a.example")
				if gap := asks[1].at.Sub(asks[0].at); gap < tt.want-time.Second || gap > tt.want*11/10+2*time.Second {
					t.Errorf("asked again after %s, want %s", gap, tt.want)
				}
			})
		})
	}
}
