package write

import (
	"context"
	"errors"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/hazardd/hazardd/internal/auth"
	"github.com/hazardd/hazardd/internal/edit"
	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/serve/encoded"
	"github.com/hazardd/hazardd/internal/serve/route"
	"github.com/hazardd/hazardd/internal/store"
	"github.com/hazardd/hazardd/wire"
)

func (a *Handlers) author(r *http.Request, who *auth.Caller) edit.Author {
	return edit.Author{Caller: *who, Addr: a.ClientAddr(r).String(), Client: route.Program(r), Tag: a.tagged}
}

func (a *Handlers) createHazard(w http.ResponseWriter, r *http.Request, who *auth.Caller) error {
	body, err := writeBody(w, r)
	if err != nil {
		return err
	}
	done, err := a.Edit.CreateHazard(r.Context(), a.author(r, who), a.ifMatch(r), body, a.Clock())
	if err != nil {
		return err
	}
	return a.answerHazard(w, r, who, done)
}

// alter is a change of a hazard or a product by a request body.
type alter[T any] func(ctx context.Context, who edit.Author, id edit.Ref, match edit.Match, body []byte, clock hazard.Clock) (edit.Done[T], error)

func (a *Handlers) hazardBy(f alter[hazard.Hazard]) route.Protected {
	return altered(a, "hazard", f, a.answerHazard)
}

func (a *Handlers) productBy(f alter[hazard.Product]) route.Protected {
	return altered(a, "product", f, a.answerProduct)
}

// altered returns the handler of a change of what the path names.
func altered[T any](a *Handlers, name string, f alter[T], answer func(http.ResponseWriter, *http.Request, *auth.Caller, edit.Done[T]) error) route.Protected {
	return func(w http.ResponseWriter, r *http.Request, who *auth.Caller) error {
		id, err := route.PathRef(r, name)
		if err != nil {
			return err
		}
		body, err := writeBody(w, r)
		if err != nil {
			return err
		}
		done, err := f(r.Context(), a.author(r, who), id, a.ifMatch(r), body, a.Clock())
		if err != nil {
			return err
		}
		return answer(w, r, who, done)
	}
}

// ifMatch returns the condition of If-Match, or nil without one. The tag is that of the JSON
// representation, in any encoding (RFC 9110 section 13.1.1: strong comparison).
func (a *Handlers) ifMatch(r *http.Request) edit.Match {
	if len(r.Header["If-Match"]) == 0 {
		return nil
	}
	return condition{a, strings.Split(strings.Join(r.Header["If-Match"], ","), ",")}
}

// tagged is the condition that a tag in a body names.
func (a *Handlers) tagged(tag string) edit.Match { return condition{a, []string{tag}} }

// condition is an If-Match.
type condition struct {
	a    *Handlers
	tags []string
}

func (c condition) Hazard(h *hazard.Hazard, products int) bool {
	if c.names(wire.FromHazard(h, products, c.a.BaseURL)) {
		return true
	}
	for i := range h.Texts { // the client read it in another language
		if t := &h.Texts[i]; !t.Own && c.names(wire.FromHazard(h.In(t), products, c.a.BaseURL)) {
			return true
		}
	}
	return false
}

func (c condition) Product(p *hazard.Product) bool {
	return c.names([]wire.Product{wire.FromProduct(p, c.a.BaseURL)})
}

func (c condition) names(representation any) bool {
	body, err := route.JSONBody(representation, false)
	return err == nil && slices.ContainsFunc(c.tags, func(tag string) bool {
		tag = strings.TrimSpace(tag)
		return tag == "*" || slices.ContainsFunc([]encoded.Encoding{encoded.Identity, encoded.Gzip, encoded.Zstd, encoded.Brotli}, func(coding encoded.Encoding) bool {
			return tag == body.ETag(coding)[0]
		})
	})
}

// visible waits until this node's view shows change n, so that writers read their own writes. The
// change is already durable: if the wait ends early, nothing is lost.
func (a *Handlers) visible(ctx context.Context, n int64) {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	if err := a.Live.WaitFor(ctx, n); err != nil && !errors.Is(err, context.Canceled) { // the client has gone
		a.Logger.WarnContext(ctx, "a write is not visible to readers of this node yet", "change", n, "error", err)
	}
}

// answerHazard answers a write with the hazard and its present ETag, for the next conditional
// write.
func (a *Handlers) answerHazard(w http.ResponseWriter, r *http.Request, who *auth.Caller, done edit.Done[hazard.Hazard]) error {
	a.visible(r.Context(), done.Last)
	now := a.Now()
	wish, err := a.Wish(r, nil)
	if err != nil {
		return err
	}
	h := done.State.ExpireAt(now)
	// Not the number of the view, which may have gone on meanwhile.
	w.Header()["Hazardd-Change"] = []string{strconv.FormatInt(max(done.Last, done.State.Version), 10)}
	total, err := a.ProductTotal(r.Context(), a.Live.View(now), h, who)
	if err != nil {
		return err
	}
	body, err := a.HazardBody(route.InLanguage(w, h, wish), total)
	if err != nil {
		return err
	}
	w.Header()["Etag"] = body.ETag(encoded.Identity)
	return route.Written(w, body, fmt.Sprintf("%s/hazards/%d", a.BaseURL, done.State.ID), done.New)
}

// answerProduct is answerHazard for a product.
func (a *Handlers) answerProduct(w http.ResponseWriter, r *http.Request, _ *auth.Caller, done edit.Done[hazard.Product]) error {
	a.visible(r.Context(), done.Last)
	record := wire.FromProduct(done.State, a.BaseURL)
	body, err := route.JSONBody(record, done.State.Restricted())
	if err != nil {
		return err
	}
	list, err := route.JSONBody([]wire.Product{record}, true) // GET /products/{product-id} returns an array of one
	if err != nil {
		return err
	}
	w.Header()["Etag"] = list.ETag(encoded.Identity)
	return route.Written(w, body, fmt.Sprintf("%s/products/%d", a.BaseURL, done.State.ID), done.New)
}

