package hazard

// ChangeKind says what a change did. It is also the name of the event that push sends.
type ChangeKind string

// The kinds of change.
const (
	HazardCreated  ChangeKind = "hazard.created"
	HazardUpdated  ChangeKind = "hazard.updated"
	HazardExpired  ChangeKind = "hazard.expired" // for any end, whatever the reason
	HazardMerged   ChangeKind = "hazard.merged"
	HazardSplit    ChangeKind = "hazard.split"
	ProductCreated ChangeKind = "product.created"
	ProductUpdated ChangeKind = "product.updated"
	ProductDeleted ChangeKind = "product.deleted"
)

// OfHazard reports whether k is a kind of change of a hazard.
func (k ChangeKind) OfHazard() bool {
	switch k {
	case HazardCreated, HazardUpdated, HazardExpired, HazardMerged, HazardSplit:
		return true
	}
	return false
}

// OfProduct reports whether k is a kind of change of a product.
func (k ChangeKind) OfProduct() bool {
	return k == ProductCreated || k == ProductUpdated || k == ProductDeleted
}

// Change is one numbered, committed change of one hazard or one product. Numbers follow the commit
// order without gaps.
type Change struct {
	Number   int64
	At       Instant // when it was committed
	Kind     ChangeKind
	HazardID int64
	// Actor is the user who made the change, Source the source whose report made it. If both are
	// empty, the service made it itself (an expiry).
	Actor  string
	Source string
	// Exactly one of the two is set: the state after the change.
	Hazard  *Hazard
	Product *Product
}

// SeenBy returns the change as a member of orgs may see it, or nil if they may not see it
// (Product.VisibleTo). A reader who could see a product before its deletion learns of the deletion,
// without the product's texts.
func (c *Change) SeenBy(orgs []int64) *Change {
	p := c.Product
	switch {
	case p == nil || p.VisibleTo(orgs):
		return c
	case p.Deleted && p.Today().Deleted && p.Audience().admits(orgs) && p.Today().admits(orgs):
		seen := *c
		seen.Product = p.tombstone()
		return &seen
	}
	return nil
}

// ProductsOf returns the states of products in changes.
func ProductsOf(changes []Change) []*Product {
	var products []*Product
	for i := range changes {
		if p := changes[i].Product; p != nil {
			products = append(products, p)
		}
	}
	return products
}

// Redaction marks a permanent removal. Each state that held the removed content keeps the mark.
type Redaction struct {
	Fields []string `json:"fields"` // names from the base interface, and "file"
	User   string   `json:"user"`
	At     Instant  `json:"at"`
	Reason string   `json:"reason"`
}

// RedactedText replaces a redacted text that must not be empty.
const RedactedText = "[redacted]"

// Redactions returns the redaction marks on the state after the change.
func (c *Change) Redactions() []Redaction {
	if c.Product != nil {
		return c.Product.Redacted
	}
	return c.Hazard.Redacted
}

// Redacts reports whether the change is a redaction. A redaction rewrites earlier states, so all
// copies of them must be dropped.
func (c *Change) Redacts() bool {
	marks := c.Redactions()
	return len(marks) > 0 && marks[len(marks)-1].At == c.At
}
