package format_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hazardd/hazardd/internal/format"
	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/ingest/sources/cap"
	"github.com/hazardd/hazardd/internal/test"
	"github.com/hazardd/hazardd/internal/test/recordings"
)

// block is the text of an info block.
type block struct {
	Language, Event, Headline, Description, Instruction, Responses, Sender, Contact, Web, Audience, Area string
}

func blockOf(in *cap.Info, language string) block {
	var areas []string
	for _, a := range in.Area {
		for name := range strings.SplitSeq(hazard.CleanLine(cap.Text(a.Desc)), "; ") {
			if name != "" && !slices.Contains(areas, name) {
				areas = append(areas, name)
			}
		}
	}
	var web string
	if w, ok := cap.WebAddress(in.Web); ok {
		web = w
	}
	line := func(s string) string { return hazard.CleanLine(cap.Text(s)) }
	text := cap.Text(in.Description)
	if len(text) > 16<<10 { // longer text is cut, with a mark
		text = text[:16<<10-len("…")] + "…"
	}
	return block{strings.TrimSpace(language), line(in.Event), cap.Text(in.Headline), text, cap.Text(in.Instruction), strings.Join(in.ResponseType, " "),
		line(in.SenderName), cap.Text(in.Contact), web, cap.Text(in.Audience), strings.Join(areas, "; ")}
}

// Every recorded alert is written as CAP again with all blocks in their languages: event,
// headline, description, instruction, response types, sender, contact, web, audience and areas.
func TestRecordedAlertsComeOutAgainBlockByBlock(t *testing.T) {
	test.NoRace(t)
	test.Slow(t)
	dir := t.TempDir()
	files := []string{"--noout", "--schema", recordings.Path(t, "feeds/cap/cap12.xsd")}
	messages, several, languages := 0, 0, map[string]bool{}
	for _, pattern := range []string{"feeds/cap/*", "feeds/cap/canada-2026/*", "feeds/meteoalarm/*", "feeds/bbk/*", "vectors/cap/*.cap"} {
		names, err := filepath.Glob(filepath.Join(recordings.Path(t, "."), pattern))
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range names {
			payload, err := os.ReadFile(name)
			if err != nil || len(payload) > 8<<20 {
				continue
			}
			doc, _ := cap.Read(payload, "")
			for n := range doc.Messages {
				m := &doc.Messages[n]
				sent, err := cap.ParseTime(m.Sent)
				if admitted, bad := m.Admit(); err != nil || bad != nil || !admitted || m.MsgType == "Cancel" || len(m.Information) == 0 {
					continue
				}
				batch, err := cap.Parse(cap.Config{Name: "other", Exercises: true}, alone(t, m.Raw), sent)
				if err != nil || len(batch.Reports) == 0 {
					continue
				}
				said := hazard.Derive(batch.Reports, sent)
				if said.Ended != "" || slices.ContainsFunc(batch.Reports[max(0, len(batch.Reports)-len(m.Information)):], func(r hazard.Report) bool { return r.Ended == hazard.EndAllClear || r.Ended == hazard.EndSuperseded }) {
					continue // some of it has expired, and is no longer shown
				}
				head := &said.Head
				e := flood(int64(messages+1), func(e *format.Entry) {
					e.Hazard.Name, e.Hazard.Description, e.Hazard.Texts = hazard.CleanLine(head.Name), head.Description, head.Texts
					e.Hazard.Type, e.Hazard.Severity, e.Hazard.URL = head.Type, head.Severity, head.URL
				})
				out := document(t, format.CAP, options(true), e)
				again, err := cap.Read(out, "")
				if err != nil || len(again.Messages) != 1 {
					t.Fatalf("%s: our CAP cannot be read: %v", name, err)
				}
				var want, got []block
				for i := range m.Information {
					in := &m.Information[i]
					language := strings.TrimSpace(in.Language)
					if language == "" {
						language = "en-US"
					}
					b := blockOf(in, strings.ReplaceAll(language, "_", "-"))
					if !slices.Contains(want, b) {
						want = append(want, b)
					}
				}
				for i := range again.Messages[0].Information {
					in := &again.Messages[0].Information[i]
					b := blockOf(in, in.Language)
					got = append(got, b)
					languages[in.Language] = true
				}
				for i := range want { // if the authority gives none, ours is used, because CAP requires one
					for j := range got {
						if want[i].Language == got[j].Language && want[i].Description == got[j].Description && want[i].Event == got[j].Event && want[i].Instruction == got[j].Instruction {
							fill(&want[i], &got[j])
						}
					}
				}
				byText := func(a, b block) int { return strings.Compare(fmt.Sprint(a), fmt.Sprint(b)) }
				slices.SortFunc(want, byText)
				slices.SortFunc(got, byText)
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("%s, message %d (%s): %s", filepath.Base(name), n, m.Identifier, diff)
				}
				if own := e.Hazard.OwnText(); own == nil || own.Language != again.Messages[0].Information[0].Language {
					t.Errorf("%s: the first block is not that of the hazard's own language", name)
				}
				messages++
				if len(want) > 1 {
					several++
				}
				file := filepath.Join(dir, fmt.Sprintf("%d.xml", messages))
				if err := os.WriteFile(file, out, 0o600); err != nil {
					t.Fatal(err)
				}
				files = append(files, file)
			}
		}
	}
	t.Logf("%d messages, %d of several blocks, languages %v", messages, several, languages)
	if messages < 180 || several < 115 || len(languages) < 10 {
		t.Errorf("only %d messages, %d of several blocks, %d languages", messages, several, len(languages))
	}
	program(t, "xmllint", files...)
}

// alone returns a message as a separate payload.
func alone(t *testing.T, raw []byte) []byte {
	t.Helper()
	return bytes.TrimSpace(raw)
}

// fill replaces empty members by those of the other block.
func fill(want, got *block) {
	for _, f := range []struct{ want, got *string }{{&want.Headline, &got.Headline}, {&want.Sender, &got.Sender}, {&want.Web, &got.Web}, {&want.Area, &got.Area}, {&want.Event, &got.Event}} {
		if *f.want == "" {
			*f.want = *f.got
		}
	}
}
