package service

import (
	"time"

	"github.com/hazardd/hazardd/internal/signature"
)

// signerEnds is how long before its end the certificate of CAP messages is warned about.
const signerEnds = 30 * 24 * time.Hour

// openSigner reads what CAP messages are signed with. A certificate that is over signs all the same: without a signature its readers would know less.
func (s *Service) openSigner() error {
	if s.cfg.CAPKey == "" {
		return nil
	}
	signer, err := signature.Open(s.cfg.CAPKey, s.cfg.CAPCertificate)
	if err != nil {
		return err
	}
	if end := signer.End(); end.Sub(s.cfg.Clock.Now()) < signerEnds {
		s.cfg.Logger.Warn("the certificate that CAP messages are signed with ends soon, or is over", "file", s.cfg.CAPCertificate, "ends", end.UTC())
	}
	s.signer = signer
	return nil
}
