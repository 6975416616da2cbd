package file

import (
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/divvyhq/divvy/internal/site/strict"
	"github.com/divvyhq/divvy/shares"
)

// share is a share of the file: what it says, and where.
type share struct {
	shares.Spec
	was      string
	path     string
	seen     strict.Seen
	places   map[string]strict.Value // by the field names of shares.Problem: weight, reclaim.grace, plans[0].when
	pools    []strict.Value          // keys that name a pool
	children []*share
}

// maxSiblings bounds the children of one share.
const maxSiblings = 2000

// maxName bounds the names of shares, queues and pools.
const maxName = 100

func readShares(v strict.Value, parent string) []*share {
	list, _ := v.List()
	if len(list) > maxSiblings {
		tooMany(v, len(list), maxSiblings)
		return nil
	}
	all := make([]*share, 0, len(list))
	for _, e := range list {
		all = append(all, readShare(e, parent))
	}
	return all
}

func readShare(v strict.Value, parent string) *share {
	s := &share{places: map[string]strict.Value{}}
	s.Plan = shares.DefaultPlan()
	var children strict.Value
	fields := s.planFields()
	fields["name"] = func(v strict.Value) { s.Name = readShareName(v, parent) }
	fields["was"] = func(v strict.Value) { s.was = readPath(v) }
	fields["children"] = func(v strict.Value) { children = v }
	s.seen = v.Mapping(fields)
	s.seen.Require("name")
	s.path = join(parent, s.Name)
	// After the name, wherever that stands: paths are built downwards.
	if children.Present() {
		s.children = readShares(children, s.path)
		for _, c := range s.children {
			s.Children = append(s.Children, c.Spec)
		}
	}
	return s
}

func join(parent, name string) string {
	if parent == "" {
		return name
	}
	return parent + "/" + name
}

// readShareName takes names that can stand in a path, beside $1 in a rule, and left of = in --move.
func readShareName(v strict.Value, parent string) string {
	name := readName(v, "/$=", "the children of a share go under children:; $ and = have a meaning in rules and in --move")
	if parent == "" && (name == Reject || name == Hold) {
		v.Failf("name %q means something else in on_no_match", name)
	}
	return name
}

func readPath(v strict.Value) string {
	s, ok := v.NonEmpty()
	if ok && (strings.HasPrefix(s, "/") || strings.HasSuffix(s, "/") || strings.Contains(s, "//")) {
		v.Fail(v.Name()+": "+s+" is not a path", "names from the top, such as Production/MC")
		return ""
	}
	return s
}

// planFields reads the keys of sharing.md §3 that a share may have.
func (s *share) planFields() strict.Fields {
	p := &s.Plan
	fields := s.figureFields("", shares.Window{
		Weight: &p.Weight, Tier: &p.Tier, Owned: &p.Owned, Min: &p.Min, Max: &p.Max,
		Lend: &p.Lend, Borrow: &p.Borrow, Rank: &p.Rank,
	})
	fields["lend_to"] = s.field("lend_to", func(v strict.Value) { p.LendTo = readPath(v) })
	fields["reclaim"] = s.field("reclaim", func(v strict.Value) { p.Reclaim = s.readReclaim(v) })
	fields["plans"] = s.field("plans", s.readWindows)
	fields["half_life"] = s.field("half_life", readDuration(&p.HalfLife, time.Second))
	fields["clamp"] = s.field("clamp", func(v strict.Value) { p.Clamp = s.readAmount(v) })
	fields["aging"] = s.field("aging", func(v strict.Value) { p.Aging = s.readAging(v) })
	fields["within"] = s.field("within", func(v strict.Value) { p.Within, _ = v.OneOf(shares.Fifo, shares.FairUser) })
	return fields
}

// figureFields reads the figures that a window may override too, into where w points.
func (s *share) figureFields(prefix string, w shares.Window) strict.Fields {
	return strict.Fields{
		"weight": s.field(prefix+"weight", func(v strict.Value) {
			if f, ok := v.Number(); ok {
				*w.Weight = f
			}
		}),
		"tier":   s.field(prefix+"tier", readInt(w.Tier, 1, 1000)),
		"owned":  s.field(prefix+"owned", func(v strict.Value) { *w.Owned = s.readAmount(v) }),
		"min":    s.field(prefix+"min", func(v strict.Value) { *w.Min = s.readAmount(v) }),
		"max":    s.field(prefix+"max", func(v strict.Value) { *w.Max = s.readAmount(v) }),
		"lend":   s.field(prefix+"lend", func(v strict.Value) { *w.Lend = s.readLimit(v) }),
		"borrow": s.field(prefix+"borrow", func(v strict.Value) { *w.Borrow = s.readLimit(v) }),
		"rank":   s.field(prefix+"rank", readInt(w.Rank, 0, maxAmount)),
	}
}

// field remembers where a field stands, for what shares has to say about it.
func (s *share) field(name string, read func(strict.Value)) func(strict.Value) {
	return func(v strict.Value) {
		s.places[name] = v
		read(v)
	}
}

func readInt(to *int, low, high int64) func(strict.Value) {
	return func(v strict.Value) {
		if n, ok := v.Int(low, high); ok {
			*to = int(n)
		}
	}
}

func readDuration(to *shares.Duration, low time.Duration) func(strict.Value) {
	return func(v strict.Value) {
		if d, ok := v.Duration(low); ok {
			*to = shares.Duration(d)
		}
	}
}

