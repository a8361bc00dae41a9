package app

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/hazardd/hazardd/internal/store/backup/continuous"
	"github.com/hazardd/hazardd/internal/store/blob"
)

// Backup says where the continuous backup of a SQLite store goes, and how far back it can restore.
type Backup struct {
	Dir    string        // the folder
	Bucket blob.Settings // or the bucket; if both are empty, there is no backup
	Keep   time.Duration
}

// openBackup opens the place of the backup.
func (s *Service) openBackup(context.Context) error {
	to := s.cfg.Backup
	if to.Dir == "" && to.Bucket.URL == "" {
		return nil
	}
	if !s.Store.OneFile() {
		return errors.New("backup-to: a continuous backup needs SQLite; for PostgreSQL use pg_basebackup and an archive of its log, or your provider's backup")
	}
	data, err := filepath.Abs(s.cfg.DataDir)
	if err != nil {
		return err
	}
	if dir, err := filepath.Abs(to.Dir); to.Dir != "" && (err != nil || dir == data) {
		return errors.Join(err, fmt.Errorf("backup-to: %s is the data folder itself: name a folder on another disk, or a bucket", to.Dir))
	}
	shelf, err := blob.OpenShelf(to.Dir, filepath.Join(s.cfg.DataDir, "backing-up"), to.Bucket)
	if err != nil {
		return fmt.Errorf("backup-to: %w", err)
	}
	s.shelf = shelf
	s.backup = continuous.New(continuous.Config{Store: s.Store, Shelf: shelf, Keep: to.Keep, Program: s.cfg.Version, Logger: s.cfg.Logger, Now: func() time.Time { return s.Now().Time() }})
	return nil
}

// back writes the continuous backup until ctx ends, if one is configured.
func (s *Service) back(ctx context.Context) error {
	if s.backup == nil {
		return nil
	}
	return errors.Join(s.backup.Run(ctx), s.shelf.Close())
}
