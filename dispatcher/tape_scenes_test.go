package dispatcher

import (
	"context"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/divvyhq/divvy/dispatcher/job"
	"github.com/divvyhq/divvy/internal/pgtest"
	"github.com/divvyhq/divvy/shares"
	"github.com/divvyhq/divvy/shares/retry"
)

// scene is a small play of one feature.
type scene struct {
	name string
	site playSite
	work func(p *play, round int)             // before the pulls of a round
	req  func(p *play, round int) PullRequest // of each pull; nil: one core at queue q
	only int                                  // pulls of a round; 0: 12

	fails int // of ten attempts
	rest  int // of ten leases, those that stay in a round
}

// sceneRounds is how many rounds a scene has.
const sceneRounds = 40

// play goes through the rounds of a scene.
func (c scene) play(p *play) {
	for round := range sceneRounds {
		c.work(p, round)
		pulls := c.only
		if pulls == 0 {
			pulls = 12
		}
		for range pulls {
			p.pull++
			req := PullRequest{Queue: "q"}
			if req.Slot.Cores = 1; c.req != nil {
				req = c.req(p, round)
			}
			req.Pilot = pilotName(p.pull)
			p.ask(req, 0)
		}
		p.pass(7 * time.Minute)
		p.some(len(p.held)*(10-c.rest)/10, c.fails)
	}
}

// TestTape plays a scene of each kind in short, so that what is recorded stays whole, and all of them in full with -record.
func TestTape(t *testing.T) {
	for _, c := range scenes {
		t.Run(c.name, func(t *testing.T) {
			if !*recordTapes && c.name != "verbs" && c.name != "resources" {
				t.Skip("tapes are recorded with -record")
			}
			comesOutAgain(t, recorded(t, c.name, c.site, c.play))
		})
	}
}

// one is one of a list, at random.
func one[T any](p *play, of ...T) T { return of[p.rnd.IntN(len(of))] }

func abc() []shares.Spec { return []shares.Spec{node("A", 1), node("B", 2), node("C", 3)} }

// atQueues pulls cores at one of some queues.
func atQueues(cores []int, queues ...string) func(*play, int) PullRequest {
	return func(p *play, _ int) PullRequest {
		return PullRequest{Queue: one(p, queues...), Slot: job.Slot{Cores: one(p, cores...)}}
	}
}

// stock gives shares jobs of all widths, in some rounds.
func stock(p *play, round int, cores []int, paths ...string) {
	for _, path := range paths {
		if p.rnd.IntN(2) == 0 || round == 0 {
			p.enqueue(batch{share: path, n: 1 + p.rnd.IntN(12), cores: one(p, cores...), priority: p.rnd.IntN(3)})
		}
	}
}

