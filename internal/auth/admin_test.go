package auth_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hazardd/hazardd/internal/auth"
	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/test/authtest"
)

func TestAUserThatIsAddedCanLogIn(t *testing.T) {
	s, _ := serve(t, auth.Config{})
	must(t, s.Accounts().AddUser(t.Context(), auth.Actor{Name: "admin", Addr: home}, auth.NewUser{Name: "bob.k-9_x@example.org", Role: auth.Editor,
		Orgs: []int64{3, 1, 3}, Password: secret}, t0))
	p, err := s.Authorize(t.Context(), "bob.k-9_x@example.org", secret, auth.Origin{Addr: home}, t0)
	must(t, err)
	if c := verifies(t, s, p.Access, t0); c.Role != auth.Editor || fmt.Sprint(c.Orgs) != "[1 3]" {
		t.Errorf("got %+v", c)
	}
	u := s.Accounts().Users()
	if len(u) != 2 || u[0].Name != "ann" || u[1].Created != t0 || u[1].PasswordChanged != t0 || u[1].Disabled {
		t.Errorf("users %+v", u)
	}
	rows, err := s.Accounts().Trail(t.Context(), auth.TrailFilter{Limit: 2})
	must(t, err)
	if r := rows[1]; r.Action != auth.ActionUserAdd || r.Actor != "admin" || r.Addr != home || r.Subject != "bob.k-9_x@example.org" || r.At != t0 || !r.OK {
		t.Errorf("trail %+v", r)
	}
}

func TestAllThatIsWrongWithAUserIsToldAtOnce(t *testing.T) {
	s, _ := serve(t, auth.Config{})
	for _, name := range []string{"", "Bob", "b ob", "bøb", "bob\n", strings.Repeat("x", 65), "b/ob", "b\x00b"} {
		err := s.Accounts().AddUser(t.Context(), auth.Actor{}, auth.NewUser{Name: name, Role: "root", Orgs: []int64{1, 99, -1}, Password: "short"}, t0)
		bad, ok := errors.AsType[*hazard.InvalidError](err)
		if !ok || len(bad.Faults) != 5 {
			t.Errorf("%q: %v", name, err)
		}
	}
	ok := auth.NewUser{Name: "ann", Role: auth.Reader, Password: secret}
	wantErr(t, s.Accounts().AddUser(t.Context(), auth.Actor{}, ok, t0), hazard.ErrConflict)
	var bad *hazard.InvalidError
	for _, err := range []error{
		s.Accounts().SetRole(t.Context(), auth.Actor{}, "ann", "Admin", t0),
		s.Accounts().SetOrgs(t.Context(), auth.Actor{}, "ann", []int64{4}, t0),
		s.Accounts().SetPassword(t.Context(), auth.Actor{}, "ann", "ann ann ann ann ann", 0, t0),
	} {
		if !errors.As(err, &bad) {
			t.Errorf("error %v", err)
		}
	}
	for _, err := range []error{
		s.Accounts().SetRole(t.Context(), auth.Actor{}, "bob", auth.Admin, t0),
		s.Accounts().SetOrgs(t.Context(), auth.Actor{}, "bob", nil, t0),
		s.Accounts().SetPassword(t.Context(), auth.Actor{}, "bob", secret, 0, t0),
		s.Accounts().Disable(t.Context(), auth.Actor{}, "bob", t0),
		s.Accounts().Enable(t.Context(), auth.Actor{}, "Ann", t0),
	} {
		wantErr(t, err, hazard.ErrNotFound)
	}
	_, err := s.Issue(t.Context(), auth.Actor{}, "bob", t0)
	wantErr(t, err, hazard.ErrNotFound)
}

