package blob_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/minio/minio-go/v7"

	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/store/blob"
	"github.com/hazardd/hazardd/internal/test/s3"
)

// all performs every operation of a place, and returns the results.
func all(t *testing.T, p blob.Place, n blob.Name) map[string]error {
	_, put := tryPut(t.Context(), p, noise(50), 0)
	_, open := p.Open(t.Context(), n)
	_, owner := p.Owner(t.Context(), "me")
	return map[string]error{"put": put, "open": open, "owner": owner, "list": p.Each(t.Context(), func(blob.Name, time.Time) error { return nil }),
		"remove": p.Remove(t.Context(), blob.Name{Digest: strings.Repeat("a", 64)})}
}

func TestABucketThatIsAwayIsUnavailableUntilItIsBack(t *testing.T) {
	b := s3.New(t)
	gate := s3.NewGate(t, b)
	k := bucketAt(t, b, gate.Addr)
	n := put(t, k, noise(100), 0)
	for name, away := range map[string]func(){"shut": gate.Shut, "silent": gate.Hang} {
		t.Run(name, func(t *testing.T) {
			if name == "silent" {
				blob.Patience(k.Place, 100*time.Millisecond)
			}
			away()
			for what, err := range all(t, k, n) {
				if !errors.Is(err, hazard.ErrUnavailable) || errors.Is(err, hazard.ErrNotFound) {
					t.Errorf("%s: %v", what, err)
				}
			}
			gate.Open()
			blob.Patience(k.Place, time.Minute) // the answers of a busy machine are late
			for what, err := range all(t, k, n) {
				if err != nil {
					t.Errorf("%s, when it is back: %v", what, err)
				}
			}
			wantContent(t, k, n, noise(100))
		})
	}
}

func TestABucketThatDoesNotLetUsInIsUnavailable(t *testing.T) {
	b := s3.New(t)
	stranger, nowhere := b.Settings(), b.Settings()
	stranger.SecretKey = "another"
	nowhere.URL = strings.Replace(nowhere.URL, b.Name, "no-such-bucket", 1)
	for name, settings := range map[string]blob.Settings{"wrong key": stranger, "no bucket": nowhere} {
		t.Run(name, func(t *testing.T) {
			p := open(t, t.TempDir(), settings)
			_, put := tryPut(t.Context(), p, noise(50), 0)
			list := p.Each(t.Context(), func(blob.Name, time.Time) error { return nil })
			for what, err := range map[string]error{"put": put, "list": list} {
				if !errors.Is(err, hazard.ErrUnavailable) || !strings.Contains(err.Error(), "s3://") || strings.Contains(err.Error(), "another") {
					t.Errorf("%s: %v", what, err)
				}
			}
		})
	}
}

func TestThePolicyInTheDocumentationIsWhatABucketNeeds(t *testing.T) {
	text, err := os.ReadFile("../../../docs/operate.md")
	if err != nil {
		t.Fatal(err)
	}
	_, policy, _ := strings.Cut(string(text), "```json\n")
	policy, _, found := strings.Cut(policy, "```")
	if !found {
		t.Fatal("docs/operate.md has no policy")
	}
	everything := func(t *testing.T, p blob.Place) map[string]error {
		n := put(t, p, noise(100), 0)
		wantContent(t, p, n, noise(100))
		done := all(t, p, n)
		done["remove what is there"] = p.Remove(t.Context(), n)
		_, gone := p.Open(t.Context(), n)
		if !errors.Is(gone, hazard.ErrNotFound) {
			done["find out that nothing is there"] = gone
		}
		return done
	}
	b := s3.New(t)
	policy = strings.NewReplacer("arn:aws:s3:::hazards", "arn:aws:s3:::"+b.Name, "/files/", "/"+s3.Prefix).Replace(policy)
	for what, err := range everything(t, open(t, t.TempDir(), b.Limited(t, policy))) {
		if err != nil {
			t.Errorf("%s: %v", what, err)
		}
	}
	// Each of the actions is needed.
	for _, action := range []string{"s3:GetObject", "s3:PutObject", "s3:DeleteObject", "s3:ListBucket"} {
		less := strings.Replace(policy, `"`+action+`"`, `"s3:GetBucketLocation"`, 1)
		if action != "s3:ListBucket" {
			less = strings.Replace(policy, `"`+action+`"`, `"s3:GetObjectTagging"`, 1)
		}
		p := open(t, t.TempDir(), b.Limited(t, less))
		refused := 0
		for _, err := range all(t, p, blob.Name{Digest: strings.Repeat("b", 64)}) {
			if errors.Is(err, hazard.ErrUnavailable) && strings.Contains(err.Error(), "Access") {
				refused++
			}
		}
		if refused == 0 {
			t.Errorf("without %s nothing is refused", action)
		}
	}
}

