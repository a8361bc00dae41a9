package page

import (
	"strings"
	"testing"

	"github.com/hazardd/hazardd/internal/serve/openapi"
)

func TestCommandsOfTheDescription(t *testing.T) {
	d, err := openapi.Read()
	if err != nil {
		t.Fatal(err)
	}
	html, err := (&Docs{Document: d, Base: "https://hazards.example.org"}).HTML()
	if err != nil {
		t.Fatal(err)
	}
	for name, command := range map[string]string{
		"a read with a token":   `curl &#39;https://hazards.example.org/hazards/1207/reports&#39; -H &#34;Authorization: Bearer $TOKEN&#34;</pre>`,
		"a parameter":           `curl &#39;https://hazards.example.org/changes?after=4711&#39; -H &#34;Authorization: Bearer $TOKEN&#34;</pre>`,
		"a list as a parameter": `/hazards?type=EARTHQUAKE,TSUNAMI&#39;`,
		"what is open":          `curl &#39;https://hazards.example.org/readyz&#39;</pre>`,
		"a body": `curl &#39;https://hazards.example.org/hazards/1207/merge&#39; -H &#34;Authorization: Bearer $TOKEN&#34; \
  -H &#39;Content-Type: application/json&#39; -d &#39;{&#34;into&#34;: 1207, &#34;into_ETag&#34;: &#34;\&#34;k3Jx9aT0qR\&#34;&#34;}&#39;</pre>`,
		"a page":              `curl &#39;https://hazards.example.org/h/1207?lang=fr-CA,fr&#39; -b cookies.txt</pre>`,
		"a cookie to be kept": `curl &#39;https://hazards.example.org/session&#39; -c cookies.txt -H &#34;Authorization: Bearer $TOKEN&#34; \`,
		"a file": `curl &#39;https://hazards.example.org/products/311/file?version=1207&#39; \
  -H &#34;Authorization: Bearer $TOKEN&#34; -OJ</pre>`,
	} {
		if !strings.Contains(string(html), command) {
			t.Errorf("%s: %s is missing", name, command)
		}
	}
	if n := strings.Count(string(html), "<h3>Try it</h3>"); n < 70 {
		t.Errorf("%d operations have a command", n)
	}
	for _, fault := range []string{"ZgotmplZ", "&lt;no value", "<no value", "**"} {
		if strings.Contains(string(html), fault) {
			t.Errorf("the page has %s in it", fault)
		}
	}
}
