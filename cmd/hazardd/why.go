package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/hazardd/hazardd/internal/app"
	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/ingest/evidence"
	"github.com/hazardd/hazardd/internal/ingest/poll"
	"github.com/hazardd/hazardd/internal/ingest/why"
	"github.com/hazardd/hazardd/internal/store"
)

type whyCmd struct {
	Ref    string    `arg:"" help:"Name of the event or message at its source, such as us6000tga9, or SCHEME:ID; or, with --source, a file with a payload."`
	Source string    `placeholder:"NAME" help:"Source to ask about. Default: the source in SCHEME:ID, and all that report the hazard of that name."`
	AsOf   time.Time `placeholder:"TIME" help:"Read a file as if received at that time (RFC 3339). Default: now."`
	knownFlags
}

// unhurried are the limits of an answer on the command line, where nobody else waits.
var unhurried = why.Limits{For: 2 * time.Minute, Bytes: 8 << 30}

// Run says what became of a record, or of all records of a file.
func (w *whyCmd) Run(ctx context.Context, c *console, g *globals) error {
	known, err := w.known()
	if err != nil {
		return err
	}
	if w.Source != "" {
		src, err := known.Find(w.Source)
		if err != nil {
			return err
		}
		if payload, err := os.ReadFile(w.Ref); err == nil {
			return w.file(c, &src, payload)
		} else if strings.ContainsAny(w.Ref, `/\`) || !errors.Is(err, os.ErrNotExist) {
			return err
		}
	}
	return g.withEvidence(ctx, app.Config{}, func(s *store.Store, keeper *evidence.Keeper) error {
		names, err := w.sources(ctx, known, s)
		if err != nil {
			return err
		}
		asker := why.Asker{Store: s, Evidence: keeper, Limits: unhurried}
		answers := []sourceAnswer{}
		for _, name := range names {
			src, err := known.Find(name)
			if err != nil {
				return err
			}
			a, err := asker.Ask(ctx, &src, w.Ref, c.instant())
			if err != nil {
				return err
			}
			answers = append(answers, sourceAnswer{name, a.Entries, a})
		}
		return c.print(answers, func(out io.Writer) error { return writeAnswers(out, c, answers) })
	})
}

// sources returns the sources that may have sent the reference.
func (w *whyCmd) sources(ctx context.Context, known *app.Sources, s *store.Store) (names []string, err error) {
	if w.Source != "" {
		return []string{w.Source}, nil
	}
	scheme, _, ok := strings.Cut(w.Ref, ":")
	if _, err := known.Find(scheme); ok && err == nil {
		names = append(names, scheme)
	}
	called, err := s.Hazards.Called(ctx, w.Ref)
	if err != nil {
		return nil, err
	}
	for _, h := range called {
		names = append(names, append([]string{h.Source}, h.Sources...)...)
	}
	slices.Sort(names)
	names = slices.DeleteFunc(slices.Compact(names), func(name string) bool { return name == "" })
	if len(names) == 0 {
		return nil, fmt.Errorf("%s: no hazard has this name; say which source to ask about with --source", w.Ref)
	}
	return names, nil
}

// sourceAnswer is the answer about one source.
type sourceAnswer struct {
	Source  string      `json:"source"`
	Entries []why.Entry `json:"entries"`
	read    *why.Answer
}

func writeAnswers(out io.Writer, c *console, answers []sourceAnswer) error {
	for _, a := range answers {
		t := newTable("TIME", "RESULT", "RULE", "HAZARD", "PAYLOAD")
		t.colours[1] = resultColours
		for _, e := range a.Entries {
			t.add(clock(e.At.Time()), string(e.Result), oneLine(e.Rule), e.Hazard, e.Payload)
		}
		if _, err := fmt.Fprintf(out, "%s:\n", a.Source); err != nil {
			return err
		}
		if len(a.Entries) == 0 {
			if _, err := fmt.Fprintf(out, "no record of that name came\n"); err != nil {
				return err
			}
		} else if err := t.write(out, c.colour); err != nil {
			return err
		}
		text := "no evidence is kept of it"
		if a.read.Since != 0 {
			text = fmt.Sprintf("%d payloads were read, back to %s", a.read.Payloads, clock(a.read.Since.Time()))
		}
		if a.read.Stopped != "" {
			text += "; older ones were not: " + a.read.Stopped
		}
		if _, err := fmt.Fprintf(out, "(%s)\n", text); err != nil {
			return err
		}
	}
	return nil
}

var resultColours = map[string]string{string(why.Shown): green, string(why.Joined): green, string(why.Held): yellow, string(why.Rejected): red,
	string(why.Unchanged): dim, string(why.Ignored): dim, string(why.Ended): dim, string(why.Replaced): dim}

// file says what becomes of each record of a payload, without a store.
func (w *whyCmd) file(c *console, src *poll.Source, payload []byte) error {
	now := c.instant()
	if !w.AsOf.IsZero() {
		now = hazard.At(w.AsOf)
	}
	records, fault := why.Records(src, payload, now)
	if len(records) == 0 && fault != nil {
		return fmt.Errorf("%s: %w", w.Ref, fault)
	}
	err := c.print(records, func(out io.Writer) error {
		t := newTable("RECORD", "RESULT", "TYPE", "LEVEL", "NAME", "RULE")
		t.colours[1] = resultColours
		counts := map[why.Result]int{}
		for _, r := range records {
			t.add(cut(r.Record, maxShownError), string(r.Result), r.Type, r.Severity, cut(r.Name, maxShownError), oneLine(r.Rule))
			counts[r.Result]++
		}
		if err := t.write(out, c.colour); err != nil {
			return err
		}
		var words []string
		for _, r := range why.Results {
			if counts[r] > 0 {
				words = append(words, fmt.Sprintf("%d %s", counts[r], r))
			}
		}
		_, err := fmt.Fprintf(out, "%s\n", cmp.Or(strings.Join(words, ", "), "no records"))
		return err
	})
	if fault != nil {
		return errors.Join(err, fmt.Errorf("%s: the end could not be read: %w", w.Ref, fault))
	}
	return err
}
