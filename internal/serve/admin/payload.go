package admin

import (
	"bufio"
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/hazardd/hazardd/internal/auth"
	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/serve/read"
	"github.com/hazardd/hazardd/internal/serve/route"
)

// costOfPayload is the memory for reading a payload, in bytes: the decompressor's window and
// buffers.
const costOfPayload = 8 << 20

// sniffed is how many bytes of a payload are examined to find its format.
const sniffed = 4 << 10

// payload serves a payload as received, to editors only, because it is unchecked content from
// outside. Browsers download it; its type is never shown as a page.
func (a *Sources) payload(w http.ResponseWriter, r *http.Request, who *auth.Caller) error {
	if err := route.NoQuery(r); err != nil {
		return err
	}
	share, err := a.Budget.Take(r.Context(), a.Payer(r, who), costOfPayload)
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
	last, err := a.Store.Evidence.LastReceiptOf(r.Context(), digest)
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
	h.Set("Content-Disposition", read.Disposition(cmp.Or(last.Source, "payload")+"-"+last.Read.Digits()+ext))
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
