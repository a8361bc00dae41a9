package blob

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"path"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"
	"github.com/minio/minio-go/v7/pkg/s3utils"
	"golang.org/x/sync/singleflight"

	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/hazard/clock"
)

// The limits of a bucket's requests.
const (
	dialTime       = 5 * time.Second
	answerTime     = 20 * time.Second // from the end of a request to the beginning of its answer
	requestTimeout = 10 * time.Second // for a request without content, including retries
	stallTime      = 30 * time.Second // for a transfer that makes no progress
	tries          = 3                // of each request
	// maxObject is the maximum size of one upload request in bytes (Amazon S3 User Guide,
	// "Uploading objects"). We do not use multipart uploads: a single request is visible completely
	// or not at all, and leaves nothing to clean up.
	maxObject = 5 << 30
)

// bucket stores contents in a bucket. An upload is stored in a local folder first. So its digest is
// known before it is sent, the bucket verifies it as part of the request's signature, and a failed
// request can be repeated.
type bucket struct {
	client         *minio.Core
	transport      *http.Transport
	name, prefix   string
	timeout, stall time.Duration // requestTimeout and stallTime
	spool          *os.Root
	// sound holds the contents that were read and verified, with the metadata that they had then.
	sound     sync.Map // Name → object
	verifying singleflight.Group
}

// object is the metadata of a content that shows whether it may have changed.
type object struct {
	etag string
	size int64
	time time.Time
}

// target is the parsed URL of a bucket.
type target struct {
	bucket, prefix   string
	endpoint, region string
	secure           bool
	lookup           minio.BucketLookupType
}

// parseURL parses s3://BUCKET/PREFIX?endpoint=URL&region=NAME&path_style=BOOL. Its errors never
// contain secrets.
func parseURL(text string) (t target, err error) {
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "s3" || u.Host == "" || u.Port() != "" || u.Fragment != "" {
		return t, errors.New("files: expected s3://BUCKET, s3://BUCKET/PREFIX?endpoint=https://HOST&region=NAME, or nothing for the folder of the data")
	}
	if u.User != nil {
		return t, errors.New("files: the URL of a bucket holds no keys: they are set by HAZARDD_S3_ACCESS_KEY and HAZARDD_S3_SECRET_KEY")
	}
	if err := s3utils.CheckValidBucketNameStrict(u.Host); err != nil {
		return t, fmt.Errorf("files: bucket %q: %w", u.Host, err)
	}
	t.bucket, t.secure, t.lookup = u.Host, true, minio.BucketLookupAuto
	if p := strings.Trim(u.Path, "/"); p != "" {
		if path.Clean(p) != p || p == ".." || strings.HasPrefix(p, "../") {
			return t, fmt.Errorf("files: the prefix %q has an empty part, . or .. in it", p)
		}
		t.prefix = p + "/"
	}
	query, err := url.ParseQuery(u.RawQuery)
	if err != nil {
		return t, fmt.Errorf("files: the parameters of %s cannot be read: %w", t, err)
	}
	for key, values := range query {
		value := values[len(values)-1]
		switch key {
		case "endpoint":
			e, err := url.Parse(value)
			if err != nil || e.Scheme != "https" && e.Scheme != "http" || e.Host == "" || e.User != nil || strings.Trim(e.Path, "/") != "" || e.RawQuery != "" || e.Fragment != "" {
				return t, errors.New("files: endpoint: expected https://HOST or https://HOST:PORT without a path")
			}
			t.endpoint, t.secure = e.Host, e.Scheme == "https"
		case "region":
			t.region = value
		case "path_style":
			pathStyle, err := strconv.ParseBool(value)
			if err != nil {
				return t, fmt.Errorf("files: path_style: %q is neither true nor false", value)
			}
			t.lookup = minio.BucketLookupDNS
			if pathStyle {
				t.lookup = minio.BucketLookupPath
			}
		default:
			return t, fmt.Errorf("files: %q is not a parameter of a bucket; there are endpoint, region and path_style", key)
		}
	}
	switch {
	case t.endpoint == "" && t.region == "":
		return t, fmt.Errorf("files: where is %s? A bucket of Amazon's needs its region, any other an endpoint", t)
	case t.endpoint == "":
		t.endpoint = "s3.amazonaws.com" // the library makes it the region's
	case t.region == "":
		t.region = "us-east-1" // what services without regions take
	}
	return t, nil
}

