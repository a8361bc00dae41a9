package wis2

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"time"

	"github.com/eclipse/paho.golang/packets"
	"github.com/eclipse/paho.golang/paho"
	"github.com/google/uuid"

	"github.com/hazardd/hazardd/internal/net/outbound"
)

// MQTT is a broker that speaks MQTT 5. Each notification has a connection of its own: alerts are rare,
// and no connection can be dead without being noticed.
type MQTT struct {
	address        string // host:port
	user, password string
	tls            *tls.Config // nil: none
}

// atLeastOnce is the quality of service that WIS2 demands.
const atLeastOnce = 1

// NewMQTT returns the broker at an address mqtts://USER@HOST:PORT. A password in the address takes
// precedence. roots are the trusted certificate authorities; nil means the system's.
func NewMQTT(address, password string, roots *x509.CertPool) (*MQTT, error) {
	u, err := url.Parse(address)
	if err != nil || u.Hostname() == "" || u.Scheme != "mqtts" && u.Scheme != "mqtt" || u.Path != "" && u.Path != "/" || u.RawQuery != "" || u.Fragment != "" {
		return nil, errors.New("wis2: expected an address such as mqtts://hazardd@broker.example.org:8883")
	}
	b := &MQTT{user: u.User.Username(), password: password}
	if given, ok := u.User.Password(); ok {
		b.password = given
	}
	port := "1883"
	if u.Scheme == "mqtts" {
		port = "8883"
		b.tls = &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: roots, ServerName: u.Hostname()}
	} else if ip, err := netip.ParseAddr(u.Hostname()); u.Hostname() != "localhost" && (err != nil || !ip.IsLoopback()) {
		return nil, fmt.Errorf("wis2: mqtt:// is allowed to this machine only; use mqtts://%s", u.Host)
	}
	if u.Port() != "" {
		port = u.Port()
	}
	b.address = net.JoinHostPort(u.Hostname(), port)
	return b, nil
}

// Publish publishes a payload to a topic, and waits for the acknowledgment.
func (b *MQTT) Publish(ctx context.Context, topic string, payload []byte) error {
	conn, err := b.dial(ctx)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	client := paho.NewClient(paho.ClientConfig{
		Conn:          packets.NewThreadSafeConn(conn),
		PacketTimeout: outbound.AttemptTimeout,
		OnClientError: func(err error) { cancel(err) },
		OnServerDisconnect: func(d *paho.Disconnect) {
			cancel(fmt.Errorf("the broker ended the connection, reason %#x", d.ReasonCode))
		},
	})
	// The client's goroutines end with its connection.
	defer func() { cancel(nil); _ = conn.Close(); <-client.Done() }()
	_, err = client.Connect(ctx, &paho.Connect{ClientID: "hazardd-" + uuid.NewString(), CleanStart: true, KeepAlive: uint16(outbound.AttemptTimeout / time.Second),
		Username: b.user, UsernameFlag: b.user != "", Password: []byte(b.password), PasswordFlag: b.password != ""})
	if err == nil {
		_, err = client.Publish(ctx, &paho.Publish{Topic: topic, QoS: atLeastOnce, Payload: payload,
			Properties: &paho.PublishProperties{ContentType: "application/geo+json", PayloadFormat: new(byte(1))}})
	}
	if err != nil {
		return errors.Join(err, context.Cause(ctx))
	}
	_ = client.Disconnect(&paho.Disconnect{}) // it was acknowledged
	return nil
}

func (b *MQTT) dial(ctx context.Context) (net.Conn, error) {
	if b.tls != nil {
		return (&tls.Dialer{Config: b.tls}).DialContext(ctx, "tcp", b.address)
	}
	return (&net.Dialer{}).DialContext(ctx, "tcp", b.address)
}
