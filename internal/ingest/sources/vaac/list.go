package vaac

import (
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/ingest/lenient"
	"github.com/hazardd/hazardd/internal/ingest/source"
)

// entries matches the files of the list: a WMO heading for advisories of volcanic ash (FV), the
// issuing center, and the time of arrival.
var entries = regexp.MustCompile(`(?i)href="(fv[a-z]{2}\d{2}\.(?:knes|pawu|adrm|rjtd|nzkl|sabm|lfpw|egrr|cwao)\.\.txt)"[^>]*>[^<]*</a>(?:</td><td[^>]*>|\s)*(\d{2}-[a-z]{3}-\d{4} \d{2}:\d{2}|\d{4}-\d{2}-\d{2} \d{2}:\d{2})?`)

// old is the largest age of a text that is read. An advisory is valid for hours, but the list keeps
// the last one of each heading for years.
const old = 48 * time.Hour

// Parse reads the list or a text, as of now. The error is a *source.PayloadError. If its Cut is
// true, the records before the error are good.
func Parse(payload []byte, now hazard.Instant) (source.Batch, error) {
	p := parser{now: now}
	doc, err := lenient.JSON(payload) // in UTF-8 without a byte order mark
	if err != nil {
		return p.Done(), err
	}
	if text := strings.TrimSpace(string(doc)); strings.HasPrefix(text, "<") {
		err = p.list(text)
	} else {
		err = p.text(text)
	}
	return p.Done(), err
}

type parser struct {
	lenient.Batch
	now hazard.Instant
}

// list reads the list. A page without any entry is not the list.
func (p *parser) list(text string) error {
	for _, m := range entries.FindAllStringSubmatch(text, -1) {
		p.Batch.Read++
		at, err := time.Parse("02-Jan-2006 15:04", m[2])
		if err != nil {
			at, err = time.Parse("2006-01-02 15:04", m[2])
		}
		switch came := hazard.At(at); {
		case err != nil: // without the time, changes of the file would not be noticed
			p.Reject(lenient.At(m[1]), []byte(m[0]), fmt.Sprintf("%q after the name, expected when it came, such as 30-Jul-2026 02:50", lenient.ExcerptText(m[2])))
		case came < p.now.Add(-old):
			p.Ignore(m[1], "the advisory is older than "+old.String()+": its ash is gone, or a later one is listed")
		default:
			p.Links = append(p.Links, source.Link{URL: m[1], ID: m[1] + " " + m[2], Updated: &came})
		}
	}
	switch low := strings.ToLower(text); {
	case p.Batch.Read == 0:
		return source.Errorf("%s, expected a list of files such as fvxx20.knes..txt", lenient.Excerpt([]byte(text)))
	case !strings.Contains(low, "</html>"):
		return &source.PayloadError{Reason: fmt.Sprintf("the list ends early, after %d files", p.Batch.Read), Cut: true}
	}
	return nil
}
