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

// VisibleTo tells whether a member of orgs may know of the change.
func (c *Change) VisibleTo(orgs []int64) bool { return c.Product == nil || c.Product.VisibleTo(orgs) }
