package tagging

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func leafOf(paths ...string) func(string) bool {
	return func(p string) bool { return slices.Contains(paths, p) }
}

var tree = leafOf("Production/MC", "Production/Rep", "Analysis/PHYS", "Analysis/HIGGS", "Analysis/phys", "Test", "Wide", "A/b", "Price$1")

func mustCompile(t testing.TB, onNoMatch string, rules ...Rule) *Table {
	t.Helper()
	table, err := Compile(rules, onNoMatch, tree)
	if err != nil {
		t.Fatal(err)
	}
	return table
}

func TestTag(t *testing.T) {
	table := mustCompile(t, "Test",
		Rule{Match: map[string]string{"label": "managed", "working_group": "GP_(?:PHYS|HIGGS)", "user": ""}, Share: "Production/MC"},
		Rule{Match: map[string]string{"label": "managed", "labels.site": ".*"}, Share: "Production/Rep"},
		Rule{Match: map[string]string{"label": "user", "working_group": "GP_(PHYS|HIGGS)"}, Share: "Analysis/$1"},
		Rule{Match: map[string]string{"label": "user|managed", "working_group": "GP_.*"}, Share: "Production/Rep"},
		Rule{Match: map[string]string{"resource_type": "MCORE.*"}, Share: "Wide"},
	)
	for name, c := range map[string]struct {
		a     Attributes
		share string
		rule  int
		later []int
	}{
		"first match wins, later ones are told": {Attributes{"label": "managed", "working_group": "GP_PHYS"}, "Production/MC", 0, []int{3}},
		"the whole value":                       {Attributes{"label": "managed_x", "working_group": "GP_PHYS"}, "Test", -1, nil},
		"case matters":                          {Attributes{"label": "Managed", "working_group": "GP_PHYS"}, "Test", -1, nil},
		"\"\" wants it missing":                 {Attributes{"label": "managed", "working_group": "GP_PHYS", "user": "alice"}, "Production/Rep", 3, nil},
		"an empty value is missing":             {Attributes{"label": "managed", "working_group": "GP_PHYS", "user": ""}, "Production/MC", 0, []int{3}},
		".* wants it there":                     {Attributes{"label": "managed"}, "Test", -1, nil},
		"labels":                                {Attributes{"label": "managed", "labels.site": "x"}, "Production/Rep", 1, nil},
		"groups":                                {Attributes{"label": "user", "working_group": "GP_HIGGS"}, "Analysis/HIGGS", 2, []int{3}},
		"nothing known":                         {Attributes{}, "Test", -1, nil},
	} {
		t.Run(name, func(t *testing.T) {
			r := table.Tag(c.a)
			if r.Share != c.share || r.Rule != c.rule || !slices.Equal(r.Later, c.later) || (r.Verdict == Matched) != (c.rule >= 0) {
				t.Errorf("%+v", r)
			}
			if len(r.Trace) != table.Len() {
				t.Errorf("%d steps", len(r.Trace))
			}
		})
	}
}

func TestVerdictsWithoutMatch(t *testing.T) {
	for onNoMatch, want := range map[string]Result{"": {Verdict: Reject}, "reject": {Verdict: Reject}, "hold": {Verdict: Hold},
		"Test": {Verdict: Default, Share: "Test"}} {
		r := mustCompile(t, onNoMatch).Tag(Attributes{"label": "x"})
		if r.Verdict != want.Verdict || r.Share != want.Share || r.Rule != -1 {
			t.Errorf("%q: %+v", onNoMatch, r)
		}
	}
	if r := new(Table).Tag(nil); r.Verdict != Reject {
		t.Errorf("zero table: %+v", r)
	}
}

