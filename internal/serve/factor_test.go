package serve_test

import (
	"crypto/hmac"
	"crypto/sha1"
	"encoding/base32"
	"encoding/binary"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/hazardd/hazardd/internal/app"
	"github.com/hazardd/hazardd/internal/auth"
	"github.com/hazardd/hazardd/internal/test/server"
)

// otpAt returns the code of a secret at a moment, written again from RFC 6238 and RFC 4226.
func otpAt(t *testing.T, secret string, unix int64) string {
	t.Helper()
	key, err := base32.StdEncoding.DecodeString(secret)
	if err != nil {
		t.Fatal(err)
	}
	mac := hmac.New(sha1.New, key)
	mac.Write(binary.BigEndian.AppendUint64(nil, uint64(unix/30)))
	sum := mac.Sum(nil)
	o := sum[19] & 15
	return fmt.Sprintf("%06d", (binary.BigEndian.Uint32(sum[o:o+4])&0x7fffffff)%1_000_000)
}

// A role can need a second factor: who has none may do nothing but set one up.
func TestARoleNeedsASecondFactor(t *testing.T) {
	s := start(t, func(c *app.Config) { c.FactorRoles = []auth.Role{auth.Editor} })
	for _, name := range []string{"red", "reader", "root"} {
		want := map[bool]int{true: 403, false: 200}[name == "red"]
		for _, path := range []string{"/hazards/active", "/hazards", "/drafts/count", "/subscriptions"} {
			if path == "/drafts/count" && name == "reader" {
				continue
			}
			a := s.do(name, "GET", path, nil)
			if a.Status != want || want == 403 && !strings.Contains(string(a.Body), "/account/factors") {
				t.Errorf("%s, GET %s: %d %s", name, path, a.Status, a.Body)
			}
		}
		if a := s.do(name, "GET", "/account", nil); a.Status != 200 || strings.Contains(string(a.Body), `"second_factor_needed":true`) != (want == 403) {
			t.Errorf("%s: %d %s", name, a.Status, a.Body)
		}
	}
	form := strings.NewReader("username=red&password=" + strings.ReplaceAll(server.Password, " ", "+"))
	if a := s.do("", "POST", "/login", form, "Content-Type", "application/x-www-form-urlencoded"); a.Status != 403 || a.Header.Get("Set-Cookie") != "" {
		t.Errorf("the page of login: %d %v", a.Status, a.Header)
	}
	if a := s.do("red", "POST", "/session", nil); a.Status != 403 {
		t.Errorf("a cookie: %d", a.Status)
	}
	var setup struct{ Secret string }
	s.do("red", "POST", "/account/factors", map[string]string{"password": server.Password}).JSON(t, &setup)
	code := otpAt(t, setup.Secret, s.Now().Time().Unix())
	if a := s.do("red", "POST", "/account/factors", map[string]string{"otp": code}); a.Status != 200 {
		t.Fatalf("%d %s", a.Status, a.Body)
	}
	if a := s.do("red", "GET", "/hazards", nil); a.Status != 200 {
		t.Errorf("with a factor: %d %s", a.Status, a.Body)
	}
	if a := s.do("red", "POST", "/account/factors", map[string]any{"otp": otpAt(t, setup.Secret, s.Now().Time().Unix()+30), "remove": true}); a.Status != 403 {
		t.Errorf("removed although it is needed: %d %s", a.Status, a.Body)
	}
}

