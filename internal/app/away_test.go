package app_test

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hazardd/hazardd/internal/app"
	"github.com/hazardd/hazardd/internal/atlas/population"
	"github.com/hazardd/hazardd/internal/tell/channel"
	"github.com/hazardd/hazardd/internal/tell/message"
	"github.com/hazardd/hazardd/internal/tell/subscription"
	"github.com/hazardd/hazardd/internal/test"
	"github.com/hazardd/hazardd/internal/test/postgres"
	"github.com/hazardd/hazardd/internal/test/server"
)

// line is a connection to a database that can be cut, without a port that others could take.
type line struct {
	net.Listener
	to   string
	mu   sync.Mutex
	cut  bool
	open map[net.Conn]bool
}

func (l *line) serve() {
	for {
		c, err := l.Accept()
		if err != nil {
			return
		}
		go l.forward(c)
	}
}

func (l *line) forward(from net.Conn) {
	to, err := net.Dial("tcp", l.to)
	if err != nil {
		_ = from.Close()
		return
	}
	both := []net.Conn{from, to}
	l.mu.Lock()
	cut := l.cut
	for _, c := range both {
		l.open[c] = true
	}
	l.mu.Unlock()
	var done sync.WaitGroup
	for i := range both {
		done.Go(func() {
			if !cut {
				_, _ = io.Copy(both[i], both[1-i])
			}
			_ = from.Close()
			_ = to.Close()
		})
	}
	done.Wait()
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, c := range both {
		delete(l.open, c)
	}
}

func (l *line) set(cut bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.cut = cut
	for c := range l.open {
		_ = c.Close()
	}
}

// toldNames are the names of hazards in messages.
type toldNames chan string

func (t toldNames) Send(_ context.Context, _ channel.Address, n message.Notice) error {
	for _, it := range n.Items {
		t <- it.Hazard.Name
	}
	return nil
}

func (toldNames) Check(channel.Address) error { return nil }

// A store that goes away while the server runs stops neither lists nor the server, which says so; when it is
// back, what is written is listed and told, without a restart.
func TestAStoreThatGoesAwayComesBack(t *testing.T) {
	test.Slow(t)
	for name, start := range map[string]func(t *testing.T, c *app.Config) (away func(bool)){
		"PostgreSQL": func(t *testing.T, c *app.Config) func(bool) {
			u, err := url.Parse(postgres.URL(t))
			if err != nil {
				t.Fatal(err)
			}
			l := &line{to: u.Host, open: map[net.Conn]bool{}}
			if l.Listener, err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = l.Close(); l.set(true) })
			go l.serve()
			u.Host = l.Addr().String()
			c.Database, c.AddressKey = u.String(), filepath.Join(t.TempDir(), subscription.KeyFile)
			if _, err := subscription.ReadKey(c.AddressKey, true); err != nil {
				t.Fatal(err)
			}
			return l.set
		},
		"the folder of SQLite": func(t *testing.T, c *app.Config) func(bool) {
			data := c.DataDir
			return func(away bool) {
				names := [2]string{data + " away", data}
				if away {
					names = [2]string{data, data + " away"}
				}
				if err := os.Rename(names[0], names[1]); err != nil {
					t.Fatal(err)
				}
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			told := make(toldNames, 100)
			var away func(bool)
			s := server.ServeEmpty(t, filepath.Join(t.TempDir(), "data"), func(c *app.Config) {
				away = start(t, c)
				c.Sender, c.Public = told, "map"
			})
			token := s.Token("admin")
			post := func(path, body string) server.Answer {
				return s.Do("", http.MethodPost, path, body, "Authorization", "Bearer "+token)
			}
			flood := func(name string) server.Answer {
				return post("/hazards", `{"type_ID":"FLOOD","severity_ID":"WARNING","hazard_Name":"`+name+`","latitude":47,"longitude":12}`)
			}
			if a := post("/subscriptions", `{"where":{"points":[{"lon":12,"lat":47,"radius_km":50}]},"channels":[{"kind":"webpush","to":"{}"}]}`); a.Status != http.StatusCreated {
				t.Fatalf("%d %s", a.Status, a.Body)
			}
			if a := flood("Before"); a.Status != http.StatusCreated {
				t.Fatalf("%d %s", a.Status, a.Body)
			}
			if name := <-told; name != "Before" {
				t.Errorf("told %s", name)
			}
			away(true)
			until := func(what string, holds func() bool) {
				t.Helper()
				for end := time.Now().Add(2 * time.Minute); !holds(); time.Sleep(100 * time.Millisecond) {
					if time.Now().After(end) {
						t.Fatal(what)
					}
				}
			}
			during := flood("While it is away")
			if during.Status != http.StatusCreated && (during.Status != http.StatusServiceUnavailable || during.Header.Get("Retry-After") == "") {
				t.Errorf("a write while it is away: %d %s", during.Status, during.Body)
			}
			if name == "PostgreSQL" {
				until("it stays ready", func() bool { return s.Do("", http.MethodGet, "/readyz", nil).Status == http.StatusServiceUnavailable })
			}
			if a := s.Do("", http.MethodGet, "/hazards/active", nil); a.Status != http.StatusOK || !strings.Contains(string(a.Body), "Before") {
				t.Errorf("the list while it is away: %d %.300s", a.Status, a.Body)
			}
			away(false)
			until("it is not ready again", func() bool { return s.Do("", http.MethodGet, "/readyz", nil).Status == http.StatusOK })
			until("it takes no writes again", func() bool { return flood("After").Status == http.StatusCreated })
			until("what is written is not listed", func() bool {
				list := string(s.Do("", http.MethodGet, "/hazards/active", nil).Body)
				return strings.Contains(list, "After") && (during.Status != http.StatusCreated || strings.Contains(list, "While it is away"))
			})
			for name := ""; name != "After"; {
				select {
				case name = <-told:
				case <-time.After(2 * time.Minute):
					t.Fatal("nobody is told")
				}
			}
		})
	}
}

// If the population data is damaged, subscribers of hazards that reach many people get messages about all
// of them, because how many they reach is not known.
func TestDamagedPopulationDataSilencesNobody(t *testing.T) {
	test.Seconds(t)
	data := t.TempDir()
	if err := os.WriteFile(filepath.Join(data, population.FileName), []byte("no grid"), 0o600); err != nil {
		t.Fatal(err)
	}
	told := make(toldNames, 100)
	s := server.ServeEmpty(t, data, func(c *app.Config) { c.Sender, c.NoExposure = told, false })
	wanted := `{"people_min":100000,"where":{"points":[{"lon":12,"lat":47,"radius_km":50}]},"channels":[{"kind":"webpush","to":"{}"}]}`
	if a := s.Do("admin", http.MethodPost, "/subscriptions", wanted); a.Status != http.StatusCreated {
		t.Fatalf("%d %s", a.Status, a.Body)
	}
	area := `{"type":"Polygon","coordinates":[[[11.9,46.9],[12.1,46.9],[12.1,47.1],[11.9,46.9]]]}`
	if a := s.Do("admin", http.MethodPost, "/hazards", `{"type_ID":"FLOOD","severity_ID":"WARNING","hazard_Name":"Dam","latitude":47,"longitude":12,"area":`+area+`}`); a.Status != http.StatusCreated {
		t.Fatalf("%d %s", a.Status, a.Body)
	}
	select {
	case name := <-told:
		if name != "Dam" {
			t.Errorf("told %s", name)
		}
	case <-time.After(2 * time.Minute):
		t.Error("nobody is told")
	}
}
