package pandashares

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/divvyhq/divvy/internal/site/strict"
)

// share is a node of the tree.
type share struct {
	row
	name     string
	path     string
	weight   string
	children []*share
}

// root is what some tables call the share above all others.
const root = "root"

// buildTree makes the tree of the rows, each share below its parent, in the order of the rows.
func (f *faults) buildTree(rows []row) (top []*share) {
	byName := map[string]*share{}
	var all []*share
	var names []string
	for _, r := range rows {
		s := &share{row: r, name: r.cell("name").text, weight: f.weightOf(r)}
		first := byName[s.name]
		switch {
		case s.name == "":
			f.add(r.cell("name").at, "NAME is empty", "")
			continue
		case first != nil:
			f.add(r.cell("name").at, fmt.Sprintf("share %q is there twice", s.name), fmt.Sprintf("first in line %d", first.at.line))
			continue
		}
		byName[s.name], all, names = s, append(all, s), append(names, s.name)
	}
	parents := map[*share]*share{}
	for _, s := range all {
		c := s.cell("parent")
		parent := byName[c.text]
		switch {
		case parent != nil:
			parents[s] = parent
			parent.children = append(parent.children, s)
		case c.text == "" || strings.EqualFold(c.text, root):
			top = append(top, s)
		case f.off[c.text] > 0:
			f.add(c.at, fmt.Sprintf("PARENT of %q: the share %q is switched off in line %d", s.name, c.text, f.off[c.text]), "switch this one off too, or give it another PARENT")
		default:
			f.add(c.at, fmt.Sprintf("PARENT of %q: there is no share %q", s.name, c.text), strict.DidYouMean(c.text, names))
		}
	}
	f.findCycles(all, parents)
	if len(f.all) == 0 {
		setPaths(top, "")
	}
	return top
}

// findCycles reports the shares that are above themselves.
func (f *faults) findCycles(all []*share, parents map[*share]*share) {
	for _, s := range all {
		at := parents[s]
		for n := 0; at != nil && at != s && n < len(all); n++ {
			at = parents[at]
		}
		if at == s {
			f.add(s.cell("parent").at, fmt.Sprintf("PARENT of %q: the share is above itself", s.name), "the topmost share has no PARENT")
		}
	}
}

func setPaths(shares []*share, above string) {
	for _, s := range shares {
		s.path = above + s.name
		setPaths(s.children, s.path+"/")
	}
}

// weightOf is VALUE as a site file writes it.
func (f *faults) weightOf(r row) string {
	c := r.cell("value")
	v, err := strconv.ParseFloat(c.text, 64)
	switch {
	case c.text == "":
		f.add(c.at, fmt.Sprintf("VALUE of %q is empty", r.cell("name").text), "a number, 0 or more; it counts relative to the siblings")
	case err != nil || !(v >= 0) || v > 1e9:
		f.add(c.at, fmt.Sprintf("VALUE of %q: %q is not a number from 0 to 1000000000", r.cell("name").text, c.text), "it counts relative to the siblings")
	}
	return strconv.FormatFloat(v, 'f', -1, 64)
}

// leaves calls visit for each share without children, depth first.
func leaves(shares []*share, visit func(*share)) {
	for _, s := range shares {
		if len(s.children) == 0 {
			visit(s)
		}
		leaves(s.children, visit)
	}
}
