package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/divvyhq/divvy/cmd/divvy/servetest"

	"github.com/google/go-cmp/cmp"

	"github.com/divvyhq/divvy/api/client"
	"github.com/divvyhq/divvy/api/wire"
	"github.com/divvyhq/divvy/cmd/divvy/config"
	"github.com/divvyhq/divvy/cmd/divvy/fail"
	"github.com/divvyhq/divvy/internal/pgtest"
)

// stage is a daemon with a site of the test's own.
type stage struct {
	t  *testing.T
	d  *tested
	cl *client.Client
}

func newStage(t *testing.T, site string) *stage {
	t.Helper()
	d, cl := launch(t, func(c *config.Config) {
		c.Site = filepath.Join(t.TempDir(), "site.yml")
		if err := os.WriteFile(c.Site, []byte(site), 0o600); err != nil {
			t.Fatal(err)
		}
	})
	return &stage{t: t, d: d, cl: cl}
}

func (s *stage) must(err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatal(err)
	}
}

// submit makes a task of n jobs and waits until so many of them are ready.
func (s *stage) submit(share string, n, ready int64) int64 {
	s.t.Helper()
	spec := servetest.Hello(n)
	spec.Share = share
	task, err := s.cl.Tasks().Submit(s.t.Context(), spec, "")
	s.must(err)
	servetest.Eventually(s.t, 20*time.Second, func() (bool, string) {
		st, err := s.cl.Shares().Standing(s.t.Context())
		s.must(err)
		for _, c := range st.Pools[0].Shares {
			if c.Path == share {
				return c.Ready >= ready, fmt.Sprintf("%s has %d ready jobs", share, c.Ready)
			}
		}
		return false, "no share " + share
	})
	return task.ID
}

// pull asks for so many jobs of one core.
func (s *stage) pull(n int) (leases []wire.Lease) {
	s.t.Helper()
	for len(leases) < n {
		reply, err := s.cl.Pull(s.t.Context(), wire.PullRequest{Queue: "Q", Pilot: "p", Slot: wire.Slot{Cores: min(n-len(leases), 100)},
			Max: min(n-len(leases), 100), WaitS: 5})
		s.must(err)
		leases = append(leases, reply.Leases...)
	}
	return leases
}

func (s *stage) finish(leases ...wire.Lease) {
	s.t.Helper()
	req := wire.FinishRequest{Pilot: "p"}
	for _, l := range leases {
		req.Results = append(req.Results, wire.Result{Lease: l.Lease, Outcome: "finished"})
	}
	reply, err := s.cl.Finish(s.t.Context(), req)
	s.must(err)
	for _, v := range reply.Verdicts {
		if v.Verdict != "recorded" {
			s.t.Fatalf("%+v", v)
		}
	}
}

// held is how many slots the leaves of the first pool have that have any.
func (s *stage) held() map[string]int {
	s.t.Helper()
	held := map[string]int{}
	for _, share := range s.d.Dispatcher().Standing().Pools[0].Shares {
		if share.Leaf && share.Held > 0 {
			held[share.Path] = int(share.Held)
		}
	}
	return held
}

const treeT = `shares:
  - {name: Prod, weight: 70, children: [{name: MC, weight: 50}, {name: Rep, weight: 30}, {name: Val, weight: 20}]}
  - {name: Ana, weight: 25, children: [{name: User, weight: 80}, {name: Grp, weight: 20}]}
  - {name: Test, weight: 5}
queues: [{name: Q, slots: 1000}]
`

// W1 of sharing.md over HTTP: P1 with Prod 70→50 and Ana 25→45, with 1000 jobs running.
func TestW1WhatIf(t *testing.T) {
	t.Parallel()
	s := newStage(t, treeT)
	for _, share := range []string{"Prod/MC", "Prod/Rep", "Prod/Val", "Ana/User", "Ana/Grp", "Test"} {
		s.submit(share, 1500, 400)
	}
	s.pull(1000)
	if d := cmp.Diff(map[string]int{"Prod/MC": 350, "Prod/Rep": 210, "Prod/Val": 140, "Ana/User": 200, "Ana/Grp": 50, "Test": 50}, s.held()); d != "" {
		t.Errorf("P1: %s", d)
	}
	next := strings.NewReplacer("weight: 70", "weight: 50", "weight: 25", "weight: 45").Replace(treeT)
	a, err := s.cl.Site().WhatIf(t.Context(), []byte(next), time.Time{}, client.ApplyOptions{})
	s.must(err)
	got := map[string]string{}
	for _, c := range a.Targets[0].Shares {
		got[c.Path] = fmt.Sprintf("%.0f→%.0f %d→%d %+d", *c.Before, *c.After, c.SlotsBefore, c.SlotsAfter, c.Gain)
	}
	want := map[string]string{"Prod": "700→500 700→500 -200", "Prod/MC": "350→250 350→250 -100", "Prod/Rep": "210→150 210→150 -60", "Prod/Val": "140→100 140→100 -40",
		"Ana": "250→450 250→450 +200", "Ana/User": "200→360 200→360 +160", "Ana/Grp": "50→90 50→90 +40", "Test": "50→50 50→50 +0"}
	if d := cmp.Diff(want, got); d != "" || !a.DryRun || a.Version != 2 {
		t.Errorf("%+v %s", a.Changes, d)
	}
	if w := a.Targets[0].Way; w.ETAS != nil || !strings.HasPrefix(w.ETA, "unknown") {
		t.Errorf("nothing has ended: %+v", w)
	}
	if v, err := s.cl.Site().Current(t.Context()); err != nil || v.Version != 1 {
		t.Errorf("version %d, %v", v.Version, err)
	}
}

