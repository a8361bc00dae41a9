package auth

// Role is what a user may do; which operations that are is the business of whoever offers them.
type Role string

// The three roles.
const (
	Reader Role = "reader" // reads
	Editor Role = "editor" // writes hazards and products of the own organizations
	Admin  Role = "admin"  // writes all of them
)

// Public is the role of a caller without an account, where the server is open to the public: no user has it.
const Public Role = "public"

// Known reports whether r is one of the three roles.
func (r Role) Known() bool { return r == Reader || r == Editor || r == Admin }
