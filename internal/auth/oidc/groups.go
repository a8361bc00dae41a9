package oidc

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hazardd/hazardd/internal/auth"
)

// Groups maps the provider's groups to rights here. A person in several groups gets the highest
// role and all organizations of them.
type Groups []Group

// Group is one rule of Groups.
type Group struct {
	Name string // as the provider spells it; * means everybody whom the provider accepts
	Role auth.Role
	Orgs []string // acronyms or ids
}

// ParseGroup reads GROUP=ROLE or GROUP=ROLE:ORG+ORG. The name of the group may contain more equals
// signs.
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

// rights returns the role and the organizations of a person in those groups. The role is empty if
// no group has one.
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
