package site

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/divvyhq/divvy/shares"
)

// notePools says of owned and min without a pool that they count in each pool of the site, where it has several. Whoever
// means that writes {"*": 40}.
func (s *Site) notePools(all []*share) {
	pools := poolNames(s.Queues)
	if len(pools) < 2 {
		return
	}
	var figures []string
	each(all, func(sh *share) {
		for _, field := range slices.Sorted(maps.Keys(sh.places)) {
			v, key := sh.places[field], field[strings.LastIndexByte(field, '.')+1:]
			if key != "owned" && key != "min" || v.IsMapping() || v.Failed() {
				continue
			}
			if u, ok := readUnits(v); ok && u > 0 {
				figures = append(figures, fmt.Sprintf("%s of %s %v (%v in all)", field, sh.path, u, u*shares.Units(len(pools))))
			}
		}
	})
	if len(figures) > 0 {
		s.notes = append(s.notes, fmt.Sprintf("figures without a pool count in each of the pools %s: %s; write {%s: N} for one pool, {%q: N} to mean each",
			strings.Join(pools, ", "), some(figures), pools[0], otherPools))
	}
}

// some is a list for people, cut where it gets long.
func some(list []string) string {
	const most = 8
	if more := len(list) - most; more > 0 {
		list = append(list[:most:most], fmt.Sprintf("%d more", more))
	}
	return strings.Join(list, ", ")
}

// maxPlanChanges bounds the changes of plans that are looked at.
const maxPlanChanges = 50

// noteOvercommits says which mins can never be served in full beside each other and what is owned, by the plans that are in
// force from now on. Queues that are offline count too.
func (c *transition) noteOvercommits(now time.Time) {
	v := c.next.Version()
	v.Queues = slices.Clone(v.Queues)
	for i := range v.Queues {
		v.Queues[i].State = shares.Online
	}
	said := map[string]bool{}
	at, more := now, true
	for n := 0; more && n < maxPlanChanges && at.Before(now.AddDate(0, 0, 8)); n++ {
		tree := v.Tree.At(at)
		for _, pool := range poolNames(v.Queues) {
			for _, o := range tree.Overcommits(pool, Capacity(v, pool)) {
				if note := overcommitted(tree, pool, o); !said[note] {
					said[note] = true
					if n > 0 {
						note += ", from " + at.Format("Mon 2 Jan 15:04 MST") + " on"
					}
					c.notes = append(c.notes, note)
				}
			}
		}
		at, more = v.Tree.NextChange(at)
	}
}

func overcommitted(tree *shares.Tree, pool string, o shares.Overcommit) string {
	var names []string
	for _, i := range o.Mins {
		names = append(names, tree.Nodes[i].Path)
	}
	where, has := "pool "+pool, fmt.Sprintf("its queues have %v", o.Has)
	if o.Node > 0 {
		where, has = "share "+tree.Nodes[o.Node].Path, fmt.Sprintf("its max is %v in pool %s", o.Has, pool)
	}
	return fmt.Sprintf("%s: min and owned add up to %v units and %s: the min of %s will not be served in full while all want everything; lower them",
		where, o.Need, has, some(names))
}
