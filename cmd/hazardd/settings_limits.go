package main

import (
	"errors"
	"net/netip"
	"strconv"
	"strings"

	"github.com/hazardd/hazardd/internal/app"
	"github.com/hazardd/hazardd/internal/lang"
	"github.com/hazardd/hazardd/internal/serve/page/browser"
	"github.com/hazardd/hazardd/internal/serve/route"
)

// limitFlags bound what users may do.
type limitFlags struct {
	MaxFile      byteSize  `default:"${max_file}" placeholder:"BYTES" help:"Largest product file."`
	OrgUploads   byteLimit `default:"${org_uploads}" placeholder:"BYTES" help:"Bytes that an organization may upload per day (UTC), on all nodes together; 0 means no limit."`
	UserStreams  int       `default:"${user_streams}" placeholder:"N" help:"Open event streams per user."`
	AllStreams   int       `default:"${all_streams}" placeholder:"N" help:"Open event streams of all users together."`
	Connections  int       `default:"0" placeholder:"N" help:"Open connections; 0 means 10000 more than streams, or as many as the file descriptors allow."`
	AddressConns int       `name:"address-connections" default:"${address_connections}" placeholder:"N" help:"Open connections without a login per address (IPv6: per /64). Trusted proxies have no such limit."`
	UserRequests int       `default:"${user_requests}" placeholder:"N" help:"Concurrent requests per user; 0 means no limit."`
	AllRequests  int       `default:"${all_requests}" placeholder:"N" help:"Concurrent requests of all users together; 0 means no limit."`
	UserRate     int       `default:"${user_rate}" placeholder:"N" help:"Requests per second and user, in bursts of up to ten seconds' worth; 0 means no limit."`
	UserUploads  int       `default:"${user_uploads}" placeholder:"N" help:"Concurrent uploads per user; 0 means no limit."`
	WebhookTests int       `default:"${webhook_tests}" placeholder:"N" help:"Webhook tests per hour and user; 0 means no limit."`
}

func (f *limitFlags) set(cfg *app.Config) {
	cfg.MaxFile, cfg.OrgUploads = int64(f.MaxFile), int64(bound(f.OrgUploads))
	cfg.UserStreams, cfg.AllStreams, cfg.Connections, cfg.AddressConnections = f.UserStreams, f.AllStreams, f.Connections, f.AddressConns
	cfg.Requests = route.RequestLimits{UserRequests: bound(f.UserRequests), AllRequests: bound(f.AllRequests), UserRate: bound(f.UserRate), UserUploads: bound(f.UserUploads),
		WebhookTests: bound(f.WebhookTests)}
}

// readerFlags say what readers without an account see, and how.
type readerFlags struct {
	Public         string         `default:"off" enum:"off,read,map" placeholder:"off|read|map" help:"What anyone can read without an account: nothing (off), unrestricted hazards (read), or these with the map and the widget (map)."`
	PublicRate     int            `default:"${public_rate}" placeholder:"N" help:"Requests without an account per second and address, in bursts of up to ten seconds' worth. All addresses together may send 40 times as many. 0 means no limit."`
	PublicRequests int            `default:"${public_requests}" placeholder:"N" help:"Concurrent requests without an account; one address may have an eighth of them. 0 means no limit."`
	PublicStreams  int            `default:"${public_streams}" placeholder:"N" help:"Open event streams without an account; one address may have an eighth of them. 0 means no limit."`
	EmbedSites     []origin       `placeholder:"ORIGIN" help:"Web origins whose pages may show the widget (/embed) in a frame; * allows all."`
	Basemap        string         `placeholder:"FILE|URL" help:"PMTiles archive with streets for the map, with the layers of Protomaps' basemap: a file that this server serves, or an address that browsers read directly."`
	Layers         []layerSetting `name:"layers" sep:";" placeholder:"name=… url=… attribution=…" help:"Layer of pictures for the map, such as radar: name, url (tiles with {z}/{x}/{y}, TileJSON or PMTiles), attribution; title, hosts, min-zoom, max-zoom, size, opacity, refresh."`
	Languages      tongues        `placeholder:"LIST" help:"Fallback languages, such as de,en, for readers who ask for languages that a text does not have. Default: the authority's own."`
}

