package service

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/hazardd/hazardd/internal/auth"
	"github.com/hazardd/hazardd/internal/hazard"
)

// KeepFirstPassword writes FirstPassword to a file of the data folder that its owner alone can read,
// for a start whose output others may see, and returns the file's path. The service removes the file
// when the password is changed or has run out.
func (s *Service) KeepFirstPassword() (string, error) {
	path := s.firstPasswordPath()
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) { // of an earlier store
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

// forgetFirstPassword removes the file of KeepFirstPassword once nobody can log in with it.
func (s *Service) forgetFirstPassword(now hazard.Instant) {
	if slices.ContainsFunc(s.Auth.Users(), func(u auth.User) bool { return u.PasswordEnds > now }) {
		return
	}
	if err := os.Remove(s.firstPasswordPath()); err != nil && !errors.Is(err, fs.ErrNotExist) {
		s.cfg.Logger.Warn("cannot remove the file of the first password", "error", err)
	}
}
