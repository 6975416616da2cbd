package dispatcher

import (
	"context"
	"errors"
	"regexp"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/divvyhq/divvy/dispatcher/job"
	"github.com/divvyhq/divvy/internal/pgtest"
	"github.com/divvyhq/divvy/shares"
	"github.com/divvyhq/divvy/shares/retry"
)

// life is one job in some state, with the lease that it has or had.
type life struct {
	f     *fixture
	d     *Dispatcher
	job   int64
	task  int64
	lease Lease
}

func (l *life) state(t *testing.T) string {
	t.Helper()
	row, err := l.d.Job(context.Background(), l.job)
	if err != nil {
		t.Fatal(err)
	}
	return row.State
}

func (l *life) tx(t *testing.T, do func(tx pgx.Tx) error) {
	t.Helper()
	if err := beginFunc(context.Background(), l.f.pool, do); err != nil {
		t.Fatal(err)
	}
}

// The verbs: everything that may change the state of a job. What a verb says of itself is checked elsewhere.
var verbs = map[string]func(*testing.T, *life){
	"pull": func(t *testing.T, l *life) {
		reply, err := l.d.Pull(context.Background(), PullRequest{Queue: "q", Pilot: "p", Slot: job.Slot{Cores: 1}})
		if err != nil && !errors.Is(err, ErrNoJobs) {
			t.Fatal(err)
		}
		if err == nil {
			l.lease = reply.Leases[0]
		}
	},
	"renew": func(t *testing.T, l *life) {
		if _, err := l.d.Renew(context.Background(), RenewRequest{Pilot: "p", Leases: []Renewal{{Lease: l.lease.Lease, State: Running}}}); err != nil {
			t.Fatal(err)
		}
	},
	"finished":  func(t *testing.T, l *life) { finish(t, l.d, Finished, l.lease) },
	"failed":    func(t *testing.T, l *life) { finish(t, l.d, Failed, l.lease) },
	"cancelled": func(t *testing.T, l *life) { finish(t, l.d, Cancelled, l.lease) },
	"failed by rule": func(t *testing.T, l *life) {
		_, err := l.d.Finish(context.Background(), FinishRequest{Pilot: "p", Results: []Result{{Lease: l.lease.Lease, Outcome: Failed, Message: "by rule"}}})
		if err != nil {
			t.Fatal(err)
		}
	},
	"failed, too large": func(t *testing.T, l *life) {
		_, err := l.d.Finish(context.Background(), FinishRequest{Pilot: "p", Results: []Result{{Lease: l.lease.Lease, Outcome: Failed, Message: "too large"}}})
		if err != nil {
			t.Fatal(err)
		}
	},
	"split": func(t *testing.T, l *life) {
		l.tx(t, func(tx pgx.Tx) error {
			jobs, err := LockSplittings(context.Background(), tx, []int64{l.job})
			if err != nil {
				return err
			}
			var halves []Halves
			for _, s := range jobs {
				halves = append(halves, Halves{Splitting: s, Why: "it has one event"})
			}
			return Halve(context.Background(), tx, halves)
		})
	},
	"judge": func(t *testing.T, l *life) { judge(t, l.d) },
	"an hour later": func(t *testing.T, l *life) {
		pgtest.Age(t, l.f.pool, "retries", "due_at", time.Hour)
		judge(t, l.d)
	},
	"expire": func(t *testing.T, l *life) {
		pgtest.Age(t, l.f.pool, "leases", "expires_at", time.Hour)
		l.d.swept = time.Time{}
		if _, err := l.d.Expire(context.Background()); err != nil {
			t.Fatal(err)
		}
	},
	"order back": func(t *testing.T, l *life) {
		key, _ := parseLease(l.lease.Lease)
		l.f.exec(query["order_reclaims"], pgx.StrictNamedArgs{"jobs": []int64{key.job}, "nonces": []int64{key.nonce},
			"pools": []string{"default"}, "claimers": []int32{2}, "plans": []int32{2}, "graces": []int32{120}})
	},
	"revoke": func(t *testing.T, l *life) {
		l.f.exec("UPDATE leases SET told_at = told_at - interval '1 hour' WHERE told_at IS NOT NULL")
		if _, err := l.d.Reclaim(context.Background()); err != nil {
			t.Fatal(err)
		}
	},
	"hold": func(t *testing.T, l *life) {
		l.tx(t, func(tx pgx.Tx) error {
			_, err := HoldTasks(context.Background(), tx, along(l.task, 10))
			return err
		})
	},
	"release": func(t *testing.T, l *life) {
		l.tx(t, func(tx pgx.Tx) error {
			_, err := ReleaseTasks(context.Background(), tx, along(l.task, 10))
			return err
		})
	},
	"kill task": func(t *testing.T, l *life) {
		l.tx(t, func(tx pgx.Tx) error {
			_, err := CancelTasks(context.Background(), tx, along(l.task, 10), "killed")
			return err
		})
	},
	"kill job": func(t *testing.T, l *life) {
		if err := l.d.KillJob(context.Background(), l.job); err != nil && !errors.Is(err, ErrNoJob) {
			t.Fatal(err)
		}
	},
	"cancel idle": func(t *testing.T, l *life) {
		l.tx(t, func(tx pgx.Tx) error {
			_, err := CancelIdle(context.Background(), tx, along(l.task, 10))
			return err
		})
	},
	"move share": func(t *testing.T, l *life) {
		l.tx(t, func(tx pgx.Tx) error {
			if err := Barrier(context.Background(), tx); err != nil {
				return err
			}
			tree := l.f.version.Tree
			if err := MoveShare(context.Background(), tx, tree.Nodes[1].ID, tree.Nodes[2].ID); err != nil {
				return err
			}
			return Rebase(context.Background(), tx, l.f.version)
		})
	},
}

