package auth_test

import (
	"testing"

	"github.com/hazardd/hazardd/internal/auth"
)

func BenchmarkVerifyRemembered(b *testing.B) {
	s, _ := serve(b, auth.Config{})
	p := login(b, s, t0)
	verifies(b, s, p.Access, t0)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := s.Verify(p.Access, t0); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkVerifyRememberedOnAllCores(b *testing.B) {
	s, _ := serve(b, auth.Config{})
	tokens := make([]string, 1000)
	for i := range tokens {
		tokens[i] = login(b, s, t0).Access
		verifies(b, s, tokens[i], t0)
	}
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		for i := 0; pb.Next(); i++ {
			if _, err := s.Verify(tokens[i%len(tokens)], t0); err != nil {
				b.Fatal(err)
			}
		}
	})
}

func BenchmarkVerifyFirstTime(b *testing.B) {
	s, _ := serve(b, auth.Config{})
	p := login(b, s, t0)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := s.Verify(p.Access, t0); err != nil {
			b.Fatal(err)
		}
		auth.Forget(s)
	}
}

func BenchmarkVerifyAfterReload(b *testing.B) {
	s, _ := serve(b, auth.Config{})
	p := login(b, s, t0)
	for b.Loop() {
		if err := s.Reload(b.Context()); err != nil {
			b.Fatal(err)
		}
		if _, err := s.Verify(p.Access, t0); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkAuthorizeFirstTime(b *testing.B) {
	s, _ := serve(b, auth.Config{})
	if err := s.Accounts().AddUser(b.Context(), auth.Actor{}, auth.NewUser{Name: "bob", Role: auth.Reader, Password: secret}, t0); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if _, err := s.Authorize(b.Context(), "bob", secret, auth.Origin{Addr: home}, t0); err != nil {
			b.Fatal(err)
		}
		auth.Forget(s)
	}
}

func BenchmarkAuthorizeRepeated(b *testing.B) {
	s, _ := serve(b, auth.Config{})
	login(b, s, t0)
	b.ReportAllocs()
	for b.Loop() {
		login(b, s, t0)
	}
}

func BenchmarkRefresh(b *testing.B) {
	s, _ := serve(b, auth.Config{})
	p := login(b, s, t0)
	for b.Loop() {
		p = refresh(b, s, p.Refresh, t0)
	}
}
