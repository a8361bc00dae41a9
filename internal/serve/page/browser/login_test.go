package browser

import (
	"net/url"
	"strings"
	"testing"
)

func TestAPathAfterALoginIsOurs(t *testing.T) {
	for next, want := range map[string]string{
		"/h/0190a0b0-7d5b-7a53-8d5e-0f7c3a1b2c4d": "/h/0190a0b0-7d5b-7a53-8d5e-0f7c3a1b2c4d", "/h/7/map.svg?theme=dark": "/h/7/map.svg?theme=dark", "/": "/", "/h/%C3%A4": "/h/%C3%A4",
		"": "/", "h/7": "/", "https://evil.example/": "/", "//evil.example": "/", "///evil.example": "/", `/\evil.example`: "/", `\\evil.example`: "/", "/\t/evil.example": "/", "/%09/evil.example": "/%09/evil.example",
		"\t//evil.example": "/", " //evil.example": "/", "/\n/evil.example": "/", "javascript:alert(1)": "/", "data:text/html,x": "/", "https:/evil.example": "/", "https:evil.example": "/", "//user@evil.example/h/7": "/",
		"/h/../../evil": "/", "/./h": "/", "/h//7": "/", "/%2F%2Fevil.example": "/", "/login": "/", "/login?next=/login": "/", "/logout": "/", "/h/7#x": "/h/7", "/ä": "/", "/h/%zz": "/", "?x": "/", "#x": "/",
		"/h/7?next=//evil.example": "/h/7?next=//evil.example", "/\x00": "/",
	} {
		got := localPath(next)
		if got != want {
			t.Errorf("%q redirects to %q, want %q", next, got, want)
		}
		// Whatever the path, the visitor stays on our site.
		base, _ := url.Parse("https://hazardd.example/login")
		if u, err := base.Parse(got); err != nil || u.Host != "hazardd.example" || u.Scheme != "https" || strings.HasPrefix(got, "//") {
			t.Errorf("%q leads to %v", next, u)
		}
	}
}

func FuzzLocalPath(f *testing.F) {
	for _, seed := range []string{"/h/1", "//x", `/\x`, "/%2f/x", "/h/1?a=b#c", "/;//x", "/?//x"} {
		f.Add(seed)
	}
	base, err := url.Parse("https://hazardd.example/login")
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, next string) {
		got := localPath(next)
		u, err := base.Parse(got)
		if err != nil || u.Host != base.Host || u.Scheme != base.Scheme || !strings.HasPrefix(got, "/") || strings.HasPrefix(got, "//") || strings.ContainsAny(got, "\\\r\n\t ") {
			t.Errorf("%q leads to %q", next, got)
		}
		if again := localPath(got); again != got {
			t.Errorf("%q redirects to %q, and that to %q", next, got, again)
		}
	})
}
