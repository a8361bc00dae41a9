package app

import (
	"cmp"
	"log/slog"
	"net/netip"
	"time"

	"github.com/hazardd/hazardd/internal/auth"
	"github.com/hazardd/hazardd/internal/auth/oidc"
	"github.com/hazardd/hazardd/internal/hazard/clock"
	"github.com/hazardd/hazardd/internal/ingest/evidence"
	"github.com/hazardd/hazardd/internal/ingest/poll/delay"
	"github.com/hazardd/hazardd/internal/net/listen"
	"github.com/hazardd/hazardd/internal/serve"
	"github.com/hazardd/hazardd/internal/serve/page/browser"
	"github.com/hazardd/hazardd/internal/serve/route"
	"github.com/hazardd/hazardd/internal/store/blob"
	"github.com/hazardd/hazardd/internal/tell/channel"
	"github.com/hazardd/hazardd/internal/tell/subscription"
)

// Settings are the settings of an installation, as flags, environment and configuration file give
// them. A zero value means the default, which Defaults returns. Of a limit, a negative value means
// that there is none.
type Settings struct {
	serve.Settings
	DataDir  string        // folder of the SQLite file and of the product files
	Database string        // "sqlite:PATH?…"; empty means the file in DataDir
	Files    blob.Settings // location of the product files; zero means DataDir
	// Evidence bounds the age and size of the payloads kept as evidence. With a negative Age
	// nothing is kept.
	Evidence evidence.Limits
	// Pictures bounds the total size of the pictures fetched from sources, in bytes. If negative,
	// no pictures are fetched.
	Pictures int64
	// Retention says how long history and the audit trail are kept, and where older rows are
	// archived. A zero History keeps the history forever.
	Retention Retention
	Backup    Backup // where the continuous backup goes
	Listen    string // host:port
	TLS       *TLS   // the certificate for Listen; nil means plain HTTP
	// PublicURL is the address at which clients reach the service, without a trailing slash. If
	// empty, it is http:// or https:// followed by Listen.
	PublicURL      string
	Sources        []string // names of the sources to poll
	PrivateSources bool     // allow sources at private and loopback addresses
	NoPush         bool     // only poll, even the sources that can push
	NoSendfile     bool     // copy each answer to its connection (listen.Memory)
	NoExposure     bool     // do not count the people who live in hazard areas
	Contact        string   // how sources can reach the operator; sent in the User-Agent
	ProxyURL       string   // HTTP proxy for requests to sources; empty means none
	AppID          int64    // number of this installation
	AccessLife     time.Duration
	RefreshLife    time.Duration
	// Provider is the OpenID provider for logins, without its Redirect; nil means none.
	// ProviderLife is the longest life of such a login.
	Provider     *oidc.Config
	ProviderLife time.Duration
	OrgUploads   int64 // bytes that an organization may upload in a day
	UserStreams  int   // event streams per user
	AllStreams   int   // event streams of all users together; at most three quarters of Connections
	// Connections bounds the open connections. 0 means AllStreams plus 10,000, or fewer if the
	// process has fewer file descriptors.
	Connections int
	// AddressConnections bounds the connections of one address on which nobody has logged in yet.
	AddressConnections int
	// Basemap is the file of a PMTiles archive with streets, or the http(s) address of one, which
	// browsers then read directly. Empty means no basemap.
	Basemap string
	// Layers are pictures that the map can show beneath hazards, such as radar; browsers read them directly.
	Layers []browser.Layer
	// CAPKey and CAPCertificate are the files of the key and certificate that sign the CAP messages
	// of publishing organizations. If empty, the messages are unsigned.
	CAPKey, CAPCertificate string
	WIS2                   WIS2 // where CAP messages are announced
	// WebhookAllow lists non-public addresses that webhooks may reach.
	WebhookAllow []netip.Prefix
	// AddressKey is the file of the key that encrypts the addresses of subscriptions. If empty, the
	// service creates one in DataDir.
	AddressKey string
	// AuditTo is where the audit trail is sent on.
	AuditTo AuditTo
	// FactorRoles are the roles whose local users must have a second factor.
	FactorRoles []auth.Role
	// Storm is how many messages a subscriber gets per minute before further ones are combined into
	// a summary.
	Storm         int
	Confirmations int // address confirmations sent per day
	// ApproveWarnings requires a second person to approve each WARNING of an editor before it is
	// published. ApprovePeople requires it for hazards that reach at least that many people; 0
	// means that no number does.
	ApproveWarnings bool
	ApprovePeople   int64
	Channels        Channels      // how subscribers are notified
	Memory          Memory        // what the process may use; budgets fit into it
	Drain           time.Duration // how long to keep serving, reporting not ready, before the shutdown
	Grace           time.Duration // how long requests in progress may take at the shutdown
}

