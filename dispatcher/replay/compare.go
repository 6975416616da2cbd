package replay

import (
	"time"

	"github.com/divvyhq/divvy/dispatcher/entry"
	"github.com/divvyhq/divvy/dispatcher/machine"
	"github.com/divvyhq/divvy/shares"
	score "github.com/divvyhq/divvy/shares/replay"
)

// Compare plays a log and scores its decisions, made again by the site that was in force or by another one.
type Compare struct {
	Since, Until time.Time // of batches
	List         int       // most differences to list

	player *Player
	rival  *rival // nil: by the site that was in force
	meter  score.Meter
	score  score.Score
	began  bool
}

// measureEvery is how often what shares hold is added up.
const measureEvery = time.Second

// Begin starts at a machine, or starts again after a gap. The rival is another machine in the same state and the site that it decides by; nil:
// decisions are made by the site that was in force.
func (c *Compare) Begin(m, rival *machine.Machine, site *shares.Version) error {
	if c.score.NotComparable == nil {
		c.score = score.Score{NotComparable: []score.Count{}, First: []score.Difference{}, Version: []int64{}}
	}
	c.player, c.rival, c.began = NewPlayer(m), nil, false
	if site == nil {
		return nil
	}
	c.rival = newRival(rival, *site)
	return c.rival.adopt(m.Site())
}

// Leave counts a grant that cannot be compared.
func (c *Compare) Leave(at time.Time, why score.Reason, n int64) {
	if c.wanted(at) {
		c.score.Leave(why, n)
	}
}

// Score is what came out so far.
func (c *Compare) Score() score.Score {
	s := c.score
	c.meter.Report(&s)
	return s
}

func (c *Compare) wanted(at time.Time) bool { return !at.Before(c.Since) && !at.After(c.Until) }

// Play plays a batch.
func (c *Compare) Play(b entry.Batch) error {
	c.measure(b.At)
	err := c.player.Play(b, c.decide)
	if err == nil && c.rival != nil {
		c.rival.finish(b.Entries)
	}
	return err
}

// measure adds up what is held until a moment.
func (c *Compare) measure(at time.Time) {
	if at.After(c.Until) {
		at = c.Until
	}
	switch {
	case at.Before(c.Since):
		return
	case !c.began:
		c.meter.Begin(at)
		c.began = true
		return
	case !c.meter.Due(at, measureEvery):
		return
	}
	was := holdings(c.player.machine)
	now := was
	if c.rival != nil {
		now = holdings(c.rival.machine)
	}
	c.meter.Until(at, was, now)
}

// holdings is what shares hold, by pool.
func holdings(m *machine.Machine) (list []score.Holding) {
	v := m.View()
	pools, of := map[shares.QueueID]string{}, map[string]int{}
	for _, q := range v.Site.Queues {
		pools[q.ID] = q.Pool
	}
	for h := range v.Held() {
		pool, there := pools[h.Queue]
		node, ok := v.Site.Tree.ByID(h.Share)
		if !there || !ok {
			continue
		}
		i, known := of[pool]
		if !known {
			i = len(list)
			of[pool], list = i, append(list, score.Holding{Pool: pool, Tree: v.Site.Tree, Held: make([]shares.Units, len(v.Site.Tree.Nodes))})
		}
		v.Site.Tree.Up(node, func(n int) { list[i].Held[n] += h.Units })
	}
	return list
}

func (c *Compare) decide(t *Turn) {
	m := c.player.machine
	if c.rival != nil {
		c.rival.catchUp(c.player.batch.Entries, t)
	}
	if !c.wanted(t.At) {
		if c.rival != nil {
			c.rival.decide(t, m, false)
		}
		return
	}
	c.start(m, t.Grant.Share, t.Grant.Queue, false)
	d := score.Decision{At: t.At, Daemon: t.By, Number: t.Seq, Version: m.Site().Number, Job: t.Grant.Job, Queue: t.Grant.Queue, Share: t.Grant.Share}
	now, why := c.again(t, m)
	if why != "" {
		c.score.Leave(why, 1)
		c.start(m, t.Grant.Share, t.Grant.Queue, true) // what happened stands
		return
	}
	if now.Share != d.Share && len(c.score.First) < c.List && t.Known {
		if l := t.Look(true); l.Verdict == machine.Given && l.Grant.Share == d.Share {
			d.Deficit = float32(l.Contest.Deficit / 1000)
		}
	}
	c.score.Came(d, now, c.List)
	of := m
	if c.rival != nil {
		of = c.rival.machine
	}
	c.start(of, now.Share, t.Grant.Queue, true)
}

// again is who gets the slot now, or why it cannot be said.
func (c *Compare) again(t *Turn, m *machine.Machine) (now score.Outcome, why score.Reason) {
	if c.rival != nil {
		return c.rival.decide(t, m, len(c.score.First) < c.List)
	}
	if _, gang, _ := m.Claims(t.Grant.Job); gang {
		return now, score.Gang
	}
	if !t.Known {
		return now, score.Unasked
	}
	l := t.Look(false)
	if l.Verdict != machine.Given {
		if scarce(m, &t.Grant) {
			return now, score.Kept
		}
		return now, ""
	}
	if l.Grant.Job != t.Grant.Job && (scarce(m, &t.Grant) || scarce(m, &l.Grant)) {
		return now, score.Kept
	}
	return outcome(m, l, t.Grant.Job), ""
}

// outcome is that of a look, for a slot that the log gave to a job.
func outcome(m *machine.Machine, l machine.Look, job int64) score.Outcome {
	o := score.Outcome{Share: l.Grant.Share, Deficit: l.Contest.Deficit / 1000, Other: l.Grant.Job != job}
	tree := m.Site().Tree
	if node, ok := tree.ByID(o.Share); ok {
		o.Path = tree.Nodes[node].Path
	}
	return o
}

// scarce says whether a grant takes units of resources: those of its job, or of claims that are bound with it.
func scarce(m *machine.Machine, g *entry.Granted) bool {
	need, _ := m.View().Shape(g.Shape)
	_, _, units := m.Claims(g.Job)
	return units || len(need.Resources) > 0
}

func (c *Compare) start(m *machine.Machine, share shares.ShareID, queue shares.QueueID, now bool) {
	site := m.Site()
	q := site.Queue(queue)
	if node, ok := site.Tree.ByID(share); ok && q.ID != 0 {
		c.meter.Start(q.Pool, site.Tree, node, now)
	}
}
