package auth

import (
	"time"

	"github.com/hazardd/hazardd/internal/hazard"
)

// A device token shows that a device has logged in as a user before. It is sent in a cookie and
// gives no access. A login with it has its own count of failures, so that no stranger, even behind
// the same address, can delay it. All other functions refuse this kind of token. It expires when
// its user gets a new password, and when keys are replaced.

// DeviceLife is how long a device is remembered after a login. A signing key is stored for at least
// this long after its last use.
const DeviceLife = 90 * 24 * time.Hour

// device returns the id of the device of a token, if the token is valid for the user; otherwise "".
func (s *Service) device(username, token string, now hazard.Instant) string {
	if token == "" {
		return ""
	}
	p := s.current.Load()
	c, err := s.read(p, token, deviceType, DeviceLife, now)
	if err == nil {
		c, err = p.judge(c)
	}
	if err != nil || c.Name != username {
		return ""
	}
	return c.sid.String()
}

// deviceToken returns a token for a device that has just logged in as the user, or "" if the device
// has one that is valid long enough.
func (s *Service) deviceToken(p *picture, u *User, from Origin, now hazard.Instant) (string, error) {
	g, err := s.grant(p, u, now)
	if err != nil {
		return "", err
	}
	device := g.Refresh
	if from.Device != "" {
		old, err := s.read(p, from.Device, deviceType, DeviceLife, now)
		if err == nil && old.Name == u.Name && old.issued >= u.NotBefore {
			if old.Expires > now.Add(DeviceLife/2) {
				return "", nil
			}
			device = old.sid
		}
	}
	c, err := s.claims(g, u.Name, device, expiry(g.Issued, DeviceLife))
	if err != nil {
		return "", err
	}
	return sign(p.keys[g.KeyID], deviceType, &c)
}