func TestAnOrganizationIsAddedOnce(t *testing.T) {
	s, _ := serve(t, auth.Config{})
	o, err := s.Accounts().AddOrg(t.Context(), auth.Actor{}, "PDC", "Pacific Disaster Center", t0)
	must(t, err)
	if got := s.Accounts().Orgs(); len(got) != 4 || got[3] != o {
		t.Errorf("organizations %+v", got)
	}
	_, err = s.Accounts().AddOrg(t.Context(), auth.Actor{}, "PDC", "another", t0)
	wantErr(t, err, hazard.ErrConflict)
	for _, o := range []auth.Org{{Acronym: "", Name: "x"}, {Acronym: "x", Name: ""}, {Acronym: "a,b", Name: "x"}, {Acronym: "a b", Name: "x"},
		{Acronym: "x", Name: " x"}, {Acronym: "x", Name: "x\u202ey"}, {Acronym: strings.Repeat("x", 33), Name: "x"}, {Acronym: "x\n", Name: "y"}} {
		_, err := s.Accounts().AddOrg(t.Context(), auth.Actor{}, o.Acronym, o.Name, t0)
		if _, ok := errors.AsType[*hazard.InvalidError](err); !ok {
			t.Errorf("%+v: %v", o, err)
		}
	}
}

func TestTheFirstStartMakesOneAdmin(t *testing.T) {
	store := authtest.Open(t)
	a, b := node(t, store, auth.Config{}), node(t, store, auth.Config{})
	must(t, a.Rotate(t.Context(), t0))
	p, err := a.Accounts().FirstAdmin(t.Context(), 0, t0)
	must(t, err)
	again, err := a.Accounts().FirstAdmin(t.Context(), 0, t0)
	must(t, err)
	late, err := b.Accounts().FirstAdmin(t.Context(), 0, t0) // it has not reloaded since
	must(t, err)
	if p == "" || again != "" || late != "" {
		t.Errorf("passwords: %v %v %v", p != "", again != "", late != "")
	}
	rows, err := a.Accounts().Trail(t.Context(), auth.TrailFilter{Limit: 10})
	must(t, err)
	if r := rows[len(rows)-1]; r.Subject != "admin" || r.Actor != "" || r.Client != "first start" {
		t.Errorf("trail %+v", r)
	}
	pair, err := b.Authorize(t.Context(), "admin", p, auth.Origin{Addr: home}, t0)
	must(t, err)
	if c := verifies(t, a, pair.Access, t0); c.Role != auth.Admin {
		t.Errorf("got %+v", c)
	}
}

func TestATokenIssuedAtTheCommandLineIsListed(t *testing.T) {
	s, store := serve(t, auth.Config{})
	p, err := s.Issue(t.Context(), auth.Actor{Name: "root"}, "ann", t0)
	must(t, err)
	verifies(t, s, p.Access, t0)
	refresh(t, s, p.Refresh, t0)
	rows, err := s.Accounts().Trail(t.Context(), auth.TrailFilter{Limit: 1})
	must(t, err)
	if r := rows[0]; r.Action != auth.ActionIssue || r.Actor != "root" || r.Subject != "ann" {
		t.Errorf("trail %+v", r)
	}
	store.Away(hazard.ErrUnavailable)
	if p, err := s.Issue(t.Context(), auth.Actor{}, "ann", t0); err == nil || p != (auth.Pair{}) {
		t.Error("a token without an audit row")
	}
}

func TestAFloodOfFailuresDoesNotFillTheTrail(t *testing.T) {
	s, store := serve(t, auth.Config{})
	for i := range 400 {
		name := fmt.Sprint("user", i/100)
		if i%100 == 0 {
			addCheap(t, store, name, secret)
		}
		wantErr(t, try(t, s, name, "wrong", fmt.Sprintf("2001:db8:%x::1", i), t0), auth.ErrDenied)
	}
	wantErr(t, try(t, s, "ann", "wrong", home.String(), t0.Add(time.Second)), auth.ErrDenied)
	rows, err := s.Accounts().Trail(t.Context(), auth.TrailFilter{Limit: 1000})
	must(t, err)
	rows = slices.DeleteFunc(rows, func(a auth.Audit) bool { return a.Action != auth.ActionLogin })
	if len(rows) != 101 || rows[0].Detail != "300 failed logins before this one are not listed" {
		t.Errorf("%d rows, the last one %+v", len(rows), rows[0])
	}
}
