package tagging

import (
	"regexp"
	"slices"
	"strings"
)

// Attributes of a task or a job: the names of Fields, and labels.<key>.
type Attributes map[string]string

// Fields are the attributes that a rule may name beside labels.<key>, in the order in which they are checked
// and shown.
var Fields = []string{"label", "working_group", "campaign", "processing_type", "transformation", "resource_type",
	"vo", "user", "queue"}

// LabelPrefix leads to the labels of a task: labels.<key>.
const LabelPrefix = "labels."

// Known says whether a rule may name the field.
func Known(field string) bool {
	key, isLabel := strings.CutPrefix(field, LabelPrefix)
	return isLabel && key != "" || slices.Contains(Fields, field)
}

// Rule sends what matches to a share.
type Rule struct {
	Position int               `json:"position"` // place in the file, from 0; Compile goes by the order of its argument
	Match    map[string]string `json:"match" yaml:"match"`
	Share    string            `json:"share" yaml:"share"`
}

// OnJob says whether the rule looks at an attribute that jobs of one task may differ in.
func (r Rule) OnJob() bool {
	_, resource := r.Match["resource_type"]
	_, queue := r.Match["queue"]
	return resource || queue
}

// Verdict says how a share was found, or why not.
type Verdict string

const (
	Matched Verdict = "matched" // by a rule
	Default Verdict = "default" // by on_no_match: <share>
	Hold    Verdict = "hold"    // no match: keep it until a rule comes
	Reject  Verdict = "reject"  // no match: refuse it
)

// Result of tagging.
type Result struct {
	Verdict Verdict `json:"verdict" enum:"matched,default,hold,reject"`
	Share   string  `json:"share,omitempty"`
	Rule    int     `json:"rule" doc:"Index of the rule that won; -1 if none."`
	Later   []int   `json:"later,omitempty" doc:"Rules behind it that match too."`
	Trace   []Step  `json:"trace" doc:"Every rule, in order."`
}

// Step is what one rule said.
type Step struct {
	Rule    int     `json:"rule"`
	Matched bool    `json:"matched"`
	Share   string  `json:"share" doc:"The rule's share, groups filled in if it matched."`
	Checks  []Check `json:"checks" doc:"Field by field, to the first that fails."`
}

// Check is what one field of a rule said.
type Check struct {
	Field   string `json:"field"`
	Pattern string `json:"pattern"`
	Value   string `json:"value" doc:"Empty when the attribute is missing."`
	Matched bool   `json:"matched"`
}

// Table is a compiled list of rules. The zero Table rejects everything.
type Table struct {
	rules   []rule
	verdict Verdict // for no match
	share   string  // for no match, verdict Default
	onJob   bool
}

type rule struct {
	fields []field
	share  template
	onJob  bool
}

type field struct {
	name, pattern string
	full          *regexp.Regexp
}

// OnJob says whether any rule looks at attributes of jobs; if not, jobs need no tagging of their own.
func (t *Table) OnJob() bool { return t.onJob }

// Len is the number of rules.
func (t *Table) Len() int { return len(t.rules) }

// Tag finds the share of a task.
func (t *Table) Tag(a Attributes) Result {
	r := Result{Verdict: t.verdict, Share: t.share, Rule: -1, Trace: make([]Step, len(t.rules))}
	if r.Verdict == "" {
		r.Verdict = Reject
	}
	for i := range t.rules {
		s := t.rules[i].ask(a)
		s.Rule = i
		r.Trace[i] = s
		switch {
		case !s.Matched:
		case r.Rule < 0:
			r.Rule, r.Share, r.Verdict = i, s.Share, Matched
		default:
			r.Later = append(r.Later, i)
		}
	}
	return r
}

// TagJob finds the share of a job from the attributes of its task and its own. It is ok only if a rule on job
// attributes is the first that matches; otherwise the job keeps the share of its task.
func (t *Table) TagJob(a Attributes) (share string, ok bool) {
	if !t.onJob {
		return "", false
	}
	for i := range t.rules {
		if s := t.rules[i].ask(a); s.Matched {
			return s.Share, t.rules[i].onJob
		}
	}
	return "", false
}

func (r *rule) ask(a Attributes) Step {
	s := Step{Share: r.share.source, Checks: make([]Check, 0, len(r.fields))}
	var groups map[string]string
	for i := range r.fields {
		f := &r.fields[i]
		value := a[f.name]
		found := f.match(value)
		s.Checks = append(s.Checks, Check{Field: f.name, Pattern: f.pattern, Value: value, Matched: found != nil})
		if found == nil {
			return s
		}
		if r.share.groups() {
			groups = f.collect(groups, value, found)
		}
	}
	s.Matched = true
	s.Share = r.share.expand(groups)
	return s
}

// match returns the places of the groups, nil if the value does not match.
func (f *field) match(value string) []int {
	if (value == "") != (f.pattern == "") {
		return nil
	}
	return f.full.FindStringSubmatchIndex(value)
}

// collect adds the groups of a match by number and by name.
func (f *field) collect(groups map[string]string, value string, found []int) map[string]string {
	for i, name := range f.full.SubexpNames() {
		if i == 0 {
			continue
		}
		if groups == nil {
			groups = make(map[string]string)
		}
		text := ""
		if found[2*i] >= 0 {
			text = value[found[2*i]:found[2*i+1]]
		}
		groups[number(i)] = text
		if name != "" {
			groups[name] = text
		}
	}
	return groups
}