func (t target) String() string { return "s3://" + t.bucket + "/" + t.prefix }

func openBucket(dir string, s Settings) (*bucket, error) {
	t, err := parseURL(s.URL)
	if err != nil {
		return nil, err
	}
	if (s.AccessKey == "") != (s.SecretKey == "") {
		return nil, errors.New("files: of the bucket's keys only one is set; HAZARDD_S3_ACCESS_KEY and HAZARDD_S3_SECRET_KEY belong together")
	}
	// Several connections to one host, none of them kept longer than such services do; no proxy, as everywhere here.
	transport := &http.Transport{
		DialContext:           (&net.Dialer{Timeout: dialTime, KeepAlive: 30 * time.Second}).DialContext,
		TLSHandshakeTimeout:   dialTime,
		ResponseHeaderTimeout: answerTime,
		IdleConnTimeout:       time.Minute,
		MaxIdleConnsPerHost:   16,
		DisableCompression:    true,
	}
	keys := credentials.NewStaticV4(s.AccessKey, s.SecretKey, "")
	if s.AccessKey == "" {
		keys = credentials.NewChainCredentials([]credentials.Provider{&credentials.EnvAWS{}, &credentials.IAM{Region: t.region}})
	}
	client, err := minio.NewCore(t.endpoint, &minio.Options{Creds: keys, Secure: t.secure, Region: t.region, BucketLookup: t.lookup, Transport: transport, MaxRetries: tries})
	if err != nil {
		return nil, fmt.Errorf("files: %w", err)
	}
	spool, err := openRoot(dir)
	if err != nil {
		return nil, err
	}
	return &bucket{client: client, transport: transport, name: t.bucket, prefix: t.prefix, timeout: requestTimeout, stall: stallTime, spool: spool}, nil
}

func (b *bucket) String() string { return "s3://" + b.name + "/" + b.prefix }

func (b *bucket) Close() error {
	b.transport.CloseIdleConnections()
	return b.spool.Close()
}

func (b *bucket) Stage(r io.Reader, limit int64) (*Staged, error) {
	return stage(b.spool, r, limit, false)
}

func (b *bucket) Tidy(before time.Time) error { return tidy(b.spool, before) }

func (b *bucket) key(n Name) string { return b.prefix + n.path() }

func (b *bucket) Put(ctx context.Context, s *Staged, n Name) error { return b.PutAs(ctx, s, n.path()) }

// put uploads an object in one request.
func (b *bucket) put(ctx context.Context, key string, content io.ReadSeeker, size int64, digest string, options minio.PutObjectOptions) error {
	options.ContentType = "application/octet-stream" // what it is, the product says
	options.DisableContentSha256 = true              // else its signature would be made piece by piece, without the digest
	watched, timer, stop := b.watch(ctx)
	defer stop()
	_, err := b.client.PutObject(watched, b.name, key, &moving{content, timer, b.stall}, size, "", digest, options)
	return b.fail(ctx, err)
}

func (b *bucket) Open(ctx context.Context, n Name) (io.ReadSeekCloser, error) {
	if !n.ok() {
		return nil, none(n)
	}
	o, err := b.stat(ctx, n)
	if err != nil {
		return nil, err
	}
	if before, ok := b.sound.Load(n); !ok || before != o {
		// Of all that ask for it at once, one reads it. Its reader going away must not fail the others.
		_, err, _ := b.verifying.Do(n.path(), func() (any, error) { return nil, b.verify(context.WithoutCancel(ctx), n, o) })
		if err != nil {
			return nil, err
		}
	}
	return &reader{ctx: ctx, bucket: b, name: n, object: o}, nil
}

