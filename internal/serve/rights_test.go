package serve_test

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/hazardd/hazardd/internal/app"
	"github.com/hazardd/hazardd/internal/auth"
	"github.com/hazardd/hazardd/internal/serve/route"
	"github.com/hazardd/hazardd/internal/test"
	"github.com/hazardd/hazardd/internal/test/server"
)

// rightsCallers are the columns of testdata/rights.txt: no account, no account on a public server,
// a read key of red's editor, and each role in the organization red, which owns the objects, in the
// organization fire, and in none; and services that read, that read metrics, and that write for red
// and for fire, and that watch drafts.
var rightsCallers = []string{"", "public", "key", "red-reader", "red", "red-admin", "fire-reader", "fire", "fire-admin", "reader", "editor", "root",
	"service-read", "service-metrics", "service-red", "service-fire", "service-drafts"}

// rightsElsewhere are the operations that need no token, or whose rights other tests check.
var rightsElsewhere = map[string]string{
	"POST /authorize": "login", "POST /authorize/refresh": "its own token", "POST /authorize/revoke": "its own token", "GET /.well-known/jwks.json": "public",
	"GET /key/{key}/{path}": "the column key", "POST /key/{key}/mcp": "the column key", "POST /key/{key}/arcgis/rest/services/hazards/FeatureServer/{layer-id}/query": "TestAQueryMayComeAsAForm", "GET /events": "TestWhatAReaderMayNotKnowOfIsNotInTheStream", "POST /account/password": "account tests",
	"DELETE /account/sessions/{session-id}": "account tests", "GET /account/sessions": "account tests", "GET /account": "account tests", "PATCH /account": "account tests", "POST /account/factors": "account tests",
	"GET /icons/hazard/large/{type_icon}": "public", "GET /symbols/{type_id}/{category_id}/{severity_id}.svg": "public", "GET /symbols/{type_id}/{category_id}/{severity_id}.png": "public",
	"GET /": "public", "GET /assets/{file}": "public", "GET /favicon.ico": "public", "GET /robots.txt": "public", "GET /.well-known/security.txt": "public", "GET /embed": "public tests", "GET /pages/{style}": "public", "GET /docs": "public", "GET /login": "public", "POST /login": "login", "POST /logout": "the cookie",
	"GET /login/methods": "public", "GET /login/provider": "provider tests", "GET /login/callback": "provider tests", "POST /login/tokens": "its own cookie", "POST /login/passkey": "passkey tests", "POST /login/passkey/options": "passkey tests", "GET /account/factors": "account tests", "PATCH /account/factors/{passkey-id}": "account tests", "POST /login/ended": "its own token",
	"POST /session": "page tests", "DELETE /session": "page tests", "GET /openapi.json": "public", "GET /asyncapi.json": "public", "GET /healthz": "public", "GET /readyz": "public", "GET /metrics": "metrics tests",
	"GET /subscriptions/confirm": "the link's token", "POST /subscriptions/confirm": "the link's token", "GET /subscriptions/unsubscribe": "the link's token", "POST /subscriptions/unsubscribe": "the link's token",
	"GET /subscriptions/manage": "the link's token", "POST /subscriptions/manage": "the link's token", "GET /subscriptions/change": "the link's token", "POST /subscriptions/change": "the link's token",
	"GET /status": "page tests", "GET /h/{hazard-id}": "page tests", "GET /h/{hazard-id}/map.svg": "page tests", "GET /h/{hazard-id}/brief": "page tests", "GET /h/{hazard-id}/hazard.json": "page tests", "GET /h/{hazard-id}/changes.json": "page tests",
	"GET /h/{hazard-id}/area.geojson": "page tests", "GET /h/{hazard-id}/products/{product-id}/file": "page tests", "GET /h/{hazard-id}/products/{product-id}/picture": "page tests",
}

// rightsBodies are the bodies of writes.
var rightsBodies = map[string]string{
	"POST /hazards": `{"hazard_Name":"Flood","type_ID":"FLOOD","severity_ID":"WATCH","latitude":1,"longitude":2}`, "PATCH /hazards/{hazard-id}": `{"severity_ID":"WARNING"}`,
	"POST /hazards/{hazard-id}/retract": `{"reason":"r"}`, "POST /hazards/{hazard-id}/redact": `{"fields":["description"],"reason":"r"}`,
	"POST /hazards/{hazard-id}/products": `{"title":"Note","product_Type":"TEXT_PRODUCT","data":"d"}`, "PATCH /products/{product-id}": `{"title":"New"}`,
	"POST /products/{product-id}/redact": `{"fields":["title"],"reason":"r"}`, "POST /keys": `{"title":"k"}`, "POST /webhooks": `{"url":"https://example.org/hook","status":"paused"}`,
	"PATCH /webhooks/{webhook-id}": `{"status":"paused"}`, "POST /sources/{source-id}/held/{held-id}": `{"decision":"released"}`,
	"POST /hazards/{hazard-id}/split": `{"source":"usgs","event":"none"}`, "POST /hazards/{hazard-id}/confirm": `{"source":"usgs","event":"none"}`, "POST /hazards/{hazard-id}/undo": `{"change":1}`,
	"POST /joins/{join-id}": `{"verdict":"same"}`, "POST /drafts/{draft-id}/refuse": `{"reason":"r"}`, "POST /mcp": `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`,
	"PUT /organizations/{org}/publishing": `{"sender":"alerts@red.example.org"}`,
	"PUT /organizations/{org}/assets":     "name,lon,lat\nClinic,1,2\n",
	"POST /areas/read":                    `{"type":"Polygon","coordinates":[[[10,53],[11,53],[11,54],[10,53]]]}`,
	"PUT /factors":                        `{"required":[]}`,
	"PATCH /users/{user}":                 `{"disabled":true}`, "POST /users/{user}/password": `{}`,
	"POST /subscriptions": `{"channels":[{"kind":"webpush","to":"x"}]}`, "PATCH /subscriptions/{subscription-id}": `{"name":"n"}`,
}

