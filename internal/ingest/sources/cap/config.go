package cap

import (
	"errors"
	"fmt"
	"time"

	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/ingest/lenient"
	"github.com/hazardd/hazardd/internal/ingest/source"
)

// Config is the configuration of one CAP feed by an operator.
type Config struct {
	// Name is the source's name in reports: short, of lower-case letters, digits and "-". It must
	// never change once in use.
	Name string
	// Title is the source's name for people; empty means each message's own sender.
	Title string
	// URL is the address of the index, or of the one document.
	URL string
	// Every is the time between two polls; 0 means five minutes.
	Every time.Duration
	// Fastest is that time while the feed changes; 0 means 30 seconds if neither Every nor Shared is
	// set, otherwise Every.
	Fastest time.Duration
	// Language is the preferred language of messages with several, as in RFC 5646 ("de", "fr-CA");
	// empty means English.
	Language string
	// Spoken is the language of messages that state none; empty means American English, as in CAP.
	Spoken string
	// Siblings are the languages of all feeds of the country, including this one, that may carry
	// the same alerts; nil means unknown.
	Siblings []string
	// Caps are the highest levels of a source that rates everything as severe, by type; the type ""
	// stands for all unlisted types.
	Caps map[hazard.Type]hazard.Severity
	// Exercises means that exercises become hazards, with category EXERCISE and separate keys.
	// Otherwise they are ignored.
	Exercises bool
	// Charset is the encoding of bytes that are not in the declared one ("windows-1252"); if empty,
	// only unambiguous text is read.
	Charset string
	// Rank is the authority of the feed by type; nil means National. The type "" stands for all
	// unlisted types.
	Rank source.Ranks
	// Countries are the countries of the authority, as ISO 3166-1 alpha-2 codes; nil means that the
	// covered places are unknown.
	Countries []string
	// Hosts are further hosts that the index may link to, besides its own. "*.example.org" means
	// the domain and all hosts below it.
	Hosts []string
	// MaxBytes bounds the index and each document; 0 means 64 MiB.
	MaxBytes int64
	// Practice is what is known of the sender; the zero value means nothing.
	Practice Practice
	// Shared means that the feed is one of many: see source.Source.Shared.
	Shared bool
	// Push lists addresses of connections that push alerts: tcp:// with consecutive documents, or
	// wss:// and ws:// with one document per message.
	Push []string
	// Topics are the subscribed topics of MQTT brokers in Push (mqtts://, mqtt://), whose messages
	// are WIS2 notifications. User and password are the public ones of WMO.
	Topics []string
	// Archive lists addresses below which each pushed alert can be fetched, in the form of Canada's
	// NAAD System; each has all alerts.
	Archive []string
}

// Check validates the configuration.
func (c Config) Check() error {
	var errs []error
	if !source.NameForm.MatchString(c.Name) {
		errs = append(errs, fmt.Errorf("name: %.60q, expected at most 40 lowercase letters, digits and -, a letter first", c.Name))
	}
	if httpAddress(c.URL) == nil {
		errs = append(errs, fmt.Errorf("url: %.200q, expected an address of https or http", c.URL))
	}
	if c.Charset != "" && lenient.Charset(c.Charset) == nil {
		errs = append(errs, fmt.Errorf("charset: %.40q, expected one such as windows-1252", c.Charset))
	}
	if err := c.checkPush(); err != nil {
		errs = append(errs, err)
	}
	if err := c.Practice.Check(); err != nil {
		errs = append(errs, fmt.Errorf("practice: %w", err))
	}
	for typ := range c.Caps {
		if _, ok := typ.Info(); !ok && typ != "" {
			errs = append(errs, fmt.Errorf("caps: %.40q is not a type", string(typ)))
		}
	}
	return errors.Join(errs...)
}
