// Notify measures how soon subscribers are notified. With 10,000 subscriptions, of which 2,000
// match a WARNING, it measures the time until all messages are queued. It also measures the time
// from an editor's request to the mail server of one subscriber, and from the retraction to the
// correction. With a million subscriptions, it measures how long it takes to find those that match
// a hazard, and the memory needed.
//
// The service runs in this process with its store on disk, and sends mails to a server in this
// process. The subscriptions are created by the service's own code, 500 per transaction, without
// syncing. The time until all messages are queued runs from before the request until the store has
// them. Meanwhile the mail server does not answer.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"time"

	"github.com/emersion/go-smtp"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"github.com/hazardd/hazardd/bench/internal/measure"
	"github.com/hazardd/hazardd/client"
	"github.com/hazardd/hazardd/internal/app"
	"github.com/hazardd/hazardd/internal/auth"
	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/store"
	"github.com/hazardd/hazardd/internal/tell"
	"github.com/hazardd/hazardd/internal/tell/channel"
	"github.com/hazardd/hazardd/internal/tell/message"
	"github.com/hazardd/hazardd/internal/tell/subscription"
)

const (
	concerned = 2000 // subscriptions that match the hazard
	password  = "violet kayak thermos orbit"
)

func main() {
	most := flag.Int("subscriptions", 1_000_000, "subscriptions of the large store; 0: leave it out")
	clicks := flag.Int("clicks", 200, "hazards that are told to one subscriber, and retracted")
	rounds := flag.Int("rounds", 5, "hazards that are told to 2,000 subscribers")
	asJSON := flag.Bool("json", false, "print JSON")
	flag.Parse()
	measure.Main("notify", func(ctx context.Context) error { return run(ctx, *most, *clicks, *rounds, *asJSON) })
}

func run(ctx context.Context, most, clicks, rounds int, asJSON bool) error {
	small, err := measured(ctx, 10_000, clicks, rounds)
	if err != nil {
		return err
	}
	queued := measure.Quantile(small.queued, 1)
	first, correction := measure.Quantile(small.first, 0.99), measure.Quantile(small.correction, 0.99)
	t := measure.Table{Title: "10,000 subscriptions", Heads: []string{"figure", "median", "p99", "most"}}
	t.Add("a WARNING over 2,000: until all are queued, ms", measure.Median(small.queued), measure.Quantile(small.queued, 0.99), queued)
	t.Add("until the mail server has all messages, ms", measure.Median(small.sent), measure.Quantile(small.sent, 0.99), measure.Quantile(small.sent, 1))
	t.Add("from an editor's request to the mail server, ms", measure.Median(small.first), first, measure.Quantile(small.first, 1))
	t.Add("from a retraction to the mail server, ms", measure.Median(small.correction), correction, measure.Quantile(small.correction, 1))
	r := measure.Report{Program: "notify", Machine: measure.Machine(), Tables: []measure.Table{t}, Goals: []measure.Goal{
		measure.AtMost("2,000 of 10,000 queued, ms", queued, 1000),
	}}
	if clicks > 0 {
		r.Goals = append(r.Goals, measure.AtMost("click to mail server, p99, ms", first, 2000), measure.AtMost("retraction to mail server, p99, ms", correction, 2000))
	}
	if most > 0 {
		large, err := measured(ctx, most, 0, rounds)
		if err != nil {
			return err
		}
		t := measure.Table{Title: fmt.Sprintf("%d subscriptions", most), Heads: []string{"figure", "value"}}
		t.Add("to find the 2,000 that match a hazard, ms", large.match)
		t.Add("until all are queued, maximum, ms", measure.Quantile(large.queued, 1))
		t.Add("to read all subscriptions, s", large.loaded.Seconds())
		t.Add("memory of the index, MB", large.memory/1e6)
		r.Tables = append(r.Tables, t)
		r.Goals = append(r.Goals, measure.AtMost("a hazard matched, ms", large.match, 500))
	}
	return r.Write(os.Stdout, asJSON)
}

// figures are the measurements of one store.
type figures struct {
	queued, sent, first, correction []float64 // ms
	match                           float64   // ms
	loaded                          time.Duration
	memory                          float64 // bytes
}

// mailServer receives mails, and delays its answers while it is closed. It is safe for concurrent
// use.
type mailServer struct {
	mu   sync.Mutex
	got  int
	open chan struct{} // closed while the server answers
}

func (m *mailServer) NewSession(*smtp.Conn) (smtp.Session, error) { return m, nil }
func (*mailServer) Mail(string, *smtp.MailOptions) error          { return nil }
func (*mailServer) Rcpt(string, *smtp.RcptOptions) error          { return nil }
func (*mailServer) Reset()                                        {}
func (*mailServer) Logout() error                                 { return nil }

