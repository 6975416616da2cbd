package tagging

import (
	"fmt"
	"maps"
	"regexp"
	"regexp/syntax"
	"slices"
	"strconv"
	"strings"
)

// Bounds of a rule.
const (
	MaxPattern  = 1000      // bytes of one pattern
	MaxProgram  = 20_000    // instructions of one compiled pattern
	MaxPrograms = 1_000_000 // instructions of all patterns of a table, some 50 MB
	MaxShares   = 1000      // shares that one rule may yield through its groups
)

// Problem is one thing wrong with a rule. Rule is its index in the argument of Compile, -1 for on_no_match;
// Field is match.<attribute>, match, share or on_no_match.
type Problem struct {
	Rule    int    `json:"rule"`
	Field   string `json:"field"`
	Message string `json:"message"`
	Hint    string `json:"hint,omitempty"`
}

func (p Problem) Error() string {
	where := p.Field
	if p.Rule >= 0 {
		where = fmt.Sprintf("tags[%d].%s", p.Rule, p.Field)
	}
	if p.Hint != "" {
		return where + ": " + p.Message + " (" + p.Hint + ")"
	}
	return where + ": " + p.Message
}

// Problems is all that is wrong with a table, in order.
type Problems []Problem

func (ps Problems) Error() string {
	lines := make([]string, len(ps))
	for i, p := range ps {
		lines[i] = p.Error()
	}
	return strings.Join(lines, "\n")
}

// Compile checks the rules and makes a table of them. onNoMatch is reject (also ""), hold, or the path of a
// leaf; isLeaf says whether a path is a leaf of the tree. The error is Problems: all of them.
func Compile(rules []Rule, onNoMatch string, isLeaf func(path string) bool) (*Table, error) {
	c := compiler{isLeaf: isLeaf}
	t := &Table{}
	for i, r := range rules {
		c.index = i
		t.rules = append(t.rules, c.rule(r))
		t.onJob = t.onJob || r.OnJob()
		if c.program > MaxPrograms {
			c.report("match", "fewer rules, or shorter repeats such as {1,1000}", "up to here the patterns compile to %d instructions; at most %d in all rules", c.program, MaxPrograms)
			break // what comes behind would take more memory still
		}
	}
	c.index = -1
	switch onNoMatch {
	case "", string(Reject):
		t.verdict = Reject
	case string(Hold):
		t.verdict = Hold
	default:
		t.verdict, t.share = Default, onNoMatch
		if !isLeaf(onNoMatch) {
			c.report("on_no_match", "write reject, hold, or the path of a share without children", "%q is not a leaf of the share tree", onNoMatch)
		}
	}
	if len(c.problems) > 0 {
		return nil, c.problems
	}
	return t, nil
}

type compiler struct {
	isLeaf   func(string) bool
	index    int
	program  int // instructions of all patterns so far
	problems Problems
}

func (c *compiler) report(field, hint, format string, args ...any) {
	c.problems = append(c.problems, Problem{Rule: c.index, Field: field, Hint: hint, Message: fmt.Sprintf(format, args...)})
}

func (c *compiler) rule(r Rule) rule {
	out := rule{onJob: r.OnJob()}
	before := len(c.problems)
	var trees []*syntax.Regexp
	for _, name := range ordered(r.Match) {
		if !Known(name) {
			c.report("match."+name, "one of "+strings.Join(Fields, ", ")+", labels.<key>", "unknown attribute")
			continue
		}
		f, tree, n, err := compileField(name, r.Match[name])
		if err != nil {
			c.report("match."+name, "", "%v", err)
			continue
		}
		c.program += n
		out.fields = append(out.fields, f)
		trees = append(trees, tree)
	}
	share, err := parseTemplate(r.Share)
	if err != nil {
		c.report("share", "", "%v", err)
		return out
	}
	out.share = share
	if !share.groups() {
		c.leaf(out.share.expand(nil))
	} else if len(c.problems) == before { // the values of broken patterns are not known
		c.shares(out, trees)
	}
	return out
}

func (c *compiler) leaf(share string) {
	switch {
	case share == "":
		c.report("share", "", "is empty")
	case !c.isLeaf(share):
		c.report("share", "jobs live in shares without children", "%q is not a leaf of the share tree", share)
	}
}

// ordered returns the names of the match in the order of Fields, labels behind them by key, unknown ones last.
func ordered(match map[string]string) []string {
	place := func(name string) int {
		if i := slices.Index(Fields, name); i >= 0 {
			return i
		}
		return len(Fields)
	}
	return slices.SortedFunc(maps.Keys(match), func(a, b string) int {
		if d := place(a) - place(b); d != 0 {
			return d
		}
		return strings.Compare(a, b)
	})
}

