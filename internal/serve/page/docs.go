package page

import (
	"html"
	"html/template"
	"regexp"
	"slices"
	"strings"

	"github.com/hazardd/hazardd/internal/lang/words"
	"github.com/hazardd/hazardd/internal/serve/openapi"
)

// Docs is the description of the API, for people.
type Docs struct {
	Frame
	*openapi.Document
	Base string // public address, without a trailing slash
}

// HTML returns the page.
func (d *Docs) HTML() ([]byte, error) { return execute(words.English(), "docs.html", d) }

var docsFuncs = template.FuncMap{"prose": prose, "phrase": phrase, "curl": curl, "anchor": anchor, "lower": strings.ToLower}

// anchor returns the URL fragment for a name.
func anchor(name string) string { return strings.ReplaceAll(strings.ToLower(name), " ", "-") }

var (
	codeWords = regexp.MustCompile("`([^`]+)`")
	boldWords = regexp.MustCompile(`\*\*([^*]+)\*\*`)
)

// phrase returns text of the description, with markup for code and bold words.
func phrase(text string) template.HTML {
	out := html.EscapeString(strings.TrimSpace(text))
	out = codeWords.ReplaceAllString(out, "<code>$1</code>")
	return template.HTML(boldWords.ReplaceAllString(out, "<b>$1</b>")) // out is escaped above
}

// prose returns text of the description as paragraphs and lists. It supports only the part of
// CommonMark that the description uses.
func prose(text string) template.HTML {
	var out strings.Builder
	for block := range strings.SplitSeq(strings.TrimSpace(text), "\n\n") {
		if !strings.HasPrefix(block, "- ") {
			out.WriteString("<p>" + string(phrase(block)) + "</p>\n")
			continue
		}
		out.WriteString("<ul>\n")
		for item := range strings.SplitSeq(block[2:], "\n- ") {
			out.WriteString("<li>" + string(phrase(item)) + "</li>\n")
		}
		out.WriteString("</ul>\n")
	}
	return template.HTML(out.String()) // phrase escapes its text
}

// curl returns a command that makes the operation's request, with the examples of its parameters.
func curl(base string, o openapi.Operation) string {
	var words []string
	add := func(w ...string) { words = append(words, w...) }
	switch {
	case o.ID == "logIn" || o.ID == "openSession":
		add("-c cookies.txt")
	case o.Scheme == "session" || o.ID == "logOut" || o.ID == "closeSession":
		add("-b cookies.txt")
	}
	if o.Scheme == "accessToken" {
		add(`-H "Authorization: Bearer $TOKEN"`)
	}
	body := openapi.Body{}
	if len(o.Bodies) > 0 {
		body = o.Bodies[0]
	}
	if o.Method != "GET" && (o.Method != "POST" || body.Example == "") {
		add("-X " + o.Method)
	}
	if o.ID == "streamEvents" {
		add("-N")
	}
	if o.ID == "getFile" || o.ID == "getHazardPageFile" {
		add("-OJ")
	}
	path, query := o.Path, ""
	for _, p := range o.Parameters {
		switch p.In {
		case "path":
			path = strings.ReplaceAll(path, "{"+p.Name+"}", p.Example)
		case "query":
			if query == "" && p.Example != "" {
				query = "?" + p.Name + "=" + urlWords.Replace(p.Example)
			}
		}
	}
	if i := slices.IndexFunc(o.Bodies, func(b openapi.Body) bool { return b.MediaType == "application/x-www-form-urlencoded" }); i >= 0 {
		add("--data-urlencode username=ada --data-urlencode 'password=umbrella trombone quartz lagoon'")
	} else if body.Example != "" {
		add("-H 'Content-Type: " + body.MediaType + "'")
	}
	if form := slices.ContainsFunc(words, func(w string) bool { return strings.HasPrefix(w, "--data-urlencode") }); body.Example != "" && !form {
		add("-d '" + strings.ReplaceAll(body.Example, "'", `'\''`) + "'")
	}
	command := "curl '" + base + path + query + "'"
	for _, w := range words {
		if command += " "; len(command)-strings.LastIndexByte(command, '\n')+len(w) > line {
			command += "\\\n  "
		}
		command += w
	}
	return command
}

// line is the maximum length of a line of a command, in characters.
const line = 96

// urlWords escapes characters with a special meaning in a query or in the shell.
var urlWords = strings.NewReplacer(" ", "%20", "'", "%27", `"`, "%22", "+", "%2B")
