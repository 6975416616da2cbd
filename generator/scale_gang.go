package generator

import (
	"github.com/divvyhq/divvy/dispatcher/resource"
)

// gangSizes are the claims whose jobs start together, and become more or fewer when the task is scaled. away are jobs that
// are made and not wanted any more. A claim without a template may be such a one when it gets one.
func gangSizes(from resource.Layout, change resource.Change, away []string) (sizes []stubGang) {
	together := func(k resource.ClaimKey) bool {
		t, ok := from.Template(k.Template, nil)
		return !k.External && (t.Gang || !ok)
	}
	left := make(map[string]bool, len(away))
	for _, name := range away {
		left[name] = true
	}
	before := resource.Expand(from)
	was, made := before.Sharers(), make([]int, len(before.Claims))
	for _, j := range before.Jobs {
		if left[j.Name()] {
			for _, c := range j.Claims {
				made[c]++
			}
		}
	}
	now := make(map[resource.ClaimKey]int, len(change.To.Claims))
	for i, n := range change.To.Sharers() {
		now[change.To.Claims[i]] = n
	}
	for i, k := range before.Claims {
		if n, stays := now[k]; stays && n != was[i] && together(k) {
			sizes = append(sizes, stubGang{Key: k.Name(), Members: n, More: n - was[i] + made[i]})
		}
	}
	return sizes
}
