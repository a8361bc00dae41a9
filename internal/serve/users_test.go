package serve_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hazardd/hazardd/internal/auth"
	"github.com/hazardd/hazardd/internal/hazard"
)

func TestUsersAreKeptByAdmins(t *testing.T) {
	p := handle(t)
	const secret = "gentle otter maps fjord"
	later := p.time().Add(time.Hour).UTC().Format(time.RFC3339)
	for _, tt := range []struct {
		request, body string
		status        int
		says          string
	}{
		{"POST /users", `{"name":"ann","role":"reader"}`, 201, `"password":"`},
		{"POST /users", `{"name":"ben","role":"editor","orgs":[1],"password":"` + secret + `","password_ends":"` + later + `"}`, 201, `"orgs":[1]`},
		{"POST /users", `{"name":"ann","role":"reader"}`, 409, "ann"},
		{"POST /users", `{"name":"Ann Onym","role":"chief","orgs":[99],"password":"short"}`, 400, `"pointer":"/orgs"`},
		{"POST /users", `{"name":"carl","role":"reader","password":"` + secret + `","hash":"x"}`, 400, "hash: is not known here"},
		{"POST /users", `{"name":"carl","role":["reader"],"password":"` + secret + `"}`, 400, "role: is not a string"},
		{"POST /users", `{"name":"carl","role":"reader","password_ends":"2001-01-01T00:00:00Z"}`, 400, "later than now"},
		{"POST /users", `{"name":"carl","role":"reader","orgs":"RC"}`, 400, "orgs: is not an array of integers"},
		{"POST /users", `{"name":"carl","role":"reader","orgs":[1.5]}`, 400, "is not an integer"},
		{"POST /users", `{"name":"carl","role":"reader"} {}`, 400, "not one JSON object"},
		{"POST /users", `[]`, 400, "not one JSON object"},
		{"POST /users", `{"name":"` + strings.Repeat("x", 64<<10) + `"}`, 413, "65536"},
		{"GET /users/ann", "", 200, `"role":"reader"`},
		{"GET /users/nobody", "", 404, ""},
		{"PATCH /users/ann", `{"display_name":"The night desk"}`, 200, `"display_name":"The night desk"`},
		{"PATCH /users/ann", `{"display_name":"two\nlines"}`, 400, "display_name: must be one line"},
		{"PATCH /account", `{"display_name":"Root of all"}`, 200, `"display_name":"Root of all"`},
		{"PATCH /account", `{}`, 200, `"display_name":"Root of all"`},
		{"PATCH /account", `{"display_name":" x"}`, 400, "display_name: must be one line"},
		{"PATCH /users/ann", `{"role":"editor","orgs":[1]}`, 200, `"role":"editor"`},
		{"PATCH /users/ann", `{"role":"chief","orgs":[],"disabled":true}`, 400, "chief"},
		{"PATCH /users/ann", `{"orgs":[99],"disabled":true}`, 400, "99"},
		{"GET /users/ann", "", 200, `"orgs":[1],"disabled":false`}, // nothing of the refused request was applied
		{"PATCH /users/ann", `{"password":"` + secret + `"}`, 400, "password: is not known here"},
		{"PATCH /users/nobody", `{"disabled":true}`, 404, ""},
		{"PATCH /users/root", `{"disabled":true}`, 409, "yourself"},
		{"PATCH /users/root", `{"role":"reader"}`, 409, "yourself"},
		{"PATCH /users/root", `{"role":"admin"}`, 200, ""},
		{"DELETE /users/root", "", 409, "yourself"},
		{"POST /users/ann/password", `{}`, 200, `"password":"`},
		{"POST /users/ann/password", `{"password":"short"}`, 400, "password"},
		{"POST /users/nobody/password", `{}`, 404, ""},
		{"DELETE /users/ann", "", 204, ""},
		{"DELETE /users/ann", "", 404, ""},
		{"POST /users", `{"name":"ann","role":"reader"}`, 409, "was removed"},
		{"PUT /users/ben", `{}`, 405, "GET, HEAD, PATCH, DELETE"},
		{"GET /users?limit=1", "", 400, "limit"},
		{"POST /organizations", `{"acronym":"CP","name":"Civil Protection"}`, 201, `{"id":2,`},
		{"POST /organizations", `{"acronym":"CP","name":"another"}`, 409, "CP"},
		{"POST /organizations", `{"acronym":"C P","name":""}`, 400, `"pointer":"/name"`},
		{"GET /organizations/CP", "", 200, `"Civil Protection"`},
		{"GET /organizations/3", "", 404, ""},
	} {
		method, path, _ := strings.Cut(tt.request, " ")
		var body any
		if tt.body != "" {
			body = tt.body
		}
		a := p.do("root", method, path, body)
		if a.Status != tt.status || !strings.Contains(string(a.Body), tt.says) {
			t.Errorf("%s %.100s: %d %s, expected %d and %q", tt.request, tt.body, a.Status, a.Body, tt.status, tt.says)
		}
		if strings.Contains(string(a.Body), secret) {
			t.Errorf("%s: the answer repeats a password: %s", tt.request, a.Body)
		}
		if a.Status < 300 && a.Header.Get("Cache-Control") != "no-store" && a.Status != 204 {
			t.Errorf("%s: Cache-Control %q", tt.request, a.Header.Get("Cache-Control"))
		}
	}
	if a := p.do("root", "POST", "/users", `{"name":"dora","role":"reader"}`); a.Header.Get("Location") != "https://hazardd.example/users/dora" {
		t.Errorf("Location %q", a.Header.Get("Location"))
	}
	p.wantTrail(t, "ann", auth.ActionUserAdd, auth.ActionDisplayName, auth.ActionOrgs, auth.ActionRole, auth.ActionPassword, auth.ActionRemove)
}