func (m *mailServer) Data(r io.Reader) error {
	if _, err := io.Copy(io.Discard, r); err != nil {
		return err
	}
	m.mu.Lock()
	m.got++
	open := m.open
	m.mu.Unlock()
	<-open
	return nil
}

func (m *mailServer) count() int { m.mu.Lock(); defer m.mu.Unlock(); return m.got }

// shut delays answers until release is called.
func (m *mailServer) shut() (release func()) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.open = make(chan struct{})
	return sync.OnceFunc(func() { close(m.open) })
}

func measured(ctx context.Context, subscriptions, clicks, rounds int) (f figures, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	dir, err := os.MkdirTemp("", "hazardd-bench-notify-")
	if err != nil {
		return f, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	if err := fill(ctx, dir, subscriptions); err != nil {
		return f, err
	}
	mails := &mailServer{}
	mails.shut()()
	var listening net.ListenConfig
	listener, err := listening.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return f, err
	}
	server := smtp.NewServer(mails)
	server.Domain = "localhost"
	go func() { _ = server.Serve(listener) }() // ends with Close
	defer func() { _ = server.Close() }()

	s, err := app.Open(ctx, app.Config{Version: "bench", Logger: slog.New(slog.DiscardHandler), Settings: app.Settings{DataDir: dir, Listen: "127.0.0.1:0", Grace: time.Second, Sources: []string{}, NoExposure: true, Storm: 1 << 30, Channels: app.Channels{SMTP: "smtp://" + listener.Addr().String(), SMTPFrom: "bench@example.org"}}})
	if err != nil {
		return f, err
	}
	if err := s.Auth.Accounts().AddUser(ctx, auth.Actor{}, auth.NewUser{Name: "bench", Role: auth.Admin, Password: password}, s.Now()); err != nil {
		return f, err
	}
	before := heap()
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx) }()
	defer func() { cancel(); err = errors.Join(err, <-ended) }()
	c, err := client.New(s.URL(), client.Options{Username: "bench", Password: password})
	if err != nil {
		return f, err
	}
	b := &bench{c, s, mails}
	// The first hazard waits until all subscriptions have been read.
	began := time.Now()
	if _, err := b.told(ctx, -150, 1); err != nil {
		return f, err
	}
	f.loaded, f.memory = time.Since(began), heap()-before
	sum, count, err := b.matches(ctx)
	if err != nil {
		return f, err
	}
	for range rounds {
		release := mails.shut()
		began, had := time.Now(), mails.count()
		_, err := c.Editor().CreateHazard(ctx, flood(20))
		if err == nil {
			err = b.until(ctx, func() (bool, error) {
				waiting, err := b.waiting(ctx)
				return waiting == concerned, err
			})
		}
		f.queued = append(f.queued, ms(began))
		release()
		if err != nil {
			return f, err
		}
		if err := b.until(ctx, func() (bool, error) { return mails.count() == had+concerned, nil }); err != nil {
			return f, err
		}
		f.sent = append(f.sent, ms(began))
		if err := b.until(ctx, func() (bool, error) { waiting, err := b.waiting(ctx); return waiting == 0, err }); err != nil {
			return f, err
		}
	}
	sum2, count2, err := b.matches(ctx)
	if err != nil {
		return f, err
	}
	f.match = (sum2 - sum) / (count2 - count) * 1000
	for range clicks {
		began := time.Now()
		id, err := b.told(ctx, -150, 1)
		if err != nil {
			return f, err
		}
		f.first = append(f.first, ms(began))
		began, had := time.Now(), mails.count()
		if _, err := c.Editor().Retract(ctx, client.ID(id), "a drill that went out as a warning"); err != nil {
			return f, err
		}
		if err := b.until(ctx, func() (bool, error) { return mails.count() == had+1, nil }); err != nil {
			return f, err
		}
		f.correction = append(f.correction, ms(began))
	}
	return f, nil
}

// bench is a running service.
type bench struct {
	*client.Client
	*app.Service
	mails *mailServer
}

// told creates a hazard, and waits until that many mails about it have arrived.
func (b *bench) told(ctx context.Context, lon float64, mails int) (id int64, err error) {
	had := b.mails.count()
	h, err := b.Editor().CreateHazard(ctx, flood(lon))
	if err != nil {
		return 0, err
	}
	return h.HazardID, b.until(ctx, func() (bool, error) { return b.mails.count() == had+mails, nil })
}