// Config is the settings of a service, and what the program around it provides.
type Config struct {
	Settings
	Known   *Sources       // the sources of the installation; nil means BuiltIn
	Sender  channel.Sender // replaces the channels, if not nil
	Clock   *clock.Clock   // nil means this machine's clock
	Version string
	// Reading makes a node that only serves what is in the store: it does not poll, deliver, count,
	// sweep or record anything.
	Reading bool
	Logger  *slog.Logger
	// Panicked ends the program once a panic was logged, in place of the text of Go's runtime; nil means
	// the latter.
	Panicked func()

	delays *delay.Delays // nil disables the measurement
}

// Defaults returns the default of each setting that has one. Flags, their help and the documents
// take them from here.
func Defaults() Settings {
	return Settings{
		Settings: serve.Settings{
			MaxFile:      32 << 20,
			Requests:     route.RequestLimits{UserRequests: 64, AllRequests: 4096, UserRate: 1000, UserUploads: 8, WebhookTests: 20},
			PublicLimits: route.PublicLimits{Rate: 50, Requests: 256, Streams: 2000},
		},
		Evidence:           evidence.Limits{Age: 7 * 24 * time.Hour, Bytes: 2 << 30},
		Pictures:           1 << 30,
		Retention:          Retention{Audit: auth.KeepAudit},
		Backup:             Backup{Keep: 72 * time.Hour},
		Listen:             "127.0.0.1:8080",
		AppID:              1,
		AccessLife:         auth.DefaultAccessLife,
		RefreshLife:        auth.DefaultRefreshLife,
		ProviderLife:       auth.DefaultProviderLife,
		OrgUploads:         10 << 30,
		UserStreams:        32,
		AllStreams:         10_000,
		AddressConnections: 256,
		Storm:              subscription.DefaultStorm,
		Confirmations:      subscription.DefaultConfirmations,
		Channels:           Channels{Limits: channel.Limits{Address: 30}},
		Grace:              10 * time.Second,
	}
}

// requestConnections is how many connections are allowed besides those of streams.
const requestConnections = 10_000

// fill replaces zero values by their defaults.
func (s *Settings) fill() {
	d := Defaults()
	s.MaxFile = cmp.Or(s.MaxFile, d.MaxFile)
	s.Requests = route.RequestLimits{
		UserRequests: cmp.Or(s.Requests.UserRequests, d.Requests.UserRequests),
		AllRequests:  cmp.Or(s.Requests.AllRequests, d.Requests.AllRequests),
		UserRate:     cmp.Or(s.Requests.UserRate, d.Requests.UserRate),
		UserUploads:  cmp.Or(s.Requests.UserUploads, d.Requests.UserUploads),
		WebhookTests: cmp.Or(s.Requests.WebhookTests, d.Requests.WebhookTests),
	}
	s.PublicLimits = route.PublicLimits{
		Rate:     cmp.Or(s.PublicLimits.Rate, d.PublicLimits.Rate),
		Requests: cmp.Or(s.PublicLimits.Requests, d.PublicLimits.Requests),
		Streams:  cmp.Or(s.PublicLimits.Streams, d.PublicLimits.Streams),
	}
	s.Evidence = evidence.Limits{Age: cmp.Or(s.Evidence.Age, d.Evidence.Age), Bytes: cmp.Or(s.Evidence.Bytes, d.Evidence.Bytes)}
	s.Pictures = cmp.Or(s.Pictures, d.Pictures)
	s.Retention.Audit = cmp.Or(s.Retention.Audit, d.Retention.Audit)
	s.Backup.Keep = cmp.Or(s.Backup.Keep, d.Backup.Keep)
	s.AppID = cmp.Or(s.AppID, d.AppID)
	s.OrgUploads = cmp.Or(s.OrgUploads, d.OrgUploads)
	s.UserStreams, s.AllStreams = cmp.Or(s.UserStreams, d.UserStreams), cmp.Or(s.AllStreams, d.AllStreams)
	s.Connections = listen.Share(cmp.Or(s.Connections, s.AllStreams+requestConnections))
	s.AllStreams = min(s.AllStreams, max(1, s.Connections/4*3)) // leave room for requests besides the streams
	s.AddressConnections = cmp.Or(s.AddressConnections, d.AddressConnections)
	s.Storm, s.Confirmations = cmp.Or(s.Storm, d.Storm), cmp.Or(s.Confirmations, d.Confirmations)
	s.Grace = cmp.Or(s.Grace, d.Grace)
}

// fill does the same for the parts around the settings.
func (c *Config) fill() {
	c.Settings.fill()
	if c.Known == nil {
		c.Known = BuiltIn()
	}
	if c.Clock == nil {
		c.Clock = clock.New(nil)
	}
}
