package blob

import (
	"context"
	"time"
)

// Patience makes a bucket give up after d.
func Patience(p Place, d time.Duration) { p.(*bucket).timeout, p.(*bucket).stall = d, d }

// Kind returns the error that a bucket makes of err.
func Kind(err error) error { return (&bucket{}).fail(context.Background(), err) }

// Path returns the name as a path.
func (n Name) Path() string { return n.path() }

// ParsePath parses a path.
var ParsePath = parsePath

// ParseURL returns the place that a URL names, and its endpoint.
func ParseURL(text string) (where, endpoint, region string, secure bool, err error) {
	t, err := parseURL(text)
	return t.String(), t.endpoint, t.region, t.secure, err
}
