package official

import (
	"cmp"
	_ "embed"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"sync"

	"github.com/hazardd/hazardd/internal/ingest/source"
	"github.com/hazardd/hazardd/internal/ingest/sources/cap"
)

//go:embed practice.tsv
var practiceTable string

// practice is a line of practice.tsv: how the senders at some addresses use CAP.
type practice struct {
	cap.Practice
	addresses []string // patterns of addresses without scheme; * stands for any characters
}

// PracticeOf returns what is known of the sender of a feed, by the feed's address: that of a feed of
// the catalog, or of an operator's own. It is the zero Practice if nothing is known.
func PracticeOf(address string) cap.Practice {
	p, _ := practiceOf(readPractices(), address)
	return p
}

func practiceOf(all []practice, address string) (p cap.Practice, ok bool) {
	u, err := url.Parse(strings.TrimSpace(address))
	if err != nil || u.Host == "" {
		return p, false
	}
	text := strings.ToLower(u.Host) + cmp.Or(u.Path, "/")
	for i := range all {
		for _, pattern := range all[i].addresses {
			if fits(pattern, text) {
				return all[i].Practice, true
			}
		}
	}
	return p, false
}

// fits reports whether text has the form of a pattern, in which * stands for any characters.
func fits(pattern, text string) bool {
	first, rest, more := strings.Cut(pattern, "*")
	text, ok := strings.CutPrefix(text, first)
	if !ok || !more {
		return ok && text == ""
	}
	for i := 0; i <= len(text); i++ {
		if fits(rest, text[i:]) {
			return true
		}
	}
	return false
}

// Practices returns what is known of senders, one for each line of the table. The caller must not
// change it.
func Practices() []cap.Practice {
	var all []cap.Practice
	for _, p := range readPractices() {
		all = append(all, p.Practice)
	}
	return all
}

var readPractices = sync.OnceValue(func() []practice {
	all, err := parsePractices(practiceTable)
	if err != nil {
		panic(err) // the table is built in, and a test reads it
	}
	return all
})

// answers are the words for source.Answer.
var answers = map[string]source.Answer{"yes": source.Yes, "no": source.No, "unknown": source.Unknown}

// parsePractices parses the table.
func parsePractices(text string) ([]practice, error) {
	var all []practice
	n := 0
	for line := range strings.Lines(text) {
		n++
		line = strings.TrimSuffix(line, "\n")
		if strings.HasPrefix(line, "#") || strings.HasPrefix(line, "practice\t") {
			continue
		}
		c := strings.Split(line, "\t")
		if len(c) != 11 {
			return nil, fmt.Errorf("practice.tsv:%d: %d values, expected 11", n, len(c))
		}
		known := func(word string) string { // the zero values mean unknown
			if word == "unknown" {
				return ""
			}
			return cmp.Or(word, "empty")
		}
		inForce, ok := answers[c[2]]
		complete, ok2 := answers[c[3]]
		if !ok || !ok2 {
			return nil, fmt.Errorf("practice.tsv:%d: in_force %q and complete %q, expected yes, no or unknown", n, c[2], c[3])
		}
		cut := 0
		if c[4] != "" {
			var err error
			if cut, err = strconv.Atoi(c[4]); err != nil || cut < 1 {
				return nil, fmt.Errorf("practice.tsv:%d: cut %q, expected a number of entries or nothing", n, c[4])
			}
		}
		p := practice{addresses: strings.Split(c[1], ","), Practice: cap.Practice{
			Name: c[0], Lists: source.Lists{InForce: inForce, Complete: complete, Cut: cut, Cite: c[10]},
			Identity: cap.Identity(known(c[5])), Expires: cap.Expires(known(c[6])), Early: cap.Early(known(c[7])), Cancels: c[8], Languages: c[9],
		}}
		if err := p.Check(); err != nil {
			return nil, fmt.Errorf("practice.tsv:%d: %w", n, err)
		}
		all = append(all, p)
	}
	return all, nil
}
