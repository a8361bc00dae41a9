package main

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"net"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/hazardd/hazardd/internal/evidence"
	"github.com/hazardd/hazardd/internal/service"
	"github.com/hazardd/hazardd/internal/tongue"
)

// addressFlags say where the service is.
type addressFlags struct {
	Listen    address   `default:"127.0.0.1:8080" placeholder:"HOST:PORT" help:"Address to listen on; port 0 takes any free one."`
	PublicURL publicURL `name:"public-url" placeholder:"URL" help:"Address that clients know the service by; if not given, http:// and the address to listen on."`
}

func (f *addressFlags) set(cfg *service.Config) {
	cfg.Listen, cfg.PublicURL = string(f.Listen), f.url()
}

// url is the service's public address; empty if it is not known before the service listens, because the port is any free one.
func (f *addressFlags) url() string {
	if f.PublicURL != "" {
		return string(f.PublicURL)
	}
	host, port, err := net.SplitHostPort(string(f.Listen))
	if err != nil || port == "0" {
		return ""
	}
	if ip, err := netip.ParseAddr(host); host == "" || err == nil && ip.IsUnspecified() {
		host = "localhost" // every address of the machine; this one can be called
	}
	return "http://" + net.JoinHostPort(host, port)
}

// tokenFlags say how long tokens live.
type tokenFlags struct {
	AccessLife  life `default:"1h" placeholder:"TIME" help:"Life of an access token."`
	RefreshLife life `default:"30d" placeholder:"TIME" help:"Life of a login, however often it is renewed."`
}

func (f *tokenFlags) set(cfg *service.Config) {
	cfg.AccessLife, cfg.RefreshLife = time.Duration(f.AccessLife), time.Duration(f.RefreshLife)
}

// pollFlags say how sources are asked.
type pollFlags struct {
	Contact  string   `placeholder:"TEXT" help:"Address or URL at which the sources can reach you; it is sent to them, and some refuse to answer without."`
	ProxyURL proxyURL `name:"proxy-url" placeholder:"URL" help:"HTTP proxy through which the sources are asked."`
	Push     bool     `default:"true" negatable:"" help:"Open the connections over which some sources push what is new; else they are only polled."`
	// PrivateSources is off by default, so that no payload, redirect or host name leads to an address inside the network.
	PrivateSources bool `help:"Sources may be at private and loopback addresses, such as a mirrored server inside."`
}

func (f *pollFlags) set(cfg *service.Config) {
	cfg.Contact, cfg.ProxyURL, cfg.PrivateSources, cfg.NoPush = f.Contact, string(f.ProxyURL), f.PrivateSources, !f.Push
}

// moreFlags say what a server finds out about hazards beside what the sources say.
type moreFlags struct {
	Exposure bool      `default:"true" negatable:"" help:"Count who lives where hazards are."`
	Pictures byteLimit `name:"picture-size" default:"1GiB" placeholder:"BYTES" help:"Bytes of pictures that sources name, fetched and kept; 0: none is fetched."`
}

func (f *moreFlags) set(cfg *service.Config) {
	cfg.NoExposure = !f.Exposure
	if cfg.Pictures = int64(f.Pictures); f.Pictures == 0 {
		cfg.Pictures = -1
	}
}

// evidenceFlags say how much is kept of what the sources give.
type evidenceFlags struct {
	EvidenceAge  keepTime `default:"7d" placeholder:"TIME" help:"How long a payload of a source is kept as received after it came last; 0: none is kept."`
	EvidenceSize byteSize `default:"2GiB" placeholder:"BYTES" help:"Bytes of compressed payloads that are kept; the oldest go first."`
}

func (f *evidenceFlags) set(cfg *service.Config) {
	cfg.Evidence = evidence.Limits{Age: time.Duration(f.EvidenceAge), Bytes: int64(f.EvidenceSize)}
	if f.EvidenceAge == 0 {
		cfg.Evidence.Age = -1
	}
}

// logFlags say what is logged, and how.
type logFlags struct {
	LogLevel  slog.Level `default:"info" placeholder:"debug|info|warn|error" help:"Least level that is logged, to standard error."`
	LogFormat string     `enum:"text,json" default:"text" placeholder:"text|json" help:"Form of the log."`
}

// The types of flags. Each refuses what it cannot mean, so that a mistake is told before anything is done.
type (
	address   string
	publicURL string
	proxyURL  string
	life      time.Duration
	keepTime  time.Duration
	byteSize  int64
	byteLimit byteSize // 0: none
	network   netip.Prefix
	origin    string
	contact   string
	tongues   tongue.Wish
)

func (t *tongues) UnmarshalText(text []byte) error {
	w, err := tongue.Parse(string(text))
	*t = tongues(w)
	return err
}

func (a *address) UnmarshalText(text []byte) error {
	_, port, err := net.SplitHostPort(string(text))
	if err != nil {
		return fmt.Errorf("%q is not HOST:PORT", text)
	}
	if _, err := strconv.ParseUint(port, 10, 16); err != nil {
		return fmt.Errorf("%q is not HOST:PORT: the port is no number from 0 to 65535", text)
	}
	*a = address(text)
	return nil
}

