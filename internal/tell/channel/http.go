package channel

import (
	"bytes"
	"context"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"text/template"
	"unicode/utf8"

	"go.yaml.in/yaml/v4"

	"github.com/hazardd/hazardd/internal/auth/secret"
	"github.com/hazardd/hazardd/internal/net/outbound"
	"github.com/hazardd/hazardd/internal/tell/message"
)

//go:embed templates/*.yaml
var readyFiles embed.FS

// Recipe says how a notice is sent to a kind of service. It is built in or written by the operator.
// docs/tell.md describes its members.
type Recipe struct {
	About string `yaml:"about"`
	// Template names the built-in recipe that supplies missing members.
	Template string `yaml:"template"`
	// To is the form of addresses of the channel: "url", or a regular expression for the whole address.
	To      string            `yaml:"to"`
	Hosts   []string          `yaml:"hosts"` // for To: url, the allowed hosts; with a dot in front, their suffixes; none allows all
	Path    string            `yaml:"path"`  // for To: url, a regular expression for its path
	Method  string            `yaml:"method"`
	URL     string            `yaml:"url"`
	Headers map[string]string `yaml:"headers"`
	Body    string            `yaml:"body"`
	Gone    []int             `yaml:"gone"` // statuses that mean that the address is dead
	Needs   []string          `yaml:"needs"`
	// Person means that an address is a person's, who must agree before messages come, as with email.
	Person *bool `yaml:"person"`

	// Only in the operator's recipes.
	Server     string            `yaml:"server"`
	Secret     string            `yaml:"secret"`
	SecretFile string            `yaml:"secret_file"`
	Set        map[string]string `yaml:"set"`
	Limit      Limits            `yaml:"limit"`
}

// service is a parsed recipe.
type service struct {
	Recipe
	to, path  *regexp.Regexp
	url, body *template.Template
	headers   map[string]*template.Template
}

// Web sends notices to HTTP services, each by its recipe.
type Web struct {
	targets  outbound.Targets
	clients  outbound.Clients
	services map[string]*service
	limited  map[string]*limiter
}

// The limits of recipes and their messages, in bytes.
const (
	maxRecipe = 64 << 10
	maxBody   = 256 << 10
	maxTo     = 2000
)

// Ready returns the built-in recipes by name.
func Ready() (map[string]Recipe, error) {
	entries, err := readyFiles.ReadDir("templates")
	if err != nil {
		return nil, err
	}
	all := map[string]Recipe{}
	for _, e := range entries {
		text, err := readyFiles.ReadFile("templates/" + e.Name())
		if err != nil {
			return nil, err
		}
		r, err := parseRecipe(text)
		if err != nil {
			return nil, fmt.Errorf("template %s: %w", e.Name(), err)
		}
		all[strings.TrimSuffix(e.Name(), ".yaml")] = r
	}
	return all, nil
}

func parseRecipe(text []byte) (r Recipe, err error) {
	dec := yaml.NewDecoder(bytes.NewReader(text))
	dec.KnownFields(true)
	err = dec.Decode(&r)
	return r, err
}

// Recipes reads the operator's channels, the files NAME.yaml of a folder, and the files of their
// secrets.
func Recipes(dir string) (map[string]Recipe, error) {
	files, err := filepath.Glob(filepath.Join(dir, "*.yaml"))
	if err != nil {
		return nil, err
	}
	if _, err := os.Stat(dir); err != nil {
		return nil, fmt.Errorf("channels: %w", err)
	}
	all := map[string]Recipe{}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".yaml")
		if !channelName.MatchString(name) {
			return nil, fmt.Errorf("channels: %s: expected a name of lower-case letters, digits and hyphens", file)
		}
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, fmt.Errorf("channels: %w", err)
		}
		if len(text) > maxRecipe {
			return nil, fmt.Errorf("channels: %s has %d bytes, at most %d are read", file, len(text), maxRecipe)
		}
		r, err := parseRecipe(text)
		if err != nil {
			return nil, fmt.Errorf("channels: %s: %w", file, err)
		}
		if r.SecretFile != "" {
			path := r.SecretFile
			if !filepath.IsAbs(path) {
				path = filepath.Join(dir, path)
			}
			text, err := os.ReadFile(secret.Path(path))
			if err != nil {
				return nil, fmt.Errorf("channels: %s: secret_file: %w", file, err)
			}
			r.Secret = strings.TrimSpace(string(text))
		}
		all[name] = r
	}
	return all, nil
}

var channelName = regexp.MustCompile(`^[a-z0-9][a-z0-9-]{0,31}$`)

