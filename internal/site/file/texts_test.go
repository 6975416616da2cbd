package file

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/divvyhq/divvy/shares"
)

// Of limits that name the same the first that matches counts, and others beside it; a share is counted with those below it.
func TestLimitsOf(t *testing.T) {
	s, err := Parse("f", []byte(`
shares: [{name: A, children: [{name: A1}, {name: A2}]}, {name: B}]
limits:
  - {user: root, max_active_tasks: 100}
  - {user: "*", max_active_tasks: 10}
  - {share: "A", max_ready_jobs: 5}
  - {share: "*/A1", max_ready_jobs: 1}
  - {user: "a*", share: "A/*", max_held_units: 2}
  - {label: test, max_ready_jobs: 3}
  - {label: "phys?*", max_ready_jobs: 4}
`))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ user, label, share, want string }{
		{"root", "", "B", "0 user root"},
		{"bob", "", "B", "1 user bob"},
		{"bob", "test", "A/A1", "1 user bob; 2 share A; 5 label test"},
		{"alice", "", "A/A1", "1 user alice; 2 share A; 4 user alice, share A/A1"},
		{"alice", "", "", "1 user alice"},
		{"/DC=ch/CN=bob", "phys/higgs", "B", "1 user /DC=ch/CN=bob; 6 label phys/higgs"},
	} {
		var got []string
		for _, l := range s.LimitsOf(c.user, c.label, c.share) {
			got = append(got, string('0'+rune(l.Index))+" "+l.Whom)
		}
		if text := strings.Join(got, "; "); text != c.want {
			t.Errorf("%+v: %s", c, text)
		}
	}
}

func TestAdmits(t *testing.T) {
	s, err := Parse("f", []byte(`
shares: [{name: A}]
queues:
  - {name: open}
  - {name: tokens, pilots: [token:cern, "token:ral-*"]}
  - {name: users, pilots: [user:robot]}
  - {name: vos, pilots: [vo:atlas, "vo:cms.p*"]}
  - {name: mixed, pilots: [user:robot, vo:lhcb.pilot]}
`))
	if err != nil {
		t.Fatal(err)
	}
	cern, ral, robot := Pilot{Token: "cern"}, Pilot{Token: "ral-2"}, Pilot{User: "robot"}
	atlas, atlasPilot, cms, cmsPilot := Pilot{Origin: "atlas"}, Pilot{Origin: "atlas.pilot"}, Pilot{Origin: "cms"}, Pilot{Origin: "cms.pilot"}
	all := map[string]Pilot{"nobody": {}, "cern": cern, "ral": ral, "robot": robot, "atlas": atlas, "atlas.pilot": atlasPilot, "cms": cms, "cms.pilot": cmsPilot,
		"token called robot": {Token: "robot"}, "user called cern": {User: "cern"}, "vo called cern": {Origin: "cern"}, "atlasx": {Origin: "atlasx"}, "lhcb.pilot": {Origin: "lhcb.pilot"}}
	for queue, want := range map[string]string{
		"tokens": "cern ral", "users": "robot", "vos": "atlas atlas.pilot cms.pilot", "mixed": "robot lhcb.pilot",
	} {
		for name, p := range all {
			if got := s.Admits(queue, p); got != strings.Contains(" "+want+" ", " "+name+" ") {
				t.Errorf("%s at %s: %v", name, queue, got)
			}
		}
	}
	for _, queue := range []string{"open", "unknown"} {
		for name, p := range all {
			if !s.Admits(queue, p) {
				t.Errorf("%s is refused at %s", name, queue)
			}
		}
	}
}

func TestEveryKeyOfResourcesIsRead(t *testing.T) {
	s, err := Parse("f", corpus(t, "good.every_key.yml")["good.every_key.yml"])
	if err != nil {
		t.Fatal(err)
	}
	plain := shares.DefaultResource()
	plain.Name, plain.Capacity = "maya", 4
	seats := shares.Resource{Name: "seats", PerQueue: true, MaxBypass: 7, Settle: 90 * time.Second, ExternalExpires: 5 * time.Minute,
		Split: shares.Split{By: "label", Weights: map[string]float64{"nightly": 3, "*": 0.5}}, Exempt: []string{"urgent"}}
	table := shares.DefaultResource()
	table.Name, table.Capacity, table.Keyed = "table", 9, true
	table.Split.Tree = []shares.SplitNode{
		{Name: "vfx", Weight: 3, Children: []shares.SplitNode{{Name: "alice", Weight: 1}, {Name: "bob", Weight: 2}}}, {Name: "*", Weight: 1}}
	fair := shares.DefaultResource()
	fair.Name, fair.Capacity, fair.Exempt = "fair", 1, []string{"B"}
	fair.Split = shares.Split{By: "share", Weights: map[string]float64{"A/A1": 2, "B": 1}}
	if d := cmp.Diff([]shares.Resource{plain, seats, table, fair}, s.Resources); d != "" {
		t.Error(d)
	}
	want := []shares.ClaimTemplate{
		{Name: "gpu", Devices: map[string]int{"gpu": 2}, Resources: map[string]int64{"maya": 1, "table:orders": 2}, MaxSharers: 3, Linger: 5 * time.Second, Gang: true},
		{Name: "node", Node: true, Linger: time.Minute}}
	if d := cmp.Diff(want, s.ClaimTemplates); d != "" {
		t.Error(d)
	}
}
