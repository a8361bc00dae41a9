// Package s3 gives tests a real S3 server: the Versity S3 Gateway on a temporary folder, built from
// its module on first use.
//
// A test binary that uses it must run its tests through Main, which stops what was started. Its tests
// are of the level test.Seldom: to build the server takes a minute and a half of processor the first time.
package s3

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"

	"github.com/hazardd/hazardd/internal/store/blob"
	"github.com/hazardd/hazardd/internal/test"
	"github.com/hazardd/hazardd/internal/test/child"
)

// gateway is what is built. It is pinned, as every dependency; it is run, not linked.
const gateway = "github.com/versity/versitygw/cmd/versitygw@v1.8.0"

// The keys of the server, which is open to this machine alone and thrown away.
const (
	accessKey = "hazardd-test"
	secretKey = "no secret at all"
)

// Bucket is a bucket of its own.
type Bucket struct {
	Name   string
	Server *url.URL
	Client *minio.Client // its root's
}

// Settings are how the program opens the bucket, below a prefix.
func (b Bucket) Settings() blob.Settings { return b.At(b.Server.Host) }

// At is Settings by way of another address, such as one of Gate.
func (b Bucket) At(host string) blob.Settings {
	query := url.Values{"endpoint": {"http://" + host}, "path_style": {"true"}}
	return blob.Settings{URL: "s3://" + b.Name + "/hazardd/files?" + query.Encode(), AccessKey: accessKey, SecretKey: secretKey}
}

// Limited returns the Settings of a user who may do only what a policy of the bucket allows.
func (b Bucket) Limited(t testing.TB, policy string) blob.Settings {
	t.Helper()
	s := b.Settings()
	s.AccessKey = "limited-" + uuid.NewString()[:8]
	create := exec.CommandContext(t.Context(), filepath.Join(common.dir, "versitygw"), "admin", "--endpoint-url", b.Server.String(), "--access", accessKey, "--secret", secretKey,
		"create-user", "--access", s.AccessKey, "--secret", s.SecretKey, "--role", "user")
	if out, err := create.CombinedOutput(); err != nil {
		t.Fatalf("make a user: %v\n%s", err, out)
	}
	policy = strings.ReplaceAll(policy, `"Effect":`, `"Principal": {"AWS": ["`+s.AccessKey+`"]}, "Effect":`)
	if err := b.Client.SetBucketPolicy(t.Context(), b.Name, policy); err != nil {
		t.Fatalf("policy %s: %v", policy, err)
	}
	return s
}

// Prefix is where in the bucket the program's objects are.
const Prefix = "hazardd/files/"

// common is the server of this test binary.
var common struct {
	sync.Once
	dir  string
	addr string
	cmd  *exec.Cmd
	done chan error
	err  error
}

// New makes an empty bucket, on a server that all tests of the binary share.
func New(t testing.TB) Bucket {
	t.Helper()
	test.Seldom(t)
	common.Do(func() { common.err = start() })
	if common.err != nil {
		t.Fatalf("S3 server: %v", common.err)
	}
	client, err := minio.New(common.addr, &minio.Options{Creds: credentials.NewStaticV4(accessKey, secretKey, ""), Region: "us-east-1", BucketLookup: minio.BucketLookupPath})
	if err != nil {
		t.Fatal(err)
	}
	b := Bucket{Name: "t-" + uuid.NewString()[:8], Server: &url.URL{Scheme: "http", Host: common.addr}, Client: client}
	if err := client.MakeBucket(t.Context(), b.Name, minio.MakeBucketOptions{}); err != nil {
		t.Fatal(err)
	}
	return b
}

func start() (err error) {
	if common.dir, err = os.MkdirTemp("", "hazardd-s3-"); err != nil {
		return err
	}
	// Go keeps what go run has linked, and links what go install installs each time.
	build := exec.Command("go", "run", "-exec", "cp", gateway, filepath.Join(common.dir, "versitygw"))
	build.Dir = common.dir
	build.Env = append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=-ldflags=-s")
	if out, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("build %s: %w\n%s", gateway, err, out)
	}
	data, sidecar, users := filepath.Join(common.dir, "data"), filepath.Join(common.dir, "sidecar"), filepath.Join(common.dir, "users")
	if err := errors.Join(os.Mkdir(data, 0o700), os.Mkdir(sidecar, 0o700), os.Mkdir(users, 0o700)); err != nil {
		return err
	}
	addr, release, err := test.Reserve()
	if err != nil {
		return err
	}
	common.addr = addr.String()
	var log strings.Builder
	common.cmd = exec.Command(filepath.Join(common.dir, "versitygw"), "--quiet", "--keep-alive", "--iam-dir", users, "--port", common.addr, "posix", "--sidecar", sidecar, data)
	common.cmd.Env = append(os.Environ(), "ROOT_ACCESS_KEY="+accessKey, "ROOT_SECRET_KEY="+secretKey)
	common.cmd.Stdout, common.cmd.Stderr = &log, &log
	child.EndWithParent(common.cmd, syscall.SIGKILL)
	if err := common.cmd.Start(); err != nil {
		return errors.Join(err, release())
	}
	common.done = make(chan error, 1)
	go func() { common.done <- errors.Join(common.cmd.Wait(), release()) }()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	for {
		err := answers(ctx)
		if err == nil {
			return nil
		}
		select {
		case ended := <-common.done:
			common.done <- ended
			return fmt.Errorf("it has ended (%w):\n%s", ended, log.String())
		case <-ctx.Done():
			return fmt.Errorf("it does not answer: %w", err)
		case <-time.After(50 * time.Millisecond):
		}
	}
}

func answers(ctx context.Context) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+common.addr+"/", nil)
	if err != nil {
		return err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	return resp.Body.Close()
}

// Main runs the tests of a binary, and stops the server that they started: os.Exit(s3.Main(m.Run)).
func Main(run func() int) int {
	code := run()
	if err := stop(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = max(code, 1)
	}
	return code
}

func stop() error {
	var errs []error
	if common.done != nil {
		if err := common.cmd.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
			errs = append(errs, err)
		}
		<-common.done
	}
	if common.dir != "" {
		errs = append(errs, os.RemoveAll(common.dir))
	}
	return errors.Join(errs...)
}
