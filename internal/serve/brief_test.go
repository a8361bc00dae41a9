package serve_test

import (
	"bytes"
	"image"
	"image/png"
	"net/http"
	"strings"
	"testing"
)

// pngOf returns a gray picture.
func pngOf(t testing.TB, width, height int) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := png.Encode(&b, image.NewGray(image.Rect(0, 0, width, height))); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// A brief is available to readers of the API and of pages, in their language. Only members' briefs
// contain a restricted photograph.
func TestTheBriefOfAHazard(t *testing.T) {
	s := start(t)
	h := s.hazard("red", "hazard_Name", "Flood at the quay", "description", "Water over the quay.")
	path := "/hazards/" + h.UUID + "/brief"
	a := s.do("reader", http.MethodGet, path, nil)
	if a.Status != http.StatusOK || a.Header.Get("Content-Type") != "text/html; charset=utf-8" || !strings.Contains(string(a.Body), "Water over the quay.") ||
		!strings.Contains(a.Header.Get("Content-Security-Policy"), "style-src 'sha256-") || !strings.Contains(string(a.Body), "http://127.0.0.1") {
		t.Fatalf("%d %v %.600s", a.Status, a.Header, a.Body)
	}
	for _, tt := range []struct{ query, accept, want string }{
		{"?lang=es", "ja", `<html lang="es"`}, {"", "fr;q=0.5, ja", `<html lang="ja"`}, {"?paper=a4", "", ` a4"`}, {"?paper=letter&tz=Asia/Tokyo", "", "JST"},
	} {
		if a := s.do("reader", http.MethodGet, path+tt.query, nil, "Accept-Language", tt.accept); a.Status != http.StatusOK || !strings.Contains(string(a.Body), tt.want) {
			t.Errorf("%s %s: %d, without %s", tt.query, tt.accept, a.Status, tt.want)
		}
	}
	for query, want := range map[string]int{path + "?paper=a0": 400, path + "?x=1": 400, path + "?lang=!": 400, "/hazards/999/brief": 404, "/hazards/x/brief": 400} {
		if a := s.do("reader", http.MethodGet, query, nil); a.Status != want {
			t.Errorf("%s: %d, want %d", query, a.Status, want)
		}
	}
	cookie := sessionOf(t, s, "reader")
	page := "/h/" + h.UUID
	if a := s.do("", http.MethodGet, page, nil, "Cookie", cookie); !strings.Contains(string(a.Body), page+"/brief?lang=en") {
		t.Error("the page does not link to the brief")
	}
	for query, want := range map[string]int{"": 200, "?lang=hi&utm_source=mail": 200, "?paper=a0": 400} {
		if a := s.do("", http.MethodGet, page+"/brief"+query, nil, "Cookie", cookie); a.Status != want {
			t.Errorf("the brief of the page%s: %d, want %d", query, a.Status, want)
		}
	}
	if a := s.do("", http.MethodGet, page+"/brief", nil); a.Status != http.StatusSeeOther {
		t.Errorf("the brief without an account: %d", a.Status)
	}

	photo := pngOf(t, 9, 9)
	s.upload("red", h.HazardID, file("title", "Secret photograph", "security_Flag", "R"), "a.png", photo)
	s.upload("red", h.HazardID, file("title", "No picture"), "b.jpg", []byte("text"))
	for user, want := range map[string]int{"red": 1, "fire": 0, "reader": 0} {
		a := s.do(user, http.MethodGet, path, nil)
		if n := strings.Count(string(a.Body), "data:image/jpeg"); a.Status != http.StatusOK || n != want || strings.Contains(string(a.Body), "Secret photograph") != (want > 0) {
			t.Errorf("%s: %d, %d pictures, want %d", user, a.Status, n, want)
		}
	}
	red, fire := s.do("red", http.MethodGet, path, nil), s.do("fire", http.MethodGet, path, nil)
	if red.Header.Get("ETag") == fire.Header.Get("ETag") || !strings.Contains(red.Header.Get("Cache-Control"), "private") && !strings.Contains(red.Header.Get("Cache-Control"), "no-store") {
		t.Errorf("members %v, others %v", red.Header, fire.Header)
	}
	s.upload("red", h.HazardID, file("title", "Open photograph"), "c.png", photo)
	if a := s.do("fire", http.MethodGet, path, nil); !strings.Contains(string(a.Body), "Open photograph") {
		t.Error("the public photograph is missing")
	}
	if a := s.do("red", http.MethodPost, "/hazards/"+h.UUID+"/retract", `{"reason":"r"}`); a.Status != http.StatusOK {
		t.Fatalf("%d %s", a.Status, a.Body)
	}
	if a := s.do("reader", http.MethodGet, path, nil); a.Status != http.StatusOK || !strings.Contains(string(a.Body), "This hazard has ended.") {
		t.Errorf("the brief of an ended hazard: %d", a.Status)
	}
	public := handle(t, open)
	var p item
	public.do("root", http.MethodPost, "/hazards", flood()).JSON(t, &p)
	public.settled(t)
	if a := public.do("", http.MethodGet, "/hazards/"+p.UUID+"/brief", nil); a.Status != http.StatusOK || !strings.Contains(a.Header.Get("Cache-Control"), "s-maxage") {
		t.Errorf("for the public: %d %v", a.Status, a.Header)
	}
}
