package machine

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/divvyhq/divvy/dispatcher/entry"
	"github.com/divvyhq/divvy/dispatcher/gate"
	"github.com/divvyhq/divvy/dispatcher/ready"
	"github.com/divvyhq/divvy/shares"
)

// Checkpoint is the part of the state that is in no table of jobs and leases: whoever has it, the site, the shapes, the ready ranges
// and the leases of the same batch, has the whole state. It takes some hundred bytes a share and a user.
type Checkpoint struct {
	Seq      int64             `json:"seq"`
	ID       entry.ID          `json:"id"`
	Now      time.Time         `json:"now"`
	Version  int64             `json:"version"` // of the site
	PlansAt  time.Time         `json:"plans_at"`
	Targets  []entry.Target    `json:"targets,omitempty"`
	Polled   []shares.QueueID  `json:"polled,omitempty"`
	Expected []entry.Expected  `json:"expected,omitempty"`
	Shares   []Standing        `json:"shares,omitempty"` // in a pool, where there is something to say
	Grants   map[string]uint64 `json:"grants,omitempty"` // by pool: how many there were under this site
	Users    []Serving         `json:"users,omitempty"`
	Servings uint64            `json:"servings,omitempty"`
	Elders   Elders            `json:"elders"`
	Waited   []gate.Waited     `json:"waited,omitempty"` // for resources
	Claims   *gate.Saved       `json:"claims,omitempty"`
}

// Standing is what a share has missed in a pool, in thousandths of a unit times seconds, and the number of its last grant.
type Standing struct {
	Pool  string         `json:"pool"`
	Share shares.ShareID `json:"share"`
	Lag   float64        `json:"lag,omitempty"`   // as it is shown
	Past  float64        `json:"past,omitempty"`  // that fades with its half_life and shifts its target
	Grant uint64         `json:"grant,omitempty"` // of a leaf
}

// Serving is when a user of a share was last given a job in a pool.
type Serving struct {
	Share shares.ShareID `json:"share"`
	User  string         `json:"user"`
	Pool  string         `json:"pool"`
	Grant uint64         `json:"grant"`
}

// Elders says which jobs were made so long ago that they prefer no place any more.
type Elders struct {
	Newest int64       `json:"newest"`
	UpTo   int64       `json:"up_to"`
	IDs    []int64     `json:"ids,omitempty"` // of marks: each was there
	Times  []time.Time `json:"times,omitempty"`
}

// Checkpoint returns it as of the batch at which the machine stands: all of its entries were applied, and none after it.
func (m *Machine) Checkpoint() Checkpoint {
	t := m.site
	c := Checkpoint{Seq: m.seq, ID: m.id, Now: m.now, Version: t.file.Number, PlansAt: t.at, Targets: t.targets, Servings: m.served.n,
		Grants: map[string]uint64{}, Elders: Elders{Newest: m.elders.newest, UpTo: m.elders.upTo}}
	for q := range m.polled {
		c.Polled = append(c.Polled, q)
	}
	slices.Sort(c.Polled)
	for b := range m.ready.Buffers() {
		if n := m.buffers[b.Key()].expected; n > 0 {
			c.Expected = append(c.Expected, entry.Expected{Share: b.Key().Share, Shape: b.Key().Shape, Jobs: n})
		}
	}
	for _, p := range t.pools {
		c.Grants[p.name] = p.grants
		for i, n := range p.book.Tree().Nodes {
			if s := (Standing{p.name, n.ID, p.lag[i], p.book.Lag(i), p.last[i]}); i > 0 && s != (Standing{Pool: p.name, Share: n.ID}) {
				c.Shares = append(c.Shares, s)
			}
		}
	}
	for _, mark := range m.elders.marks {
		c.Elders.IDs, c.Elders.Times = append(c.Elders.IDs, mark.id), append(c.Elders.Times, mark.at)
	}
	c.Users, c.Waited, c.Claims = m.served.kept(), m.supplies.Waited(), m.claims.Save()
	return c
}

