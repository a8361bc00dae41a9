package signon

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hazardd/hazardd/internal/auth"
)

// Groups say what the members of the provider's groups may do here. Somebody in several groups has the highest role and all
// organizations of them.
type Groups []Group

// Group is one rule of Groups.
type Group struct {
	Name string // as the provider spells it; * is everybody whom the provider lets in
	Role auth.Role
	Orgs []string // acronyms or ids
}

// ParseGroup reads GROUP=ROLE or GROUP=ROLE:ORG+ORG. The group's name may hold further equals signs.
func ParseGroup(text string) (Group, error) {
	i := strings.LastIndexByte(text, '=')
	if i < 1 {
		return Group{}, fmt.Errorf("%q is not GROUP=ROLE or GROUP=ROLE:ORG+ORG, such as duty=editor:THW", text)
	}
	role, orgs, has := strings.Cut(text[i+1:], ":")
	g := Group{Name: text[:i], Role: auth.Role(role)}
	if !g.Role.Known() {
		return Group{}, fmt.Errorf("%q: the role %q is not one of reader, editor, admin", text, role)
	}
	if has {
		g.Orgs = strings.Split(orgs, "+")
	}
	if slices.Contains(g.Orgs, "") {
		return Group{}, fmt.Errorf("%q: an organization is empty", text)
	}
	return g, nil
}

var order = []auth.Role{auth.Reader, auth.Editor, auth.Admin}

// rights returns the role and the organizations of somebody in those groups; no role: none of them
// has one.
func (g Groups) rights(of []string) (role auth.Role, orgs []string) {
	for _, rule := range g {
		if rule.Name != "*" && !slices.Contains(of, rule.Name) {
			continue
		}
		if slices.Index(order, rule.Role) > slices.Index(order, role) {
			role = rule.Role
		}
		orgs = append(orgs, rule.Orgs...)
	}
	return role, orgs
}
