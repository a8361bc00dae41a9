package app

import (
	"context"
	"time"

	"github.com/hazardd/hazardd/internal/tell/publish"
)

// signerEnds is how long before the certificate for CAP messages expires a warning is logged.
const signerEnds = 30 * 24 * time.Hour

// openSigner reads the key and certificate that sign CAP messages. An expired certificate still
// signs: readers would know even less without a signature.
func (s *Service) openSigner(context.Context) error {
	if s.cfg.CAPKey == "" {
		return nil
	}
	signer, err := publish.OpenSigner(s.cfg.CAPKey, s.cfg.CAPCertificate)
	if err != nil {
		return err
	}
	if end := signer.End(); end.Sub(s.cfg.Clock.Now()) < signerEnds {
		s.cfg.Logger.Warn("the certificate that signs CAP messages expires soon or has expired", "file", s.cfg.CAPCertificate, "ends", end.UTC())
	}
	s.signer = signer
	return nil
}

// noteSigned records that this server signs the messages of organizations, once there are any: a server
// without the key then says that it lacks it.
func (s *Service) noteSigned(ctx context.Context) error {
	if s.signer == nil || s.cfg.Reading {
		return nil
	}
	settings, err := s.Store.Publishing.Settings(ctx)
	if err != nil || len(settings) == 0 {
		return err
	}
	if signed, err := s.Store.Publishing.Signed(ctx); err != nil || signed {
		return err
	}
	return s.unlessUnwritable(s.Store.Publishing.NoteSigned(ctx))
}
