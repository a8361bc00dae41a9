package serve

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/hazardd/hazardd/internal/auth"
	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/store"
)

// payloadLink identifies a payload as received.
type payloadLink struct {
	SHA256   string `json:"sha256"`
	Received string `json:"received"` // when this content was first received
	Source   string `json:"source"`
	// URL is where it came from, without secrets; absent for a file.
	URL string `json:"url,omitzero"`
	// Href is the address of the payload, for editors.
	Href string `json:"href"`
}

// payloadsOf lists the stored payloads behind a source's report of an event.
func (a *API) payloadsOf(ctx context.Context, e *store.EventReports) ([]payloadLink, error) {
	said := slices.Clone(e.Said)
	slices.SortStableFunc(said, func(x, y store.Said) int { return cmp.Compare(y.Received, x.Received) })
	var list []payloadLink
	known := map[string]bool{"": true}
	for _, s := range said {
		if known[s.Payload] || len(known) > maxPayloads {
			continue
		}
		known[s.Payload] = true
		r, err := a.Store.FirstReceiptOf(ctx, s.Payload, e.Source)
		if errors.Is(err, hazard.ErrNotFound) {
			continue
		}
		if err != nil {
			return nil, err
		}
		list = append(list, payloadLink{SHA256: s.Payload, Received: r.Read.String(), Source: r.Source, URL: r.Address, Href: a.BaseURL + "/payloads/" + s.Payload})
	}
	return list, nil
}

// costOfPayload is the memory for reading a payload, in bytes: the decompressor's window and
// buffers.
const costOfPayload = 8 << 20

// sniffed is how many bytes of a payload are examined to find its format.
const sniffed = 4 << 10

// payload serves a payload as received, to editors only, because it is unchecked content from
// outside. Browsers download it; its type is never shown as a page.
func (a *API) payload(w http.ResponseWriter, r *http.Request, who *auth.Caller) error {
	if err := role(who, auth.Editor, auth.Admin); err != nil {
		return err
	}
	if err := noQuery(r); err != nil {
		return err
	}
	share, err := a.budget.Take(r.Context(), who.Name, costOfPayload)
	if err != nil {
		return err
	}
	defer share.Release()
	digest := r.PathValue("payload")
	content, p, err := a.Evidence.Open(r.Context(), digest)
	if err != nil {
		return err
	}
	defer content.Close()
	last, err := a.Store.LastReceiptOf(r.Context(), digest)
	if err != nil && !errors.Is(err, hazard.ErrNotFound) {
		return err
	}
	body := bufio.NewReaderSize(content, sniffed)
	head, err := body.Peek(int(min(p.Bytes, sniffed)))
	if err != nil && !errors.Is(err, io.EOF) {
		return fmt.Errorf("payload %s: %w", digest, err)
	}
	mediaType, ext := form(head)
	h := w.Header()
	h.Set("Content-Type", mediaType)
	h.Set("Content-Disposition", disposition(cmp.Or(last.Source, "payload")+"-"+last.Read.Digits()+ext))
	h.Set("Content-Security-Policy", "sandbox; default-src 'none'")
	h.Set("Cache-Control", "private, no-store")
	h.Set("Vary", "Authorization")
	h.Set("ETag", `"`+digest+`"`)
	h.Set("Content-Length", strconv.FormatInt(p.Bytes, 10))
	if r.Method == http.MethodHead {
		return nil
	}
	if n, err := io.Copy(w, body); err != nil || n != p.Bytes {
		panic(http.ErrAbortHandler) // the client is gone, or the content is damaged: the answer must not look complete
	}
	return nil
}

// form guesses the media type and the file extension of a payload from its beginning. The type is
// never one that a browser shows or runs, such as HTML or XML.
func form(head []byte) (mediaType, ext string) {
	text := bytes.TrimSpace(bytes.TrimPrefix(head, []byte("\xef\xbb\xbf")))
	for i := 0; i < utf8.UTFMax && len(text) > 0 && !utf8.Valid(text); i++ {
		text = text[:len(text)-1] // a character cut off at the end of head
	}
	switch {
	case len(text) > 0 && (text[0] == '{' || text[0] == '['):
		return "application/json", ".json"
	case !utf8.Valid(text) || bytes.IndexByte(text, 0) >= 0:
		return "application/octet-stream", ".bin"
	case strings.HasPrefix(string(text), "<"):
		return "text/plain; charset=utf-8", ".xml.txt"
	}
	return "text/plain; charset=utf-8", ".txt"
}
