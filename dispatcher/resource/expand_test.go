package resource

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

func TestExpandCorpus(t *testing.T) {
	var cases []struct {
		ID           string
		Layout       yamlLayout
		Claims       *int
		Jobs         int
		Units, Alone map[string]int64
		Sharers      map[string]int
		Holds        map[string][]string
	}
	readClaimYAML(t, "testdata/claims_expand.yml", &cases)
	for _, c := range cases {
		t.Run(c.ID, func(t *testing.T) {
			l := c.Layout.layout()
			if err := l.Validate(); err != nil {
				t.Fatal(err)
			}
			e := Expand(l)
			units, alone, sharers := map[string]int64{}, map[string]int64{}, map[string]int{}
			made := 0
			for i, n := range e.Sharers() {
				key := e.Claims[i]
				sharers[key.Name()] = n
				if !key.External {
					made++
				}
				own, _ := l.Template(key.Template, nil)
				for r, u := range own.Resources {
					units[r] += u
					alone[r] += u * int64(n)
				}
			}
			if want := c.Claims; want != nil && made != *want || len(e.Jobs) != c.Jobs {
				t.Errorf("%d claims, %d jobs", made, len(e.Jobs))
			}
			empty := cmpopts.EquateEmpty()
			if d := cmp.Diff(c.Sharers, sharers, empty) + cmp.Diff(c.Units, units, empty) + cmp.Diff(c.Alone, alone, empty); d != "" {
				t.Error(d)
			}
			holds := map[string][]string{}
			for _, j := range e.Jobs {
				if name := j.Name(); c.Holds[name] != nil {
					holds[name] = claimNames(e, j)
				}
			}
			if d := cmp.Diff(c.Holds, holds, empty); d != "" {
				t.Error(d)
			}
		})
	}
}

func claimNames(e Expansion, j Job) []string {
	names := []string{}
	for _, c := range j.Claims {
		names = append(names, e.Claims[c].Name())
	}
	return names
}

func TestJobNames(t *testing.T) {
	for _, want := range []JobKey{
		{Task: 0, Group: "sgx", Replica: 1, Role: "pca", Index: 2},
		{Task: 12, Replica: every, Role: "metrics", Index: 0},
	} {
		if got, err := ParseJobKey(want.Name()); err != nil || got != want {
			t.Errorf("%s: %+v, %v", want.Name(), got, err)
		}
	}
	for _, bad := range []string{"", "0", "0/a", "0/a/b", "0/a/1/b", "x/a/0", "0/a/-1", "0/a/01", "0/g/x/r/0", "0/g/0/r/0/0", "0/g/0/r/99999999999"} {
		if k, err := ParseJobKey(bad); err == nil {
			t.Errorf("%q is %+v", bad, k)
		}
	}
}

func TestMissingTemplates(t *testing.T) {
	l := Layout{Replicas: 1, Sharing: []Sharing{{Template: "own"}, {Template: "sites"}, {Template: "gone"}, {Claim: "outside"}},
		Roles:     []Role{{Name: "m", Count: 1, Sharing: []Sharing{{Template: "gone"}, {Template: "lost"}}}},
		Templates: yamlTemplates([]yamlTemplate{{Name: "own", Node: true}})}
	site := yamlTemplates([]yamlTemplate{{Name: "sites", Node: true}, {Name: "own", Resources: map[string]int64{"maya": 7}}})
	if got := l.Missing(site); !slices.Equal(got, []string{"gone", "lost"}) {
		t.Errorf("missing: %v", got)
	}
	if own, ok := l.Template("own", site); !ok || !own.Node || len(own.Resources) > 0 {
		t.Errorf("the site's template shadows the task's: %+v", own)
	}
}

func BenchmarkExpand(b *testing.B) {
	l := Layout{Replicas: 10, Sharing: []Sharing{{Template: "t", Scope: All}},
		Groups: []Group{{Name: "g", Replicas: 1000, Members: []Role{{Name: "a", Count: 6}, {Name: "b", Count: 4}}, Sharing: []Sharing{{Template: "u", Scope: PerReplica}}}}}
	b.ReportAllocs()
	for b.Loop() {
		if e := Expand(l); len(e.Jobs) != 100_000 || len(e.Claims) != 10_001 {
			b.Fatal(len(e.Jobs), len(e.Claims))
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/100_000, "ns/job")
}
