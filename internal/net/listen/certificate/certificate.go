// Package certificate keeps the server's TLS certificate up to date: from files, which are read
// again when they change (Files), or from an authority by ACME, with renewal in time (ACME).
//
// A certificate that is unreadable, expired or does not fit its key never replaces a good one. TLS
// configurations accept TLS 1.2 or later, with authenticated encryption and forward secrecy only,
// and prefer HTTP/2.
package certificate

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"sync/atomic"
	"time"
)

// config returns what all configurations have in common.
func config() *tls.Config {
	return &tls.Config{
		MinVersion: tls.VersionTLS12,
		CipherSuites: []uint16{ // of TLS 1.2; those of 1.3 are all good
			tls.TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256, tls.TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256,
			tls.TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384, tls.TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384,
			tls.TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256, tls.TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256,
		},
		NextProtos: []string{"h2", "http/1.1"},
	}
}

const (
	// readEvery is the interval for reading the files. They are small, and watching folders misses
	// changed links.
	readEvery = 10 * time.Second
	// maxFile is more than any certificate chain needs, in bytes.
	maxFile = 1 << 20
	// soon is how long before its end warnings about a certificate begin.
	soon = 7 * 24 * time.Hour
)

// Files is a certificate in two PEM files: the certificate followed by its intermediates, and the
// key. It is safe for concurrent use.
type Files struct {
	cert, key string
	log       *slog.Logger
	held      atomic.Pointer[held]
	// The rest belongs to Run.
	warned time.Time
}

type held struct {
	pair *tls.Certificate
	text string // of both files
}

// Open reads the two files. An expired certificate is served all the same, and logged, because
// clients then report it.
func Open(cert, key string, log *slog.Logger) (*Files, error) {
	f := &Files{cert: cert, key: key, log: log}
	h, err := f.read()
	if err != nil {
		return nil, err
	}
	f.held.Store(h)
	return f, nil
}

// Config returns a configuration for servers. Each handshake uses the current certificate.
func (f *Files) Config() *tls.Config {
	c := config()
	c.GetCertificate = func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return f.held.Load().pair, nil }
	return c
}

// End returns when the certificate expires.
func (f *Files) End() (at time.Time, ok bool) { return f.held.Load().pair.Leaf.NotAfter, true }

// Run reads the files every ten seconds, and on each signal from hangup, until ctx ends. now is the
// service's time.
func (f *Files) Run(ctx context.Context, hangup <-chan os.Signal, now func() time.Time) error {
	ticker := time.NewTicker(readEvery)
	defer ticker.Stop()
	failed := 0
	for {
		f.warn(now())
		told := false
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		case <-hangup:
			told = true
		}
		changed, err := f.reload(now())
		switch {
		case err == nil:
			failed = 0
			if changed || told {
				end, _ := f.End()
				f.log.Info("the TLS certificate was read", "file", f.cert, "changed", changed, "ends", end.UTC())
			}
		default: // the two files may just be half replaced: the second time it is a fault
			if failed++; told || failed == 2 {
				f.log.Error("cannot use the TLS certificate in the files; serving the last one", "error", err)
			}
		}
	}
}

// reload reads the files, and uses their content if it is valid.
func (f *Files) reload(now time.Time) (changed bool, err error) {
	h, err := f.read()
	if err != nil {
		return false, err
	}
	old := f.held.Load()
	if h.text == old.text {
		return false, nil
	}
	if leaf := h.pair.Leaf; now.After(leaf.NotAfter) && now.Before(old.pair.Leaf.NotAfter) {
		return false, fmt.Errorf("%s: the certificate ended on %s, and the last one is still good", f.cert, leaf.NotAfter.UTC().Format(time.RFC3339))
	}
	f.held.Store(h)
	f.warned = time.Time{}
	return true, nil
}

// warn logs once a day that the certificate expires soon or has expired.
func (f *Files) warn(now time.Time) {
	end, _ := f.End()
	if left := end.Sub(now); left > soon || now.Sub(f.warned) < 24*time.Hour {
		return
	}
	f.warned = now
	f.log.Warn("the TLS certificate expires soon or has expired: replace its file", "file", f.cert, "ends", end.UTC())
}

func (f *Files) read() (*held, error) {
	pair, text, err := Read(f.cert, f.key)
	if err != nil {
		return nil, err
	}
	return &held{pair, text}, nil
}

// Read reads a certificate with its intermediates, and its key, from two PEM files that must fit
// each other. Its Leaf is set. text is the content of both files.
func Read(certificate, key string) (pair *tls.Certificate, text string, err error) {
	public, err := readFile(certificate)
	if err != nil {
		return nil, "", err
	}
	secret, err := readFile(key)
	if err != nil {
		return nil, "", err
	}
	p, err := tls.X509KeyPair(public, secret)
	if err != nil {
		return nil, "", fmt.Errorf("%s and %s: %w", certificate, key, err) // it names no content
	}
	if p.Leaf == nil {
		if p.Leaf, err = x509.ParseCertificate(p.Certificate[0]); err != nil {
			return nil, "", fmt.Errorf("%s: %w", certificate, err)
		}
	}
	return &p, string(public) + string(secret), nil
}

func readFile(path string) ([]byte, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	text, err := io.ReadAll(io.LimitReader(file, maxFile+1))
	if err == nil && len(text) > maxFile {
		err = fmt.Errorf("%s: more than %d bytes", path, maxFile)
	}
	return text, errors.Join(err, file.Close())
}

// Close does nothing: Files holds nothing open.
func (f *Files) Close() {}
