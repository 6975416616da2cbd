package file

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/divvyhq/divvy/internal/site/strict"
	"github.com/divvyhq/divvy/shares"
)

// resource is a resource of the file, and where its parts stand.
type resource struct {
	shares.Resource
	seen   strict.Seen
	places map[string]strict.Value // by the fields of shares.Problem: capacity, split.tree[0].weight
	ids    []strict.Value          // values that are sharing IDs
}

// maxResources bounds the resources of a site, and its claim templates.
const maxResources = 1000

func readResources(v strict.Value) []*resource {
	list, _ := v.List()
	if len(list) > maxResources {
		tooMany(v, len(list), maxResources)
		return nil
	}
	all := make([]*resource, 0, len(list))
	names := map[string]int{}
	for _, e := range list {
		r := readResource(e)
		all = append(all, r)
		once("resource", r.Name, r.seen, names)
	}
	return all
}

// once refuses a name that an entry of the same list has already.
func once(kind, name string, seen strict.Seen, names map[string]int) {
	if name == "" {
		return
	}
	if line, dup := names[name]; dup {
		seen.At("name").Fail(fmt.Sprintf("%s %q is given twice", kind, name), fmt.Sprintf("first in line %d", line))
		return
	}
	names[name] = seen.At("name").Line()
}

func readResource(v strict.Value) *resource {
	r := &resource{Resource: shares.DefaultResource(), places: map[string]strict.Value{}}
	r.seen = v.Mapping(strict.Fields{
		"name":     func(v strict.Value) { r.Name = readResourceName(v) },
		"capacity": func(v strict.Value) { r.Capacity, _ = v.Int(0, shares.MaxResourceUnits) },
		"per": func(v strict.Value) {
			per, _ := v.OneOf("global", "queue")
			r.PerQueue = per == "queue"
		},
		"split":            r.readSplit,
		"keyed":            func(v strict.Value) { r.Keyed, _ = v.Bool() },
		"max_bypass":       readInt(&r.MaxBypass, 1, maxAmount),
		"max_hold":         r.duration("max_hold", &r.MaxHold, 0),
		"settle":           r.duration("settle", &r.Settle, 0),
		"external_expires": r.duration("external_expires", &r.ExternalExpires, time.Second),
		"exempt":           r.readExempt,
	})
	r.seen.Require("name", "capacity")
	r.check()
	return r
}

// readResourceName takes names that can stand in addresses and before the colon of table:orders.
func readResourceName(v strict.Value) string {
	if s, ok := v.Text(); ok && s == shares.IO {
		v.Fail(`no resource can be called "io"`, "that is what jobs read and write: say max_io of a queue, and io_intensity of a task")
		return ""
	}
	return readName(v, ":/*?#% \"'", "a job asks for maya, or for table:orders of a keyed family")
}

func (r *resource) duration(field string, to *time.Duration, low time.Duration) func(strict.Value) {
	return func(v strict.Value) {
		r.places[field] = v
		if d, ok := v.Duration(low); ok {
			*to = d
		}
	}
}

func (r *resource) readExempt(v strict.Value) {
	list, _ := v.List()
	for _, e := range list {
		if id, ok := e.NonEmpty(); ok {
			r.places[fmt.Sprintf("exempt[%d]", len(r.Exempt))] = e
			r.Exempt, r.ids = append(r.Exempt, id), append(r.ids, e)
		}
	}
}

func (r *resource) readSplit(v strict.Value) {
	v.Mapping(strict.Fields{
		"by": func(v strict.Value) {
			if by, ok := v.OneOf(shares.SplitByUser, shares.SplitByShare, shares.SplitByLabel); ok {
				r.Split.By = by
			}
		},
		"weights": r.readWeights,
		"tree": func(v strict.Value) {
			r.places["split.tree"] = v
			r.Split.Tree = r.readNodes(v, "split.tree")
		},
	})
}

func (r *resource) readWeights(v strict.Value) {
	r.places["split.weights"] = v
	r.Split.Weights = map[string]float64{}
	v.Entries(func(id string, key, weight strict.Value) {
		r.places["split.weights."+id] = weight
		if w, ok := weight.Number(); ok {
			r.Split.Weights[id] = w
			r.ids = append(r.ids, key)
		}
	})
}

// readNodes reads the nodes of one level: a name alone is a node of weight 1.
func (r *resource) readNodes(v strict.Value, field string) []shares.SplitNode {
	list, _ := v.List()
	if len(list) > shares.MaxSharingIDs {
		tooMany(v, len(list), shares.MaxSharingIDs)
		return nil
	}
	nodes := make([]shares.SplitNode, 0, len(list))
	for _, e := range list {
		nodes = append(nodes, r.readNode(e, fmt.Sprintf("%s[%d]", field, len(nodes))))
	}
	return nodes
}

func (r *resource) readNode(v strict.Value, field string) shares.SplitNode {
	n := shares.SplitNode{Weight: 1}
	r.places[field] = v
	if v.IsText() {
		r.places[field+".name"] = v
		n.Name, _ = v.NonEmpty()
		r.ids = append(r.ids, v)
		return n
	}
	seen := v.Mapping(strict.Fields{
		"name": func(v strict.Value) {
			r.places[field+".name"] = v
			n.Name, _ = v.NonEmpty()
		},
		"weight": func(v strict.Value) {
			r.places[field+".weight"] = v
			n.Weight, _ = v.Number()
		},
		"children": func(v strict.Value) {
			if n.Children = r.readNodes(v, field+".children"); len(n.Children) == 0 && !v.Failed() {
				v.Fail("children is empty", "leave it out: a node without children is one sharing ID")
			}
		},
	})
	seen.Require("name")
	if len(n.Children) == 0 {
		r.ids = append(r.ids, seen.At("name"))
	}
	return n
}

// check reports at their places what shares has against the resource.
func (r *resource) check() {
	var problems shares.Problems
	if !errors.As(r.Validate(), &problems) {
		return
	}
	for _, p := range problems {
		// What could not even be read has been reported there, with more to say.
		if at := r.at(p.Field); !at.Failed() {
			at.Fail(at.Name()+": "+p.Message, resourceHint(p.Field, at))
		}
	}
}

// resourceHint says what to do about a problem that shares finds.
func resourceHint(field string, at strict.Value) string {
	switch {
	case field == "split.tree":
		return "give weights or a tree: a tree has weights of its own"
	case strings.HasPrefix(field, "split.weights.") || at.Name() == "weight":
		return "for instance 0.1; who is not named weighs 1"
	}
	return ""
}

// at is where a field stands, or what it is in.
func (r *resource) at(field string) strict.Value {
	for f := field; f != ""; f = f[:max(strings.LastIndexByte(f, '.'), 0)] {
		if v, ok := r.places[f]; ok {
			return v
		}
	}
	head, _, _ := strings.Cut(field, ".")
	return r.seen.At(head)
}

// addResources checks what is split by share against the tree, once that is known.
func (s *Content) addResources(resources []*resource, all []*share) {
	leaf, inner := leaves(all)
	for _, r := range resources {
		s.Resources = append(s.Resources, r.Resource)
		if r.Split.By != shares.SplitByShare {
			continue
		}
		for _, v := range r.ids {
			if id, ok := v.Text(); ok && id != shares.Others && id != "" && !slices.Contains(leaf, id) {
				v.Fail(fmt.Sprintf("%q is not a share that holds jobs", id), leafHint(id, leaf, inner))
			}
		}
	}
}
