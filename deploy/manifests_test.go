//go:build manifests

package deploy

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/divvyhq/divvy/internal/site"
)

// object is what the tests read of one of Kubernetes' objects.
type object struct {
	APIVersion string `yaml:"apiVersion"`
	Kind       string
	Metadata   struct{ Name, Namespace string }
	Data       map[string]string
	Spec       struct {
		Replicas int
		Strategy struct {
			RollingUpdate struct {
				MaxUnavailable *int `yaml:"maxUnavailable"`
			} `yaml:"rollingUpdate"`
		}
		Template  struct{ Spec pod }
		Instances int
		DNSNames  []string `yaml:"dnsNames"` // of a Certificate
		Endpoints []struct {
			Scheme    string
			TLSConfig struct {
				ServerName string `yaml:"serverName"`
			} `yaml:"tlsConfig"`
		} // of a ServiceMonitor
	}
}

type pod struct {
	TerminationGracePeriodSeconds int `yaml:"terminationGracePeriodSeconds"`
	Containers                    []struct {
		Image          string
		Args           []string
		Env            []struct{ Name, Value string }
		StartupProbe   probe `yaml:"startupProbe"`
		LivenessProbe  probe `yaml:"livenessProbe"`
		ReadinessProbe probe `yaml:"readinessProbe"`
		Lifecycle      struct {
			PreStop struct{ Sleep struct{ Seconds int } } `yaml:"preStop"`
		}
	}
}

type probe struct {
	HTTPGet          struct{ Path, Port, Scheme string } `yaml:"httpGet"`
	PeriodSeconds    int                                 `yaml:"periodSeconds"`
	FailureThreshold int                                 `yaml:"failureThreshold"`
}

// tool runs a program that .ci/run has made, or that is in PATH.
func tool(t *testing.T, stdin []byte, name string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.Stdin = bytes.NewReader(stdin)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s %s: %v (.ci/lib.sh says where it comes from)\n%s", name, strings.Join(args, " "), err, out)
	}
	return string(out)
}

func built(t *testing.T, folder string) (text string, objects map[string]object) {
	t.Helper()
	text, objects = tool(t, nil, "kustomize", "build", filepath.Join("kubernetes", folder)), map[string]object{}
	for dec := yaml.NewDecoder(strings.NewReader(text)); ; {
		var o object
		if err := dec.Decode(&o); errors.Is(err, io.EOF) {
			return text, objects
		} else if err != nil {
			t.Fatal(err)
		}
		namespace := "divvy"
		if folder == "pilots" {
			namespace = "divvy-pilots"
		}
		if o.Kind != "Namespace" && o.Metadata.Namespace != namespace {
			t.Errorf("%s %s is in namespace %q", o.Kind, o.Metadata.Name, o.Metadata.Namespace)
		}
		objects[o.Kind+" "+strings.SplitN(o.Metadata.Name, "-site-", 2)[0]] = o
	}
}

// Both build, have what they are to have, and are by the rules of kube-score. Tags do not change, so images are pulled once.
func TestKubernetes(t *testing.T) {
	config := read(t, "../docs/configuration.md")
	for folder, more := range map[string][]string{"base": nil, "example": {"Ingress divvy", "ServiceMonitor divvy", "Certificate divvy-daemons"}} {
		text, objects := built(t, folder)
		for _, name := range append([]string{"Namespace divvy", "Cluster divvy-db", "Deployment divvy", "Service divvy", "ServiceAccount divvy", "PodDisruptionBudget divvy",
			"NetworkPolicy nothing", "NetworkPolicy daemons", "NetworkPolicy database", "ConfigMap divvy"}, more...) {
			if _, is := objects[name]; !is {
				t.Errorf("%s has no %s", folder, name)
			}
		}
		if n := objects["Cluster divvy-db"].Spec.Instances; n != 3 || !strings.Contains(text, "dataDurability: required") {
			t.Errorf("%s: %d instances of the database, and what is acknowledged need not be on two", folder, n)
		}
		if _, err := site.Parse("site.yml", []byte(objects["ConfigMap divvy"].Data["site.yml"])); err != nil {
			t.Errorf("%s: %v", folder, err)
		}
		checkDaemons(t, objects["Deployment divvy"], config)
		if folder == "example" {
			checkTLS(t, text, objects)
		}
		tool(t, []byte(text), "kube-score", "score", "--exit-one-on-warning", "--ignore-test", "container-image-pull-policy", "-")
	}
}

// checkDaemons holds a Deployment against what daemons do: which probe may end one, how long a stop takes, what it is configured by.
func checkDaemons(t *testing.T, d object, config string) {
	t.Helper()
	if d.Spec.Replicas < 2 || d.Spec.Strategy.RollingUpdate.MaxUnavailable == nil || *d.Spec.Strategy.RollingUpdate.MaxUnavailable != 0 {
		t.Errorf("%d replicas, updated by %+v", d.Spec.Replicas, d.Spec.Strategy)
	}
	c := d.Spec.Template.Spec.Containers[0]
	if s, l, r := c.StartupProbe, c.LivenessProbe, c.ReadinessProbe; s.HTTPGet.Path != "/healthz" || l.HTTPGet.Path != "/healthz" || r.HTTPGet.Path != "/readyz" ||
		s.PeriodSeconds*s.FailureThreshold < 3600 || l.PeriodSeconds*l.FailureThreshold < 60 {
		t.Errorf("probes: start %+v, live %+v, ready %+v", s, l, r)
	}
	var stop time.Duration
	for _, e := range c.Env {
		if strings.HasPrefix(e.Name, "DIVVY_") && !strings.Contains(config, "- `"+strings.ToLower(strings.TrimPrefix(e.Name, "DIVVY_"))+"`") {
			t.Errorf("no key of the configuration is %s", e.Name)
		}
		if e.Name == "DIVVY_STOP_WITHIN" {
			stop, _ = time.ParseDuration(e.Value)
		}
	}
	grace, before := d.Spec.Template.Spec.TerminationGracePeriodSeconds, c.Lifecycle.PreStop.Sleep.Seconds
	if stop == 0 || before == 0 || grace < before+int(stop.Seconds())+10 {
		t.Errorf("a stop of %s after %d s within %d s", stop, before, grace)
	}
	if strings.HasSuffix(c.Image, ":latest") || !strings.Contains(c.Image, ":") {
		t.Errorf("image %s", c.Image)
	}
}

