package client

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/hazardd/hazardd/wire"
)

// State says which state of the server an answer shows.
type State struct {
	// ETag is the entity tag of the answer, for IfNoneMatch, and of the record in it, for IfMatch.
	// It is empty if the server sends none.
	ETag string
	// Change is the number of the last change in the answer; 0 if the server does not say.
	Change int64
	// Sources says how fresh the server's sources are ("ok=9; stale=1; names=\"gdacs\""). It is
	// empty if the server does not say; then an empty list may also mean that a source failed.
	Sources string
	// Coverage says, for a list of a place, whether an empty list means "no hazards": covered,
	// stale or unknown, followed by the numbers of sources ("covered; covered=25; stale=0;
	// unknown=0"). It is empty if the server does not say.
	Coverage string
	// Possible is, for a list of a place without Search.Possible, how many active hazards it leaves
	// out because they are only known to be somewhere in a region or country there. It is nil if the
	// server does not say.
	Possible *int64
}

// CoverageWord returns the first word of Coverage: Covered, CoverageStale or CoverageUnknown. It is
// empty if the server does not say.
func (s State) CoverageWord() string {
	word, _, _ := strings.Cut(s.Coverage, ";")
	return word
}

// List is a list of records, with the state that it shows.
type List[T any] struct {
	State
	Items    []T
	Rejected []Rejected // invalid records
}

// Record is one record, with the state that it shows.
type Record[T any] struct {
	State
	Item T
}

func stateOf(resp *http.Response) State {
	s := State{ETag: resp.Header.Get("ETag"), Sources: resp.Header.Get("Hazardd-Sources"), Coverage: resp.Header.Get("Hazardd-Coverage")}
	if n, err := strconv.ParseInt(resp.Header.Get("Hazardd-Change"), 10, 64); err == nil {
		s.Change = n
	}
	possible, _, _ := strings.Cut(resp.Header.Get("Hazardd-Possible"), ";")
	if n, err := strconv.ParseInt(strings.TrimSpace(possible), 10, 64); err == nil {
		s.Possible = &n
	}
	return s
}

// list reads a list.
func list[T any](ctx context.Context, c *Client, r *request) (l List[T], next string, err error) {
	r.header.Set("Accept", "application/json")
	resp, err := c.do(ctx, r)
	if err != nil {
		return l, "", err
	}
	defer resp.Body.Close()
	if err := ofOther(resp); err != nil {
		return l, "", fmt.Errorf("%s: %w", r, err)
	}
	l.State = stateOf(resp)
	if l.Items, l.Rejected, err = ReadList[T](resp.Body); err != nil {
		l.ETag = "" // it is not the answer
		return l, "", fmt.Errorf("%s: %w", r, err)
	}
	return l, nextPage(resp.Header["Link"]), nil
}

func listAt[T any](ctx context.Context, c *Client, opts []CallOption, path ...string) (List[T], error) {
	p, err := pathOf(path...)
	if err != nil {
		return List[T]{}, err
	}
	l, _, err := list[T](ctx, c, newRequest(http.MethodGet, p, opts))
	return l, err
}

// record sends a request whose answer is one object.
func record[T any](ctx context.Context, c *Client, r *request) (one Record[T], err error) {
	r.header.Set("Accept", "application/json")
	resp, err := c.do(ctx, r)
	if err != nil {
		return one, err
	}
	defer resp.Body.Close()
	if err := decodeOne(resp, &one.Item); err != nil {
		return one, fmt.Errorf("%s: %w", r, err)
	}
	one.State = stateOf(resp)
	return one, nil
}

// Raw reads the answer for a path ("hazards", "active") and returns it undecoded. If the answer is
// cut off, it returns the part before the cut and an error.
func (c *Client) Raw(ctx context.Context, path []string, opts ...CallOption) (one Record[[]byte], err error) {
	p, err := pathOf(path...)
	if err != nil {
		return one, err
	}
	r := newRequest(http.MethodGet, p, opts)
	r.header.Set("Accept", "application/json")
	resp, err := c.do(ctx, r)
	if err != nil {
		return one, err
	}
	defer resp.Body.Close()
	if err := ofOther(resp); err != nil {
		return one, fmt.Errorf("%s: %w", r, err)
	}
	if one.Item, err = io.ReadAll(resp.Body); err != nil {
		return one, fmt.Errorf("%s: %w", r, notJSON(err))
	}
	one.State = stateOf(resp)
	return one, nil
}

