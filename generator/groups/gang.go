package groups

import (
	"context"

	"github.com/divvyhq/divvy/dispatcher/intake"
	"github.com/divvyhq/divvy/dispatcher/resource"
	"github.com/divvyhq/divvy/generator/stored"
)

// membership is how many jobs share a claim, and how many of them a batch makes: those that start together wait until all are made.
type membership struct{ members, made int }

// crowd is the jobs of a batch, their places in the expansion, how many jobs share each of its claims, and where those begin
// that are tried again.
type crowd struct {
	jobs    []*intake.NewJob
	at      []int
	sharers []int
	after   int64
}

// members says it of all claims of a batch. A claim whose jobs are all tried again is made anew where it is over: then it is
// shared by those that are to be tried again.
func (j *joiner) members(ctx context.Context, x resource.Expansion, of crowd) (map[int32]membership, error) {
	all, again := map[int32]membership{}, map[int32]bool{}
	for i, job := range of.jobs {
		for _, c := range x.Jobs[of.at[i]].Claims {
			m, known := all[c]
			m.made++
			all[c] = m
			again[c] = job.RetryOf != 0 && (again[c] || !known)
		}
	}
	var wave map[int32]int
	for c, m := range all {
		m.members = of.sharers[c]
		if claim := j.claim(x.Claims[c]); again[c] && (claim.Template.Gang || claim.Missing) {
			if wave == nil {
				var err error
				if wave, err = j.wave(ctx, x, of.after); err != nil {
					return nil, err
				}
			}
			m.members = max(m.made, wave[c])
		}
		all[c] = m
	}
	return all, nil
}

// wave counts by claim the jobs that are tried again from one on.
func (j *joiner) wave(ctx context.Context, x resource.Expansion, after int64) (map[int32]int, error) {
	failed, err := stored.Failed(ctx, j.tx, []stored.Again{{Task: j.task, After: after, N: resource.MaxJobs}})
	if err != nil {
		return nil, err
	}
	place := make(map[string]int, len(x.Jobs))
	for i := range x.Jobs {
		place[x.Jobs[i].Name()] = i
	}
	n := map[int32]int{}
	for _, f := range failed[j.task] {
		if len(f.Inputs) == 0 {
			continue
		}
		if i, ok := place[f.Inputs[0]]; ok {
			for _, c := range x.Jobs[i].Claims {
				n[c]++
			}
		}
	}
	return n, nil
}

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
