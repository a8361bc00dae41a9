package app

import (
	"crypto/x509"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/hazardd/hazardd/internal/serve/route"
	"github.com/hazardd/hazardd/internal/tell/publish"
	"github.com/hazardd/hazardd/internal/tell/wis2"
)

// WIS2 says where CAP messages are announced on WMO's information system.
type WIS2 struct {
	Broker   string // as in wis2.NewMQTT; empty: nowhere
	Password string // file of the user's password, if the address has none
	Topic    string
	Dataset  string
	Roots    *x509.CertPool // nil means the system's
}

// newWIS2 returns what announces CAP messages, or nil.
func (s *Service) newWIS2() (*wis2.Service, error) {
	set := &s.cfg.WIS2
	if set.Broker == "" {
		return nil, nil
	}
	if s.cfg.Public != route.PublicRead && s.cfg.Public != route.PublicMap {
		return nil, errors.New("wis2: its readers have no account here: set public to read or map")
	}
	if err := wis2.Check(set.Topic, set.Dataset); err != nil {
		return nil, err
	}
	password := ""
	if set.Password != "" {
		text, err := os.ReadFile(set.Password)
		if err != nil {
			return nil, fmt.Errorf("wis2-password-file: %w", err)
		}
		password = strings.TrimRight(string(text), "\r\n")
	}
	broker, err := wis2.NewMQTT(set.Broker, password, set.Roots)
	if err != nil {
		return nil, err
	}
	return wis2.New(wis2.Config{Store: s.Store, Tail: s.tail, Messages: publish.New(s.Store, s.signer), Number: s.live.Number, Broker: broker,
		Topic: set.Topic, Dataset: set.Dataset, BaseURL: s.cfg.PublicURL, Now: s.cfg.Clock.Now, Logger: s.cfg.Logger}), nil
}