func TestTrace(t *testing.T) {
	table := mustCompile(t, "reject",
		Rule{Match: map[string]string{"working_group": "GP_.*", "label": "managed", "labels.b": "1", "labels.a": "1"}, Share: "Test"},
		Rule{Match: map[string]string{"label": "managed", "working_group": "GP_(PHYS|HIGGS)"}, Share: "Analysis/$1"})
	got := table.Tag(Attributes{"label": "managed", "working_group": "GP_PHYS", "labels.a": "2"}).Trace
	want := []Step{
		{Rule: 0, Share: "Test", Checks: []Check{{"label", "managed", "managed", true}, {"working_group", "GP_.*", "GP_PHYS", true},
			{"labels.a", "1", "2", false}}},
		{Rule: 1, Matched: true, Share: "Analysis/PHYS", Checks: []Check{{"label", "managed", "managed", true},
			{"working_group", "GP_(PHYS|HIGGS)", "GP_PHYS", true}}},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

func TestTagJob(t *testing.T) {
	table := mustCompile(t, "reject",
		Rule{Match: map[string]string{"label": "special"}, Share: "Test"},
		Rule{Match: map[string]string{"resource_type": "MCORE"}, Share: "Wide"},
		Rule{Match: map[string]string{"label": ".*"}, Share: "Production/MC"})
	if !table.OnJob() {
		t.Fatal("a rule names resource_type")
	}
	for _, c := range []struct {
		a    Attributes
		want string
	}{
		{Attributes{"label": "managed", "resource_type": "MCORE"}, "Wide"},
		{Attributes{"label": "special", "resource_type": "MCORE"}, ""}, // a rule on the task comes first
		{Attributes{"label": "managed", "resource_type": "SCORE"}, ""},
		{Attributes{}, ""},
	} {
		if share, ok := table.TagJob(c.a); share != c.want && ok || ok != (c.want != "") {
			t.Errorf("%v: %q %v", c.a, share, ok)
		}
	}
	if plain := mustCompile(t, "reject", Rule{Share: "Test"}); plain.OnJob() {
		t.Error("no rule names an attribute of jobs")
	}
}

func TestCompileRefuses(t *testing.T) {
	one := func(field, pattern, share string) Rule {
		return Rule{Match: map[string]string{field: pattern}, Share: share}
	}
	for name, c := range map[string]struct {
		rule  Rule
		field string
		says  string
	}{
		"unknown attribute":    {one("colour", "red", "Test"), "match.colour", "unknown attribute"},
		"labels without a key": {one("labels.", "red", "Test"), "match.labels.", "unknown attribute"},
		"broken pattern":       {one("label", "GP_(", "Test"), "match.label", "missing closing )"},
		"unbalanced pattern":   {one("label", "a)|(b", "Test"), "match.label", "unexpected )"},
		"no look-around":       {one("label", "(?=a)", "Test"), "match.label", "does not compile"},
		"too long":             {one("label", strings.Repeat("a", MaxPattern+1), "Test"), "match.label", "1001 bytes"},
		"too large":            {one("label", strings.Repeat("a{999}", 100), "Test"), "match.label", "instructions"},
		"missing share":        {one("label", "a", ""), "share", "is empty"},
		"inner share":          {one("label", "a", "Production"), "share", "not a leaf"},
		"value not a leaf":     {one("label", "(PHYS|TOP|BEAUTY)", "Analysis/$1"), "share", `"Analysis/BEAUTY" and 1 more`},
		"optional group":       {one("label", "(PHYS)?", "Analysis/$1"), "share", `"Analysis/"`},
		"endless group":        {one("label", "GP_(.*)", "Analysis/$1"), "match.label", "without end"},
		"endless plus":         {one("label", "(A+)", "Analysis/$1"), "match.label", "without end"},
		"repeated group":       {one("label", "(?:(PHYS|HIGGS),)*", "Analysis/$1"), "match.label", "inside a repetition"},
		"too many values":      {one("label", "([a-z]{5})", "Analysis/$1"), "match.label", "too many"},
		"no such group":        {one("label", "(PHYS)", "Analysis/$2"), "share", "no pattern of the rule has a group 2"},
		"no such name":         {one("label", "(?P<x>PHYS)", "Analysis/${y}"), "share", "has a group y"},
		"group 0":              {one("label", "(PHYS)", "Analysis/$0"), "share", "group 0"},
		"lonely dollar":        {one("label", "a", "Analysis/$x"), "share", "$$ for a dollar"},
		"unclosed":             {one("label", "(a)", "Analysis/${1"), "share", "$$ for a dollar"},
		"ambiguous number": {Rule{Match: map[string]string{"label": "(PHYS)", "campaign": "(HIGGS)"}, Share: "Analysis/$1"}, "share",
			"more than one field"},
		"name twice": {Rule{Match: map[string]string{"label": "(?P<x>PHYS)", "campaign": "(?P<x>HIGGS)"}, Share: "Analysis/${x}"},
			"match.campaign", "also in label"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Compile([]Rule{{Share: "Test"}, c.rule}, "hold", tree)
			var ps Problems
			if !errors.As(err, &ps) || len(ps) != 1 || ps[0].Rule != 1 || ps[0].Field != c.field || !strings.Contains(err.Error(), c.says) {
				t.Errorf("%v", err)
			}
		})
	}
}

// TestListingIsBounded: patterns that are made to blow up are refused at once.
func TestListingIsBounded(t *testing.T) {
	for _, pattern := range []string{"(a{0,999}b{0,999})", "((a?){30})", strings.Repeat("(a|b)", 40), "(" + strings.Repeat("[ab]?", 190) + ")",
		"(" + strings.Repeat("(?:a|b){9}", 90) + ")", "([^a])", "(?i)(" + strings.Repeat("k", 100) + ")"} {
		start := time.Now()
		_, err := Compile([]Rule{{Match: map[string]string{"label": pattern}, Share: "$1$1"}}, "hold", tree)
		if err == nil || time.Since(start) > 2*time.Second {
			t.Errorf("%.40s: %.200v after %v", pattern, err, time.Since(start))
		}
	}
}

func TestCompileJoinsProblems(t *testing.T) {
	_, err := Compile([]Rule{
		{Match: map[string]string{"label": "(", "user": "["}, Share: "Nowhere"},
		{Match: map[string]string{"labels.x": "a"}, Share: "Test"},
		{Match: map[string]string{"x": "a"}, Share: "Production"},
	}, "Production", tree)
	var ps Problems
	if !errors.As(err, &ps) {
		t.Fatal(err)
	}
	var got []string
	for _, p := range ps {
		got = append(got, fmt.Sprint(p.Rule, " ", p.Field))
	}
	if want := []string{"0 match.label", "0 match.user", "0 share", "2 match.x", "2 share", "-1 on_no_match"}; !slices.Equal(got, want) {
		t.Errorf("%q\n%v", got, err)
	}
	if !strings.HasPrefix(err.Error(), "tags[0].match.label: ") {
		t.Errorf("%v", err)
	}
}

func TestGroupsThatAreTaken(t *testing.T) {
	for name, c := range map[string]struct {
		match map[string]string
		share string
		a     Attributes
		want  string
	}{
		"text around a group is free": {map[string]string{"label": ".*_(PHYS|HIGGS)_[0-9]+"}, "Analysis/$1", Attributes{"label": "x_y_HIGGS_12"}, "Analysis/HIGGS"},
		"names over several fields": {map[string]string{"label": "(?P<top>Analysis|Analysis)", "campaign": "(?P<grp>PHYS)|(?P<rest>x)?HIGGS"}, "${top}/PHYS${rest}",
			Attributes{"label": "Analysis", "campaign": "PHYS"}, ""},
		"case folded":            {map[string]string{"label": "(?i:(p)hys)"}, "A/b", Attributes{"label": "PHYS"}, "A/b"},
		"alternatives of groups": {map[string]string{"label": "(?:(PHYS)|(HIGGS))"}, "Analysis/$1$2", Attributes{"label": "HIGGS"}, "Analysis/HIGGS"},
		"nested groups":          {map[string]string{"label": "((Analysis)/(PHYS|HIGGS))"}, "$1", Attributes{"label": "Analysis/HIGGS"}, "Analysis/HIGGS"},
		"classes and counts":     {map[string]string{"label": "([Aa]/b{1,1})"}, "A/b", Attributes{"label": "a/b"}, "A/b"},
		"a digit is no number's": {map[string]string{"label": "(A)"}, "${1}/b", Attributes{"label": "A"}, "A/b"},
		"dollar":                 {nil, "Price$$1", Attributes{}, "Price$1"},
	} {
		t.Run(name, func(t *testing.T) {
			table, err := Compile([]Rule{{Match: c.match, Share: c.share}}, "reject", tree)
			if c.want == "" {
				if err == nil {
					t.Fatal("taken though rest may be x")
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if r := table.Tag(c.a); r.Share != c.want {
				t.Errorf("%+v", r)
			}
		})
	}
}
