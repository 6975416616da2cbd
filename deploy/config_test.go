//go:build deploy

package deploy

import (
	"encoding/json"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// service is what the test reads of one, after compose has put the file together.
type service struct {
	Image    string
	Command  []string
	Profiles []string
	Build    struct {
		Context, Target string
		Args            map[string]string
	}
	Healthcheck struct{ Test []string }
	Environment map[string]string
	Networks    map[string]struct{ Aliases []string }
	Ports       []struct{ Published string }
	ReadOnly    bool     `json:"read_only"`
	CapDrop     []string `json:"cap_drop"`
	SecurityOpt []string `json:"security_opt"`
	StopGrace   string   `json:"stop_grace_period"`
}

// What the services have in common is written once in docker-compose.yml (merge keys): every one of them has it, and differs only
// by what it is to differ by.
func TestComposeFileMerges(t *testing.T) {
	p := &project{t: t, name: "divvyconfig", files: []string{"docker-compose.yml"}, env: append(os.Environ(), "DIVVY_TAG=v1.2.3", "DIVVY_PORT=1", "DIVVY_PORT_2=2")}
	var got struct{ Services map[string]service }
	if err := json.Unmarshal([]byte(p.must("--profile", "cli", "--profile", "monitoring", "config", "--format", "json")), &got); err != nil {
		t.Fatal(err)
	}
	names := []string{"divvy", "grafana", "pilot", "postgres", "prometheus", "serve", "serve-2"}
	for _, name := range names {
		if _, is := got.Services[name]; !is {
			t.Errorf("no service %s", name)
		}
	}
	if len(got.Services) != len(names) {
		t.Errorf("%d services, want %q", len(got.Services), names)
	}
	one, two, pilot := got.Services["serve"], got.Services["serve-2"], got.Services["pilot"]
	if one.Image != "divvy:v1.2.3" || one.Build.Target != "" || one.Build.Context == "" || !slices.Contains(one.Command, "/etc/divvy/site.yml") || !one.ReadOnly ||
		!slices.Equal(one.CapDrop, []string{"ALL"}) || len(one.SecurityOpt) != 1 || one.StopGrace != "40s" || !slices.Contains(one.Healthcheck.Test, "health") ||
		!strings.HasPrefix(one.Environment["DIVVY_DATABASE"], "postgres://") || !slices.Equal(one.Networks["default"].Aliases, []string{"daemons"}) {
		t.Errorf("serve is %+v", one)
	}
	if one.Ports[0].Published != "1" || two.Ports[0].Published != "2" {
		t.Errorf("published: %v, %v", one.Ports, two.Ports)
	}
	if one.Ports, two.Ports = nil, nil; !reflect.DeepEqual(one, two) {
		t.Errorf("the daemons differ:\n%+v\n%+v", one, two)
	}
	if pilot.Build.Target != "pilot" || pilot.Build.Context != one.Build.Context || pilot.Build.Args["VERSION"] != "v1.2.3" || one.Build.Args["VERSION"] != "v1.2.3" {
		t.Errorf("the pilot is built by %+v, the daemons by %+v", pilot.Build, one.Build)
	}
}

// saysItsVersion holds what images say of themselves against the build argument: it is the tag that the project has.
func (p *project) saysItsVersion() {
	p.t.Helper()
	if out := p.compose(nil, "run", "--rm", "divvy", "--version"); !strings.Contains(out, p.name) {
		p.t.Errorf("the image of the daemons is of version %q, want %s", out, p.name)
	}
	if out := p.docker("run", "--rm", "--entrypoint", "/usr/bin/divvy", "divvy-pilot:"+p.name, "--version"); !strings.Contains(out, p.name) {
		p.t.Errorf("the image of pilots is of version %q, want %s", out, p.name)
	}
	for _, daemon := range []string{"serve", "serve-2"} {
		var status struct{ Build string }
		if p.getOf(p.url(daemon, "8470")+"/v1/status", "", &status); status.Build != p.name {
			p.t.Errorf("%s says it is %q, want %s", daemon, status.Build, p.name)
		}
	}
}
