package generator

import (
	"github.com/divvyhq/divvy/dispatcher/intake"
	"github.com/divvyhq/divvy/dispatcher/resource"
)

// sizes are the claims that more or fewer jobs share when the task is scaled. away are jobs that are made and not wanted any more.
func (j *joiner) sizes(change resource.Change, away []string) (sizes []intake.ClaimSize) {
	left := make(map[string]bool, len(away))
	for _, name := range away {
		left[name] = true
	}
	before := resource.Expand(j.layout)
	was, made := before.Sharers(), make([]int, len(before.Claims))
	for _, job := range before.Jobs {
		if left[job.Name()] {
			for _, c := range job.Claims {
				made[c]++
			}
		}
	}
	now := make(map[resource.ClaimKey]int, len(change.To.Claims))
	for i, n := range change.To.Sharers() {
		now[change.To.Claims[i]] = n
	}
	for i, k := range before.Claims {
		if n, stays := now[k]; stays && n != was[i] {
			if claim := j.claim(k); !claim.Outside {
				sizes = append(sizes, intake.ClaimSize{NewClaim: claim, More: n - was[i] + made[i]})
			}
		}
	}
	return sizes
}
