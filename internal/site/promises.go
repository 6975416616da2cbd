package site

import (
	"fmt"
	"slices"
	"time"

	"github.com/divvyhq/divvy/internal/site/file"
	"github.com/divvyhq/divvy/shares"
)

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
		for _, pool := range file.PoolNames(v.Queues) {
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
		where, o.Need, has, file.Some(names))
}
