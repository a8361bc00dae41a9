package app

import (
	"fmt"
	"strings"
	"testing"

	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/ingest/fuse"
	"github.com/hazardd/hazardd/internal/ingest/sources/cap"
	"github.com/hazardd/hazardd/internal/ingest/sources/vaac"
	"github.com/hazardd/hazardd/internal/test/recordings"
)

// A gale of MET Norway that is cancelled keeps its start and its language.
func TestACancelledGaleKeepsItsStartAndItsLanguage(t *testing.T) {
	info := func(language, event, extra string) string {
		return "<info><language>" + language + "</language><category>Met</category><event>" + event + "</event>" + extra +
			"<urgency>Future</urgency><certainty>Likely</certainty><onset>2026-11-21T12:00:00+00:00</onset><expires>2026-11-21T23:00:00+00:00</expires>" +
			"<senderName>MET</senderName><headline>" + event + "</headline>" +
			"<area><areaDesc>Fisker</areaDesc><polygon>60,5 61,5 61,6 60,5</polygon></area></info>"
	}
	alert := func(id, sent, kind, references, extra string) string {
		return `<alert xmlns="urn:oasis:names:tc:emergency:cap:1.2"><identifier>` + id + `</identifier><sender>noreply@met.no</sender><sent>` + sent + `</sent><status>Actual</status><msgType>` +
			kind + `</msgType><scope>Public</scope>` + references + info("no", "Kuling", extra) + info("en-GB", "Gale", extra) + `</alert>`
	}
	yellow := "<severity>Moderate</severity><parameter><valueName>awareness_level</valueName><value>2; yellow; Moderate</value></parameter>"
	gone := "<responseType>None</responseType><severity>Minor</severity>"
	first := alert("2.49.0.1.578.0.1", "2026-11-21T10:00:00+00:00", "Alert", "", yellow)
	turned := func(s string) string { // English first
		i, j := strings.Index(s, "<info>"), strings.LastIndex(s, "<info>")
		return s[:i] + strings.TrimSuffix(s[j:], "</alert>") + s[i:j] + "</alert>"
	}
	cancel := alert("2.49.0.1.578.0.2", "2026-11-21T10:30:00+00:00", "Cancel", "<references>noreply@met.no,2.49.0.1.578.0.1,2026-11-21T10:00:00+00:00</references>", gone)
	for name, last := range map[string]string{
		"a Cancel, English first":       turned(cancel),
		"a Cancel, whose blocks differ": turned(strings.Replace(cancel, "<event>Gale</event>", "<event>Gale</event><responseType>Monitor</responseType>", 1)),
		"a Cancel":                      cancel,
		"an Update, all clear":          alert("2.49.0.1.578.0.2", "2026-11-21T10:30:00+00:00", "Update", "<references>noreply@met.no,2.49.0.1.578.0.1,2026-11-21T10:00:00+00:00</references>", strings.Replace(gone, "None", "AllClear", 1)),
	} {
		t.Run(name, func(t *testing.T) {
			r := newPracticeRun(t)
			r.take(cap.Practice{}, first)
			before := r.hazards()[0]
			r.take(cap.Practice{}, last)
			all := r.hazards()
			if len(all) != 1 {
				t.Fatalf("%d hazards", len(all))
			}
			h := all[0]
			if own := h.OwnText(); h.Status == hazard.Active || h.Start != before.Start || h.Name != before.Name || own == nil || own.Language != before.OwnText().Language {
				t.Errorf("%s %q from %v in %+v; it was %q from %v in %s", h.Status, h.Name, h.Start, own, before.Name, before.Start, before.OwnText().Language)
			}
		})
	}
}

// The last of three advisories says that there will be none: the ash began with the first.
func TestAshBeginsWithTheFirstAdvisory(t *testing.T) {
	r := newPracticeRun(t)
	for _, name := range []string{"220841", "230214", "230800"} {
		payload := recordings.Read(t, fmt.Sprintf("feeds/vaac/KNES-%s-201802.txt", name))
		batch, err := vaac.Parse(payload, r.now)
		if err == nil {
			_, err = r.in.Apply(t.Context(), vaac.Name, batch, r.now, fuse.Options{History: true})
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, h := range r.hazards() {
		t.Log(h.Name, h.Start, h.End)
		if h.Start == h.End {
			t.Errorf("%s begins and ends at %v", h.Name, h.Start)
		}
	}
}
