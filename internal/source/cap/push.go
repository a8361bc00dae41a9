package cap

import (
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"strings"
	"time"

	"github.com/hazardd/hazardd/internal/source"
)

// How alerts are pushed. Canada's NAAD System gives each alert as a document on two connections, and each minute a heartbeat: an alert of its
// own sender and of status System whose references are the last alerts. What of them did not come is in its archive (NAAD System, LMD User
// Guide, sections on heartbeats and on the repository of alerts).
const (
	heartbeatSender = "NAADS-Heartbeat"
	// pushSilence is how long no alert and no heartbeat may come: heartbeats come each minute.
	pushSilence = 150 * time.Second
	// maxPushed bounds one message. Alerts with audio have up to 5 MB.
	maxPushed = 8 << 20
	// easedFactor is how much rarer a feed is polled while a push is up.
	easedFactor = 3
	// everyone is the user of WIS2's global brokers, and the password (Guide to WIS, WMO-No. 1061, volume II).
	everyone = "everyone"
	// maxNotice bounds a notification. By its specification it has 8 KiB.
	maxNotice = 256 << 10
	// maxReferences bounds what a heartbeat names: it is ten.
	maxReferences = 100
)

// pushes are the descriptions of the connections.
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

// checkPush says what is wrong with the settings of pushes.
func (c *Config) checkPush() error {
	var errs []error
	for _, address := range c.Push {
		p := source.Push{URL: address}
		u, err := p.Address()
		if err == nil && strings.HasPrefix(u.Scheme, "mqtt") && len(c.Topics) == 0 {
			err = errors.New("a broker needs topics")
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
		errs = append(errs, errors.New("archive: there is no push"))
	}
	return errors.Join(errs...)
}

// announces reads where a pushed alert is in the archive, or those that a heartbeat names.
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

// archiveDay is how the time of issue begins that a folder of the archive is named after.
var archiveDay = regexp.MustCompile(`^\d{4}-\d{2}-\d{2}T[0-9:.Zz+-]+$`)

// archived returns where an alert is in each archive:
// 2026-10-09/2026_10_09T18_00_00_00_00Iurn_oid_2.49.0.1.124.1234.2026.xml, the time as it is written in the alert.
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

// archiveHost is the entry of source.Source.Hosts for an archive.
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
