package main

import (
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

	"github.com/hazardd/hazardd/internal/app"
	"github.com/hazardd/hazardd/internal/auth"
	"github.com/hazardd/hazardd/internal/ingest/evidence"
	"github.com/hazardd/hazardd/internal/lang"
)

// addressFlags say at which address the service listens.
type addressFlags struct {
	Listen    address   `default:"${listen}" placeholder:"HOST:PORT" help:"Address to listen on; port 0 takes any free one."`
	PublicURL publicURL `name:"public-url" placeholder:"URL" help:"Address at which clients reach the service. Default: http:// and the address to listen on."`
}

func (f *addressFlags) set(cfg *app.Config) {
	cfg.Listen, cfg.PublicURL = string(f.Listen), f.url()
}

// url returns the service's public address. It is empty if the port is chosen only when the service
// starts to listen.
func (f *addressFlags) url() string {
	if f.PublicURL != "" {
		return string(f.PublicURL)
	}
	host, port, err := net.SplitHostPort(string(f.Listen))
	if err != nil || port == "0" {
		return ""
	}
	if ip, err := netip.ParseAddr(host); host == "" || err == nil && ip.IsUnspecified() {
		host = "localhost" // it listens on all addresses; localhost is one that clients can reach
	}
	return "http://" + net.JoinHostPort(host, port)
}

// tokenFlags say how long tokens are valid.
type tokenFlags struct {
	AccessLife    life     `default:"${access_life}" placeholder:"TIME" help:"How long an access token is valid."`
	RefreshLife   life     `default:"${refresh_life}" placeholder:"TIME" help:"Longest life of a login, however often it is renewed."`
	RequireFactor []string `placeholder:"ROLES" enum:"reader,editor,admin" help:"Roles whose local users must have a second factor, such as editor,admin. One without may do nothing but set one up."`
}

func (f *tokenFlags) set(cfg *app.Config) {
	cfg.AccessLife, cfg.RefreshLife = time.Duration(f.AccessLife), time.Duration(f.RefreshLife)
	for _, role := range f.RequireFactor {
		cfg.FactorRoles = append(cfg.FactorRoles, auth.Role(role))
	}
}

// pollFlags configure polling.
type pollFlags struct {
	Contact  string   `placeholder:"TEXT" help:"Email address or URL at which the sources can reach you. It is sent to them; some refuse requests without it."`
	ProxyURL proxyURL `name:"proxy-url" placeholder:"URL" help:"HTTP proxy for requests to sources."`
	Push     bool     `default:"true" negatable:"" help:"Open the connections over which some sources push news; otherwise they are only polled."`
	// PrivateSources is off by default, so that no payload, redirect or host name makes the server
	// connect to the internal network.
	PrivateSources bool `help:"Allow sources at private and loopback addresses, such as a mirrored server in your network."`
}

func (f *pollFlags) set(cfg *app.Config) {
	cfg.Contact, cfg.ProxyURL, cfg.PrivateSources, cfg.NoPush = f.Contact, string(f.ProxyURL), f.PrivateSources, !f.Push
}

// moreFlags configure what a server adds to the reports of sources.
type moreFlags struct {
	Exposure bool      `default:"true" negatable:"" help:"Count the people who live in hazard areas."`
	Pictures byteLimit `name:"picture-size" default:"${picture_size}" placeholder:"BYTES" help:"Bytes of pictures to keep that sources link to; 0 means that none are fetched."`
}

func (f *moreFlags) set(cfg *app.Config) {
	cfg.NoExposure, cfg.Pictures = !f.Exposure, int64(bound(f.Pictures))
}

// evidenceFlags bound the evidence.
type evidenceFlags struct {
	EvidenceAge  keepTime `default:"${evidence_age}" placeholder:"TIME" help:"How long to keep a payload of a source as received, counted from its last receipt; 0 keeps none."`
	EvidenceSize byteSize `default:"${evidence_size}" placeholder:"BYTES" help:"Bytes of compressed payloads to keep; the oldest are removed first."`
}

func (f *evidenceFlags) set(cfg *app.Config) {
	cfg.Evidence = evidence.Limits{Age: time.Duration(f.EvidenceAge), Bytes: int64(f.EvidenceSize)}
	if f.EvidenceAge == 0 {
		cfg.Evidence.Age = -1
	}
}

