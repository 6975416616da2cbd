package resource

import (
	"os"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/divvyhq/divvy/shares"
)

// The layouts of testdata/claims*.yml are written as those of tasks are.
type yamlLayout struct {
	Replicas  *int
	Groups    []yamlGroup
	Roles     []yamlRole
	Sharing   []yamlSharing
	Templates []yamlTemplate `yaml:"claim_templates"`
}

type yamlGroup struct {
	Name     string
	Replicas *int
	Members  []yamlRole
	Sharing  []yamlSharing
}

type yamlRole struct {
	Role    string
	Count   *int
	Sharing []yamlSharing
}

type yamlSharing struct {
	Template, Claim string
	Scope           Scope
	Only            []string
}

type yamlTemplate struct {
	Name       string
	Resources  map[string]int64
	Node       bool
	Devices    map[string]int
	MaxSharers int `yaml:"max_sharers"`
	Linger     *time.Duration
	Gang       bool
}

func readClaimYAML(t *testing.T, file string, into any) {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	d := yaml.NewDecoder(f)
	d.KnownFields(true)
	if err := d.Decode(into); err != nil {
		t.Fatalf("%s: %v", file, err)
	}
}

// orOne is what an absent number means.
func orOne(n *int) int {
	if n == nil {
		return 1
	}
	return *n
}

func (y yamlLayout) layout() Layout {
	l := Layout{Replicas: orOne(y.Replicas), Roles: yamlRoles(y.Roles), Sharing: yamlEntries(y.Sharing), Templates: yamlTemplates(y.Templates)}
	for _, g := range y.Groups {
		l.Groups = append(l.Groups, Group{g.Name, orOne(g.Replicas), yamlRoles(g.Members), yamlEntries(g.Sharing)})
	}
	return l
}

func yamlRoles(from []yamlRole) (roles []Role) {
	for _, r := range from {
		roles = append(roles, Role{r.Role, orOne(r.Count), yamlEntries(r.Sharing)})
	}
	return roles
}

func yamlEntries(from []yamlSharing) (entries []Sharing) {
	for _, s := range from {
		entries = append(entries, Sharing(s))
	}
	return entries
}

func yamlTemplates(from []yamlTemplate) (ts []shares.ClaimTemplate) {
	for _, y := range from {
		linger := shares.DefaultLinger
		if y.Linger != nil {
			linger = *y.Linger
		}
		ts = append(ts, shares.ClaimTemplate{Name: y.Name, Resources: y.Resources, Node: y.Node, Devices: y.Devices,
			MaxSharers: y.MaxSharers, Linger: linger, Gang: y.Gang})
	}
	return ts
}