var scenes = []scene{
	{name: "limits", rest: 6, site: playSite{
		shares: []shares.Spec{planned("A", func(p *shares.Plan) { p.Max = shares.Of(9000) }),
			{Name: "B", Plan: limitedTo(20_000), Children: []shares.Spec{node("1", 1), planned("2", func(p *shares.Plan) { p.Max = inPool("default", 6000) })}}, node("C", 1)},
		queues: []shares.Queue{slots("q", 24), slots("r", 16), inNamedPool("far", slots("s", 10)), inNamedPool("far", tested("t"))},
	}, work: func(p *play, round int) {
		stock(p, round, []int{1, 1, 4}, "A", "B/1", "B/2", "C")
		if round%3 == 0 {
			p.enqueue(batch{share: "C", n: 8, need: job.Requirements{Queues: []string{"t"}}})
		}
		if round%8 == 3 {
			p.target(p.d, one(p, "", "A", "B", "C"), TargetSlots{Queue: one(p, "q", "r"), Class: one(p, "", "SCORE", "MCORE"), Slots: one(p, -1, 4, 8)})
			p.told()
		}
		if round%8 == 6 {
			p.change(func(v *shares.Version) { n := 8 + p.rnd.IntN(20); v.Queues[0].Slots = &n })
		}
	}, req: atQueues([]int{1, 4, 8}, "q", "q", "r", "s", "t")},

	{name: "floors", rest: 7, site: playSite{shares: []shares.Spec{node("A", 1), {Name: "B", Plan: shares.DefaultPlan(), Children: []shares.Spec{node("1", 1), node("2", 3)}}, node("C", 4)},
		queues: []shares.Queue{slots("q", 40), slots("r", 40)},
	}, work: func(p *play, round int) {
		stock(p, round, []int{1, 1, 4}, "A", "B/1", "B/2", "C", "C")
		if round%5 == 2 {
			p.target(p.d, one(p, "A", "B", "C", "B/1"), TargetSlots{Queue: one(p, "q", "r"), Class: one(p, "", "SCORE", "MCORE"), Slots: one(p, -1, 6, 12), Floor: true})
			p.told()
		}
	}, req: atQueues([]int{1, 4}, "q", "r")},

	{name: "lending", rest: 7, site: playSite{shares: ownersE9(), queues: []shares.Queue{slots("q", 100)}}, work: func(p *play, round int) {
		if one(p, "A", "B") == "A" || round%10 > 6 {
			stock(p, round, []int{1, 4}, "A", "A", "A")
		}
		if round%10 < 6 {
			stock(p, round, []int{1, 4}, "B", "B", "B", "B")
		}
	}, req: atQueues([]int{1, 4, 10}, "q"), only: 20},

	{name: "users", rest: 6, fails: 1, site: playSite{shares: []shares.Spec{fair("A", 1), node("B", 1)}, queues: []shares.Queue{slots("q", 30), inNamedPool("far", slots("r", 12))}},
		work: func(p *play, round int) {
			for range 2 {
				p.enqueue(batch{share: one(p, "A", "A", "B"), n: 1 + p.rnd.IntN(8), cores: one(p, 1, 1, 2), priority: p.rnd.IntN(2), user: one(p, "ann", "ann", "bob", "eve", "zoe")})
			}
			if round == 20 {
				p.change(func(v *shares.Version) { replan(v, "B", func(p *shares.Plan) { p.Within = shares.FairUser }) })
			}
			if round == 30 {
				p.change(func(v *shares.Version) { replan(v, "A", func(p *shares.Plan) { p.Within = shares.Fifo }) })
			}
			if round >= 20 {
				step(p.t, p.d.TendUsers)
				p.told()
			}
		}, req: atQueues([]int{1, 2, 4}, "q", "q", "r")},

	{name: "locality", rest: 5, site: playSite{shares: []shares.Spec{node("A", 1), planned("B", func(p *shares.Plan) {
		p.Aging = &shares.Aging{Per: shares.Duration(time.Second), Points: 1}
	})}, queues: []shares.Queue{nearTo("q", "disk"), nearTo("r", "tape"), slots("s", 20)}, timing: Timing{LocalWait: 400 * time.Millisecond}}, work: func(p *play, _ int) {
		for _, path := range []string{"A", "B"} {
			p.enqueue(batch{share: path, n: 1 + p.rnd.IntN(8), priority: p.rnd.IntN(2), need: job.Requirements{Locations: []string{one(p, "disk", "tape")},
				Locality: one(p, job.LocalityPreferred, job.LocalityPreferred, job.LocalityRequired)}})
			p.enqueue(batch{share: path, n: 1 + p.rnd.IntN(4), priority: p.rnd.IntN(2)})
		}
	}, req: atQueues([]int{1}, "q", "r", "s")},

	{name: "wide", rest: 5, site: playSite{shares: abc(), queues: []shares.Queue{wide("q"), slots("r", 24)}}, work: func(p *play, round int) {
		stock(p, round, []int{1, 2, 4, 8}, "A", "A", "B", "B", "C", "C")
	}, req: atQueues([]int{8, 8, 3}, "q", "q", "r")},

	{name: "only", rest: 5, fails: 2, site: playSite{shares: abc(), queues: []shares.Queue{slots("q", 60)}}, work: func(p *play, _ int) {
		for range 2 {
			p.enqueue(batch{share: one(p, "A", "B", "C"), n: 1 + p.rnd.IntN(8), priority: p.rnd.IntN(3), user: one(p, "ann", "bob"), need: job.Requirements{Label: one(p, "", "managed", "user")}})
		}
		if p.rnd.IntN(5) == 0 {
			p.kill(1+p.rnd.Int64N(p.tasks), 3)
		}
	}, req: func(p *play, _ int) PullRequest {
		if p.rnd.IntN(2) == 0 {
			return PullRequest{Queue: "q", Slot: job.Slot{Cores: 4}, Max: one(p, 1, 3), Only: one(p, job.Only{}, job.Only{Labels: []string{"managed"}}, job.Only{Labels: []string{"managed", "user"}})}
		}
		// Several jobs of one user or task at once are put back and decided again, up to a hundred times.
		return PullRequest{Queue: "q", Slot: job.Slot{Cores: 4}, Max: 1, Only: one(p, job.Only{Task: 1 + p.rnd.Int64N(p.tasks)}, job.Only{User: "ann"}, job.Only{User: "bob", Labels: []string{"user"}})}
	}},

	{name: "labels", rest: 5, site: playSite{shares: abc(), queues: []shares.Queue{labelled("q", "os", "el8"), labelled("r", "os", "el9")}}, work: func(p *play, _ int) {
		for range 3 {
			need := job.Requirements{MemoryMB: one[int64](p, 0, 2000, 8000), Queues: one(p, nil, []string{"os=el9"}, []string{"q*"}, []string{"!q"})}
			need.Labels = one(p, nil, map[string]string{"os": "el8"}, map[string]string{"gpu": "yes"}, map[string]string{"os": "el9", "gpu": "yes"})
			p.enqueue(batch{share: one(p, "A", "B", "C"), n: 1 + p.rnd.IntN(6), need: need})
		}
	}, req: func(p *play, _ int) PullRequest {
		return PullRequest{Queue: one(p, "q", "r"), Slot: job.Slot{Cores: 1, MemoryMB: one[int64](p, 0, 4000), Labels: one(p, nil, map[string]string{"gpu": "yes"}, map[string]string{"os": "el9"})}}
	}},

	{name: "many", rest: 3, fails: 1, site: playSite{shares: []shares.Spec{node("A", 1), fair("B", 2), planned("C", func(p *shares.Plan) { p.Max = shares.Of(12_000) })}, queues: []shares.Queue{slots("q", 90)}},
		work: func(p *play, round int) { stock(p, round, []int{1, 1, 2, 8}, "A", "A", "B", "B", "B", "C", "C") },
		req: func(p *play, _ int) PullRequest {
			return PullRequest{Queue: "q", Slot: job.Slot{Cores: one(p, 16, 32, 0), MemoryMB: one[int64](p, 0, 30_000)}, Max: one(p, 16, 16, 4)}
		}},

	{name: "aging", rest: 5, fails: 2, site: playSite{shares: []shares.Spec{
		planned("A", func(p *shares.Plan) { p.Aging = &shares.Aging{Per: shares.Duration(20 * time.Millisecond), Points: 1} }),
		planned("B", func(p *shares.Plan) {
			p.Aging = &shares.Aging{Per: shares.Duration(50 * time.Millisecond), Points: 1, Max: 3}
		}),
	}, queues: []shares.Queue{slots("q", 30)}}, work: func(p *play, round int) {
		for range 4 {
			p.enqueue(batch{share: one(p, "A", "B"), n: 1 + p.rnd.IntN(4), cores: one(p, 1, 2), priority: p.rnd.IntN(12)})
		}
		if round == 20 {
			p.change(func(v *shares.Version) { replan(v, "B", func(p *shares.Plan) { p.Aging = nil }) })
		}
		for n := 1; n > 0 && round == 21; p.told() {
			n = step(p.t, p.d.Reorder)
		}
	}, req: atQueues([]int{2, 1}, "q")},

	{name: "memory", rest: 7, site: playSite{shares: []shares.Spec{half("A", time.Hour), half("B", 3*time.Hour), node("C", 1)}, queues: []shares.Queue{slots("q", 30), slots("r", 10)}},
		work: func(p *play, round int) {
			if round%12 < 6 {
				stock(p, round, []int{1}, "A")
			}
			stock(p, round, []int{1, 2}, "B", "C", "C", "C")
			if round == 25 {
				p.change(func(v *shares.Version) {
					replan(v, "C", func(p *shares.Plan) { p.HalfLife = shares.Duration(time.Hour) })
				})
			}
		}, req: atQueues([]int{1, 2}, "q", "r")},

	{name: "windows", rest: 6, site: playSite{shares: []shares.Spec{planned("A", func(p *shares.Plan) {
		ten := shares.Of(4000)
		p.Windows = []shares.Window{{When: "08:00-09:00 UTC", Max: &ten}}
	}), planned("B", func(p *shares.Plan) {
		five := 5.0
		p.Windows = []shares.Window{{When: "08:30-10:00 UTC", Weight: &five}}
	}), node("C", 1)}, queues: []shares.Queue{slots("q", 30)}}, work: func(p *play, round int) {
		stock(p, round, []int{1, 2}, "A", "A", "B", "B", "C", "C")
	}, req: atQueues([]int{1, 2}, "q")},

	{name: "resources", rest: 6, fails: 1, site: playSite{shares: []shares.Spec{node("A", 1), fair("B", 1)}, queues: []shares.Queue{slots("q", 40), ioQueue("r")}, more: func(v *shares.Version) {
		keyed, each := units("table", 3), units("gpu", 2)
		keyed.Keyed, each.PerQueue = true, true
		v.Resources = []shares.Resource{units("licence", 10), keyed, each}
		*v = v.WithIO()
	}}, work: func(p *play, _ int) {
		for range 3 {
			user := one(p, "ann", "ann", "bob", "eve")
			need := one(p, map[string]int64{"licence": 1}, map[string]int64{"licence": 2}, map[string]int64{"table:orders": 1, "licence": 1}, map[string]int64{"gpu": 1}, map[string]int64{shares.IO: 2000}, nil)
			b := batch{share: one(p, "A", "A", "B"), n: 1 + p.rnd.IntN(7), priority: p.rnd.IntN(2), user: user, need: job.Requirements{Resources: need}}
			if need != nil {
				b.need.SharingID = user
			}
			p.enqueue(b)
		}
	}, req: atQueues([]int{1, 2}, "q", "q", "r")},

	{name: "retry", rest: 4, fails: 5, site: playSite{shares: abc(), queues: []shares.Queue{slots("q", 30)}, more: func(v *shares.Version) {
		v.Attempts = rules(retry.Rule{Name: "r", Match: retry.Match{Outcome: retry.Failed}, Action: retry.Limit, Times: 2})
	}}, work: func(p *play, round int) {
		stock(p, round, []int{1, 2}, "A", "B", "C")
		if p.rnd.IntN(2) == 0 {
			p.terms(1+p.rnd.Int64N(p.tasks), retry.Terms{BackoffS: 60})
		}
		if round%3 == 2 {
			pgtest.Age(p.t, p.pool, "retries", "due_at", time.Hour)
		}
		judge(p.t, p.d)
		p.told()
	}, req: atQueues([]int{1, 2}, "q")},

	{name: "verbs", rest: 6, fails: 2, site: playSite{shares: []shares.Spec{node("A", 1), fair("B", 2), node("C", 3)}, queues: []shares.Queue{slots("q", 30)}}, work: func(p *play, round int) {
		for range 2 {
			p.enqueue(batch{share: one(p, "A", "B", "C"), n: 1 + p.rnd.IntN(9), cores: one(p, 1, 2), user: one(p, "ann", "bob")})
		}
		switch task := 1 + p.rnd.Int64N(p.tasks); round % 6 {
		case 1:
			p.kill(task, 2)
		case 2:
			p.walk(task, HoldTasks, 4)
		case 3:
			p.walk(task, ReleaseTasks, 3)
		case 4:
			p.move(task, one(p, "A", "B", "C"), one(p, true, false))
			step(p.t, p.d.TendUsers)
			p.told()
		case 5:
			p.prefer(task, p.rnd.IntN(5))
		}
	}, req: atQueues([]int{1, 2}, "q")},

	{name: "unmade", rest: 4, site: playSite{shares: abc(), queues: []shares.Queue{slots("q", 40)}, timing: Timing{Making: 5 * time.Millisecond}}, work: func(p *play, round int) {
		p.enqueue(batch{share: one(p, "A", "B", "C"), n: 6})
		p.enqueue(batch{share: one(p, "A", "B", "C"), n: 6})
		p.tx(false, func(tx pgx.Tx) error {
			_, err := tx.Exec(context.Background(), "DELETE FROM tasks WHERE id > 1000000")
			if err != nil || round%3 == 2 {
				return err
			}
			for i := range 1 + p.rnd.IntN(2) {
				if _, err = tx.Exec(context.Background(), `INSERT INTO tasks (id, name, user_name, state, share_id, shape_id, spec, n_jobs) OVERRIDING SYSTEM VALUE
					VALUES ($1, 't', 'ann', 'ready', $2, (SELECT min(id) FROM shapes), '{}', 10)`, 1000001+i, int32(p.shareID(one(p, "A", "B", "C")))); err != nil {
					return err
				}
			}
			return nil
		})
		if err := p.d.readBacklog(context.Background()); err != nil {
			p.t.Fatal(err)
		}
	}},
}

func limitedTo(u shares.Units) shares.Plan {
	p := shares.DefaultPlan()
	p.Max = shares.Of(u)
	return p
}

func inNamedPool(pool string, q shares.Queue) shares.Queue {
	q.Pool = pool
	return q
}

func nearTo(name, location string) shares.Queue {
	q := slots(name, 20)
	q.Locations = []string{location}
	return q
}

func tested(name string) shares.Queue {
	q := slots(name, 10)
	q.State = shares.Test
	return q
}

func wide(name string) shares.Queue {
	q := slots(name, 40)
	q.Prefer = "wide"
	return q
}

func labelled(name, label, value string) shares.Queue {
	q := slots(name, 30)
	q.Labels, q.MemoryMB = map[string]string{label: value}, 16_000
	return q
}

func ioQueue(name string) shares.Queue {
	q := slots(name, 20)
	q.MaxIO = 6000
	return q
}

func half(name string, life time.Duration) shares.Spec {
	return planned(name, func(p *shares.Plan) { p.HalfLife = shares.Duration(life) })
}