func (b *bucket) stat(ctx context.Context, n Name) (object, error) {
	requestCtx, cancel := context.WithTimeout(ctx, b.timeout)
	defer cancel()
	info, err := b.client.StatObject(requestCtx, b.name, b.key(n), minio.StatObjectOptions{})
	if err != nil {
		return object{}, b.fail(ctx, err)
	}
	return object{info.ETag, info.Size, info.LastModified}, nil
}

// verify reads a whole content, and records that it is undamaged.
func (b *bucket) verify(ctx context.Context, n Name, o object) error {
	r := &reader{ctx: ctx, bucket: b, name: n, object: o}
	defer r.end()
	sum := sha256.New()
	if _, err := io.Copy(sum, r); err != nil {
		return err
	}
	if hex.EncodeToString(sum.Sum(nil)) != n.Digest {
		return damaged(n, b)
	}
	b.sound.Store(n, o)
	return nil
}

func (b *bucket) Each(ctx context.Context, found func(Name, time.Time) error) error {
	return b.Names(ctx, "", func(name string, put time.Time) error {
		n, ok := parsePath(name)
		if !ok {
			return nil
		}
		return found(n, put)
	})
}

func (b *bucket) Remove(ctx context.Context, n Name) error {
	b.sound.Delete(n)
	return b.RemoveAs(ctx, n.path())
}

func (b *bucket) Owner(ctx context.Context, claim string) (string, error) {
	first := minio.PutObjectOptions{}
	first.SetMatchETagExcept("*")
	sum := sha256.Sum256([]byte(claim))
	untilCtx, cancel := context.WithTimeout(ctx, b.timeout)
	defer cancel()
	for {
		text, err := b.owner(ctx)
		if !errors.Is(err, hazard.ErrNotFound) {
			return text, err
		}
		switch err := b.put(ctx, b.prefix+OwnerName, strings.NewReader(claim), int64(len(claim)), hex.EncodeToString(sum[:]), first); code(err) {
		case minio.PreconditionFailed, "ConditionalRequestConflict":
			// Somebody is first, but what they put may not be there to read yet.
			if clock.Sleep(untilCtx, ownerAgain) != nil {
				return "", b.fail(ctx, fmt.Errorf("%s is refused, since it exists, and is not there to read: %w", OwnerName, err))
			}
		default:
			if err != nil {
				return "", err
			}
		}
	}
}

// ownerAgain is how long a claim that was refused waits before it asks who was first.
const ownerAgain = 20 * time.Millisecond

func (b *bucket) owner(ctx context.Context) (string, error) {
	requestCtx, cancel := context.WithTimeout(ctx, b.timeout)
	defer cancel()
	body, _, _, err := b.client.GetObject(requestCtx, b.name, b.prefix+OwnerName, minio.GetObjectOptions{})
	if err != nil {
		return "", b.fail(ctx, err)
	}
	text, err := io.ReadAll(io.LimitReader(body, maxOwner))
	return string(text), b.fail(ctx, errors.Join(err, body.Close()))
}

// maxOwner is the maximum length of an owner's name, in bytes.
const maxOwner = 1 << 10

// fail classifies the error of a request under ctx. All but a missing object and a full bucket may
// pass without a change here: an unreachable service, a bucket not yet created, expired keys.
func (b *bucket) fail(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	if ctx.Err() != nil {
		return errors.Join(ctx.Err(), err) // whoever asked has gone
	}
	kind := hazard.ErrUnavailable
	switch answer, _ := errors.AsType[minio.ErrorResponse](err); {
	case answer.Code == minio.NoSuchKey:
		kind = hazard.ErrNotFound
	case answer.StatusCode == http.StatusInsufficientStorage, strings.Contains(answer.Code, "QuotaExceeded"), strings.Contains(answer.Code, "StorageFull"):
		kind = hazard.ErrFull
	}
	return fmt.Errorf("%w: %v: %w", kind, b, err)
}