// compileField is a compiled pattern, the tree that it was made of, and how many instructions it has.
func compileField(name, pattern string) (field, *syntax.Regexp, int, error) {
	f := field{name: name, pattern: pattern}
	if len(pattern) > MaxPattern {
		return f, nil, 0, fmt.Errorf("the pattern has %d bytes; at most %d", len(pattern), MaxPattern)
	}
	tree, err := syntax.Parse(pattern, syntax.Perl) // by itself: "a)|(b" is no pattern, though "(?:a)|(b)" is one
	if err != nil {
		return f, nil, 0, fmt.Errorf("%q does not compile: %v", pattern, err)
	}
	program, err := syntax.Compile(tree.Simplify())
	if err != nil {
		return f, nil, 0, fmt.Errorf("%q does not compile: %v", pattern, err)
	}
	if len(program.Inst) > MaxProgram {
		return f, nil, 0, fmt.Errorf("%q compiles to %d instructions; at most %d", pattern, len(program.Inst), MaxProgram)
	}
	f.full, err = regexp.Compile(`\A(?:` + pattern + `)\z`)
	if err != nil {
		return f, nil, 0, fmt.Errorf("%q does not compile: %v", pattern, err)
	}
	return f, tree, len(program.Inst), nil
}

// shares checks that every share that the groups can yield is a leaf.
func (c *compiler) shares(r rule, trees []*syntax.Regexp) {
	used, ok := c.groupsUsed(r)
	if !ok {
		return
	}
	sets := []map[string]string{{}}
	for i, tree := range trees {
		values, err := valuesOf(tree, used[i])
		if err == nil && len(values)*len(sets) > MaxShares {
			err = fmt.Errorf("the groups have more than %d values", MaxShares)
		}
		if err != nil {
			c.report("match."+r.fields[i].name, "use alternatives, such as (MC|Rep|Val)",
				"the values of the groups that share %q uses cannot be listed: %v", r.share.source, err)
			return
		}
		sets = product(sets, values)
	}
	c.leaves(r.share, sets)
}

func (c *compiler) leaves(share template, sets []map[string]string) {
	var bad []string
	for _, groups := range sets {
		if path := share.expand(groups); !c.isLeaf(path) && !slices.Contains(bad, path) {
			bad = append(bad, path)
		}
	}
	if len(bad) == 0 {
		return
	}
	slices.Sort(bad)
	shown := fmt.Sprintf("%q", bad[0])
	if len(bad) > 1 {
		shown += fmt.Sprintf(" and %d more", len(bad)-1)
	}
	c.report("share", "every value of the groups must lead to a share without children", "%q may become %s: not a leaf", share.source, shown)
}

// groupsUsed returns, for each field, which of its groups the share uses: index of the group → the keys under
// which it is asked for.
func (c *compiler) groupsUsed(r rule) (used []map[int][]string, ok bool) {
	used = make([]map[int][]string, len(r.fields))
	withGroups, names := []int{}, map[string][2]int{}
	for i, f := range r.fields {
		used[i] = map[int][]string{}
		if f.full.NumSubexp() > 0 {
			withGroups = append(withGroups, i)
		}
		for g, name := range f.full.SubexpNames() {
			if name == "" {
				continue
			}
			if first, twice := names[name]; twice {
				c.report("match."+f.name, "", "the group %s is also in %s", name, r.fields[first[0]].name)
				return nil, false
			}
			names[name] = [2]int{i, g}
		}
	}
	for _, p := range r.share.parts {
		place, known := names[p.group]
		switch {
		case p.group == "":
			continue
		case isNumber(p.group) && len(withGroups) > 1:
			c.report("share", "name the groups, (?P<name>…), and write ${name}", "$%s could be a group of more than one field", p.group)
			return nil, false
		case isNumber(p.group) && len(withGroups) == 1:
			g, err := strconv.Atoi(p.group)
			place, known = [2]int{withGroups[0], g}, err == nil && g >= 1 && g <= r.fields[withGroups[0]].full.NumSubexp()
		}
		if !known {
			c.report("share", "", "%q: no pattern of the rule has a group %s", r.share.source, p.group)
			return nil, false
		}
		used[place[0]][place[1]] = append(used[place[0]][place[1]], p.group)
	}
	return used, true
}

func product(a, b []map[string]string) []map[string]string {
	out := make([]map[string]string, 0, len(a)*len(b))
	for _, x := range a {
		for _, y := range b {
			both := maps.Clone(x)
			maps.Copy(both, y)
			out = append(out, both)
		}
	}
	return out
}
