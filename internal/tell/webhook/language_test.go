package webhook

import (
	"strings"
	"testing"

	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/lang"
)

// spoken creates a hazard with texts in English and French. words follow the name in French.
func (b *bed) spoken(id int64, words string) *hazard.Hazard {
	return b.save(id, func(h *hazard.Hazard) {
		h.Description = "The water rises."
		h.Texts = []hazard.Text{{Language: "en", Own: true, Name: h.Name, Description: h.Description}, {Language: "fr-CA", Name: "Inondation" + words, Description: "L'eau monte."}}
	})
}

func TestAWebhookIsToldInItsLanguage(t *testing.T) {
	bubble(t, func(t *testing.T, b *bed) {
		for host, members := range map[string]string{
			"none.example":   `"format":"standard"`,
			"french.example": `"language":"sw,fr"`,
			"arabic.example": `"language":"ar"`,
			"whole.example":  `"language":"fr","format":"cloudevents"`,
			"binary.example": `"language":"fr","format":"cloudevents-binary"`,
			"chat.example":   `"language":"fr","format":"slack"`,
		} {
			b.hook("ann", `"url":"https://`+host+`/hook",`+members)
		}
		defer b.run(b.svc)()
		b.spoken(0, "")
		settle()
		for host, want := range map[string]string{"none.example": "en", "french.example": "fr-CA", "arabic.example": "en", "whole.example": "fr-CA", "binary.example": "fr-CA", "chat.example": "fr-CA"} {
			got := b.net.to(host)
			if len(got) != 1 {
				t.Fatalf("%s got %d messages", host, len(got))
			}
			name, other := "Inondation", "Flood - Boston"
			if want == "en" {
				name, other = other, name
			}
			if said := got[0].header.Get("Content-Language"); said != want || !strings.Contains(got[0].body, name) || strings.Contains(got[0].body, other) {
				t.Errorf("%s in %q, want %s: %s", host, said, want, got[0].body)
			}
		}
		if _, c := b.net.to("french.example")[0].standard(t); c.Hazard.HazardName != "Inondation" || c.Hazard.Description != "L'eau monte." {
			t.Errorf("%+v", c.Hazard)
		}
	})
}

// The server's languages come after those of the webhook. A webhook without languages gets the
// server's.
func TestTheServersLanguagesAreThoseOfAWebhookThatWishesNone(t *testing.T) {
	bubble(t, func(t *testing.T, b *bed) {
		var err error
		if b.svc.Languages, err = lang.Parse("fr"); err != nil {
			t.Fatal(err)
		}
		b.hook("ann", `"url":"https://none.example/hook"`)
		b.hook("ann", `"url":"https://arabic.example/hook","language":"ar"`)
		b.hook("ann", `"url":"https://english.example/hook","language":"en"`)
		defer b.run(b.svc)()
		b.spoken(0, "")
		settle()
		for host, want := range map[string]string{"none.example": "Inondation", "arabic.example": "Inondation", "english.example": "Flood - Boston"} {
			if got := b.net.to(host); len(got) != 1 || !strings.Contains(got[0].body, want) {
				t.Errorf("%s: want %s in %v", host, want, got)
			}
		}
	})
}

// People are notified about changes to the text that they read, and not to other texts.
func TestPeopleAreToldOfTheWordsThatTheyRead(t *testing.T) {
	bubble(t, func(t *testing.T, b *bed) {
		b.hook("ann", `"url":"https://french.example/hook","language":"fr","format":"text"`)
		b.hook("ann", `"url":"https://english.example/hook","format":"text"`)
		defer b.run(b.svc)()
		h := b.spoken(0, "")
		settle()
		b.spoken(h.ID, " majeure")
		settle()
		if got := b.net.to("french.example"); len(got) != 2 || !strings.Contains(got[1].body, "inondation majeure") {
			t.Errorf("in French: %v", got)
		}
		if got := b.net.to("english.example"); len(got) != 1 {
			t.Errorf("in English: %v", got)
		}
	})
}
