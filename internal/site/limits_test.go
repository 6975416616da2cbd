package site

import (
	"strings"
	"testing"
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

func TestLimitsAreCompared(t *testing.T) {
	const head = "shares: [{name: A}]\nlimits:\n  - {user: \"*\", max_active_tasks: 10}\n"
	a, errA := Parse("a", []byte(head))
	b, errB := Parse("b", []byte(head+"  - {share: A, label: x, max_ready_jobs: 7, max_held_units: 1.5}\n"))
	if errA != nil || errB != nil {
		t.Fatal(errA, errB)
	}
	c := diff(a, b)
	want := `limit 2 added: share "A", label "x": max_ready_jobs 7 max_held_units 1.5`
	if c.None() || len(c.Limits) != 1 || c.Limits[0].Line("limit") != want {
		t.Errorf("%+v, want %s", c.Limits, want)
	}
	if c := diff(b, b); !c.None() {
		t.Errorf("%+v", c)
	}
}
