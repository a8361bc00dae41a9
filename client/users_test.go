package client_test

import (
	"errors"
	"testing"

	"github.com/hazardd/hazardd/client"
	"github.com/hazardd/hazardd/internal/test/server"
)

// TestAnAdminKeepsUsers adds, changes and removes a user, who logs in on the way.
func TestAnAdminKeepsUsers(t *testing.T) {
	srv := server.Serve(t)
	admin, _ := as(t, srv, "root")
	ctx := t.Context()
	org, err := admin.Admin().CreateOrganization(ctx, "CP", "Civil Protection")
	if err != nil || org.ID == 0 {
		t.Fatal(org, err)
	}
	made, err := admin.Admin().CreateUser(ctx, client.NewUser{Name: "maria", Role: "reader", Orgs: []int64{org.ID}})
	if err != nil || made.Password == "" || made.PasswordEnds == "" || made.Orgs[0] != org.ID {
		t.Fatalf("%+v %v", made, err)
	}
	login := func(password string) error {
		c, err := client.New(srv.URL(), client.Options{Username: "maria", Password: password})
		if err != nil {
			t.Fatal(err)
		}
		_, err = c.Types(ctx)
		return err
	}
	if err := login(made.Password); err != nil {
		t.Error("the password that was made:", err)
	}
	if u, err := admin.Admin().PatchUser(ctx, "maria", client.UserFields{Role: new("editor"), Disabled: new(true)}); err != nil || u.Role != "editor" || !u.Disabled || u.Password != "" {
		t.Errorf("%+v %v", u, err)
	}
	if err := login(made.Password); !errors.Is(err, client.ErrUnauthorized) {
		t.Error("a disabled user logs in:", err)
	}
	if u, err := admin.Admin().PatchUser(ctx, "maria", client.UserFields{Disabled: new(false), Orgs: new([]int64{})}); err != nil || u.Disabled || len(u.Orgs) != 0 || u.Role != "editor" {
		t.Errorf("%+v %v", u, err)
	}
	if u, err := admin.Admin().SetUserPassword(ctx, "maria", client.UserPassword{Password: server.Password}); err != nil || u.Password != "" || u.PasswordEnds != "" {
		t.Errorf("%+v %v", u, err)
	}
	if err := errors.Join(login(server.Password), admin.Admin().RemoveUser(ctx, "maria")); err != nil {
		t.Error(err)
	}
	if _, err := admin.Admin().User(ctx, "maria"); !errors.Is(err, client.ErrNotFound) {
		t.Error("a removed user:", err)
	}
	users, err := admin.Admin().Users(ctx)
	if err != nil {
		t.Fatal(err)
	}
	for _, u := range users.Items {
		if u.Name == "maria" {
			t.Error("a removed user is listed")
		}
	}
	orgs, err := admin.Admin().Organizations(ctx)
	if err != nil || orgs.Items[len(orgs.Items)-1] != org {
		t.Errorf("%+v %v", orgs, err)
	}
}
