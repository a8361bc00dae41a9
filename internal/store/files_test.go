package store_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/store"
	"github.com/hazardd/hazardd/internal/store/blob"
	"github.com/hazardd/hazardd/internal/test"
	"github.com/hazardd/hazardd/internal/test/postgres"
	"github.com/hazardd/hazardd/internal/test/s3"
)

// everywhere runs a test with product files in each kind of place. reopen opens the store again, as
// another node does.
func everywhere(t *testing.T, test func(t *testing.T, reopen func() *store.Store)) {
	run := func(name string, settings func(*testing.T) blob.Settings) {
		t.Run(name, func(t *testing.T) {
			dir, place := t.TempDir(), settings(t)
			test(t, func() *store.Store { return openFiles(t, dir, place) })
		})
	}
	run("folder", func(*testing.T) blob.Settings { return blob.Settings{} })
	run("bucket", func(t *testing.T) blob.Settings { return s3.New(t).Settings() })
}

func openFiles(t *testing.T, dir string, place blob.Settings) *store.Store {
	t.Helper()
	s, err := store.Open(t.Context(), dir, postgres.Database(t, dir, "sqlite:?synchronous=off"), store.WithFiles(place))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// sha returns the digest of a content.
func sha(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

// putFile receives a content and puts it into the place for contents.
func putFile(ctx context.Context, s *store.Store, text string) (*store.StagedFile, error) {
	f, err := s.Files.Stage(ctx, strings.NewReader(text), 1000)
	if err != nil {
		return nil, err
	}
	if err := f.Put(ctx); err != nil {
		return nil, errors.Join(err, f.Drop())
	}
	return f, nil
}

// errRefused is the reason why a product is not created in the end.
var errRefused = errors.New("refused")

// name creates a product with a content that was put. refuse aborts the transaction.
func name(ctx context.Context, s *store.Store, f *store.StagedFile, refuse bool) (*hazard.Product, error) {
	p := &hazard.Product{UUID: uuid.New(), HazardID: 1, Title: "a file", Type: hazard.FileProduct, File: &hazard.File{Name: "a.txt", Digest: f.Digest, Size: f.Size}}
	_, err := s.Write(ctx, noon, store.Origin{User: "ada"}, func(tx *store.Tx) error {
		if err := f.Keep(tx); err != nil {
			return err
		}
		if err := tx.SaveProduct(p); err != nil {
			return err
		}
		if refuse {
			return errRefused
		}
		return nil
	})
	return p, errors.Join(err, f.Drop())
}

// keepFile creates a product with a content.
func keepFile(t *testing.T, s *store.Store, text string) *hazard.Product {
	t.Helper()
	f, err := putFile(t.Context(), s, text)
	if err != nil {
		t.Fatal(err)
	}
	p, err := name(t.Context(), s, f, false)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// wantFile checks that a content is there.
func wantFile(t *testing.T, s *store.Store, text string) {
	t.Helper()
	f, err := s.Files.Open(t.Context(), sha(text))
	if err != nil {
		t.Errorf("%q: %v", text, err)
		return
	}
	got, err := io.ReadAll(f)
	if err := errors.Join(err, f.Close()); err != nil || string(got) != text {
		t.Errorf("%q came back as %q, %v", text, got, err)
	}
}

// sweep sweeps as if that much time had passed, and returns how many contents were removed.
func sweep(t *testing.T, s *store.Store, later time.Duration) int {
	t.Helper()
	removed, err := s.Files.Sweep(t.Context(), hazard.At(time.Now().Add(later)))
	if err != nil {
		t.Fatal(err)
	}
	return removed
}

func TestAContentThatNothingNamesIsSweptAfterAnHour(t *testing.T) {
	test.SeldomButRaced(t)
	everywhere(t, func(t *testing.T, reopen func() *store.Store) {
		s := reopen()
		save(t, s, flood("flood"))
		keepFile(t, s, "named")
		deleted := keepFile(t, s, "of a product that is deleted")
		deleted.Deleted = true
		if _, err := s.Write(t.Context(), noon, store.Origin{User: "ada"}, func(tx *store.Tx) error { return tx.SaveProduct(deleted) }); err != nil {
			t.Fatal(err)
		}
		refused, err := putFile(t.Context(), s, "refused")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := name(t.Context(), s, refused, true); !errors.Is(err, errRefused) {
			t.Fatal(err)
		}
		if n := sweep(t, s, 55*time.Minute); n != 0 {
			t.Errorf("%d contents went within the hour", n)
		}
		wantFile(t, s, "refused")
		other := reopen() // it does not know what this store put
		if n := sweep(t, other, 65*time.Minute); n != 1 {
			t.Errorf("%d contents went after the hour, want the one that was refused", n)
		}
		if _, err := s.Files.Open(t.Context(), sha("refused")); !errors.Is(err, hazard.ErrNotFound) {
			t.Errorf("what was swept: %v", err)
		}
		for _, text := range []string{"named", "of a product that is deleted"} {
			wantFile(t, s, text)
			wantFile(t, other, text)
		}
		if n := sweep(t, s, 65*time.Minute); n != 0 {
			t.Errorf("a second sweep removed %d more", n)
		}
		keepFile(t, s, "refused") // now a product refers to it
		if n := sweep(t, other, 65*time.Minute); n != 0 {
			t.Errorf("%d contents went, though all are named", n)
		}
		wantFile(t, other, "refused")
	})
}

// A damaged state of a product keeps no other content from being named, and none is removed that it may
// name, until it is mended.
func TestADamagedProductLosesNoContent(t *testing.T) {
	s, err := store.Open(t.Context(), t.TempDir(), "sqlite:?synchronous=off")
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	save(t, s, flood("flood"))
	damaged := keepFile(t, s, "of a damaged product")
	keepFile(t, s, "of another")
	loose, err := putFile(t.Context(), s, "of nobody")
	if err != nil {
		t.Fatal(err)
	}
	if err := loose.Drop(); err != nil {
		t.Fatal(err)
	}
	turn := func(from, to string) {
		t.Helper()
		if err := s.Exec(t.Context(), fmt.Sprintf(`UPDATE changes SET body = replace(body, '%s', '%s') WHERE n = %d`, from, to, damaged.Version)); err != nil {
			t.Fatal(err)
		}
	}
	right, wrong := sha("of a damaged product"), sha("something else")
	turn(right, wrong)
	if n := sweep(t, s, 65*time.Minute); n != 0 {
		t.Errorf("%d contents went, and the damaged state may name each of them", n)
	}
	for _, text := range []string{"of a damaged product", "of another", "of nobody"} {
		wantFile(t, s, text)
	}
	turn(wrong, right)
	if n := sweep(t, s, 65*time.Minute); n != 1 {
		t.Errorf("mended: %d contents went, want the one of nobody", n)
	}
	for _, text := range []string{"of a damaged product", "of another"} {
		wantFile(t, s, text)
	}
}

// A sweep goes through the whole log once, in steps that nobody who writes waits for, also where no
// change is of a product.
func TestASweepGoesThroughTheLogOnceInSteps(t *testing.T) {
	everywhere(t, func(t *testing.T, reopen func() *store.Store) {
		s := reopen()
		h := flood("flood")
		save(t, s, h)
		keepFile(t, s, "first")
		if _, err := s.Write(t.Context(), noon, store.Origin{User: "ada"}, func(tx *store.Tx) error { // many changes in one commit
			for i := range 2500 {
				after := *h
				after.Description = fmt.Sprint("the water stands at ", i)
				if err := tx.SaveHazard(&after, h); err != nil {
					return err
				}
				h = &after
			}
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		keepFile(t, s, "last")
		last, err := s.Log.Last(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if steps, err := store.NamingSteps(t.Context(), s); err != nil || steps != (last+999)/1000 {
			t.Errorf("%d steps for %d changes, want one for each thousand; %v", steps, last, err)
		}
		if steps, err := store.NamingSteps(t.Context(), s); err != nil || steps != 0 {
			t.Errorf("%d steps where nothing is new; %v", steps, err)
		}
		if n := sweep(t, s, 65*time.Minute); n != 0 {
			t.Errorf("%d contents went, though all are named", n)
		}
		wantFile(t, s, "first")
		wantFile(t, s, "last")
	})
}

func TestAContentThatIsBeingNamedIsNotLostToASweep(t *testing.T) {
	everywhere(t, func(t *testing.T, reopen func() *store.Store) {
		s, sweeper := reopen(), reopen()
		save(t, s, flood("flood"))
		first, err := putFile(t.Context(), s, "text")
		if err != nil {
			t.Fatal(err)
		}
		if err := first.Drop(); err != nil {
			t.Fatal(err)
		}
		second, err := putFile(t.Context(), s, "text")
		if err != nil {
			t.Fatal(err)
		}
		if n := sweep(t, sweeper, 2*time.Hour); n != 1 {
			t.Fatalf("%d contents went, want the one", n)
		}
		// It was put and then removed, so no product may refer to it.
		if _, err := name(t.Context(), s, second, false); !errors.Is(err, hazard.ErrUnavailable) {
			t.Fatalf("a product refers to a removed content: %v", err)
		}
		p := keepFile(t, s, "text") // repeating the upload helps
		wantFile(t, s, "text")
		if n := sweep(t, sweeper, 2*time.Hour); n != 0 || p.Version == 0 {
			t.Errorf("%d contents went, though it is named", n)
		}
		wantFile(t, sweeper, "text")
	})
}

func TestARemovalThatComesLateHitsNothingThatIsNamed(t *testing.T) {
	everywhere(t, func(t *testing.T, reopen func() *store.Store) {
		s := reopen()
		save(t, s, flood("flood"))
		f, err := putFile(t.Context(), s, "text")
		if err != nil {
			t.Fatal(err)
		}
		late := store.HoldRemovals(s)
		if _, err := s.Files.Sweep(t.Context(), hazard.At(time.Now().Add(2*time.Hour))); !errors.Is(err, hazard.ErrUnavailable) {
			t.Fatalf("the sweep did not get to the removal: %v", err)
		}
		if _, err := name(t.Context(), s, f, false); !errors.Is(err, hazard.ErrUnavailable) {
			t.Errorf("the content of the life that has ended was named: %v", err)
		}
		keepFile(t, s, "text")
		if n, err := late(t.Context()); err != nil || n != 1 {
			t.Errorf("%d removals came late, %v", n, err)
		}
		wantFile(t, s, "text")
		other := reopen()
		if n := sweep(t, other, 2*time.Hour); n != 0 {
			t.Errorf("%d contents went, though all are named", n)
		}
		wantFile(t, other, "text")
	})
}

func TestWhatARemovalThatFailedLeftIsSweptTheNextTime(t *testing.T) {
	everywhere(t, func(t *testing.T, reopen func() *store.Store) {
		s := reopen()
		save(t, s, flood("flood"))
		f, err := putFile(t.Context(), s, "text")
		if err != nil {
			t.Fatal(err)
		}
		if err := f.Drop(); err != nil {
			t.Fatal(err)
		}
		store.HoldRemovals(s)
		if _, err := s.Files.Sweep(t.Context(), hazard.At(time.Now().Add(2*time.Hour))); !errors.Is(err, hazard.ErrUnavailable) {
			t.Fatal(err)
		}
		keepFile(t, s, "text") // in its second life
		other := reopen()
		if n := sweep(t, other, 2*time.Hour); n != 1 {
			t.Errorf("%d contents were removed, want the rest of the first life", n)
		}
		wantFile(t, other, "text")
	})
}

func TestSweepsAndUploadsOfTheSameContentsAtOnceLoseNothing(t *testing.T) {
	everywhere(t, func(t *testing.T, reopen func() *store.Store) {
		s := reopen()
		save(t, s, flood("flood"))
		const workers, rounds = 4, 12
		var uploads, sweeps sync.WaitGroup
		done := make(chan struct{})
		removed := 0
		sweeper := reopen()
		store.LeaveUploads(sweeper)
		sweeps.Go(func() {
			for {
				n, err := sweeper.Files.Sweep(t.Context(), hazard.At(time.Now().Add(2*time.Hour)))
				if err != nil {
					t.Error(err)
					return
				}
				removed += n
				select {
				case <-done:
					return
				default:
				}
			}
		})
		named := make([]map[string]bool, workers)
		for w := range workers {
			named[w] = map[string]bool{}
			uploads.Go(func() {
				for round := range rounds {
					text := fmt.Sprint("content ", round) // the same for all
					f, err := putFile(t.Context(), s, text)
					if err != nil {
						t.Error(err)
						return
					}
					_, err = name(t.Context(), s, f, (round+w)%3 == 0)
					if err == nil {
						named[w][text] = true
					} else if !errors.Is(err, errRefused) && !errors.Is(err, hazard.ErrUnavailable) {
						t.Error(err)
					}
				}
			})
		}
		uploads.Wait()
		close(done)
		sweeps.Wait()
		all := map[string]bool{}
		for _, texts := range named {
			for text := range texts {
				all[text] = true
				wantFile(t, s, text)
				wantFile(t, sweeper, text)
			}
		}
		t.Logf("%d contents are named, %d were swept meanwhile", len(all), removed)
		if again := sweep(t, sweeper, 2*time.Hour); again != 0 {
			t.Logf("%d more were not named", again)
		}
		for text := range all {
			wantFile(t, s, text)
		}
	})
}

func TestContentsOfAnotherStoreAreNotSwept(t *testing.T) {
	b := s3.New(t)
	mine, theirs := openFiles(t, t.TempDir(), b.Settings()), openFiles(t, t.TempDir(), b.Settings())
	save(t, mine, flood("flood"))
	keepFile(t, mine, "mine")
	if n := sweep(t, mine, 2*time.Hour); n != 0 {
		t.Fatal(n)
	}
	n, err := theirs.Files.Sweep(t.Context(), hazard.At(time.Now().Add(2*time.Hour)))
	if !errors.Is(err, hazard.ErrConflict) || n != 0 || !strings.Contains(err.Error(), mine.Epoch()) {
		t.Errorf("%d contents went, %v", n, err)
	}
	wantFile(t, mine, "mine")
}

func TestAFileThatIsNotPutCannotBeKept(t *testing.T) {
	s := open(t, t.TempDir())
	save(t, s, flood("flood"))
	f, err := s.Files.Stage(t.Context(), strings.NewReader("text"), 10)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := name(t.Context(), s, f, false); err == nil {
		t.Error("a product names a content that is nowhere")
	}
	for _, bad := range []string{"", "../../hazardd.db", strings.Repeat("0", 64), sha("text")} {
		if _, err := s.Files.Open(t.Context(), bad); !errors.Is(err, hazard.ErrNotFound) {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

func TestANamedContentIsFoundInALogOfAnyLength(t *testing.T) {
	s := open(t, t.TempDir())
	save(t, s, flood("flood"))
	keepFile(t, s, "early")
	_, err := s.Write(t.Context(), noon, store.Origin{User: "ada"}, func(tx *store.Tx) error {
		for range 2500 { // more than one transaction checks
			if err := tx.SaveProduct(&hazard.Product{UUID: uuid.New(), HazardID: 1, Type: hazard.TextProduct, Data: "text"}); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	keepFile(t, s, "late")
	if n := sweep(t, s, 2*time.Hour); n != 0 {
		t.Errorf("%d contents went, though all are named", n)
	}
	wantFile(t, s, "early")
	wantFile(t, s, "late")
}

func TestStartSweepsWhatInterruptedUploadsLeft(t *testing.T) {
	dir := t.TempDir()
	files := filepath.Join(dir, "files")
	if err := os.MkdirAll(files, 0o700); err != nil {
		t.Fatal(err)
	}
	for name, age := range map[string]time.Duration{"incoming-old": 2 * time.Hour, "incoming-new": 0} {
		path := filepath.Join(files, name)
		if err := errors.Join(os.WriteFile(path, []byte("x"), 0o600), os.Chtimes(path, time.Time{}, time.Now().Add(-age))); err != nil {
			t.Fatal(err)
		}
	}
	open(t, dir)
	if _, err := os.Stat(filepath.Join(files, "incoming-old")); err == nil {
		t.Error("a file left hours ago is still there")
	}
	if _, err := os.Stat(filepath.Join(files, "incoming-new")); err != nil {
		t.Error("a file that another process may be writing was removed")
	}
}

func TestUploadsAreCountedByOrganizationAndDayOnAllNodes(t *testing.T) {
	dir := t.TempDir()
	stores := []*store.Store{open(t, dir), open(t, dir)}
	next := noon.Add(12 * time.Hour) // 00:00 UTC
	for i, step := range []struct {
		node, org int64
		at        hazard.Instant
		bytes     int64
		want      int64
	}{
		{0, 1, noon, 10, 10},
		{1, 1, next - 1, 5, 15},
		{0, 2, next - 1, 3, 3},
		{0, -1, next - 1, 4, 4},
		{1, 1, next, 7, 7},
	} {
		var total int64
		_, err := stores[step.node].Write(t.Context(), step.at, store.Origin{}, func(tx *store.Tx) (err error) {
			total, err = tx.CountUpload(step.org, step.bytes)
			return err
		})
		read, readErr := stores[1-step.node].Files.Uploaded(t.Context(), step.org, step.at)
		if err != nil || readErr != nil || total != step.want || read != step.want {
			t.Errorf("%d: %d bytes of organization %d, and %d as the other node reads, want %d (%v, %v)", i, total, step.org, read, step.want, err, readErr)
		}
	}
	if n, err := stores[0].Files.Uploaded(t.Context(), 2, next); n != 0 || err != nil {
		t.Errorf("on the next day: %d bytes (%v)", n, err)
	}
	failed := errors.New("no")
	if _, err := stores[0].Write(t.Context(), next, store.Origin{}, func(tx *store.Tx) error { return errors.Join(failed, second(tx.CountUpload(1, 100))) }); !errors.Is(err, failed) {
		t.Fatal(err)
	}
	if n, err := stores[0].Files.Uploaded(t.Context(), 1, next); n != 7 || err != nil {
		t.Errorf("a file that was not stored is counted: %d bytes (%v)", n, err)
	}
}

func second(_ int64, err error) error { return err }

// A node that looks for product files in the wrong place knows it.
func TestContentsThatAreNotSeen(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	save(t, s, flood("flood"))
	keepFile(t, s, "here")
	keepFile(t, s, "there")
	if _, err := s.Files.Sweep(t.Context(), noon); err != nil { // which notes what is named
		t.Fatal(err)
	}
	if asked, unseen, err := s.Files.Unseen(t.Context(), 20); asked != 2 || unseen != 0 || err != nil {
		t.Errorf("%d of %d are not seen, %v", unseen, asked, err)
	}
	err := filepath.WalkDir(filepath.Join(dir, "files"), func(path string, e fs.DirEntry, err error) error {
		if err == nil && strings.Contains(path, sha("here")[2:]) {
			err = os.Remove(path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if asked, unseen, err := s.Files.Unseen(t.Context(), 20); asked != 2 || unseen != 1 || err != nil {
		t.Errorf("%d of %d are not seen, %v", unseen, asked, err)
	}
}

// A file that another product names, or whose removal fails, keeps no other one.
func TestAPurgeGoesOnAfterAFileInUse(t *testing.T) {
	everywhere(t, func(t *testing.T, reopen func() *store.Store) {
		s := reopen()
		save(t, s, flood("flood"))
		keepFile(t, s, "in use")
		f, err := putFile(t.Context(), s, "released")
		if err != nil {
			t.Fatal(err)
		}
		if err := f.Drop(); err != nil {
			t.Fatal(err)
		}
		if err := s.Files.Purge(t.Context(), []string{sha("in use"), "no digest", sha("released")}); err != nil {
			t.Log(err)
		}
		wantFile(t, s, "in use")
		if f, err := s.Files.Open(t.Context(), sha("released")); err == nil {
			t.Error("a released file is still there", f.Close())
		}
	})
}
