package message

import (
	"encoding/json"
	"errors"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/google/uuid"

	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/lang/words"
)

var noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// flood returns a message about a flood 12 km from the reader's home.
func flood(t *testing.T, change func(n *Notice, h *hazard.Hazard)) *Notice {
	t.Helper()
	zone, err := time.LoadLocation("Europe/Paris")
	if err != nil {
		t.Fatal(err)
	}
	km, people := 12.4, int64(48_213)
	h := hazard.Hazard{ID: 7, UUID: uuid.MustParse("0190a3c8-7b1e-7000-8000-000000000007"), Name: "Flood Warning: Skagit River", Type: hazard.Flood, Severity: hazard.Warning,
		Category: hazard.Event, Status: hazard.Active, AutoExpire: true, Start: hazard.At(noon.Add(-time.Hour)), End: hazard.At(noon.Add(20 * time.Hour)), EndGiven: true, Longitude: -122.3, Latitude: 48.4,
		Description: "The river rises above its banks.\n\nMove to higher ground now.", Source: "nws",
		Texts: []hazard.Text{{Language: "en-US", Own: true, Name: "Flood Warning: Skagit River", Description: "The river rises above its banks.", Instruction: "Move to higher ground now.",
			Responses: []string{"Evacuate"}, Sender: "NWS Seattle WA"},
			{Language: "ar", Name: "تحذير من فيضان: نهر سكاجيت", Description: "النهر يفيض.", Instruction: "انتقلوا إلى أرض مرتفعة الآن.", Sender: "NWS Seattle WA"}}}
	n := &Notice{ID: "m1", Thread: "t1", Kind: First, At: noon, Name: "Home", Zone: zone, Link: "https://example.org/h/7", Manage: "https://example.org/subscriptions/1", Unsubscribe: "https://example.org/unsubscribe/x",
		Items: []Item{{Place: "Home", DistanceKM: &km, People: &people, Link: "https://example.org/h/7"}}}
	if change != nil {
		change(n, &h)
	}
	n.Items[0].Hazard = h
	return n
}

func TestAMessageSaysWhatWhereHowBadWhoAndWhatToDo(t *testing.T) {
	text := flood(t, nil).Text()
	for _, want := range []string{"Flood warning until Sunday 00:00 for Skagit River, Washington.\n", "Warning · Flood", "Where: 12 km from Home", "Reported by: NWS Seattle WA", "Until: 22 Nov 2026, 09:00 CET (08:00 UTC)",
		"Began: 21 Nov 2026, 12:00 CET (11:00 UTC)", "about 48,000", "What to do\nLeave the area\n\nMove to higher ground now.", "The river rises above its banks.", "https://example.org/h/7",
		"Stop these messages: https://example.org/unsubscribe/x", "subscription “Home”"} {
		if !strings.Contains(text, want) {
			t.Errorf("without %q:\n%s", want, text)
		}
	}
	if n := strings.Count(text, "Move to higher ground"); n != 1 {
		t.Errorf("the instruction appears %d times", n)
	}
}

// Every form says who warns: the organization, and not the login of its editor.
func TestAMessageOfAnEditorSaysWhoWarns(t *testing.T) {
	for _, kind := range []Kind{First, Changed, Ended, Withdrawn, Correction} {
		n := flood(t, func(n *Notice, h *hazard.Hazard) {
			n.Kind, n.Items[0].Authority = kind, "Red Cross of Skagit"
			h.Source, h.Creator, h.Texts = "", "ann.login", nil
		})
		m, err := n.Mail()
		if err != nil {
			t.Fatal(err)
		}
		for form, text := range map[string]string{"text": m.Text, "HTML": m.HTML, "SMS": n.Line(160), "chat": n.Line(300), "push": n.Push().Body, "template": n.View().Items[0].Authority} {
			if !strings.Contains(text, "Red Cross of Skagit") || strings.Contains(text, "ann.login") {
				t.Errorf("%s of kind %s: %s", form, kind, text)
			}
		}
	}
}