// kept are the last grants to users, of the shares that give turns.
func (sv *servings) kept() (list []Serving) {
	for key, n := range sv.known() {
		list = append(list, Serving{key.share, key.user, key.pool, n})
	}
	slices.SortFunc(list, func(a, b Serving) int {
		return cmp.Or(cmp.Compare(a.Share, b.Share), cmp.Compare(a.User, b.User), cmp.Compare(a.Pool, b.Pool))
	})
	return list
}

// Restoring makes a machine of a checkpoint and of what the tables have of its batch: Ready and Lease take their rows, in any order,
// and Done returns the machine. Their errors say what of the tables does not go together; the machine is of no use then.
type Restoring struct {
	machine *Machine
	from    Checkpoint
}

// Restore begins with the site and the shapes.
func Restore(cfg Config, c Checkpoint, site shares.Version, shapes []entry.Shaped) (*Restoring, error) {
	m := New(cfg)
	m.now = c.Now
	if err := m.claims.Restore(c.Claims, c.Now); err != nil {
		return nil, fmt.Errorf("restore: %w", err)
	}
	for _, e := range shapes {
		if err := m.know(e); err != nil {
			return nil, fmt.Errorf("restore: %w", err)
		}
	}
	if site.Number != c.Version {
		return nil, fmt.Errorf("restore: version %d of the site, the checkpoint has %d", site.Number, c.Version)
	}
	m.served.before = map[servedKey]uint64{}
	for _, u := range c.Users {
		m.served.before[servedKey{u.Share, u.User, u.Pool}] = u.Grant
	}
	m.served.n = c.Servings
	for _, q := range c.Polled {
		m.polled[q] = true
	}
	m.now = c.PlansAt // the moment of the plans in force
	m.build(site, c.Targets)
	m.now = c.Now
	return &Restoring{m, c}, nil
}

// Ready takes jobs that are ready.
func (r *Restoring) Ready(e entry.Enqueued) error {
	if err := r.machine.sorts.put(e, false); err != nil {
		return fmt.Errorf("restore: %w", err)
	}
	return nil
}

// Lease takes a lease.
func (r *Restoring) Lease(l Lease) error {
	m := r.machine
	b, err := m.buffer(ready.Key{Share: l.Share, Shape: l.Shape})
	if err == nil && m.leases.by[l.Job] != nil {
		err = fmt.Errorf("job %d has two leases", l.Job)
	}
	if err != nil {
		return fmt.Errorf("restore: %w", err)
	}
	m.leases.add(l.Granted, l.User)
	m.leases.by[l.Job].started = l.Started
	if l.Order != nil {
		m.leases.orders[l.Job] = *l.Order
	}
	m.hold(b.Key(), l.Queue, 1, l.Units)
	return nil
}

// Done puts in what is in no table, and returns the machine.
func (r *Restoring) Done() (*Machine, error) {
	m := r.machine
	for _, e := range r.from.Expected {
		if err := m.expect(e); err != nil {
			return nil, fmt.Errorf("restore: %w", err)
		}
	}
	m.remind(r.from)
	m.Reach(r.from.Seq, r.from.ID)
	return m, nil
}

// remind sets what shares have missed and who was given something last.
func (m *Machine) remind(c Checkpoint) {
	lags := map[lagKey]lag{}
	turns := map[string][]Standing{}
	for _, s := range c.Shares {
		lags[lagKey{s.Pool, s.Share}] = lag{s.Lag, s.Past}
		if s.Grant > 0 {
			turns[s.Pool] = append(turns[s.Pool], s)
		}
	}
	m.site.recallLags(lags)
	for _, p := range m.site.pools {
		order := turns[p.name]
		slices.SortFunc(order, func(a, b Standing) int { return cmp.Compare(a.Grant, b.Grant) })
		for _, s := range order {
			if leaf, ok := m.site.leaf(s.Share); ok {
				p.book.Granted(leaf)
				p.last[leaf] = s.Grant
			}
		}
		p.grants = c.Grants[p.name]
	}
	m.elders = elders{newest: c.Elders.Newest, upTo: c.Elders.UpTo}
	for i, id := range c.Elders.IDs {
		m.elders.marks = append(m.elders.marks, idMark{id, c.Elders.Times[i]})
	}
	for _, w := range c.Waited {
		m.supplies.Remind(w)
	}
}
