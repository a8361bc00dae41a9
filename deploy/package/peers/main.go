// Command peers stands for the servers that a package connects to, in the test of the package: a broker of MQTT over TLS, an OpenID
// provider as far as its login begins, and a receiver of syslog. It prints what comes.
//
//	peers CERTIFICATE KEY
package main

import (
	"bufio"
	"crypto/tls"
	"fmt"
	"log"
	"log/slog"
	"net"
	"net/http"
	"os"

	mqtt "github.com/mochi-mqtt/server/v2"
	"github.com/mochi-mqtt/server/v2/hooks/auth"
	"github.com/mochi-mqtt/server/v2/listeners"
	"github.com/mochi-mqtt/server/v2/packets"
)

func main() {
	certificate, err := tls.LoadX509KeyPair(os.Args[1], os.Args[2])
	if err != nil {
		log.Fatal(err)
	}
	broker := mqtt.New(&mqtt.Options{InlineClient: true, Logger: slog.New(slog.DiscardHandler)})
	users := &auth.Ledger{Auth: auth.AuthRules{{Username: "hazardd", Password: "umbrella", Allow: true}}}
	if err := broker.AddHook(new(auth.Hook), &auth.Options{Ledger: users}); err != nil {
		log.Fatal(err)
	}
	if err := broker.AddListener(listeners.NewTCP(listeners.Config{ID: "tls", Address: "127.0.0.1:8883", TLSConfig: &tls.Config{Certificates: []tls.Certificate{certificate}}})); err != nil {
		log.Fatal(err)
	}
	if err := broker.Subscribe("origin/#", 1, func(_ *mqtt.Client, _ packets.Subscription, p packets.Packet) {
		fmt.Println("announced on", p.TopicName)
	}); err != nil {
		log.Fatal(err)
	}
	if err := broker.Serve(); err != nil { // it returns once the broker listens
		log.Fatal(err)
	}

	syslog, err := net.Listen("tcp", "127.0.0.1:6514")
	if err != nil {
		log.Fatal(err)
	}
	go func() {
		for {
			c, err := syslog.Accept()
			if err != nil {
				log.Fatal(err)
			}
			go func() {
				for lines := bufio.NewScanner(c); lines.Scan(); {
					fmt.Println("syslog:", lines.Text())
				}
			}()
		}
	}()

	const issuer = "http://127.0.0.1:8081"
	http.HandleFunc("GET /.well-known/openid-configuration", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = fmt.Fprintf(w, `{"issuer": %[1]q, "authorization_endpoint": "%[1]s/authorize", "token_endpoint": "%[1]s/token", "jwks_uri": "%[1]s/keys",
			"response_types_supported": ["code"], "subject_types_supported": ["public"], "id_token_signing_alg_values_supported": ["RS256"]}`, issuer)
	})
	http.HandleFunc("GET /keys", func(w http.ResponseWriter, _ *http.Request) { _, _ = fmt.Fprint(w, `{"keys": []}`) })
	log.Fatal(http.ListenAndServe("127.0.0.1:8081", nil))
}