func (u *publicURL) UnmarshalText(text []byte) error {
	parsed, err := httpURL(string(text))
	if err != nil {
		return err
	}
	if parsed.User != nil || parsed.RawQuery != "" || parsed.Fragment != "" {
		return fmt.Errorf("%q must be without user, query and fragment", parsed.Redacted())
	}
	*u = publicURL(strings.TrimRight(string(text), "/"))
	return nil
}

func (u *proxyURL) UnmarshalText(text []byte) error {
	_, err := httpURL(string(text))
	*u = proxyURL(text)
	return err
}

func httpURL(text string) (*url.URL, error) {
	u, err := url.Parse(text)
	if err != nil {
		return nil, errors.New("expected an address beginning with http:// or https://") // the error would show a password
	}
	if u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return nil, fmt.Errorf("%q is not an address beginning with http:// or https://", u.Redacted())
	}
	return u, nil
}

// UnmarshalText reads a duration as Go writes it, and whole days: 90m, 12h, 30d.
func (l *life) UnmarshalText(text []byte) error {
	d, err := time.ParseDuration(string(text))
	if days, found := strings.CutSuffix(string(text), "d"); err != nil && found {
		var n int64
		if n, err = strconv.ParseInt(days, 10, 32); err == nil && n <= math.MaxInt64/int64(24*time.Hour) {
			d = time.Duration(n) * 24 * time.Hour
		}
	}
	if err != nil || d < time.Second {
		return fmt.Errorf("%q is not a time of a second or more, such as 90m, 12h or 30d", text)
	}
	*l = life(d)
	return nil
}

// UnmarshalText reads a time, or 0.
func (k *keepTime) UnmarshalText(text []byte) error {
	if string(text) == "0" {
		*k = 0
		return nil
	}
	if err := (*life)(k).UnmarshalText(text); err != nil {
		return fmt.Errorf("%w, nor 0", err)
	}
	return nil
}

// UnmarshalText reads a number of bytes, with or without a unit: 1048576, 32MiB, 32MB.
func (b *byteSize) UnmarshalText(text []byte) error {
	units := []struct {
		suffix string
		size   int64
	}{{"KIB", 1 << 10}, {"MIB", 1 << 20}, {"GIB", 1 << 30}, {"KB", 1e3}, {"MB", 1e6}, {"GB", 1e9}, {"B", 1}, {"", 1}}
	for _, unit := range units {
		number, found := strings.CutSuffix(strings.ToUpper(string(text)), unit.suffix)
		if !found {
			continue
		}
		n, err := strconv.ParseInt(strings.TrimSpace(number), 10, 64)
		if err == nil && n > 0 && n <= math.MaxInt64/unit.size {
			*b = byteSize(n * unit.size)
			return nil
		}
		break
	}
	return fmt.Errorf("%q is not a number of bytes above 0, such as 32MiB", text)
}

// UnmarshalText reads a size, or 0.
func (b *byteLimit) UnmarshalText(text []byte) error {
	if strings.TrimSpace(string(text)) == "0" {
		*b = 0
		return nil
	}
	return (*byteSize)(b).UnmarshalText(text)
}

// UnmarshalText reads a range of addresses, or one address.
func (n *network) UnmarshalText(text []byte) error {
	word := strings.TrimSpace(string(text))
	prefix, err := netip.ParsePrefix(word)
	if err != nil {
		addr, addrErr := netip.ParseAddr(word)
		if addrErr != nil {
			return fmt.Errorf("%q is neither an address nor a range such as 10.0.0.0/8", text)
		}
		prefix = netip.PrefixFrom(addr, addr.BitLen())
	}
	*n = network(prefix)
	return nil
}

func (o *origin) UnmarshalText(text []byte) error {
	word := strings.TrimSpace(string(text))
	if word != "*" {
		u, err := httpURL(word)
		if err != nil {
			return err
		}
		if u.Path != "" || u.RawQuery != "" || u.Fragment != "" || u.User != nil {
			return fmt.Errorf("%q is not an origin such as https://maps.example.org", u.Redacted())
		}
	}
	*o = origin(word)
	return nil
}

func (c *contact) UnmarshalText(text []byte) error {
	word := strings.TrimSpace(string(text))
	u, err := url.Parse(word)
	if err != nil || u.Scheme != "mailto" && u.Scheme != "https" || u.Opaque == "" && u.Host == "" || strings.ContainsFunc(word, unicode.IsSpace) {
		return fmt.Errorf("%q is neither mailto:security@example.org nor an address of https", word)
	}
	*c = contact(word)
	return nil
}

// logger makes the log of the server.
func (f *logFlags) logger(c *console) *slog.Logger {
	opts := &slog.HandlerOptions{Level: f.LogLevel}
	if cmp.Or(f.LogFormat, "text") == "json" {
		return slog.New(slog.NewJSONHandler(c.err, opts))
	}
	return slog.New(slog.NewTextHandler(c.err, opts))
}