// code returns the S3 error code in err; it is empty if err is not an answer of S3.
func code(err error) string {
	answer, _ := errors.AsType[minio.ErrorResponse](err)
	return answer.Code
}

// errStalled is the cause when a transfer is canceled.
var errStalled = errors.New("nothing moves any more")

// watch returns a context that is canceled when a transfer makes no progress: when timer was not
// reset for the time stall.
func (b *bucket) watch(ctx context.Context) (watched context.Context, timer *time.Timer, stop func()) {
	watched, cancel := context.WithCancelCause(ctx)
	timer = time.AfterFunc(b.stall, func() { cancel(errStalled) })
	return watched, timer, func() { timer.Stop(); cancel(nil) }
}

// moving is a content that is being sent: every piece that is taken of it shows that the transfer moves. It cannot be closed, as the library would.
type moving struct {
	content io.ReadSeeker
	timer   *time.Timer
	stall   time.Duration
}

func (m *moving) Read(p []byte) (int, error) {
	m.timer.Reset(m.stall)
	return m.content.Read(p)
}

func (m *moving) Seek(offset int64, whence int) (int64, error) { return m.content.Seek(offset, whence) }

// reader reads a content of a bucket from any place on. It asks again where an answer breaks off. It is for one goroutine.
type reader struct {
	ctx    context.Context
	bucket *bucket
	name   Name
	object object
	at     int64
	failed int // times in a row that an answer broke off
	// The answer that is being read; body is nil if there is none. The timer runs while more of it is waited for: a reader may take its time.
	body  io.ReadCloser
	timer *time.Timer
	stop  func()
}

func (r *reader) Read(p []byte) (int, error) {
	if r.at >= r.object.size {
		return 0, io.EOF
	}
	for {
		n, err := r.read(p)
		r.at += int64(n)
		if n > 0 || err == nil {
			r.failed = 0
			return n, nil
		}
		if err == io.EOF {
			err = io.ErrUnexpectedEOF
		}
		r.end()
		if r.failed++; r.failed >= tries || r.ctx.Err() != nil || code(err) != "" {
			return 0, r.bucket.fail(r.ctx, err)
		}
	}
}

// read reads on from the present answer, or begins one.
func (r *reader) read(p []byte) (int, error) {
	if r.body == nil {
		options := minio.GetObjectOptions{}
		err := options.SetRange(r.at, r.object.size-1)
		if r.object.etag != "" { // nothing but what was verified
			err = errors.Join(err, options.SetMatchETag(r.object.etag))
		}
		if err != nil {
			return 0, err
		}
		ctx, timer, stop := r.bucket.watch(r.ctx)
		body, _, _, err := r.bucket.client.GetObject(ctx, r.bucket.name, r.bucket.key(r.name), options)
		if err != nil {
			stop()
			return 0, err
		}
		r.body, r.timer, r.stop = body, timer, stop
	}
	r.timer.Reset(r.bucket.stall)
	defer r.timer.Stop()
	return r.body.Read(p[:min(int64(len(p)), r.object.size-r.at)])
}

// end ends the present answer; reading begins another.
func (r *reader) end() {
	if r.body == nil {
		return
	}
	r.stop()
	_ = r.body.Close() // nothing more is wanted of it
	r.body = nil
}

func (r *reader) Seek(offset int64, whence int) (int64, error) {
	switch whence {
	case io.SeekCurrent:
		offset += r.at
	case io.SeekEnd:
		offset += r.object.size
	}
	if offset < 0 {
		return 0, errors.New("seek before the beginning")
	}
	if offset != r.at {
		r.end()
		r.at = offset
	}
	return offset, nil
}

func (r *reader) Close() error {
	r.end()
	return nil
}
