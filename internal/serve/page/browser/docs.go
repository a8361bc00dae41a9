package browser

import (
	"net/http"
	"sync"

	"github.com/hazardd/hazardd/internal/serve/encoded"
	"github.com/hazardd/hazardd/internal/serve/openapi"
	pages "github.com/hazardd/hazardd/internal/serve/page"
	"github.com/hazardd/hazardd/internal/serve/route"
)

// description holds the documents about the interface. They are built on first use.
type description struct {
	json func() *encoded.Body
	// describes the messages that the service sends
	async func() (*encoded.Body, error)
	page  func() (*encoded.Body, error)
}

// newDescription takes the service's public address and its path.
func newDescription(base, root string) description {
	return description{
		json: sync.OnceValue(func() *encoded.Body { return encoded.NewBody(openapi.JSON(base), false) }),
		async: sync.OnceValues(func() (*encoded.Body, error) {
			text, err := openapi.Async(base)
			return encoded.NewBody(text, false), err
		}),
		page: sync.OnceValues(func() (*encoded.Body, error) {
			document, err := openapi.Read()
			if err != nil {
				return nil, err
			}
			html, err := (&pages.Docs{Frame: pages.Frame{Root: root}, Document: document, Base: base}).HTML()
			if err != nil {
				return nil, err
			}
			return encoded.NewBody(html, false), nil
		}),
	}
}

// openAPI serves the OpenAPI document.
func (a *Docs) openAPI(w http.ResponseWriter, r *http.Request) error {
	return route.Answer(w, r, a.about.json())
}

// asyncAPI serves the AsyncAPI document.
func (a *Docs) asyncAPI(w http.ResponseWriter, r *http.Request) error {
	body, err := a.about.async()
	if err != nil {
		return err
	}
	return route.Answer(w, r, body)
}

// docs serves the documentation as a page.
func (a *Docs) docs(w http.ResponseWriter, r *http.Request) error {
	body, err := a.about.page()
	if err != nil {
		return err
	}
	w.Header()["Content-Type"] = route.HTMLType
	return route.Answer(w, r, body)
}