// writeBody reads the JSON body of a write.
func writeBody(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	return route.ReadBody(w, r, route.MaxWrite)
}

// createProduct creates a product from a JSON object, or from a form with the object and a file.
func (a *Handlers) createProduct(w http.ResponseWriter, r *http.Request, who *auth.Caller) error {
	id, err := route.PathRef(r, "hazard")
	if err != nil {
		return err
	}
	author := a.author(r, who)
	var body []byte
	var upload *edit.Upload
	if strings.HasPrefix(r.Header.Get("Content-Type"), "multipart/") {
		if err := a.Edit.MayContribute(r.Context(), author, id, a.Clock()); err != nil { // check before reading the file
			return err
		}
		sent, over := a.Users.Upload(who)
		if over != nil {
			return over
		}
		defer sent()
		var staged *store.StagedFile
		body, upload, staged, err = a.readForm(w, r, true)
		if staged != nil {
			defer func() {
				if err := staged.Drop(); err != nil { // if it fails, a later sweep removes the file
					a.Logger.WarnContext(r.Context(), "cannot remove an uploaded file that is not used", "error", err)
				}
			}()
		}
	} else {
		body, err = writeBody(w, r)
	}
	if err != nil {
		return err
	}
	done, err := a.Edit.CreateProduct(r.Context(), author, id, a.ifMatch(r), body, upload, a.Clock())
	if err != nil {
		return err
	}
	return a.answerProduct(w, r, who, done)
}

// maxFormFaults bounds how many unexpected parts of a form are reported.
const maxFormFaults = 10

// readForm reads the parts of a form: product, if expected, and file, in any order. The file is
// streamed to the store. The caller drops what was staged, also after an error.
func (a *Handlers) readForm(w http.ResponseWriter, r *http.Request, product bool) (body []byte, upload *edit.Upload, staged *store.StagedFile, err error) {
	limit := a.MaxFile + route.MaxWrite
	if r.ContentLength > limit {
		return nil, nil, staged, route.TooLarge(limit)
	}
	r.Body = http.MaxBytesReader(route.ServerWriter(w), r.Body, limit)
	form, err := r.MultipartReader()
	if err != nil {
		return nil, nil, staged, &route.Problem{Status: http.StatusBadRequest, Detail: "the form cannot be read: expected multipart/form-data with a boundary"}
	}
	bad, expected := &hazard.InvalidError{}, "file"
	if product {
		expected = "product and file,"
	}
	for len(bad.Faults) < maxFormFaults {
		part, err := form.NextPart()
		if err == io.EOF { // not errors.Is: a form without its last boundary returns an error that wraps io.EOF
			break
		}
		if err != nil {
			return nil, nil, staged, route.BodyError(err, limit)
		}
		switch name := part.FormName(); {
		case name == "product" && product && body == nil:
			if body, err = io.ReadAll(io.LimitReader(part, route.MaxWrite+1)); err != nil {
				return nil, nil, staged, route.BodyError(err, limit)
			}
			if len(body) > route.MaxWrite {
				return nil, nil, staged, route.TooLarge(route.MaxWrite)
			}
		case name == "file" && staged == nil:
			if upload, staged, err = a.stageFile(r.Context(), part, limit); err != nil {
				return nil, nil, staged, err
			}
		default:
			bad.Add(edit.Pointer(name), "is not a part that is expected, or is there twice; expected %s once each", expected)
		}
	}
	if product && body == nil {
		bad.Add("product", "is missing: the part with the product's JSON object")
	}
	if upload == nil {
		bad.Add("file", "is missing: the part with the file")
	}
	return body, upload, staged, bad.Err()
}

func (a *Handlers) stageFile(ctx context.Context, part *multipart.Part, limit int64) (*edit.Upload, *store.StagedFile, error) {
	name, content := fileName(part), &bodyReader{Reader: part}
	staged, err := a.Store.Files.Stage(ctx, content, a.MaxFile)
	if content.err != nil {
		return nil, nil, route.BodyError(content.err, limit)
	}
	if invalid, ok := errors.AsType[*hazard.InvalidError](err); ok {
		return nil, nil, &route.Problem{Status: http.StatusRequestEntityTooLarge, Detail: invalid.Error(), Errors: []route.Fault{{Pointer: "/file", Detail: invalid.Faults[0].Detail}}}
	}
	if err != nil {
		return nil, nil, err
	}
	return &edit.Upload{File: hazard.File{Name: name, Digest: staged.Digest, Size: staged.Size, MediaType: MediaType(name)}, Content: staged}, staged, nil
}

// bodyReader distinguishes the client's errors in a body from errors of the store.
type bodyReader struct {
	io.Reader
	err error
}

func (b *bodyReader) Read(p []byte) (int, error) {
	n, err := b.Reader.Read(p)
	if err != nil && err != io.EOF {
		b.err = err
	}
	return n, err
}

func (a *Handlers) deleteProduct(w http.ResponseWriter, r *http.Request, who *auth.Caller) error {
	id, err := route.PathRef(r, "product")
	if err != nil {
		return err
	}
	done, err := a.Edit.DeleteProduct(r.Context(), a.author(r, who), id, a.ifMatch(r), a.Clock())
	if err != nil {
		return err
	}
	a.visible(r.Context(), done.Last)
	w.WriteHeader(http.StatusNoContent)
	return nil
}
