package auth

// Role is what a user may do. The packages with the operations decide which role each needs.
type Role string

// The three roles.
const (
	Reader Role = "reader" // reads
	Editor Role = "editor" // writes hazards and products of the user's organizations
	Admin  Role = "admin"  // writes those of all organizations
)

// Public is the role of a caller without an account, on a server that is open to the public. No
// user has it.
const Public Role = "public"

// Known reports whether r is one of the three roles.
func (r Role) Known() bool { return r == Reader || r == Editor || r == Admin }
