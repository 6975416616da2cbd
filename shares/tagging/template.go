package tagging

import (
	"fmt"
	"strconv"
	"strings"
)

// template is a share with places for groups.
type template struct {
	source string
	parts  []part
}

// part is literal text, or a group by number or name.
type part struct{ text, group string }

func number(i int) string { return strconv.Itoa(i) }

func isNumber(group string) bool { return group != "" && group[0] >= '0' && group[0] <= '9' }

// parseTemplate reads $1, ${1}, ${name} and $$. Unlike regexp.Expand it takes $1st for group 1 and "st".
func parseTemplate(s string) (template, error) {
	t := template{source: s}
	for rest := s; rest != ""; {
		text, after, found := strings.Cut(rest, "$")
		if text != "" {
			t.parts = append(t.parts, part{text: text})
		}
		if !found {
			break
		}
		group, n := groupAt(after)
		switch {
		case strings.HasPrefix(after, "$"):
			t.parts = append(t.parts, part{text: "$"})
			n = 1
		case n == 0:
			return t, fmt.Errorf("%q: a $ must lead to a group, $1 or ${name}; write $$ for a dollar sign", s)
		default:
			t.parts = append(t.parts, part{group: group})
		}
		rest = after[n:]
	}
	return t, nil
}

// groupAt reads the group behind a dollar sign and says how many bytes it takes; 0: there is none.
func groupAt(s string) (group string, n int) {
	if body, ok := strings.CutPrefix(s, "{"); ok {
		name, _, closed := strings.Cut(body, "}")
		if !closed || name == "" {
			return "", 0
		}
		if isNumber(name) {
			i, err := strconv.Atoi(name)
			if err != nil {
				return "", 0
			}
			return number(i), len(name) + 2
		}
		return name, len(name) + 2
	}
	for n < len(s) && s[n] >= '0' && s[n] <= '9' {
		n++
	}
	i, err := strconv.Atoi(s[:n])
	if err != nil {
		return "", 0
	}
	return number(i), n
}

func (t template) groups() bool {
	for _, p := range t.parts {
		if p.group != "" {
			return true
		}
	}
	return false
}

func (t template) expand(groups map[string]string) string {
	var b strings.Builder
	for _, p := range t.parts {
		b.WriteString(p.text)
		if p.group != "" {
			b.WriteString(groups[p.group])
		}
	}
	return b.String()
}
