package sim

import (
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/divvyhq/divvy/dispatcher/entry"
	"github.com/divvyhq/divvy/dispatcher/lease"
	"github.com/divvyhq/divvy/dispatcher/ledger"
	"github.com/divvyhq/divvy/dispatcher/machine"
	"github.com/divvyhq/divvy/internal/ledgertest"
)

// variant is a daemon, or a log, with one rule broken. Bug is from the entry of testdata/bugs.md that it is modelled on.
type variant struct {
	name string
	bug  string
	bend func(w *Wiring)
}

// wanted is what must be said of some variants, which other checks find as well.
var wanted = map[string]string{"none-from-stale": "there is no job", "away-is-none": "there is no job", "handed-on-twice": "said once", "wakes-while-it-reads": "for nothing"}

const forever = 1000 * time.Hour

// bent is a core between whose events and effects something is wrong.
type bent struct {
	Core
	event  func(c Core, e lease.Event) lease.Event // nil: it is swallowed
	effect func(c Core, now time.Duration, e lease.Effect) []lease.Effect
}

func (b *bent) Step(now time.Duration, events ...lease.Event) []lease.Effect {
	var in []lease.Event
	for _, e := range events {
		if b.event != nil {
			e = b.event(b.Core, e)
		}
		if e != nil {
			in = append(in, e)
		}
	}
	var out []lease.Effect
	for _, e := range b.Core.Step(now, in...) {
		if b.effect == nil {
			out = append(out, e)
		} else {
			out = append(out, b.effect(b.Core, now, e)...)
		}
	}
	return out
}

// configured changes the configuration of every daemon.
func configured(change func(*lease.Config)) func(*Wiring) {
	return func(w *Wiring) {
		w.Core = func(cfg lease.Config) Core {
			change(&cfg)
			return lease.New(cfg)
		}
	}
}

// told changes what every daemon is told.
func toldOf(event func(c Core, e lease.Event) lease.Event) func(*Wiring) {
	return func(w *Wiring) {
		w.Core = func(cfg lease.Config) Core { return &bent{Core: lease.New(cfg), event: event} }
	}
}

// answered changes what it is told of its appends.
func answered(change func(c Core, err error) error) func(*Wiring) {
	return toldOf(func(c Core, e lease.Event) lease.Event {
		if a, ok := e.(lease.Appended); ok {
			a.Err = change(c, a.Err)
			return a
		}
		return e
	})
}

// asked changes what it is asked for.
func asked(change func(c Core, a *lease.Ask)) func(*Wiring) {
	return toldOf(func(c Core, e lease.Event) lease.Event {
		if a, ok := e.(lease.Ask); ok {
			change(c, &a)
			return a
		}
		return e
	})
}

// applying changes how machines apply entries.
type applying struct {
	lease.Machine
	apply func(m lease.Machine, e entry.Entry) error
	gone  map[int64]machine.Lease // leases that ended, if they are to be seen on
}

func (a *applying) Apply(e entry.Entry) error { return a.apply(a.Machine, e) }

func (a *applying) Lease(job int64) (machine.Lease, bool) {
	l, ok := a.Machine.Lease(job)
	if !ok && a.gone != nil {
		l, ok = a.gone[job]
	}
	return l, ok
}

func machines(wrap func(m lease.Machine) lease.Machine) func(*Wiring) {
	return func(w *Wiring) {
		inner := w.Machine
		w.Machine = func(slots [2]int) lease.Machine { return wrap(inner(slots)) }
	}
}

