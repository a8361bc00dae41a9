package auth

import (
	"time"

	"github.com/hazardd/hazardd/internal/hazard"
)

// A device token shows that a device has logged in as a user before. It travels in a cookie and authorizes nothing: a login that carries
// it counts its failures by itself, so that no stranger, not even one behind the same address, can hold it up. It is a kind of token
// that all other readers refuse, ends with a new password of its user, and is made worthless by keys that are replaced.

// DeviceLife is how long a device stays known after a login. A key is kept for at least this long after it has signed.
const DeviceLife = 90 * 24 * time.Hour

// device is the name of the device that the token is of, if it is one of the user's; else empty.
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

// deviceToken is the token for a device that has just logged in as the user; empty if it has one that will last.
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
