//go:build deploy

package deploy

import (
	"archive/tar"
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// The profile has both services, by images with a tag, and mounts what there is.
func TestMonitoringProfile(t *testing.T) {
	for _, files := range [][]string{{"docker-compose.yml"}, {"docker-compose.yml", "deploy/docker-compose.token.yml"}} {
		p := &project{t: t, name: "divvyconfig", files: files, env: os.Environ()}
		var got struct {
			Services map[string]struct {
				Image   string
				Volumes []struct{ Type, Source string }
			}
		}
		out := p.must("--profile", "monitoring", "config", "--format", "json")
		if err := json.Unmarshal([]byte(out), &got); err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"prometheus", "grafana"} {
			s := got.Services[name]
			if !strings.Contains(s.Image, ":v") && !strings.Contains(s.Image, ":1") {
				t.Errorf("%s: image %q", name, s.Image)
			}
			for _, v := range s.Volumes {
				if _, err := os.Stat(v.Source); v.Type == "bind" && err != nil {
					t.Error(name, err)
				}
			}
		}
	}
}

// monitored starts the project's Prometheus and waits until it has read both daemons, of which one decides, and its rules.
func (p *project) monitored() {
	p.t.Helper()
	image := "divvy-test-prometheus:" + p.name
	if !p.prometheus(image) {
		p.t.Log("SKIPPED: no image of Prometheus, and no program to make one of; only the profile's configuration was looked at")
		return
	}
	p.t.Cleanup(func() { p.docker("rmi", "--force", image) })
	p.env = append(p.env, "DIVVY_PROMETHEUS_IMAGE="+image)
	p.must("up", "--detach", "prometheus")
	base := p.url("prometheus", "9090")
	var decide, daemons string
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(500 * time.Millisecond) {
		decide, daemons = p.query(base, "sum(divvy_daemon_decides)"), p.query(base, "count(divvy_build_info)")
		if decide == "1" && daemons == "2" {
			break
		}
	}
	if decide != "1" || daemons != "2" {
		p.t.Errorf("Prometheus sees %q daemons, of which %q decide\n%s", daemons, decide, p.compose(nil, "logs", "prometheus"))
	}
	var rules struct {
		Data struct {
			Groups []struct {
				Rules []struct{ Name, Health string }
			}
		}
	}
	if status := p.getOf(base+"/api/v1/rules", "", &rules); status != http.StatusOK || len(rules.Data.Groups) != 1 || len(rules.Data.Groups[0].Rules) < 20 {
		p.t.Errorf("rules: %d %+v", status, rules)
	}
}

// query is the one value of an expression; "" when there is none.
func (p *project) query(base, expr string) string {
	var got struct {
		Data struct {
			Result []struct{ Value []any }
		}
	}
	p.getOf(base+"/api/v1/query?query="+url.QueryEscape(expr), "", &got)
	if len(got.Data.Result) != 1 {
		return ""
	}
	return fmt.Sprint(got.Data.Result[0].Value[1])
}

// prometheus makes an image like prom/prometheus of the program that Debian's package has installed here, or names the real one.
func (p *project) prometheus(image string) bool {
	p.t.Helper()
	if _, err := p.run(nil, "docker", "tag", "prom/prometheus:v3.5.0", image); err == nil {
		return true
	}
	program, err := exec.LookPath("prometheus")
	if err != nil {
		return false
	}
	libs, err := exec.Command("ldd", program).Output()
	if err != nil {
		return false
	}
	files := map[string]string{"bin/prometheus": program}
	for _, word := range strings.Fields(string(libs)) {
		if strings.HasPrefix(word, "/") {
			files[strings.TrimPrefix(word, "/")] = word
		}
	}
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	const nobody = 65534
	add := func(h *tar.Header, text []byte) {
		if err := w.WriteHeader(h); err != nil {
			p.t.Fatal(err)
		}
		if _, err := w.Write(text); err != nil {
			p.t.Fatal(err)
		}
	}
	for name, from := range files {
		text, err := os.ReadFile(from)
		if err != nil {
			p.t.Fatal(err)
		}
		add(&tar.Header{Name: name, Mode: 0o755, Size: int64(len(text))}, text)
	}
	add(&tar.Header{Name: "prometheus/", Typeflag: tar.TypeDir, Mode: 0o755, Uid: nobody, Gid: nobody}, nil)
	if err := w.Close(); err != nil {
		p.t.Fatal(err)
	}
	if _, err := p.run(b.Bytes(), "docker", "import", "--change", `ENTRYPOINT ["/bin/prometheus"]`, "--change", "USER 65534:65534", "-", image); err != nil {
		p.t.Fatal(err)
	}
	return true
}
