package meter

import (
	"time"

	"github.com/divvyhq/divvy/dispatcher/explain"
	"github.com/divvyhq/divvy/shares"
)

// fairness of a pool, by held and target of its leaves that want something.
type fairness struct {
	jain      float64       // Jain's index of held/target: 1 when all have the same part of their targets, 1/n when one has all
	deviation float64       // units that the share furthest from its target is off
	starving  int           // shares with ready jobs and a target of a unit or more that hold nothing while others do
	longest   time.Duration // that one of them has done so
}

// starved is since when shares starve.
type starved map[starvedKey]time.Time

type starvedKey struct {
	pool  string
	share shares.ShareID
}

// fairnessOf is the fairness of a pool; next takes those that starve.
func fairnessOf(p *explain.PoolStanding, now time.Time, before, next starved) fairness {
	f := fairness{jain: 1}
	var n, sum, squares float64
	for i := range p.Shares {
		s := &p.Shares[i]
		if !s.Leaf || s.Target <= 0 || s.Ready == 0 && s.Held == 0 {
			continue
		}
		part := s.Held / s.Target
		n, sum, squares = n+1, sum+part, squares+part*part
		f.deviation = max(f.deviation, s.Deficit, -s.Deficit)
		if s.Ready > 0 && s.Target >= 1 && s.Held == 0 && p.Held > 0 {
			key := starvedKey{p.Pool, s.ID}
			since, ok := before[key]
			if !ok {
				since = now
			}
			next[key] = since
			f.starving++
			f.longest = max(f.longest, now.Sub(since))
		}
	}
	if squares > 0 {
		f.jain = sum * sum / (n * squares)
	}
	return f
}