func TestAnUploadThatIsInterruptedIsNotSeen(t *testing.T) {
	b := s3.New(t)
	gate := s3.NewGate(t, b)
	k := bucketAt(t, b, gate.Addr)
	content := noise(8 << 20)
	n := blob.Name{Digest: digest(content)}
	gate.Let(5<<20, -1)
	if _, err := tryPut(t.Context(), k, content, 0); !errors.Is(err, hazard.ErrUnavailable) {
		t.Errorf("cut after 5 of 8 MiB: %v", err)
	}
	if there := k.all(); len(there) != 0 {
		t.Errorf("the bucket holds %q", there)
	}
	gate.Let(-1, 0) // the file is stored, although an error is returned
	if _, err := tryPut(t.Context(), k, content, 0); !errors.Is(err, hazard.ErrUnavailable) {
		t.Errorf("the answer was cut: %v", err)
	}
	gate.Open()
	put(t, k, content, 0)
	wantContent(t, k, n, content)
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := tryPut(gone, k, content, 0); !errors.Is(err, context.Canceled) || errors.Is(err, hazard.ErrUnavailable) {
		t.Errorf("the uploader has disconnected: %v", err)
	}
	if left, err := os.ReadDir(k.dir); err != nil || len(left) != 0 {
		t.Errorf("on this machine is left %v, %v", left, err)
	}
}

func TestADownloadGoesOnWhereItsConnectionBreaks(t *testing.T) {
	b := s3.New(t)
	gate := s3.NewGate(t, b)
	k := bucketAt(t, b, gate.Addr)
	content := noise(3 << 20)
	n := put(t, k, content, 0)
	gate.Let(-1, 700_000)
	wantContent(t, k, n, content) // twice: it is verified first
	f, err := k.Open(t.Context(), n)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := io.CopyN(io.Discard, f, 1000); err != nil {
		t.Fatal(err)
	}
	gate.Shut()
	if got, err := io.ReadAll(f); !errors.Is(err, hazard.ErrUnavailable) || !bytes.HasPrefix(content[1000:], got) {
		t.Errorf("the bucket became unreachable: %d more bytes, %v", len(got), err)
	}
}

func TestWhatIsReadIsWhatWasVerified(t *testing.T) {
	k := inBucket(t)
	content := noise(2 << 20)
	n := put(t, k, content, 0)
	f, err := k.Open(t.Context(), n)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	k.write(n.Path(), noise(2<<20+1))
	if got, err := io.ReadAll(f); err == nil {
		t.Errorf("%d bytes of another content were served", len(got))
	}
}

func TestAnswersOfBucketsHaveTheirKind(t *testing.T) {
	for _, c := range []struct {
		status int
		code   string
		want   error
	}{
		{http.StatusNotFound, "NoSuchKey", hazard.ErrNotFound}, {http.StatusNotFound, "NoSuchBucket", hazard.ErrUnavailable}, {http.StatusForbidden, "AccessDenied", hazard.ErrUnavailable},
		{http.StatusServiceUnavailable, "SlowDown", hazard.ErrUnavailable}, {http.StatusInternalServerError, "InternalError", hazard.ErrUnavailable},
		{http.StatusInsufficientStorage, "XMinioStorageFull", hazard.ErrFull}, {http.StatusInsufficientStorage, "", hazard.ErrFull},
		{http.StatusBadRequest, "XMinioAdminBucketQuotaExceeded", hazard.ErrFull}, {http.StatusForbidden, "QuotaExceeded", hazard.ErrFull},
	} {
		err := blob.Kind(fmt.Errorf("wrapped: %w", minio.ErrorResponse{StatusCode: c.status, Code: c.code}))
		for _, kind := range []error{hazard.ErrNotFound, hazard.ErrUnavailable, hazard.ErrFull} {
			if errors.Is(err, kind) != (kind == c.want) {
				t.Errorf("%d %s: %v, want %v", c.status, c.code, err, c.want)
			}
		}
	}
	if blob.Kind(nil) != nil {
		t.Error("no error is one")
	}
}

