package file

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/divvyhq/divvy/internal/site/strict"
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
		var problems strict.Problems
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

func TestEveryKeyIsRead(t *testing.T) {
	s, err := Parse("f", corpus(t, "good.every_key.yml")["good.every_key.yml"])
	if err != nil {
		t.Fatal(err)
	}
	p := s.Tree.Nodes[1].Plan
	got := fmt.Sprintln(p.Weight, p.Tier, p.Owned, "|", p.Min, p.Max, "|", p.Lend, "|", p.Borrow, p.Rank, *p.Reclaim, p.HalfLife, p.Clamp, *s.Tree.Nodes[2].Plan.Aging,
		p.Windows, s.Was, s.QueueWas, s.Tree.Nodes[2].Plan.LendTo, s.OnNoMatch, s.Rules[0].Match, s.Queues[0].Labels)
	want := "2.5 2 10, gpu: 40 | 5 cpu: 100.125 | cpu: none, gpu: 30 | all 20000 {2m0s 10m0s 10/1m0s lca rank} 24h0m0s 50 {1h0m0s 10 500} " +
		"[Mon-Fri 08:00-18:00 Europe/Zurich: weight 5 tier 1 lend none borrow 3 rank 1 Sat,Sun: owned 1 min 0 max 7] map[A:Old/A] map[c1:c0] A A/A 2 " +
		"map[campaign:a label:x|y labels.k:(1) processing_type:b queue:g resource_type:d transformation:c user:f vo:e working_group:] map[a:b c:7.10]"
	if got != want+"\n" {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	q := s.Queues[0]
	if q.WalltimeS != 36*3600 || q.CorePowerMilli != 10250 || q.Slots == nil || *q.Slots != 0 || q.Cores != 64 || q.Prefer != "wide" || q.Containers != "podman --volume=/cvmfs:/cvmfs:ro" || q.Pool != "cpu" || q.State != shares.Online {
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
		var problems strict.Problems
		switch {
		case err != nil && (s != nil || !errors.As(err, &problems) || len(problems) == 0):
			t.Fatalf("%v with %v", s, err)
		case err == nil && (s.Tree == nil || s.Tags == nil || len(s.Tree.Leaves()) == 0):
			t.Fatalf("accepted: %+v", s)
		}
	})
}
