package swf

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/divvyhq/divvy/shares"
	"github.com/divvyhq/divvy/shares/sim"
	"github.com/divvyhq/divvy/shares/tagging"
)

// Sharer says which share a record belongs to; why is the reason when it belongs to none.
type Sharer func(Record) (path, why string)

// By is the Sharer of a mapping.
func (m Mapping) By() Sharer {
	return func(r Record) (path, why string) { return m.Share(r), "" }
}

// ByRules is the Sharer of tagging rules. Records with the same attributes are asked for once.
func ByRules(t *tagging.Table) Sharer {
	type key struct{ user, group, executable, queue, partition int64 }
	type answer struct{ path, why string }
	known := map[key]answer{}
	return func(r Record) (path, why string) {
		k := key{r.User, r.Group, r.Executable, r.Queue, r.Partition}
		a, ok := known[k]
		if !ok {
			res := t.Tag(r.Attributes())
			a.path = res.Share
			if a.path == "" {
				a.why = fmt.Sprintf("no rule matches user %d, working_group %d, queue %d", r.User, r.Group, r.Queue)
			}
			known[k] = a
		}
		return a.path, a.why
	}
}

// TreeOf is the tree of the shares that the usable records belong to, of weight 1 each, in the order of their paths. The
// error is shares.Problems.
func TreeOf(records []Record, by Sharer) (*shares.Tree, error) {
	paths := map[string]bool{}
	for _, r := range records {
		if path, why := by(r); why == "" && r.Unusable() == "" {
			paths[path] = true
		}
	}
	var root shares.Spec
	for _, path := range slices.SortedFunc(maps.Keys(paths), natural) {
		at := &root
		for name := range strings.SplitSeq(path, "/") {
			i := slices.IndexFunc(at.Children, func(s shares.Spec) bool { return s.Name == name })
			if i < 0 {
				i = len(at.Children)
				at.Children = append(at.Children, shares.Spec{Name: name, Plan: shares.DefaultPlan()})
			}
			at = &at.Children[i]
		}
	}
	return shares.Build(root.Children)
}

// natural orders names that end in a number by the number: user.9 before user.10.
func natural(a, b string) int {
	headA, nA := ending(a)
	headB, nB := ending(b)
	if headA != headB || len(nA) == len(nB) {
		return strings.Compare(a, b)
	}
	return len(nA) - len(nB)
}

func ending(s string) (head, digits string) {
	head = strings.TrimRight(s, "0123456789")
	return head, s[len(head):]
}

// LeftOut are records that cannot be simulated, by reason.
type LeftOut map[string]int

// Jobs makes jobs of the records that are usable, each core one unit. Shares that the tree does not have as leaves,
// and records that belong to none, are the error: Problems with the line of the first record of each.
func Jobs(name string, records []Record, t *shares.Tree, by Sharer) ([]sim.Job, LeftOut, error) {
	jobs := make([]sim.Job, 0, len(records))
	left := LeftOut{}
	var wrong Problems
	at := map[string]int{} // message → index into wrong
	nWrong := map[int]int{}
	for _, r := range records {
		if why := r.Unusable(); why != "" {
			left[why]++
			continue
		}
		leaf, why := leafOf(r, t, by)
		if why != "" {
			i, known := at[why]
			if !known {
				i = len(wrong)
				at[why] = i
				wrong = append(wrong, Problem{name, r.Line, why})
			}
			nWrong[i]++
			continue
		}
		run, _ := r.Runtime()
		jobs = append(jobs, sim.Job{ID: r.Job, Leaf: leaf, At: time.Duration(r.Submit) * time.Second, Runtime: run,
			Units: shares.Units(r.Cores() * 1000)})
	}
	if len(wrong) == 0 {
		return jobs, left, nil
	}
	for i := range wrong {
		if nWrong[i] == 1 {
			wrong[i].Message += " (1 job)"
		} else {
			wrong[i].Message += fmt.Sprintf(" (%d jobs)", nWrong[i])
		}
	}
	return nil, nil, wrong[:min(len(wrong), MaxProblems)]
}

func leafOf(r Record, t *shares.Tree, by Sharer) (leaf int, why string) {
	path, why := by(r)
	if why != "" {
		return 0, why
	}
	leaf, ok := t.ByPath(path)
	switch {
	case !ok:
		return 0, fmt.Sprintf("the site has no share %q", path)
	case !t.Leaf(leaf):
		return 0, fmt.Sprintf("share %q has shares below it; jobs belong to leaves", path)
	}
	return leaf, ""
}
