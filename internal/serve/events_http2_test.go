package serve_test

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"io"
	"math/big"
	"net"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

// framed is a client of HTTP/2 over TLS that sends individual frames. By default its flow control
// window is closed.
type framed struct {
	t *testing.T
	*http2.Framer
	conn net.Conn
}

// frames connects to a server over TLS. Streams receive nothing until a test opens their windows.
func frames(t *testing.T, conn net.Conn) *framed {
	t.Helper()
	secure := tls.Client(conn, &tls.Config{InsecureSkipVerify: true, NextProtos: []string{"h2"}})
	if err := secure.Handshake(); err != nil {
		t.Fatal(err)
	}
	if p := secure.ConnectionState().NegotiatedProtocol; p != "h2" {
		t.Fatalf("negotiated %q", p)
	}
	f := &framed{t: t, Framer: http2.NewFramer(secure, secure), conn: secure}
	if _, err := io.WriteString(secure, http2.ClientPreface); err != nil {
		t.Fatal(err)
	}
	f.must(f.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 0}))
	return f
}

func (f *framed) must(err error) {
	f.t.Helper()
	if err != nil {
		f.t.Fatal(err)
	}
}

// events requests the event stream.
func (f *framed) events(stream uint32, token string) {
	f.t.Helper()
	var block bytes.Buffer
	e := hpack.NewEncoder(&block)
	for _, h := range [][2]string{{":method", "GET"}, {":scheme", "https"}, {":authority", "hazardd.example"}, {":path", "/events"}, {"authorization", "Bearer " + token}} {
		f.must(e.WriteField(hpack.HeaderField{Name: h[0], Value: h[1]}))
	}
	f.must(f.WriteHeaders(http2.HeadersFrameParam{StreamID: stream, BlockFragment: block.Bytes(), EndStream: true, EndHeaders: true}))
}

// secureServer serves HTTP/2 over TLS on a network of pipes, with the limits of the service.
func secureServer(t *testing.T, h http.Handler) *pipes {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), DNSNames: []string{"hazardd.example"}, NotAfter: time.Now().Add(time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	var protocols http.Protocols
	protocols.SetHTTP2(true)
	server := &http.Server{Handler: h, Protocols: &protocols, ReadTimeout: 2 * time.Minute, WriteTimeout: 5 * time.Minute,
		HTTP2:     &http.HTTP2Config{WriteByteTimeout: 30 * time.Second},
		TLSConfig: &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}}}
	network := &pipes{conns: make(chan net.Conn)}
	served := make(chan error, 1)
	go func() { served <- server.ServeTLS(network, "", "") }()
	t.Cleanup(func() {
		_ = server.Close()
		<-served
	})
	return network
}

// An HTTP/2 stream whose reader opens no window is dropped like one of HTTP/1.1, and the other
// streams of its connection continue.
func TestAReaderOfHTTP2ThatOpensNoWindowIsDropped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := handle(t)
		f := frames(t, secureServer(t, p).dial())
		token := p.tokens.of("reader")
		got := make(chan [2]any, 100)
		go func() {
			for {
				frame, err := f.ReadFrame()
				if err != nil {
					close(got)
					return
				}
				switch frame := frame.(type) {
				case *http2.SettingsFrame:
					if !frame.IsAck() {
						_ = f.WriteSettingsAck()
					}
				case *http2.RSTStreamFrame:
					got <- [2]any{frame.StreamID, "reset"}
				case *http2.DataFrame:
					got <- [2]any{frame.StreamID, "data"}
				}
			}
		}()
		synctest.Wait()
		f.events(1, token)
		f.events(3, token)
		f.must(f.WriteWindowUpdate(3, 1<<20))
		synctest.Wait()
		if n := p.Push.Streams(); n != 2 {
			t.Fatalf("%d streams", n)
		}
		began := time.Now()
		for p.Push.Streams() > 1 && time.Since(began) < time.Hour {
			time.Sleep(time.Second)
		}
		if after := time.Since(began); after > 21*time.Second {
			t.Errorf("dropped after %v", after)
		}
		time.Sleep(2 * time.Minute)
		if n := p.Push.Streams(); n != 1 {
			t.Errorf("%d streams of the client that reads", n)
		}
		var resets, data int
		for len(got) > 0 {
			switch e := <-got; e {
			case [2]any{uint32(1), "reset"}:
				resets++
			case [2]any{uint32(3), "data"}:
				data++
			default:
				t.Errorf("%v", e)
			}
		}
		if resets != 1 || data < 8 {
			t.Errorf("%d resets of the unread stream, %d pieces of the other", resets, data)
		}
		_ = f.conn.Close()
		synctest.Wait()
		if n := p.Push.Streams(); n != 0 {
			t.Errorf("%d streams after the connection ended", n)
		}
	})
}

// If a connection accepts nothing at all, all its streams are dropped.
func TestAConnectionOfHTTP2ThatTakesNothingIsDropped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := handle(t)
		f := frames(t, secureServer(t, p).dial())
		token := p.tokens.of("reader")
		read := make(chan struct{})
		go func() {
			defer close(read)
			for n := 0; n < 2; { // its settings, and its acknowledgment of ours
				frame, err := f.ReadFrame()
				if err != nil {
					return
				}
				if _, ok := frame.(*http2.SettingsFrame); ok {
					n++
				}
			}
		}()
		f.must(f.WriteSettingsAck())
		<-read
		f.events(1, token)
		f.events(3, token)
		synctest.Wait()
		if n := p.Push.Streams(); n != 2 {
			t.Fatalf("%d streams", n)
		}
		began := time.Now()
		for p.Push.Streams() > 0 && time.Since(began) < time.Hour {
			time.Sleep(time.Second)
		}
		if after := time.Since(began); after > 45*time.Second {
			t.Errorf("dropped after %v", after)
		}
		_ = f.conn.Close()
	})
}
