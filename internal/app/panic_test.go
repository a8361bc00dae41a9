package app

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"strings"
	"testing"
)

// A panic in a part of the service is a line of the log, before anything else can end the program.
func TestAPanicOfAPartIsLogged(t *testing.T) {
	var log bytes.Buffer
	s := &Service{cfg: Config{Logger: slog.New(slog.NewJSONHandler(&log, nil))}}
	ended := false
	s.cfg.Panicked = func() { ended = log.Len() > 0 }
	func() {
		defer func() { _ = recover() }() // where the program would have ended
		defer s.logPanic()
		panic("a fault")
	}()
	var line struct{ Level, Panic, Stack string }
	if err := json.Unmarshal(log.Bytes(), &line); err != nil || line.Level != "ERROR" || line.Panic != "a fault" || !strings.Contains(line.Stack, "TestAPanicOfAPartIsLogged") || !ended {
		t.Errorf("%v %+v, ended %v", err, line, ended)
	}
}
