package fuse_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/hazardd/hazardd/internal/ingest/fuse"
	"github.com/hazardd/hazardd/internal/ingest/sources/cap"
)

// An authority publishes each alert in two feeds, each with its own language and identifier. That
// is one hazard with both texts, in whatever order they come. Other alerts stay separate.
func TestTwoFeedsInTwoLanguagesMakeOneHazard(t *testing.T) {
	coded := func(alert, code string) string {
		return strings.Replace(alert, "<onset>", "<eventCode><valueName>profile</valueName><value>"+code+"</value></eventCode><onset>", 1)
	}
	french := strings.NewReplacer("<language>en<", "<language>fr<", "Flood Warning", "Inondation", "A District", "Un district", "<headline>Flood<", "<headline>Eau<")
	english := coded(capAlert("A-1", "Alert", "", "Severe", west), "flood")
	other := french.Replace(coded(capAlert("F-2", "Alert", "", "Severe", west), "flood"))
	elsewhere := french.Replace(coded(capAlert("F-3", "Alert", "", "Severe", east), "flood"))
	type issue struct{ feed, alert string }
	issues := []issue{{"en", english}, {"fr", other}, {"fr", elsewhere}}
	for _, order := range [][]int{{0, 1, 2}, {1, 0, 2}, {2, 1, 0}} {
		d := newDesk(t)
		for _, i := range order {
			cfg := cap.Config{Name: "xx-" + issues[i].feed, Spoken: issues[i].feed, Siblings: []string{"en", "fr"}}
			batch, err := cap.Parse(cfg, []byte(issues[i].alert), noon)
			if err != nil || len(batch.Rejects) > 0 {
				t.Fatal(err, batch.Rejects)
			}
			if _, err := d.intake.Apply(t.Context(), cfg.Name, batch, noon, fuse.Options{}); err != nil {
				t.Fatal(err)
			}
		}
		snap, err := d.store.Log.Snapshot(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, h := range snap.Hazards {
			got = append(got, strings.Join(slices.Sorted(slices.Values(h.Languages())), "+"))
		}
		if slices.Sort(got); !slices.Equal(got, []string{"en+fr", "fr"}) {
			t.Errorf("in the order %v: %q, want one hazard in both languages and one in French", order, got)
		}
	}
}
