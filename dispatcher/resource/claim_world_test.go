package resource

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/divvyhq/divvy/shares"
)

// world does with one task's claims what the dispatcher does, in memory: it tells claims what happens, does what they ask
// for, and can recount everything.
type world struct {
	layout  Layout
	site    []shares.ClaimTemplate
	now     time.Time
	claims  []*worldClaim // all that there ever were
	jobs    []*worldJob   // all that there ever were
	charges map[Payer]map[string]int64
	binds   int
	last    ClaimEffects
}

type worldClaim struct {
	key ClaimKey
	Claim
}

type worldJob struct {
	JobKey
	claims  []*worldClaim
	state   string // ready, running, over
	leaving bool   // scaled away
	at      Place
}

func newWorld(l Layout, site []shares.ClaimTemplate, outside map[string]Claim) *world {
	w := &world{layout: l, site: site, now: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), charges: map[Payer]map[string]int64{}}
	for _, name := range sortedKeys(outside) {
		w.claims = append(w.claims, &worldClaim{ClaimKey{Template: name, External: true, Task: every, Replica: every, Index: every}, outside[name]})
	}
	e := Expand(l)
	for i := range e.Claims {
		w.make(e, i)
	}
	for _, j := range e.Jobs {
		w.add(e, j)
	}
	return w
}