func TestTheSubjectSaysWhyItComes(t *testing.T) {
	for want, change := range map[string]func(*Notice, *hazard.Hazard){
		"Flood warning until Sunday 00:00 for Skagit River, Washington · 12 km from Home":         nil,
		"Update: flood warning until Sunday 00:00 for Skagit River, Washington · 12 km from Home": func(n *Notice, _ *hazard.Hazard) { n.Kind = Changed },
		"Ended: flood warning for Skagit River, Washington": func(n *Notice, h *hazard.Hazard) {
			n.Kind, h.Status, h.Reason = Ended, hazard.Expired, hazard.EndExpired
		},
		"Withdrawn: flood warning for Skagit River, Washington": func(n *Notice, h *hazard.Hazard) {
			n.Kind, h.Status, h.Reason = Withdrawn, hazard.Expired, hazard.EndCancelled
		},
		"EXERCISE: Late: flood warning until Sunday 00:00 for Skagit River, Washington · Home is in the area": func(n *Notice, h *hazard.Hazard) {
			h.Category, n.Late, n.Items[0].DistanceKM = hazard.Exercise, 3*time.Hour, new(0.0)
		},
		"3 hazards concern your places": func(n *Notice, _ *hazard.Hazard) { n.Kind, n.More = Summary, 2 },
		"Confirm your address":          func(n *Notice, _ *hazard.Hazard) { n.Kind = Confirm },
		"A decision waits for you: EXERCISE: Flood in Ada": func(n *Notice, _ *hazard.Hazard) {
			n.Kind, n.Drafts = Drafts, []Draft{{Name: "Mine", Mine: true}, {Name: "Flood in Ada", Exercise: true, Author: "ann"}}
		},
		"2 decisions wait for you": func(n *Notice, _ *hazard.Hazard) { n.Kind, n.Drafts = Drafts, make([]Draft, 2) },
		"Your draft lapses soon: Flood": func(n *Notice, _ *hazard.Hazard) {
			n.Kind, n.Drafts = Drafts, []Draft{{Mine: true, Type: hazard.Flood}}
		},
		"Your draft was approved: EXERCISE: Flood in Ada": func(n *Notice, _ *hazard.Hazard) {
			n.Kind, n.Drafts = Drafts, []Draft{{Name: "Flood in Ada", Exercise: true, Mine: true, By: "bob", Outcome: Approved}}
		},
		"Your draft was refused: Flood": func(n *Notice, _ *hazard.Hazard) {
			n.Kind, n.Drafts = Drafts, []Draft{{Mine: true, Type: hazard.Flood, By: "bob", Reason: "no", Outcome: Refused}}
		},
		"Your draft lapsed: Flood": func(n *Notice, _ *hazard.Hazard) {
			n.Kind, n.Drafts = Drafts, []Draft{{Mine: true, Type: hazard.Flood, Outcome: Lapsed}}
		},
		"2 of your drafts wait no more": func(n *Notice, _ *hazard.Hazard) {
			n.Kind, n.Drafts = Drafts, []Draft{{Mine: true, Outcome: Lapsed}, {Mine: true, Outcome: Refused}}
		},
	} {
		n := flood(t, change)
		if n.Kind == Confirm || n.Kind == Drafts {
			n.Items = nil
		}
		if got := n.write().subject; got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestLaterMessagesSayWhatChangedAndEndsSayWhy(t *testing.T) {
	text := flood(t, func(n *Notice, h *hazard.Hazard) {
		n.Kind = Changed
		n.Items[0].Changed = []Change{{"severity", "WATCH", "WARNING"}, {"area", "outside", "inside"}, {"end", "", "2026-11-22T08:00:00Z"}, {"magnitude", "6.1", "6.8"}, {"people", "100", "48213"},
			{"no such thing", "a", "b"}, {"instruction", "", ""}, {"wind_kmh", "1e9", "NaN"}, {"status", "E", "A"}, {"status", "E", "?"}}
	}).Text()
	for _, want := range []string{"What changed\n- Severity: Warning (before: Watch)\n- It now reaches your place.\n- End: 22 Nov 2026, 09:00 CET (08:00 UTC)\n- Magnitude: 6.8 (before: 6.1)\n- People in the area: about 48,000 (before: about 100)\n- What to do has changed.\n- Wind has changed\n- Status: active (before: ended)\n- Status has changed\n"} {
		if !strings.Contains(text, want) {
			t.Errorf("without %q:\n%s", want, text)
		}
	}
	text = flood(t, func(n *Notice, h *hazard.Hazard) {
		n.Kind, h.Status, h.Reason, h.Note = Withdrawn, hazard.Expired, hazard.EndRetracted, "Sent by mistake during a test."
	}).Text()
	if !strings.Contains(text, "Ended: Flood Warning, Skagit River, Washington. Sent by mistake during a test.\nIt was a false report, and has been taken back.\n") || strings.Contains(text, "Move to higher ground") {
		t.Errorf("%s", text)
	}
}

// TestWhatIsOverDoesNotLookActive checks that an ended hazard shows neither its level nor the
// level's color, in any form.
func TestWhatIsOverDoesNotLookActive(t *testing.T) {
	for _, kind := range []Kind{Ended, Withdrawn, Summary, Digest} {
		n := flood(t, func(n *Notice, h *hazard.Hazard) {
			n.Kind, h.Status, h.Reason, h.Name = kind, hazard.Expired, hazard.EndAllClear, "Flood - Skagit River"
			h.Texts[0].Name = h.Name
		})
		m, err := n.Mail()
		if err != nil {
			t.Fatal(err)
		}
		for form, text := range map[string]string{"subject": m.Subject, "text": m.Text, "HTML": m.HTML, "short": n.Line(300), "push": n.Push().Title + n.Push().Body} {
			if strings.Contains(text, "Warning") || strings.Contains(text, "#c80000") || strings.Contains(text, "Move to") {
				t.Errorf("%s, %s: %s", kind, form, text)
			}
		}
		if !strings.Contains(m.Text, "Ended: Flood for Skagit River") || !strings.Contains(m.HTML, ">Ended</span>") || n.Urgency() != hazard.NoSeverity {
			t.Errorf("%s does not say that it has ended: %s", kind, m.Text)
		}
	}
}

// TestADrillIsUnmistakable checks every language, form and kind: the drill is mentioned first.
func TestADrillIsUnmistakable(t *testing.T) {
	for _, l := range words.All() {
		for _, kind := range []Kind{First, Changed, Ended, Withdrawn, Correction, Summary, Digest} {
			n := flood(t, func(n *Notice, h *hazard.Hazard) {
				n.Kind, n.Language, h.Category = kind, []string{l.ID}, hazard.Exercise
			})
			mark := strings.TrimSpace(strings.Split(l.Say("notice.drill", "text", "|"), "|")[0])
			first := l.Say("notice.drillText")
			m, err := n.Mail()
			if err != nil {
				t.Fatal(err)
			}
			body := m.HTML[strings.Index(m.HTML, "<body"):]
			body = strings.TrimSpace(regexp.MustCompile(`<[^>]*>`).ReplaceAllString(body, ""))
			p := n.Push()
			for form, text := range map[string]string{"subject": n.write().subject, "short": n.Line(160), "push": p.Title} {
				if !strings.HasPrefix(text, mark) {
					t.Errorf("%s %s: %s %q does not begin with %q", l.ID, kind, form, text, mark)
				}
			}
			for form, text := range map[string]string{"text": n.Text(), "HTML": body, "push": p.Body} {
				if !strings.HasPrefix(text, first) {
					t.Errorf("%s %s: %s %.80q does not begin with %q", l.ID, kind, form, text, first)
				}
			}
			if n.Urgency() != hazard.NoSeverity {
				t.Error("a drill is urgent")
			}
		}
	}
	// A summary with some drills marks each of them.
	n := flood(t, func(n *Notice, _ *hazard.Hazard) { n.Kind = Summary })
	drill := flood(t, func(_ *Notice, h *hazard.Hazard) { h.Category = hazard.Exercise })
	n.Items = append(n.Items, drill.Items...)
	if text := n.Text(); strings.Count(text, "EXERCISE: Flood") != 1 || strings.HasPrefix(text, "EXERCISE") {
		t.Errorf("%s", text)
	}
}

func TestAMessageIsInTheReadersLanguage(t *testing.T) {
	const outcomes = "outcomes"
	for _, l := range words.All() {
		for _, o := range []Outcome{Approved, Refused, Lapsed} {
			n := Notice{Kind: Drafts, Language: []string{l.ID}, Drafts: []Draft{{Name: "Flood", Mine: true, Outcome: o}}}
			if subject := n.write().subject; strings.Contains(subject, "notice.") || !strings.Contains(subject, "Flood") {
				t.Errorf("%s: %s", l.ID, subject)
			}
		}
		for _, kind := range []Kind{First, Changed, Ended, Withdrawn, Correction, Summary, Digest, Confirm, Drafts, outcomes, Test} {
			n := flood(t, func(n *Notice, h *hazard.Hazard) {
				n.Kind, n.Language, n.Late, n.More = kind, []string{l.ID, "en"}, 3*time.Hour, 3
				n.Items[0].Changed = []Change{{"severity", "WATCH", "WARNING"}, {"magnitude", "", "6.8"}, {"area", "", "near"}, {"distance", "20", "12"}}
				if kind == Drafts {
					n.Late, n.Drafts = 0, []Draft{{Name: "Flood", Severity: hazard.Warning, Author: "ann", People: new(int64(1200)), Left: time.Hour}, {Type: hazard.Flood, Severity: hazard.Warning, Mine: true, Exercise: true}}
				}
				if kind == outcomes {
					n.Kind, n.Late, n.Drafts = Drafts, 0, []Draft{{Name: "Flood", By: "bob", Outcome: Approved}, {Name: "Flood", By: "bob", Reason: "no", Outcome: Refused}, {Type: hazard.Flood, Outcome: Lapsed}}
				}
			})
			if n.Kind == Drafts {
				n.Items = nil
			}
			m, err := n.Mail()
			if err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(m.HTML, `<html lang="`+l.ID+`" dir="`+l.Dir+`">`) || m.Language != l.ID {
				t.Errorf("%s %s: %.80s", l.ID, kind, m.HTML)
			}
			for form, text := range map[string]string{"text": m.Text, "HTML": m.HTML, "subject": m.Subject, "short": n.Line(300)} {
				if strings.Contains(text, "notice.") || regexp.MustCompile(`\{\w+\}|\b(field_|measure_|why)[A-Za-z]`).MatchString(text) {
					t.Errorf("%s %s, %s: words are missing: %s", l.ID, kind, form, text)
				}
				if open, shut := strings.Count(text, "\u2068"), strings.Count(text, "\u2069"); open != shut {
					t.Errorf("%s %s, %s: %d isolates open and %d close", l.ID, kind, form, open, shut)
				}
			}
		}
	}
	arabic := flood(t, func(n *Notice, _ *hazard.Hazard) { n.Language = []string{"ar-EG"} }).Text()
	if !strings.Contains(arabic, "انتقلوا إلى أرض مرتفعة الآن") || strings.Contains(arabic, "Move to higher ground") || strings.Contains(arabic, "What to do") {
		t.Errorf("%s", arabic)
	}
}

// hostile are texts that try to break out of their context.
var hostile = []string{"\r\nBcc: all@example.org\r\n\r\nbody", "<script>alert(1)</script><img src=x onerror=alert(1)>", "\u202egnikcart\u2066x\u2069\u2069\u2069", "}} {{.Secret}} ${HOME}",
	"a\x00b\x1b[31m\u0007", strings.Repeat("A very long word ", 15_000), "\xff\xfe broken", "\"quoted\\\" \\n", "--\n.\n\nQUIT\n"}

func TestHostileTextsStayText(t *testing.T) {
	for _, evil := range hostile {
		for _, lang := range []string{"en", "ar"} {
			for _, kind := range []Kind{First, Withdrawn, Summary, Confirm, Drafts} {
				checkHostile(t, evil, lang, kind)
			}
		}
	}
}

func FuzzMessages(f *testing.F) {
	for _, evil := range hostile {
		f.Add(evil, "ar", "first")
	}
	f.Fuzz(func(t *testing.T, evil, lang, kind string) { checkHostile(t, evil, lang, Kind(kind)) })
}

func checkHostile(t *testing.T, evil, lang string, kind Kind) {
	t.Helper()
	n := flood(t, func(n *Notice, h *hazard.Hazard) {
		n.Kind, n.Name, n.Language, n.ID, n.Thread = kind, evil, []string{lang}, evil, evil
		n.Manage, n.Unsubscribe, n.Link = evil, "https://example.org/"+evil, "javascript:"+evil
		h.Name, h.Description, h.Note, h.Source = evil, evil, evil, evil
		h.Texts = []hazard.Text{{Language: "en", Own: true, Name: evil, Description: evil, Instruction: evil, Sender: evil, Responses: []string{evil}}}
		n.Drafts = []Draft{{Name: evil, Author: evil, Type: hazard.Type(evil)}, {Name: evil, By: evil, Reason: evil, Outcome: Refused}}
		n.Items[0].Place, n.Items[0].Reason, n.Items[0].Authority, n.Items[0].Link = evil, evil, evil, "https://example.org/"+evil
		n.Items[0].Changed = []Change{{"name", evil, evil}, {evil, evil, evil}, {"end", evil, evil}, {"people", evil, evil}}
	})
	m, err := n.Mail()
	if err != nil {
		t.Fatal(err)
	}
	short, push := n.Line(160), n.Push()
	oneLine := map[string]string{"subject": m.Subject, "short": short, "title": push.Title}
	for form, text := range oneLine {
		if strings.ContainsFunc(text, func(r rune) bool { return unicode.IsControl(r) || r == '\u2028' || r == '\u2029' }) {
			t.Errorf("%s has more than a line: %.200q", form, text)
		}
		if utf8.RuneCountInString(text) > 200 {
			t.Errorf("%s has %d characters", form, utf8.RuneCountInString(text))
		}
	}
	p, err := json.Marshal(push)
	if err != nil {
		t.Fatal(err)
	}
	for form, text := range map[string]string{"subject": m.Subject, "text": m.Text, "HTML": m.HTML, "short": short, "push": string(p)} {
		if !utf8.ValidString(text) {
			t.Errorf("%s is no UTF-8", form)
		}
		if open, shut := strings.Count(text, "\u2068"), strings.Count(text, "\u2069"); open != shut {
			t.Errorf("%s: %d isolates open and %d close: %.300q", form, open, shut, text)
		}
		if strings.ContainsFunc(text, func(r rune) bool {
			return r >= '\u202a' && r <= '\u202e' || r == '\u2066' || r == '\u2067' || r == 0x1b || r == 0
		}) {
			t.Errorf("%s contains an override or a control character", form)
		}
		if len(text) > 200_000 {
			t.Errorf("%s has %d bytes", form, len(text))
		}
	}
	if len(p) > 3_500 {
		t.Errorf("a push message of %d bytes", len(p))
	}
	allowed := regexp.MustCompile(`(?i)<(script|iframe|svg|style|form|link)|<[^>]*\son\w+=|javascript:`)
	tags := regexp.MustCompile(`<[^>]*>`).FindAllString(m.HTML, -1)
	for _, tag := range tags {
		if allowed.MatchString(tag) {
			t.Errorf("HTML holds %.200q", tag)
		}
	}
}

func TestAShortMessageKeepsItsLinkWhole(t *testing.T) {
	n := flood(t, nil)
	for _, limit := range []int{90, 100, 160, 300} {
		s := n.Line(limit)
		if utf8.RuneCountInString(s) > limit || !strings.HasSuffix(s, " https://example.org/h/7") || !strings.HasPrefix(s, "Flood warning until Sunday 00:00 for Skagit River, Washington") {
			t.Errorf("%d: %q", limit, s)
		}
	}
	for _, limit := range []int{30, 80} { // the first sentence is worth more than the link
		if s := n.Line(limit); strings.Contains(s, "https") || utf8.RuneCountInString(s) > limit {
			t.Errorf("%d: %q", limit, s)
		}
	}
}

func TestAPictureThatCannotBeDrawnIsLeftOut(t *testing.T) {
	n := flood(t, func(n *Notice, _ *hazard.Hazard) {
		n.Items[0].Picture = func(int) ([]byte, error) { return nil, errors.New("no ground") }
	})
	if m, err := n.Mail(); err != nil || len(m.Pictures) != 0 || strings.Contains(m.HTML, "<img") {
		t.Errorf("%v, %d pictures", err, len(m.Pictures))
	}
	n.Items[0].Picture = func(width int) ([]byte, error) { return []byte("\x89PNG"), nil }
	if m, err := n.Mail(); err != nil || len(m.Pictures) != 1 || !strings.Contains(m.HTML, `<img src="cid:map-0"`) {
		t.Errorf("%v, %+v", err, m)
	}
}

// TestMessagesSayWhatThereAreWordsFor compares the keys in the code with the files of words: no key
// is missing, and none is unused.
func TestMessagesSayWhatThereAreWordsFor(t *testing.T) {
	var all strings.Builder
	for _, name := range []string{"write.go", "text.go", "mail.go", "mail.html"} {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		all.Write(text)
	}
	for _, key := range words.English().Keys() {
		if k, ok := strings.CutPrefix(key, "notice."); ok && !strings.HasPrefix(k, "measure_") && !strings.Contains(all.String(), `"`+k+`"`) {
			t.Errorf("nothing says %q", k)
		}
	}
	for _, q := range hazard.Quantities() {
		for _, l := range words.All() {
			if !l.Knows("notice.measure_" + string(q.Name)) {
				t.Errorf("%s has no words for %s", l.ID, q.Name)
			}
		}
	}
}
