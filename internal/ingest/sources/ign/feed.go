package ign

import (
	"strconv"

	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/ingest/lenient"
	"github.com/hazardd/hazardd/internal/ingest/source"
)

// maxElements bounds the elements of an item. The recorded ones have six.
const maxElements = 100

// Parse reads the list as of now. The error is a *source.PayloadError. If its Cut is true, the
// records before the error are good.
func Parse(payload []byte, now hazard.Instant) (source.Batch, error) {
	b := lenient.Batch{Batch: source.Batch{Current: true}}
	text, err := lenient.Text(payload, "windows-1252")
	if err != nil {
		return b.Done(), err
	}
	_, err = lenient.XML{Want: "RSS", Roots: []string{"rss"}, Records: []string{"item"}}.Read(text, func(e lenient.Element) {
		where := "item/" + strconv.Itoa(b.Batch.Read)
		b.Batch.Read++
		n, notes, err := e.Tree(lenient.Limits{Elements: maxElements})
		if err != nil {
			b.Reject(lenient.At(where), e.Raw, err.Error())
			return
		}
		r, reason := report(n, now)
		if reason != "" {
			b.Reject(lenient.At(where), e.Raw, append(notes, reason)...)
			return
		}
		source.Note(r, notes...)
		b.Reports = append(b.Reports, *r)
	})
	return b.Done(), err
}
