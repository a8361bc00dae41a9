package serve_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/test/server"
	"github.com/hazardd/hazardd/wire"
)

type listedSession struct {
	ID, Address, Client string
	Current             bool
}

// logInWith logs in with a program of that name, and returns the pair of tokens.
func logInWith(t *testing.T, p *inProcess, user, password, program string) (pair wire.TokenPair) {
	t.Helper()
	a := p.do("", "POST", "/authorize", credentials(user, password), "User-Agent", program)
	if a.Status != http.StatusOK {
		t.Fatalf("%d %s", a.Status, a.Body)
	}
	a.JSON(t, &pair)
	return pair
}

func bearing(token string) []string { return []string{"Authorization", "Bearer " + token} }

// Once, users could neither see nor end their own sessions.
func TestUsersSeeAndEndTheirOwnSessions(t *testing.T) {
	p := handle(t)
	mine, other := logInWith(t, p, "reader", server.Password, "a map"), logInWith(t, p, "reader", server.Password, "a phone")
	foreign := logInWith(t, p, "editor", server.Password, "a program")
	list := func(token string) (list []listedSession) {
		t.Helper()
		a := p.do("", "GET", "/account/sessions", nil, bearing(token)...)
		if a.Status != http.StatusOK || a.Header.Get("Cache-Control") != "private, no-cache" && !strings.Contains(a.Header.Get("Cache-Control"), "no-") {
			t.Fatalf("%d %v %s", a.Status, a.Header, a.Body)
		}
		a.JSON(t, &list)
		return list
	}
	byClient := map[string]listedSession{}
	for _, s := range list(mine.AccessToken) {
		byClient[s.Client] = s
	}
	if !byClient["a map"].Current || byClient["a phone"].Current || byClient["a phone"].Address != "192.0.2.1" || byClient["a program"].ID != "" {
		t.Fatalf("%+v", byClient)
	}
	a := p.do("", "DELETE", "/account/sessions/"+list(foreign.AccessToken)[0].ID, nil, bearing(mine.AccessToken)...)
	wantProblem(t, a, http.StatusNotFound) // a session of another user
	wantProblem(t, p.do("", "DELETE", "/account/sessions/x", nil, bearing(mine.AccessToken)...), http.StatusBadRequest)
	if a := p.do("", "DELETE", "/account/sessions/"+byClient["a phone"].ID, nil, bearing(mine.AccessToken)...); a.Status != http.StatusNoContent {
		t.Fatalf("%d %s", a.Status, a.Body)
	}
	if a := p.do("", "GET", "/account", nil, bearing(other.AccessToken)...); a.Status != http.StatusForbidden {
		t.Errorf("an access token of the ended session: %d", a.Status)
	}
	if a := p.do("", "POST", "/authorize/refresh", map[string]string{"refreshToken": other.RefreshToken}); a.Status != http.StatusUnauthorized {
		t.Errorf("a refresh token of the ended session: %d", a.Status)
	}
	// A renewal keeps the session, and shows where it came from.
	a = p.do("", "POST", "/authorize/refresh", map[string]string{"refreshToken": mine.RefreshToken}, "User-Agent", "a newer map")
	a.JSON(t, &mine)
	for _, s := range list(mine.AccessToken) {
		if s.Current && (s.ID != byClient["a map"].ID || s.Client != "a newer map") || s.Client == "a phone" {
			t.Errorf("after the renewal: %+v", s)
		}
	}
	var account struct{ Name, Role, Session string }
	a = p.do("", "GET", "/account", nil, bearing(mine.AccessToken)...)
	if a.JSON(t, &account); account.Name != "reader" || account.Role != "reader" || account.Session != byClient["a map"].ID {
		t.Errorf("%+v", account)
	}
}

func TestUsersChangeTheirOwnPassword(t *testing.T) {
	p := handle(t)
	const fresh = "another-quiet-canoe-nine"
	mine, other := logInWith(t, p, "reader", server.Password, "a map"), logInWith(t, p, "reader", server.Password, "a phone")
	change := func(old, fresh string) server.Answer {
		return p.do("", "POST", "/account/password", map[string]string{"old": old, "new": fresh}, bearing(mine.AccessToken)...)
	}
	if a := change("not my password", fresh); a.Status != http.StatusUnauthorized {
		t.Errorf("with a wrong old password: %d %s", a.Status, a.Body)
	}
	for _, weak := range []string{"short", "readerreaderreader", server.Password} {
		wantProblem(t, change(server.Password, weak), http.StatusBadRequest)
	}
	a := change(server.Password, fresh)
	if a.Status != http.StatusOK {
		t.Fatalf("%d %s", a.Status, a.Body)
	}
	var next wire.TokenPair
	a.JSON(t, &next)
	p.ahead.Add(int64(time.Second)) // the new pair is dated to the next whole second
	for what, token := range map[string]string{"the own": mine.AccessToken, "another": other.AccessToken} {
		if a := p.do("", "GET", "/account", nil, bearing(token)...); a.Status != http.StatusForbidden {
			t.Errorf("%s old token: %d", what, a.Status)
		}
	}
	a = p.do("", "GET", "/account/sessions", nil, bearing(next.AccessToken)...)
	var list []listedSession
	if a.JSON(t, &list); len(list) != 1 || !list[0].Current {
		t.Errorf("sessions afterwards: %+v", list)
	}
	if a := p.do("", "POST", "/authorize", credentials("reader", server.Password)); a.Status != http.StatusUnauthorized {
		t.Errorf("the old password: %d", a.Status)
	}
	logInWith(t, p, "reader", fresh, "a map")
	// Password guesses with a stolen token are limited like logins.
	mine = next
	limited := false
	for range 10 {
		limited = limited || change("not my password", fresh).Status == http.StatusTooManyRequests
	}
	if !limited {
		t.Error("guessing the old password is not limited")
	}
}

