package edit

import (
	"fmt"
	"net/url"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"golang.org/x/text/language"

	"github.com/hazardd/hazardd/internal/format/publisher"
	"github.com/hazardd/hazardd/internal/hazard"
)

// writtenText is an organization's text of its hazard in one language, in the form of GET
// /hazards/{hazard-id}/texts.
type writtenText struct {
	Language    string   `json:"language"`
	Own         bool     `json:"own"`
	Name        string   `json:"name"`
	Event       string   `json:"event"`
	Headline    string   `json:"headline"`
	Description string   `json:"description"`
	Instruction string   `json:"instruction"`
	Responses   []string `json:"response_type"`
	Sender      string   `json:"sender"`
	Contact     string   `json:"contact"`
	Web         string   `json:"web"`
	Audience    string   `json:"audience"`
	Area        string   `json:"area"`
}

// texts parses an organization's texts in its languages; null means none. One of them, the first
// unless another is marked, is in the language of hazard_Name and description, and adds what these
// two lack.
func texts(_ *reading, v jsontext.Value) ([]hazard.Text, error) {
	var given []writtenText
	if isNull(v) {
		return nil, nil
	}
	if err := json.Unmarshal(v, &given, json.RejectUnknownMembers(true)); err != nil {
		return nil, fmt.Errorf("is not a list of texts: %s", strings.TrimPrefix(err.Error(), "json: "))
	}
	if len(given) > hazard.MaxTexts {
		return nil, fmt.Errorf("has %d texts; at most %d are allowed", len(given), hazard.MaxTexts)
	}
	own := 0
	for i := range given {
		if given[i].Own {
			if given[own].Own && own != i {
				return nil, fmt.Errorf("marks two texts as own, numbers %d and %d; only one may be", own, i)
			}
			own = i
		}
	}
	var all []hazard.Text
	seen := map[string]bool{}
	for i := range given {
		t, err := given[i].text(i == own)
		if err != nil {
			return nil, fmt.Errorf("%d: %w", i, err)
		}
		if l := strings.ToLower(t.Language); seen[l] {
			return nil, fmt.Errorf("%d: the language %s is there twice", i, t.Language)
		} else {
			seen[l] = true
		}
		all = append(all, t)
	}
	if size := hazard.SizeOfTexts(all); size > hazard.MaxTextBytes {
		return nil, fmt.Errorf("have %d bytes together; at most %d are allowed", size, hazard.MaxTextBytes)
	}
	return all, nil
}

func (w *writtenText) text(own bool) (hazard.Text, error) {
	t := hazard.Text{Language: w.Language, Own: own, Name: hazard.CleanLine(w.Name), Event: hazard.CleanLine(w.Event), Headline: hazard.CleanLine(w.Headline), Description: hazard.Clean(w.Description),
		Instruction: hazard.Clean(w.Instruction), Responses: w.Responses, Sender: hazard.CleanLine(w.Sender), Contact: hazard.CleanLine(w.Contact), Web: hazard.CleanLine(w.Web),
		Audience: hazard.CleanLine(w.Audience), Area: hazard.CleanLine(w.Area)}
	if _, err := language.Parse(t.Language); err != nil || t.Language == "" {
		return t, fmt.Errorf("language: %.40q is not a language tag such as en or fr-CA", t.Language)
	}
	for name, line := range map[string]string{"name": t.Name, "event": t.Event, "headline": t.Headline, "sender": t.Sender, "contact": t.Contact, "audience": t.Audience, "area": t.Area} {
		if n := utf8.RuneCountInString(line); n > hazard.MaxName {
			return t, fmt.Errorf("%s: has %d characters; at most %d are allowed", name, n, hazard.MaxName)
		}
	}
	if own {
		t.Name = "" // hazard_Name is its name
	} else if t.Name == "" {
		if t.Name = t.Headline; t.Name == "" {
			return t, fmt.Errorf("name: is missing, and so is headline")
		}
	}
	if t.Web != "" {
		if u, err := url.Parse(t.Web); err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" || u.User != nil || len(t.Web) > hazard.MaxLink {
			return t, fmt.Errorf("web: %.60q is not an absolute http or https address", t.Web)
		}
	}
	bad := &hazard.InvalidError{}
	publisher.CheckResponses(bad, "response_type", t.Responses)
	return t, bad.Err()
}