var variants = []variant{
	{"append-without-check", "", func(w *Wiring) {
		w.Append = func(l *ledgertest.Memory, b entry.Batch, beside ledger.Beside) (time.Time, error) {
			seq, id, _ := l.Last(nil) //nolint:staticcheck // it asks nothing of it
			b.Seq, b.After = seq+1, id
			return l.AppendWith(nil, b, beside) //nolint:staticcheck // it asks nothing of it
		}
	}},
	{"failover-unnoticed", "After a failover daemons start anew by themselves and grant nothing by what they knew before", func(w *Wiring) {
		w.Append = func(l *ledgertest.Memory, b entry.Batch, beside ledger.Beside) (time.Time, error) {
			if seq, id, _ := l.Last(nil); b.Seq == seq+1 || b.Seq > seq { //nolint:staticcheck // it asks nothing of it
				b.Seq, b.After = seq+1, id
			}
			return l.AppendWith(nil, b, beside) //nolint:staticcheck // it asks nothing of it
		}
	}},
	{"doubt-appends-behind", "A grant behind one whose answer got lost is charged to hard limits", func(w *Wiring) {
		w.Append = func(l *ledgertest.Memory, b entry.Batch, beside ledger.Beside) (time.Time, error) {
			at, err := l.AppendWith(nil, b, beside) //nolint:staticcheck // it asks nothing of it
			if !errors.Is(err, ledger.ErrTaken) {
				return at, err
			}
			there, _ := l.Read(nil, b.Seq-1, 1) //nolint:staticcheck // it asks nothing of it
			if len(there) == 0 || there[0].ID != b.ID {
				return at, err
			}
			seq, id, _ := l.Last(nil) //nolint:staticcheck // it asks nothing of it
			b.Seq, b.After, b.ID[0] = seq+1, id, b.ID[0]+1
			return l.AppendWith(nil, b, beside) //nolint:staticcheck // it asks nothing of it
		}
	}},
	{"answer-before-commit", "Repeats that change nothing", answerEarly},
	{"doubt-is-success", "",
		answered(func(_ Core, err error) error {
			if errors.Is(err, ledger.ErrDoubt) {
				return nil
			}
			return err
		})},
	{"deposed-grants-on", "One that had frozen there (a paused virtual machine, SIGSTOP)",
		answered(func(c Core, err error) error {
			if c.Leads() && (errors.Is(err, ledger.ErrTaken) || errors.Is(err, ledger.ErrGap)) {
				return nil
			}
			return err
		})},
	{"no-ttl-after-takeover", "", configured(func(c *lease.Config) { c.Timing.Rest = 1 })},
	{"wall-clock", "Clocks that leap", configured(func(c *lease.Config) { c.Timing.Stopped = forever })},
	{"no-grace-after-outage", "", configured(func(c *lease.Config) { c.Timing.Grace, c.Timing.Fresh = 1, forever })},
	{"none-from-stale", "jobs under a `max` or at a queue with `slots` could be told \"no jobs\"", configured(func(c *lease.Config) { c.Timing.Fresh, c.Timing.Tick = forever, forever })},
	{"fold-without-folded-to", "Units of a hard limit that a daemon took at the very moment in which limits were computed anew", func(w *Wiring) {
		w.Reload = func(t *Tables, _ int) lease.Reloaded {
			r := t.Machine(t.Folded)
			if b := t.batches(t.Folded); r.Err == nil && len(b) > 2 {
				r.Machine.Reach(b[len(b)-2].Seq, b[len(b)-2].ID)
			}
			return r
		}
	}},
	{"keeps-what-was-lost", "A daemon that starts anew, as after a failover, just when it is about to decide on pulls leases what it decides as the new one that it is", keepSpeculation},
	{"out-of-order", "A job that was announced while its window was being read could wait for the next look, and a better one be passed over",
		toldOf(func(_ Core, e lease.Event) lease.Event {
			switch e := e.(type) {
			case lease.Fetched:
				reverse(e.Batches)
			case lease.Received:
				reverse(e.Message.Batches)
			}
			return e
		})},
	{"request-served-twice", "",
		asked(func(_ Core, a *lease.Ask) {
			if a.Pull != nil {
				p := *a.Pull
				p.Request, a.Pull = entry.ID{}, &p
			}
		})},
	{"request-after-its-leases", "A pull repeated with its `request_id` after its leases have run out is answered 409",
		configured(func(c *lease.Config) { c.Bounds.Requests = 1 })},
	{"end-without-fence", "", asked(func(c Core, a *lease.Ask) {
		m, _ := c.Machine()
		for i, e := range a.Finish {
			if m == nil {
				break
			}
			if l, ok := m.Lease(e.Key.Job); ok {
				e.Key = lease.Key{Job: l.Job, Attempt: l.Attempt, Nonce: l.Nonce}
				a.Finish = append([]lease.End{}, a.Finish...)
				a.Finish[i] = e
			}
		}
	})},
	{"ends-twice", "", machines(func(m lease.Machine) lease.Machine {
		a := &applying{Machine: m, gone: map[int64]machine.Lease{}}
		a.apply = func(m lease.Machine, e entry.Entry) error {
			end, ok := e.(entry.Ended)
			if !ok {
				return m.Apply(e)
			}
			l, live := m.Lease(end.Job)
			if !live {
				return nil
			}
			a.gone[end.Job] = l
			return m.Apply(e)
		}
		return a
	})},
	{"withdrawn-are-granted", "A killed or paused job stayed in memory and cost a pull its turn", machines(func(m lease.Machine) lease.Machine {
		return &applying{Machine: m, apply: func(m lease.Machine, e entry.Entry) error {
			if _, ok := e.(entry.Killed); ok {
				return nil
			}
			return m.Apply(e)
		}}
	})},
	{"limit-charged-late", "", func(w *Wiring) {
		w.Plain = true
		w.Machine = func(slots [2]int) lease.Machine {
			m := newToy(slots)
			m.lateCharge = true
			return m
		}
	}},
	{"handed-on-twice", "A pull without a request id that had waited here and was then handed on could be served twice when the daemon that decides went",
		handOnTwice},
	{"away-is-none", "", func(w *Wiring) {
		w.Core = func(cfg lease.Config) Core {
			return &bent{Core: lease.New(cfg), effect: func(_ Core, _ time.Duration, e lease.Effect) []lease.Effect {
				if r, ok := e.(lease.Reply); ok && r.Answer.Status == lease.Unavailable {
					r.Answer.Status = lease.NoJob
					return []lease.Effect{r}
				}
				return []lease.Effect{e}
			}}
		}
	}},
	{"follower-renews", "", func(w *Wiring) {
		w.Core = func(cfg lease.Config) Core { return &renewing{Core: lease.New(cfg)} }
	}},
	{"row-taken-twice", "", takeTwice},
	{"wakes-while-it-reads", "", wakeWhileItReads},
	{"row-left", "", func(w *Wiring) {
		w.Append = func(l *ledgertest.Memory, b entry.Batch, _ ledger.Beside) (time.Time, error) {
			return l.Append(nil, b) //nolint:staticcheck // it asks nothing of it
		}
	}},
}

