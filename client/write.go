package client

import (
	"context"
	"net/http"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/hazardd/hazardd/wire"
)

// NewHazard describes a hazard to create. HazardName, TypeID, SeverityID and the position are
// required. For other zero fields the server chooses defaults.
type NewHazard struct {
	// UUID makes it safe to repeat a call whose answer was lost: the same UUID never creates two
	// hazards.
	UUID        string
	HazardName  string
	Description string
	TypeID      string // "FLOOD"
	SeverityID  string // "WARNING"
	CategoryID  string // "EVENT" if empty
	Latitude    float64
	Longitude   float64
	Area        []byte    // a GeoJSON geometry
	Start       time.Time // now if zero
	End         time.Time // from the lifetime of its type if zero
	AutoExpire  bool      // whether it ends at End by itself
	OrgID       int64     // the user's own if 0
	Instruction string    // what people in the area should do
	SncURL      string    // web page about it
	CommentText string
}

// hazardBody is a NewHazard on the wire.
type hazardBody struct {
	UUID        string         `json:"uuid,omitzero"`
	HazardName  string         `json:"hazard_Name"`
	Description string         `json:"description,omitzero"`
	TypeID      string         `json:"type_ID"`
	SeverityID  string         `json:"severity_ID"`
	CategoryID  string         `json:"category_ID,omitzero"`
	Latitude    float64        `json:"latitude"`
	Longitude   float64        `json:"longitude"`
	Area        jsontext.Value `json:"area,omitzero"`
	StartDate   string         `json:"start_Date,omitzero"`
	EndDate     string         `json:"end_Date,omitzero"`
	AutoExpire  string         `json:"autoexpire"`
	OrgID       int64          `json:"org_ID,omitzero"`
	Instruction string         `json:"instruction,omitzero"`
	SncURL      string         `json:"snc_url,omitzero"`
	CommentText string         `json:"comment_Text,omitzero"`
}

// NewProduct describes a product to create. Title and ProductType are required, and Data for a text
// or URL product.
type NewProduct struct {
	UUID         string // see NewHazard
	Title        string
	ProductType  string // such as "TEXT_PRODUCT"; CreateFile sets it
	Data         string // text of a text product, or URL of a URL product
	ParentID     int64  // product_ID of a folder of the same hazard; 0 means the root
	CommentText  string
	Hidden       bool
	SecurityFlag string // "R" restricts it to OrgIDs; if empty, it is restricted if OrgIDs is set
	OrgIDs       string // separated by commas
	OrgID        int64  // the user's own if 0
	Timeline     time.Time
	GeoLocations string // WKT, longitude before latitude
}

// productBody is a NewProduct on the wire.
type productBody struct {
	UUID         string `json:"uuid,omitzero"`
	Title        string `json:"title"`
	ProductType  string `json:"product_Type"`
	Data         string `json:"data,omitzero"`
	ParentID     int64  `json:"parent_ID,omitzero"`
	CommentText  string `json:"comment_Text,omitzero"`
	IsHidden     string `json:"is_Hidden,omitzero"`
	SecurityFlag string `json:"security_Flag,omitzero"`
	OrgIDs       string `json:"org_IDs,omitzero"`
	OrgID        int64  `json:"org_ID,omitzero"`
	TimelineDate string `json:"timeline_Date,omitzero"`
	GeoLocations string `json:"geo_Locations,omitzero"`
}

// Fields are changes to a record, by member names of the base interface. A nil value sets a member
// to its default; other members stay unchanged (JSON merge patch, RFC 7396). Times are strings: see
// Digits.
type Fields map[string]any

// CreateHazard creates a hazard.
func (e Editor) CreateHazard(ctx context.Context, h NewHazard) (wire.Hazard, error) {
	body := hazardBody{
		UUID: h.UUID, HazardName: h.HazardName, Description: h.Description, TypeID: h.TypeID, SeverityID: h.SeverityID, CategoryID: h.CategoryID,
		Latitude: h.Latitude, Longitude: h.Longitude, Area: jsontext.Value(h.Area), StartDate: digits(h.Start), EndDate: digits(h.End),
		AutoExpire: "N", OrgID: h.OrgID, Instruction: h.Instruction, SncURL: h.SncURL, CommentText: h.CommentText,
	}
	if h.AutoExpire {
		body.AutoExpire = "Y"
	}
	return write[wire.Hazard](ctx, e.Client, http.MethodPost, body, nil, "hazards")
}

// PatchHazard changes a hazard. Fields{"status": "E"} ends it. With IfMatch, it fails if somebody
// else has changed the hazard.
func (e Editor) PatchHazard(ctx context.Context, hazard string, f Fields, opts ...CallOption) (wire.Hazard, error) {
	return write[wire.Hazard](ctx, e.Client, http.MethodPatch, f, opts, "hazards", hazard)
}

