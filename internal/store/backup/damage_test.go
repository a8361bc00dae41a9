package backup_test

import (
	"archive/tar"
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"

	"github.com/hazardd/hazardd/internal/store"
	"github.com/hazardd/hazardd/internal/store/backup"
	"github.com/hazardd/hazardd/internal/test"
)

// refused restores a damaged archive. The restore must fail, name the damaged entry, and leave
// nothing that can be opened.
func refused(t *testing.T, what string, text []byte) {
	t.Helper()
	_, _, err := backup.Verify(t.Context(), bytes.NewReader(text), nil)
	if damaged, ok := errors.AsType[*backup.DamagedError](err); !ok || damaged.Entry == "" && !strings.Contains(err.Error(), "at its beginning") {
		t.Errorf("%s: %v", what, err)
	}
}

func TestACutArchiveIsRefused(t *testing.T) {
	test.NoRace(t)
	text := filledArchive(t)
	for n := 0; n < len(text); n += 10_000 {
		refused(t, fmt.Sprintf("cut to %d bytes", n), text[:n])
	}
	for n := len(text) - 40; n < len(text); n++ {
		refused(t, fmt.Sprintf("cut to %d bytes", n), text[:n])
	}
}

// Whichever bit of a backup is flipped, it is refused or has the same content. HAZARDD_FLIPS flips
// more bits.
func TestFlippedBitInABackupIsRefused(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	text := filledArchive(t)
	times := 25
	if more := os.Getenv("HAZARDD_FLIPS"); more != "" { // the other half are in continuous backups
		n, err := strconv.Atoi(more)
		if err != nil {
			t.Fatal(err)
		}
		times = n / 2
	}
	whole, err := entries(text)
	if err != nil {
		t.Fatal(err)
	}
	r := rand.New(rand.NewPCG(11, 13))
	spare := 0
	for range times {
		bad, bit := bytes.Clone(text), r.IntN(8*len(text))
		bad[bit/8] ^= 1 << (bit % 8)
		if _, _, err := backup.Verify(t.Context(), bytes.NewReader(bad), nil); err != nil {
			continue
		}
		spare++ // a bit that the compression does not use
		if got, err := entries(bad); err != nil || got != whole {
			t.Errorf("bit %d flipped, of %d bytes: the backup is accepted with other content: %v", bit, len(text), err)
		}
	}
	t.Logf("%d flipped bits, each in a backup of %d bytes; with %d of them the content is the same", times, len(text), spare)
	if spare > times/4 {
		t.Error("no flipped bit is noticed")
	}
}

func TestAnAlteredArchiveIsRefused(t *testing.T) {
	test.Slow(t)
	test.NoRace(t)
	text := filledArchive(t)
	whole, err := entries(text)
	if err != nil {
		t.Fatal(err)
	}
	plain, err := unzip(text)
	if err != nil {
		t.Fatal(err)
	}
	r := rand.New(rand.NewPCG(3, 4))
	noticed := 0
	for i := range 300 {
		bad := bytes.Clone(text)
		at := r.IntN(len(text))
		if i >= 150 { // without the checksum of the compression, as in a deliberate change
			bad = bytes.Clone(plain)
			at = r.IntN(len(plain))
		}
		bad[at] ^= 1 << r.IntN(8)
		if i >= 150 {
			bad = zip(t, bad)
		}
		_, _, err := backup.Verify(t.Context(), bytes.NewReader(bad), nil)
		if err != nil {
			noticed++
		} else if now, err := entries(bad); err != nil || now != whole { // a few bits have no meaning
			t.Errorf("bit of byte %d: it is not noticed", at)
		}
	}
	if noticed < 250 {
		t.Errorf("of 300 altered archives %d are refused", noticed)
	}
	if _, _, err := backup.Verify(t.Context(), bytes.NewReader(append(bytes.Clone(text), text...)), nil); err == nil {
		t.Error("two archives in one are not noticed")
	}
}

// entries returns the names and contents of an archive's entries.
func entries(text []byte) (string, error) {
	plain, err := unzip(text)
	if err != nil {
		return "", err
	}
	var all strings.Builder
	for r := tar.NewReader(bytes.NewReader(plain)); ; {
		head, err := r.Next()
		if errors.Is(err, io.EOF) {
			return all.String(), nil
		}
		if err != nil {
			return "", err
		}
		fmt.Fprintf(&all, "%s %c\n", head.Name, head.Typeflag)
		if _, err := io.Copy(&all, r); err != nil {
			return "", err
		}
	}
}