// waiting returns how many notices are waiting. It does not count the subscriptions, which would
// load the machine.
func (b *bench) waiting(ctx context.Context) (n int64, err error) {
	lanes, err := b.Store.Notices.WaitingByLane(ctx)
	for _, l := range lanes {
		n += l.Waiting
	}
	return n, err
}

// matches returns how long the matching of changes took in total, in seconds, and the number of
// these changes.
func (b *bench) matches(ctx context.Context) (sum, count float64, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, b.URL()+"/metrics", nil)
	if err != nil {
		return 0, 0, err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, 0, err
	}
	defer resp.Body.Close()
	parser := expfmt.NewTextParser(model.LegacyValidation)
	families, err := parser.TextToMetricFamilies(resp.Body)
	if err != nil {
		return 0, 0, err
	}
	f := families["hazardd_notice_match_seconds"]
	if f == nil || len(f.Metric) != 1 {
		return 0, 0, fmt.Errorf("/metrics answers %s, without the time that changes take to match", resp.Status)
	}
	h := f.Metric[0].GetHistogram()
	return h.GetSampleSum(), float64(h.GetSampleCount()), nil
}

// patience is the timeout of every step. A million subscriptions are read before the first message
// is sent.
const patience = 15 * time.Minute

// until waits until f returns true.
func (b *bench) until(ctx context.Context, f func() (bool, error)) error {
	for end := time.Now().Add(patience); time.Now().Before(end) && ctx.Err() == nil; time.Sleep(time.Millisecond) {
		if ok, err := f(); err != nil || ok {
			return err
		}
	}
	return fmt.Errorf("not all subscribers were notified within %v", patience)
}

func flood(lon float64) client.NewHazard {
	return client.NewHazard{HazardName: "Flood", TypeID: "FLOOD", SeverityID: "WARNING", Latitude: 10, Longitude: lon,
		Area: fmt.Appendf(nil, `{"type":"Polygon","coordinates":[[[%[1]g,9],[%[2]g,9],[%[2]g,11],[%[1]g,11],[%[1]g,9]]]}`, lon-1, lon+1)}
}

func ms(since time.Time) float64 { return time.Since(since).Seconds() * 1000 }

func heap() float64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return float64(m.HeapAlloc)
}

// anything is a sender that sends nothing.
type anything struct{}

func (anything) Send(context.Context, channel.Address, message.Notice) error { return nil }
func (anything) Check(channel.Address) error                                 { return nil }

// fill creates the subscriptions: one at 150° W, the matching ones at 20° E, and the others all
// over the world, away from both.
func fill(ctx context.Context, dir string, n int) (err error) {
	s, err := store.Open(ctx, dir, "sqlite:"+filepath.Join(dir, "hazardd.db")+"?synchronous=off")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	key, err := subscription.ReadKey(filepath.Join(dir, subscription.KeyFile), true)
	if err != nil {
		return err
	}
	people := subscription.New(subscription.Config{Store: s, Key: key, Sender: anything{}, Now: time.Now})
	who := tell.Author{Caller: &auth.Caller{Name: "bench", Role: auth.Admin}}
	random := rand.New(rand.NewPCG(1, 2))
	levels, digests := []string{"", "ADVISORY", "WATCH", "WARNING"}, []string{"", "FLOOD", "CYCLONE", "EARTHQUAKE"}
	const atOnce = 500 // per transaction
	var bodies [][]byte
	for i := range n {
		lon, lat, level, kind := 20+random.Float64()*1.8-0.9, 10+random.Float64()*1.8-0.9, "", ""
		switch {
		case i == 0:
			lon, lat = -150, 10
		case i > concerned:
			lon, lat = random.Float64()*150+25, random.Float64()*130-65
			level, kind = levels[i%4], digests[i/4%4]
		}
		types := "[]"
		if kind != "" {
			types = `["` + kind + `"]`
		}
		bodies = append(bodies, fmt.Appendf(nil, `{"name":"Home","where":{"points":[{"lon":%g,"lat":%g,"radius_km":%d,"name":"home"}]},"severity_min":%q,"types":%s,"channels":[{"kind":"email","to":"somebody.%d@example.org"}],"confirmed":true}`,
			lon, lat, 5+i%50, level, types, i))
		if len(bodies) < atOnce && i < n-1 {
			continue
		}
		if err := people.CreateAll(ctx, who, bodies, hazard.At(time.Now())); err != nil {
			return err
		}
		if bodies = bodies[:0]; n >= 100_000 && (i+1)%50_000 == 0 {
			fmt.Fprintf(os.Stderr, "notify: %d of %d subscriptions are made\n", i+1, n)
		}
	}
	return nil
}
