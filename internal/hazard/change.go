package hazard

// ChangeKind is what a change did; it is also the name of the event that push sends.
type ChangeKind string

// The kinds of change.
const (
	HazardCreated  ChangeKind = "hazard.created"
	HazardUpdated  ChangeKind = "hazard.updated"
	HazardExpired  ChangeKind = "hazard.expired" // for whatever reason it ended
	HazardMerged   ChangeKind = "hazard.merged"
	HazardSplit    ChangeKind = "hazard.split"
	ProductCreated ChangeKind = "product.created"
	ProductUpdated ChangeKind = "product.updated"
	ProductDeleted ChangeKind = "product.deleted"
)

// Change is one numbered, committed alteration of one hazard or one product. Numbers follow commit order without holes.
type Change struct {
	Number   int64
	At       Instant // when it was made
	Kind     ChangeKind
	HazardID int64
	// Actor is the user who made the change, Source the source whose report did; both empty: the service itself (expiry).
	Actor  string
	Source string
	// Exactly one of them is the state after the change.
	Hazard  *Hazard
	Product *Product
}

// SeenBy returns the change as a member of orgs may read it, nil if not at all (Product.VisibleTo). Who could see a product
// until it was deleted is told of the deletion, without its texts.
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

// ProductsOf lists the states of products that changes made.
func ProductsOf(changes []Change) []*Product {
	var products []*Product
	for i := range changes {
		if p := changes[i].Product; p != nil {
			products = append(products, p)
		}
	}
	return products
}

// Redaction is the mark of a removal for good: it stays in each state that held what was removed.
type Redaction struct {
	Fields []string `json:"fields"` // names of the base interface, and "file"
	User   string   `json:"user"`
	At     Instant  `json:"at"`
	Reason string   `json:"reason"`
}

// RedactedText takes the place of a redacted text that must not be empty.
const RedactedText = "[redacted]"

// Redactions are the marks on the state that the change made.
func (c *Change) Redactions() []Redaction {
	if c.Product != nil {
		return c.Product.Redacted
	}
	return c.Hazard.Redacted
}

// Redacts reports whether the change is a redaction: it has rewritten the states before it, and whoever holds them must drop them.
func (c *Change) Redacts() bool {
	marks := c.Redactions()
	return len(marks) > 0 && marks[len(marks)-1].At == c.At
}
