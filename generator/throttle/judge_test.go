package throttle

import (
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"github.com/divvyhq/divvy/internal/site"
	"github.com/divvyhq/divvy/internal/site/file"
	"github.com/divvyhq/divvy/shares"
)

// limitWorld is tasks under limits, with generators and pilots that do as they like within their quotas.
type limitWorld struct {
	r     *rapid.T
	site  *site.Site
	tasks []limitedTask
	next  int64
}

func newLimitWorld(r *rapid.T) *limitWorld {
	c := &limitWorld{r: r}
	bound := func(name string, low int) *int64 {
		if rapid.IntRange(0, 2).Draw(r, name+" given") == 0 {
			return nil
		}
		n := int64(rapid.IntRange(low, 6).Draw(r, name))
		return &n
	}
	text := "shares: [{name: A, children: [{name: A1}, {name: A2}]}, {name: B}]\nqueues: [{name: q, core_power: 2}]\n"
	st, err := site.Parse("f", []byte(text))
	if err != nil {
		r.Fatal(err)
	}
	for i := range rapid.IntRange(1, 3).Draw(r, "limits") {
		l := file.Limit{Tasks: bound("tasks", 1), Ready: bound("ready", 1)}
		if n := bound("units", 1); n != nil {
			units := shares.Units(*n * 4000)
			l.Units = &units
		}
		l.User = []string{"*", "", "alice"}[i]
		l.Share = []string{"", "A", "A/*"}[i]
		st.Limits = append(st.Limits, l)
	}
	c.site = st
	return c
}

func (c *limitWorld) one(name string, which func(t *limitedTask) bool) *limitedTask {
	var some []*limitedTask
	for i := range c.tasks {
		if which(&c.tasks[i]) {
			some = append(some, &c.tasks[i])
		}
	}
	if len(some) == 0 {
		c.r.Skip("no task to " + name)
	}
	return some[rapid.IntRange(0, len(some)-1).Draw(c.r, name)]
}

func (t *limitedTask) live() int64 { return t.NGenerated - t.Ended }

func (c *limitWorld) submit(*rapid.T) {
	c.next++
	c.tasks = append(c.tasks, limitedTask{ID: c.next, State: "throttled", UserName: rapid.SampledFrom([]string{"alice", "bob"}).Draw(c.r, "user"),
		Share: rapid.SampledFrom([]string{"A/A1", "A/A2", "B"}).Draw(c.r, "share"), Cores: int64(rapid.IntRange(1, 2).Draw(c.r, "cores")),
		NJobs: int64(rapid.IntRange(1, 5).Draw(c.r, "jobs"))})
	if n := int64(rapid.IntRange(0, 3).Draw(c.r, "max_running")); n > 0 {
		c.tasks[len(c.tasks)-1].MaxRunning = &n
	}
}

func (c *limitWorld) generate(*rapid.T) {
	t := c.one("generate", func(t *limitedTask) bool {
		return t.wants() && t.State != "throttled" && t.NGenerated < t.NJobs && (t.Quota == nil || t.NGenerated < *t.Quota)
	})
	t.NGenerated++
}

func (c *limitWorld) lease(*rapid.T) {
	c.one("lease", func(t *limitedTask) bool { return t.live() > t.NLeased }).NLeased++
}

func (c *limitWorld) end(*rapid.T) {
	t := c.one("end", func(t *limitedTask) bool { return t.NLeased > 0 })
	t.NLeased, t.Ended = t.NLeased-1, t.Ended+1
}

func (c *limitWorld) pause(*rapid.T) {
	c.one("pause", func(t *limitedTask) bool { return t.wants() && t.State != "throttled" }).State = "paused"
}

// resume is what set_state does for a task that a limit concerns.
func (c *limitWorld) resume(*rapid.T) {
	t := c.one("resume", func(t *limitedTask) bool { return t.State == "paused" })
	n := t.NGenerated
	t.State, t.Quota = "throttled", &n
}

// throttle does what throttle.sql does. Some of it may be left for the next time, as where there is much to do.
func (c *limitWorld) throttle(*rapid.T) { c.rule(rapid.IntRange(1, 100).Draw(c.r, "rulings")) }

func (c *limitWorld) rule(most int) (n int) {
	rulings := judge(c.site, c.tasks)
	for _, r := range rulings[:min(most, len(rulings))] {
		t := &c.tasks[r.task-1]
		t.Quota, t.Limited = r.quota, r.limited
		switch {
		case r.throttled:
			t.State = "throttled"
		case t.State == "throttled":
			t.State = "running"
		}
	}
	return len(rulings)
}

// check holds what tasks have against the limits.
func (c *limitWorld) check(*rapid.T) {
	tasks, ready, units := map[string]int64{}, map[string]int64{}, map[string]shares.Units{}
	for i := range c.tasks {
		t := &c.tasks[i]
		if t.MaxRunning != nil && t.live() > *t.MaxRunning {
			c.r.Fatalf("%d jobs of %d: %+v", t.live(), *t.MaxRunning, t)
		}
		for _, of := range c.site.LimitsOf(t.UserName, t.Label, t.Share) {
			key := fmt.Sprint(of.Index, of.Whom)
			if t.wants() && t.State != "throttled" && t.live() < t.NJobs {
				tasks[key]++
			}
			ready[key] += t.live() - t.NLeased
			units[key] += shares.Units(t.live()*t.Cores) * 2000
			switch {
			case of.Tasks != nil && tasks[key] > *of.Tasks:
				c.r.Fatalf("%s: %d tasks: %+v", key, tasks[key], c.tasks)
			case of.Ready != nil && ready[key] > *of.Ready:
				c.r.Fatalf("%s: %d ready jobs: %+v", key, ready[key], c.tasks)
			case of.Units != nil && units[key] > *of.Units:
				c.r.Fatalf("%s: %v units: %+v", key, units[key], c.tasks)
			}
		}
	}
}

// However tasks come and go, limits hold; and when people leave tasks alone each comes to its end.
func TestLimitsHoldAndLetGo(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		c := newLimitWorld(r)
		r.Repeat(map[string]func(*rapid.T){"submit": c.submit, "generate": c.generate, "lease": c.lease, "end": c.end, "pause": c.pause,
			"resume": c.resume, "throttle": c.throttle, "": c.check})
		c.finish()
	})
}

// finish lets everything run to its end.
func (c *limitWorld) finish() {
	for round := 0; ; round++ {
		left := false
		for i := range c.tasks {
			t := &c.tasks[i]
			if t.State == "paused" {
				n := t.NGenerated
				t.State, t.Quota = "throttled", &n
			}
			if t.wants() && t.State != "throttled" {
				t.NGenerated = max(t.NGenerated, min(t.NJobs, *orElse(t.Quota, &t.NJobs)))
			}
			c.check(c.r)
			t.Ended, t.NLeased = t.NGenerated, 0
			if t.Ended == t.NJobs {
				t.State = "done"
			}
			left = left || t.State != "done"
		}
		if !left {
			return
		}
		if round > 100 {
			c.r.Fatalf("tasks wait for ever: %+v, limits %+v", c.tasks, c.site.Limits)
		}
		c.rule(100)
	}
}

func orElse(a, b *int64) *int64 {
	if a != nil {
		return a
	}
	return b
}

// What is so already is not ruled again.
func TestLimitsComeToRest(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		c := newLimitWorld(r)
		for range rapid.IntRange(1, 8).Draw(r, "tasks") {
			c.submit(r)
		}
		for n := 0; c.rule(100) > 0; n++ {
			if n > 20 {
				r.Fatalf("it never rests: %+v", c.tasks)
			}
		}
	})
}
