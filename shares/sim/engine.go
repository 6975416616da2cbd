package sim

import (
	"time"

	"github.com/divvyhq/divvy/shares"
)

// Config is what a simulation works with.
type Config struct {
	Tree     *shares.Tree
	Pool     string       // resource group that figures of the plans are taken for
	Capacity shares.Units // what may be held at once
	Rule     Rule
	Every    time.Duration // width of a point of the series; 0 = an hour. Doubled when there would be too many
	// Seed other than 0 shuffles jobs that arrive at the same instant; 0 keeps the order of the trace.
	Seed uint64
	// Progress, if set, is told now and then how many jobs have started; its error ends the run.
	Progress func(started int) error
}

// Engine is the state of a simulated pool and its meters. Whoever drives it says what happens and when: Run by the
// choices of the rule, a replay by what was recorded. For one goroutine at a time.
type Engine struct {
	tree     *shares.Tree
	pool     *shares.Pool
	capacity shares.Units
	rule     Rule
	begin    time.Duration
	now      time.Duration

	leaves  []int
	heads   []Job // by node: the job that goes next; Units 0 = none
	nHead   int
	line    shares.Contenders
	limited bool           // a share has a max, or a limit of lending or borrowing: Admits must be asked before every pick
	may     func(Job) bool // of ChooseAmong

	remembers bool // a share has a half_life: targets change as time passes

	targets []float64
	solved  bool
	below   []bool    // scratch of contending
	last    []int64   // by node: sequence number of the last start
	nStart  int64     // starts so far
	held    []float64 // by node, in slots

	meter
}

// New is an idle pool at time 0.
func New(c Config) *Engine {
	n := len(c.Tree.Nodes)
	e := &Engine{tree: c.Tree, pool: shares.NewPool(c.Tree, c.Pool), capacity: c.Capacity, rule: c.Rule, leaves: c.Tree.Leaves(),
		heads: make([]Job, n), below: make([]bool, n), last: make([]int64, n), held: make([]float64, n)}
	e.pool.SetCapacity(c.Capacity)
	e.limited = e.pool.Lends()
	for i := range c.Tree.Nodes {
		p := &c.Tree.Nodes[i].Plan
		e.limited = e.limited || p.Max.IsSet()
		e.remembers = e.remembers || p.HalfLife > 0
	}
	e.meter = newMeter(c.Tree, c.Every)
	return e
}

// Begin is the moment from which on things are measured, when that is not 0. Call it before anything else.
func (e *Engine) Begin(at time.Duration) { e.now, e.begin, e.series.begin = at, at, at }

// Free is what is not held; 0 when more is held than there is.
func (e *Engine) Free() shares.Units { return max(0, e.capacity-e.pool.Held(0)) }

// SetCapacity changes what may be held at once from now on. Nothing is ended for it.
func (e *Engine) SetCapacity(u shares.Units) {
	e.pool.SetCapacity(u)
	e.capacity, e.solved = u, false
}

// AddReady says that a leaf has du more ready units, or fewer; jobs that start are subtracted by Start.
func (e *Engine) AddReady(leaf int, du shares.Units) {
	e.pool.SetWant(leaf, e.pool.Want(leaf)+du)
	e.solved = false
}

// SetHead says which job goes next in its leaf.
func (e *Engine) SetHead(j Job) {
	if e.heads[j.Leaf].Units == 0 {
		e.nHead++
	}
	e.heads[j.Leaf] = j
	e.contend(j.Leaf)
}

// ClearHead says that no job of a leaf is ready.
func (e *Engine) ClearHead(leaf int) {
	if e.heads[leaf].Units != 0 {
		e.nHead--
	}
	e.heads[leaf] = Job{}
	e.contend(leaf)
}

// Head is the job that goes next in a leaf; its Units are 0 when there is none.
func (e *Engine) Head(leaf int) Job { return e.heads[leaf] }

// Contenders are the leaves with a job that no max or limit forbids, fitting or not.
func (e *Engine) Contenders() *shares.Contenders { return &e.line }