// How a job comes into each state, verb by verb from ready. The last attempt is the second.
var states = map[string][]string{
	"ready":                {},
	"waiting":              {"hold"},
	"leased":               {"pull"},
	"leased, killed":       {"pull", "kill job"},
	"leased, last attempt": {"pull", "failed", "pull"},
	"leased, ordered back": {"pull", "order back"},
	"leased, told":         {"pull", "failed", "pull", "order back", "renew"}, // the last attempt
	"leased, told, killed": {"pull", "order back", "renew", "kill job"},
	"ready again":          {"pull", "failed"},
	"finished":             {"pull", "finished"},
	"failed":               {"pull", "failed", "pull", "failed"},
	"cancelled":            {"kill job"},
	"to be judged":         {"pull", "failed by rule"},
	"to be judged, paused": {"pull", "failed by rule", "hold"},
	"backing off":          {"pull", "failed by rule", "judge"},
	"backed off":           {"pull", "failed by rule", "judge", "an hour later"},
	"to be split":          {"pull", "failed, too large", "judge"},
	"to be split, paused":  {"pull", "failed, too large", "judge", "hold"},
}

// What every verb makes of every state. What is not named stays as it is; a final state never changes.
var changes = map[string]map[string]string{
	"ready":                {"pull": "leased", "hold": "waiting", "kill task": "cancelled", "kill job": "cancelled", "cancel idle": "cancelled"},
	"ready again":          {"pull": "leased", "hold": "waiting", "kill task": "cancelled", "kill job": "cancelled", "cancel idle": "cancelled"},
	"waiting":              {"release": "ready", "kill task": "cancelled", "kill job": "cancelled", "cancel idle": "cancelled"},
	"leased":               {"finished": "finished", "failed": "ready", "failed by rule": "waiting", "failed, too large": "waiting", "cancelled": "ready", "expire": "ready"},
	"leased, last attempt": {"finished": "finished", "failed": "failed", "failed by rule": "failed", "failed, too large": "failed", "cancelled": "failed", "expire": "failed"},
	"leased, killed":       {"finished": "finished", "failed": "cancelled", "failed by rule": "cancelled", "failed, too large": "cancelled", "cancelled": "cancelled", "expire": "cancelled"},
	"leased, ordered back": {"finished": "finished", "failed": "ready", "failed by rule": "waiting", "failed, too large": "waiting", "cancelled": "ready", "expire": "ready"},
	"leased, told":         {"finished": "finished", "failed": "ready", "failed by rule": "ready", "failed, too large": "ready", "cancelled": "ready", "expire": "failed", "revoke": "ready"},
	"to be judged":         {"kill task": "cancelled", "kill job": "cancelled", "cancel idle": "cancelled"},
	"to be judged, paused": {"kill task": "cancelled", "kill job": "cancelled", "cancel idle": "cancelled"},
	"backing off":          {"an hour later": "ready", "kill task": "cancelled", "kill job": "cancelled", "cancel idle": "cancelled"},
	"to be split":          {"split": "ready", "kill task": "cancelled", "kill job": "cancelled", "cancel idle": "cancelled"},
	"to be split, paused":  {"split": "ready", "kill task": "cancelled", "kill job": "cancelled", "cancel idle": "cancelled"},
	"backed off":           {"pull": "leased", "hold": "waiting", "kill task": "cancelled", "kill job": "cancelled", "cancel idle": "cancelled"},
	"leased, told, killed": {"finished": "finished", "failed": "cancelled", "failed by rule": "cancelled", "failed, too large": "cancelled", "cancelled": "cancelled", "expire": "cancelled", "revoke": "cancelled"},
}

// Statement guards, CHECKs and the picture in doc.go hold together: every (state, verb) pair comes out as the table
// says, and after each the ledger's sums equal a recount.
func TestStatesAndVerbs(t *testing.T) {
	f := newFixture(t, []shares.Spec{node("A", 1), node("B", 1)}, slots("q", 100))
	f.apply(func(v *shares.Version) {
		v.Attempts = rules(retry.Rule{Name: "r", Match: retry.Match{Message: regexp.MustCompile("by rule")}, Action: retry.Wait, Backoff: time.Hour},
			retry.Rule{Name: "s", Match: retry.Match{Message: regexp.MustCompile("too large")}, Action: retry.SplitSmaller})
	})
	d := f.daemon()
	for name, way := range states {
		for verb, do := range verbs {
			t.Run(name+"/"+verb, func(t *testing.T) {
				ids := f.enqueue(batch{share: "A", n: 1, attempts: 2, priority: int(f.tasks)}) // the newest goes first
				l := &life{f: f, d: d, job: ids[0], task: f.tasks}
				for _, step := range way {
					verbs[step](t, l)
				}
				before := l.state(t)
				want, changes := changes[name][verb]
				if !changes {
					want = before
				}
				do(t, l)
				if got := l.state(t); got != want {
					t.Errorf("%s of a %s job: %s, want %s", verb, before, got, want)
				}
				// Leave nothing for the next pair.
				verbs["kill task"](t, l)
				verbs["expire"](t, l)
			})
		}
		f.recount() // of all words to a job in this state
	}
}
