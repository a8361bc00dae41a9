package serve_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/hazardd/hazardd/internal/app"
	"github.com/hazardd/hazardd/internal/serve/route"
)

func TestPagesAreInTheLanguageOfTheirReader(t *testing.T) {
	s := start(t)
	h := s.hazard("red", "hazard_Name", "Elbe")
	cookie := sessionOf(t, s, "reader")
	for _, tt := range []struct{ path, accept, lang, says string }{
		{"/h/" + h.UUID, "", `lang="en" dir="ltr"`, "What is known"},
		{"/h/" + h.UUID, "ar-EG,en;q=0.5", `lang="ar" dir="rtl"`, "ما هو معروف"},
		{"/h/" + h.UUID + "?lang=ja", "ar", `lang="ja" dir="ltr"`, "判明していること"},
		{"/h/" + h.UUID + "?lang=nl", "fr", `lang="fr" dir="ltr"`, "Ce que l’on sait"},
		{"/h/" + h.UUID + "?lang=%zz", "es", `lang="es" dir="ltr"`, "Lo que se sabe"},
		{"/h/" + h.UUID + "?lang=en&tz=Asia/Kolkata", "", `lang="en" dir="ltr"`, " IST"},
		{"/h/" + h.UUID + "?tz=../../etc/passwd", "", `lang="en" dir="ltr"`, "What is known"},
		{"/h/" + h.UUID + "?tz=Local", "", `lang="en" dir="ltr"`, "What is known"},
		{"/status", "hi", `lang="hi" dir="ltr"`, "इस सेवा की स्थिति"},
		{"/status?lang=pt", "hi", `lang="pt" dir="ltr"`, "Estado deste serviço"},
	} {
		a := visit(s, cookie, tt.path, "Accept-Language", tt.accept)
		wantHTML(t, a, 200)
		if html := string(a.Body); !strings.Contains(html, "<html "+tt.lang+">") || !strings.Contains(html, tt.says) {
			t.Errorf("%s for %q: %.200s", tt.path, tt.accept, html)
		}
	}
	if a := visit(s, cookie, "/h/999", "Accept-Language", "id"); !strings.Contains(wantHTML(t, a, 404), "Tidak ada bahaya seperti itu") {
		t.Errorf("%s", a.Body)
	}
	if a := logIn(s, "reader", "wrong", "/", "Accept-Language", "pt"); !strings.Contains(wantHTML(t, a, 401), "não coincidem") {
		t.Errorf("%s", a.Body)
	}
}

func TestTheStatusIsForThoseWhoMayRead(t *testing.T) {
	s := start(t)
	if a := s.do("", "GET", "/status", nil, "Accept", "text/html"); a.Status != http.StatusSeeOther || a.Header.Get("Location") != "/login?next=%2Fstatus" {
		t.Errorf("nobody: %d %q", a.Status, a.Header.Get("Location"))
	}
	if a := s.do("", "GET", "/status", nil, "Accept", "application/json"); a.Status != http.StatusForbidden {
		t.Errorf("a program: %d", a.Status)
	}
	if words := wantHTML(t, visit(s, sessionOf(t, s, "reader"), "/status"), 200); !strings.Contains(words, "This node") || !strings.Contains(words, "Logged in as reader") {
		t.Error(words)
	}
	t.Run("and for everybody where the server is public", func(t *testing.T) {
		s := start(t, func(c *app.Config) { c.Public = route.PublicRead })
		words := wantHTML(t, s.do("", "GET", "/status", nil, "Accept", "text/html"), 200)
		if !strings.Contains(words, "This node") || !strings.Contains(words, "Log in") || strings.Contains(words, "Logged in as") {
			t.Error(words)
		}
	})
}
