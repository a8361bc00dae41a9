package deploy_test

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net/http"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"go.yaml.in/yaml/v4"

	"github.com/hazardd/hazardd/internal/test/nginx"
)

// read returns the text of a file of the repository.
func read(t testing.TB, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(nginx.Root(t), name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

var variable = regexp.MustCompile(`HAZARDD_[A-Z0-9]+(?:_[A-Z0-9]+)*`)

// known returns the variables in the program's help.
func known(t *testing.T) map[string]bool {
	t.Helper()
	all := map[string]bool{}
	for _, command := range []string{"help settings", "--help", "serve --help-all"} {
		out, errs, status := hazardd(t, "", nil, strings.Fields(command)...)
		if status != 0 {
			t.Fatalf("hazardd %s: %s", command, errs)
		}
		for _, name := range variable.FindAllString(out, -1) {
			all[name] = true
			if strings.HasPrefix(name, "HAZARDD_S3_") { // a secret, which may be in a file
				all[name+"_FILE"] = true
			}
		}
	}
	if len(all) < 20 {
		t.Fatalf("hazardd help settings names %d variables", len(all))
	}
	return all
}

func TestEveryVariableIsTheProgramsOwn(t *testing.T) {
	known := known(t)
	for _, file := range []string{"deploy/nginx.conf", "deploy/hazardd.service", "deploy/compose.yaml", "deploy/kubernetes.yaml", "deploy/Dockerfile", "docs/operate.md", "docs/cluster.md"} {
		named := variable.FindAllString(read(t, file), -1)
		if len(named) == 0 && strings.HasPrefix(file, "deploy/") {
			t.Errorf("%s does not name a variable", file)
		}
		for _, name := range named {
			if !known[name] && name != "HAZARDD_PORT" { // Kubernetes would set this one
				t.Errorf("%s: %s is no setting", file, name)
			}
		}
	}
}

// takes checks that serve accepts the settings. It uses an impossible database, so that serve ends
// there. A status of 2 means that a setting is wrong.
func takes(t *testing.T, env map[string]string) {
	t.Helper()
	list := []string{}
	for name, value := range env {
		switch {
		case name == "HAZARDD_DATA":
			value = t.TempDir()
		case strings.HasPrefix(name, "HAZARDD_") && strings.HasSuffix(name, "_FILE"):
			value = filepath.Join(t.TempDir(), "secret")
			if err := os.WriteFile(value, []byte("secret"), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		list = append(list, name+"="+value)
	}
	if _, errs, status := hazardd(t, "", list, "serve", "--database", "none:"); status != 1 || !strings.Contains(errs, "database") {
		t.Errorf("hazardd serve with %v: status %d: %s", env, status, errs)
	}
}

// hasKeys demands the keys that a service needs to come back (app.NeededKeys) where nodes have no data
// folder of their own: without them there are no
// subscriptions, or a restored database sends no messages.
func hasKeys(t *testing.T, who string, env map[string]string, given func(file string) bool) {
	t.Helper()
	for _, name := range []string{"HAZARDD_ADDRESS_KEY", "HAZARDD_WEBPUSH_KEY"} {
		if !given(env[name]) {
			t.Errorf("%s has no key %s: %q", who, name, env[name])
		}
	}
}

// Defaults of hazardd that the files must match.
const (
	grace      = 10 * time.Second
	allStreams = 10_000
	port       = 8080
)

func TestTheDefaultsThatFilesFitAreTheProgramsOwn(t *testing.T) {
	text := read(t, "docs/configuration.md")
	for _, row := range []string{"| `--grace` | `HAZARDD_GRACE` | `10s` |", "| `--all-streams` | `HAZARDD_ALL_STREAMS` | `10000` |", "| `--max-file` | `HAZARDD_MAX_FILE` | `32MiB` |"} {
		if !strings.Contains(text, row) {
			t.Errorf("docs/configuration.md has no %q: files of this folder go by it", row)
		}
	}
}

// ---- systemd

// unit returns the unit of systemd: the values of each setting, in order.
func unit(t *testing.T) map[string][]string {
	t.Helper()
	settings := map[string][]string{}
	for line := range strings.Lines(read(t, "deploy/hazardd.service")) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") || strings.HasPrefix(line, "[") {
			continue
		}
		name, value, ok := strings.Cut(line, "=")
		if !ok {
			t.Fatalf("hazardd.service: %q is no setting", line)
		}
		settings[name] = append(settings[name], value)
	}
	return settings
}

func TestTheUnitFitsTheProgram(t *testing.T) {
	u := unit(t)
	command := strings.Fields(u["ExecStart"][0])
	if command[0] != "/usr/local/bin/hazardd" || !slices.Equal(command[1:], []string{"serve"}) {
		t.Errorf("ExecStart is %q", command)
	}
	env := map[string]string{}
	for _, line := range u["Environment"] {
		for pair := range strings.FieldsSeq(line) {
			name, value, _ := strings.Cut(pair, "=")
			env[name] = value
		}
	}
	takes(t, env)
	if env["HAZARDD_DATA"] != "/var/lib/"+u["StateDirectory"][0] {
		t.Errorf("the data folder is %s, the state's /var/lib/%s", env["HAZARDD_DATA"], u["StateDirectory"][0])
	}
	if stop, err := time.ParseDuration(u["TimeoutStopSec"][0]); err != nil || stop <= grace {
		t.Errorf("TimeoutStopSec is %v (%v), which is shorter than the grace period of %v", stop, err, grace)
	}
	if n, err := strconv.Atoi(u["LimitNOFILE"][0]); err != nil || n <= 2*allStreams {
		t.Errorf("LimitNOFILE is %d (%v), too few for %d streams", n, err, allStreams)
	}
	if u["LoadCredential"][1] != "secrets:/etc/hazardd/secrets" {
		t.Errorf("the credentials are %v", u["LoadCredential"])
	}
	credential, path, _ := strings.Cut(u["LoadCredential"][0], ":")
	if env["PGPASSFILE"] != "%d/"+credential || path != "/etc/hazardd/pgpass" {
		t.Errorf("PGPASSFILE is %s, the credential %s from %s", env["PGPASSFILE"], credential, path)
	}
}

func TestSystemdTakesTheUnit(t *testing.T) {
	analyze, err := exec.LookPath("systemd-analyze")
	if err != nil {
		t.Skip("needs systemd-analyze (Debian's package systemd)")
	}
	dir := t.TempDir()
	for _, unit := range []string{"hazardd.service", "hazardd-backup.service", "hazardd-backup.timer"} {
		text := strings.ReplaceAll(read(t, "deploy/"+unit), "/usr/local/bin/hazardd", program)
		if err := os.WriteFile(filepath.Join(dir, unit), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, unit := range []string{"hazardd.service", "hazardd-backup.service", "hazardd-backup.timer"} {
		file := filepath.Join(dir, unit)
		if out, err := exec.CommandContext(t.Context(), analyze, "verify", "--man=no", file).CombinedOutput(); err != nil || len(out) > 0 {
			t.Errorf("systemd-analyze verify: %v\n%s", err, out)
		}
		if filepath.Ext(unit) != ".service" {
			continue
		}
		// From 0 to 100, where 100 is fully open. The remaining exposure is the network.
		if out, err := exec.CommandContext(t.Context(), analyze, "security", "--offline=true", "--no-pager", "--threshold=15", file).CombinedOutput(); err != nil {
			t.Errorf("systemd-analyze security: %v\n%s", err, out)
		}
	}
}

// The sites for one node are accepted by the servers that they are for, beside the files of the system.
func TestTheSitesOfOneNodeAreAccepted(t *testing.T) {
	t.Run("nginx", func(t *testing.T) {
		program := nginx.Program(t)
		dir := t.TempDir()
		cert, key := selfSigned(t, dir)
		site := strings.NewReplacer("/etc/ssl/hazardd/fullchain.pem", cert, "/etc/ssl/hazardd/key.pem", key, "/var/log/nginx/", dir+"/").Replace(read(t, "deploy/nginx-site.conf"))
		main := "pid " + dir + "/pid;\nerror_log " + dir + "/error;\nevents {}\nhttp {\ninclude " + dir + "/site;\n}\n"
		for name, text := range map[string]string{"site": site, "nginx.conf": main} {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if out, err := exec.CommandContext(t.Context(), program, "-t", "-q", "-c", filepath.Join(dir, "nginx.conf")).CombinedOutput(); err != nil {
			t.Errorf("nginx -t: %v\n%s", err, out)
		}
	})
	t.Run("Caddy", func(t *testing.T) {
		caddy, err := exec.LookPath("caddy")
		if err != nil {
			t.Skip("needs caddy (Debian's package caddy), which .ci/needs installs")
		}
		file := filepath.Join(nginx.Root(t), "deploy/Caddyfile")
		if out, err := exec.CommandContext(t.Context(), caddy, "validate", "--adapter", "caddyfile", "--config", file).CombinedOutput(); err != nil {
			t.Errorf("caddy validate: %v\n%s", err, out)
		}
	})
}

// selfSigned returns the files of a certificate and its key.
func selfSigned(t *testing.T, dir string) (cert, key string) {
	t.Helper()
	pair, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.CreateCertificate(rand.Reader, &x509.Certificate{SerialNumber: big.NewInt(1)}, &x509.Certificate{SerialNumber: big.NewInt(1)}, pair.Public(), pair)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(pair)
	if err != nil {
		t.Fatal(err)
	}
	cert, key = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	for file, block := range map[string]*pem.Block{cert: {Type: "CERTIFICATE", Bytes: der}, key: {Type: "PRIVATE KEY", Bytes: secret}} {
		if err := os.WriteFile(file, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return cert, key
}

// ---- container

func TestTheImageIsBuiltAsTheProgramIs(t *testing.T) {
	file := read(t, "deploy/Dockerfile")
	goVersion := regexp.MustCompile(`(?m)^go (\d+\.\d+)`).FindStringSubmatch(read(t, "go.mod"))[1]
	if !strings.Contains(file, "\nFROM golang:"+goVersion+"-") {
		t.Errorf("the image is not built by Go %s, go.mod's", goVersion)
	}
	node := regexp.MustCompile(`\nFROM node:(\d+)-`).FindStringSubmatch(file)
	least := regexp.MustCompile(`"node": ">=(\d+)\.`).FindStringSubmatch(read(t, "web/package.json"))
	if node == nil || least == nil || atoi(t, node[1]) <= atoi(t, least[1]) {
		t.Errorf("the map is built with Node.js %v, package.json requires %v", node, least)
	}
	if !strings.Contains(read(t, "Makefile"), `CGO_ENABLED=0 go build -trimpath -ldflags '-s -w -X main.version=$(VERSION)'`) ||
		!strings.Contains(file, `CGO_ENABLED=0 go build -trimpath -ldflags "-s -w -X main.version=${VERSION}"`) {
		t.Error("the image's program is not built as make builds it")
	}
	_, final, ok := strings.Cut(file, "\nFROM scratch\n")
	if !ok || strings.Contains(final, "FROM ") {
		t.Fatal("the image is not from scratch")
	}
	env := map[string]string{}
	for pair := range strings.FieldsSeq(regexp.MustCompile(`(?m)^ENV (.*)$`).FindStringSubmatch(final)[1]) {
		name, value, _ := strings.Cut(pair, "=")
		env[name] = value
	}
	takes(t, env)
	if !strings.HasSuffix(env["HAZARDD_LISTEN"], fmt.Sprintf(":%d", port)) || !strings.Contains(final, fmt.Sprintf("\nEXPOSE %d\n", port)) {
		t.Errorf("the image listens on %s", env["HAZARDD_LISTEN"])
	}
	if !strings.Contains(file, "mkdir -m 700 /empty") {
		t.Error("a new volume is a folder that hazardd refuses: others can read it")
	}
	if !strings.Contains(final, "--chown=65532:65532 /empty "+env["HAZARDD_DATA"]) || !strings.Contains(final, "\nUSER 65532:65532\n") {
		t.Error("the user of the image cannot write to the data folder")
	}
	// Copied files exist, and files needed in the image are not excluded.
	for _, m := range regexp.MustCompile(`(?m)^COPY ([^-].*) \S+$`).FindAllStringSubmatch(file, -1) {
		for name := range strings.FieldsSeq(m[1]) {
			if _, err := os.Stat(filepath.Join(nginx.Root(t), name)); err != nil {
				t.Errorf("COPY: %v", err)
			}
		}
	}
}

func TestWhatDockerLeavesOutIsNotPartOfTheProgram(t *testing.T) {
	cmd := exec.CommandContext(t.Context(), "go", "list", "-deps", "-f", `{{if .Module}}{{if .Module.Main}}{{range .GoFiles}}{{$.Dir}}/{{.}}
{{end}}{{range .EmbedFiles}}{{$.Dir}}/{{.}}
{{end}}{{end}}{{end}}`, "./cmd/hazardd")
	root := nginx.Root(t)
	cmd.Dir = root
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	files := strings.Fields(string(out))
	if len(files) < 100 {
		t.Fatalf("the program consists of %d files", len(files))
	}
	for pattern := range strings.FieldsSeq(read(t, "deploy/Dockerfile.dockerignore")) {
		if pattern == "web/dist" { // the image builds it anew
			continue
		}
		for _, file := range files {
			if strings.HasPrefix(file, filepath.Join(root, pattern)+"/") {
				t.Errorf("%s leaves out %s, which is part of the program", pattern, file)
			}
		}
	}
}

func atoi(t testing.TB, text string) int {
	t.Helper()
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// ---- nginx

var upstreams = regexp.MustCompile(`(?s)upstream (\w+) \{(.*?)\n    \}`)

// servers returns the nodes of each upstream of nginx.conf.
func servers(t *testing.T) map[string][]string {
	t.Helper()
	all := map[string][]string{}
	for _, m := range upstreams.FindAllStringSubmatch(read(t, "deploy/nginx.conf"), -1) {
		for _, s := range regexp.MustCompile(`server (\S+)`).FindAllStringSubmatch(m[2], -1) {
			all[m[1]] = append(all[m[1]], s[1])
		}
	}
	return all
}

func TestEachUpstreamHasTheSameNodes(t *testing.T) {
	all := servers(t)
	want := []string{"hazardd-1:8080", "hazardd-2:8080", "hazardd-3:8080"}
	for _, name := range []string{"hazardd_reads", "hazardd_writes", "hazardd_streams", "hazardd_files"} {
		if !slices.Equal(all[name], want) {
			t.Errorf("%s: %v, want %v", name, all[name], want)
		}
		if !strings.Contains(read(t, "deploy/nginx.conf"), "proxy_pass http://"+name+";") {
			t.Errorf("%s is not used", name)
		}
	}
	if len(all) != 4 {
		t.Errorf("%d upstreams", len(all))
	}
}

// ---- Compose

type compose struct {
	Services map[string]struct {
		Image       string
		Command     []string
		Environment map[string]string
		Secrets     []string
		Volumes     []string
		Ports       []string
		Networks    any
		Healthcheck struct{ Test []string }
		Ulimits     map[string]int
		StopGrace   string `yaml:"stop_grace_period"`
		Build       struct{ Context, Dockerfile string }
		DependsOn   any `yaml:"depends_on"`
	}
	Networks map[string]struct {
		IPAM struct{ Config []struct{ Subnet string } }
	}
	Volumes map[string]any
	Secrets map[string]struct{ File string }
}

func TestComposeFitsTheImageAndNginx(t *testing.T) {
	var c compose
	if err := yaml.Load([]byte(read(t, "deploy/compose.yaml")), &c, yaml.WithV3Defaults()); err != nil {
		t.Fatal(err)
	}
	var nodes []string
	subnet, err := netip.ParsePrefix(c.Networks["inside"].IPAM.Config[0].Subnet)
	if err != nil {
		t.Fatal(err)
	}
	addresses := map[string]bool{}
	for name, s := range c.Services {
		if len(s.Healthcheck.Test) < 2 {
			t.Errorf("%s has no health check", name)
		}
		for _, secret := range s.Secrets {
			if c.Secrets[secret].File == "" {
				t.Errorf("%s: the secret %s does not exist", name, secret)
			}
		}
		for _, v := range s.Volumes {
			from, _, _ := strings.Cut(v, ":")
			if _, declared := c.Volumes[from]; !declared && !strings.HasPrefix(from, "./") {
				t.Errorf("%s: the volume %s does not exist", name, from)
			}
		}
		if !strings.HasPrefix(name, "hazardd-") {
			continue
		}
		nodes = append(nodes, fmt.Sprintf("%s:%d", name, port))
		takes(t, s.Environment)
		if s.Environment["HAZARDD_TRUSTED_PROXIES"] != subnet.String() {
			t.Errorf("%s trusts %s, nginx is in %s", name, s.Environment["HAZARDD_TRUSTED_PROXIES"], subnet)
		}
		if file := s.Environment["PGPASSFILE"]; !slices.Contains(s.Secrets, strings.TrimPrefix(file, "/run/secrets/")) {
			t.Errorf("%s: PGPASSFILE is %s, the secrets are %v", name, file, s.Secrets)
		}
		hasKeys(t, name, s.Environment, func(file string) bool { return slices.Contains(s.Secrets, strings.TrimPrefix(file, "/run/secrets/")) })
		if stop, err := time.ParseDuration(s.StopGrace); err != nil || stop <= grace {
			t.Errorf("%s: stop_grace_period %q (%v) cuts the grace of %v", name, s.StopGrace, err, grace)
		}
		if s.Ulimits["nofile"] <= 2*allStreams {
			t.Errorf("%s: %d descriptors are too few for %d streams", name, s.Ulimits["nofile"], allStreams)
		}
		if _, err := os.Stat(filepath.Join(nginx.Root(t), "deploy", s.Build.Context, s.Build.Dockerfile)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		network, _ := s.Networks.(map[string]any)["inside"].(map[string]any)
		address, _ := network["ipv4_address"].(string)
		if ip, err := netip.ParseAddr(address); err != nil || !subnet.Contains(ip) || addresses[address] {
			t.Errorf("%s: the address %q is not one of its own in %s", name, address, subnet)
		}
		addresses[address] = true
		if s.Healthcheck.Test[1] != "/hazardd" {
			t.Errorf("%s: health check %v", name, s.Healthcheck.Test)
		} else if _, _, status := hazardd(t, "", nil, append(s.Healthcheck.Test[2:], "--help")...); status != 0 {
			t.Errorf("%s: the health check is no command: %v", name, s.Healthcheck.Test)
		}
	}
	slices.Sort(nodes)
	if want := servers(t)["hazardd_reads"]; !slices.Equal(nodes, want) {
		t.Errorf("the nodes are %v, nginx's %v", nodes, want)
	}
	config, front := read(t, "deploy/nginx.conf"), c.Services["nginx"]
	for _, volume := range front.Volumes {
		parts := strings.Split(volume, ":")
		if parts[1] == "/etc/nginx/tls" {
			continue
		}
		if _, err := os.Stat(filepath.Join(nginx.Root(t), "deploy", parts[0])); err != nil || parts[1] != "/etc/nginx/nginx.conf" {
			t.Errorf("nginx: %s: %v", volume, err)
		}
	}
	if !strings.Contains(config, "ssl_certificate /etc/nginx/tls/") {
		t.Error("nginx.conf's certificate is not where Compose puts it")
	}
	for _, p := range front.Ports {
		_, inside, _ := strings.Cut(p, ":")
		if !regexp.MustCompile(`listen ` + inside + `\b`).MatchString(config) {
			t.Errorf("nginx does not listen on %s", inside)
		}
	}
	limit := regexp.MustCompile(`worker_rlimit_nofile (\d+);`).FindStringSubmatch(config)
	connections := regexp.MustCompile(`worker_connections (\d+);`).FindStringSubmatch(config)
	if front.Ulimits["nofile"] < atoi(t, limit[1]) || atoi(t, limit[1]) < 2*atoi(t, connections[1]) {
		t.Errorf("descriptors: the container's %d, nginx's %s for %s connections", front.Ulimits["nofile"], limit[1], connections[1])
	}
}

// ---- Kubernetes

type object struct {
	APIVersion string `yaml:"apiVersion"`
	Kind       string
	Metadata   struct {
		Name   string
		Labels map[string]string
	}
	Spec yaml.Node
}

type labels struct {
	MatchLabels map[string]string `yaml:"matchLabels"`
}

type probe struct {
	HTTPGet struct{ Path, Port string } `yaml:"httpGet"`
}

type deployment struct {
	Replicas int
	Selector labels
	Template struct {
		Metadata struct{ Labels map[string]string }
		Spec     struct {
			EnableServiceLinks            *bool `yaml:"enableServiceLinks"`
			TerminationGracePeriodSeconds int   `yaml:"terminationGracePeriodSeconds"`
			SecurityContext               struct {
				RunAsNonRoot bool `yaml:"runAsNonRoot"`
				RunAsUser    int  `yaml:"runAsUser"`
			} `yaml:"securityContext"`
			Affinity struct {
				PodAntiAffinity map[string]any `yaml:"podAntiAffinity"`
			}
			Containers []struct {
				Name           string
				Image          string
				Args           []string
				Env            []struct{ Name, Value string }
				Ports          []map[string]any `yaml:"ports"`
				StartupProbe   probe            `yaml:"startupProbe"`
				ReadinessProbe probe            `yaml:"readinessProbe"`
				LivenessProbe  probe            `yaml:"livenessProbe"`
				Resources      struct {
					Requests, Limits map[string]string
				}
				SecurityContext struct {
					AllowPrivilegeEscalation *bool `yaml:"allowPrivilegeEscalation"`
					ReadOnlyRootFilesystem   bool  `yaml:"readOnlyRootFilesystem"`
					Capabilities             struct{ Drop []string }
				} `yaml:"securityContext"`
				VolumeMounts []struct {
					Name      string
					MountPath string `yaml:"mountPath"`
				} `yaml:"volumeMounts"`
			}
			Volumes []struct {
				Name   string
				Secret *struct {
					SecretName string `yaml:"secretName"`
				}
				EmptyDir map[string]any `yaml:"emptyDir"`
			}
		}
	}
}

// objects returns the documents of kubernetes.yaml by kind.
func objects(t *testing.T) map[string]object {
	t.Helper()
	all := map[string]object{}
	decoder := yaml.NewDecoder(strings.NewReader(read(t, "deploy/kubernetes.yaml")))
	for {
		var o object
		err := decoder.Decode(&o)
		if errors.Is(err, io.EOF) {
			return all
		}
		if err != nil {
			t.Fatal(err)
		}
		if _, again := all[o.Kind]; again || o.Metadata.Name != "hazardd" {
			t.Errorf("%s %s: defined twice, or with another name", o.Kind, o.Metadata.Name)
		}
		all[o.Kind] = o
	}
}

// spec reads an object's specification.
func spec(t *testing.T, o object, into any) {
	t.Helper()
	if err := o.Spec.Decode(into); err != nil {
		t.Fatalf("%s: %v", o.Kind, err)
	}
}

func TestTheKubernetesObjectsFitEachOther(t *testing.T) {
	all := objects(t)
	for kind, version := range map[string]string{"Deployment": "apps/v1", "PodDisruptionBudget": "policy/v1", "Service": "v1", "Ingress": "networking.k8s.io/v1"} {
		if all[kind].APIVersion != version {
			t.Errorf("%s is of %q, want %s", kind, all[kind].APIVersion, version)
		}
	}
	var d deployment
	spec(t, all["Deployment"], &d)
	pod := d.Template.Spec
	if len(pod.Containers) != 1 {
		t.Fatalf("%d containers", len(pod.Containers))
	}
	c := pod.Containers[0]
	env := map[string]string{}
	for _, e := range c.Env {
		env[e.Name] = e.Value
	}

	var service struct {
		Selector map[string]string
		Ports    []struct {
			Name       string
			TargetPort string `yaml:"targetPort"`
		}
	}
	spec(t, all["Service"], &service)
	var budget struct {
		MaxUnavailable int `yaml:"maxUnavailable"`
		Selector       labels
	}
	spec(t, all["PodDisruptionBudget"], &budget)
	for who, selector := range map[string]map[string]string{"Deployment": d.Selector.MatchLabels, "Service": service.Selector, "PodDisruptionBudget": budget.Selector.MatchLabels} {
		if len(selector) == 0 {
			t.Errorf("%s selects nothing", who)
		}
		for name, value := range selector {
			if d.Template.Metadata.Labels[name] != value {
				t.Errorf("%s selects %s=%s, which pods do not have", who, name, value)
			}
		}
	}
	if budget.MaxUnavailable < 1 || budget.MaxUnavailable >= d.Replicas {
		t.Errorf("%d of %d pods may be unavailable", budget.MaxUnavailable, d.Replicas)
	}

	if n := c.Ports[0]["containerPort"]; n != port || !strings.HasSuffix(env["HAZARDD_LISTEN"], fmt.Sprintf(":%d", port)) {
		t.Errorf("the container's port is %v, hazardd listens on %s", n, env["HAZARDD_LISTEN"])
	}
	name, _ := c.Ports[0]["name"].(string)
	if service.Ports[0].TargetPort != name {
		t.Errorf("the service points to %s, the port is %s", service.Ports[0].TargetPort, name)
	}
	n, wait := begin(t, "--data", filepath.Join(t.TempDir(), "data"))
	wait()
	for kind, p := range map[string]probe{"startup": c.StartupProbe, "readiness": c.ReadinessProbe, "liveness": c.LivenessProbe} {
		resp, _ := get(t, http.DefaultClient, "http://"+n.addr+p.HTTPGet.Path)
		if p.HTTPGet.Port != name || resp.StatusCode != http.StatusOK {
			t.Errorf("the %s probe requests %s at %s: %s", kind, p.HTTPGet.Path, p.HTTPGet.Port, resp.Status)
		}
	}
	if c.ReadinessProbe.HTTPGet.Path != "/readyz" || c.LivenessProbe.HTTPGet.Path != "/healthz" {
		t.Errorf("the readiness probe requests %s, the liveness probe %s", c.ReadinessProbe.HTTPGet.Path, c.LivenessProbe.HTTPGet.Path)
	}

	takes(t, env)
	hasKeys(t, "a pod", env, func(file string) bool { return strings.HasPrefix(file, "/run/secrets/hazardd/") })
	if _, _, status := hazardd(t, "", nil, append(slices.Clone(c.Args), "--help")...); status != 0 {
		t.Errorf("%v is no command", c.Args)
	}
	drain, err1 := time.ParseDuration(env["HAZARDD_DRAIN"])
	finish, err2 := time.ParseDuration(env["HAZARDD_GRACE"])
	if have := time.Duration(pod.TerminationGracePeriodSeconds) * time.Second; err1 != nil || err2 != nil || drain <= 0 || have <= drain+finish {
		t.Errorf("a pod has %v to stop, and needs %v and up to %v (%v, %v)", have, drain, finish, err1, err2)
	}
	if pod.EnableServiceLinks == nil || *pod.EnableServiceLinks {
		t.Error("the cluster sets variables that begin as hazardd's settings do")
	}
	if !pod.SecurityContext.RunAsNonRoot || pod.SecurityContext.RunAsUser != 65532 || c.SecurityContext.AllowPrivilegeEscalation == nil || *c.SecurityContext.AllowPrivilegeEscalation ||
		!c.SecurityContext.ReadOnlyRootFilesystem || !slices.Equal(c.SecurityContext.Capabilities.Drop, []string{"ALL"}) {
		t.Errorf("the pod may more than it must: %+v, %+v", pod.SecurityContext, c.SecurityContext)
	}
	if len(pod.Affinity.PodAntiAffinity) == 0 || c.Resources.Requests["cpu"] == "" || c.Resources.Requests["memory"] == "" {
		t.Error("pods request no ephemeral storage")
	}
	limit, heap := bytesOf(t, c.Resources.Limits["memory"]), bytesOf(t, strings.TrimSuffix(env["GOMEMLIMIT"], "B"))
	if heap >= limit || heap < limit/2 {
		t.Errorf("GOMEMLIMIT is %d, the limit %d", heap, limit)
	}

	// Each mount has its volume, and each file of a secret has its place and its key in the command
	// that creates it.
	text := read(t, "deploy/kubernetes.yaml")
	mounts := map[string]string{}
	for _, m := range c.VolumeMounts {
		mounts[m.Name] = m.MountPath
	}
	for _, v := range pod.Volumes {
		if mounts[v.Name] == "" {
			t.Errorf("volume %s is not mounted", v.Name)
		}
		delete(mounts, v.Name)
		if v.Secret != nil && !strings.Contains(text, "create secret generic "+v.Secret.SecretName+" ") {
			t.Errorf("no text says how to create the secret %s", v.Secret.SecretName)
		}
	}
	if len(mounts) > 0 {
		t.Errorf("mounts without volumes: %v", mounts)
	}
	for _, key := range regexp.MustCompile(`/run/secrets/hazardd/([a-z0-9.-]+)`).FindAllStringSubmatch(text, -1) {
		if !strings.Contains(text, "--from-literal="+key[1]+"=") && !strings.Contains(text, "--from-file="+key[1]) {
			t.Errorf("no text says how to create the key %s of the secret", key[1])
		}
	}

	var ingress struct {
		TLS   []struct{ Hosts []string }
		Rules []struct {
			Host string
			HTTP struct {
				Paths []struct {
					Path     string
					PathType string `yaml:"pathType"`
					Backend  struct {
						Service struct {
							Name string
							Port struct{ Name string }
						}
					}
				}
			}
		}
	}
	spec(t, all["Ingress"], &ingress)
	rule := ingress.Rules[0]
	backend := rule.HTTP.Paths[0].Backend.Service
	if "https://"+rule.Host != env["HAZARDD_PUBLIC_URL"] || !slices.Contains(ingress.TLS[0].Hosts, rule.Host) {
		t.Errorf("the host is %s, the public address %s", rule.Host, env["HAZARDD_PUBLIC_URL"])
	}
	if backend.Name != all["Service"].Metadata.Name || backend.Port.Name != service.Ports[0].Name || rule.HTTP.Paths[0].Path != "/" || rule.HTTP.Paths[0].PathType != "Prefix" {
		t.Errorf("the ingress points to %+v", rule.HTTP.Paths[0])
	}
}

// bytesOf parses a quantity of Kubernetes: 2Gi, 512Mi.
func bytesOf(t *testing.T, text string) int64 {
	t.Helper()
	for suffix, size := range map[string]int64{"Gi": 1 << 30, "Mi": 1 << 20} {
		if number, ok := strings.CutSuffix(text, suffix); ok {
			return int64(atoi(t, number)) * size
		}
	}
	t.Errorf("%q is no number of bytes", text)
	return 0
}

// Of a member that is written twice only one counts, and it is unclear which.
func TestNoMemberIsWrittenTwice(t *testing.T) {
	for _, file := range []string{"deploy/compose.yaml", "deploy/kubernetes.yaml"} {
		decoder := yaml.NewDecoder(bytes.NewReader([]byte(read(t, file))))
		for {
			var n yaml.Node
			err := decoder.Decode(&n)
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatalf("%s: %v", file, err)
			}
			unique(t, file, &n)
		}
	}
}

func unique(t *testing.T, file string, n *yaml.Node) {
	t.Helper()
	seen := map[string]bool{}
	for i, child := range n.Content {
		if n.Kind == yaml.MappingNode && i%2 == 0 {
			if seen[child.Value] {
				t.Errorf("%s:%d: %s again", file, child.Line, child.Value)
			}
			seen[child.Value] = true
		}
		unique(t, file, child)
	}
}