// Some buckets know that an object exists, and refuse another, before the object can be read; Amazon's refuses both of two that are put at once.
func TestAClaimThatIsRefusedWaitsForTheFirst(t *testing.T) {
	b := s3.New(t)
	for _, code := range []string{"PreconditionFailed", "ConditionalRequestConflict"} {
		t.Run(code, func(t *testing.T) {
			var refused atomic.Int32
			through := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(b.Server); r.Out.Host = r.In.Host }}
			early := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.Method == http.MethodPut && refused.Add(1) <= 3 {
					w.WriteHeader(http.StatusPreconditionFailed)
					fmt.Fprintf(w, "<Error><Code>%s</Code></Error>", code)
					return
				}
				through.ServeHTTP(w, r)
			}))
			defer early.Close()
			k := bucketAt(t, b, early.Listener.Addr().String())
			if owner, err := k.Owner(t.Context(), "me"); owner != "me" || err != nil {
				t.Errorf("it is owned by %q, %v", owner, err)
			}
			if err := b.Client.RemoveObject(t.Context(), b.Name, s3.Prefix+blob.OwnerName, minio.RemoveObjectOptions{}); err != nil {
				t.Fatal(err)
			}
			refused.Store(math.MinInt32)
			blob.Patience(k.Place, 300*time.Millisecond)
			if owner, err := k.Owner(t.Context(), "me"); !errors.Is(err, hazard.ErrUnavailable) || errors.Is(err, hazard.ErrNotFound) {
				t.Errorf("always refused: %q, %v", owner, err)
			}
		})
	}
}

func TestAddressesOfBuckets(t *testing.T) {
	for text, want := range map[string]string{
		"s3://bkt?region=eu-central-1":                                            "s3://bkt/ s3.amazonaws.com eu-central-1 true",
		"s3://bkt/a/c/?endpoint=https://s3.example.org":                           "s3://bkt/a/c/ s3.example.org us-east-1 true",
		"s3://bkt?endpoint=http://127.0.0.1:9000/&path_style=true&region=here":    "s3://bkt/ 127.0.0.1:9000 here false",
		"s3://bkt?endpoint=https%3A%2F%2F%5B2001:db8::1%5D:9000&path_style=false": "s3://bkt/ [2001:db8::1]:9000 us-east-1 true",
	} {
		where, endpoint, region, secure, err := blob.ParseURL(text)
		if got := fmt.Sprint(where, " ", endpoint, " ", region, " ", secure); err != nil || got != want {
			t.Errorf("%s: %s, %v; want %s", text, got, err, want)
		}
	}
	for text, want := range map[string]string{
		"b": "expected s3://", "/var/files": "expected s3://", "https://bkt": "expected s3://", "s3://": "expected s3://", "s3:bkt": "expected s3://", "s3://bkt:99": "expected s3://", "s3://bkt#c": "expected s3://",
		"s3://bkt": "needs its region", "s3://AKIA:verysecret@bkt?region=x": "HAZARDD_S3_ACCESS_KEY", "s3://AKIA:very%secret@bkt": "expected s3://",
		"s3://bkt/../c?region=x": "prefix", "s3://bkt/a//c?region=x": "prefix", "s3://bkt?regoin=x": `"regoin" is not a parameter`, "s3://bkt?region=x&path_style=perhaps": `"perhaps"`,
		"s3://bkt?endpoint=s3.example.org": "endpoint", "s3://bkt?endpoint=https://k:verysecret@s3.example.org": "endpoint", "s3://bkt?endpoint=https://h/path": "endpoint", "s3://bkt?region=%zz": "cannot be read",
	} {
		_, err := blob.Open(t.TempDir(), blob.Settings{URL: text})
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: error %v, want one with %q and no key", text, err, want)
		}
	}
	for name, s := range map[string]blob.Settings{
		"belong together": {URL: "s3://bkt?region=x", AccessKey: "AKIA"}, "Bucket name": {URL: "s3://B_?region=x"},
	} {
		if p, err := blob.Open(t.TempDir(), s); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%+v: %v, %v", s, p, err)
		}
	}
	s := blob.Settings{URL: "s3://bkt", AccessKey: "AKIA", SecretKey: "verysecret"}
	if text := fmt.Sprintf("%v %+v %#v %s", s, s, s, s); strings.Contains(text, "secret") || strings.Contains(text, "AKIA") {
		t.Errorf("settings print as %s", text)
	}
}

func FuzzParseURL(f *testing.F) {
	f.Add("s3://bkt/p?endpoint=https://h:1&region=r&path_style=true")
	f.Fuzz(func(t *testing.T, text string) {
		where, endpoint, region, _, err := blob.ParseURL(text)
		if err == nil && (!strings.HasPrefix(where, "s3://") || !strings.HasSuffix(where, "/") || strings.Contains(where, "/../") || endpoint == "" || region == "") {
			t.Errorf("%q leads to %q at %q in %q", text, where, endpoint, region)
		}
	})
}

func FuzzParsePath(f *testing.F) {
	f.Add("aa/" + strings.Repeat("a", 64) + ".12")
	f.Fuzz(func(t *testing.T, path string) {
		if n, ok := blob.ParsePath(path); ok && (n.Path() != path || !filepath.IsLocal(path)) {
			t.Errorf("%q is %+v, which is at %q", path, n, n.Path())
		}
	})
}
