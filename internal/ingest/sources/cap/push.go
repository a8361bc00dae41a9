package cap

import (
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"strings"
	"time"

	"github.com/hazardd/hazardd/internal/ingest/source"
)

// Pushed alerts. Canada's NAAD System sends each alert as a document on two connections. Each
// minute it sends a heartbeat: an alert from a special sender with status System that references
// the latest alerts. Missed alerts can be fetched from its archive (NAAD System, LMD User Guide,
// sections on heartbeats and on the repository of alerts).
const (
	heartbeatSender = "NAADS-Heartbeat"
	// pushSilence is the longest time without an alert or a heartbeat. Heartbeats arrive each
	// minute.
	pushSilence = 150 * time.Second
	// maxPushed bounds one message. Alerts with audio have up to 5 MB.
	maxPushed = 8 << 20
	// easedFactor is by how much the polling interval of a feed grows while a push connection is
	// up.
	easedFactor = 3
	// everyone is the user of WIS2's global brokers, and the password (Guide to WIS, WMO-No. 1061, volume II).
	everyone = "everyone"
	// maxNotice bounds a notification. The specification allows 8 KiB.
	maxNotice = 256 << 10
	// maxReferences bounds the references of a heartbeat that are used. Real ones have ten.
	maxReferences = 100
)

// pushes returns the descriptions of the connections.
func (c *Config) pushes() []source.Push {
	var all []source.Push
	for _, address := range c.Push {
		p := source.Push{URL: address, Silence: pushSilence, MaxBytes: maxPushed}
		switch {
		case strings.HasPrefix(address, "tcp:"):
			p.Root = "alert"
		case strings.HasPrefix(address, "mqtt"):
			p.Topics, p.User, p.Password = c.Topics, everyone, everyone
			p.MaxBytes = maxNotice
		}
		all = append(all, p)
	}
	return all
}

// checkPush validates the settings of pushes.
func (c *Config) checkPush() error {
	var errs []error
	for _, address := range c.Push {
		p := source.Push{URL: address}
		u, err := p.Address()
		if err == nil && strings.HasPrefix(u.Scheme, "mqtt") && len(c.Topics) == 0 {
			err = errors.New("a broker needs topics: set topics=…")
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("push: %.200q, %w", address, err))
		}
	}
	for _, base := range c.Archive {
		if u := httpAddress(base); u == nil || u.RawQuery != "" || u.Fragment != "" {
			errs = append(errs, fmt.Errorf("archive: %.200q, expected an address of https or http", base))
		}
	}
	if len(c.Archive) > 0 && len(c.Push) == 0 {
		errs = append(errs, errors.New("archive: only allowed with push"))
	}
	return errors.Join(errs...)
}

// announces returns where a pushed alert is in the archive, or where the alerts are that a
// heartbeat lists.
func (c *Config) announces(message []byte) (links []source.Link, beat bool) {
	doc, err := Read(message, c.Charset)
	if err != nil || len(doc.Messages) != 1 || len(c.Archive) == 0 && !is(doc.Messages[0].Sender, heartbeatSender) {
		return nil, false
	}
	m := &doc.Messages[0]
	if !is(m.Sender, heartbeatSender) {
		return c.archived(m.Identifier, m.Sent), false
	}
	for reference := range strings.FieldsSeq(m.References) {
		if len(links) >= maxReferences*max(1, len(c.Archive)) {
			break
		}
		if part := strings.Split(reference, ","); len(part) == 3 {
			links = append(links, c.archived(part[1], part[2])...)
		}
	}
	return links, true
}

// archiveDay matches a time of issue. It begins with the date that is the name of the alert's
// folder in the archive.
var archiveDay = regexp.MustCompile(`^\d{4}-\d{2}-\d{2}T[0-9:.Zz+-]+$`)

// archived returns the address of an alert in each archive, such as
// 2026-10-09/2026_10_09T18_00_00_00_00Iurn_oid_2.49.0.1.124.1234.2026.xml. The time in it is
// written as in the alert.
func (c *Config) archived(identifier, sent string) (links []source.Link) {
	identifier, sent = strings.TrimSpace(identifier), strings.TrimSpace(sent)
	if identifier == "" || len(identifier) > maxID || !archiveDay.MatchString(sent) || len(sent) > 40 {
		return nil
	}
	file := archiveName.Replace(sent + "I" + identifier)
	for _, base := range c.Archive {
		links = append(links, source.Link{
			URL: strings.TrimSuffix(base, "/") + "/" + sent[:len("2006-01-02")] + "/" + url.PathEscape(file) + ".xml",
			ID:  identifier + " " + sent,
		})
	}
	return links
}

var archiveName = strings.NewReplacer("-", "_", ":", "_", "+", "p", "\u2212", "_")

// archiveHost returns the entry of source.Source.Hosts for an archive.
func archiveHost(base string) string {
	u := httpAddress(base)
	if u == nil {
		return ""
	}
	if u.Scheme == "http" {
		return "http://" + u.Host
	}
	return u.Host
}
