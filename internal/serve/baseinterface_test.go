package serve_test

import (
	"bytes"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"

	"github.com/hazardd/hazardd/internal/app"
	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/test"
	"github.com/hazardd/hazardd/internal/test/server"
)

// document is the text of the base interface: the tables of each section, by the section's number.
type document map[string][]table

type table struct {
	columns []string
	rows    [][]string
}

// readDocument reads the tables of the base interface.
func readDocument(t *testing.T) document {
	t.Helper()
	doc, section, open := document{}, "", false
	heading := regexp.MustCompile(`^#+ ([0-9.]+)`)
	for line := range strings.Lines(string(server.ReadShared(t, "spec/base-interface.md"))) {
		line = strings.TrimSpace(line)
		if m := heading.FindStringSubmatch(line); m != nil {
			section = strings.TrimSuffix(m[1], ".")
		}
		if !strings.HasPrefix(line, "|") {
			open = false
			continue
		}
		var cells []string
		for cell := range strings.SplitSeq(strings.Trim(line, "|"), "|") {
			cells = append(cells, strings.TrimSpace(cell))
		}
		switch tables := doc[section]; {
		case !open:
			doc[section], open = append(tables, table{columns: cells}), true
		case strings.Trim(cells[0], "-") == "": // the line below the header
		default:
			last := &tables[len(tables)-1]
			last.rows = append(last.rows, cells)
		}
	}
	return doc
}

// table returns the section's table whose first column has that header.
func (d document) table(t *testing.T, section, first string) table {
	t.Helper()
	for _, tab := range d[section] {
		if tab.columns[0] == first && len(tab.rows) > 0 {
			return tab
		}
	}
	t.Fatalf("section %s has no table of %s", section, first)
	return table{}
}

// list returns the JSON array for the section's table of values, with the fields of its table of
// fields, in order.
func (d document) list(t *testing.T, section string) string {
	t.Helper()
	fields := d.table(t, section, "Field")
	values := d.table(t, section, fields.rows[0][0])
	var objects []string
	for _, row := range values.rows {
		var members []string
		for _, f := range fields.rows {
			members = append(members, fmt.Sprintf("%q:%q", f[0], row[slices.Index(values.columns, f[0])]))
		}
		objects = append(objects, "{"+strings.Join(members, ",")+"}")
	}
	return "[" + strings.Join(objects, ",") + "]"
}

// kinds maps the base interface's names of types to JSON.
var kinds = map[string]*regexp.Regexp{
	"integer":              regexp.MustCompile(`^-?\d+$`),
	"number":               regexp.MustCompile(`^-?\d+(\.\d+)?(e[+-]?\d+)?$`),
	"string":               regexp.MustCompile(`^"`),
	"string (UUID format)": regexp.MustCompile(`^"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"$`),
	"string (timestamp)":   regexp.MustCompile(`^"\d{13}"$`),
	"string (digits)":      regexp.MustCompile(`^"\d+"$`),
	"string or null":       regexp.MustCompile(`^("|null$)`),
	"string or absent":     regexp.MustCompile(`^"`), // always present (decisions, snc_url)
	"null in samples":      regexp.MustCompile(`^null$`),
	"array":                regexp.MustCompile(`^\[\]$`),
}

