package app

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/hazardd/hazardd/internal/auth"
	"github.com/hazardd/hazardd/internal/hazard"
)

// KeepFirstPassword writes FirstPassword to a file in the data folder that only its owner can read,
// and returns the file's path. It is for starts whose output other people may see. The service
// removes the file once the password is changed or has expired.
func (s *Service) KeepFirstPassword() (string, error) {
	path := s.firstPasswordPath()
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) { // left by an earlier store
		return "", err
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return "", err
	}
	_, err = f.WriteString(string(s.FirstPassword) + "\n")
	return path, errors.Join(err, f.Close())
}

func (s *Service) firstPasswordPath() string { return filepath.Join(s.cfg.DataDir, "first-password") }

// forgetFirstPassword removes the file of KeepFirstPassword once its password no longer works.
func (s *Service) forgetFirstPassword(now hazard.Instant) {
	if slices.ContainsFunc(s.Auth.Accounts().Users(), func(u auth.User) bool { return u.PasswordEnds > now }) {
		return
	}
	if err := os.Remove(s.firstPasswordPath()); err != nil && !errors.Is(err, fs.ErrNotExist) {
		s.cfg.Logger.Warn("cannot remove the file of the first password", "error", err)
	}
}
