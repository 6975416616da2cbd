package throttle

import (
	"fmt"

	"github.com/divvyhq/divvy/internal/site"
	"github.com/divvyhq/divvy/internal/site/file"
	"github.com/divvyhq/divvy/shares"
)

// use is what those for whom a limit counts have.
type use struct {
	tasks  int64 // active
	ready  int64 // jobs, made or promised, that have no lease
	units  shares.Units
	closed bool // somebody waits for room here, so who comes later gets none
}

// useKey is a limit and for whom it counts.
type useKey struct {
	index int
	whom  string
}

// limiter goes through the tasks of a site once.
type limiter struct {
	site  *site.Site
	power shares.Units // of a core
	uses  map[useKey]*use
	known map[[3]string][]file.LimitOf // by user, label, share: there are few
}

// judge says what limits make of tasks, which come by priority, then age. What has been promised is kept: jobs that
// live, and quotas that are not used up, count before anybody gets more. Active tasks stay; the others come in their turn.
// Who waits for room that it could have if nobody else had it closes the limit for all behind it, or wide jobs would
// never start. Only what changes is returned.
func judge(st *site.Site, tasks []limitedTask) []ruling {
	l := &limiter{site: st, power: corePower(st), uses: map[useKey]*use{}, known: map[[3]string][]file.LimitOf{}}
	for i := range tasks {
		l.note(&tasks[i])
	}
	var out []ruling
	for _, active := range []bool{true, false} {
		for i := range tasks {
			t := &tasks[i]
			if t.wants() && active == (t.State != "throttled") {
				if r := l.judge(t); r.differs(t) {
					out = append(out, r)
				}
			}
		}
	}
	return out
}

// wants says that the task would make jobs if nothing kept it from that.
func (t *limitedTask) wants() bool {
	switch t.State {
	case "ready", "scouting", "running", "throttled":
		return true
	}
	return false
}

// promised is how many jobs the task has or may still make by its quota.
func (t *limitedTask) promised() int64 {
	n := t.NGenerated - t.Ended
	if t.wants() && t.Quota != nil {
		n += max(min(*t.Quota, t.NJobs)-t.NGenerated, 0)
	}
	return n
}

func (l *limiter) limits(t *limitedTask) []file.LimitOf {
	key := [3]string{t.UserName, t.Label, t.Share}
	all, ok := l.known[key]
	if !ok {
		all = l.site.LimitsOf(t.UserName, t.Label, t.Share)
		l.known[key] = all
	}
	return all
}

func (l *limiter) use(of file.LimitOf) *use {
	key := useKey{of.Index, of.Whom}
	if l.uses[key] == nil {
		l.uses[key] = &use{}
	}
	return l.uses[key]
}

func (l *limiter) charge(t *limitedTask, ready, jobs int64) {
	for _, of := range l.limits(t) {
		u := l.use(of)
		u.ready, u.units = u.ready+ready, u.units+l.unitsOf(t, jobs)
	}
}

func (l *limiter) unitsOf(t *limitedTask, jobs int64) shares.Units {
	return shares.Units(jobs*t.Cores) * l.power
}

// note notes what a task has before anybody gets more. Paused tasks are not active: they come back in their turn.
func (l *limiter) note(t *limitedTask) {
	promised := t.promised()
	l.charge(t, max(promised-t.NLeased, 0), promised)
	if t.wants() && t.State != "throttled" {
		for _, of := range l.limits(t) {
			l.use(of).tasks++
		}
	}
}