// addCallers adds the users of each role that start has not: members of the organizations red and
// fire, and an editor of none.
func (w *world) addCallers() {
	w.t.Helper()
	for name, role := range map[string]auth.Role{"red-admin": auth.Admin, "fire-reader": auth.Reader, "fire-admin": auth.Admin, "editor": auth.Editor} {
		u := auth.NewUser{Name: name, Role: role, Password: server.Password}
		if strings.HasPrefix(name, "red") {
			u.Orgs = []int64{w.RedCross}
		} else if strings.HasPrefix(name, "fire") {
			u.Orgs = []int64{w.FireBrigade}
		}
		if err := w.Auth.Accounts().AddUser(w.t.Context(), actor, u, w.Now()); err != nil {
			w.t.Fatal(err)
		}
	}
}

// TestRightsOfEveryOperation calls every operation of the OpenAPI document for each caller, on
// objects of the organization red and of none, public and restricted. It compares the statuses with
// testdata/rights.txt. An operation without a row fails by its name. RIGHTS_WRITE=1 rewrites the
// table: read every changed line.
func TestRightsOfEveryOperation(t *testing.T) {
	test.NoRace(t)
	const table = "testdata/rights.txt"
	s := start(t)
	s.addCallers()
	var key struct{ Key string }
	if a := s.do("red", "POST", "/keys", `{"title":"k"}`); a.Status != 201 {
		t.Fatalf("%d %s", a.Status, a.Body)
	} else {
		a.JSON(t, &key)
	}
	for name, scope := range map[string]auth.Scope{"read": auth.ScopeRead, "metrics": auth.ScopeMetrics, "drafts": auth.ScopeDrafts, "red": serviceScope(s.RedCross), "fire": serviceScope(s.FireBrigade)} {
		_, text, err := s.Auth.CreateServiceToken(t.Context(), actor, name, "", scope, s.Now())
		if err != nil {
			t.Fatal(err)
		}
		s.tokens.byUser["service-"+name] = string(text)
	}
	public := start(t, func(c *app.Config) { c.Public = route.PublicRead })
	contract, err := server.Contract()
	if err != nil {
		t.Fatal(err)
	}
	var got strings.Builder
	kept := map[string]string{}
	answers := map[string][]string{} // by line: the answer for each caller, in case the table lacks it
	for _, op := range contract.Operations() {
		if rightsElsewhere[op] != "" {
			continue
		}
		objects := []string{""}
		switch {
		case strings.Contains(op, "{product-id}"):
			objects = []string{"open", "restricted"}
		case strings.Contains(op, "{hazard-id}"), strings.Contains(op, "{feature-id}"):
			objects = []string{"red's", "nobody's"}
		}
		for _, object := range objects {
			line := fmt.Sprintf("%-62s %-11s", op, object)
			var said []string
			for _, caller := range rightsCallers {
				w, who := s, caller
				if caller == "public" {
					w, who = public, ""
				}
				a := w.rights(who, key.Key, op, object, kept)
				line += fmt.Sprintf(" %3d", a.Status)
				said = append(said, fmt.Sprintf("%q: %d %.300s", caller, a.Status, a.Body))
			}
			answers[line] = said
			got.WriteString(line + "\n")
		}
	}
	head := fmt.Sprintf("%-62s %-11s", "operation", "object")
	for _, name := range []string{"-", "pub", "key", "rR", "rE", "rA", "fR", "fE", "fA", "nR", "nE", "nA", "sr", "sm", "sw", "sv", "sd"} {
		head += fmt.Sprintf(" %3s", name)
	}
	text := "# Status by caller: - nobody, pub nobody where the server is public, key a read key; reader (R), editor (E) and admin (A) of red (r), the owner, of fire (f), of none (n); services that read (sr), read metrics (sm), write for red (sw) and for fire (sv), watch drafts (sd).\n" + head + "\n" + got.String()
	if os.Getenv("RIGHTS_WRITE") != "" {
		if err := os.WriteFile(table, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(table)
	if err != nil {
		t.Fatal(err)
	}
	known := strings.Split(string(want), "\n")
	for line := range strings.SplitSeq(text, "\n") {
		if !slices.Contains(known, line) {
			t.Errorf("not in %s:\n%s\n%s", table, line, strings.Join(answers[line], "\n"))
		}
	}
}

func serviceScope(org int64) auth.Scope {
	return auth.ScopeWrite + auth.Scope(strconv.FormatInt(org, 10))
}

// rights returns the answer to an operation on a fresh object. What only reads has one object for all callers of a
// server: kept holds its paths.
func (w *world) rights(caller, key, op, object string, kept map[string]string) server.Answer {
	w.t.Helper()
	method, path, _ := strings.Cut(op, " ")
	path = strings.ReplaceAll(path, "{feature-id}", "{hazard-id}") // of a collection of hazards
	name := w.URL() + op + object
	if had := kept[name]; had != "" && method == "GET" {
		path = had
	} else if strings.Contains(path, "{hazard-id}") || strings.Contains(path, "{product-id}") {
		body := []any{"description", "d"}
		if object == "nobody's" {
			body = append(body, "org_ID", -1)
		}
		h := w.hazard("red", body...)
		path = strings.ReplaceAll(path, "{hazard-id}", h.UUID)
		if strings.Contains(path, "{product-id}") {
			more := []any{"title", "Note"}
			if object == "restricted" {
				more = append(more, "security_Flag", "R")
			}
			var p item
			title, content := "a.txt", []byte("content")
			if strings.HasSuffix(path, "/picture") {
				title, content = "a.png", pngOf(w.t, 9, 9)
			}
			a := w.upload("red", h.HazardID, file(more...), title, content)
			if a.JSON(w.t, &p); a.Status != 201 {
				w.t.Fatalf("%d %s", a.Status, a.Body)
			}
			path = strings.ReplaceAll(path, "{product-id}", p.UUID)
		}
		kept[name] = path
	}
	if strings.HasSuffix(path, "/map.png") {
		path += "?size=240" // drawn soon
	}
	if op == "DELETE /organizations/{org}/assets" { // so that there are some assets
		w.do("red", "PUT", "/organizations/"+digits(w.RedCross)+"/assets", rightsBodies["PUT /organizations/{org}/assets"], "Content-Type", "text/csv")
	}
	var body any
	if method != "GET" && method != "DELETE" {
		body = rightsBodies[op]
		switch op { // each caller creates a different one
		case "POST /users":
			body = `{"role":"reader","name":"made-by-` + caller + `"}`
		case "POST /organizations":
			body = `{"acronym":"BY-` + caller + `","name":"made"}`
		}
		if op == "POST /hazards/{hazard-id}/merge" {
			body = `{"into":"` + w.hazard("red").UUID + `"}`
		}
		if body == "" {
			body = nil
		}
	}
	if op == "PUT /products/{product-id}/file" {
		form, contentType := rawForm(w.t, part{`form-data; name="file"; filename="b.txt"`, []byte("another")})
		if caller == "key" {
			caller, path = "", "/key/"+key+path
		}
		return w.do(caller, method, path, form, "Content-Type", contentType)
	}
	path = strings.NewReplacer("{category-id}", "EVENT", "{severity-id}", "WATCH", "{key-id}", "00000000-0000-4000-8000-000000000000", "{join-id}", "00000000-0000-4000-8000-000000000000", "{draft-id}", "00000000-0000-4000-8000-000000000000", "{webhook-id}", "00000000-0000-4000-8000-000000000000",
		"{subscription-id}", "00000000-0000-4000-8000-000000000000", "{org}", digits(w.RedCross), "{user}", "none", "{identifier}", "none.1", "{delivery-id}", "1", "{source-id}", "none", "{held-id}", "99", "{payload-id}", strings.Repeat("0", 64), "{layer-id}", "0", "{object-id}", "1", "{place-code}", "UGC:FLC086", "{collection-id}", "hazards", "{id}", "1",
		"{styleId}", "danger", "{tileMatrixSetId}", "WebMercatorQuad", "{tileMatrix}", "0", "{tileRow}", "0", "{tileCol}", "0", "/tiles/{z}/{x}/{y}", "/tiles/0/0/0", "/here", "/here?lat=53.5&lon=10").Replace(path)
	if caller == "key" {
		if strings.HasSuffix(path, "/file") || strings.HasSuffix(path, "/picture") { // the document lists their headers only at the file's own path
			resp, err := w.client.Do(newRequest(w.t, w.tokens, "", method, w.URL()+"/key/"+key+path, nil))
			if err != nil {
				w.t.Fatal(err)
			}
			defer resp.Body.Close()
			return server.Answer{Status: resp.StatusCode, Header: resp.Header}
		}
		return w.do("", method, "/key/"+key+path, body)
	}
	return w.do(caller, method, path, body)
}
