package swf

import (
	"strings"
	"testing"
	"time"

	"github.com/divvyhq/divvy/shares"
	"github.com/divvyhq/divvy/shares/sim"
	"github.com/divvyhq/divvy/shares/tagging"
)

func mapping(t *testing.T, s string) Sharer {
	t.Helper()
	m, err := ParseMapping(s)
	if err != nil {
		t.Fatal(err)
	}
	return m.By()
}

func TestMapping(t *testing.T) {
	r := Record{User: 7, Group: 3, Queue: 0, Partition: -1}
	for s, want := range map[string]string{
		"share=group.{gid}":              "group.3",
		"share=all":                      "all",
		"share={queue}/u{uid}":           "0/u7",
		"share=p/{partition}/{uid}{gid}": "p/unknown/73",
	} {
		if got, why := mapping(t, s)(r); got != want || why != "" {
			t.Errorf("%s: %q %s, want %q", s, got, why, want)
		}
	}
	for s, want := range map[string]string{
		"group.{gid}":     "expected share=PATH",
		"share=":          "expected share=PATH",
		"share={user}":    "{user is no placeholder",
		"share=a{uid":     "{uid is no placeholder",
		"share=a}":        "a } without a {",
		"share={uid}/{}x": "{ is no placeholder",
	} {
		if _, err := ParseMapping(s); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", s, err, want)
		}
	}
}

func TestTreeOf(t *testing.T) {
	trace := small(t)
	tree, err := TreeOf(trace.Records, mapping(t, "share=g{gid}/u{uid}"))
	if err != nil {
		t.Fatal(err)
	}
	var paths []string
	for _, i := range tree.Leaves() {
		paths = append(paths, tree.Nodes[i].Path)
	}
	if got := strings.Join(paths, " "); got != "g1/u11 g1/u12 g2/u21 g2/u22 gunknown/uunknown" {
		t.Errorf("leaves %s", got)
	}
	if _, err := TreeOf(trace.Records, mapping(t, "share=a//{gid}")); err == nil || !strings.Contains(err.Error(), "name: is empty") {
		t.Errorf("%v", err)
	}
	for _, c := range [][2]string{{"user.9", "user.10"}, {"a", "b"}, {"a1", "b0"}, {"user.10", "user.11"}} {
		if natural(c[0], c[1]) >= 0 || natural(c[1], c[0]) <= 0 || natural(c[0], c[0]) != 0 {
			t.Errorf("%s does not stand before %s", c[0], c[1])
		}
	}
}

func site(t *testing.T) (*shares.Tree, *tagging.Table) {
	t.Helper()
	plan := shares.DefaultPlan()
	tree, err := shares.Build([]shares.Spec{{Name: "one", Plan: plan}, {Name: "two", Plan: plan, Children: []shares.Spec{{Name: "a", Plan: plan}}}})
	if err != nil {
		t.Fatal(err)
	}
	table, err := tagging.Compile([]tagging.Rule{{Match: map[string]string{"working_group": "1"}, Share: "one"},
		{Match: map[string]string{"working_group": "2"}, Share: "two/a"}}, "reject",
		func(path string) bool { i, ok := tree.ByPath(path); return ok && tree.Leaf(i) })
	if err != nil {
		t.Fatal(err)
	}
	return tree, table
}

func TestJobs(t *testing.T) {
	trace := small(t)
	tree, table := site(t)
	records := trace.Records[:9]
	jobs, left, err := Jobs("small.swf", records, tree, ByRules(table))
	if err != nil || len(jobs) != 8 || len(left) != 1 || left["run time unknown"] != 1 {
		t.Fatalf("%d jobs, %v left out, %v", len(jobs), left, err)
	}
	one, _ := tree.ByPath("one")
	if want := (sim.Job{ID: 1, Leaf: one, Runtime: time.Hour, Units: 4000}); jobs[0] != want {
		t.Errorf("%+v, want %+v", jobs[0], want)
	}
	if last := jobs[7]; last.Units != 8000 || last.At != 20*time.Minute || tree.Nodes[last.Leaf].Path != "two/a" {
		t.Errorf("%+v", last)
	}
	for s, want := range map[string]string{
		"share=g.{gid}":     "small.swf:7: the site has no share \"g.1\" (4 jobs)\nsmall.swf:11: the site has no share \"g.2\" (4 jobs)\nsmall.swf:16: the site has no share \"g.unknown\" (1 job)",
		"share=two":         `small.swf:7: share "two" has shares below it; jobs belong to leaves (9 jobs)`,
		"share=two/a/{gid}": `no share "two/a/1"`,
	} {
		if _, _, err := Jobs("small.swf", trace.Records, tree, mapping(t, s)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v\nwant %s", s, err, want)
		}
	}
	_, _, err = Jobs("small.swf", trace.Records, tree, ByRules(table))
	if want := "small.swf:16: no rule matches user -1, working_group -1, queue 1 (1 job)"; err == nil || err.Error() != want {
		t.Errorf("%v\nwant %s", err, want)
	}
}
