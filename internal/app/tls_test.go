package app_test

import (
	"bufio"
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"io"
	"log"
	"log/slog"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/letsencrypt/pebble/v2/ca"
	"github.com/letsencrypt/pebble/v2/db"
	"github.com/letsencrypt/pebble/v2/va"
	"github.com/letsencrypt/pebble/v2/wfe"

	"github.com/hazardd/hazardd/internal/app"
	"github.com/hazardd/hazardd/internal/net/listen/certificate"
	"github.com/hazardd/hazardd/internal/test"
	"github.com/hazardd/hazardd/internal/test/datadir"
	"github.com/hazardd/hazardd/internal/test/server"
)

const secureHost = "hazards.example.org"

// pair writes a certificate for secureHost, and its key, to two files.
func pair(t *testing.T, cert, key string, serial int64) {
	t.Helper()
	secret, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(serial), DNSNames: []string{secureHost}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(90 * 24 * time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, secret.Public(), secret)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(secret)
	if err != nil {
		t.Fatal(err)
	}
	for path, block := range map[string]*pem.Block{cert: {Type: "CERTIFICATE", Bytes: der}, key: {Type: "PRIVATE KEY", Bytes: private}} {
		if err := os.WriteFile(path, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// secureClient returns a client that connects to addr, whatever the host of a request.
func secureClient(t *testing.T, addr net.Addr, roots *x509.CertPool, http2 bool) *http.Client {
	t.Helper()
	var protocols http.Protocols
	protocols.SetHTTP1(!http2)
	protocols.SetHTTP2(http2)
	transport := &http.Transport{Protocols: &protocols, TLSClientConfig: &tls.Config{RootCAs: roots, InsecureSkipVerify: roots == nil},
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, "tcp", addr.String())
		}}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
}

func TestAServerSpeaksTLSWithTheCertificateOfItsFiles(t *testing.T) {
	folder := t.TempDir()
	cert, key := filepath.Join(folder, "cert.pem"), filepath.Join(folder, "key.pem")
	pair(t, cert, key, 1)
	hangup := make(chan os.Signal)
	s := server.Serve(t, func(c *app.Config) {
		c.PublicURL = "https://" + secureHost
		c.TLS = &app.TLS{Cert: cert, Key: key, Plain: "127.0.0.1:0", Hangup: hangup}
	})

	for _, http2 := range []bool{true, false} {
		client := secureClient(t, s.Addr(), nil, http2)
		send := func(user, method, path, body string) *http.Response {
			t.Helper()
			req, err := http.NewRequestWithContext(t.Context(), method, "https://"+secureHost+path, strings.NewReader(body))
			if err != nil {
				t.Fatal(err)
			}
			req.Header.Set("Authorization", "Bearer "+s.Token(user))
			req.Header.Set("Content-Type", "application/json")
			resp, err := client.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = resp.Body.Close() })
			return resp
		}
		resp := send("reader", "GET", "/hazards/active", "")
		if resp.StatusCode != 200 || (resp.ProtoMajor == 2) != http2 || resp.Header.Get("Strict-Transport-Security") == "" {
			t.Errorf("%s %s, Strict-Transport-Security %q", resp.Proto, resp.Status, resp.Header.Get("Strict-Transport-Security"))
		}
		stream := bufio.NewReader(send("reader", "GET", "/events?after=0", "").Body)
		body := `{"hazard_Name": "Flood", "type_ID": "FLOOD", "severity_ID": "WATCH", "latitude": 10, "longitude": 20}`
		if resp := send("red", "POST", "/hazards", body); resp.StatusCode != 201 {
			t.Fatal(resp.Status)
		}
		for {
			line, err := stream.ReadString('\n')
			if err != nil {
				t.Fatal(err)
			}
			if strings.HasPrefix(line, "event: hazard.created") {
				break
			}
		}
	}
	if _, err := tls.Dial("tcp", s.Addr().String(), &tls.Config{InsecureSkipVerify: true, MinVersion: tls.VersionTLS10, MaxVersion: tls.VersionTLS11}); err == nil {
		t.Error("TLS 1.1 is spoken")
	}
	if _, err := tls.Dial("tcp", s.Addr().String(), &tls.Config{InsecureSkipVerify: true, MaxVersion: tls.VersionTLS12,
		CipherSuites: []uint16{tls.TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA}}); err == nil {
		t.Error("a cipher of old is spoken")
	}

	serial := func() int64 {
		conn, err := tls.Dial("tcp", s.Addr().String(), &tls.Config{InsecureSkipVerify: true})
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		return conn.ConnectionState().PeerCertificates[0].SerialNumber.Int64()
	}
	if n := serial(); n != 1 {
		t.Errorf("certificate %d", n)
	}
	pair(t, cert, key, 2)
	hangup <- syscall.SIGHUP
	hangup <- syscall.SIGHUP // it is handled after the first signal was handled
	if n := serial(); n != 2 {
		t.Errorf("certificate %d after the files changed, want 2", n)
	}
	if err := os.WriteFile(key, []byte("no key"), 0o600); err != nil {
		t.Fatal(err)
	}
	hangup <- syscall.SIGHUP
	hangup <- syscall.SIGHUP
	if n := serial(); n != 2 {
		t.Errorf("certificate %d after the key was spoilt, want 2", n)
	}
}

