package shares

import "fmt"

// OwnedBeyondMax finds the shares that own more than their max lets them hold: units that are guaranteed to them and that
// they may never use. A site file must not say so. Build takes it, and the solver copes: a tree of an older version may
// have it, and the children of a share may own more than its max.
func OwnedBeyondMax(root []Spec) Problems { return ownedBeyondMax(root, "", nil) }

func ownedBeyondMax(specs []Spec, parent string, at []int) (ps Problems) {
	for k, s := range specs {
		here, path := append(at[:len(at):len(at)], k), join(parent, s.Name)
		report := func(field, format string, args ...any) {
			ps = append(ps, Problem{At: here, Path: path, Field: field, Message: fmt.Sprintf(format, args...)})
		}
		s.Plan.checkOwned("", true, report)
		for i, w := range s.Plan.Windows {
			if w.Owned != nil || w.Max != nil {
				w.over(s.Plan).checkOwned(windowField(i), w.Owned != nil, report)
			}
		}
		ps = append(ps, ownedBeyondMax(s.Children, path, here)...)
	}
	return ps
}

// checkOwned blames owned, or else max.
func (p Plan) checkOwned(prefix string, blameOwned bool, report func(field, format string, args ...any)) {
	for _, pool := range poolsOf(p.Owned, p.Max) {
		own, _ := p.Owned.In(pool)
		most, ok := p.Max.In(pool)
		switch {
		case !ok || own <= most:
		case blameOwned:
			report(prefix+"owned", "%v is more than max %v%s", own, most, inPool(pool))
		default:
			report(prefix+"max", "%v is less than owned %v%s", most, own, inPool(pool))
		}
	}
}
