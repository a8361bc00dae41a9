package app

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/hazardd/hazardd/internal/auth"
	"github.com/hazardd/hazardd/internal/hazard/clock"
	"github.com/hazardd/hazardd/internal/store/lease"
)

// The audit trail is sent on from the store, by one node at a time: no write waits for it, and what
// cannot be sent waits in the store for as long as the trail is kept. Each row is sent at least once, in
// order; over UDP it may get lost on the way.

// AuditTo is where the audit trail is sent: "-" for standard output, the path of a file, or a syslog
// server as udp://HOST:PORT, tcp://HOST:PORT or tls://HOST:PORT. Empty means nowhere.
type AuditTo string

// Check returns what is wrong with the place.
func (a AuditTo) Check() error {
	if !strings.Contains(string(a), "://") {
		return nil
	}
	u, err := url.Parse(string(a))
	if err != nil || u.Scheme != "udp" && u.Scheme != "tcp" && u.Scheme != "tls" || u.Port() == "" || u.Hostname() == "" || u.Path != "" || u.User != nil {
		return fmt.Errorf("audit-to: %q is not udp://HOST:PORT, tcp://HOST:PORT, tls://HOST:PORT, the path of a file, or -", a)
	}
	return nil
}

const (
	auditLease    = "send the audit trail"
	auditEvery    = time.Second
	auditAgain    = 10 * time.Second // after a failure
	auditBatch    = 500
	auditPatience = 10 * time.Second // for one batch
)

// auditMeasures holds this node's counters of sending the audit trail.
type auditMeasures struct{ sent, failures atomic.Int64 }

// sendAudit sends the audit trail on until ctx ends.
func (s *Service) sendAudit(ctx context.Context) error {
	if s.cfg.AuditTo == "" {
		return nil
	}
	holder, failing := lease.Holder(), false
	for ctx.Err() == nil {
		wait := auditEvery
		var failed error
		_, err := lease.Hold(ctx, s.Store.Leases, auditLease, holder, lease.Lost(s.cfg.Logger, "sends the audit trail"), func(ctx context.Context, l *lease.Lease) {
			for ctx.Err() == nil && l.Valid() {
				if failed = s.sendAuditOnce(ctx); failed != nil {
					return
				}
				if failing {
					s.cfg.Logger.Info("the audit trail is sent again")
					failing = false
				}
				_ = clock.Sleep(ctx, auditEvery)
			}
		})
		if err = errors.Join(err, failed); err != nil && ctx.Err() == nil {
			wait = auditAgain
			s.audited.failures.Add(1)
			if !failing {
				s.cfg.Logger.Error("cannot send the audit trail; its rows wait in the store", "error", err)
			}
			failing = true
		}
		_ = clock.Sleep(ctx, wait)
	}
	return nil
}

// sendAuditOnce sends the rows that were not sent yet.
func (s *Service) sendAuditOnce(ctx context.Context) error {
	for {
		rows, err := s.Store.Accounts.TrailToSend(ctx, auditBatch)
		if err != nil || len(rows) == 0 {
			return err
		}
		if err := s.cfg.AuditTo.write(ctx, os.Stdout, nil, rows); err != nil {
			return err
		}
		if err := s.Store.Accounts.TrailSent(ctx, rows[len(rows)-1].ID); err != nil {
			return err
		}
		s.audited.sent.Add(int64(len(rows)))
		if len(rows) < auditBatch {
			return nil
		}
	}
}

// write sends rows, all or some of them. A syslog server's certificate is checked against roots; nil means
// the system's.
func (a AuditTo) write(ctx context.Context, stdout io.Writer, roots *x509.CertPool, rows []auth.Audit) error {
	var lines bytes.Buffer
	scheme, address, syslog := strings.Cut(string(a), "://")
	host, _ := os.Hostname()
	var messages [][]byte
	for _, row := range rows {
		line, err := json.Marshal(row.Record())
		if err != nil {
			return err
		}
		if !syslog {
			lines.Write(append(line, '\n'))
			continue
		}
		messages = append(messages, syslogMessage(row, host, line))
	}
	switch {
	case !syslog && a == "-":
		_, err := stdout.Write(lines.Bytes())
		return err
	case !syslog:
		f, err := os.OpenFile(filepath.Clean(string(a)), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600) // anew for each batch: it may have been rotated
		if err != nil {
			return err
		}
		_, err = f.Write(lines.Bytes())
		return errors.Join(err, f.Close())
	}
	ctx, cancel := context.WithTimeout(ctx, auditPatience)
	defer cancel()
	conn, err := dialSyslog(ctx, scheme, address, roots)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }() // what Write has reported counts
	_ = conn.SetDeadline(time.Now().Add(auditPatience))
	for _, m := range messages {
		if scheme != "udp" { // RFC 6587 section 3.4.1, RFC 5425 section 4.3: the length before each message
			m = append(strconv.AppendInt(nil, int64(len(m)), 10), append([]byte{' '}, m...)...)
		}
		if _, err := conn.Write(m); err != nil {
			return err
		}
	}
	return nil
}

func dialSyslog(ctx context.Context, scheme, address string, roots *x509.CertPool) (net.Conn, error) {
	if scheme == "tls" {
		return (&tls.Dialer{Config: &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: roots}}).DialContext(ctx, "tcp", address)
	}
	return (&net.Dialer{}).DialContext(ctx, scheme, address)
}

// syslogMessage is a row as RFC 5424 section 6 has it: facility 13 (log audit), severity 6 for what was
// done and 4 for what was refused, and the row as JSON.
func syslogMessage(row auth.Audit, host string, line []byte) []byte {
	priority := 13*8 + 6
	if !row.OK {
		priority = 13*8 + 4
	}
	if host == "" {
		host = "-"
	}
	head := fmt.Sprintf("<%d>1 %s %s hazardd %d audit - ", priority, row.At.Time().UTC().Format("2006-01-02T15:04:05.000Z"), host, os.Getpid())
	return append([]byte(head), line...)
}
