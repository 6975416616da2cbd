package shares

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"unicode"
)

// Spec describes a share. Build makes a tree from specs.
type Spec struct {
	ID       ShareID // 0 when the store has not given one yet
	Name     string
	Plan     Plan // start from DefaultPlan
	Children []Spec
}

// Node is one share of a tree. Its fields are read-only once the tree is in use, ID apart (see Tree.SetIDs).
type Node struct {
	ID       ShareID // 0 for the root and until the store sets it
	Name     string
	Path     string // names from below the root, joined by "/"; "" for the root
	Parent   int    // index into Tree.Nodes; -1 for the root
	Depth    int    // 0 for the root
	Children []int  // indexes, in the order of the file; empty for a leaf
	Plan     Plan
}

// Tree is a checked share tree. Nodes[0] is the root, which is no share; the others follow in pre-order, so
// parents stand before their children and siblings in the order of the file. A Tree is safe for concurrent
// reading.
type Tree struct {
	Nodes  []Node
	byPath map[string]int
	byID   map[ShareID]int
}

// Build checks the children of the root and lays them out as a tree. The error is Problems: all of them.
func Build(root []Spec) (*Tree, error) {
	b := builder{tree: &Tree{Nodes: []Node{{Parent: -1, Plan: DefaultPlan()}}}}
	b.siblings(0, root, nil)
	if len(b.problems) > 0 {
		return nil, b.problems
	}
	b.tree.index()
	return b.tree, nil
}

// Leaf reports whether node i holds jobs. The root never does.
func (t *Tree) Leaf(i int) bool { return i > 0 && len(t.Nodes[i].Children) == 0 }

// Leaves returns the indexes of all leaves in the order of the file.
func (t *Tree) Leaves() []int {
	var out []int
	for i := range t.Nodes {
		if t.Leaf(i) {
			out = append(out, i)
		}
	}
	return out
}

// ByPath finds a share by its path; "" is the root.
func (t *Tree) ByPath(path string) (int, bool) {
	if t.byPath != nil {
		i, ok := t.byPath[path]
		return i, ok
	}
	i := slices.IndexFunc(t.Nodes, func(n Node) bool { return n.Path == path })
	return max(i, 0), i >= 0
}

// ByID finds a share by its id; there is none for id 0.
func (t *Tree) ByID(id ShareID) (int, bool) {
	if id == 0 {
		return 0, false
	}
	if t.byID != nil {
		i, ok := t.byID[id]
		return i, ok
	}
	i := slices.IndexFunc(t.Nodes, func(n Node) bool { return n.ID == id })
	return max(i, 0), i >= 0
}

// SetIDs sets the id of every share but the root to id(path). The tree must have no other reader yet.
func (t *Tree) SetIDs(id func(path string) ShareID) {
	for i := range t.Nodes[1:] {
		t.Nodes[i+1].ID = id(t.Nodes[i+1].Path)
	}
	t.index()
}

// Up calls visit for node i and all its ancestors, the root last.
func (t *Tree) Up(i int, visit func(node int)) {
	for ; i >= 0; i = t.Nodes[i].Parent {
		visit(i)
	}
}

func (t *Tree) index() {
	t.byPath = make(map[string]int, len(t.Nodes))
	t.byID = make(map[ShareID]int, len(t.Nodes))
	for i, n := range t.Nodes {
		t.byPath[n.Path] = i
		if n.ID != 0 {
			t.byID[n.ID] = i
		}
	}
}

// Problem is one fault of a tree. At is its position: the number among its siblings at each level, in the order of
// the file, which also distinguishes shares of one name. Field is a key of the plan, or name.
type Problem struct {
	At      []int  `json:"at"`
	Path    string `json:"path"`
	Field   string `json:"field"`
	Message string `json:"message"`
}

func (p Problem) Error() string {
	if p.Path == "" {
		return p.Field + ": " + p.Message
	}
	return p.Path + ": " + p.Field + ": " + p.Message
}

// Problems is all that is wrong with a tree, in the order of the file.
type Problems []Problem

func (ps Problems) Error() string {
	lines := make([]string, len(ps))
	for i, p := range ps {
		lines[i] = p.Error()
	}
	return strings.Join(lines, "\n")
}

type builder struct {
	tree     *Tree
	problems Problems
}

func (b *builder) siblings(parent int, specs []Spec, at []int) {
	seen := make(map[string]int, len(specs))
	weightless := len(specs) > 0
	for k, s := range specs {
		here := append(at[:len(at):len(at)], k)
		path := join(b.tree.Nodes[parent].Path, s.Name)
		report := func(field, format string, args ...any) {
			b.problems = append(b.problems, Problem{At: here, Path: path, Field: field, Message: fmt.Sprintf(format, args...)})
		}
		checkName(s.Name, report)
		if first, ok := seen[s.Name]; ok && s.Name != "" {
			report("name", "%q is already the name of sibling number %d", s.Name, first+1)
		} else {
			seen[s.Name] = k
		}
		s.Plan.check(path, report)
		if s.Plan.Aging != nil && len(s.Children) > 0 {
			report("aging", "does nothing here: only a share without children holds jobs")
		}
		weightless = weightless && s.Plan.Weight == 0
		b.add(parent, s, path, here)
	}
	if weightless {
		last := append(at[:len(at):len(at)], 0)
		b.problems = append(b.problems, Problem{At: last, Path: join(b.tree.Nodes[parent].Path, specs[0].Name), Field: "weight",
			Message: "all siblings have weight 0: give at least one of them a weight"})
	}
}

func (b *builder) add(parent int, s Spec, path string, at []int) {
	i := len(b.tree.Nodes)
	if s.Plan.Within == "" { // kept in each plan, so that a reader of one share knows its order
		s.Plan.Within = b.tree.Nodes[parent].Plan.Within
	}
	b.tree.Nodes = append(b.tree.Nodes, Node{ID: s.ID, Name: s.Name, Path: path, Parent: parent,
		Depth: b.tree.Nodes[parent].Depth + 1, Plan: s.Plan})
	b.tree.Nodes[parent].Children = append(b.tree.Nodes[parent].Children, i)
	b.siblings(i, s.Children, at)
}

func join(parent, name string) string {
	if parent == "" {
		return name
	}
	return parent + "/" + name
}

func checkName(name string, report func(field, format string, args ...any)) {
	switch {
	case name == "":
		report("name", "is empty")
	case strings.Contains(name, "/"):
		report("name", "%q has a slash: slashes separate the names of a path", name)
	case strings.TrimSpace(name) != name || strings.IndexFunc(name, unicode.IsControl) >= 0:
		report("name", "%q has leading or trailing space, or control characters", name)
	}
}

// checkWeight keeps weights in a range where sums and quotients stay finite and exact enough.
func checkWeight(field string, w float64, report func(field, format string, args ...any)) {
	switch {
	case math.IsNaN(w) || math.IsInf(w, 0):
		report(field, "%v is not a finite number", w)
	case w < 0:
		report(field, "%v is negative", w)
	case w != 0 && (w < 1e-9 || w > 1e9):
		report(field, "%v is out of range: 0, or 1e-9 to 1e9", w)
	}
}
