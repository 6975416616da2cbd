package file

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/divvyhq/divvy/internal/site/strict"
	"github.com/divvyhq/divvy/shares"
)

// resource is a resource as the file has it.
type resource struct {
	shares.Resource
	Per string `yaml:"per" enum:"global,queue"`
	at  strict.Value
}

// Start makes it a resource that says nothing.
func (r *resource) Start(v strict.Value) { r.at, r.Resource = v, shares.DefaultResource() }

// readNode reads a node of a split: a name alone is a node of weight 1.
func readNode(d *strict.Decoder, v strict.Value, to *shares.SplitNode) {
	to.Weight = 1
	if v.IsText() {
		to.Name, _ = v.NonEmpty()
		return
	}
	d.Fields(v, to)
}

// addResources checks resources in themselves, and those that are split by share against the tree.
func (s *Content) addResources(resources []resource, t *tree) {
	for _, r := range resources {
		r.PerQueue = r.Per == "queue"
		r.check()
		s.Resources = append(s.Resources, r.Resource)
		if r.Split.By != shares.SplitByShare {
			continue
		}
		for id := range r.Split.Weights {
			t.checkID(id, r.at.At("split.weights").Key(id))
		}
		for i, id := range r.Exempt {
			t.checkID(id, element(r.at.At("exempt"), i))
		}
		t.checkNodes(r.Split.Tree, r.at.At("split.tree"))
	}
}

func (t *tree) checkNodes(nodes []shares.SplitNode, v strict.Value) {
	for i, n := range nodes {
		at := element(v, i)
		if t.checkNodes(n.Children, at.At("children")); len(n.Children) == 0 {
			t.checkID(n.Name, at.At("name"))
		}
	}
}

// checkID refuses a sharing ID that is no leaf.
func (t *tree) checkID(id string, at strict.Value) {
	if id != shares.Others && id != "" && !slices.Contains(t.leaf, id) {
		at.Fail(fmt.Sprintf("%q is not a share that holds jobs", id), t.leafHint(id))
	}
}

// check reports at their places what shares has against the resource.
func (r *resource) check() {
	var problems shares.Problems
	errors.As(r.Validate(), &problems)
	for _, p := range problems {
		// What could not even be read has been reported there, with more to say.
		at := r.at.At(p.Field)
		if at.Failed() {
			continue
		}
		hint := ""
		switch {
		case p.Field == "split.tree":
			hint = "give weights or a tree: a tree has weights of its own"
		case strings.HasPrefix(p.Field, "split.weights.") || at.Name() == "weight":
			hint = "for instance 0.1; who is not named weighs 1"
		}
		at.Fail(at.Name()+": "+p.Message, hint)
	}
}