// checkTLS wants one certificate, for a name that daemons expect of each other, Prometheus of daemons, and the Ingress too, and that all
// who ask ask by TLS.
func checkTLS(t *testing.T, text string, objects map[string]object) {
	t.Helper()
	c := objects["Deployment divvy"].Spec.Template.Spec.Containers[0]
	env := map[string]string{}
	for _, e := range c.Env {
		env[e.Name] = e.Value
	}
	name := env["DIVVY_TLS_PEER_NAME"]
	if names := objects["Certificate divvy-daemons"].Spec.DNSNames; name == "" || !slices.Contains(names, name) {
		t.Errorf("daemons expect %q of each other, and their certificate is for %q", name, names)
	}
	if env["DIVVY_TLS_CERT"] == "" || env["DIVVY_TLS_KEY"] == "" || env["DIVVY_TLS_CA"] == "" {
		t.Errorf("%v", env)
	}
	for _, p := range []probe{c.StartupProbe, c.LivenessProbe, c.ReadinessProbe} {
		if p.HTTPGet.Scheme != "HTTPS" {
			t.Errorf("a probe by %q", p.HTTPGet.Scheme)
		}
	}
	if m := objects["ServiceMonitor divvy"].Spec.Endpoints[0]; m.Scheme != "https" || m.TLSConfig.ServerName != name {
		t.Errorf("Prometheus: %+v", m)
	}
	for _, want := range []string{"backend-protocol: HTTPS", "proxy-ssl-name: " + name, `proxy-ssl-verify: "on"`} {
		if !strings.Contains(text, "nginx.ingress.kubernetes.io/"+want) {
			t.Errorf("the Ingress has no %s", want)
		}
	}
}

// What is broken is found: a rule of kube-score, and a mistake in a patch.
func TestKubernetesFindsFaults(t *testing.T) {
	text, _ := built(t, "base")
	broken := strings.Replace(text, "readOnlyRootFilesystem: true", "readOnlyRootFilesystem: false", 1)
	cmd := exec.CommandContext(t.Context(), "kube-score", "score", "-")
	cmd.Stdin = strings.NewReader(broken)
	if out, err := cmd.CombinedOutput(); err == nil || broken == text {
		t.Errorf("kube-score takes a root that can be written to:\n%s", out)
	}
}

// Exposure by systemd-analyze, 0 to 100, of the units; pilots run what users bring.
var exposures = map[string]int{"divvy.service": 15, "divvy@.service": 15, "divvy-pilot@.service": 30}

// systemd understands every line of the units, and they are as closed as they were.
func TestSystemd(t *testing.T) {
	files, err := filepath.Glob("systemd/*")
	if err != nil || len(files) != len(exposures) {
		t.Fatal(files, err)
	}
	for _, file := range files {
		text, name := read(t, file), filepath.Base(file)
		most, known := exposures[name]
		if !known {
			t.Errorf("%s is no unit of ours", name)
		}
		for _, want := range []string{"NoNewPrivileges=yes", "DynamicUser=yes", "LoadCredential=", "ExecStart=/usr/bin/divvy ", "Restart=always", "KillMode=mixed"} {
			if !strings.Contains(text, want) {
				t.Errorf("%s: no %s", name, want)
			}
		}
		if faults := verify(t, name, text); faults != "" {
			t.Errorf("%s: %s", name, faults)
		}
		if verify(t, name, strings.Replace(text, "DynamicUser=yes", "DynamicUsr=yes", 1)) == "" {
			t.Errorf("%s: a key that there is not is not found", name)
		}
		tool(t, nil, "systemd-analyze", "security", "--no-pager", "--offline=true", fmt.Sprintf("--threshold=%d", most), file)
	}
}

// verify is what systemd says of a unit on a machine that has /usr/bin/divvy.
func verify(t *testing.T, name, text string) string {
	t.Helper()
	program, err := exec.LookPath("true")
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(file, []byte(strings.ReplaceAll(text, "/usr/bin/divvy ", program+" ")), 0o600); err != nil {
		t.Fatal(err)
	}
	out, _ := exec.CommandContext(t.Context(), "systemd-analyze", "verify", "--man=no", "--recursive-errors=no", file).CombinedOutput()
	return string(out) // it says what it does not understand, and calls that no error
}

// A stop takes as long as the daemon may take, by default.
func TestSystemdStop(t *testing.T) {
	for _, name := range []string{"divvy.service", "divvy@.service"} {
		_, after, _ := strings.Cut(read(t, "systemd/"+name), "TimeoutStopSec=")
		line, _, _ := strings.Cut(after, "\n")
		if s, err := strconv.Atoi(line); err != nil || s < 40 {
			t.Errorf("%s: TimeoutStopSec=%s", name, line)
		}
	}
}

func read(t *testing.T, file string) string {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