// Get requests a path below the server's address and returns the answer unread. The path must be
// escaped. The caller must close the body.
func (c *Client) Get(ctx context.Context, path string, query url.Values) (*http.Response, error) {
	if !strings.HasPrefix(path, "/") {
		return nil, &InputError{fmt.Sprintf("path %q: expected one that begins with a slash", path)}
	}
	r := newRequest(http.MethodGet, path, nil)
	r.query = query
	r.header.Set("Accept", "application/json")
	return c.do(ctx, r)
}

// Types lists the hazard types.
func (c *Client) Types(ctx context.Context, opts ...CallOption) (List[wire.HazardType], error) {
	return listAt[wire.HazardType](ctx, c, opts, "hazards", "types")
}

// Severities lists the severities, least severe first.
func (c *Client) Severities(ctx context.Context, opts ...CallOption) (List[wire.HazardSeverity], error) {
	return listAt[wire.HazardSeverity](ctx, c, opts, "hazards", "severities")
}

// Categories lists the categories.
func (c *Client) Categories(ctx context.Context, opts ...CallOption) (List[wire.HazardCategory], error) {
	return listAt[wire.HazardCategory](ctx, c, opts, "hazards", "categories")
}

// ProductTypes lists the product types. Not every server supports this.
func (c *Client) ProductTypes(ctx context.Context, opts ...CallOption) (List[wire.ProductType], error) {
	return listAt[wire.ProductType](ctx, c, opts, "products", "types")
}

// Active lists the active hazards.
func (c *Client) Active(ctx context.Context, opts ...CallOption) (List[wire.Hazard], error) {
	return listAt[wire.Hazard](ctx, c, opts, "hazards", "active")
}

// ActiveByCategory lists the active hazards of a category, such as "EVENT".
func (c *Client) ActiveByCategory(ctx context.Context, category string, opts ...CallOption) (List[wire.Hazard], error) {
	return listAt[wire.Hazard](ctx, c, opts, "hazards", "active", "category", category)
}

// ActiveBySeverity lists the active hazards of a severity, such as "WARNING".
func (c *Client) ActiveBySeverity(ctx context.Context, severity string, opts ...CallOption) (List[wire.Hazard], error) {
	return listAt[wire.Hazard](ctx, c, opts, "hazards", "active", "severity", severity)
}

// Hazard returns one hazard, active or not. Not every server supports this.
func (c *Client) Hazard(ctx context.Context, hazard string, opts ...CallOption) (Record[wire.Hazard], error) {
	p, err := pathOf("hazards", hazard)
	if err != nil {
		return Record[wire.Hazard]{}, err
	}
	return record[wire.Hazard](ctx, c, newRequest(http.MethodGet, p, opts))
}

// Products lists the products of a hazard. Folders and their contents are in one flat list, linked
// by ParentID.
func (c *Client) Products(ctx context.Context, hazard string, opts ...CallOption) (List[wire.Product], error) {
	return listAt[wire.Product](ctx, c, opts, "hazards", hazard, "products")
}

// Product returns one product.
func (c *Client) Product(ctx context.Context, product string, opts ...CallOption) (Record[wire.Product], error) {
	l, err := listAt[wire.Product](ctx, c, opts, "products", product)
	if err != nil {
		return Record[wire.Product]{}, err
	}
	if len(l.Items) != 1 {
		return Record[wire.Product]{}, fmt.Errorf("product %s: %w", product, &AnswerError{Reason: fmt.Sprintf("%d products that can be read, expected 1", len(l.Items))})
	}
	return Record[wire.Product]{l.State, l.Items[0]}, nil
}