func (s *share) readReclaim(v strict.Value) *shares.Reclaim {
	r := &shares.Reclaim{}
	v.Mapping(strict.Fields{
		"grace":       s.field("reclaim.grace", readDuration(&r.Grace, 0)),
		"min_runtime": s.field("reclaim.min_runtime", readDuration(&r.MinRuntime, 0)),
		"rate": s.field("reclaim.rate", func(v strict.Value) {
			text, ok := v.Text()
			if err := r.Rate.UnmarshalText([]byte(text)); ok && err != nil {
				v.Fail("rate: "+err.Error(), "")
			}
		}),
		"scope": s.field("reclaim.scope", func(v strict.Value) { r.Scope, _ = v.OneOf("leaf", "parent", "lca") }),
		"by":    s.field("reclaim.by", func(v strict.Value) { r.By, _ = v.OneOf("ratio", "rank") }),
	})
	return r
}

func (s *share) readAging(v strict.Value) *shares.Aging {
	a := &shares.Aging{}
	v.Mapping(strict.Fields{
		"per":    s.field("aging.per", readDuration(&a.Per, time.Second)),
		"points": s.field("aging.points", readInt(&a.Points, 1, 1_000_000)),
		"max":    s.field("aging.max", readInt(&a.Max, 0, maxAmount)),
	}).Require("per", "points")
	return a
}

func (s *share) readWindows(v strict.Value) {
	list, _ := v.List()
	for i, e := range list {
		prefix := "plans[" + strconv.Itoa(i) + "]"
		s.places[prefix] = e
		s.Plan.Windows = append(s.Plan.Windows, s.readWindow(e, prefix+"."))
	}
}

func (s *share) readWindow(v strict.Value, prefix string) shares.Window {
	full := shares.Window{Weight: new(float64), Tier: new(int), Owned: new(shares.Amount), Min: new(shares.Amount),
		Max: new(shares.Amount), Lend: new(shares.Limit), Borrow: new(shares.Limit), Rank: new(int)}
	*full.Weight, *full.Tier = 1, 1 // valid, should the given one be unreadable
	fields := s.figureFields(prefix, full)
	var w shares.Window
	fields["when"] = s.field(prefix+"when", func(v strict.Value) { w.When, _ = v.NonEmpty() })
	seen := v.Mapping(fields)
	seen.Require("when")
	keep(&w.Weight, full.Weight, seen.Has("weight"))
	keep(&w.Tier, full.Tier, seen.Has("tier"))
	keep(&w.Owned, full.Owned, seen.Has("owned"))
	keep(&w.Min, full.Min, seen.Has("min"))
	keep(&w.Max, full.Max, seen.Has("max"))
	keep(&w.Lend, full.Lend, seen.Has("lend"))
	keep(&w.Borrow, full.Borrow, seen.Has("borrow"))
	keep(&w.Rank, full.Rank, seen.Has("rank"))
	return w
}

func keep[T any](to **T, v *T, given bool) {
	if given {
		*to = v
	}
}

// readAmount takes a number of units, or a mapping from pool to number.
func (s *share) readAmount(v strict.Value) shares.Amount {
	one, byPool := s.readFigures(v, func(v strict.Value) (shares.Units, bool) { return readUnits(v) })
	return shares.Amount{Any: one, ByPool: byPool}
}

// readLimit takes what readAmount takes, and all and none in place of a number.
func (s *share) readLimit(v strict.Value) shares.Limit {
	one, byPool := s.readFigures(v, func(v strict.Value) (shares.Units, bool) {
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
	return shares.Limit{Any: one, ByPool: byPool}
}

func readUnits(v strict.Value) (shares.Units, bool) {
	milli, ok := v.Milli()
	if ok && milli > maxAmount*1000 {
		v.Failf("%s is more than %d", v.Name(), maxAmount)
		return 0, false
	}
	return shares.Units(milli), ok
}

// otherPools is the key for all pools that are not named.
const otherPools = "*"

func (s *share) readFigures(v strict.Value, read func(strict.Value) (shares.Units, bool)) (one *shares.Units, byPool map[string]shares.Units) {
	if !v.IsMapping() {
		if u, ok := read(v); ok {
			one = &u
		}
		return one, nil
	}
	v.Entries(func(pool string, key, val strict.Value) {
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
			s.pools = append(s.pools, key)
		}
	})
	return one, byPool
}

// buildTree makes the tree of the shares and reports at their places what shares has against it.
func buildTree(v strict.Value, all []*share) *shares.Tree {
	specs := make([]shares.Spec, len(all))
	for i, s := range all {
		specs[i] = s.Spec
	}
	tree, err := shares.Build(specs)
	var problems shares.Problems
	errors.As(err, &problems)
	problems = append(problems, shares.OwnedBeyondMax(specs)...)
	if len(problems) == 0 {
		return tree
	}
	for _, p := range problems {
		at := locate(v, all, p)
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

// locate finds the place that a problem of shares is about.
func locate(v strict.Value, all []*share, p shares.Problem) strict.Value {
	var s *share
	for _, i := range p.At {
		s = all[i]
		all = s.children
	}
	if s == nil {
		return v
	}
	for field := p.Field; field != ""; {
		if place, ok := s.places[field]; ok {
			return place
		}
		dot := strings.LastIndexByte(field, '.')
		field = field[:max(dot, 0)]
	}
	return s.seen.At(p.Field)
}

// each visits all shares, parents before children.
func each(all []*share, visit func(*share)) {
	for _, s := range all {
		visit(s)
		each(s.children, visit)
	}
}