// NewWeb makes a Web of the operator's recipes, by the names of their channels.
func NewWeb(recipes map[string]Recipe, targets outbound.Targets) (*Web, error) {
	ready, err := Ready()
	if err != nil {
		return nil, err
	}
	w := &Web{targets: targets, services: map[string]*service{}, limited: map[string]*limiter{}}
	for name, r := range recipes {
		s, err := newService(r, ready)
		if err != nil {
			return nil, fmt.Errorf("channel %s: %w", name, err)
		}
		w.services[name] = s
		w.limited[name] = newLimiter(s.Limit)
	}
	w.clients = w.targets.Clients(maxIdle)
	return w, nil
}

// Names returns the names of the channels, with what each expects as its address.
func (w *Web) Names() map[string]string {
	names := map[string]string{}
	for name, s := range w.services {
		names[name] = s.About
	}
	return names
}

// Person reports whether the addresses of a channel are those of persons.
func (w *Web) Person(name string) bool {
	s := w.services[name]
	return s != nil && s.Person != nil && *s.Person
}

// Close closes idle connections.
func (w *Web) Close() { w.clients.Close() }

func newService(r Recipe, ready map[string]Recipe) (*service, error) {
	if r.Template != "" {
		base, ok := ready[r.Template]
		if !ok {
			return nil, fmt.Errorf("template %q: expected one of %q", r.Template, slices.Sorted(keys(ready)))
		}
		r = r.over(base)
	}
	s := &service{Recipe: r, headers: map[string]*template.Template{}}
	for _, need := range r.Needs {
		if have := map[string]string{"secret": r.Secret, "server": r.Server}[need]; have == "" && r.Set[need] == "" {
			return nil, fmt.Errorf("%s is missing (secret, secret_file and server stand by themselves, all else below set)", need)
		}
	}
	if r.To == "" || r.URL == "" || r.Body == "" {
		return nil, errors.New("expected template, or to, url and body")
	}
	s.Method = strings.ToUpper(s.Method)
	if s.Method == "" {
		s.Method = http.MethodPost
	}
	if !slices.Contains([]string{http.MethodPost, http.MethodPut}, s.Method) {
		return nil, fmt.Errorf("method %q: expected POST or PUT", s.Method)
	}
	var err error
	if r.To != "url" {
		if s.to, err = regexp.Compile(`\A(?:` + r.To + `)\z`); err != nil {
			return nil, fmt.Errorf("to: %w", err)
		}
	}
	if s.path, err = regexp.Compile(r.Path); err != nil {
		return nil, fmt.Errorf("path: %w", err)
	}
	if s.url, err = parseTemplate("url", r.URL); err != nil {
		return nil, err
	}
	if s.body, err = parseTemplate("body", r.Body); err != nil {
		return nil, err
	}
	for name, text := range r.Headers {
		if s.headers[name], err = parseTemplate("headers "+name, text); err != nil {
			return nil, err
		}
	}
	// An example finds errors at the start, not when a message is sent.
	if _, _, _, err := s.request("https://example.org/example", message.View{ID: "example", Subject: "example", Text: "example", Items: []message.ViewItem{{}}}); err != nil {
		return nil, err
	}
	return s, nil
}

func keys(m map[string]Recipe) func(func(string) bool) {
	return func(yield func(string) bool) {
		for k := range m {
			if !yield(k) {
				return
			}
		}
	}
}

// over returns the recipe with missing members from base.
func (r Recipe) over(base Recipe) Recipe {
	out := base
	for _, m := range []struct{ to, from *string }{{&out.To, &r.To}, {&out.Path, &r.Path}, {&out.Method, &r.Method}, {&out.URL, &r.URL}, {&out.Body, &r.Body}, {&out.About, &r.About}} {
		if *m.from != "" {
			*m.to = *m.from
		}
	}
	if r.Hosts != nil {
		out.Hosts = r.Hosts
	}
	if r.Gone != nil {
		out.Gone = r.Gone
	}
	if r.Person != nil {
		out.Person = r.Person
	}
	if r.Headers != nil {
		out.Headers = map[string]string{}
		for k, v := range base.Headers {
			out.Headers[k] = v
		}
		for k, v := range r.Headers {
			out.Headers[k] = v
		}
	}
	out.Server, out.Secret, out.Set, out.Limit, out.Template = strings.TrimRight(r.Server, "/"), r.Secret, r.Set, r.Limit, r.Template
	return out
}

// functions are the functions of templates besides those of text/template.
var functions = template.FuncMap{
	"json":   func(v any) (string, error) { b, err := json.Marshal(v); return string(b), err },
	"query":  url.QueryEscape,
	"path":   url.PathEscape,
	"base64": func(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) },
	"hash":   func(s string) string { sum := sha256.Sum256([]byte(s)); return hex.EncodeToString(sum[:16]) },
	"cut":    cutText,
	"slack":  slackText.Replace,
	"origin": func(address string) (string, error) {
		u, err := url.Parse(address)
		if err != nil {
			return "", errors.New("not an address")
		}
		return u.Scheme + "://" + u.Host, nil
	},
	"base": func(address string) (string, error) {
		u, err := url.Parse(address)
		if err != nil {
			return "", errors.New("not an address")
		}
		return u.Path[strings.LastIndexByte(u.Path, '/')+1:], nil
	},
}

