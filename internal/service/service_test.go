package service_test

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"hazardd/internal/service"
)

func config(t *testing.T, dir string) service.Config {
	return service.Config{DataDir: dir, Listen: "127.0.0.1:0", Logger: slog.New(slog.DiscardHandler), Grace: time.Second}
}

func TestFirstPasswordIsNotSpentOnAStartThatFails(t *testing.T) {
	dir := t.TempDir()
	broken := config(t, dir)
	broken.Sources, broken.ProxyURL = []string{"usgs"}, "nonsense"
	if _, err := service.Open(t.Context(), broken); err == nil {
		t.Fatal("a start with a proxy that is none succeeded")
	}
	s, err := service.Open(t.Context(), config(t, dir))
	if err != nil {
		t.Fatal(err)
	}
	if s.FirstPassword == "" {
		t.Error("the password was lost with the start that failed")
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	again, err := service.Open(t.Context(), config(t, dir))
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	if again.FirstPassword != "" {
		t.Error("the second start made another")
	}
}

func TestRunEndsWhenItsContextDoes(t *testing.T) {
	s, err := service.Open(t.Context(), config(t, t.TempDir()))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx) }()
	cancel()
	if err := <-ended; err != nil {
		t.Errorf("ended with %v", err)
	}
}

func TestChooseSourcesNamesTheOneItDoesNotKnow(t *testing.T) {
	for setting, want := range map[string]int{"all": len(service.BuiltIn().Names()), "none": 0, "": 0, "usgs, nws": 2} {
		if got, err := service.BuiltIn().Choose(setting); err != nil || len(got) != want {
			t.Errorf("%q: %v, %v; want %d sources", setting, got, err, want)
		}
	}
	if _, err := service.BuiltIn().Choose("usgs,nowhere"); err == nil {
		t.Error("a source that is none was taken")
	}
}
