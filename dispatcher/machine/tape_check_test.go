package machine

import "fmt"

// tapeTally counts what a tape has.
type tapeTally struct {
	Entries, Adoptions, Sites, Shapes int
	Pulls                             map[string]int // by verdict
	Grants, TakenBack, Gone           int
	Again                             int // ends after which the job was ready again
	Contests                          int // grants for which somebody else contended
	Left, Held                        int // jobs that are ready, and held, at the end
}

// tapeStanding is what is known of a job that is ready or held.
type tapeStanding struct {
	key   tapeKey
	task  int64
	place int64
	held  bool
	gone  bool
}

// tapeChecker follows a tape.
type tapeChecker struct {
	tapeTally
	jobs   map[int64]*tapeStanding
	shapes map[int32]bool
	site   *tapeAdopt
	owing  map[int64]bool // grants of an undone pull that are not taken back yet
}

// checkTape follows a tape and counts what it has. An error says which entry cannot be.
func checkTape(entries []tapeEntry) (tapeTally, error) {
	c := &tapeChecker{jobs: map[int64]*tapeStanding{}, shapes: map[int32]bool{}, owing: map[int64]bool{}}
	c.Pulls = map[string]int{}
	for i, e := range entries {
		if err := c.entry(i, e); err != nil {
			return c.tapeTally, fmt.Errorf("entry %d: %w", i+1, err)
		}
	}
	for _, j := range c.jobs {
		if j.held {
			c.Held++
		} else {
			c.Left++
		}
	}
	return c.tapeTally, nil
}

func (c *tapeChecker) entry(i int, e tapeEntry) error {
	c.Entries++
	if n := e.set(); n != 1 || (i == 0) != (e.Begin != nil) {
		return fmt.Errorf("%d fields are set; the first one of a tape is begin, and no other", n)
	}
	if len(c.owing) > 0 && e.TakeBack == nil {
		return fmt.Errorf("%d grants of an undone pull are not taken back", len(c.owing))
	}
	switch {
	case e.Adopt != nil:
		return c.adopt(e.Adopt)
	case e.Shape != nil:
		c.Shapes++
		c.shapes[e.Shape.ID] = true
	case e.Ready != nil:
		return c.ready(e.Ready)
	case e.Withdrawn != nil:
		return c.withdrawn(e.Withdrawn)
	case e.Ended != nil:
		return c.ended(e.Ended)
	case e.Moved != nil:
		return c.moved(e.Moved)
	case e.Backlog != nil:
		return c.knows(e.Backlog.tapeKey)
	case e.Pull != nil:
		return c.pull(e.Pull)
	case e.TakeBack != nil:
		return c.takeBack(e.TakeBack)
	}
	return nil
}

// set counts the fields of an entry that are set.
func (e tapeEntry) set() (n int) {
	for _, is := range []bool{e.Begin != nil, e.Adopt != nil, e.Shape != nil, e.Ready != nil, e.Withdrawn != nil, e.Ended != nil, e.Moved != nil,
		e.Backlog != nil, e.Awaited != nil, e.Remembered != nil, e.Seen != nil, e.Elder != nil, e.Pull != nil, e.TakeBack != nil} {
		if is {
			n++
		}
	}
	return n
}

func (c *tapeChecker) adopt(a *tapeAdopt) error {
	c.Adoptions++
	switch {
	case a.Site != nil:
		c.Sites++
		c.site = a
	case c.site == nil || c.site.Number != a.Number:
		return fmt.Errorf("site %d was not adopted before", a.Number)
	}
	return nil
}

// knows says whether share and shape of a key were named before.
func (c *tapeChecker) knows(k tapeKey) error {
	if c.site == nil || !c.shapes[k.Shape] {
		return fmt.Errorf("shape %d is not known", k.Shape)
	}
	if node, ok := c.site.Site.Tree.ByID(k.Share); !ok || !c.site.Site.Tree.Leaf(node) {
		return fmt.Errorf("share %d is no leaf", k.Share)
	}
	return nil
}

func (c *tapeChecker) ready(r *tapeReady) error {
	for _, s := range r.Jobs {
		for id := s[0]; id <= s[1]; id++ {
			if j := c.jobs[id]; j != nil && !j.gone {
				return fmt.Errorf("job %d is there already: %+v", id, *j)
			}
			c.jobs[id] = &tapeStanding{key: r.tapeKey, task: r.Task, place: r.Place}
		}
	}
	return c.knows(r.tapeKey)
}

func (c *tapeChecker) withdrawn(r *tapeReady) error {
	for _, s := range r.Jobs {
		for id := s[0]; id <= s[1]; id++ {
			if j := c.jobs[id]; j == nil || j.held || j.key != r.tapeKey || j.place != r.Place || j.task != r.Task {
				return fmt.Errorf("job %d is withdrawn and was not ready there: %+v", id, j)
			}
			delete(c.jobs, id)
		}
	}
	return nil
}

func (c *tapeChecker) ended(e *tapeEnded) error {
	j := c.jobs[e.Job]
	if j == nil || !j.held {
		return fmt.Errorf("job %d ended and was not held: %+v", e.Job, j)
	}
	if e.Next != tapeAgain {
		delete(c.jobs, e.Job)
		return nil
	}
	c.Again++
	j.held, j.place = false, e.Place
	return nil
}

func (c *tapeChecker) moved(m *tapeMoved) error {
	for _, s := range m.Jobs {
		for id := s[0]; id <= s[1]; id++ {
			if j := c.jobs[id]; j == nil || !j.held || j.key != m.From {
				return fmt.Errorf("the lease of job %d is moved from %+v: %+v", id, m.From, j)
			}
			c.jobs[id].key = m.To
		}
	}
	return c.knows(m.To)
}

func (c *tapeChecker) pull(p *tapePull) error {
	c.Pulls[p.Verdict]++
	some := p.Verdict == tapeGiven || p.Verdict == tapeUndone || p.Verdict == tapeCut
	if some != (len(p.Grants) > 0) || len(p.Grants) > p.Max {
		return fmt.Errorf("pull %d: %s with %d grants of %d", p.Number, p.Verdict, len(p.Grants), p.Max)
	}
	for _, g := range p.Grants {
		if err := c.knows(g.tapeKey); err != nil {
			return err
		}
		if j := c.jobs[g.Job]; j == nil || j.held || j.gone || j.key != g.tapeKey {
			return fmt.Errorf("pull %d: job %d is granted and was not ready: %+v", p.Number, g.Job, j)
		}
		if g.Next != 0 {
			c.Contests++
		}
		c.jobs[g.Job].held = true
		if c.Grants++; p.Verdict == tapeUndone {
			c.owing[g.Job] = true
		}
	}
	return nil
}

func (c *tapeChecker) takeBack(t *tapeTakeBack) error {
	j := c.jobs[t.Job]
	if j == nil || !j.held {
		return fmt.Errorf("the grant of job %d is taken back: %+v", t.Job, j)
	}
	j.held, j.gone = false, t.Gone
	c.TakenBack++
	if t.Gone {
		c.Gone++
	}
	delete(c.owing, t.Job)
	return nil
}