func (f *readerFlags) set(cfg *app.Config) {
	cfg.Public, cfg.Basemap, cfg.Languages = route.Public(f.Public), f.Basemap, lang.Wish(f.Languages)
	cfg.PublicLimits = route.PublicLimits{Rate: bound(f.PublicRate), Requests: bound(f.PublicRequests), Streams: bound(f.PublicStreams)}
	for _, l := range f.Layers {
		cfg.Layers = append(cfg.Layers, browser.Layer(l))
	}
	for _, o := range f.EmbedSites {
		cfg.EmbedSites = append(cfg.EmbedSites, string(o))
	}
}

// editingFlags say what needs two people, and how subscribers and CAP messages are protected.
type editingFlags struct {
	CAPKey          string    `name:"cap-key" type:"path" placeholder:"FILE" help:"Key that signs the CAP messages of publishing organizations: RSA, in PEM, mode 0600, the same on all nodes. Read at the start."`
	CAPCertificate  string    `name:"cap-certificate" type:"path" placeholder:"FILE" help:"Certificate of that key in PEM, with its intermediates. Read at the start."`
	WIS2            string    `name:"wis2" placeholder:"ADDRESS" help:"MQTT 5 broker for announcing published CAP messages on WIS2: mqtts://USER@HOST:PORT. Default: none."`
	WIS2Password    string    `name:"wis2-password-file" type:"path" placeholder:"FILE" help:"File with the password of the user in --wis2, if the address has none."`
	WIS2Topic       string    `name:"wis2-topic" placeholder:"TOPIC" help:"WIS2 topic of your centre, such as origin/a/wis2/ke-kmd/data/core/weather/advisories-warnings."`
	WIS2Dataset     string    `name:"wis2-dataset" placeholder:"ID" help:"Identifier of your warnings in the WIS2 catalogue, such as urn:wmo:md:ke-kmd:cap-alerts."`
	ApproveWarnings bool      `help:"Publish a WARNING of an editor only after a second editor approves it."`
	ApprovePeople   int64     `default:"0" placeholder:"N" help:"Publish a hazard of an editor only after a second editor approves it, if it reaches at least this many people or subscribers; 0 means no such number."`
	WebhookAllow    []network `placeholder:"RANGE" help:"Non-public addresses that webhooks and channels may reach, with http too and on every port."`
	AddressKey      string    `type:"path" placeholder:"FILE" help:"File with the key that encrypts the addresses of subscriptions: 32 random bytes in base64, mode 0600, the same on all nodes. Default: addresses.key in the data folder, created if missing; with --database there is no default, and without a key there are no subscriptions."`
	Storm           int       `default:"${storm}" placeholder:"N" help:"Messages per minute to one channel of a subscription before further ones are combined into a summary."`
	Confirmations   int       `default:"${confirmations}" placeholder:"N" help:"Address confirmations sent per day in all; at most 3 to one address."`
}

func (f *editingFlags) set(cfg *app.Config) error {
	cfg.CAPKey, cfg.CAPCertificate = f.CAPKey, f.CAPCertificate
	cfg.WIS2 = app.WIS2{Broker: f.WIS2, Password: f.WIS2Password, Topic: f.WIS2Topic, Dataset: f.WIS2Dataset}
	cfg.ApproveWarnings, cfg.ApprovePeople = f.ApproveWarnings, f.ApprovePeople
	cfg.AddressKey, cfg.Storm, cfg.Confirmations = f.AddressKey, f.Storm, f.Confirmations
	for _, n := range f.WebhookAllow {
		cfg.WebhookAllow = append(cfg.WebhookAllow, netip.Prefix(n))
	}
	if (f.CAPKey == "") != (f.CAPCertificate == "") {
		return errors.New("--cap-key and --cap-certificate need each other")
	}
	return nil
}

type layerSetting browser.Layer

// UnmarshalText parses the pairs of a layer.
func (l *layerSetting) UnmarshalText(text []byte) error {
	*l = layerSetting{Opacity: 1}
	number := func(to *int) func(string) error {
		return func(v string) (err error) { *to, err = strconv.Atoi(v); return err }
	}
	return readPairs("layers", string(text), map[string]func(string) error{
		"name":        into(&l.Name),
		"title":       into(&l.Title),
		"url":         into(&l.URL),
		"attribution": into(&l.Attribution),
		"hosts":       func(v string) error { l.Hosts = strings.Split(v, ","); return nil },
		"min-zoom":    number(&l.MinZoom),
		"max-zoom":    number(&l.MaxZoom),
		"size":        number(&l.Size),
		"opacity":     func(v string) (err error) { l.Opacity, err = strconv.ParseFloat(v, 64); return err },
		"refresh":     intoTime(&l.Refresh),
	})
}
