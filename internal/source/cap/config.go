package cap

import (
	"errors"
	"fmt"
	"time"

	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/source"
	"github.com/hazardd/hazardd/internal/source/frame"
)

// Config is one feed of CAP, as an operator names it.
type Config struct {
	// Name is the source's name in reports: short, of small letters, digits and "-", never changed once in use.
	Name string
	// Title is the source's name as people know it; empty: each message's own sender.
	Title string
	// URL is the address of the index, or of the one document.
	URL string
	// Every is the time between two polls; 0: five minutes.
	Every time.Duration
	// Language is that of the texts that are shown where a message has several, as in RFC 5646 ("de", "fr-CA"); empty: English.
	Language string
	// Spoken is the language of messages that say none; empty: American English, as CAP has it.
	Spoken string
	// Siblings are the languages of the feeds of the country, this one's among them, each of which may give the alerts of this one in its
	// language; nil: none is known.
	Siblings []string
	// Caps are the highest levels of a source that calls everything severe, by type; the type "" stands for all that have none.
	Caps map[hazard.Type]hazard.Severity
	// Exercises: exercises become hazards, of category EXERCISE and under keys of their own. Without it they are ignored.
	Exercises bool
	// Charset is what the bytes are that are not what the document declares ("windows-1252"); empty: only what is clear is read.
	Charset string
	// Rank is the authority of the feed by type; nil: National. The type "" stands for all that are not there.
	Rank source.Ranks
	// Countries are those whose authority gives the alerts, as ISO 3166-1 alpha-2 codes; nil: it is not known for
	// which places the feed speaks.
	Countries []string
	// Hosts are further hosts that the index may lead to, beside its own. "*.example.org" stands for the
	// domain and all hosts below it.
	Hosts []string
	// MaxBytes bounds the index and each document; 0: 64 MiB.
	MaxBytes int64
	// Shared: the feed is one of many: see source.Source.Shared.
	Shared bool
	// Push are addresses of connections that give the alerts as they are issued: tcp://, on which documents follow each other, wss:// or
	// ws://, whose messages are documents.
	Push []string
	// Topics are what is subscribed to at brokers of MQTT (mqtts://, mqtt://) in Push, whose messages are notifications of WIS2. The user
	// and the password are those that WMO publishes for everyone.
	Topics []string
	// Archive are the addresses below which each pushed alert can be read by itself, in the form of Canada's NAAD System: each of
	// them has all.
	Archive []string
}

// Check tells what is wrong with the configuration.
func (c Config) Check() error {
	var errs []error
	if !source.NameForm.MatchString(c.Name) {
		errs = append(errs, fmt.Errorf("name: %.60q, expected at most 40 small letters, digits and -, a letter first", c.Name))
	}
	if httpAddress(c.URL) == nil {
		errs = append(errs, fmt.Errorf("url: %.200q, expected an address of https or http", c.URL))
	}
	if c.Charset != "" && frame.Charset(c.Charset) == nil {
		errs = append(errs, fmt.Errorf("charset: %.40q, expected one such as windows-1252", c.Charset))
	}
	if err := c.checkPush(); err != nil {
		errs = append(errs, err)
	}
	for typ := range c.Caps {
		if _, ok := typ.Info(); !ok && typ != "" {
			errs = append(errs, fmt.Errorf("caps: %.40q is no type", string(typ)))
		}
	}
	return errors.Join(errs...)
}
