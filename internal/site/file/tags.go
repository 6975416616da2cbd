package file

import (
	"errors"
	"strings"

	"github.com/divvyhq/divvy/internal/site/strict"
	"github.com/divvyhq/divvy/shares/tagging"
)

// rule is a tagging rule of the file, and where its parts stand.
type rule struct {
	tagging.Rule
	seen   strict.Seen
	places map[string]strict.Value // by the field names of tagging.Problem: match, match.label, share
}

func readRules(v strict.Value) []rule {
	list, _ := v.List()
	if len(list) > maxRules {
		tooMany(v, len(list), maxRules)
		return nil
	}
	rules := make([]rule, len(list))
	for i, e := range list {
		rules[i] = readRule(e)
		rules[i].Position = i
	}
	return rules
}

func readRule(v strict.Value) rule {
	r := rule{places: map[string]strict.Value{}}
	r.Match = map[string]string{}
	r.seen = v.Mapping(strict.Fields{
		"match": func(v strict.Value) {
			r.places["match"] = v
			v.Entries(func(name string, key, pattern strict.Value) {
				r.places["match."+name] = pattern
				if !tagging.Known(name) {
					key.Fail("unknown attribute "+name, attributeHint(name))
				} else if text, ok := pattern.Text(); ok {
					r.Match[name] = text
				}
			})
		},
		"share": func(v strict.Value) {
			r.places["share"] = v
			r.Share, _ = v.NonEmpty()
		},
	})
	r.seen.Require("match", "share")
	return r
}

func attributeHint(name string) string {
	if strict.Closest(name, tagging.Fields) != "" {
		return strict.DidYouMean(name, tagging.Fields)
	}
	return "one of " + strings.Join(tagging.Fields, ", ") + ", labels.<key>"
}

// addRules compiles the rules against the leaves of the file and reports what tagging has against them.
func (s *Content) addRules(rules []rule, all []*share, onNoMatch strict.Value) {
	plain := make([]tagging.Rule, len(rules))
	for i, r := range rules {
		plain[i] = r.Rule
	}
	leaf, inner := leaves(all)
	isLeaf := make(map[string]bool, len(leaf))
	for _, path := range leaf {
		isLeaf[path] = true
	}
	table, err := tagging.Compile(plain, s.OnNoMatch, func(path string) bool { return isLeaf[path] })
	var problems tagging.Problems
	if !errors.As(err, &problems) {
		s.Rules, s.Tags = plain, table
		return
	}
	for _, p := range problems {
		at, path := onNoMatch, s.OnNoMatch
		if p.Rule >= 0 {
			at, path = rules[p.Rule].at(p.Field), plain[p.Rule].Share
		}
		switch {
		case at.Failed(): // unreadable: said already
		case p.Field == "share" && !strings.Contains(path, "$"), p.Field == "on_no_match":
			at.Fail(p.Field+": "+p.Message, leafHint(path, leaf, inner))
		default:
			at.Fail(p.Field+": "+p.Message, p.Hint)
		}
	}
}

func (r rule) at(field string) strict.Value {
	if v, ok := r.places[field]; ok {
		return v
	}
	return r.seen.At("share")
}
