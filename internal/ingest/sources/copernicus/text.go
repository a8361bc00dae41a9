package copernicus

import (
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/ingest/lenient"
)

const (
	maxName  = 200     // of a name, in bytes
	maxText  = 8 << 10 // of a displayed text, in bytes; the longest recorded one has 800
	maxQuote = 80      // of a quotation in a reason, in bytes
)

// date parses a time in UTC without zone, or with a zone.
func date(s string) (hazard.Instant, bool) {
	s = strings.TrimSpace(s)
	for _, layout := range []string{"2006-01-02T15:04:05", "2006-01-02T15:04", time.RFC3339} { // with any fraction of a second
		if t, err := time.Parse(layout, s); err == nil {
			at := hazard.At(t)
			return at, at >= hazard.MinInstant && at <= hazard.MaxInstant
		}
	}
	return 0, false
}

// fault names a field, its value and what was expected.
func fault(field, value, expected string) string {
	return field + ": " + quote(value) + ", expected " + expected
}

// quote returns a value as a reason quotes it.
func quote(s string) string {
	s = hazard.CleanLine(lenient.Clip(s, 4*maxQuote))
	if s == "" {
		return "missing"
	}
	if len(s) > maxQuote {
		s = lenient.Clip(s, maxQuote) + "…"
	}
	return strconv.Quote(s)
}

// line returns a text on one line.
func line(t text) string {
	return lenient.Clip(hazard.CleanLine(lenient.Clip(string(t), maxText)), maxText)
}

// address returns s if it is an http or https address without blanks, control characters and
// non-ASCII letters, otherwise "".
func address(t text) string {
	web := lenient.WebAddress(string(t))
	if u, err := url.Parse(web); err != nil || !strings.Contains(u.Hostname(), ".") {
		return ""
	}
	return web
}
