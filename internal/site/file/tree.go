package file

import (
	"errors"
	"fmt"
	"strings"

	"github.com/divvyhq/divvy/internal/site/strict"
	"github.com/divvyhq/divvy/shares"
)

// share is a share as the file has it.
type share struct {
	Name     string  `yaml:"name" is:"required word=share" doc:"unique among siblings"`
	Was      string  `yaml:"was" is:"word=path" doc:"path in the version in force: a rename or move keeps id, work and history"`
	Children []share `yaml:"children" is:"most=2000" doc:"shares below; only leaves hold jobs"`
	shares.Plan
	at   strict.Value
	path string
}

// Start makes it a share that says nothing.
func (s *share) Start(v strict.Value) { s.at, s.Plan = v, shares.DefaultPlan() }

// tree is the shares of a file, parents before children. Shares without a name and with that of a sibling, which a broken file may
// have, are in none of the lists of paths, which hints offer.
type tree struct {
	top                []share
	all                []*share
	paths, leaf, inner []string
}

func newTree(top []share) *tree {
	t := &tree{top: top}
	t.add(top, "")
	return t
}

func (t *tree) add(siblings []share, above string) {
	seen := map[string]bool{}
	for i := range siblings {
		s := &siblings[i]
		if s.path = s.Name; above != "" {
			s.path = above + "/" + s.Name
		}
		t.all = append(t.all, s)
		t.paths = append(t.paths, s.path)
		switch {
		case s.Name == "" || seen[s.Name]:
		case len(s.Children) == 0:
			t.leaf = append(t.leaf, s.path)
		default:
			t.inner = append(t.inner, s.path)
		}
		seen[s.Name] = true
		if above == "" && (s.Name == Reject || s.Name == Hold) {
			s.at.At("name").Failf("name %q means something else in on_no_match", s.Name)
		}
		t.add(s.Children, s.path)
	}
}

func specs(all []share) []shares.Spec {
	list := make([]shares.Spec, len(all))
	for i, s := range all {
		list[i] = shares.Spec{Name: s.Name, Plan: s.Plan, Children: specs(s.Children)}
	}
	return list
}

// build makes the tree of the shares and reports at their places what shares has against it.
func (t *tree) build(v strict.Value) *shares.Tree {
	all := specs(t.top)
	tree, err := shares.Build(all)
	var problems shares.Problems
	errors.As(err, &problems)
	problems = append(problems, shares.OwnedBeyondMax(all)...)
	if len(problems) == 0 {
		return tree
	}
	for _, p := range problems {
		at, below := v, t.top
		for _, i := range p.At {
			at, below = below[i].at.At(p.Field), below[i].Children
		}
		// A field that could not even be read has been reported there, with more to say.
		if !at.Failed() {
			at.Fail(p.Field+": "+p.Message, hints[p.Field[strings.LastIndexByte(p.Field, '.')+1:]])
		}
	}
	return nil
}

// hints say what to do about the problems of a field that shares finds.
var hints = map[string]string{
	"name":    "siblings need different names",
	"min":     "lower min or raise max",
	"owned":   "lower owned or raise max",
	"max":     "raise max or lower owned",
	"clamp":   "add half_life, or leave clamp out",
	"aging":   "give it to the shares below that hold the jobs",
	"lend_to": "name a share above this one, by its path from the top",
}

// formerPaths gathers was: of all shares; two shares cannot both have been the same one.
func (t *tree) formerPaths() map[string]string {
	was, claimed := map[string]string{}, map[string]string{}
	for _, s := range t.all {
		if s.Was == "" || s.Was == s.path {
			continue
		}
		if other, dup := claimed[s.Was]; dup {
			s.at.At("was").Failf("share %q already was %q", other, s.Was)
			continue
		}
		claimed[s.Was], was[s.path] = s.path, s.Was
	}
	return was
}

// leafHint is what to write in place of a path that is no leaf.
func (t *tree) leafHint(path string) string {
	var below []string
	for _, l := range t.leaf {
		if strings.HasPrefix(l, path+"/") {
			below = append(below, l)
		}
	}
	if len(below) == 0 {
		return strict.DidYouMean(path, t.leaf)
	}
	return "jobs belong to leaves: " + strings.Join(below[:min(len(below), 8)], ", ")
}

// maxAmount bounds every count of the file, so that sums of thousandths stay exact.
const maxAmount = 1_000_000_000

// otherPools is the key for all pools that are not named.
const otherPools = "*"

// readAmount takes a number of units, or a mapping from pool to number.
func readAmount(_ *strict.Decoder, v strict.Value, to *shares.Amount) {
	to.Any, to.ByPool = readFigures(v, readUnits)
}

// readLimit takes what readAmount takes, and all and none in place of a number.
func readLimit(_ *strict.Decoder, v strict.Value, to *shares.Limit) {
	to.Any, to.ByPool = readFigures(v, func(v strict.Value) (shares.Units, bool) {
		switch {
		case v.Is("all"):
			return shares.Unlimited, true
		case v.Is("none"):
			return 0, true
		case v.IsText():
			v.Fail(v.Name()+" is no limit", "a number of units, all or none")
			return 0, false
		}
		return readUnits(v)
	})
}

func readUnits(v strict.Value) (shares.Units, bool) {
	milli, ok := v.Milli()
	if ok && milli > maxAmount*1000 {
		v.Failf("%s is more than %d", v.Name(), maxAmount)
		return 0, false
	}
	return shares.Units(milli), ok
}

func readFigures(v strict.Value, read func(strict.Value) (shares.Units, bool)) (one *shares.Units, byPool map[string]shares.Units) {
	if !v.IsMapping() {
		if u, ok := read(v); ok {
			one = &u
		}
		return one, nil
	}
	v.Entries(func(pool string, _, val strict.Value) {
		u, ok := read(val)
		switch {
		case !ok:
		case pool == otherPools:
			one = &u
		default:
			if byPool == nil {
				byPool = map[string]shares.Units{}
			}
			byPool[pool] = u
		}
	})
	return one, byPool
}

// figures visits the figures of a share that may differ from pool to pool, those of its plans too.
func (s *share) figures(visit func(field string, v strict.Value)) {
	prefixes := []string{""}
	for i := range s.Windows {
		prefixes = append(prefixes, fmt.Sprintf("plans[%d].", i))
	}
	for _, prefix := range prefixes {
		in := s.at.At(strings.TrimSuffix(prefix, "."))
		for _, key := range []string{"borrow", "clamp", "lend", "max", "min", "owned"} {
			if in.Has(key) {
				visit(prefix+key, in.At(key))
			}
		}
	}
}
