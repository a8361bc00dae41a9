package app_test

import (
	"bytes"
	"context"
	"crypto/sha512"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	mqtt "github.com/mochi-mqtt/server/v2"
	mqttauth "github.com/mochi-mqtt/server/v2/hooks/auth"
	"github.com/mochi-mqtt/server/v2/listeners"
	"github.com/mochi-mqtt/server/v2/packets"

	"github.com/hazardd/hazardd/internal/app"
	"github.com/hazardd/hazardd/internal/serve/route"
	"github.com/hazardd/hazardd/internal/test"
	"github.com/hazardd/hazardd/internal/test/server"
)

const wis2Topic = "origin/a/wis2/ke-kmd/data/core/weather/advisories-warnings"

// An editor's warning is on the topic of the centre, over TLS and with a password, and its link leads
// to the message that the checksum is of.
func TestAWarningIsAnnouncedOnWIS2(t *testing.T) {
	tlsServer := httptest.NewTLSServer(nil) // for its certificate
	defer tlsServer.Close()
	roots := x509.NewCertPool()
	roots.AddCert(tlsServer.Certificate())
	broker := mqtt.New(&mqtt.Options{InlineClient: true, Logger: slog.New(slog.DiscardHandler)})
	rules := &mqttauth.Ledger{Auth: mqttauth.AuthRules{{Username: "kmd", Password: "secret", Allow: true}}, ACL: mqttauth.ACLRules{{Filters: mqttauth.Filters{wis2Topic: mqttauth.WriteOnly}}}}
	if err := broker.AddHook(new(mqttauth.Hook), &mqttauth.Options{Ledger: rules}); err != nil {
		t.Fatal(err)
	}
	at := listeners.NewTCP(listeners.Config{ID: "tls", Address: "127.0.0.1:0", TLSConfig: &tls.Config{Certificates: tlsServer.TLS.Certificates}})
	if err := broker.AddListener(at); err != nil {
		t.Fatal(err)
	}
	go func() { _ = broker.Serve() }() // ends with Close
	defer func() { _ = broker.Close() }()
	came := make(chan packets.Packet, 100)
	if err := broker.Subscribe(wis2Topic, 1, func(_ *mqtt.Client, _ packets.Subscription, p packets.Packet) { came <- p }); err != nil {
		t.Fatal(err)
	}
	password := filepath.Join(t.TempDir(), "password")
	if err := os.WriteFile(password, []byte("secret\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	srv := server.Serve(t, announce("mqtts://kmd@"+at.Address(), password, roots))
	publishWarning(t, srv)
	select {
	case p := <-came:
		if p.FixedHeader.Qos != 1 || p.FixedHeader.Retain || p.Properties.ContentType != "application/geo+json" {
			t.Errorf("quality of service %d, retained %t, type %q", p.FixedHeader.Qos, p.FixedHeader.Retain, p.Properties.ContentType)
		}
		checkAnnounced(t, p.Payload)
	case <-time.After(5 * time.Minute):
		t.Fatal("nothing was announced")
	}
	answer, err := http.Get(srv.URL() + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil || !bytes.Contains(text, []byte("hazardd_wis2_notifications_pending")) || !bytes.Contains(text, []byte(`hazardd_wis2_notifications_total{state="delivered"}`)) {
		t.Errorf("metrics: %v %s", err, text)
	}
}

// Eclipse Mosquitto takes a notification, and its own client reads it.
func TestMosquittoTakesNotifications(t *testing.T) {
	program, err := exec.LookPath("mosquitto")
	if err != nil {
		program = "/usr/sbin/mosquitto" // Debian's place, which is not on every user's path
	}
	reader, readerErr := exec.LookPath("mosquitto_sub")
	if _, err := os.Stat(program); err != nil || readerErr != nil {
		t.Skip("mosquitto and mosquitto-clients are missing")
	}
	at := test.Address(t)
	port := fmt.Sprint(at.Port())
	conf := filepath.Join(t.TempDir(), "mosquitto.conf")
	if err := os.WriteFile(conf, fmt.Appendf(nil, "listener %s 127.0.0.1\nallow_anonymous true\n", port), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	broker := exec.CommandContext(ctx, program, "-c", conf)
	if err := broker.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { cancel(); _ = broker.Wait() }()
	srv := server.Serve(t, announce("mqtt://"+at.String(), "", nil))
	var out []byte
	read := make(chan error, 1)
	go func() {
		var err error
		for ctx.Err() == nil { // until the broker listens
			if out, err = exec.CommandContext(ctx, reader, "-V", "5", "-q", "1", "-h", "127.0.0.1", "-p", port, "-t", wis2Topic, "-C", "1", "-i", "reader", "-c", "-x", "600").Output(); err == nil {
				break
			}
		}
		read <- err
	}()
	publishWarning(t, srv)
	for {
		select {
		case err := <-read:
			if err != nil {
				t.Fatal(err)
			}
			checkAnnounced(t, out)
			return
		case <-time.After(5 * time.Second): // a notification before the subscription is gone
			publishWarning(t, srv)
		}
	}
}

func announce(broker, password string, roots *x509.CertPool) func(*app.Config) {
	return func(cfg *app.Config) {
		cfg.Public = route.PublicRead
		cfg.WIS2 = app.WIS2{Broker: broker, Password: password, Topic: wis2Topic, Dataset: "urn:wmo:md:ke-kmd:cap-alerts", Roots: roots}
	}
}

// publishWarning makes an organization publish, and reports a warning of it.
func publishWarning(t *testing.T, srv *server.Server) {
	t.Helper()
	if a := srv.Do("root", "PUT", fmt.Sprintf("/organizations/%d/publishing", srv.RedCross), `{"sender":"alerts@red.example.org"}`); a.Status != http.StatusOK {
		t.Fatalf("publishing: %d %s", a.Status, a.Body)
	}
	body := fmt.Sprintf(`{"hazard_Name":"River Tana","type_ID":"FLOOD","severity_ID":"WARNING","latitude":-2,"longitude":40,"org_ID":%d,"description":"Rising."}`, srv.RedCross)
	if a := srv.Do("red", "POST", "/hazards", body); a.Status != http.StatusCreated {
		t.Fatalf("hazard: %d %s", a.Status, a.Body)
	}
}

// checkAnnounced follows the link of a notification.
func checkAnnounced(t *testing.T, payload []byte) {
	t.Helper()
	var n struct {
		Properties struct {
			Metadata  string `json:"metadata_id"`
			Integrity struct{ Value []byte }
		}
		Links []struct{ Href, Rel string }
	}
	if err := json.Unmarshal(payload, &n); err != nil || len(n.Links) != 1 || n.Links[0].Rel != "canonical" || n.Properties.Metadata != "urn:wmo:md:ke-kmd:cap-alerts" {
		t.Fatalf("%v: %s", err, payload)
	}
	if u, err := url.Parse(n.Links[0].Href); err != nil || !strings.HasPrefix(u.Path, "/cap/") {
		t.Fatalf("link %s", n.Links[0].Href)
	}
	answer, err := http.Get(n.Links[0].Href)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	sum := sha512.Sum512(text)
	if err != nil || answer.StatusCode != http.StatusOK || !bytes.Equal(sum[:], n.Properties.Integrity.Value) {
		t.Errorf("%s: %d, %v, not the message of the checksum: %s", n.Links[0].Href, answer.StatusCode, err, text)
	}
}
