package blob_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/iotest"
	"time"

	"github.com/minio/minio-go/v7"

	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/store/blob"
	"github.com/hazardd/hazardd/internal/test/s3"
)

func TestMain(m *testing.M) { os.Exit(s3.Main(m.Run)) }

// kept is a place under test, with its storage.
type kept struct {
	blob.Place
	dir string // folder of the contents, or of unfinished uploads
	// write writes to the storage without the program. all lists its files.
	write func(path string, content []byte)
	all   func() []string
}

func open(t testing.TB, dir string, s blob.Settings) blob.Place {
	t.Helper()
	p, err := blob.Open(dir, s)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	})
	return p
}

func inFolder(t testing.TB) kept {
	dir := filepath.Join(t.TempDir(), "files")
	k := kept{Place: open(t, dir, blob.Settings{}), dir: dir}
	k.write = func(path string, content []byte) {
		path = filepath.Join(dir, path)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, content, 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	k.all = func() (all []string) {
		err := filepath.WalkDir(dir, func(path string, e os.DirEntry, err error) error {
			if err == nil && !e.IsDir() {
				path, err = filepath.Rel(dir, path)
				all = append(all, path)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		return all
	}
	return k
}

func inBucket(t testing.TB) kept {
	return bucketAt(t, s3.New(t), "")
}

// bucketAt returns the bucket b, reached through another address if one is given.
func bucketAt(t testing.TB, b s3.Bucket, addr string) kept {
	settings := b.Settings()
	if addr != "" {
		settings = b.At(addr)
	}
	dir := t.TempDir()
	k := kept{Place: open(t, dir, settings), dir: dir}
	k.write = func(path string, content []byte) {
		if _, err := b.Client.PutObject(t.Context(), b.Name, s3.Prefix+path, bytes.NewReader(content), int64(len(content)), minio.PutObjectOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	k.all = func() (all []string) {
		for o := range b.Client.ListObjectsIter(t.Context(), b.Name, minio.ListObjectsOptions{Recursive: true}) {
			if o.Err != nil {
				t.Fatal(o.Err)
			}
			all = append(all, strings.TrimPrefix(o.Key, s3.Prefix))
		}
		for u := range b.Client.ListIncompleteUploads(t.Context(), b.Name, "", true) {
			all = append(all, "unfinished "+u.Key)
		}
		return all
	}
	return k
}

// everywhere runs a test on each kind of place.
func everywhere(t *testing.T, test func(*testing.T, kept)) {
	t.Run("folder", func(t *testing.T) { test(t, inFolder(t)) })
	t.Run("bucket", func(t *testing.T) { test(t, inBucket(t)) })
}

func digest(content []byte) string {
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:])
}

// noise returns content that depends on more than its size.
func noise(size int) []byte {
	content := make([]byte, size)
	source := rand.NewChaCha8([32]byte{byte(size)})
	_, _ = source.Read(content) // never fails
	return content
}

// put stores a content.
func put(t testing.TB, k blob.Place, content []byte, life int64) blob.Name {
	t.Helper()
	n, err := tryPut(t.Context(), k, content, life)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func tryPut(ctx context.Context, k blob.Place, content []byte, life int64) (blob.Name, error) {
	s, err := k.Stage(bytes.NewReader(content), int64(len(content)))
	if err != nil {
		return blob.Name{}, err
	}
	n := blob.Name{Digest: s.Digest, Life: life}
	return n, errors.Join(k.Put(ctx, s, n), s.Drop())
}

// read reads a content back.
func read(ctx context.Context, k blob.Place, n blob.Name) ([]byte, error) {
	f, err := k.Open(ctx, n)
	if err != nil {
		return nil, err
	}
	content, err := io.ReadAll(f)
	return content, errors.Join(err, f.Close())
}

func wantContent(t *testing.T, k blob.Place, n blob.Name, want []byte) {
	t.Helper()
	if got, err := read(t.Context(), k, n); err != nil || !bytes.Equal(got, want) {
		t.Errorf("%s: %d bytes, want %d; %v", n.Path(), len(got), len(want), err)
	}
}

func TestContentComesBackAsItWasPut(t *testing.T) {
	everywhere(t, func(t *testing.T, k kept) {
		var names []string
		for _, size := range []int{0, 1, 100, 3<<20 + 17} {
			content := noise(size)
			s, err := k.Stage(bytes.NewReader(content), int64(size))
			if err != nil || s.Digest != digest(content) || s.Size != int64(size) {
				t.Fatalf("%d bytes: %v, %v", size, s, err)
			}
			n := blob.Name{Digest: s.Digest}
			if got, err := read(t.Context(), k, n); !errors.Is(err, hazard.ErrNotFound) {
				t.Errorf("before it is put: %d bytes, %v", len(got), err)
			}
			if err := errors.Join(k.Put(t.Context(), s, n), s.Drop(), s.Drop()); err != nil {
				t.Fatal(err)
			}
			wantContent(t, k, n, content)
			put(t, k, content, 0) // the same content again
			wantContent(t, k, n, content)
			names = append(names, n.Path())
		}
		next := put(t, k, noise(100), 1)
		if want := next.Digest[:2] + "/" + next.Digest + ".1"; next.Path() != want {
			t.Errorf("the next life is at %s, want %s", next.Path(), want)
		}
		wantContent(t, k, next, noise(100))
		names = append(names, next.Path())
		slices.Sort(names)
		all := k.all()
		if slices.Sort(all); !slices.Equal(all, names) {
			t.Errorf("there is %q, want %q", all, names)
		}
	})
}

func TestPartsOfAContentAreServed(t *testing.T) {
	everywhere(t, func(t *testing.T, k kept) {
		content := noise(60_000)
		n := put(t, k, content, 0)
		f, err := k.Open(t.Context(), n)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		if err := iotest.TestReader(f, content); err != nil { // any seeks and reads
			t.Error(err)
		}
		if _, err := f.Seek(-1, io.SeekStart); err == nil {
			t.Error("a place before the beginning was found")
		}
		for asked, want := range map[string][]byte{"": content, "bytes=0-0": content[:1], "bytes=1000-20000": content[1000:20001], "bytes=-7": content[len(content)-7:]} {
			req, answer := httptest.NewRequest("GET", "/", nil), httptest.NewRecorder()
			if asked != "" {
				req.Header.Set("Range", asked)
			}
			http.ServeContent(answer, req, "", time.Time{}, f)
			if !bytes.Equal(answer.Body.Bytes(), want) {
				t.Errorf("%s: %d with %d bytes, want %d", asked, answer.Code, answer.Body.Len(), len(want))
			}
		}
	})
}

func TestWhatIsTooLargeOrBreaksOffLeavesNothing(t *testing.T) {
	everywhere(t, func(t *testing.T, k kept) {
		_, err := k.Stage(strings.NewReader("12345"), 4)
		if _, ok := errors.AsType[*hazard.InvalidError](err); !ok {
			t.Errorf("5 bytes with a limit of 4: %v", err)
		}
		if _, err := k.Stage(io.MultiReader(strings.NewReader("abc"), iotest.ErrReader(io.ErrUnexpectedEOF)), 100); !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("one that breaks off: %v", err)
		}
		s, err := k.Stage(strings.NewReader("1234"), 4)
		if err != nil {
			t.Fatalf("exactly the limit: %v", err)
		}
		if err := s.Drop(); err != nil {
			t.Error(err)
		}
		left, err := os.ReadDir(k.dir)
		if err != nil || len(left) != 0 || len(k.all()) != 0 {
			t.Errorf("left behind: %v, %q, %v", left, k.all(), err)
		}
	})
}

func TestDamageIsToldAndNotServed(t *testing.T) {
	good := noise(70_000)
	turned := bytes.Clone(good)
	turned[35_000] ^= 1
	everywhere(t, func(t *testing.T, k kept) {
		for name, bad := range map[string][]byte{"a bit is turned": turned, "cut short": good[:60_000], "longer": append(bytes.Clone(good), 0), "empty": {}} {
			t.Run(name, func(t *testing.T) {
				n := put(t, k, good, 0)
				wantContent(t, k, n, good) // it has been verified, from now on
				k.write(n.Path(), bad)
				for range 2 {
					got, err := read(t.Context(), k, n)
					if err == nil || !strings.Contains(err.Error(), "damaged") || errors.Is(err, hazard.ErrNotFound) || len(got) != 0 {
						t.Errorf("%d bytes, %v", len(got), err)
					}
				}
				put(t, k, good, 0) // repairs it
				wantContent(t, k, n, good)
			})
		}
	})
}

func TestNamesThatNoContentHasAreNotFound(t *testing.T) {
	everywhere(t, func(t *testing.T, k kept) {
		k.write("abc", []byte("not ours"))
		none := strings.Repeat("0", 64)
		for _, bad := range []blob.Name{{}, {Digest: none}, {Digest: none, Life: 3}, {Digest: "abc"}, {Digest: "../../hazardd.db"}, {Digest: "../" + none[3:]}, {Digest: strings.Repeat("F", 64)}, {Digest: none, Life: -1}} {
			if _, err := k.Open(t.Context(), bad); !errors.Is(err, hazard.ErrNotFound) {
				t.Errorf("%+v: %v", bad, err)
			}
		}
	})
}

func TestContentsAreListedAndRemoved(t *testing.T) {
	everywhere(t, func(t *testing.T, k kept) {
		began := time.Now().Add(-time.Minute) // the server's clock has whole seconds
		names := []blob.Name{put(t, k, noise(1), 0), put(t, k, noise(2), 0), put(t, k, noise(2), 7)}
		foreign := []string{"readme", "ab/notes.txt", "ab/" + names[0].Digest + "x", names[0].Path() + ".01", names[0].Path() + ".bak", "zz/" + strings.Repeat("a", 64)}
		for _, path := range foreign {
			k.write(path, []byte("not ours"))
		}
		listed := map[blob.Name]bool{}
		err := k.Each(t.Context(), func(n blob.Name, put time.Time) error {
			if put.Before(began) || put.After(began.Add(time.Hour)) {
				t.Errorf("%s was put at %v", n.Path(), put)
			}
			listed[n] = true
			return nil
		})
		if err != nil || len(listed) != len(names) {
			t.Errorf("listed %v, %v", listed, err)
		}
		for _, n := range names {
			if !listed[n] {
				t.Errorf("%s is not listed", n.Path())
			}
		}
		stop := errors.New("stop")
		if err := k.Each(t.Context(), func(blob.Name, time.Time) error { return stop }); !errors.Is(err, stop) {
			t.Errorf("a listing that is stopped: %v", err)
		}
		wantContent(t, k, names[2], noise(2))
		if err := errors.Join(k.Remove(t.Context(), names[2]), k.Remove(t.Context(), names[2])); err != nil {
			t.Error(err)
		}
		if _, err := k.Open(t.Context(), names[2]); !errors.Is(err, hazard.ErrNotFound) {
			t.Errorf("what was removed: %v", err)
		}
		wantContent(t, k, names[1], noise(2)) // the file of its other life stays
		if all := k.all(); len(all) != len(foreign)+2 {
			t.Errorf("left are %q", all)
		}
	})
}

func TestThePlaceIsTheFirstOnesThatAsks(t *testing.T) {
	everywhere(t, func(t *testing.T, k kept) {
		var wg sync.WaitGroup
		told := make([]string, 8)
		for i := range told {
			wg.Go(func() {
				var err error
				if told[i], err = k.Owner(t.Context(), fmt.Sprint("store ", i)); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		if who := slices.Compact(told); len(who) != 1 || !strings.HasPrefix(who[0], "store ") {
			t.Errorf("it is owned by %q", who)
		}
		if again, err := k.Owner(t.Context(), "another"); err != nil || again != told[0] {
			t.Errorf("then by %q, %v", again, err)
		}
	})
}

func TestUploadsThatWereInterruptedAreTidied(t *testing.T) {
	everywhere(t, func(t *testing.T, k kept) {
		now := time.Now()
		for name, age := range map[string]time.Duration{"incoming-old": 2 * time.Hour, "incoming-new": 0, "another": 2 * time.Hour} {
			path := filepath.Join(k.dir, name)
			if err := errors.Join(os.WriteFile(path, []byte("x"), 0o600), os.Chtimes(path, time.Time{}, now.Add(-age))); err != nil {
				t.Fatal(err)
			}
		}
		if err := k.Tidy(now.Add(-time.Hour)); err != nil {
			t.Fatal(err)
		}
		for name, want := range map[string]bool{"incoming-old": false, "incoming-new": true, "another": true} {
			if _, err := os.Stat(filepath.Join(k.dir, name)); (err == nil) != want {
				t.Errorf("%s: %v", name, err)
			}
		}
	})
}

func TestManyPutAndReadTheSameContentAtOnce(t *testing.T) {
	everywhere(t, func(t *testing.T, k kept) {
		content := noise(500_000)
		var wg sync.WaitGroup
		for range 8 {
			wg.Go(func() {
				n, err := tryPut(t.Context(), k, content, 0)
				if err != nil {
					t.Error(err)
				}
				wantContent(t, k, n, content)
			})
		}
		wg.Wait()
		if all := k.all(); len(all) != 1 {
			t.Errorf("there is %q", all)
		}
		left, err := filepath.Glob(filepath.Join(k.dir, "incoming-*"))
		if err != nil || len(left) != 0 {
			t.Errorf("left behind: %q, %v", left, err)
		}
	})
}

// The cost of both kinds of place, for sequential uploads and downloads.
func BenchmarkPlaces(b *testing.B) {
	content := noise(8 << 20)
	for name, in := range map[string]func(testing.TB) kept{"folder": inFolder, "bucket": inBucket} {
		b.Run(name+"/put", func(b *testing.B) {
			k := in(b)
			b.SetBytes(int64(len(content)))
			for b.Loop() {
				put(b, k, content, 0)
			}
		})
		b.Run(name+"/read", func(b *testing.B) {
			k := in(b)
			n := put(b, k, content, 0)
			b.SetBytes(int64(len(content)))
			for b.Loop() {
				f, err := k.Open(b.Context(), n)
				if err != nil {
					b.Fatal(err)
				}
				if _, err := io.Copy(io.Discard, f); err != nil {
					b.Fatal(err)
				}
				if err := f.Close(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