func unzip(text []byte) ([]byte, error) {
	d, err := zstd.NewReader(bytes.NewReader(text))
	if err != nil {
		return nil, err
	}
	defer d.Close()
	var out bytes.Buffer
	_, err = d.WriteTo(&out)
	return out.Bytes(), err
}

func zip(t testing.TB, plain []byte) []byte {
	t.Helper()
	e, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	return e.EncodeAll(plain, nil)
}

// An interrupted restore of a damaged archive is not a store.
func nobodyOpensWhatADamagedArchiveLeaves(t *testing.T, from *source, to place) {
	text := from.text
	if _, _, err := backup.Restore(t.Context(), bytes.NewReader(text[:len(text)*9/10]), to.into(), made, nil); err == nil {
		t.Fatal("it is restored")
	}
	unopened(t, to, "restore")
	// Another archive cannot continue the restore.
	other, _, _ := back(t, from.open(t))
	if _, _, err := backup.Restore(t.Context(), bytes.NewReader(other), to.into(), made, nil); err == nil || !strings.Contains(err.Error(), "from something else") {
		t.Errorf("another archive: %v", err)
	}
	// The undamaged archive can.
	if _, result, err := backup.Restore(t.Context(), bytes.NewReader(text), to.into(), made, nil); err != nil || !result.Resumed {
		t.Fatal(err)
	}
	if _, _, err := backup.Restore(t.Context(), bytes.NewReader(text), to.into(), made, nil); err == nil || !strings.Contains(err.Error(), "the store is not empty") {
		t.Errorf("a second restore: %v", err)
	}
	if _, err := errors.AsType[*store.NotEmptyError](err2(backup.Migrate(t.Context(), from.open(t), to.into(), false, made, nil))); !err {
		t.Error("a store is migrated into one that is not empty")
	}
}

func err2[T any](_ T, err error) error { return err }

// unopened checks that a store is refused because that command has not finished.
func unopened(t testing.TB, p place, command string) {
	t.Helper()
	s, err := store.Open(t.Context(), p.dir, p.database)
	if unfinished, ok := errors.AsType[*store.UnfinishedError](err); !ok || unfinished.By != command {
		t.Errorf("open: %v", err)
	}
	if s != nil {
		t.Fatal(s.Close())
	}
}

// A file that the disk has lost or changed does not prevent a backup of the rest.
func TestABackupNamesTheFilesThatAreLost(t *testing.T) {
	from, to := kinds["SQLite"](t).filled(t), kinds["SQLite"](t)
	found, err := filepath.Glob(filepath.Join(from.dir, "files", "??", "*"))
	if err != nil || len(found) != 2 {
		t.Fatal(found, err)
	}
	if err := errors.Join(os.Remove(found[0]), os.WriteFile(found[1], []byte("another"), 0o600)); err != nil {
		t.Fatal(err)
	}
	text, _, totals := back(t, from.open(t))
	if len(totals.Missing) != 2 || totals.Files != 0 || totals.Missing[0] != filepath.Base(found[0]) {
		t.Errorf("%+v", totals)
	}
	_, result, err := backup.Restore(t.Context(), bytes.NewReader(text), to.into(), made, nil)
	if err != nil || len(result.Missing) != 2 {
		t.Errorf("%+v, %v", result, err)
	}
}

// FuzzRead reads what may be in an archive after decompression: it is either refused or a valid
// archive.
func FuzzRead(f *testing.F) {
	s, err := store.Open(f.Context(), f.TempDir(), "sqlite:?synchronous=off")
	if err != nil {
		f.Fatal(err)
	}
	defer s.Close()
	text, _, _ := back(f, s)
	plain, err := unzip(text)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(plain)
	f.Add(plain[:len(plain)/2])
	f.Fuzz(func(t *testing.T, plain []byte) {
		m, totals, err := backup.Verify(t.Context(), bytes.NewReader(zip(t, plain)), nil)
		if _, ok := errors.AsType[*backup.DamagedError](err); err != nil && !ok {
			if _, ok := errors.AsType[*backup.VersionError](err); !ok {
				t.Fatalf("%v does not say that it is damaged or of a later release", err)
			}
		}
		if err == nil && (m.ID == "" || len(totals.Tables) != len(m.Tables)) {
			t.Fatalf("%+v, %+v", m, totals)
		}
	})
}
