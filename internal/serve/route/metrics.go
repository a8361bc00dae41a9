package route

import (
	"errors"
	"io"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/hazardd/hazardd/internal/serve/encoded"
)

// metrics holds the API's metrics. Labels have a fixed set of values: a route is its pattern,
// never a path.
type metrics struct {
	requests *prometheus.CounterVec
	seconds  *prometheus.HistogramVec
	panics   prometheus.Counter
	refusals *prometheus.CounterVec
	slow     prometheus.Counter
	pace     encoded.Pace
	answers  sync.Pool // of *answered
}

// durations are bucket bounds in seconds, from an answer out of memory to an upload over a bad
// line.
var durations = []float64{0.0002, 0.001, 0.005, 0.025, 0.1, 0.5, 2.5, 10}

func newMetrics(registry *prometheus.Registry, pace encoded.Pace) *metrics {
	m := &metrics{
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "hazardd_http_requests_total",
			Help: "Answered requests by route pattern, method and class of status. Event streams count at their start (HTTP/1.1) or end (HTTP/2)."},
			[]string{"route", "method", "status"}),
		seconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "hazardd_http_request_seconds", Buckets: durations,
			Help: "Time to answer, by route pattern, without event streams. GET /changes?wait= includes the wait."}, []string{"route"}),
		panics:   NewCounter("hazardd_http_panics_total", "Requests whose handler panicked; each is in the log."),
		refusals: Refusals(registry),
		slow:     NewCounter("hazardd_slow_readers_total", "Answers cut off because their readers were slower than 8 KiB/s."),
		pace:     pace,
		answers:  sync.Pool{New: func() any { return &answered{} }},
	}
	registry.MustRegister(m.requests, m.seconds, m.panics, m.slow)
	return m
}

// NewCounter returns a counter, not registered yet.
func NewCounter(name, help string) prometheus.Counter {
	return prometheus.NewCounter(prometheus.CounterOpts{Name: name, Help: help})
}

// Refusals returns the registry's counter of refused requests by limit, and creates it if needed.
// Its label is the limit's name in docs/interface.md.
func Refusals(registry *prometheus.Registry) *prometheus.CounterVec {
	v := prometheus.NewCounterVec(prometheus.CounterOpts{Name: "hazardd_limit_refusals_total",
		Help: "Requests and connections refused by a limit, by the limit's name in docs/interface.md."}, []string{"limit"})
	err := registry.Register(v)
	if there, ok := errors.AsType[prometheus.AlreadyRegisteredError](err); ok {
		return there.ExistingCollector.(*prometheus.CounterVec)
	}
	return v
}

// methods are the values of the label; the last stands for all others.
var methods = [...]string{http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPatch, http.MethodPut, http.MethodDelete, http.MethodOptions, "other"}

// classes of status codes.
var classes = [...]string{"1xx", "2xx", "3xx", "4xx", "5xx"}

// measured holds the metrics of a route. Each series is created by the first request for it.
type measured struct {
	*metrics
	route   string
	next    http.Handler
	endless bool // the duration is not measured
	count   [len(methods)][len(classes)]atomic.Pointer[prometheus.Counter]
	seconds atomic.Pointer[prometheus.Observer]
}

// measure counts the answers of next. pattern is that of http.ServeMux.
func (m *metrics) measure(pattern string, next http.Handler) http.Handler {
	_, path, found := strings.Cut(pattern, " ")
	if !found {
		path = "none" // no route matched
	}
	return &measured{metrics: m, route: path, next: next, endless: pattern == "GET /events"}
}

func (m *measured) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	out := m.answers.Get().(*answered)
	out.ResponseWriter, out.status, out.endless = w, http.StatusOK, m.endless
	out.paced.Begin(w, m.pace)
	began := time.Now()
	defer func() { // deferred, because a handler may panic with http.ErrAbortHandler
		m.note(r.Method, out.status, time.Since(began))
		if out.paced.Late() {
			m.slow.Inc()
		}
		out.ResponseWriter = nil
		out.paced = encoded.Paced{}
		m.answers.Put(out)
	}()
	m.next.ServeHTTP(out, arriving(w, r))
}

func (m *measured) note(method string, status int, took time.Duration) {
	i := slices.Index(methods[:], method)
	if i < 0 {
		i = len(methods) - 1
	}
	class := min(max(status/100, 1), len(classes)) - 1
	count := m.count[i][class].Load()
	if count == nil {
		count = new(m.requests.WithLabelValues(m.route, methods[i], classes[class]))
		m.count[i][class].Store(count)
	}
	(*count).Inc()
	if m.endless {
		return
	}
	seconds := m.seconds.Load()
	if seconds == nil {
		seconds = new(m.metrics.seconds.WithLabelValues(m.route))
		m.seconds.Store(seconds)
	}
	(*seconds).Observe(took.Seconds())
}

// answered records the status of an answer, and disconnects a reader that is too slow. It is
// pooled: do not keep it after the handler has returned.
type answered struct {
	http.ResponseWriter
	status  int
	endless bool // it sets its own deadlines
	paced   encoded.Paced
}

func (w *answered) WriteHeader(status int) {
	if status >= http.StatusOK { // for an informational status another one follows
		w.status = status
	}
	w.ResponseWriter.WriteHeader(status)
}

// Unwrap is for http.ResponseController.
func (w *answered) Unwrap() http.ResponseWriter { return w.ResponseWriter }

func (w *answered) Write(b []byte) (int, error) {
	if w.endless {
		return w.ResponseWriter.Write(b)
	}
	return w.paced.Write(b)
}

// ReadFrom lets the kernel send files.
func (w *answered) ReadFrom(r io.Reader) (int64, error) { return w.paced.ReadFrom(r) }

// ServerWriter returns the server's original writer: http.MaxBytesReader needs it to close the connection.
func ServerWriter(w http.ResponseWriter) http.ResponseWriter {
	for {
		outer, ok := w.(*answered)
		if !ok {
			return w
		}
		w = outer.ResponseWriter
	}
}

// forwarding are the headers by which proxies mark a forwarded request.
var forwarding = []string{"Forwarded", "Via", "X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Proto", "X-Real-Ip"}

// Local reports whether a request comes from a program on this machine. The connection must be
// local and from no known proxy, no header may say that it was forwarded, and the Host must be an
// address of this machine. A name is refused, because a web page may have been given one (DNS
// rebinding).
func (a *Router) Local(r *http.Request) bool {
	peer, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil || !peer.Addr().Unmap().IsLoopback() {
		return false
	}
	addr := peer.Addr().Unmap()
	if slices.ContainsFunc(a.TrustedProxies, func(p netip.Prefix) bool { return p.Contains(addr) }) {
		return false
	}
	if slices.ContainsFunc(forwarding, func(name string) bool { return len(r.Header[name]) > 0 }) {
		return false
	}
	host := r.Host
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	if host == "localhost" {
		return true
	}
	ip, err := netip.ParseAddr(strings.Trim(host, "[]"))
	return err == nil && ip.IsLoopback()
}