func reverse(batches []entry.Batch) {
	for _, b := range batches {
		for i, j := 0, len(b.Entries)-1; i < j; i, j = i+1, j-1 {
			b.Entries[i], b.Entries[j] = b.Entries[j], b.Entries[i]
		}
	}
}

// answerEarly tells a daemon that its grants and ends are committed when it sends them.
func answerEarly(w *Wiring) {
	w.Core = func(cfg lease.Config) Core {
		early := map[entry.ID]bool{}
		return &bent{Core: lease.New(cfg),
			event: func(_ Core, e lease.Event) lease.Event {
				if a, ok := e.(lease.Appended); ok && early[a.ID] {
					return nil
				}
				return e
			},
			effect: func(c Core, now time.Duration, e lease.Effect) []lease.Effect {
				all := []lease.Effect{e}
				if a, ok := e.(lease.Append); ok && len(a.Batch.Entries) > 0 && c.Leads() {
					early[a.Batch.ID] = true
					all = append(all, c.Step(now, lease.Appended{ID: a.Batch.ID})...)
				}
				return all
			}}
	}
}

// takeTwice lets a daemon take rows again whose append was in doubt, and the log append where rows are gone.
func takeTwice(w *Wiring) {
	w.Append = func(l *ledgertest.Memory, b entry.Batch, beside ledger.Beside) (time.Time, error) {
		there := ledger.Beside{Refused: slices.DeleteFunc(slices.Clone(beside.Refused), func(r ledger.Refusal) bool {
			return l.RowFate(r.Row).Seq > 0
		})}
		for _, r := range l.Pending(1000) {
			if slices.Contains(beside.Rows, r.ID) {
				there.Rows = append(there.Rows, r.ID)
			}
		}
		return l.AppendWith(nil, b, there) //nolint:staticcheck // it asks nothing of it
	}
	w.Core = func(cfg lease.Config) Core {
		known, doubtful := map[int64]ledger.Row{}, map[int64]ledger.Row{}
		flights := map[entry.ID][]int64{}
		return &bent{Core: lease.New(cfg),
			event: func(_ Core, e lease.Event) lease.Event {
				switch e := e.(type) {
				case lease.Appended:
					for _, id := range flights[e.ID] {
						if errors.Is(e.Err, ledger.ErrDoubt) {
							doubtful[id] = known[id]
						}
					}
				case lease.Gathered:
					for _, r := range e.Rows {
						known[r.ID] = r
						delete(doubtful, r.ID)
					}
					for _, id := range slices.Sorted(maps.Keys(doubtful)) {
						e.Rows = append(e.Rows, doubtful[id])
					}
					return e
				}
				return e
			},
			effect: func(_ Core, _ time.Duration, e lease.Effect) []lease.Effect {
				if a, ok := e.(lease.Append); ok {
					flights[a.Batch.ID] = a.Beside.Rows
				}
				return []lease.Effect{e}
			}}
	}
}

