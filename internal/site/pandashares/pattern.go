package pandashares

import (
	"errors"
	"fmt"
	"regexp"
	"regexp/syntax"
	"strings"
)

// pattern is one of PanDA's, made into one of a rule.
type pattern struct {
	text   string
	absent bool   // it stands for tasks without the attribute too
	note   string // what was changed
}

// noGroup is what PanDA takes the working group for of a task that has none.
const noGroup = " "

// fullMatch makes a pattern that must match all of a value of one that must match its begin.
func fullMatch(column, source string) (pattern, error) {
	p := pattern{text: source}
	if column == "vo" { // a name
		p.text = regexp.QuoteMeta(source)
		return p, nil
	}
	var notes []string
	if strings.Contains(p.text, "%") {
		p.text = strings.ReplaceAll(p.text, "%", ".*")
		notes = append(notes, "% stands for anything")
	}
	p.text = strings.ReplaceAll(p.text, `\Z`, `\z`) // Python's name for the end
	tree, err := syntax.Parse(p.text, syntax.Perl)
	if err != nil {
		return p, err
	}
	begin, err := regexp.Compile(`\A(?:` + p.text + `)`)
	if err != nil {
		return p, err
	}
	p.absent = column == "workinggroup" && begin.MatchString(noGroup)
	one := !strings.Contains(p.text, "|")
	if exact := strings.TrimSuffix(p.text, "$"); one && endsWith(tree, syntax.OpEndText) && exact != p.text {
		p.text = exact
		notes = append(notes, "$ goes without saying")
	} else if !endsWith(tree, syntax.OpStar) && !endsWith(tree, syntax.OpEndText) {
		if !one {
			p.text = "(?:" + p.text + ")"
		}
		p.text += ".*"
		notes = append(notes, "fits the begin of a value in PanDA, so .* is added")
	}
	if exact := strings.TrimPrefix(p.text, "^"); one && exact != p.text {
		p.text = exact
		notes = append(notes, "^ goes without saying")
	}
	if p.text == "" { // in a rule that means: without the attribute
		return p, errors.New("the pattern fits no value; leave the cell empty for every one")
	}
	if len(notes) > 0 {
		p.note = fmt.Sprintf("%s %s: %s", strings.ToUpper(column), source, strings.Join(notes, "; "))
	}
	return p, nil
}

// endsWith says whether all ways through a pattern end in .* (OpStar) or at the end of the text (OpEndText).
func endsWith(tree *syntax.Regexp, op syntax.Op) bool {
	switch tree.Op {
	case syntax.OpStar:
		return op == syntax.OpStar && (tree.Sub[0].Op == syntax.OpAnyCharNotNL || tree.Sub[0].Op == syntax.OpAnyChar)
	case syntax.OpEndText:
		return op == syntax.OpEndText
	case syntax.OpConcat:
		return len(tree.Sub) > 0 && endsWith(tree.Sub[len(tree.Sub)-1], op)
	case syntax.OpCapture:
		return endsWith(tree.Sub[0], op)
	case syntax.OpAlternate:
		for _, sub := range tree.Sub {
			if !endsWith(sub, op) {
				return false
			}
		}
		return true
	}
	return false
}
