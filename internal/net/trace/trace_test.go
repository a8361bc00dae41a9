package trace_test

import (
	"bytes"
	"context"
	"log/slog"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/hazardd/hazardd/internal/net/trace"
)

const (
	callers = "4bf92f3577b34da6a3ce929d0e0e4736"
	span    = "00f067aa0ba902b7"
)

var form = regexp.MustCompile(`^[0-9a-f]{32}-[0-9a-f]{16}$`)

// TestTheTraceIsTheCallersIfItIsValid runs the cases of the specification, sections 2.2 and 3.2.
func TestTheTraceIsTheCallersIfItIsValid(t *testing.T) {
	for name, tt := range map[string]struct {
		parent []string
		taken  bool
	}{
		"none":                         {nil, false},
		"of this version":              {[]string{"00-" + callers + "-" + span + "-01"}, true},
		"not sampled":                  {[]string{"00-" + callers + "-" + span + "-00"}, true},
		"other flags":                  {[]string{"00-" + callers + "-" + span + "-ff"}, true},
		"of a later version":           {[]string{"cc-" + callers + "-" + span + "-01"}, true},
		"of a later version with more": {[]string{"cc-" + callers + "-" + span + "-01-what-the-future-brings"}, true},
		"of a later version, no hyphen": {[]string{"cc-" + callers + "-" + span + "-01.more"},
			false},
		"more than this version has": {[]string{"00-" + callers + "-" + span + "-01-more"}, false},
		"no version":                 {[]string{"ff-" + callers + "-" + span + "-01"}, false},
		"capital letters":            {[]string{"00-" + strings.ToUpper(callers) + "-" + span + "-01"}, false},
		"trace of zeros":             {[]string{"00-" + strings.Repeat("0", 32) + "-" + span + "-01"}, false},
		"span of zeros":              {[]string{"00-" + callers + "-" + strings.Repeat("0", 16) + "-01"}, false},
		"flags are no number":        {[]string{"00-" + callers + "-" + span + "-0x"}, false},
		"no hyphens":                 {[]string{"00." + callers + "." + span + ".01"}, false},
		"short":                      {[]string{"00-" + callers + "-" + span}, false},
		"empty":                      {[]string{""}, false},
		"two":                        {[]string{"00-" + callers + "-" + span + "-01", "00-" + callers + "-" + span + "-01"}, false},
		"lines for the log":          {[]string{"00-" + callers[:31] + "\n-" + span + "-01"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, value := trace.Begin(t.Context(), http.Header{"Traceparent": tt.parent})
			id := value[0]
			if !form.MatchString(id) || trace.ID(ctx) != id {
				t.Fatalf("id %q, of the context %q", id, trace.ID(ctx))
			}
			if strings.HasPrefix(id, callers) != tt.taken || strings.HasSuffix(id, span) {
				t.Errorf("%q gives %s", tt.parent, id)
			}
			if _, again := trace.Begin(t.Context(), http.Header{"Traceparent": tt.parent}); again[0] == id {
				t.Errorf("two requests have the id %s", id)
			}
		})
	}
}

func FuzzTraceparent(f *testing.F) {
	f.Add("00-" + callers + "-" + span + "-01")
	f.Fuzz(func(t *testing.T, parent string) {
		if _, id := trace.Begin(t.Context(), http.Header{"Traceparent": {parent}}); !form.MatchString(id[0]) {
			t.Errorf("%q gives the id %q", parent, id[0])
		}
	})
}

func TestTheIDGoesOnToLogsAndRequests(t *testing.T) {
	var got []string
	var text bytes.Buffer
	log := slog.New(trace.LogHandler(slog.NewTextHandler(&text, nil))).With("part", "x").WithGroup("g")
	begun, value := trace.Begin(t.Context(), http.Header{"Traceparent": {"00-" + callers + "-" + span + "-03"}})
	id := value[0]
	kept := trace.Keep(context.Background(), begun)
	for _, ctx := range []context.Context{begun, kept, t.Context(), trace.Keep(t.Context(), t.Context())} {
		log.InfoContext(ctx, "said")
		h := http.Header{"Accept": {"text/plain"}}
		got = append(got, trace.Pass(ctx, h).Get("Traceparent"))
		if len(h) != 1 {
			t.Error("the caller's own header was changed")
		}
	}
	if n := strings.Count(text.String(), "request="+id); n != 2 || strings.Count(text.String(), "msg=said") != 4 {
		t.Errorf("the log has the id %d times, in:\n%s", n, &text)
	}
	if want := "00-" + id + "-01"; len(got) != 4 || got[0] != want || got[1] != want || got[2] != "" || got[3] != "" {
		t.Errorf("sent %q, expected %q twice and then none", got, want)
	}
}