// judge decides about one task.
func (l *limiter) judge(t *limitedTask) ruling {
	r := ruling{task: t.ID, before: t.State}
	limits := l.limits(t)
	if len(limits) == 0 && t.MaxRunning == nil {
		return r
	}
	promised := t.promised()
	left := t.NJobs - t.Ended - promised // that nothing has been promised for
	if t.MaxRunning != nil && *t.MaxRunning-promised < left {
		left = max(*t.MaxRunning-promised, 0)
		r.limited = fmt.Sprintf("max_running of the task: %s ready or running at once", counted(*t.MaxRunning, "job", "jobs"))
	}
	if t.State == "throttled" {
		if full := l.full(limits); full != "" {
			r.limited = full
			return r.stop(t, promised)
		}
	}
	more := left
	for _, of := range limits {
		if room, why := l.room(t, of); room < more {
			more, r.limited = room, why
		}
	}
	if more < left {
		l.close(t, limits, left)
	}
	l.charge(t, more, more)
	if promised+more == 0 && left > 0 {
		l.leave(t, limits)
		return r.stop(t, 0)
	}
	l.enter(t, limits)
	quota := t.Ended + promised + more
	r.quota = &quota
	return r
}

// stop makes the ruling that the task makes no jobs.
func (r ruling) stop(t *limitedTask, promised int64) ruling {
	quota := t.Ended + promised
	r.quota, r.throttled = &quota, true
	return r
}

// full says why a task that is not active may not be; "": it may.
func (l *limiter) full(limits []file.LimitOf) string {
	for _, of := range limits {
		if u := l.use(of); of.Tasks != nil && u.tasks >= *of.Tasks {
			return fmt.Sprintf("%s: %s of %d active (limits[%d] of the site: max_active_tasks)", of.Whom, counted(u.tasks, "task", "tasks"), *of.Tasks, of.Index)
		}
	}
	return ""
}

// room is how many more jobs of the task a limit lets be made, and what it says where these are too few.
func (l *limiter) room(t *limitedTask, of file.LimitOf) (jobs int64, why string) {
	u := l.use(of)
	jobs = t.NJobs
	if of.Ready != nil {
		jobs, why = max(*of.Ready-u.ready, 0), fmt.Sprintf("%s: %s of %d ready (limits[%d] of the site: max_ready_jobs)",
			of.Whom, counted(u.ready, "job", "jobs"), *of.Ready, of.Index)
	}
	if of.Units != nil {
		one := max(l.unitsOf(t, 1), 1)
		if fit := max(int64((*of.Units-u.units)/one), 0); fit < jobs {
			jobs, why = fit, fmt.Sprintf("%s: %s of %s units held or ready (limits[%d] of the site: max_held_units)", of.Whom, u.units, *of.Units, of.Index)
			if one > *of.Units {
				why = fmt.Sprintf("%s: one job takes %s units, and no more than %s may be held (limits[%d] of the site: max_held_units)", of.Whom, one, *of.Units, of.Index)
			}
		}
	}
	if u.closed {
		return 0, of.Whom + ": tasks before it wait for room (limits[" + fmt.Sprint(of.Index) + "] of the site)"
	}
	return jobs, why
}

// close keeps those who come later from taking the room for so many jobs that a task waits for; where not even one of its jobs fits into an
// empty limit it waits for nothing.
func (l *limiter) close(t *limitedTask, limits []file.LimitOf, wanted int64) {
	for _, of := range limits {
		if of.Units != nil && l.unitsOf(t, 1) > *of.Units || of.Ready != nil && *of.Ready == 0 {
			return
		}
	}
	for _, of := range limits {
		if of.Units != nil || of.Ready != nil {
			if room, _ := l.room(t, of); room < wanted {
				l.use(of).closed = true
			}
		}
	}
}

// enter and leave count active tasks as they change.
func (l *limiter) enter(t *limitedTask, limits []file.LimitOf) {
	if t.State == "throttled" {
		for _, of := range limits {
			l.use(of).tasks++
		}
	}
}

func (l *limiter) leave(t *limitedTask, limits []file.LimitOf) {
	if t.State != "throttled" {
		for _, of := range limits {
			l.use(of).tasks--
		}
	}
}

// differs says that the ruling is not how the task is already.
func (r ruling) differs(t *limitedTask) bool {
	same := r.quota == nil && t.Quota == nil || r.quota != nil && t.Quota != nil && *r.quota == *t.Quota
	return !same || r.limited != t.Limited || r.throttled != (t.State == "throttled")
}

func counted(n int64, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}