const oneToOne = "shares: [{name: A}, {name: B}]\nqueues: [{name: Q, slots: 100}]\n"

// W2 of sharing.md over HTTP: A:B 1:1 → 1:3 on 100 full slots. Nothing is killed; the next 25 ends of A go to B.
func TestW2ChangeOfWeights(t *testing.T) {
	t.Parallel()
	s := newStage(t, oneToOne)
	s.submit("A", 400, 200)
	s.submit("B", 400, 200)
	leases := s.pull(100)
	if d := cmp.Diff(map[string]int{"A": 50, "B": 50}, s.held()); d != "" {
		t.Fatal(d)
	}
	_, err := s.cl.Site().Apply(t.Context(), []byte(strings.Replace(oneToOne, "{name: B}", "{name: B, weight: 3}", 1)), client.ApplyOptions{})
	s.must(err)
	renew := wire.RenewRequest{Pilot: "p"}
	for _, l := range leases {
		renew.Leases = append(renew.Leases, wire.Renewal{Lease: l.Lease, State: "running"})
	}
	kept, err := s.cl.Renew(t.Context(), renew)
	s.must(err)
	if len(kept.Kept) != 100 || len(kept.Cancel)+len(kept.Lost) != 0 {
		t.Errorf("kept %d, cancel %v, lost %v", len(kept.Kept), kept.Cancel, kept.Lost)
	}
	ofA := slices.DeleteFunc(slices.Clone(leases), func(l wire.Lease) bool { return l.Share != "A" })
	for i, l := range ofA[:25] {
		s.finish(l)
		if got := s.pull(1)[0]; got.Share != "B" {
			t.Fatalf("end %d of A went to %s", i+1, got.Share)
		}
	}
	s.finish(ofA[25])
	if got := s.pull(1)[0]; got.Share != "A" {
		t.Errorf("end 26 of A went to %s", got.Share)
	}
	if d := cmp.Diff(map[string]int{"A": 25, "B": 75}, s.held()); d != "" {
		t.Error(d)
	}
	// 26 jobs of A ended in the last 5 minutes: the way back takes what 25 of B's take at A's pace of the pool.
	servetest.Eventually(t, 20*time.Second, func() (bool, string) {
		a, err := s.cl.Site().WhatIf(t.Context(), []byte(oneToOne), time.Time{}, client.ApplyOptions{})
		s.must(err)
		p := a.Targets[0]
		if p.Shares[0].Gain != 25 || p.Shares[1].Gain != -25 {
			t.Fatalf("%+v", p)
		}
		return p.Way.ETAS != nil && *p.Way.ETAS > 0 && p.Way.EndsPerSecond > 0, fmt.Sprintf("%+v", p.Way)
	})
}

// A version that takes effect later, through the commands.
func TestLaterThroughTheCommands(t *testing.T) {
	t.Parallel()
	s := newStage(t, oneToOne)
	file := filepath.Join(t.TempDir(), "night.yml")
	s.must(os.WriteFile(file, []byte(strings.Replace(oneToOne, "{name: B}", "{name: B, weight: 3}", 1)), 0o600))
	run := func(code int, want string, args ...string) string {
		t.Helper()
		o := divvy(t, append(args, "--server", s.d.URL())...)
		if o.code != code || !strings.Contains(o.out+o.err, want) {
			t.Errorf("divvy %v: %d\n%s%s", args, o.code, o.out, o.err)
		}
		return o.out
	}
	run(fail.OK, "later version 1 takes effect at", "apply", "-f", file, "--at", "+2h", "--note", "night")
	run(fail.OK, "later version 2 takes effect at", "apply", "-f", file, "--at", time.Now().Add(3*time.Hour).Format(time.RFC3339))
	run(fail.Usage, "expected RFC 3339", "apply", "-f", file, "--at", "tonight")
	run(fail.Failed, "The time is not in the future: 2020-01-01T", "apply", "-f", file, "--at", "2020-01-01 08:00")
	if list := run(fail.OK, "note: later version 2: later version 1 takes effect before it", "apply", "--list-later"); !strings.Contains(list, "night") {
		t.Error(list)
	}
	run(fail.Usage, "--at does not go with --list-later", "apply", "--list-later", "--at", "+2h")
	run(fail.OK, "later version 2 is cancelled", "apply", "--cancel", "2")
	run(fail.Failed, "No later version", "apply", "--cancel", "9")
	run(fail.Usage, "is not the number of a later version", "apply", "--cancel", "0")
	pgtest.Age(t, s.d.pool, "site_later", "effective_at", 3*time.Hour)
	servetest.Eventually(t, 20*time.Second, func() (bool, string) {
		v, err := s.cl.Site().Current(t.Context())
		return err == nil && v.Version == 2 && v.Note == "night", fmt.Sprintf("%+v %v", v, err)
	})
	run(fail.OK, "applied as 2", "apply", "--list-later", "--all")
	servetest.Eventually(t, 20*time.Second, func() (bool, string) {
		st, err := s.cl.Shares().Standing(t.Context())
		return err == nil && st.Version == 2, fmt.Sprintf("the daemon works by version %d, %v", st.Version, err)
	})
}

