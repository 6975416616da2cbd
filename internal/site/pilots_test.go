package site

import (
	"strings"
	"testing"
)

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

// A change of who may pull is a change of the site, and says so.
func TestPilotsDiffer(t *testing.T) {
	parse := func(pilots string) *Site {
		s, err := Parse("f", []byte("shares: [{name: A}]\nqueues: [{name: q"+pilots+"}]\n"))
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	c := diff(parse(""), parse(", pilots: [token:cern, vo:atlas]"))
	if len(c.Queues) != 1 || c.Queues[0].String() != "queue q: pilots – → token:cern, vo:atlas" {
		t.Errorf("%+v", c.Queues)
	}
}