func TestPlainHTTPOnlyLeadsToTLS(t *testing.T) {
	folder := t.TempDir()
	cert, key := filepath.Join(folder, "cert.pem"), filepath.Join(folder, "key.pem")
	pair(t, cert, key, 1)
	s := server.Serve(t, func(c *app.Config) {
		c.PublicURL = "https://" + secureHost
		c.TLS = &app.TLS{Cert: cert, Key: key, Plain: "127.0.0.1:0"}
	})
	client := secureClient(t, s.PlainAddr(), nil, false)
	for _, tt := range []struct {
		method, path, token string
		status              int
		location            string
	}{
		{"GET", "/hazards/active?type=FLOOD", "", 308, "https://" + secureHost + "/hazards/active?type=FLOOD"},
		{"HEAD", "//evil.example/%2e%2e", "", 308, "https://" + secureHost + "//evil.example/%2e%2e"},
		{"GET", "/hazards/active", s.Token("reader"), 400, ""},
		{"POST", "/login/token", "", 400, ""},
		{"GET", "/healthz", "", 200, ""},
		{"GET", "/readyz", "", 200, ""},
	} {
		req, err := http.NewRequestWithContext(t.Context(), tt.method, "http://other.example"+tt.path, nil)
		if err != nil {
			t.Fatal(err)
		}
		if tt.token != "" {
			req.Header.Set("Authorization", "Bearer "+tt.token)
		}
		resp, err := client.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		if resp.StatusCode != tt.status || resp.Header.Get("Location") != tt.location || resp.Header.Get("Strict-Transport-Security") != "" {
			t.Errorf("%s %s: %s, %q", tt.method, tt.path, resp.Status, resp.Header)
		}
	}
}

// The rule to use only TLS applies to a whole host, so it is not set if others may use the host, or
// if it is not a name.
func TestOnlyAHostThatIsWhollyOursIsHeldToTLS(t *testing.T) {
	folder := t.TempDir()
	cert, key := filepath.Join(folder, "cert.pem"), filepath.Join(folder, "key.pem")
	pair(t, cert, key, 1)
	for _, public := range []string{"https://" + secureHost + ":8443", "https://192.0.2.1", "https://localhost"} {
		t.Run(public, func(t *testing.T) {
			s := server.ServeEmpty(t, t.TempDir(), func(c *app.Config) {
				c.PublicURL, c.TLS = public, &app.TLS{Cert: cert, Key: key}
			})
			resp, err := secureClient(t, s.Addr(), nil, true).Get(public + "/healthz")
			if err != nil {
				t.Fatal(err)
			}
			_ = resp.Body.Close()
			if resp.StatusCode != 200 || resp.Header.Get("Strict-Transport-Security") != "" {
				t.Errorf("%s %v", resp.Status, resp.Header)
			}
		})
	}
}

// authority starts a real ACME server, Let's Encrypt's own for tests, which validates at the ports
// of a service. It returns its directory, and a file with its root certificate.
func authority(t *testing.T, secure, plain int) (directory, root string) {
	t.Helper()
	t.Setenv("PEBBLE_VA_NOSLEEP", "1")
	quiet, store := log.New(io.Discard, "", 0), db.NewMemoryStore()
	checks := va.New(quiet, plain, secure, true, "", store)
	front := wfe.New(quiet, store, checks, ca.New(quiet, store, "", "ecdsa", 0, 1, map[string]ca.Profile{"default": {}}), []string{"pebble.letsencrypt.org"}, true, false, 1, 1)
	server := httptest.NewTLSServer(front.Handler())
	t.Cleanup(server.Close)
	root = filepath.Join(t.TempDir(), "root.pem")
	if err := os.WriteFile(root, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}), 0o600); err != nil {
		t.Fatal(err)
	}
	return server.URL + wfe.DirectoryPath, root
}

