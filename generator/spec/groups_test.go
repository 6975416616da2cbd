package spec

import (
	"encoding/json"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/divvyhq/divvy/dispatcher/resource"
	"github.com/divvyhq/divvy/shares"
)

func readSpecs(t *testing.T, name string) ([]Spec, error) {
	t.Helper()
	src, err := os.ReadFile("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	return ParseSpecs(name, src)
}

func TestParseGroups(t *testing.T) {
	specs, err := readSpecs(t, "good.groups.yml")
	if err != nil {
		t.Fatal(err)
	}
	at := func(d time.Duration) *shares.Duration { linger := shares.Duration(d); return &linger }
	want := []Spec{
		{Name: "disagg", User: "alice", Holdings: Holdings{SharingID: "team-a",
			Resources: map[string]int64{"maya": 1, "table:orders": 2}}, Command: []string{"serve", "{{.Index}}"}, Requirements: Requirements{Cores: 4}, Structure: Structure{Replicas: 2,
			Groups: []Group{{Name: "sgx", Replicas: 2,
				Members: []Member{{Role: "pca", Count: 3},
					{Role: "pcb", Count: 2, Command: []string{"decode"}, Requirements: &Requirements{Cores: 8, Walltime: 7200, Labels: map[string]string{"os": "el9"}},
						Resources: map[string]int64{"maya": 2}, Sharing: []Sharing{{Template: "scratch", Scope: "all"}}}},
				Sharing: []Sharing{{Template: "gpu-pool", Scope: "per_replica", Only: []string{"pca", "pcb"}}}}},
			Roles:   []Member{{Role: "metrics", Count: 2, Sharing: []Sharing{{Template: "metrics-gpu", Scope: "all"}}}},
			Sharing: []Sharing{{Template: "res1", Scope: "all"}, {Claim: "big-disk", Only: []string{"sgx"}}},
			ClaimTemplates: []ClaimTemplate{
				{Name: "gpu-pool", Resources: map[string]int64{"gpu": 4}, Devices: map[string]int{"gpu": 4}, MaxSharers: 5, Linger: at(0), Gang: true},
				{Name: "metrics-gpu", Node: true, Linger: at(5 * time.Minute)}}}},
		{Name: "in JSON", User: "bob", Structure: Structure{Roles: []Member{{Role: "a", Command: []string{"x"}}, {Role: "b", Command: []string{"y"}}},
			Sharing: []Sharing{{Template: "gpu", Scope: "all"}}}},
	}
	if d := cmp.Diff(want, specs); d != "" {
		t.Error(d)
	}
	for i, jobs := range []int64{24, 2} {
		spec := specs[i].WithDefaults()
		if w := spec.Work(); w.Pieces != jobs || w.Split != "groups" {
			t.Errorf("%s: %+v, want %d jobs", specs[i].Name, w, jobs)
		}
		body, err := json.Marshal(specs[i])
		var back Spec
		if err == nil {
			err = json.Unmarshal(body, &back) // the API's form says the same
		}
		if d := cmp.Diff(specs[i], back); d != "" || err != nil {
			t.Errorf("%v: %s", err, d)
		}
	}
	e := resource.Expand(specs[0].Layout())
	if len(e.Jobs) != 24 || len(e.Claims) != 1+1+4+4+2 {
		t.Errorf("%d jobs, %d claims", len(e.Jobs), len(e.Claims))
	}
	if l := specs[0].Layout().Templates; l[0].Linger != 0 || l[1].Linger != 5*time.Minute || specs[1].Layout().Replicas != 1 {
		t.Errorf("templates %+v", l)
	}
	pcb, pca := specs[0].ForRole(specs[0].Groups[0].Members[1]), specs[0].ForRole(specs[0].Groups[0].Members[0])
	if pcb.Command[0] != "decode" || pcb.Requirements.Cores != 8 || pcb.Resources["maya"] != 2 || pca.Command[0] != "serve" || pca.Requirements.Cores != 4 {
		t.Errorf("as pcb: %+v, as pca: %+v", pcb, pca)
	}
}

func TestParseGroupsBad(t *testing.T) {
	want, err := os.ReadFile("testdata/bad.groups.txt")
	if err != nil {
		t.Fatal(err)
	}
	if _, err = readSpecs(t, "bad.groups.yml"); err == nil {
		t.Fatal("accepted")
	}
	if d := cmp.Diff(strings.TrimSpace(string(want)), err.Error()); d != "" {
		t.Error(d)
	}
}

// A template that nobody has is no fault of a task: its jobs wait for it.
func TestUnknownTemplateIsNoFault(t *testing.T) {
	s := Spec{Name: "n", User: "u", Command: []string{"x"}, Structure: Structure{Roles: []Member{{Role: "a"}}, Sharing: []Sharing{{Template: "later", Scope: "all"}}}}
	if err := s.Check(); err != nil {
		t.Error(err)
	}
}

func TestKnownResources(t *testing.T) {
	site := shares.Version{Resources: []shares.Resource{{Name: "maya"}, {Name: "table", Keyed: true}}}
	for _, c := range []struct {
		ref, want string
	}{
		{"maya", ""}, {"table:orders", ""},
		{"may", `resources: no resource is called "may" (resources of the site: maya, table:<key>)`},
		{"table", "resources: table is a keyed family, which one is missing: table:orders (resources of the site: maya, table:<key>)"},
		{"maya:x", "resources: maya is not keyed: leave :x out (resources of the site: maya, table:<key>)"},
	} {
		s := Spec{Holdings: Holdings{Resources: map[string]int64{c.ref: 1}}}
		if err := s.Known(site); (err == nil) != (c.want == "") || err != nil && err.Error() != c.want {
			t.Errorf("%s: %v, want %s", c.ref, err, c.want)
		}
	}
	none := map[string]int64{"none": 1}
	s := Spec{Structure: Structure{Groups: []Group{{Members: []Member{{}, {Resources: none}}}}, Roles: []Member{{Resources: none}}, ClaimTemplates: []ClaimTemplate{{Resources: none}}}}
	var faults Faults
	if err := s.Known(site); !errors.As(err, &faults) || len(faults) != 3 {
		t.Fatal(err)
	}
	for i, field := range []string{"groups[0].members[1].resources", "roles[0].resources", "claim_templates[0].resources"} {
		if faults[i].Field != field {
			t.Errorf("%v, want one at %s", faults[i], field)
		}
	}
}
