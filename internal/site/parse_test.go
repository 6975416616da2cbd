package site

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/divvyhq/divvy/shares"
)

func corpus(t testing.TB, pattern string) map[string][]byte {
	t.Helper()
	names, err := filepath.Glob(filepath.Join("testdata", pattern))
	if err != nil || len(names) == 0 {
		t.Fatalf("no files %s: %v", pattern, err)
	}
	all := map[string][]byte{}
	for _, name := range names {
		src, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		all[filepath.Base(name)] = src
	}
	return all
}

func TestGoodFiles(t *testing.T) {
	for name, src := range corpus(t, "good.*.yml") {
		if _, err := Parse(name, src); err != nil {
			t.Errorf("%v", err)
		}
	}
}

// A bad file begins with the problems that it has, all of them, as "# want: line:column: message (hint)".
func TestBadFiles(t *testing.T) {
	for name, src := range corpus(t, "bad.*.yml") {
		var want []string
		for line := range strings.Lines(string(src)) {
			if w, ok := strings.CutPrefix(line, "# want: "); ok {
				want = append(want, strings.TrimSpace(w))
			}
		}
		_, err := Parse("f", src)
		var problems Problems
		if !errors.As(err, &problems) {
			t.Errorf("%s: %v", name, err)
			continue
		}
		var got []string
		for _, p := range problems {
			p.File = ""
			got = append(got, strings.TrimLeft(p.String(), ": "))
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: got\n# want: %s\nnot\n%s", name, strings.Join(got, "\n# want: "), strings.Join(want, "\n"))
		}
	}
}

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
	targets, round := Targets(s.Version(), DefaultPool, Demand{Want: want, Offered: 2_000_000})
	if round != 1_000_000 {
		t.Errorf("R = %v units, want 1000", round)
	}
	for path, p1 := range map[string]float64{"Production/MC": 350, "Production/Rep": 210, "Production/Val": 140,
		"Analysis/User": 200, "Analysis/Grp": 50, "Test": 50} {
		i, ok := s.Tree.ByPath(path)
		if got := targets[s.Tree.Nodes[i].ID]; !ok || got < p1-1e-6 || got > p1+1e-6 {
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

func TestEveryKeyIsRead(t *testing.T) {
	s, err := Parse("f", corpus(t, "good.every_key.yml")["good.every_key.yml"])
	if err != nil {
		t.Fatal(err)
	}
	p := s.Tree.Nodes[1].Plan
	got := fmt.Sprintln(p.Weight, p.Tier, p.Owned, "|", p.Min, p.Max, "|", p.Lend, "|", p.Borrow, p.Rank, *p.Reclaim, p.HalfLife, p.Clamp, *s.Tree.Nodes[2].Plan.Aging,
		p.Windows, s.was, s.queueWas, s.Tree.Nodes[2].Plan.LendTo, s.OnNoMatch, s.Rules[0].Match, s.Queues[0].Labels)
	want := "2.5 2 10, gpu: 40 | 5 cpu: 100.125 | cpu: none, gpu: 30 | all 20000 {2m0s 10m0s 10/1m0s lca rank} 24h0m0s 50 {1h0m0s 10 500} " +
		"[Mon-Fri 08:00-18:00 Europe/Zurich: weight 5 tier 1 lend none borrow 3 rank 1 Sat,Sun: owned 1 min 0 max 7] map[A:Old/A] map[c1:c0] A A/A 2 " +
		"map[campaign:a label:x|y labels.k:(1) processing_type:b queue:g resource_type:d transformation:c user:f vo:e working_group:] map[a:b c:7.10]"
	if got != want+"\n" {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	q := s.Queues[0]
	if q.WalltimeS != 36*3600 || q.CorePowerMilli != 10250 || q.Slots == nil || *q.Slots != 0 || q.Cores != 64 || q.Prefer != "wide" || q.Pool != "cpu" || q.State != shares.Online {
		t.Errorf("queue %+v", q)
	}
	if s.Queues[1].Slots != nil || s.Queues[1].CorePowerMilli != 1000 {
		t.Errorf("queue %+v", s.Queues[1])
	}
}

func FuzzParse(f *testing.F) {
	for _, pattern := range []string{"good.*.yml", "bad.*.yml"} {
		for _, src := range corpus(f, pattern) {
			f.Add(src)
		}
	}
	f.Fuzz(func(t *testing.T, src []byte) {
		s, err := Parse("f", src)
		var problems Problems
		switch {
		case err != nil && (s != nil || !errors.As(err, &problems) || len(problems) == 0):
			t.Fatalf("%v with %v", s, err)
		case err == nil && (s.Tree == nil || s.Tags == nil || len(s.Tree.Leaves()) == 0):
			t.Fatalf("accepted: %+v", s)
		}
	})
}
