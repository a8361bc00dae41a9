package client

import (
	"bytes"
	"context"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"net/textproto"
	"strings"

	"github.com/go-json-experiment/json"

	"github.com/hazardd/hazardd/wire"
)

// File is the file of a product, or a payload. The caller must close Body.
type File struct {
	Name      string // without a path; empty if the server does not say
	MediaType string
	Size      int64 // bytes; -1 if unknown
	ETag      string
	// Body returns an error if the server stops before the end, or sends nothing for
	// Options.Timeout.
	Body io.ReadCloser
}

// DownloadFile opens the file of a file product.
func (c *Client) DownloadFile(ctx context.Context, product string, opts ...CallOption) (*File, error) {
	return c.download(ctx, opts, "products", product, "file")
}

func (c *Client) download(ctx context.Context, opts []CallOption, path ...string) (*File, error) {
	p, err := pathOf(path...)
	if err != nil {
		return nil, err
	}
	r := newRequest(http.MethodGet, p, opts)
	r.stream, r.unbounded = true, true
	r.header.Set("Accept-Encoding", "identity") // as it is, with its length
	resp, err := c.do(ctx, r)
	if err != nil {
		return nil, err
	}
	f := &File{MediaType: resp.Header.Get("Content-Type"), Size: resp.ContentLength, ETag: resp.Header.Get("ETag"), Body: resp.Body}
	if _, params, err := mime.ParseMediaType(resp.Header.Get("Content-Disposition")); err == nil {
		f.Name = fileName(params["filename"])
	}
	return f, nil
}

// maxFileName bounds a file's name, in characters: the limit of common file systems.
const maxFileName = 200

// fileName returns the part after the last slash or backslash, so that a server cannot choose where
// a file is written.
func fileName(name string) string {
	name = line(name[strings.LastIndexAny(name, `/\`)+1:], maxFileName)
	if strings.Trim(name, ". ") == "" {
		return ""
	}
	return name
}

// CreateFile creates a file product of a hazard from content, streamed as it is read.
// If the server refuses the token, content is sent again if it is an io.Seeker, or if nothing of it
// was read yet.
func (e Editor) CreateFile(ctx context.Context, hazard string, p NewProduct, name string, content io.Reader) (wire.Product, error) {
	path, err := pathOf("hazards", hazard, "products")
	if err != nil {
		return wire.Product{}, err
	}
	p.ProductType = "FILE_PRODUCT"
	object, err := json.Marshal(p.body())
	if err != nil {
		return wire.Product{}, &InputError{"the fields cannot be written as JSON: " + err.Error()}
	}
	f := &form{file: content, begin: -1, size: -1}
	if err := f.frame(object, name); err != nil {
		return wire.Product{}, err
	}
	if s, ok := content.(io.Seeker); ok {
		if f.begin, err = s.Seek(0, io.SeekCurrent); err == nil {
			var end int64
			if end, err = s.Seek(0, io.SeekEnd); err == nil {
				f.size = end - f.begin
			}
		}
		if err != nil {
			f.begin, f.size = -1, -1 // a pipe has the method and cannot
		}
	}
	r := newRequest(http.MethodPost, path, nil)
	r.stream, r.body = true, f.reader
	r.header.Set("Content-Type", f.mediaType)
	r.header.Set("Expect", "100-continue") // a request that the server refuses does not send the file
	done, err := record[wire.Product](ctx, e.Client, r)
	return done.Item, err
}

// form is a product's object and its file as multipart/form-data.
type form struct {
	head, tail []byte // around the file
	mediaType  string
	file       io.Reader
	begin      int64 // start of the file if it can be read again, otherwise -1
	size       int64 // size of the file in bytes; -1 if unknown
	started    bool
}

// frame builds the parts around the file.
func (f *form) frame(object []byte, name string) error {
	var buf bytes.Buffer
	w := multipart.NewWriter(&buf)
	part, err := w.CreatePart(textproto.MIMEHeader{"Content-Disposition": {`form-data; name="product"`}, "Content-Type": {"application/json"}})
	if err != nil {
		return err
	}
	if _, err := part.Write(object); err != nil {
		return err
	}
	if _, err := w.CreateFormFile("file", name); err != nil {
		return err
	}
	f.head = bytes.Clone(buf.Bytes())
	buf.Reset()
	if err := w.Close(); err != nil {
		return err
	}
	f.tail, f.mediaType = bytes.Clone(buf.Bytes()), w.FormDataContentType()
	return nil
}

// reader returns the form from its beginning.
func (f *form) reader() (io.Reader, int64, error) {
	if f.begin >= 0 {
		if _, err := f.file.(io.Seeker).Seek(f.begin, io.SeekStart); err != nil {
			return nil, 0, err
		}
	} else if f.started {
		return nil, 0, errSpent
	}
	size := int64(-1)
	file := f.file
	if f.size >= 0 {
		size = int64(len(f.head)) + f.size + int64(len(f.tail))
		file = io.LimitReader(file, f.size) // it may grow
	}
	return io.MultiReader(bytes.NewReader(f.head), &noting{file, &f.started}, bytes.NewReader(f.tail)), size, nil
}

// errSpent means that the file cannot be sent again.
var errSpent = &InputError{"the token was refused after a part of the file was read, which cannot be read again; repeat the call"}

// noting notes that reading has begun.
type noting struct {
	io.Reader
	started *bool
}

func (n *noting) Read(p []byte) (int, error) {
	*n.started = true
	return n.Reader.Read(p)
}
