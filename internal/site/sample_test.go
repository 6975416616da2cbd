package site

import (
	"os"
	"testing"

	"github.com/divvyhq/divvy/internal/site/file"
	"github.com/divvyhq/divvy/shares"
)

func TestSampleIsTheTreeOfTheDesign(t *testing.T) {
	src, err := os.ReadFile("../../deploy/site.example.yml")
	if err != nil {
		t.Fatal(err)
	}
	s, err := Parse("site.example.yml", src)
	if err != nil {
		t.Fatal(err)
	}
	for i := range s.Tree.Nodes[1:] {
		s.Tree.Nodes[i+1].ID = shares.ShareID(i + 1)
	}
	s.Tree.SetIDs(func(path string) shares.ShareID { i, _ := s.Tree.ByPath(path); return shares.ShareID(i) })
	want := map[shares.ShareID]shares.Units{}
	for _, i := range s.Tree.Leaves() {
		want[s.Tree.Nodes[i].ID] = 5_000_000
	}
	solved := solve(s.Version(), file.DefaultPool, Demand{Want: want, Offered: 2_000_000})
	if round := solved.round; round != 1_000_000 {
		t.Errorf("R = %v units, want 1000", round)
	}
	for path, p1 := range map[string]float64{"Production/MC": 350, "Production/Rep": 210, "Production/Val": 140,
		"Analysis/User": 200, "Analysis/Grp": 50, "Test": 50} {
		i, ok := s.Tree.ByPath(path)
		if got := solved.targets[i] / 1000; !ok || got < p1-1e-6 || got > p1+1e-6 {
			t.Errorf("%s: target %v, want %v", path, got, p1)
		}
	}
	if r := s.Tags.Tag(map[string]string{"label": "managed", "working_group": "GP_PHYS"}); r.Share != "Production/MC" {
		t.Errorf("managed GP_PHYS → %+v", r)
	}
	if r := s.Tags.Tag(map[string]string{"label": "user", "labels.quota": "Grp"}); r.Share != "Analysis/Grp" {
		t.Errorf("user with quota Grp → %+v", r)
	}
}