// Retract withdraws a false hazard. The hazard ends, and everybody is told that it was false, and
// why.
func (e Editor) Retract(ctx context.Context, hazard, reason string, opts ...CallOption) (wire.Hazard, error) {
	return write[wire.Hazard](ctx, e.Client, http.MethodPost, Fields{"reason": reason}, opts, "hazards", hazard, "retract")
}

// MergeIf is Merge if both hazards are as the caller has read them: tag is the ETag of the hazard
// that ends, intoTag that of the other. Otherwise it returns ErrStale.
func (e Editor) MergeIf(ctx context.Context, hazard, tag, into, intoTag string, opts ...CallOption) (wire.Hazard, error) {
	return write[wire.Hazard](ctx, e.Client, http.MethodPost, Fields{"into": into, "into_ETag": intoTag}, append(opts, IfMatch(tag)), "hazards", hazard, "merge")
}

// Merge merges a hazard into another, which it returns. The first hazard ends.
func (e Editor) Merge(ctx context.Context, hazard, into string, opts ...CallOption) (wire.Hazard, error) {
	return write[wire.Hazard](ctx, e.Client, http.MethodPost, Fields{"into": into}, opts, "hazards", hazard, "merge")
}

// Undo undoes a merge, split, end or retraction. change is its number, as in HazardChanges. It
// returns the hazard that is active again.
func (e Editor) Undo(ctx context.Context, hazard string, change int64, opts ...CallOption) (wire.Hazard, error) {
	return write[wire.Hazard](ctx, e.Client, http.MethodPost, Fields{"change": change}, opts, "hazards", hazard, "undo")
}

// RedactHazard permanently removes texts of a hazard from all its states (role admin). fields are
// member names of the base interface.
func (e Editor) RedactHazard(ctx context.Context, hazard string, fields []string, reason string, opts ...CallOption) (wire.Hazard, error) {
	return write[wire.Hazard](ctx, e.Client, http.MethodPost, Fields{"fields": fields, "reason": reason}, opts, "hazards", hazard, "redact")
}

// RedactProduct permanently removes texts of a product, or its file ("file"), even if the product
// was deleted (role admin).
func (e Editor) RedactProduct(ctx context.Context, product string, fields []string, reason string, opts ...CallOption) (wire.Product, error) {
	return write[wire.Product](ctx, e.Client, http.MethodPost, Fields{"fields": fields, "reason": reason}, opts, "products", product, "redact")
}

// CreateProduct creates a folder, text or URL product of a hazard.
func (e Editor) CreateProduct(ctx context.Context, hazard string, p NewProduct) (wire.Product, error) {
	return write[wire.Product](ctx, e.Client, http.MethodPost, p.body(), nil, "hazards", hazard, "products")
}

func (p *NewProduct) body() productBody {
	body := productBody{
		UUID: p.UUID, Title: p.Title, ProductType: p.ProductType, Data: p.Data, ParentID: p.ParentID, CommentText: p.CommentText, SecurityFlag: p.SecurityFlag,
		OrgIDs: p.OrgIDs, OrgID: p.OrgID, TimelineDate: digits(p.Timeline), GeoLocations: p.GeoLocations,
	}
	if p.Hidden {
		body.IsHidden = "Y"
	}
	return body
}

// PatchProduct changes a product, as PatchHazard changes a hazard.
func (e Editor) PatchProduct(ctx context.Context, product string, f Fields, opts ...CallOption) (wire.Product, error) {
	return write[wire.Product](ctx, e.Client, http.MethodPatch, f, opts, "products", product)
}

// DeleteProduct deletes a product. A folder must be empty.
func (e Editor) DeleteProduct(ctx context.Context, product string, opts ...CallOption) error {
	p, err := pathOf("products", product)
	if err != nil {
		return err
	}
	return e.plain(ctx, newRequest(http.MethodDelete, p, opts))
}

// write sends a JSON object; the answer is the record as it is now.
func write[T any](ctx context.Context, c *Client, method string, body any, opts []CallOption, path ...string) (item T, err error) {
	p, err := pathOf(path...)
	if err != nil {
		return item, err
	}
	text, err := json.Marshal(body)
	if err != nil {
		return item, &InputError{"the fields cannot be written as JSON: " + err.Error()}
	}
	r := newRequest(method, p, opts)
	r.body = content(text)
	r.header.Set("Content-Type", "application/json")
	if method == http.MethodPatch {
		r.header.Set("Content-Type", "application/merge-patch+json")
	}
	done, err := record[T](ctx, c, r)
	return done.Item, err
}

// plain sends a request whose answer has no content.
func (c *Client) plain(ctx context.Context, r *request) error {
	resp, err := c.do(ctx, r)
	if err != nil {
		return err
	}
	return resp.Body.Close()
}

func digits(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return Digits(t)
}