// wakeWhileItReads has a daemon ask for a step at once for as long as the log owes it an answer.
func wakeWhileItReads(w *Wiring) {
	w.Core = func(cfg lease.Config) Core {
		reads := false
		return &bent{Core: lease.New(cfg),
			event: func(_ Core, e lease.Event) lease.Event {
				if _, ok := e.(lease.Fetched); ok {
					reads = false
				}
				return e
			},
			effect: func(_ Core, now time.Duration, e lease.Effect) []lease.Effect {
				switch e.(type) {
				case lease.Read:
					reads = true
				case lease.Wake:
					if reads {
						return []lease.Effect{lease.Wake{At: now}}
					}
				}
				return []lease.Effect{e}
			}}
	}
}

// handOnTwice lets a daemon hand a pull on again that the leader has not answered for a while.
func handOnTwice(w *Wiring) {
	w.Core = func(cfg lease.Config) Core {
		return &impatient{Core: lease.New(cfg), open: map[lease.Call]waitingAsk{}}
	}
}

type impatient struct {
	Core
	open map[lease.Call]waitingAsk
}

type waitingAsk struct {
	ask   lease.Ask
	until time.Duration
}

func (i *impatient) Step(now time.Duration, events ...lease.Event) []lease.Effect {
	for _, e := range events {
		if a, ok := e.(lease.Ask); ok && a.Pull != nil && a.Pull.Request == (entry.ID{}) && !i.Leads() {
			i.open[a.Call] = waitingAsk{a, now + a.Wait + 300*time.Millisecond}
		}
	}
	out := i.Core.Step(now, events...)
	for _, e := range out {
		if r, ok := e.(lease.Reply); ok {
			delete(i.open, r.Answer.Call)
		}
	}
	for call, w := range i.open {
		if w.until < now {
			delete(i.open, call)
			out = append(out, i.Core.Step(now, w.ask)...)
		}
	}
	if w, ok := out[len(out)-1].(lease.Wake); ok {
		for _, o := range i.open {
			w.At = min(w.At, o.until+time.Nanosecond)
		}
		out[len(out)-1] = w
	}
	return out
}

// keepSpeculation lets a daemon go on with the machine that it had, as if it were that of the tables.
func keepSpeculation(w *Wiring) {
	w.Core = func(cfg lease.Config) Core {
		var had lease.Machine
		return &bent{Core: lease.New(cfg), event: func(c Core, e lease.Event) lease.Event {
			if m, _ := c.Machine(); m != nil {
				had = m
			}
			if r, ok := e.(lease.Reloaded); ok && had != nil && r.Err == nil {
				had.Reach(r.Machine.Stand())
				r.Machine = had
				return r
			}
			return e
		}}
	}
}

// renewing is a follower that answers renewals by itself.
type renewing struct{ Core }

func (r *renewing) Step(now time.Duration, events ...lease.Event) []lease.Effect {
	var in []lease.Event
	var out []lease.Effect
	for _, e := range events {
		if a, ok := e.(lease.Ask); ok && a.Renew != nil && !r.Leads() {
			kept := make([]lease.Renewed, len(a.Renew))
			for i := range kept {
				kept[i].Kept = true
			}
			out = append(out, lease.Reply{Answer: lease.Answer{Call: a.Call, Renewed: kept}})
			continue
		}
		in = append(in, e)
	}
	return append(r.Core.Step(now, in...), out...)
}
