package tagging

import (
	"regexp"
	"testing"

	"pgregory.net/rapid"
)

// TestTagIsFirstMatch compares with the definition, rule by rule, field by field.
func TestTagIsFirstMatch(t *testing.T) {
	values := []string{"", "a", "b", "ab", "ba", "A"}
	patterns := []string{"", "a", "b", "a|b", ".*", "a.*", "(?i)a", "[ab]+", "ab?"}
	rapid.Check(t, func(t *rapid.T) {
		var rules []Rule
		for range rapid.IntRange(0, 6).Draw(t, "rules") {
			match := rapid.MapOfN(rapid.SampledFrom([]string{"label", "user", "queue", "labels.x"}), rapid.SampledFrom(patterns), 0, 3).Draw(t, "match")
			rules = append(rules, Rule{Match: match, Share: rapid.SampledFrom([]string{"S", "T"}).Draw(t, "share")})
		}
		table, err := Compile(rules, "hold", func(string) bool { return true })
		if err != nil {
			t.Fatal(err)
		}
		a := Attributes(rapid.MapOfN(rapid.SampledFrom([]string{"label", "user", "queue", "labels.x", "vo"}), rapid.SampledFrom(values), 0, 4).Draw(t, "attributes"))
		r := table.Tag(a)
		rule, later := -1, 0
		for i := range rules {
			if !says(rules[i], a) {
				continue
			}
			if rule < 0 {
				rule = i
			} else {
				later++
			}
		}
		if r.Rule != rule || len(r.Later) != later || rule >= 0 && r.Share != rules[rule].Share {
			t.Fatalf("%+v, want rule %d", r, rule)
		}
		share, ok := table.TagJob(a)
		if ok != (rule >= 0 && rules[rule].OnJob()) || ok && share != r.Share {
			t.Fatalf("job: %q %v", share, ok)
		}
	})
}

func says(r Rule, a Attributes) bool {
	for field, pattern := range r.Match {
		value := a[field]
		if value == "" || pattern == "" {
			if value != pattern {
				return false
			}
			continue
		}
		if !regexp.MustCompile(`^(?:` + pattern + `)$`).MatchString(value) {
			return false
		}
	}
	return true
}

// FuzzCompile: no pattern and no share makes Compile panic or take long, and a rule that was taken never
// yields a share that is no leaf.
func FuzzCompile(f *testing.F) {
	f.Add("GP_(PHYS|HIGGS)", "Analysis/$1", "GP_PHYS")
	f.Add("(?i)(a)|(b)?", "${1}x$2$$", "A")
	f.Add("(([ab]){2}|c{0,3}(?P<n>d))", "${n}$1", "cd")
	f.Add(`(\b|^)x(?:(y)?)*$`, "$2", "xy")
	f.Add("([^a])", "$1", "é")
	f.Fuzz(func(t *testing.T, pattern, share, value string) {
		leaves := func(path string) bool { return len(path) < 12 }
		table, err := Compile([]Rule{{Match: map[string]string{"label": pattern}, Share: share}}, "hold", leaves)
		if err != nil {
			return
		}
		r := table.Tag(Attributes{"label": value})
		if r.Verdict == Matched && !leaves(r.Share) {
			t.Errorf("pattern %q, share %q, value %q gives %q", pattern, share, value, r.Share)
		}
	})
}

// FuzzValues: every share that a rule yields was among the values that Compile listed.
func FuzzValues(f *testing.F) {
	f.Add("GP_(PHYS|HIGGS)?x*", "GP_PHYS")
	f.Add("(?i)(k)|(b)?c", "\u212a") // the Kelvin sign folds to k
	f.Add("((a|b){2}|c)d", "abd")
	f.Add("x(?:(a)|b)(?:(c)|d)", "xac")
	f.Fuzz(func(t *testing.T, pattern, value string) {
		seen := make(map[string]bool)
		table, err := Compile([]Rule{{Match: map[string]string{"label": pattern}, Share: "<$1>"}}, "hold", func(path string) bool {
			seen[path] = true
			return true
		})
		if err != nil {
			return
		}
		if r := table.Tag(Attributes{"label": value}); r.Verdict == Matched && !seen[r.Share] {
			t.Errorf("pattern %q, value %q gives %q, not listed", pattern, value, r.Share)
		}
	})
}

func BenchmarkTag(b *testing.B) {
	var rules []Rule
	for range 50 {
		rules = append(rules, Rule{Match: map[string]string{"label": "managed", "working_group": "GP_(PHYS|HIGGS)"}, Share: "Analysis/$1"})
	}
	table := mustCompile(b, "reject", rules...)
	a := Attributes{"label": "managed", "working_group": "GP_TOP"}
	b.ReportAllocs()
	for b.Loop() {
		table.Tag(a)
	}
}
