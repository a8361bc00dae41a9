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