// wantTrail compares root's actions on a user with those in the audit trail, oldest first.
func (p *inProcess) wantTrail(t *testing.T, user string, want ...string) {
	t.Helper()
	rows, err := p.Auth.Accounts().Trail(t.Context(), auth.TrailFilter{User: user, Limit: 100})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, r := range slices.Backward(rows) {
		if r.Actor == "root" && r.Subject == user && r.Addr.String() == "192.0.2.1" && r.OK {
			got = append(got, r.Action)
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("the audit trail of %s has %q, expected %q", user, got, want)
	}
}

// TestADisabledUserIsOutAtOnce checks that the user's token is invalid as soon as the admin gets
// the answer.
func TestADisabledUserIsOutAtOnce(t *testing.T) {
	p := handle(t)
	if a := p.do("editor", "GET", "/hazards/active", nil); a.Status != 200 {
		t.Fatalf("%d %s", a.Status, a.Body)
	}
	if a := p.do("root", "PATCH", "/users/editor", `{"disabled":true}`); a.Status != 200 {
		t.Fatalf("%d %s", a.Status, a.Body)
	}
	if a := p.do("editor", "GET", "/hazards/active", nil); a.Status != 403 || string(a.Body) != "Invalid Token" {
		t.Errorf("%d %s", a.Status, a.Body)
	}
	if a := p.do("root", "PATCH", "/users/editor", `{"disabled":false}`); a.Status != 200 {
		t.Fatalf("%d %s", a.Status, a.Body)
	}
	if a := p.do("editor", "GET", "/hazards/active", nil); a.Status != 403 {
		t.Errorf("an old token is valid again: %d %s", a.Status, a.Body)
	}
}

// TestAPasswordThatWasMadeEndsByItself checks that a user who does not choose another password
// within a day loses access.
func TestAPasswordThatWasMadeEndsByItself(t *testing.T) {
	p := handle(t)
	var made struct{ Password string }
	p.do("root", "POST", "/users", `{"name":"ann","role":"reader"}`).JSON(t, &made)
	login := func() int {
		return p.do("", "POST", "/authorize", `{"username":"ann","password":"`+made.Password+`"}`).Status
	}
	if status := login(); status != 200 {
		t.Errorf("at once: %d", status)
	}
	p.clock.Store(int64(hazard.At(p.time().Add(24*time.Hour + time.Second))))
	if status := login(); status != 401 {
		t.Errorf("a day later: %d", status)
	}
}
