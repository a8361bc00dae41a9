package deploy_test

import (
	"encoding/json"
	"net/http"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hazardd/hazardd/client"
	"github.com/hazardd/hazardd/internal/test"
	"github.com/hazardd/hazardd/internal/test/nginx"
)

// Behind deploy/nginx.conf many readers are answered from the cache, never after a hazard's end,
// and without data for members only. Members are answered by a node. For ten seconds one hazard
// ends per second; after that, none.
func TestNginxCachesForThePublicAlone(t *testing.T) {
	test.Seldom(t)
	nginx.Program(t)
	dir := filepath.Join(t.TempDir(), "data")
	n, wait := begin(t, "--data", dir, "--public", "map", "--public-rate", "0", "--public-requests", "0", "--trusted-proxies", "127.0.0.1")
	wait()
	command := func(stdin string, args ...string) string {
		out, errs, status := hazardd(t, stdin, nil, append(args, "--data", dir)...)
		if status != 0 {
			t.Fatalf("hazardd %s: %s", strings.Join(args, " "), errs)
		}
		return strings.TrimSpace(out)
	}
	org, _, _ := strings.Cut(command("", "org", "add", "RC", "--name", "Red Cross"), " ")
	command(password, "user", "add", "red", "--role", "editor", "--org", org, "--password-stdin")
	token := command("", "token", "red")
	front := nginx.Start(t, n.addr)
	const secret = "canary-4711"
	cl, err := client.New(front.URL, client.Options{Token: token, HTTPClient: front.Client(2)})
	if err != nil {
		t.Fatal(err)
	}
	await(t, "the user is known", func() bool {
		resp, _ := get(t, front.Client(2), front.URL+"/hazards/types", "Authorization", "Bearer "+token)
		return resp.StatusCode == http.StatusOK
	})
	lasting, err := cl.Editor().CreateHazard(t.Context(), flood("Flood - Old Harbour"))
	if err != nil {
		t.Fatal(err)
	}
	product := `{"title":"` + secret + `","product_Type":"TEXT_PRODUCT","data":"` + secret + `","security_Flag":"R"}`
	if resp, body, err := ask(t.Context(), front.Client(2), http.MethodPost, front.URL+"/hazards/"+lasting.UUID+"/products", product, "Authorization", "Bearer "+token, "Content-Type", "application/json"); err != nil || resp.StatusCode != http.StatusCreated {
		t.Fatal(err, string(body))
	}
	began := time.Now()
	hazards := test.Rounds(10, 3) // one ends each second
	ended := began.Add(time.Duration(hazards) * time.Second)
	reading := ended.Add(time.Duration(test.Rounds(8, 3)) * time.Second)
	for i := range hazards {
		body := `{"hazard_Name":"Short","type_ID":"FLOOD","severity_ID":"WARNING","latitude":1,"longitude":2,"autoexpire":"Y","end_Date":"` +
			strconv.FormatInt(began.Add(time.Duration(i+1)*time.Second).UnixMilli()+int64(i*97), 10) + `"}`
		if resp, text, err := ask(t.Context(), front.Client(2), http.MethodPost, front.URL+"/hazards", body, "Authorization", "Bearer "+token, "Content-Type", "application/json"); err != nil || resp.StatusCode != http.StatusCreated {
			t.Fatal(err, string(text))
		}
	}
	paths := []string{"/hazards/active", "/hazards/active?bbox=-10,-10,60,60", "/hazards?limit=50", "/hazards/" + lasting.UUID, "/hazards/" + lasting.UUID + "/products", "/h/" + lasting.UUID}
	type seen struct{ asked, cached, past, secrets int }
	var mu sync.Mutex
	var public seen
	var readers sync.WaitGroup
	for reader := range 4 {
		readers.Go(func() {
			hc := front.Client(1 + reader%2)
			for i := 0; time.Now().Before(reading); i++ {
				path := paths[i%len(paths)]
				asked := time.Now().UnixMilli()
				resp, body, err := ask(t.Context(), hc, http.MethodGet, front.URL+path, "")
				if err != nil || resp.StatusCode != http.StatusOK {
					t.Errorf("%s: %v %s", path, err, body)
					return
				}
				var list []struct {
					AutoExpire string `json:"autoexpire"`
					End        string `json:"end_Date"`
				}
				mu.Lock()
				public.asked++
				if resp.Header.Get(nginx.ServedBy) == "" {
					public.cached++
				}
				if strings.Contains(string(body), secret) {
					public.secrets++
				}
				if json.Unmarshal(body, &list) == nil && strings.HasPrefix(path, "/hazards/active") {
					for _, h := range list {
						if end, _ := strconv.ParseInt(h.End, 10, 64); h.AutoExpire == "Y" && end <= asked {
							public.past++
						}
					}
				}
				mu.Unlock()
				time.Sleep(5 * time.Millisecond)
			}
		})
	}
	members := 0
	for time.Now().Before(reading) {
		resp, body := get(t, front.Client(2), front.URL+"/hazards/"+lasting.UUID+"/products", "Authorization", "Bearer "+token)
		if resp.StatusCode != http.StatusOK || !strings.Contains(string(body), secret) || resp.Header.Get(nginx.ServedBy) == "" {
			t.Fatalf("a member: %d %s %s", resp.StatusCode, resp.Header, body)
		}
		members++
		time.Sleep(100 * time.Millisecond)
	}
	readers.Wait()
	t.Logf("%+v; %d of a member", public, members)
	if public.past > 0 || public.secrets > 0 {
		t.Errorf("%d hazards past their end, %d secrets", public.past, public.secrets)
	}
	if public.cached == 0 { // bench/public measures how many: it depends on the load of the machine
		t.Errorf("none of %d answers came from the cache", public.asked)
	}
}