// Once, local accounts had no second factor.
func TestASecondFactorIsAskedForAndUsedOnce(t *testing.T) {
	s := start(t)
	login := func(name, otp string) server.Answer {
		body := map[string]string{"username": name, "password": server.Password}
		if otp != "" {
			body["otp"] = otp
		}
		return s.do("", "POST", "/authorize", body)
	}
	want := func(what string, a server.Answer, status int, asks bool) {
		t.Helper()
		if a.Status != status || (a.Header.Get("Hazardd-Second-Factor") == "totp") != asks || status == 401 && string(a.Body) != "Authentication failed." {
			t.Errorf("%s: %d %v %s", what, a.Status, a.Header, a.Body)
		}
	}
	var setup struct {
		State, Secret, URI string
		Recovery           []string `json:"recovery_codes"`
	}
	for body, status := range map[string]int{`{}`: 400, `{"otp":"123456","password":"x"}`: 401, `{"kind":"recovery","otp":"123456"}`: 400, `{"kind":"passkey","otp":"123456"}`: 400, `{"kind":"passkey","id":"x","remove":true}`: 400, `{"kind":"sms","password":"x"}`: 400, `{"otp":"123456"}`: 409, `{"otp":"123456","remove":true}`: 409, `{"password":"wrong"}`: 401} {
		if a := s.do("red", "POST", "/account/factors", body); a.Status != status {
			t.Errorf("%s: %d %s, not %d", body, a.Status, a.Body, status)
		}
	}
	a := s.do("red", "POST", "/account/factors", map[string]string{"password": server.Password})
	if a.JSON(t, &setup); a.Status != 200 || setup.State != "pending" || !strings.HasPrefix(setup.URI, "otpauth://totp/") || !strings.Contains(setup.URI, setup.Secret) || a.Header.Get("Cache-Control") != "no-store" {
		t.Fatalf("%d %v %s", a.Status, a.Header, a.Body)
	}
	want("a factor that waits for its first code", login("red", ""), 200, false)
	now := s.Now().Time().Unix()
	a = s.do("red", "POST", "/account/factors", map[string]string{"otp": otpAt(t, setup.Secret, now-30)})
	if a.JSON(t, &setup); a.Status != 200 || setup.State != "active" || len(setup.Recovery) != 10 {
		t.Fatalf("%d %s", a.Status, a.Body)
	}
	want("no code", login("red", ""), 401, true)
	want("a wrong password", s.do("", "POST", "/authorize", map[string]string{"username": "red", "password": "wrong", "otp": otpAt(t, setup.Secret, now)}), 401, false)
	want("the code that confirmed", login("red", otpAt(t, setup.Secret, now-30)), 401, true)
	code := otpAt(t, setup.Secret, now+30)
	want("a code", login("red", code), 200, false)
	want("the same code", login("red", code), 401, true)
	want("an earlier code", login("red", otpAt(t, setup.Secret, now)), 401, true)
	want("a recovery code", login("red", strings.ToUpper(setup.Recovery[0])), 200, false)
	want("the same recovery code", login("red", setup.Recovery[0]), 401, true)
	want("another user", login("fire", ""), 200, false)
	if a := s.do("red", "GET", "/account", nil); !strings.Contains(string(a.Body), `"second_factor":true`) {
		t.Errorf("%s", a.Body)
	}
	if a := s.do("", "POST", "/login", strings.NewReader("username=red&password="+strings.ReplaceAll(server.Password, " ", "+")), "Content-Type", "application/x-www-form-urlencoded"); a.Status != 401 || !strings.Contains(string(a.Body), `name="otp"`) {
		t.Errorf("the page does not ask for the code: %d %.300s", a.Status, a.Body)
	}
	if a := s.do("red", "POST", "/account/factors", map[string]any{"otp": setup.Recovery[1], "remove": true}); a.Status != 200 || !strings.Contains(string(a.Body), `"none"`) {
		t.Errorf("%d %s", a.Status, a.Body)
	}
	want("without a factor", login("red", ""), 200, false)
	trail := string(s.do("root", "GET", "/audit?user=red&limit=100", nil).Body)
	for _, said := range []string{`"second factor begun"`, `"second factor added"`, `"second factor used"`, `"second factor removed"`, "wrong code of the second factor", "a recovery code; 9 are left"} {
		if !strings.Contains(trail, said) {
			t.Errorf("the audit trail lacks %s", said)
		}
	}
	if strings.Contains(trail, setup.Secret) || strings.Contains(trail, code) {
		t.Error("the audit trail holds a secret")
	}
}

func TestCodesCannotBeGuessed(t *testing.T) {
	s := start(t, stopped)
	made, err := s.Auth.Factors().AddApp(t.Context(), actor, "red", s.Now())
	if err != nil {
		t.Fatal(err)
	}
	limited := 0
	for i := range 12 {
		a := s.do("", "POST", "/authorize", map[string]string{"username": "red", "password": server.Password, "otp": fmt.Sprintf("%06d", i)})
		if a.Status == http.StatusTooManyRequests {
			limited++
		}
	}
	if limited < 5 {
		t.Errorf("%d of 12 wrong codes were limited", limited)
	}
	if a := s.do("", "POST", "/authorize", map[string]string{"username": "red", "password": server.Password, "otp": otpAt(t, made.Secret, s.Now().Time().Unix())}); a.Status != http.StatusTooManyRequests {
		t.Errorf("a right code before the wait is over: %d", a.Status)
	}
	// The name that was tried is kept, unless it could be a password.
	s.do("", "POST", "/authorize", map[string]string{"username": "rooot", "password": "wrong"})
	s.do("", "POST", "/authorize", map[string]string{"username": "violet-kayak-thermos-orbit", "password": "wrong"})
	trail := string(s.do("root", "GET", "/audit?limit=100", nil).Body)
	if !strings.Contains(trail, "rooot") || strings.Contains(trail, "violet") {
		t.Errorf("%s", trail)
	}
}
