package pandashares

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/divvyhq/divvy/internal/site"
	"github.com/divvyhq/divvy/internal/site/strict"
)

// File makes a site file of a table. The error is strict.Problems: all that is wrong with the table, in its order.
func File(name string, src []byte) ([]byte, error) {
	f := &faults{file: name}
	rows := f.readTable(src)
	if err := f.err(); err != nil {
		return nil, err
	}
	rows = f.leaveOut(rows)
	top := f.buildTree(rows)
	vos := map[string]bool{}
	for _, r := range rows {
		if vo := r.cell("vo").text; vo != "" {
			vos[vo] = true
		}
	}
	if err := f.err(); err != nil {
		return nil, err
	}
	rules := f.rulesOf(top, len(vos))
	w := &writer{faults: f}
	w.head(name, rows, vos)
	w.line(place{}, "shares:")
	w.shares(top, "  ")
	w.rules(rules)
	f.check(w)
	if err := f.err(); err != nil {
		return nil, err
	}
	return []byte(w.text.String()), nil
}

// check reads what was written as a site file; what is wrong there is wrong where it came from.
func (f *faults) check(w *writer) {
	_, err := site.Parse(f.file, []byte(w.text.String()))
	var problems strict.Problems
	if !errors.As(err, &problems) {
		return
	}
	for _, p := range problems {
		if len(f.all) > 0 && strings.HasPrefix(p.Message, "share: ") {
			continue // no rule leads to a share whose name is wrong: that is said
		}
		at := place{}
		if p.Line > 0 {
			at = w.from[p.Line-1]
		}
		f.add(at, p.Message, p.Hint)
	}
}

// writer writes a site file and remembers where in the table each of its lines comes from.
type writer struct {
	*faults
	text strings.Builder
	from []place
}

func (w *writer) line(from place, format string, args ...any) {
	fmt.Fprintf(&w.text, format+"\n", args...)
	w.from = append(w.from, from)
}

// leftOut says of columns that the file has nothing for, why.
var leftOut = map[string]string{
	"queueid":   "QUEUE_ID is left out: it numbers the queues of PanDA's generator, and there is one generator here.",
	"throttled": "THROTTLED is left out: `divvy task pause` holds tasks back, max: bounds a share.",
}

// head says what the file was made of and what was left out.
func (w *writer) head(name string, rows []row, vos map[string]bool) {
	w.line(place{}, "# Made of PanDA's global shares by: divvy import panda-shares %s", clean(name))
	w.line(place{}, "# Try it: divvy apply -f site.yml --dry-run; then on past tasks: divvy tags test --since 7d -f site.yml")
	used, ignored := map[string]bool{"name": true, "value": true, "parent": true}, map[string]bool{}
	for _, t := range tags {
		used[t.column] = true
	}
	for column := range switches {
		used[column] = true
	}
	for _, name := range slices.Sorted(maps.Keys(w.off)) {
		w.line(place{w.off[name], 1}, "# %s is left out: the share is switched off in line %d of the table.", clean(name), w.off[name])
	}
	for _, r := range rows {
		for column := range r.cells {
			if !used[column] {
				ignored[column] = true
			}
		}
	}
	for _, column := range slices.Sorted(maps.Keys(ignored)) {
		why := leftOut[column]
		if why == "" {
			why = strings.ToUpper(column) + " is left out: nothing here is like it."
		}
		w.line(place{}, "# %s", clean(why))
	}
	switch len(vos) {
	case 0:
	case 1:
		w.line(place{}, "# VO is left out: all shares have the same one, %s.", clean(slices.Collect(maps.Keys(vos))[0]))
	default:
		w.line(place{}, "# VO is a field of the rules: PanDA does not look at it.")
	}
	w.line(place{}, "")
}

func (w *writer) shares(shares []*share, indent string) {
	for _, s := range shares {
		w.line(s.cell("name").at, "%s- name: %s", indent, quoted(s.name))
		w.line(s.cell("value").at, "%s  weight: %s", indent, s.weight)
		if c := s.cell(throttled); w.yes(c, throttled, false) {
			w.line(c.at, "%s  # THROTTLED %s: PanDA makes no more jobs for it. `divvy task pause` holds its tasks back here.", indent, clean(c.text))
		}
		if len(s.children) == 0 {
			continue
		}
		for _, t := range tags {
			if c := s.cell(t.column); c.text != "" && t.column != "vo" {
				w.line(c.at, "%s  # %s %s is left out: jobs belong to leaves, and PanDA does not look at it either.", indent, strings.ToUpper(t.column), clean(c.text))
			}
		}
		w.line(s.at, "%s  children:", indent)
		w.shares(s.children, indent+"    ")
	}
}

func (w *writer) rules(rules []rule) {
	w.line(place{}, "")
	w.line(place{}, "# The first rule whose patterns match all of the values counts.")
	w.line(place{}, "tags:")
	for _, r := range rules {
		for _, n := range r.notes {
			w.line(r.share.at, "  # %s", clean(n))
		}
		fields := make([]string, len(r.match))
		for i, t := range r.match {
			fields[i] = t.attribute + ": " + quoted(t.pattern)
		}
		w.line(r.share.at, "  - match: {%s}", strings.Join(fields, ", "))
		w.line(r.share.at, "    share: %s", quoted(strings.ReplaceAll(r.share.path, "$", "$$")))
	}
	w.line(place{}, "")
	w.line(place{}, "# PanDA puts all else under Undefined. Here such tasks wait for a rule; reject refuses them, a share takes them.")
	w.line(place{}, "on_no_match: hold")
}

// quoted is text as YAML takes it for text, whatever it holds; in double quotes only where it must be.
func quoted(s string) string {
	if strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r == 0x7f || r == '\u2028' || r == '\u2029' || r == '\u0085' }) {
		return fmt.Sprintf("%+q", s)
	}
	return "'" + strings.ReplaceAll(s, "'", "''") + "'"
}

// clean is text that ends no comment.
func clean(s string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || r == '\u2028' || r == '\u2029' || r == '\u0085' {
			return ' '
		}
		return r
	}, s)
}