func sortedKeys[V any](m map[string]V) (keys []string) {
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// make is a new claim of an expansion, with the jobs that share it.
func (w *world) make(e Expansion, i int) {
	if key := e.Claims[i]; !key.External {
		w.claims = append(w.claims, &worldClaim{key, w.fresh(key, e.Sharers()[i])})
	}
}

func (w *world) fresh(key ClaimKey, jobs int) Claim {
	if t, ok := w.layout.Template(key.Template, w.site); ok {
		return NewClaim(t, jobs)
	}
	return MissingClaim(key.Template, jobs)
}

// claim finds the one that jobs with this key hold now: the last of them.
func (w *world) claim(key ClaimKey) *worldClaim {
	for _, c := range slices.Backward(w.claims) {
		if c.key == key {
			return c
		}
	}
	return nil
}

// add is a new job; the claims that it holds count it already.
func (w *world) add(e Expansion, j Job) *worldJob {
	job := &worldJob{JobKey: j.JobKey, state: "ready"}
	for _, c := range j.Claims {
		job.claims = append(job.claims, w.claim(e.Claims[c]))
	}
	w.jobs = append(w.jobs, job)
	return job
}

func (w *world) step(c *worldClaim, e ClaimEvent) error {
	e.At = w.now
	next, fx := c.Step(e)
	if fx.Refused != "" {
		return errors.New(string(fx.Refused))
	}
	c.Claim, w.last = next, fx
	for sign, charge := range map[int64]*Charge{1: fx.Charged, -1: fx.Refund} {
		if charge == nil {
			continue
		}
		if w.charges[charge.Payer] == nil {
			w.charges[charge.Payer] = map[string]int64{}
		}
		for r, u := range charge.Units {
			w.charges[charge.Payer][r] += sign * u
		}
	}
	if fx.Charged != nil {
		w.binds++
	}
	return nil
}

// taken are the devices of a node that claims have.
func (w *world) taken(at Place) (ids []string) {
	for _, c := range w.claims {
		if c.Place == at {
			ids = append(ids, c.Devices...)
		}
	}
	return ids
}

// pull gives a ready job to a pilot, if all its claims agree.
func (w *world) pull(j *worldJob, o Offer, who Payer) error {
	o.Devices = WithoutDevices(o.Devices, w.taken(o.Place))
	all := make([]Claim, len(j.claims))
	for i, c := range j.claims {
		all[i] = c.Claim
	}
	if _, _, why := AdmitsAll(all, o); why != "" {
		return errors.New(string(why))
	}
	for _, c := range j.claims {
		if err := w.step(c, ClaimEvent{Verb: Granted, Offer: o, Payer: who}); err != nil {
			return fmt.Errorf("admitted, but %w", err)
		}
		if most := c.Template.MaxSharers; most > 0 && c.Sharers > most {
			return fmt.Errorf("admitted, but %s is held by %d", c.key.Name(), c.Sharers)
		}
		o.Devices = WithoutDevices(o.Devices, c.Devices)
	}
	j.state, j.at = "running", o.Place
	return nil
}

// end is the end of a lease.
func (w *world) end(j *worldJob, verb ClaimVerb, again bool) error {
	again = again && !j.leaving // nobody tries again what was scaled away
	for _, c := range j.claims {
		if err := w.step(c, ClaimEvent{Verb: verb, Again: again}); err != nil {
			return err
		}
	}
	j.state = "over"
	if again {
		j.state = "ready"
	}
	return nil
}

// nodeLost has the leases run out of all that hold a claim at the node, those elsewhere too.
func (w *world) nodeLost(at Place) error {
	for _, j := range w.jobs {
		here := slices.ContainsFunc(j.claims, func(c *worldClaim) bool { return c.Local && c.Place == at })
		if j.state == "running" && here {
			if err := w.end(j, Lost, true); err != nil {
				return err
			}
		}
	}
	return nil
}

// pass is time that goes by.
func (w *world) pass(d time.Duration) error {
	w.now = w.now.Add(d)
	for _, c := range w.claims {
		if err := w.step(c, ClaimEvent{Verb: LingerOver}); err != nil {
			return err
		}
	}
	return nil
}

// scale changes the layout and everything that follows from it.
func (w *world) scale(to Layout) (Change, error) {
	change, err := Scale(w.layout, to)
	if err != nil {
		return change, err
	}
	w.layout = to
	for _, key := range change.Drains {
		if err := w.step(w.claim(key), ClaimEvent{Verb: ScaledAway}); err != nil {
			return change, err
		}
	}
	for _, key := range change.Leaving {
		if err := w.letGo(w.job(key)); err != nil {
			return change, err
		}
	}
	for _, i := range change.Claims {
		w.make(change.To, int(i))
	}
	for _, i := range change.Jobs {
		j := w.add(change.To, change.To.Jobs[i])
		for k, c := range j.claims {
			if slices.Contains(change.Claims, change.To.Jobs[i].Claims[k]) {
				continue // made with it
			}
			if err := w.renewed(j, k, c); err != nil {
				return change, err
			}
		}
	}
	return change, nil
}

// renewed joins a claim that there was before, or makes one with the same key if that is over.
func (w *world) renewed(j *worldJob, k int, c *worldClaim) error {
	err := w.step(c, ClaimEvent{Verb: Joined})
	if err != nil && (c.State == ClaimReleased || c.State == ClaimDraining) {
		again := &worldClaim{c.key, w.fresh(c.key, 1)}
		w.claims, j.claims[k] = append(w.claims, again), again
		return nil
	}
	return err
}

func (w *world) letGo(j *worldJob) error {
	j.leaving = true
	if j.state != "ready" {
		return nil
	}
	j.state = "over"
	for _, c := range j.claims {
		if err := w.step(c, ClaimEvent{Verb: Dropped}); err != nil {
			return err
		}
	}
	return nil
}

// retry is a new job for a piece whose job is over.
func (w *world) retry(old *worldJob) (*worldJob, error) {
	keys, ok := w.keysOf(old.JobKey)
	if !ok {
		return nil, errors.New("the task has no such job any more")
	}
	j := &worldJob{JobKey: old.JobKey, state: "ready", claims: make([]*worldClaim, len(keys))}
	w.jobs = append(w.jobs, j)
	for k, key := range keys {
		j.claims[k] = w.claim(key)
		if err := w.renewed(j, k, j.claims[k]); err != nil {
			return nil, err
		}
	}
	return j, nil
}

// keysOf are the claims that a job holds, which are those that its earlier attempts held; ok is false if the layout has no
// such job now.
func (w *world) keysOf(at JobKey) (keys []ClaimKey, ok bool) {
	e := Expand(w.layout)
	i := slices.IndexFunc(e.Jobs, func(j Job) bool { return j.JobKey == at })
	if i < 0 {
		return nil, false
	}
	for _, c := range e.Jobs[i].Claims {
		keys = append(keys, e.Claims[c])
	}
	return keys, true
}

// job finds the last one with this key: those before it were scaled away or tried again.
func (w *world) job(key JobKey) *worldJob {
	for _, j := range slices.Backward(w.jobs) {
		if j.JobKey == key {
			return j
		}
	}
	return nil
}
