package resource

import (
	"errors"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Every fault says where, what, and what would be right; layouts without faults are in the other corpora.
func TestLayoutFaults(t *testing.T) {
	var cases []struct {
		ID     string
		Layout yamlLayout
		Faults []string
	}
	readClaimYAML(t, "testdata/claims_bad.yml", &cases)
	for _, c := range cases {
		t.Run(c.ID, func(t *testing.T) {
			err := c.Layout.layout().Validate()
			var faults Faults
			if !errors.As(err, &faults) {
				t.Fatalf("accepted, or %v", err)
			}
			var got []string
			for _, f := range faults {
				got = append(got, f.String())
			}
			if d := cmp.Diff(c.Faults, got); d != "" {
				t.Error(d)
			}
			if err.Error() != strings.Join(got, "; ") {
				t.Errorf("as an error: %v", err)
			}
		})
	}
}

func TestScaled(t *testing.T) {
	l := Layout{Replicas: 2, Groups: []Group{{Name: "sgx", Replicas: 2, Members: []Role{{Name: "pca", Count: 3}}}}, Roles: []Role{{Name: "m", Count: 1}}}
	before := l.unsized()
	for what, want := range map[string][4]int{"": {5, 2, 3, 1}, "sgx": {2, 5, 3, 1}, "sgx/pca": {2, 2, 5, 1}, "m": {2, 2, 3, 5}} {
		to, err := l.Scaled(what, 5)
		if err != nil {
			t.Fatal(err)
		}
		if got := [4]int{to.Replicas, to.Groups[0].Replicas, to.Groups[0].Members[0].Count, to.Roles[0].Count}; got != want {
			t.Errorf("%q: %v, want %v", what, got, want)
		}
	}
	if l.Replicas != 2 || l.Groups[0].Replicas != 2 || l.Groups[0].Members[0].Count != 3 || l.Roles[0].Count != 1 || !cmp.Equal(before, l.unsized()) {
		t.Errorf("the layout itself changed: %+v", l)
	}
	for what, want := range map[string]string{
		"nobody":   `nothing is called "nobody" (known here: m)`,
		"sgx/none": `nothing is called "sgx/none" (known here: pca)`,
		"m/x":      `no group "m" (known: sgx, m)`,
	} {
		if _, err := l.Scaled(what, 1); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %s", what, err, want)
		}
	}
	if _, err := l.Scaled("sgx", -1); err == nil {
		t.Error("−1 replicas accepted")
	}
}

// Figures whose product no number holds are refused, not wrapped around.
func TestCountlessJobs(t *testing.T) {
	roles := make([]Role, maxEntries)
	groups := make([]Group, maxEntries)
	for i := range groups {
		name := "n" + strconv.Itoa(i)
		roles[i] = Role{Name: name, Count: MaxReplicas}
		groups[i] = Group{Name: name, Replicas: MaxReplicas, Members: roles, Sharing: []Sharing{{Template: "t", Scope: PerReplica}}}
	}
	l := Layout{Replicas: MaxReplicas, Groups: groups}
	err := l.Validate()
	want := "replicas: the task would have countless jobs, more than 1000000 (fewer replicas, or several tasks); " +
		"sharing: the task would make 2000000000000 claims, more than 100000 (fewer replicas, a wider scope, or several tasks)"
	if err == nil || err.Error() != want {
		t.Errorf("%v\nwant %s", err, want)
	}
}