// logFlags configure the log.
type logFlags struct {
	LogLevel  slog.Level `default:"info" placeholder:"debug|info|warn|error" help:"Lowest level to log, to standard error."`
	LogFormat string     `enum:"text,json" default:"text" placeholder:"text|json" help:"Format of the log."`
}

// defaults returns the defaults of settings as flags are written, by the name of the flag with
// underscores.
func defaults() map[string]string {
	d := app.Defaults()
	vars := map[string]string{"listen": d.Listen}
	for name, n := range map[string]int64{
		"app_id": d.AppID, "user_streams": int64(d.UserStreams), "all_streams": int64(d.AllStreams), "address_connections": int64(d.AddressConnections),
		"user_requests": int64(d.Requests.UserRequests), "all_requests": int64(d.Requests.AllRequests), "user_rate": int64(d.Requests.UserRate),
		"user_uploads": int64(d.Requests.UserUploads), "webhook_tests": int64(d.Requests.WebhookTests), "public_rate": int64(d.PublicLimits.Rate),
		"public_requests": int64(d.PublicLimits.Requests), "public_streams": int64(d.PublicLimits.Streams), "storm": int64(d.Storm),
		"confirmations": int64(d.Confirmations), "address_rate": int64(d.Channels.Limits.Address),
	} {
		vars[name] = strconv.FormatInt(n, 10)
	}
	for name, size := range map[string]int64{"max_file": d.MaxFile, "org_uploads": d.OrgUploads, "picture_size": d.Pictures, "evidence_size": d.Evidence.Bytes} {
		vars[name] = writeSize(size)
	}
	for name, t := range map[string]time.Duration{"access_life": d.AccessLife, "refresh_life": d.RefreshLife, "oidc_life": d.ProviderLife, "evidence_age": d.Evidence.Age,
		"keep_audit": d.Retention.Audit, "backup_keep": d.Backup.Keep, "grace": d.Grace} {
		vars[name] = writeTime(t)
	}
	return vars
}

// writeSize writes a whole number of MiB or GiB as byteSize reads it.
func writeSize(n int64) string {
	if n%(1<<30) == 0 {
		return fmt.Sprintf("%dGiB", n>>30)
	}
	return fmt.Sprintf("%dMiB", n>>20)
}

// writeTime writes a time as life reads it: from a week on in days.
func writeTime(d time.Duration) string {
	const day = 24 * time.Hour
	switch {
	case d >= 7*day && d%day == 0:
		return fmt.Sprintf("%dd", d/day)
	case d%time.Hour == 0:
		return fmt.Sprintf("%dh", d/time.Hour)
	}
	return d.String()
}

// The types of flags. Each rejects invalid values, so that a mistake is reported before the command
// does anything.
type (
	address   string
	publicURL string
	proxyURL  string
	life      time.Duration
	keepTime  time.Duration
	byteSize  int64
	byteLimit byteSize // 0 means no limit
	network   netip.Prefix
	origin    string
	contact   string
	tongues   lang.Wish
)

func (t *tongues) UnmarshalText(text []byte) error {
	w, err := lang.Parse(string(text))
	*t = tongues(w)
	return err
}

func (a *address) UnmarshalText(text []byte) error {
	_, port, err := net.SplitHostPort(string(text))
	if err != nil {
		return fmt.Errorf("%q is not HOST:PORT", text)
	}
	if _, err := strconv.ParseUint(port, 10, 16); err != nil {
		return fmt.Errorf("%q is not HOST:PORT: the port is not a number from 0 to 65535", text)
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
		return nil, errors.New("expected an address beginning with http:// or https://") // the parser's own error would show a password
	}
	if u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return nil, fmt.Errorf("%q is not an address beginning with http:// or https://", u.Redacted())
	}
	return u, nil
}

// UnmarshalText parses a Go duration or whole days: 90m, 12h, 30d.
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

// UnmarshalText parses a duration, or 0.
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

// UnmarshalText parses a number of bytes, with or without a unit: 1048576, 32MiB, 32MB.
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

// UnmarshalText parses a size, or 0.
func (b *byteLimit) UnmarshalText(text []byte) error {
	if strings.TrimSpace(string(text)) == "0" {
		*b = 0
		return nil
	}
	return (*byteSize)(b).UnmarshalText(text)
}

// UnmarshalText parses a range of addresses, or one address.
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
		return fmt.Errorf("%q is neither like mailto:security@example.org nor an https: address", word)
	}
	*c = contact(word)
	return nil
}