func TestAReadKeyDoesNotReachTheAccountOfItsUser(t *testing.T) {
	s := start(t)
	k := makeKey(t, s, "root")
	for _, path := range []string{"/account", "/account/sessions", "/audit"} {
		wantProblem(t, s.do("", "GET", "/key/"+k.Key+path, nil), http.StatusForbidden)
	}
}

type auditedAct struct {
	ID                                             int64
	User, Address, Client, Action, Subject, Detail string
	OK                                             bool
	Request                                        string
}

// Once, refused writes were not recorded, and the trail could not be read.
func TestTheAuditTrailHasWhatWasAllowedAndWhatWasRefused(t *testing.T) {
	p := handle(t)
	h := p.do("editor", "POST", "/hazards", flood(), "User-Agent", "a map")
	if h.Status != http.StatusCreated {
		t.Fatalf("%d %s", h.Status, h.Body)
	}
	const traced = "4bf92f3577b34da6a3ce929d0e0e4736"
	refused := p.do("reader", "POST", "/hazards", flood(), "User-Agent", "a script", "Traceparent", "00-"+traced+"-00f067aa0ba902b7-01")
	wantProblem(t, refused, http.StatusForbidden)
	guess := p.do("", "POST", "/authorize", credentials("reader", "wrong"), "User-Agent", "a guesser", "Traceparent", "00-"+traced+"-00f067aa0ba902b8-01")
	request := func(a server.Answer) string { return a.Header.Get("Hazardd-Request") }
	read := func(query string) (rows []auditedAct, a server.Answer) {
		t.Helper()
		a = p.do("root", "GET", "/audit"+query, nil)
		if a.Status != http.StatusOK {
			t.Fatalf("%s: %d %s", query, a.Status, a.Body)
		}
		a.JSON(t, &rows)
		return rows, a
	}
	for query, want := range map[string]auditedAct{
		"?user=editor&action=hazard.created":  {User: "editor", Address: "192.0.2.1", Client: "a map", Action: "hazard.created", Subject: "hazard 1", Detail: "change 1", OK: true, Request: request(h)},
		"?user=reader&action=POST%20/hazards": {User: "reader", Address: "192.0.2.1", Client: "a script", Action: "POST /hazards", Subject: "/hazards", Request: request(refused)},
		"?user=reader&action=login":           {Address: "192.0.2.1", Client: "a guesser", Action: "login", Subject: "reader", Request: request(guess)},
		"?action=user%20added&user=root":      {Action: "user added", Subject: "root", Detail: "role admin, organizations []", OK: true},
	} {
		rows, _ := read(query)
		if len(rows) != 1 {
			t.Fatalf("%s: %+v", query, rows)
		}
		if want.ID = rows[0].ID; !want.OK && want.User != "" {
			want.Detail = rows[0].Detail
			if !strings.Contains(want.Detail, "role") {
				t.Errorf("a refusal says %q", want.Detail)
			}
		}
		if rows[0] != want {
			t.Errorf("%s:\n got %+v\nwant %+v", query, rows[0], want)
		}
	}
	for text, rows := range map[string]int{request(h): 1, request(refused): 1, traced: 2, strings.Repeat("0", 32): 0} {
		if got, _ := read("?request=" + text); len(got) != rows {
			t.Errorf("%d audit rows of request %s, want %d: %+v", len(got), text, rows, got)
		}
	}
	// The pages contain every row once, newest first.
	all, _ := read("")
	var paged []auditedAct
	for query := "?limit=2"; query != ""; {
		rows, a := read(query)
		paged = append(paged, rows...)
		_, link, more := strings.Cut(a.Header.Get("Link"), "/audit")
		link, _, _ = strings.Cut(link, ">")
		if query = link; !more {
			query = ""
		}
	}
	if len(all) < 6 || fmt.Sprint(paged) != fmt.Sprint(all) {
		t.Errorf("%d audit rows on pages, %d in one answer", len(paged), len(all))
	}
	hour := hazard.At(p.time().Add(time.Hour)).Time().Format(time.RFC3339)
	if rows, _ := read("?since=" + hour); len(rows) > 0 {
		t.Errorf("audit rows of the future: %+v", rows)
	}
	if rows, _ := read("?until=" + hour); len(rows) != len(all) {
		t.Errorf("%d audit rows until then, want %d", len(rows), len(all))
	}
	for _, query := range []string{"?limit=0", "?limit=1001", "?since=yesterday", "?next=x", "?users=a", "?request=x", "?request=", "?request=" + traced + "-", "?user=a&user=b"} {
		wantProblem(t, p.do("root", "GET", "/audit"+query, nil), http.StatusBadRequest)
	}
	for _, user := range []string{"reader", "editor"} {
		wantProblem(t, p.do(user, "GET", "/audit", nil), http.StatusForbidden)
	}
}

func TestAFloodOfRefusalsDoesNotFillTheTrail(t *testing.T) {
	p := handle(t)
	p.clock.Store(int64(now()))
	for range 200 {
		p.do("reader", "POST", "/hazards", flood())
	}
	p.clock.Add(11_000)
	p.do("reader", "POST", "/hazards", flood())
	var rows []auditedAct
	p.do("root", "GET", "/audit?user=reader&action=POST+/hazards&limit=1000", nil).JSON(t, &rows)
	if len(rows) != 31 || !strings.Contains(rows[0].Detail, "170 refusals before this one are not listed") {
		t.Errorf("%d rows, the latest %+v", len(rows), rows[0])
	}
}
