package shares

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// MaxResourceUnits bounds capacities and what a job asks for, so that sums of thousandths stay exact.
const MaxResourceUnits = 1_000_000_000

// MaxSharingIDs bounds the IDs that one resource may name.
const MaxSharingIDs = 10_000

// Validate says whether the resource can be shared out. The error is Problems, whose fields are the keys of the site file,
// such as split.tree[0].children[1].weight.
func (r Resource) Validate() error {
	c := resourceCheck{name: r.Name}
	c.resource(r)
	c.split(r.Split)
	if len(c.problems) > 0 {
		return c.problems
	}
	return nil
}

type resourceCheck struct {
	name     string
	named    map[string]string // IDs of the tree and where they stand
	problems Problems
}

func (c *resourceCheck) report(field, format string, args ...any) {
	c.problems = append(c.problems, Problem{Path: c.name, Field: field, Message: fmt.Sprintf(format, args...)})
}

func (c *resourceCheck) resource(r Resource) {
	checkResourceName(r.Name, c.report)
	if r.Capacity < 0 || r.Capacity > MaxResourceUnits {
		c.report("capacity", "%d is not in 0 … %d", r.Capacity, MaxResourceUnits)
	}
	if r.MaxBypass < 1 {
		c.report("max_bypass", "%d is less than 1", r.MaxBypass)
	}
	for _, d := range []struct {
		field string
		is    time.Duration
	}{{"max_hold", r.MaxHold}, {"settle", r.Settle}, {"external_expires", r.ExternalExpires}} {
		if d.is < 0 || d.is > 24*time.Hour {
			c.report(d.field, "%s is not in 0s … 24h", d.is)
		}
	}
	for i, id := range r.Exempt {
		field := fmt.Sprintf("exempt[%d]", i)
		switch {
		case id == "" || id == Others:
			c.report(field, "%q is not one sharing ID", id)
		case slices.Contains(r.Exempt[:i], id):
			c.report(field, "%q is listed already", id)
		}
	}
}

// checkResourceName keeps a colon for the key of a family, and the rest out of addresses.
func checkResourceName(name string, report func(field, format string, args ...any)) {
	switch {
	case name == "":
		report("name", "is empty")
	case strings.ContainsAny(name, ":/*?#% \"'"):
		i := strings.IndexAny(name, ":/*?#% \"'")
		report("name", "%q contains %q", name, name[i:i+1])
	}
}

func (c *resourceCheck) split(s Split) {
	if !slices.Contains([]string{SplitByUser, SplitByShare, SplitByLabel}, s.By) {
		c.report("split.by", "%q is none of user, share, label", s.By)
	}
	if len(s.Weights) > 0 && len(s.Tree) > 0 {
		c.report("split.tree", "says what weights says too")
	}
	if len(s.Weights) > MaxSharingIDs {
		c.report("split.weights", "%d entries, more than %d", len(s.Weights), MaxSharingIDs)
		return
	}
	for _, id := range slices.Sorted(maps.Keys(s.Weights)) {
		c.weight("split.weights."+id, s.Weights[id])
	}
	c.named = map[string]string{}
	c.nodes("split.tree", s.Tree)
}

// nodes checks siblings: no ID may have two places, since it would get the sum of both.
func (c *resourceCheck) nodes(field string, nodes []SplitNode) {
	siblings := map[string]bool{}
	for i, n := range nodes {
		at := fmt.Sprintf("%s[%d]", field, i)
		first, twice := c.named[n.Name]
		switch {
		case len(c.named) > MaxSharingIDs:
			c.report(field, "names more than %d IDs", MaxSharingIDs)
			return
		case n.Name == "":
			c.report(at+".name", "is empty")
		case n.Name == Others && len(n.Children) > 0:
			c.report(at+".name", "%s stands for IDs, and has no children", Others)
		case siblings[n.Name]:
			c.report(at+".name", "%q is the name of a sibling already", n.Name)
		case twice && len(n.Children) == 0:
			c.report(at+".name", "%q stands in %s already", n.Name, first)
		case len(n.Children) == 0:
			c.named[n.Name] = strings.TrimPrefix(at, "split.")
		}
		siblings[n.Name] = true
		c.weight(at+".weight", n.Weight)
		c.nodes(at+".children", n.Children)
	}
}

// weight refuses 0 too: an ID that may not use the resource has no use for a job that asks for it.
func (c *resourceCheck) weight(field string, w float64) {
	if w == 0 {
		c.report(field, "is 0: a sharing ID without weight could wait for ever")
		return
	}
	checkWeight(field, w, c.report)
}
