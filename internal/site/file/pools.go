package file

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/divvyhq/divvy/internal/site/strict"
	"github.com/divvyhq/divvy/shares"
)

// Some is a list for people, cut where it gets long.
func Some(list []string) string {
	const most = 8
	if more := len(list) - most; more > 0 {
		list = append(list[:most:most], fmt.Sprintf("%d more", more))
	}
	return strings.Join(list, ", ")
}

// DefaultPool is the pool of queues that name none.
const DefaultPool = "default"

// PoolNames lists the pools of the queues.
func PoolNames(queues []shares.Queue) []string {
	pools := map[string]bool{}
	for _, q := range queues {
		pools[q.Pool] = true
	}
	return slices.Sorted(maps.Keys(pools))
}

// notePools says of owned and min without a pool that they count in each pool of the site, where it has several. Whoever
// means that writes {"*": 40}.
func (s *Content) notePools(t *tree) {
	pools := PoolNames(s.Queues)
	if len(pools) < 2 {
		return
	}
	var figures []string
	for _, sh := range t.all {
		sh.figures(func(field string, v strict.Value) {
			if !strings.HasSuffix(field, "owned") && !strings.HasSuffix(field, "min") || v.IsMapping() || v.Failed() {
				return
			}
			if u, ok := readUnits(v); ok && u > 0 {
				figures = append(figures, fmt.Sprintf("%s of %s %v (%v in all)", field, sh.path, u, u*shares.Units(len(pools))))
			}
		})
	}
	if len(figures) > 0 {
		s.Notes = append(s.Notes, fmt.Sprintf("figures without a pool count in each of the pools %s: %s; write {%s: N} for one pool, {%q: N} to mean each",
			strings.Join(pools, ", "), Some(figures), pools[0], otherPools))
	}
}

// checkPools refuses figures for a pool that no queue is in: they would never act.
func (t *tree) checkPools(queues []shares.Queue) {
	if len(queues) == 0 {
		return
	}
	known := PoolNames(queues)
	for _, s := range t.all {
		s.figures(func(_ string, v strict.Value) {
			for _, key := range v.Keys() {
				if pool, ok := key.Text(); ok && pool != otherPools && !slices.Contains(known, pool) {
					key.Fail(fmt.Sprintf("no queue is in pool %q", pool), strict.DidYouMean(pool, known))
				}
			}
		})
	}
}
