package subscription

import (
	"strings"
	"testing"
	"time"

	"github.com/hazardd/hazardd/internal/atlas/asset"
	"github.com/hazardd/hazardd/internal/auth"
	"github.com/hazardd/hazardd/internal/geo"
	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/tell"
)

// load replaces the assets of the organization RED.
func (b *bed) load(list ...asset.Asset) {
	b.t.Helper()
	clock := hazard.ClockFunc(func() hazard.Instant { return now() })
	_, err := b.store.Assets.Load(b.t.Context(), 7, clock, func(each func(*asset.Asset) error) error {
		for i := range list {
			list[i].N = int64(i + 1)
			if err := each(&list[i]); err != nil {
				return err
			}
		}
		return nil
	}, &auth.Audit{At: now(), Actor: "ann", Action: auth.ActionAssets, OK: true})
	if err != nil {
		b.t.Fatal(err)
	}
}

func TestMembersAreToldWhatReachesTheAssetsOfTheirOrganization(t *testing.T) {
	bubble(t, func(t *testing.T, b *bed) {
		within := func(host, km string) string {
			return `"where":{"assets":{"organization":"RED","within_km":` + km + `}},"channels":[{"kind":"http","to":"https://` + host + `/x"}]`
		}
		b.load(asset.Asset{Name: "Clinic", Lon: -71.06, Lat: 42.46}, asset.Asset{Name: "Depot", Lon: 10, Lat: 50}) // 11 km north of the flood, and far away
		near := b.subscribe("ann", within("near.example", "15"))
		b.subscribe("ann", within("inside.example", "0"))
		defer b.run(b.svc)()
		settle(time.Second)
		h := b.flood()
		settle(2 * time.Second)
		b.want("https://near.example/x", "first")
		b.want("https://inside.example/x")
		if i := b.net.to("https://near.example/x")[0].n.Items[0]; i.Place != "Clinic" || i.DistanceKM == nil || *i.DistanceKM != 11.1 {
			t.Errorf("the place is %q at %v km", i.Place, i.DistanceKM)
		}
		if n, err := b.svc.Reach(t.Context(), h, nil); err != nil || n != 1 {
			t.Errorf("it would reach %d, %v; want 1", n, err)
		}

		// Assets are followed: newly loaded ones count from the next change of the hazard.
		square := geo.Box{West: -71.1, South: 42.3, East: -71, North: 42.4}.Shape()
		b.load(asset.Asset{Name: "Camp", Lon: -71.05, Lat: 42.35, Area: square})
		b.save(h.ID, severity_(hazard.Warning))
		settle(2 * time.Second)
		b.want("https://near.example/x", "first", "changed severity WATCH>WARNING")
		b.want("https://inside.example/x", "first")
		if err := b.store.Assets.Remove(t.Context(), 7, &auth.Audit{At: now(), Actor: "ann", Action: auth.ActionNoAssets, OK: true}); err != nil {
			t.Fatal(err)
		}
		b.save(h.ID, severity_(hazard.Watch))
		settle(2 * time.Second)
		b.want("https://inside.example/x", "first", "changed severity WARNING>WATCH area inside>outside")
		b.flood()
		settle(2 * time.Second)
		b.want("https://inside.example/x", "first", "changed severity WARNING>WATCH area inside>outside")

		// A former member is not notified of other hazards, but still of the end of those already
		// notified.
		b.load(asset.Asset{Name: "Clinic", Lon: -71.06, Lat: 42.36})
		b.members["ann"] = nil
		b.flood()
		b.save(h.ID, over(hazard.EndAllClear))
		settle(2 * time.Second)
		b.want("https://inside.example/x", "first", "changed severity WARNING>WATCH area inside>outside", "ended")
		// A deleted subscription leaves nothing in the index.
		if err := b.svc.Delete(t.Context(), b.author("ann"), near.ID, now()); err != nil {
			t.Fatal(err)
		}
		b.flood()
		settle(2 * time.Second)
		if n := len(b.svc.index.assets); n != 1 {
			t.Errorf("%d assets in the index, want those of one subscription", n)
		}
	})
}

func TestAssetsAreForMembersAlone(t *testing.T) {
	b := newBed(t, ground{})
	for user, body := range map[string]string{
		"rea": `{"where":{"assets":{"organization":"RED","within_km":5}},"channels":[{"kind":"http","to":"https://a.example/x"}]}`, // not a member
		"ann": `{"where":{"assets":{"organization":"BLUE","within_km":5}},"channels":[{"kind":"http","to":"https://a.example/x"}]}`,
	} {
		if _, err := b.svc.Create(t.Context(), b.author(user), []byte(body), now()); err == nil || !strings.Contains(err.Error(), "where/assets/organization") {
			t.Errorf("%s: %v", user, err)
		}
	}
	far := `{"where":{"assets":{"organization":"RED","within_km":301}},"channels":[{"kind":"http","to":"https://a.example/x"}]}`
	if _, err := b.svc.Create(t.Context(), b.author("ann"), []byte(far), now()); err == nil || !strings.Contains(err.Error(), "where/assets/within_km: 301 is not from 0 to 300") {
		t.Error(err)
	}
	if _, err := b.svc.Create(t.Context(), tell.Author{}, []byte(`{"where":{"assets":{"organization":"RED","within_km":5}},"channels":[{"kind":"email","to":"a@example.org"}]}`), now()); err == nil ||
		!strings.Contains(err.Error(), "where/assets/organization") {
		t.Error(err)
	}
}
