package file

import (
	"fmt"
	"slices"

	"github.com/divvyhq/divvy/internal/site/strict"
	"github.com/divvyhq/divvy/shares"
)

// queue is a queue as the file has it.
type queue struct {
	shares.Queue
	Was    string       `yaml:"was" is:"word=queue"`
	Pilots []string     `yaml:"pilots" is:"some most=100 word=pilots" hint:"leave it out for every pilot; divvy queue offline closes a queue"` // nil = every pilot
	State  strict.Value `yaml:"state"`
	at     strict.Value
}

// Start makes it a queue that says nothing.
func (q *queue) Start(v strict.Value) {
	q.at, q.Queue = v, shares.Queue{Pool: DefaultPool, State: shares.Online, CorePowerMilli: 1000}
}

func (s *Content) addQueues(queues []queue, t *tree) {
	s.QueueWas, s.Pilots = map[string]string{}, map[string][]string{}
	was := map[string]string{}
	for _, q := range queues {
		if len(q.Labels) == 0 {
			q.Labels = nil
		}
		if q.Provision != nil {
			q.checkProvision()
			*q.Provision = q.Provision.Filled()
		}
		s.Queues = append(s.Queues, q.Queue)
		q.State.Fail("the state of a queue is not part of the site file", "use divvy queue drain|online "+q.Name)
		q.checkPatterns("allow_shares", q.AllowShares, t.paths)
		q.checkPatterns("deny_shares", q.DenyShares, t.paths)
		if q.Pilots != nil {
			s.Pilots[q.Name] = q.Pilots
		}
		if q.Was == "" {
			continue
		}
		if other, dup := was[q.Was]; dup {
			q.at.At("was").Failf("queue %q already was %q", other, q.Was)
		}
		if was[q.Was] = q.Name; q.Was != q.Name {
			s.QueueWas[q.Name] = q.Was
		}
	}
}

// checkPatterns refuses patterns that mean no share: they are misspelt.
func (q *queue) checkPatterns(key string, patterns, paths []string) {
	for i, pattern := range patterns {
		at := element(q.at.At(key), i)
		if !at.Failed() && !slices.ContainsFunc(paths, func(p string) bool { return shares.PatternMeans(pattern, p) }) {
			at.Fail(fmt.Sprintf("%s: %q means no share", key, pattern), strict.DidYouMean(pattern, paths))
		}
	}
}

// checkProvision refuses figures that contradict each other.
func (q *queue) checkProvision() {
	p, at := q.Provision, q.at.At("provision")
	if p.Max > 0 && p.Min > p.Max {
		at.At("min").Failf("min %d is more than max %d", p.Min, p.Max)
	}
}