// wantRecord checks a record's fields against the section's table: names, case, order and types.
func (d document) wantRecord(t *testing.T, section string, record []byte) {
	t.Helper()
	fields := d.table(t, section, "Field")
	var want, got []string
	types := map[string]string{}
	for _, f := range fields.rows {
		want = append(want, f[0])
		types[f[0]] = f[1]
	}
	for _, m := range members(t, record) {
		got = append(got, m.name)
		kind, known := kinds[types[m.name]]
		if !known {
			t.Errorf("%s is a %q, which this test does not know", m.name, types[m.name])
		} else if !kind.Match(m.value) {
			t.Errorf("%s is %.80s, want a %s", m.name, m.value, types[m.name])
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("fields of section %s (-document +answer):\n%s", section, diff)
	}
}

// stage is a world with some activity, and the names that the tables below use for it.
type stage struct {
	*world
	names map[string]string // {name} → its value
}

func newStage(t *testing.T) *stage {
	s := &stage{start(t), map[string]string{}}
	note1 := func(name string, it item) {
		s.names["{"+name+"}"], s.names["{"+name+"-uuid}"] = digits(max(it.ProductID, it.HazardID)), it.UUID
		if it.ProductID != 0 {
			s.names["{"+name+"}"] = digits(it.ProductID)
		}
	}
	flood := s.hazard("red", "hazard_Name", "Elbe", "severity_ID", "WARNING", "description", "line 1\nline 2", "comment_Text", "c", "snc_url", "https://example.org/1",
		"area", map[string]any{"type": "Point", "coordinates": []int{1, 2}})
	note1("flood", flood)
	note1("fire", s.hazard("fire", "hazard_Name", "Forest", "type_ID", "WILDFIRE", "severity_ID", "WARNING", "category_ID", "RESPONSE"))
	note1("drill", s.hazard("red", "hazard_Name", "Drill", "severity_ID", "INFORMATION", "category_ID", "EXERCISE"))
	over := s.hazard("red", "hazard_Name", "Over")
	note1("over", over)
	note1("after", s.product("red", over.HazardID, note("title", "After")))
	if a := s.do("red", "PATCH", "/hazards/"+digits(over.HazardID), `{"status":"E"}`); a.Status != http.StatusOK {
		t.Fatalf("end a hazard: %d %s", a.Status, a.Body)
	}
	root := s.product("red", flood.HazardID, folder("title", "Situation"))
	note1("folder", root)
	note1("text", s.product("red", flood.HazardID, note("parent_ID", root.ProductID, "geo_Locations", "POINT(1 2)", "comment_Text", "c")))
	note1("url", s.product("red", flood.HazardID, note("product_Type", "URL_PRODUCT", "data", "https://example.org", "is_Hidden", "Y")))
	note1("secret", s.product("red", flood.HazardID, note("title", "Secret", "security_Flag", "R")))
	a := s.upload("red", flood.HazardID, file(), "map.tar.gz", []byte("content"))
	if a.Status != http.StatusCreated {
		t.Fatalf("upload: %d %s", a.Status, a.Body)
	}
	var f item
	a.JSON(t, &f)
	note1("file", f)
	r := quake("us1", 1)
	r.Products = []hazard.ReportProduct{{Key: "f", Title: "Folder", Type: hazard.FolderProduct, Time: r.Start}, {Key: "t", Parent: "f", Title: "Text", Type: hazard.TextProduct, Data: "d", Time: r.Start}}
	s.report(r)
	s.names["{quake-uuid}"] = hazard.EventUUID("usgs", "us1").String()
	return s
}

// path replaces the names in a path of the tables or of the document.
func (s *stage) path(p string) string {
	for _, name := range sortedKeys(s.names) {
		p = strings.ReplaceAll(p, name, s.names[name])
	}
	return strings.NewReplacer("{category-id}", "EVENT", "{severity-id}", "WARNING", "{hazard-id}", s.names["{flood}"], "{product-id}", s.names["{text}"]).Replace(p)
}

// baseCase is a request of the base interface and its required answer.
type baseCase struct {
	user, request string // "METHOD path"
	body          string
	header        []string // names and values, alternately
	status        int
	exact         string // the whole body, if not empty
	also          func(t *testing.T, a server.Answer)
}

// baseCases are cases by name.
type baseCases map[string]baseCase

func (cases baseCases) add(name string, c baseCase) {
	if _, there := cases[name]; there {
		panic("two cases have the name " + name)
	}
	cases[name] = c
}

func (cases baseCases) run(t *testing.T, s *stage) {
	t.Helper()
	for _, name := range sortedKeys(cases) {
		c := cases[name]
		t.Run(name, func(t *testing.T) {
			method, path, _ := strings.Cut(s.path(c.request), " ")
			var body any
			if c.body != "" || method == "POST" {
				body = c.body
			}
			a := s.do(c.user, method, path, body, c.header...)
			if a.Status != c.status {
				t.Fatalf("%s: %d %.500s, want %d", c.request, a.Status, a.Body, c.status)
			}
			if c.exact != "" {
				if diff := cmp.Diff(c.exact, string(a.Body)); diff != "" {
					t.Error(diff)
				}
			}
			if c.also != nil {
				c.also(t, a)
			}
			wantCommonHeaders(t, a)
		})
	}
}

func TestBaseInterfaceIsServedAsItIsWritten(t *testing.T) {
	doc := readDocument(t)
	s := newStage(t)
	cases := baseCases{}
	add := cases.add
	for section, path := range map[string]string{"2.3": "/hazards/types", "2.4": "/hazards/severities", "2.5": "/hazards/categories"} {
		add(path+" is the table of section "+section, baseCase{user: "reader", request: "GET " + path, status: 200, exact: doc.list(t, section)})
	}
	for _, path := range []string{"/hazards/active", "/hazards/active/category/EVENT", "/hazards/active/severity/WARNING"} {
		add("hazards of "+path+" have the fields of section 2.6", baseCase{user: "reader", request: "GET " + path, status: 200, also: func(t *testing.T, a server.Answer) {
			list := objects(t, a.Body)
			if len(list) < 2 {
				t.Errorf("%d hazards, want several", len(list))
			}
			for _, record := range list {
				doc.wantRecord(t, "2.6", record)
			}
		}})
	}
	for _, h := range []string{"{flood}", "{quake-uuid}", "{over}"} {
		add("products of "+h+" have the fields of section 2.7", baseCase{user: "red", request: "GET /hazards/" + h + "/products", status: 200, also: func(t *testing.T, a server.Answer) {
			list := objects(t, a.Body)
			if len(list) == 0 {
				t.Error("no product")
			}
			for _, record := range list {
				doc.wantRecord(t, "2.7", record)
			}
		}})
	}
	for _, p := range []string{"{folder}", "{text}", "{url}", "{file}", "{text-uuid}"} {
		add("product "+p+" comes as an array of one with the fields of section 2.7", baseCase{user: "reader", request: "GET /products/" + p, status: 200, also: func(t *testing.T, a server.Answer) {
			list := objects(t, a.Body)
			if len(list) != 1 {
				t.Fatalf("%d products", len(list))
			}
			doc.wantRecord(t, "2.7", list[0])
		}})
	}
	add("tokens have the fields of section 2.1", baseCase{request: "POST /authorize", body: credentials("reader", server.Password), status: 200, also: func(t *testing.T, a server.Answer) {
		doc.wantRecord(t, "2.1", a.Body)
		for _, m := range members(t, a.Body) {
			if !regexp.MustCompile(`^"[\w-]+\.[\w-]+\.[\w-]+"$`).Match(m.value) {
				t.Errorf("%s is no JSON Web Token", m.name)
			}
		}
	}})

	var written []string
	for _, row := range doc.table(t, "4", "#").rows {
		written = append(written, row[1]+" "+row[2])
	}
	if diff := cmp.Diff(endpoints, written); diff != "" {
		t.Errorf("endpoints of these tests and of the document:\n%s", diff)
	}
	for kind, section := range map[string]string{"category": "2.5", "severity": "2.4"} {
		var ids []string
		for _, row := range doc.table(t, section, kind+"_id").rows {
			ids = append(ids, row[0])
		}
		if diff := cmp.Diff(vocabulary[kind], ids); diff != "" {
			t.Errorf("values of %s in these tests and in the document:\n%s", kind, diff)
		}
	}
	cases.run(t, s)
}

// endpoints are the endpoints of section 4.
var endpoints = []string{"POST /authorize", "GET /hazards/types", "GET /hazards/severities", "GET /hazards/categories", "GET /hazards/active", "GET /hazards/active/category/{category-id}",
	"GET /hazards/active/severity/{severity-id}", "GET /hazards/{hazard-id}/products", "GET /products/{product-id}"}

// vocabulary is the lists of section 2.
var vocabulary = map[string][]string{"category": {"EVENT", "EXERCISE", "OTHER", "RESPONSE"}, "severity": {"TERMINATION", "INFORMATION", "ADVISORY", "WATCH", "WARNING"}}

func TestBaseInterface(t *testing.T) {
	s := newStage(t)
	cases := baseCases{}
	add := cases.add

	// Section 4: every endpoint, with and without a token, with HEAD, and with unsupported methods.
	for _, endpoint := range endpoints[1:] {
		method, path, _ := strings.Cut(endpoint, " ")
		add(endpoint+" answers a JSON array", baseCase{user: "reader", request: method + " " + path, status: 200, also: func(t *testing.T, a server.Answer) {
			if len(objects(t, a.Body)) == 0 || a.Header.Get("Content-Type") != "application/json" {
				t.Errorf("%s %.100s", a.Header.Get("Content-Type"), a.Body)
			}
		}})
		for user, c := range map[string]baseCase{
			"without a token":                    {},
			"with an empty token":                {header: []string{"Authorization", "Bearer "}},
			"with a token that is none":          {header: []string{"Authorization", "Bearer a.b.c"}},
			"with another scheme":                {header: []string{"Authorization", "Basic cmVhZGVyOnZpb2xldA=="}},
			"with a token that was altered":      {header: []string{"Authorization", "Bearer " + altered(s.tokens.of("reader"))}},
			"with a good token in the query":     {request: method + " " + path + "?access_token=" + s.tokens.of("reader")},
			"with a good token and no scheme":    {header: []string{"Authorization", s.tokens.of("reader")}},
			"with a good token and two schemes":  {header: []string{"Authorization", "Bearer Bearer " + s.tokens.of("reader")}},
			"with a good token in another field": {header: []string{"Proxy-Authorization", "Bearer " + s.tokens.of("reader")}},
		} {
			c.status, c.exact = 403, "Invalid Token"
			if c.request == "" {
				c.request = method + " " + path
			}
			c.also = wantPlain(`Bearer error="invalid_token"`)
			add(endpoint+" is 403 "+user, c)
		}
		for _, other := range []string{"PUT", "OPTIONS", "TRACE", "PROPFIND"} {
			add(endpoint+" has no "+other, baseCase{user: "reader", request: other + " " + path, status: 405, also: func(t *testing.T, a server.Answer) {
				wantProblem(t, a, 405)
				if allow := strings.Split(a.Header.Get("Allow"), ", "); !slices.Contains(allow, "GET") || !slices.Contains(allow, "HEAD") || slices.Contains(allow, other) {
					t.Errorf("Allow: %s", a.Header.Get("Allow"))
				}
			}})
		}
		add(endpoint+" answers HEAD as GET without the body", baseCase{user: "reader", request: "HEAD " + path, status: 200, also: func(t *testing.T, a server.Answer) {
			get := s.do("reader", "GET", s.path(path), nil)
			for _, name := range []string{"Etag", "Content-Type", "Cache-Control", "Vary", "Hazardd-Change", "Hazardd-Sources"} {
				if a.Header.Get(name) != get.Header.Get(name) {
					t.Errorf("%s: %q, GET has %q", name, a.Header.Get(name), get.Header.Get(name))
				}
			}
			if len(a.Body) != 0 || a.Header.Get("Content-Length") != strconv.Itoa(len(get.Body)) {
				t.Errorf("%d bytes of body, Content-Length %s; GET has %d bytes", len(a.Body), a.Header.Get("Content-Length"), len(get.Body))
			}
		}})
	}
	scheme := s.tokens.of("reader")
	for _, h := range []string{"bearer ", "BEARER ", "bEaReR   "} {
		add("a good token is accepted with the scheme spelled "+strconv.Quote(h), baseCase{request: "GET /hazards/types", header: []string{"Authorization", h + scheme}, status: 200})
	}

	// Sections 5 and 7: authorize. Bodies and headers are the same whether or not the user exists.
	denied := wantPlain(`Bearer realm="hazardd"`)
	for name, body := range map[string]string{
		"the wrong password":               credentials("reader", "wrong"),
		"no such user":                     credentials("nobody", server.Password),
		"the user's name in other letters": credentials("Reader", server.Password),
		"an empty user and password":       credentials("", ""),
		"a blank before the password":      credentials("reader", " "+server.Password),
	} {
		add("authorize is 401 for "+name, baseCase{request: "POST /authorize", body: body, status: 401, exact: "Authentication failed.", also: denied})
	}
	for _, method := range []string{"GET", "PUT", "DELETE", "OPTIONS", "HEAD"} {
		add("authorize has no "+method, baseCase{request: method + " /authorize", status: 405, also: func(t *testing.T, a server.Answer) {
			if a.Header.Get("Allow") != "POST" {
				t.Errorf("Allow: %s", a.Header.Get("Allow"))
			}
		}})
	}
	add("authorize takes members that it does not know", baseCase{request: "POST /authorize", body: `{"x":[1],"username":"reader","password":"` + server.Password + `"}`, status: 200})
	for name, c := range map[string]struct {
		body   string
		faults []string
	}{
		"nothing":             {"", nil},
		"an array":            {`["reader"]`, nil},
		"null":                {`null`, nil},
		"a string":            {`"reader"`, nil},
		"text after it":       {credentials("reader", "x") + "{}", nil},
		"a doubled member":    {`{"username":"a","username":"reader","password":"b"}`, nil},
		"invalid UTF-8":       {"{\"username\":\"\xff\",\"password\":\"b\"}", nil},
		"no member":           {`{}`, []string{"/password", "/username"}},
		"no password":         {`{"username":"reader"}`, []string{"/password"}},
		"a number for a name": {`{"username":1,"password":"x"}`, []string{"/username"}},
		"null for both":       {`{"username":null,"password":null}`, []string{"/password", "/username"}},
		"another case":        {`{"Username":"reader","Password":"x"}`, []string{"/password", "/username"}},
	} {
		add("authorize is 400 for a body of "+name, baseCase{request: "POST /authorize", body: c.body, status: 400, also: func(t *testing.T, a server.Answer) {
			if diff := cmp.Diff(c.faults, wantProblem(t, a, 400).faults()); diff != "" {
				t.Errorf("named faults:\n%s", diff)
			}
		}})
	}
	add("authorize is 413 for a body over 64 KiB", baseCase{request: "POST /authorize", body: strings.Repeat(" ", 64<<10) + "{", status: 413})

	// Things that do not exist.
	for request, status := range map[string]int{
		"GET /hazards/999999/products": 404, "GET /hazards/0190a0b0-0000-7000-8000-000000000001/products": 404, "GET /hazards/x/products": 400,
		"GET /hazards/0/products": 400, "GET /hazards/-1/products": 400, "GET /hazards/01/products": 400, "GET /hazards/1.0/products": 400,
		"GET /hazards/9223372036854775808/products": 400, "GET /hazards/9223372036854775807/products": 404,
		"GET /products/999999": 404, "GET /products/0190a0b0-0000-7000-8000-000000000001": 404, "GET /products/x": 400, "GET /products/0": 400,
		"GET /products/{flood-uuid}": 404, "GET /hazards/{text-uuid}/products": 404,
		"GET /": 200, "GET /nothing": 404, "GET /hazards/active/": 404, "GET /hazards/active/category": 404, "GET /hazards/active/category/EVENT/": 404,
		"GET /Hazards/active": 404, "GET /hazards/active/category/EVENT/x": 404, "GET /products": 404, "GET /hazards/1/products/1": 404, "DELETE /nothing": 404,
	} {
		add(request+" is "+strconv.Itoa(status), baseCase{user: "reader", request: request, status: status, also: func(t *testing.T, a server.Answer) {
			if status >= 400 {
				wantProblem(t, a, status)
			}
		}})
	}
	for kind, ids := range vocabulary {
		for _, unknown := range []string{"NONE", "event", "warning", "EVENT%20", "%00", "1"} {
			add("unknown "+kind+" "+unknown+" is 404 and lists the known ones", baseCase{user: "reader", request: "GET /hazards/active/" + kind + "/" + unknown, status: 404,
				also: func(t *testing.T, a server.Answer) {
					p := wantProblem(t, a, 404)
					for _, id := range ids {
						if !strings.Contains(p.Detail, id) {
							t.Errorf("the detail does not name %s: %s", id, p.Detail)
						}
					}
					if diff := cmp.Diff([]string{kind + "-id"}, p.faults()); diff != "" {
						t.Error(diff)
					}
				}})
		}
		for _, id := range ids {
			add(kind+" "+id+" is accepted", baseCase{user: "reader", request: "GET /hazards/active/" + kind + "/" + id, status: 200, also: func(t *testing.T, a server.Answer) {
				for _, it := range items(t, a) {
					if kind == "category" && it.CategoryID != id || kind == "severity" && it.SeverityID != id {
						t.Errorf("%s is of %s, %s", it.Name, it.CategoryID, it.SeverityID)
					}
				}
			}})
		}
	}

	// The content of lists and its order.
	for request, want := range map[string][]string{
		"GET /hazards/active":                      {"Forest", "Elbe", "Earthquake us1", "Drill"},
		"GET /hazards/active/category/EVENT":       {"Elbe", "Earthquake us1"},
		"GET /hazards/active/category/EXERCISE":    {"Drill"},
		"GET /hazards/active/category/RESPONSE":    {"Forest"},
		"GET /hazards/active/category/OTHER":       nil,
		"GET /hazards/active/severity/WARNING":     {"Forest", "Elbe"},
		"GET /hazards/active/severity/WATCH":       nil,
		"GET /hazards/active/severity/ADVISORY":    {"Earthquake us1"},
		"GET /hazards/active/severity/INFORMATION": {"Drill"},
		"GET /hazards/active/severity/TERMINATION": nil,
		"GET /hazards/{flood}/products":            {"Situation", "Note", "Note", "File"},
		"GET /hazards/{flood-uuid}/products":       {"Situation", "Note", "Note", "File"},
		"GET /hazards/{fire}/products":             nil,
		"GET /hazards/{over}/products":             {"After"},
		"GET /products/{after}":                    {"After"},
		"GET /products/{folder-uuid}":              {"Situation"},
	} {
		add(request+" lists what it should, in order", baseCase{user: "reader", request: request, status: 200, also: func(t *testing.T, a server.Answer) {
			var got []string
			for _, it := range items(t, a) {
				got = append(got, it.Name+it.Title)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
		}})
	}
	for user, want := range map[string]string{"reader": "4", "red-reader": "5", "fire": "4", "root": "4"} {
		add("product_total counts for "+user+" what "+user+" may know of", baseCase{user: user, request: "GET /hazards/active/severity/WARNING", status: 200, also: func(t *testing.T, a server.Answer) {
			if got := items(t, a)[1]; got.Name != "Elbe" || got.ProductTotal != want {
				t.Errorf("%s has %s products for %s, want %s", got.Name, got.ProductTotal, user, want)
			}
			products := s.do(user, "GET", s.path("/hazards/{flood}/products"), nil)
			if got := strconv.Itoa(len(items(t, products))); got != want {
				t.Errorf("%s products are listed for %s, want %s", got, user, want)
			}
		}})
	}
	add("the list of products is flat and linked by parent_ID", baseCase{user: "reader", request: "GET /hazards/{flood}/products", status: 200, also: func(t *testing.T, a server.Answer) {
		list := items(t, a)
		if list[0].ParentID != 0 || list[1].ParentID != list[0].ProductID || !slices.IsSortedFunc(list, func(a, b item) int { return int(a.ProductID - b.ProductID) }) {
			t.Errorf("%+v", list)
		}
	}})
	add("product_url leads to the file", baseCase{user: "reader", request: "GET /products/{file}", status: 200, also: func(t *testing.T, a server.Answer) {
		var list []struct {
			URL    string `json:"product_url"`
			Suffix string `json:"suffix"`
		}
		a.JSON(t, &list)
		path, ok := strings.CutPrefix(list[0].URL, s.URL())
		if got := s.do("reader", "GET", path, nil); !ok || string(got.Body) != "content" || list[0].Suffix != "gz" {
			t.Errorf("%s gives %d %q; suffix %q", list[0].URL, got.Status, got.Body, list[0].Suffix)
		}
	}})
	add("the icons that types name are there, without a token", baseCase{user: "reader", request: "GET /hazards/types", status: 200, also: func(t *testing.T, a server.Answer) {
		var types []struct {
			Icon string `json:"type_icon"`
		}
		a.JSON(t, &types)
		for _, ty := range types {
			icon := s.do("", "GET", "/icons/hazard/large/"+ty.Icon, nil)
			if icon.Status != 200 || icon.Header.Get("Content-Type") != "image/png" || !bytes.HasPrefix(icon.Body, []byte("\x89PNG\r\n\x1a\n")) {
				t.Errorf("%s: %d %s", ty.Icon, icon.Status, icon.Header.Get("Content-Type"))
			}
		}
	}})

	cases.run(t, s)
	t.Run("revalidation", func(t *testing.T) { testRevalidation(t, s) })
}

func credentials(user, password string) string {
	text, err := json.Marshal(map[string]string{"username": user, "password": password}, json.Deterministic(true), jsontext.EscapeForHTML(false))
	if err != nil {
		panic(err)
	}
	return string(text)
}

// altered returns a token with one changed letter in its signature.
func altered(token string) string {
	b := []byte(token)
	i := len(b) - 10
	b[i] ^= 'A' ^ 'B'
	if b[i] == '.' || !regexp.MustCompile(`[\w-]`).Match(b[i:i+1]) {
		b[i] = 'A'
	}
	return string(b)
}

// wantPlain checks one of the two plain-text answers of section 7.
func wantPlain(authenticate string) func(*testing.T, server.Answer) {
	return func(t *testing.T, a server.Answer) {
		if got := a.Header.Get("WWW-Authenticate"); got != authenticate {
			t.Errorf("WWW-Authenticate: %s, want %s", got, authenticate)
		}
		if got := a.Header.Get("Content-Type"); !strings.HasPrefix(got, "text/plain") {
			t.Errorf("Content-Type: %s, want text/plain", got)
		}
	}
}

// wantCommonHeaders checks the headers of every answer: no content sniffing, and no reuse without
// permission.
func wantCommonHeaders(t *testing.T, a server.Answer) {
	t.Helper()
	if a.Header.Get("X-Content-Type-Options") != "nosniff" || a.Header.Get("Referrer-Policy") != "no-referrer" {
		t.Errorf("headers are missing: %v", a.Header)
	}
	cache := a.Header.Get("Cache-Control")
	if a.Header.Get("Expires") != "" || strings.Contains(cache, "max-age") || strings.Contains(cache, "public") {
		t.Errorf("may be reused: Cache-Control %q, Expires %q", cache, a.Header.Get("Expires"))
	}
	if a.Status != 200 && a.Status < 400 {
		return
	}
	if cache == "" && a.Header.Get("Content-Type") == "application/json" {
		t.Error("no Cache-Control")
	}
}

// testRevalidation checks entity tags, encodings and caching rules on every path that answers with
// JSON.
func testRevalidation(t *testing.T, s *stage) {
	for path, restricted := range map[string]bool{
		"/hazards/types": false, "/hazards/severities": false, "/hazards/categories": false, "/products/types": false, "/hazards/active": true,
		"/hazards/active/category/EVENT": true, "/hazards/active/severity/WARNING": true, "/hazards/{flood}/products": true, "/hazards/{fire}/products": false,
		"/hazards/{over}/products": false, "/products/{text}": false, "/products/{secret}": true, "/hazards/{flood}": false, "/hazards/{over}": false,
		"/hazards/{flood}/changes": true, "/hazards/{fire}/changes": false, "/changes": true, "/hazards/{flood}/alert-geography": false,
	} {
		t.Run(path, func(t *testing.T) {
			address := s.path(path)
			plain := s.do("red", "GET", address, nil)
			tags := map[string]string{} // by encoding
			for accept, coding := range map[string]string{"": "", "identity": "", "gzip": "gzip", "br": "br", "zstd": "zstd", "gzip, br, zstd": "zstd", "*": "gzip", "*, br": "br", "gzip;q=0, *": "",
				"gzip;q=0.5, br;q=0.9": "br", "x-gzip": "gzip", "gzip;q=0": "", "*;q=0": "", "deflate": "", "GZIP": "gzip"} {
				a := s.do("red", "GET", address, nil, "Accept-Encoding", accept)
				if len(plain.Body) < 1200 {
					coding = ""
				}
				if got := a.Header.Get("Content-Encoding"); a.Status != 200 || got != coding {
					t.Errorf("Accept-Encoding %q: %d, coding %q, want %q", accept, a.Status, got, coding)
				}
				if !bytes.Equal(decode(t, a.Header.Get("Content-Encoding"), a.Body), plain.Body) || a.Header.Get("Content-Length") != strconv.Itoa(len(a.Body)) {
					t.Errorf("Accept-Encoding %q: %d bytes decode to something else", accept, len(a.Body))
				}
				tag := a.Header.Get("Etag")
				if !regexp.MustCompile(`^"[!#-~]+"$`).MatchString(tag) {
					t.Errorf("ETag %s is not strong", tag)
				}
				for other, have := range tags {
					if (other == coding) != (have == tag) {
						t.Errorf("codings %q and %q have the tags %s and %s", other, coding, have, tag)
					}
				}
				tags[coding] = tag
				want := "private, no-cache"
				if restricted {
					want = "no-store"
				}
				if got := a.Header.Get("Cache-Control"); got != want {
					t.Errorf("Cache-Control: %s, want %s", got, want)
				}
				if got := a.Header.Get("Vary"); got != "Authorization, Accept, Accept-Encoding, Accept-Language" {
					t.Errorf("Vary: %s", got)
				}
				for match, status := range map[string]int{tag: 304, "W/" + tag: 304, `"x", ` + tag: 304, "*": 304, `"x"`: 200, tag[:len(tag)-1]: 200, strings.Trim(tag, `"`): 200} {
					b := s.do("red", "GET", address, nil, "Accept-Encoding", accept, "If-None-Match", match)
					if b.Status != status || status == 304 && (len(b.Body) != 0 || b.Header.Get("Etag") != tag || b.Header.Get("Vary") == "" || b.Header.Get("Cache-Control") != want || b.Header.Get("Referrer-Policy") != "") {
						t.Errorf("If-None-Match %s: %d with %d bytes, %v; want %d", match, b.Status, len(b.Body), b.Header, status)
					}
				}
			}
		})
	}
}

func TestExpiry(t *testing.T) {
	t.Parallel() // it waits more than it works
	s := start(t)
	end := now().Add(6 * time.Second)
	made := s.hazard("red", "end_Date", end.Digits(), "autoexpire", "Y")
	other := s.hazard("red", "hazard_Name", "Stays", "end_Date", end.Digits())
	if a := items(t, s.do("reader", "GET", "/hazards/active", nil)); len(a) != 2 {
		t.Fatalf("%d hazards are active before the end, want 2", len(a))
	}
	var n int64
	for { // until the service has recorded the end
		changes, err := s.Store.Log.HazardChanges(t.Context(), made.HazardID, 0, 10)
		if err != nil {
			t.Fatal(err)
		}
		if last := changes[len(changes)-1]; last.Kind == hazard.HazardExpired {
			if n = last.Number; last.At < end || last.At > end.Add(30*time.Second) || last.Actor != "" || last.Source != "" {
				t.Errorf("the end of %s was recorded at %s by %q %q", end, last.At, last.Actor, last.Source)
			}
			break
		}
		if err := s.Store.Log.Wait(t.Context(), changes[len(changes)-1].Number); err != nil {
			t.Fatal(err)
		}
	}
	s.settle(n)
	if a := items(t, s.do("reader", "GET", "/hazards/active", nil)); len(a) != 1 || a[0].HazardID != other.HazardID {
		t.Errorf("after the end %+v are active, want the one that does not expire", a)
	}
	var over item
	s.do("reader", "GET", "/hazards/"+digits(made.HazardID), nil).JSON(t, &over)
	if over.Status != "E" || over.LastUpdate != end.Digits() || over.UpdateDate != made.UpdateDate || over.EndDate != end.Digits() {
		t.Errorf("after the end of %d: %+v", end, over)
	}
	var changes []struct{ Type, Reason string }
	s.do("reader", "GET", "/hazards/"+digits(made.HazardID)+"/changes", nil).JSON(t, &changes)
	if diff := cmp.Diff([]struct{ Type, Reason string }{{"hazard.created", ""}, {"hazard.expired", "expired"}}, changes); diff != "" {
		t.Error(diff)
	}
}

func TestHazardReadsAsOverFromItsEndOnThoughNobodyHasRecordedIt(t *testing.T) {
	test.NoRace(t)
	p := handle(t)
	end := hazard.At(time.Now()).Add(time.Minute)
	a := p.do("editor", "POST", "/hazards", flood("end_Date", end.Digits(), "autoexpire", "Y"))
	var made, now item
	a.JSON(t, &made)
	p.ahead.Store(int64(time.Minute)) // past the end, plus the time that this test has taken so far
	if list := items(t, p.do("reader", "GET", "/hazards/active", nil)); len(list) != 0 {
		t.Errorf("active after the end: %+v", list)
	}
	p.do("reader", "GET", "/hazards/"+digits(made.HazardID), nil).JSON(t, &now)
	if now.Status != "E" || now.LastUpdate != end.Digits() || now.UpdateDate != made.UpdateDate {
		t.Errorf("after the end of %d: %+v", end, now)
	}
	if a := p.do("reader", "GET", "/hazards/active", nil, "If-None-Match", p.do("reader", "GET", "/hazards/types", nil).Header.Get("Etag")); a.Status != 200 {
		t.Errorf("the tag of another list is accepted: %d", a.Status)
	}
}

func TestListThatWasReadBeforeAnEndIsNotConfirmedAfterIt(t *testing.T) {
	p := handle(t)
	p.do("editor", "POST", "/hazards", flood("end_Date", hazard.At(time.Now()).Add(time.Minute).Digits(), "autoexpire", "Y"))
	before := p.do("reader", "GET", "/hazards/active", nil)
	if a := p.do("reader", "GET", "/hazards/active", nil, "If-None-Match", before.Header.Get("Etag")); a.Status != 304 {
		t.Errorf("before the end the list is not confirmed: %d", a.Status)
	}
	p.ahead.Store(int64(time.Minute))
	if a := p.do("reader", "GET", "/hazards/active", nil, "If-None-Match", before.Header.Get("Etag")); a.Status != 200 || string(a.Body) != "[]" {
		t.Errorf("after the end: %d %s", a.Status, a.Body)
	}
}

func TestTokenEnds(t *testing.T) {
	p := handle(t)
	token := p.tokens.of("reader")
	for ahead, status := range map[time.Duration]int{0: 200, 59 * time.Minute: 200, 61 * time.Minute: 403} {
		p.ahead.Store(int64(ahead))
		if a := p.do("", "GET", "/hazards/types", nil, "Authorization", "Bearer "+token); a.Status != status || status == 403 && string(a.Body) != "Invalid Token" {
			t.Errorf("after %v: %d %s, want %d", ahead, a.Status, a.Body, status)
		}
	}
}

func TestRefreshAndRevoke(t *testing.T) {
	s := start(t)
	login := func() (pair struct{ AccessToken, RefreshToken string }) {
		t.Helper()
		a := s.do("", "POST", "/authorize", credentials("reader", server.Password))
		a.JSON(t, &pair)
		return pair
	}
	post := func(path, token string) server.Answer {
		return s.do("", "POST", path, map[string]string{"refreshToken": token})
	}
	access := func(token string) int {
		return s.do("", "GET", "/hazards/types", nil, "Authorization", "Bearer "+token).Status
	}

	first := login()
	if got := access(first.RefreshToken); got != 403 {
		t.Errorf("a refresh token passes as an access token: %d", got)
	}
	if a := post("/authorize/refresh", first.AccessToken); a.Status != 401 || string(a.Body) != "Authentication failed." {
		t.Errorf("an access token passes as a refresh token: %d %s", a.Status, a.Body)
	}
	a := post("/authorize/refresh", first.RefreshToken)
	var second struct{ AccessToken, RefreshToken string }
	a.JSON(t, &second)
	if a.Status != 200 || access(second.AccessToken) != 200 || second.RefreshToken == first.RefreshToken || a.Header.Get("Cache-Control") != "no-store" {
		t.Fatalf("refresh: %d, Cache-Control %q", a.Status, a.Header.Get("Cache-Control"))
	}
	if again := post("/authorize/refresh", first.RefreshToken); !bytes.Equal(again.Body, a.Body) {
		t.Errorf("a lost answer cannot be had again: %d", again.Status)
	}
	if a := post("/authorize/revoke", second.RefreshToken); a.Status != 204 || len(a.Body) != 0 {
		t.Errorf("revoke: %d %s", a.Status, a.Body)
	}
	for name, token := range map[string]string{"first": first.AccessToken, "second": second.AccessToken} {
		if got := access(token); got != 403 {
			t.Errorf("after revocation the %s access token gets %d", name, got)
		}
	}
	if a := post("/authorize/refresh", second.RefreshToken); a.Status != 401 {
		t.Errorf("after revocation the refresh token gets %d", a.Status)
	}
	for path, body := range map[string]string{"/authorize/refresh": `{}`, "/authorize/revoke": `{"refreshToken":1}`} {
		if p := wantProblem(t, s.do("", "POST", path, body), 400); !slices.Equal(p.faults(), []string{"/refreshToken"}) {
			t.Errorf("%s %s: %v", path, body, p.faults())
		}
	}
}

func TestPagesOfOtherOriginsReadOnlyWhatTheOperatorAllows(t *testing.T) {
	const page = "https://map.example"
	for name, tt := range map[string]struct {
		origins []string
		origin  string
		allowed bool
	}{
		"an origin that is named":                   {[]string{page}, page, true},
		"an origin that is not named":               {[]string{page}, "https://evil.example", false},
		"an origin that only begins like one":       {[]string{page}, page + ".evil.example", false},
		"no setting":                                {nil, page, false},
		"the null origin of a sandboxed page":       {[]string{page}, "null", false},
		"the same host by an unprotected transport": {[]string{page}, "http://map.example", false},
	} {
		t.Run(name, func(t *testing.T) {
			p := handle(t, allowOrigins(tt.origins))
			want := ""
			if tt.allowed {
				want = tt.origin
			}
			a := p.do("reader", "GET", "/hazards/types", nil, "Origin", tt.origin)
			if got := a.Header.Get("Access-Control-Allow-Origin"); a.Status != 200 || got != want || a.Header.Get("Access-Control-Allow-Credentials") != "" {
				t.Errorf("%d, Access-Control-Allow-Origin %q, want %q", a.Status, got, want)
			}
			vary := strings.Join(a.Header.Values("Vary"), ", ")
			if !strings.Contains(vary, "Authorization, Accept, Accept-Encoding, Accept-Language") || len(tt.origins) > 0 && !strings.Contains(vary, "Origin") {
				t.Errorf("Vary: %s", vary)
			}
			pre := p.do("", "OPTIONS", "/hazards", nil, "Origin", tt.origin, "Access-Control-Request-Method", "POST", "Access-Control-Request-Headers", "authorization,content-type")
			if got := pre.Header.Get("Access-Control-Allow-Origin"); got != want || tt.allowed && pre.Status/100 != 2 {
				t.Errorf("before a write: %d, Access-Control-Allow-Origin %q, want %q", pre.Status, got, want)
			}
			if tt.allowed {
				if got := a.Header.Get("Access-Control-Expose-Headers"); !strings.Contains(got, "Hazardd-Change") {
					t.Errorf("Access-Control-Expose-Headers: %s", got)
				}
			}
			if bad := p.do("", "GET", "/hazards/types", nil, "Origin", tt.origin); bad.Status != 403 || bad.Header.Get("Access-Control-Allow-Origin") != want {
				t.Errorf("an error answer: %d, Access-Control-Allow-Origin %q, want %q", bad.Status, bad.Header.Get("Access-Control-Allow-Origin"), want)
			}
		})
	}
}

func TestSettingsOfTheServiceReachTheInterface(t *testing.T) {
	s := start(t, func(c *app.Config) {
		c.AllowedOrigins, c.PublicURL = []string{"https://map.example"}, "https://public.example"
	})
	a := s.client
	req := newRequest(t, s.tokens, "red", "POST", "http://"+s.Addr().String()+"/hazards", flood(), "Origin", "https://map.example")
	resp, err := a.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != 201 || !strings.HasPrefix(resp.Header.Get("Location"), "https://public.example/hazards/") || resp.Header.Get("Access-Control-Allow-Origin") != "https://map.example" {
		t.Errorf("%d %v", resp.StatusCode, resp.Header)
	}
}
