package pandashares

import (
	"errors"
	"fmt"
	"regexp/syntax"
	"strings"
)

// tags are the columns that say which tasks belong to a share, and the attributes of rules that they become.
var tags = []struct{ column, attribute string }{
	{"prodsourcelabel", "label"}, {"workinggroup", "working_group"}, {"campaign", "campaign"}, {"processingtype", "processing_type"},
	{"transpath", "transformation"}, {"rtype", "resource_type"}, {"vo", "vo"},
}

// term is a field of a rule.
type term struct{ attribute, pattern string }

// rule is one of the site file, and what to say of it.
type rule struct {
	share *share
	match []term
	notes []string
}

// rulesOf makes the rules of the leaves. The VO is a field only where the table has several.
func (f *faults) rulesOf(top []*share, vos int) (rules []rule) {
	leaves(top, func(s *share) {
		r := rule{share: s}
		var group *pattern
		for _, t := range tags {
			c := s.cell(t.column)
			if c.text == "" || t.column == "vo" && vos < 2 {
				continue
			}
			p, err := fullMatch(t.column, c.text)
			if err != nil {
				hint := ""
				var unreadable *syntax.Error
				if errors.As(err, &unreadable) {
					hint = "patterns are RE2, which cannot look ahead or back: list what is meant, or let an earlier share take the rest"
				}
				f.add(c.at, fmt.Sprintf("%s of %q: %v", strings.ToUpper(t.column), s.name, err), hint)
				continue
			}
			if p.note != "" {
				r.notes = append(r.notes, p.note)
			}
			if p.absent && p.text == ".*" {
				r.notes = append(r.notes, "WORKINGGROUP "+c.text+": tasks without one too, so nothing is asked")
				continue
			}
			if p.absent {
				group = &p
			}
			r.match = append(r.match, term{t.attribute, p.text})
		}
		if len(r.match) == 0 {
			r.notes = append(r.notes, "no pattern, here and in PanDA: it takes every task that comes so far, and no rule below ever acts")
		}
		rules = append(rules, r)
		if group != nil {
			rules = append(rules, r.withoutGroup())
		}
	})
	return rules
}

// withoutGroup is the rule for tasks without a working group.
func (r rule) withoutGroup() rule {
	out := rule{share: r.share, notes: []string{"The same for tasks without a working group, which PanDA takes for a blank."}}
	for _, t := range r.match {
		if t.attribute == "working_group" {
			t.pattern = ""
		}
		out.match = append(out.match, t)
	}
	return out
}
