package file

import (
	"errors"
	"fmt"
	"strings"

	"github.com/divvyhq/divvy/internal/site/strict"
	"github.com/divvyhq/divvy/shares/tagging"
)

// rule is a tagging rule as the file has it.
type rule struct {
	Match map[string]string `yaml:"match" is:"required empty keys=attribute"`
	Share string            `yaml:"share" is:"required"`
	at    strict.Value
}

// Start keeps its place.
func (r *rule) Start(v strict.Value) { r.at, r.Match = v, map[string]string{} }

func attribute(name string) (wrong, hint string) {
	switch {
	case tagging.Known(name):
		return "", ""
	case strict.Closest(name, tagging.Fields) != "":
		hint = strict.DidYouMean(name, tagging.Fields)
	default:
		hint = "one of " + strings.Join(tagging.Fields, ", ") + ", labels.<key>"
	}
	return fmt.Sprintf(" %q is no attribute", name), hint
}

// addRules compiles the rules against the leaves of the file and reports what tagging has against them.
func (s *Content) addRules(rules []rule, onNoMatch string, noMatch strict.Value, t *tree) {
	s.OnNoMatch, s.Rules = onNoMatch, make([]tagging.Rule, len(rules))
	for i, r := range rules {
		s.Rules[i] = tagging.Rule{Position: i, Match: r.Match, Share: r.Share}
	}
	isLeaf := make(map[string]bool, len(t.leaf))
	for _, path := range t.leaf {
		isLeaf[path] = true
	}
	table, err := tagging.Compile(s.Rules, onNoMatch, func(path string) bool { return isLeaf[path] })
	s.Tags = table
	var problems tagging.Problems
	errors.As(err, &problems)
	for _, p := range problems {
		at, path := noMatch, onNoMatch
		if p.Rule >= 0 {
			at, path = rules[p.Rule].at.At(p.Field), rules[p.Rule].Share
		}
		switch {
		case at.Failed(): // unreadable: said already
		case p.Field == "share" && !strings.Contains(path, "$"), p.Field == "on_no_match":
			at.Fail(p.Field+": "+p.Message, t.leafHint(path))
		default:
			at.Fail(p.Field+": "+p.Message, p.Hint)
		}
	}
}
