// Package headline says in one or two sentences what a hazard is, how bad, where, until when, and
// what to do, in each language that the service has words in.
//
// It says what the hazard's state and its place tell, and nothing else: what is not known is left
// out, or said to be unknown where it decides. Its output depends on its arguments alone.
package headline

import (
	"cmp"
	"strings"
	"time"

	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/lang/words"
)

// Headline is a hazard in words. The parts are phrases without a full stop; Headline and Instruction
// are sentences.
type Headline struct {
	Headline    string `json:"headline"`
	What        string `json:"what"`
	HowBad      string `json:"how_bad"`
	Where       string `json:"where"`
	Until       string `json:"until"`       // empty for a moment, such as an earthquake
	Instruction string `json:"instruction"` // empty if no source or editor gives one
	Language    string `json:"language"`    // BCP 47
}

// Reader is who reads a headline, and when.
type Reader struct {
	Language *words.Language
	// At is the moment of reading: what lies more than six days away has a date.
	At hazard.Instant
}

// Make says a hazard as it is at the reader's moment (hazard.ExpireAt).
func Make(h *hazard.Hazard, around *Around, r Reader) Headline {
	l := r.Language
	name := hazard.CleanLine(h.Name)
	out := Headline{What: name, Headline: stop(name), Where: h.PlaceKnownAs, Instruction: InstructionOf(h), Language: l.ID}
	if h.Type != hazard.Earthquake {
		out.Until = h.End.Time().In(around.zone()).Format("Monday 15:04")
	}
	return out
}

// InstructionOf returns what to do, in the words of the editor or of the source: of the text that the
// hazard is presented in, if it has one.
func InstructionOf(h *hazard.Hazard) string {
	if t := h.Says(); t != nil {
		return cmp.Or(h.Instruction, hazard.Clean(t.Instruction))
	}
	return h.Instruction
}

// zone is the time zone of the place; UTC if it is not known.
func (a *Around) zone() *time.Location {
	if a == nil || a.Zone == nil {
		return time.UTC
	}
	return a.Zone
}

// stop ends a sentence.
func stop(s string) string {
	if s == "" || strings.ContainsAny(s[len(s)-1:], ".?!") || strings.HasSuffix(s, "。") {
		return s
	}
	return s + "."
}