// Running jobs change their share, through the command; their units count there at once.
func TestReassignThroughTheCommand(t *testing.T) {
	t.Parallel()
	s := newStage(t, oneToOne)
	id := s.submit("A", 40, 40)
	leases := s.pull(10)
	task := fmt.Sprint(id)
	for _, step := range []struct {
		leased string
		args   []string
		code   int
		want   string
	}{
		{"A", []string{"--share", "B", task, "77"}, fail.Failed, fmt.Sprintf("task %d: A → B: 30 ready jobs\n  not moved: 10 leased jobs stay charged to the share that they started under", id)},
		{"A", []string{"--share", "B", "--running", task}, fail.OK, fmt.Sprintf("task %d: it is in B already; now went 10 leased jobs too\n", id)},
		{"B", []string{"--share", "B", "--running", task}, fail.OK, fmt.Sprintf("task %d: nothing moved: it is in B already\n", id)},
	} {
		servetest.Eventually(t, 20*time.Second, func() (bool, string) { // what it says of leases is as of folded
			var n int
			s.must(s.d.pool.QueryRow(t.Context(), "SELECT count(*)::int FROM report.leases WHERE share = $1", step.leased).Scan(&n))
			return n == 10, fmt.Sprintf("%d leases of %s are folded", n, step.leased)
		})
		o := divvy(t, append(append([]string{"task", "reassign"}, step.args...), "--server", s.d.URL())...)
		if o.code != step.code || !strings.HasPrefix(o.out, step.want) {
			t.Errorf("%v: %d %s%s", step.args, o.code, o.out, o.err)
		}
	}
	if d := cmp.Diff(map[string]int{"B": 10}, s.held()); d != "" {
		t.Error(d)
	}
	servetest.Eventually(t, 10*time.Second, func() (bool, string) {
		st, err := s.cl.Shares().Standing(context.Background())
		s.must(err)
		a, b := st.Pools[0].Shares[0], st.Pools[0].Shares[1]
		return a.Held == 0 && a.Ready == 0 && b.Held == 10 && b.Ready == 30, fmt.Sprintf("%+v %+v", a, b)
	})
	s.finish(leases...)

	// Jobs that came to run just now go too, whether they are counted yet or not.
	late := s.submit("A", 5, 5)
	s.pull(5)
	for _, args := range [][]string{{"--share", "B"}, {"--share", "B", "--running"}} {
		if o := divvy(t, append(append([]string{"task", "reassign"}, args...), fmt.Sprint(late), "--server", s.d.URL())...); o.code != fail.OK {
			t.Errorf("%v: %d %s%s", args, o.code, o.out, o.err)
		}
	}
	servetest.Eventually(t, 20*time.Second, func() (bool, string) {
		held := s.held()
		return cmp.Equal(held, map[string]int{"B": 5}), fmt.Sprintf("held: %v", held)
	})
	if o := divvy(t, "task", "reassign", "--share", "C", task, "--server", s.d.URL()); o.code != fail.Failed || !strings.Contains(o.err, `there is no share "C"`) {
		t.Errorf("%d %s", o.code, o.err)
	}
}

// W4 of sharing.md through the command.
func TestW4RulesOnPastTasks(t *testing.T) {
	t.Parallel()
	s := newStage(t, oneToOne+"tags: [{match: {label: user}, share: A}]\n")
	for _, name := range []string{"hello", "hello", "odd"} {
		spec := servetest.Hello(5)
		spec.Campaign = name
		_, err := s.cl.Tasks().Submit(t.Context(), spec, "")
		s.must(err)
	}
	file := filepath.Join(t.TempDir(), "new.yml")
	s.must(os.WriteFile(file, []byte(oneToOne+"tags: [{match: {campaign: hello}, share: B}]\n"), 0o600))
	o := divvy(t, "tags", "test", "--since", "7d", "-f", file, "--server", s.d.URL())
	for _, want := range []string{"3 tasks of the last 7d with 15 jobs: 3 tasks would go to another share or to none", "no share for:", `campaign is "odd", not "hello"`} {
		if o.code != fail.OK || !strings.Contains(o.out, want) {
			t.Errorf("%q is missing: %d\n%s%s", want, o.code, o.out, o.err)
		}
	}
	if v, err := s.cl.Site().Current(t.Context()); err != nil || v.Version != 1 {
		t.Errorf("version %d, %v", v.Version, err)
	}
}
