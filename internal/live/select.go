package live

// CountsRestricted tells whether a member of orgs may know of products here that not everybody may know of.
func (v *View) CountsRestricted(orgs []int64) bool { return v.audienceOf(orgs) != "" }