// cutText returns a text of at most limit characters.
func cutText(limit int, s string) string {
	if utf8.RuneCountInString(s) <= limit {
		return s
	}
	return string([]rune(s)[:max(limit-1, 0)]) + "…"
}

func parseTemplate(name, text string) (*template.Template, error) {
	return template.New(name).Option("missingkey=zero").Funcs(functions).Parse(text)
}

// data is the data of templates.
type data struct {
	message.View
	To, Secret, Server string
	Set                map[string]string
}

// request returns the address, header and body of a message.
func (s *service) request(to string, v message.View) (address string, header http.Header, body string, err error) {
	d := data{View: v, To: to, Secret: s.Secret, Server: s.Server, Set: s.Set}
	if d.Set == nil {
		d.Set = map[string]string{}
	}
	render := func(t *template.Template) (string, error) {
		var b bytes.Buffer
		if err := t.Execute(&limitedWriter{&b}, d); err != nil {
			return "", err
		}
		return b.String(), nil
	}
	if address, err = render(s.url); err != nil {
		return "", nil, "", err
	}
	if body, err = render(s.body); err != nil {
		return "", nil, "", err
	}
	header = http.Header{}
	for name, t := range s.headers {
		value, err := render(t)
		if err != nil {
			return "", nil, "", err
		}
		if strings.ContainsAny(value, "\r\n\x00") {
			return "", nil, "", fmt.Errorf("header %s: more than a line", name)
		}
		if value != "" {
			header.Set(name, value)
		}
	}
	if strings.HasPrefix(header.Get("Content-Type"), "application/json") && !json.Valid([]byte(body)) {
		return "", nil, "", errors.New("body: not JSON; write {{json .Text}} for a text with its quotes")
	}
	return address, header, body, nil
}

// limitedWriter returns an error if a message becomes too large.
type limitedWriter struct{ *bytes.Buffer }

func (w *limitedWriter) Write(p []byte) (int, error) {
	if w.Len()+len(p) > maxBody {
		return 0, errors.New("larger than a message may be")
	}
	return w.Buffer.Write(p)
}

// Check returns what is wrong with an address.
func (w *Web) Check(to Address) error {
	s, ok := w.services[to.Template]
	if !ok {
		return fmt.Errorf("template: %w: expected one of %q", ErrDisabled, slices.Sorted(names(w.services)))
	}
	return s.check(&w.targets, to.To)
}

func names(m map[string]*service) func(func(string) bool) {
	return func(yield func(string) bool) {
		for k := range m {
			if !yield(k) {
				return
			}
		}
	}
}

func (s *service) check(targets *outbound.Targets, to string) error {
	expected := fmt.Errorf("not an address of this channel: expected %s", s.About)
	if len(to) > maxTo {
		return expected
	}
	if s.to != nil {
		if !s.to.MatchString(to) {
			return expected
		}
		return nil
	}
	u, err := url.Parse(to)
	if err != nil || targets.Check(to) != nil || !s.path.MatchString(u.Path) {
		return expected
	}
	host := strings.ToLower(u.Hostname())
	if len(s.Hosts) > 0 && !slices.ContainsFunc(s.Hosts, func(h string) bool { return host == h || strings.HasPrefix(h, ".") && strings.HasSuffix(host, h) }) {
		return expected
	}
	return nil
}

// Send sends a notice to an HTTP service.
func (w *Web) Send(ctx context.Context, to Address, n message.Notice) error {
	s, ok := w.services[to.Template]
	if !ok {
		return fmt.Errorf("%v: %w", to, ErrDisabled)
	}
	if err := s.check(&w.targets, to.To); err != nil {
		return fmt.Errorf("%v: the address is not one of this channel: %w", to, Gone)
	}
	if err := w.limited[to.Template].wait(ctx, to); err != nil {
		return err
	}
	address, header, body, err := s.request(to.To, n.View())
	if err != nil { // the error may contain parts of the message
		return fmt.Errorf("%v: the template cannot write this message: %w", to, Refused)
	}
	ctx, cancel := context.WithTimeout(ctx, outbound.AttemptTimeout)
	defer cancel()
	status, wait, err := w.targets.Exchange(ctx, w.clients, s.Method, address, header, body)
	return result(to, "service", status, wait, err, s.Gone...)
}