// Targets are what each node should hold now, in thousandths, by index into Tree.Nodes. They depend on demand and,
// with a half_life, on the past: starts leave them as they are. Don't keep the slice.
func (e *Engine) Targets() []float64 {
	if !e.solved {
		e.targets, e.solved = e.pool.Targets(e.capacity), true
	}
	return e.targets
}

// Choose is the head in turn, by the rule; false if none contends. It may be wider than what is free.
func (e *Engine) Choose() (Job, bool) {
	if e.limited {
		e.contendAll()
	}
	return e.choose()
}

// ChooseAmong is Choose among the heads of which may says that they could start: those that a slot can run.
func (e *Engine) ChooseAmong(may func(Job) bool) (Job, bool) {
	e.may = may
	e.contendAll()
	j, ok := e.choose()
	e.may = nil
	e.contendAll()
	return j, ok
}

func (e *Engine) choose() (Job, bool) {
	leaf, ok := e.rule.Next(e)
	if !ok {
		if e.line.Len() > 0 {
			e.meter.refused++
		}
		return Job{}, false
	}
	return e.heads[leaf], true
}

// Decided counts a choice of the rule: how far the job takes the shares above it over their targets. Jobs that start
// because the one in turn does not fit are no choice of the rule's.
func (e *Engine) Decided(j Job) {
	targets := e.Targets()
	e.tree.Up(j.Leaf, func(node int) {
		if node > 0 {
			e.meter.gauges[node].over(e.held[node]+j.Units.Float()-targets[node]/1000, j.Units.Float())
		}
	})
}

// Start gives a ready job its units. Its leaf's next head is for the caller to say.
func (e *Engine) Start(j Job) {
	e.pool.SetWant(j.Leaf, e.pool.Want(j.Leaf)-j.Units)
	e.pool.Hold(j.Leaf, j.Units)
	e.pool.Granted(j.Leaf)
	e.nStart++
	wait := e.now - j.At
	e.tree.Up(j.Leaf, func(node int) {
		e.held[node] = e.pool.Held(node).Float()
		e.last[node] = e.nStart
		e.meter.started(node, wait)
	})
}

// End takes the units of a job back from its leaf.
func (e *Engine) End(leaf int, u shares.Units) {
	e.pool.Hold(leaf, -u)
	e.solved = false
	e.tree.Up(leaf, func(node int) { e.held[node] = e.pool.Held(node).Float() })
}

// Advance moves the time on to a moment that is not before now: what is held, and what should be, counts until then.
func (e *Engine) Advance(to time.Duration) {
	if to <= e.now {
		return
	}
	e.meter.pass(e, to)
	if e.remembers {
		e.pool.Remember(e.capacity, to-e.now)
		e.solved = false
	}
	e.now = to
}

// round is the R of a pull that offers all that is free.
func (e *Engine) round() shares.Units {
	return shares.Round(e.capacity, e.pool.Held(0), e.Free())
}

// contend makes a leaf a contender or not.
func (e *Engine) contend(leaf int) {
	is := e.heads[leaf].Units > 0
	if is && e.may != nil {
		is = e.may(e.heads[leaf])
	}
	if is && e.limited {
		_, is = e.pool.Admits(leaf, e.heads[leaf].Units)
	}
	if is != e.line.Has(e.pool, leaf) {
		e.line.Set(e.pool, leaf, is)
	}
}

func (e *Engine) contendAll() {
	for _, leaf := range e.leaves {
		e.contend(leaf)
	}
}

// contending says for every node whether a contender is in or below it. Parents stand before their children.
func (e *Engine) contending() []bool {
	clear(e.below)
	for i := len(e.tree.Nodes) - 1; i > 0; i-- {
		if e.tree.Leaf(i) {
			e.below[i] = e.line.Has(e.pool, i)
		}
		if e.below[i] {
			e.below[e.tree.Nodes[i].Parent] = true
		}
	}
	return e.below
}
