package serve_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/test/server"
)

type version struct {
	Version int64  `json:"version"`
	Title   string `json:"title"`
	File    *struct {
		Filename string `json:"filename"`
		SHA256   string `json:"sha256"`
		Href     string `json:"href"`
	} `json:"file"`
}

func (w *world) replace(user, product, name, content string) server.Answer {
	w.t.Helper()
	body, contentType := rawForm(w.t, part{`form-data; name="file"; filename="` + name + `"`, []byte(content)})
	return w.do(user, "PUT", "/products/"+product+"/file", body, "Content-Type", contentType)
}

func (w *world) versions(user, product string) (list []version) {
	w.t.Helper()
	a := w.do(user, "GET", "/products/"+product+"/versions", nil)
	if a.Status != http.StatusOK {
		w.t.Fatalf("%d %s", a.Status, a.Body)
	}
	a.JSON(w.t, &list)
	return list
}

// Once, products had no versions.
func TestVersionsOfAProduct(t *testing.T) {
	s := start(t)
	h := s.hazard("red")
	var p item
	s.upload("red", h.HazardID, file("title", "Map"), "one.txt", []byte("one")).JSON(t, &p)
	id := digits(p.ProductID)
	if a := s.replace("red", id, "two.txt", "two"); a.Status != http.StatusOK || !strings.Contains(string(a.Body), "two.txt") {
		t.Fatalf("%d %s", a.Status, a.Body)
	}
	s.replace("red", id, "two.txt", "two") // changes nothing
	s.do("red", "PATCH", "/products/"+id, `{"title":"Better map"}`)
	list := s.versions("reader", id)
	if len(list) != 3 || list[0].File.Filename != "one.txt" || list[1].File.Filename != "two.txt" || list[2].Title != "Better map" {
		t.Fatalf("%+v", list)
	}
	// The sweep keeps the files of versions.
	if _, err := s.Store.Files.Sweep(t.Context(), hazard.At(time.Now().Add(48*time.Hour))); err != nil {
		t.Fatal(err)
	}
	for i, want := range []string{"one", "two", "two"} {
		if a := s.do("reader", "GET", s.below(list[i].File.Href), nil); a.Status != http.StatusOK || string(a.Body) != want {
			t.Errorf("version %d: %d %.100s", i, a.Status, a.Body)
		}
	}
	if a := s.do("reader", "GET", "/products/"+id+"/file", nil); string(a.Body) != "two" {
		t.Errorf("the file is %s", a.Body)
	}
	for path, want := range map[string]int{"/file?version=999999": 404, "/file?version=0": 400, "/file?version=x": 400, "/versions?after=" + digits(list[1].Version): 200} {
		if a := s.do("reader", "GET", "/products/"+id+path, nil); a.Status != want {
			t.Errorf("GET %s: %d, want %d", path, a.Status, want)
		}
	}
	// The present rights of the product apply to each of its states.
	for user, want := range map[string]int{"reader": 403, "fire": 403} {
		if a := s.replace(user, id, "x.txt", "x"); a.Status != want {
			t.Errorf("%s replaces the file: %d", user, a.Status)
		}
	}
	text := s.product("red", h.HazardID, note())
	if a := s.replace("red", digits(text.ProductID), "x.txt", "x"); a.Status != http.StatusConflict {
		t.Errorf("the file of a text: %d", a.Status)
	}
	s.do("red", "PATCH", "/products/"+id, `{"security_Flag":"R"}`)
	for _, path := range []string{"/versions", "/file?version=" + digits(list[0].Version)} {
		if a := s.do("fire", "GET", "/products/"+id+path, nil); a.Status != http.StatusNotFound {
			t.Errorf("a restricted product: GET %s is %d", path, a.Status)
		}
	}
	if n := len(s.versions("red", id)); n != 4 {
		t.Errorf("its own members see %d versions", n)
	}
	// A redaction removes the file from all versions.
	s.do("red", "PATCH", "/products/"+id, `{"security_Flag":"A"}`)
	if a := s.do("root", "POST", "/products/"+id+"/redact", `{"fields":["file"],"reason":"a face"}`); a.Status != http.StatusOK {
		t.Fatalf("%d %s", a.Status, a.Body)
	}
	for _, v := range s.versions("red", id) {
		if v.File.SHA256 != "" || v.File.Href != "" {
			t.Errorf("a redacted version is %+v", v)
		}
	}
	if a := s.do("red", "GET", "/products/"+id+"/file?version="+digits(list[0].Version), nil); a.Status != http.StatusNotFound {
		t.Errorf("a redacted file: %d", a.Status)
	}
}