func TestACertificateIsGotByACME(t *testing.T) {
	test.NoRace(t)
	test.Seldom(t)
	for name, plain := range map[string]bool{"checked by TLS": false, "checked by HTTP": true} {
		t.Run(name, func(t *testing.T) {
			securePort, plainPort := int(test.Address(t).Port()), int(test.Address(t).Port())
			checked := securePort
			if plain {
				checked = int(test.Address(t).Port()) // nothing answers there: only the other validation can succeed
			}
			directory, root := authority(t, checked, plainPort)
			data := t.TempDir()
			set := func(c *app.Config) {
				c.Listen, c.PublicURL = fmt.Sprintf("127.0.0.1:%d", securePort), "https://localhost"
				c.TLS = &app.TLS{ACME: certificate.Settings{Hosts: []string{"localhost"}, Directory: directory, RootFile: root}}
				if plain {
					c.TLS.Plain = fmt.Sprintf("127.0.0.1:%d", plainPort)
				}
			}
			var first *x509.Certificate
			t.Run("a first time", func(t *testing.T) {
				s := server.ServeEmpty(t, data, set)
				for end := time.Now().Add(time.Minute); first == nil; time.Sleep(50 * time.Millisecond) {
					if time.Now().After(end) {
						t.Fatal("no certificate after a minute")
					}
					conn, err := tls.Dial("tcp", s.Addr().String(), &tls.Config{InsecureSkipVerify: true, ServerName: "localhost"})
					if err != nil {
						continue // there is none yet
					}
					first = conn.ConnectionState().PeerCertificates[0]
					_ = conn.Close()
				}
				if err := first.VerifyHostname("localhost"); err != nil {
					t.Error(err)
				}
				resp, err := secureClient(t, s.Addr(), nil, true).Get("https://localhost/healthz")
				if err != nil {
					t.Fatal(err)
				}
				_ = resp.Body.Close()
				if resp.StatusCode != 200 || resp.ProtoMajor != 2 {
					t.Errorf("%s %s", resp.Proto, resp.Status)
				}
			})
			t.Run("not again after a start", func(t *testing.T) {
				s := server.ServeEmpty(t, data, set)
				for end := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Millisecond) {
					conn, err := tls.Dial("tcp", s.Addr().String(), &tls.Config{InsecureSkipVerify: true}) // a client without a host name too
					if err != nil && time.Now().Before(end) {
						continue
					} else if err != nil {
						t.Fatal(err)
					}
					again := conn.ConnectionState().PeerCertificates[0]
					_ = conn.Close()
					if !again.Equal(first) {
						t.Error("another certificate")
					}
					return
				}
			})
			err := filepath.WalkDir(data, func(path string, entry os.DirEntry, err error) error {
				if err != nil || entry.IsDir() || !strings.HasSuffix(path, ".key") {
					return err
				}
				info, err := entry.Info()
				if err == nil && info.Mode().Perm()&0o077 != 0 {
					t.Errorf("%s has mode %v", path, info.Mode())
				}
				return err
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
}

// A key that other users can read is remarked on at the start.
func TestATLSKeyThatOthersReadIsRemarkedOn(t *testing.T) {
	for mode, remarked := range map[os.FileMode]bool{0o600: false, 0o640: false, 0o644: true} {
		dir := t.TempDir()
		cert, key := filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
		pair(t, cert, key, 1)
		if err := os.Chmod(key, mode); err != nil {
			t.Fatal(err)
		}
		var log bytes.Buffer
		s, err := app.Open(t.Context(), app.Config{Logger: slog.New(slog.NewTextHandler(&log, nil)), Settings: app.Settings{DataDir: datadir.Empty(t), Listen: "127.0.0.1:0", NoExposure: true, TLS: &app.TLS{Cert: cert, Key: key}}})
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		if got := strings.Contains(log.String(), "not kept from others"); got != remarked {
			t.Errorf("mode %04o: remarked on is %v", mode, got)
		}
	}
}
