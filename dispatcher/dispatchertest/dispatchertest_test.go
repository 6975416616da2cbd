package dispatchertest_test

import (
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/divvyhq/divvy/dispatcher"
	"github.com/divvyhq/divvy/dispatcher/dispatchertest"
	"github.com/divvyhq/divvy/dispatcher/intake"
	"github.com/divvyhq/divvy/dispatcher/job"
	"github.com/divvyhq/divvy/internal/pg"
	"github.com/divvyhq/divvy/internal/pgtest"
	"github.com/divvyhq/divvy/internal/site"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

// A job goes from the outbox to a pilot and to its history, and is tried again by the rules when it failed.
func TestSettle(t *testing.T) {
	db, ctx := pgtest.Open(t), t.Context()
	store := site.NewStore(site.Config{Pool: db, Hooks: site.Hooks{Barrier: intake.Barrier, Applied: intake.Rebase}})
	if _, err := store.Apply(ctx, site.ApplyRequest{Source: []byte("shares: [{name: A}]\nqueues: [{name: q, slots: 10}]\n"), By: "test"}); err != nil {
		t.Fatal(err)
	}
	d := dispatchertest.Open(t, db, store)
	var ids []int64
	if err := pg.InTx(ctx, db, func(tx pgx.Tx) (err error) {
		if _, err = tx.Exec(ctx, `INSERT INTO tasks (id, name, user_name, state, share_id, spec)
			OVERRIDING SYSTEM VALUE SELECT 1, 't', 'u', 'running', id, '{}' FROM shares WHERE path = 'A'`); err != nil {
			return err
		}
		v := d.Known(1)
		i, _ := v.Tree.ByPath("A")
		shape, err := intake.Intern(ctx, tx, job.Requirements{Cores: 1})
		if err != nil {
			return err
		}
		if err := intake.AddPayload(ctx, tx, job.Payload{Task: 1, Command: []string{"run"}}); err != nil {
			return err
		}
		ids, err = intake.Enqueue(ctx, tx, []intake.NewJob{{Task: 1, Share: v.Tree.Nodes[i].ID, Shape: shape, MaxAttempts: 2}})
		return err
	}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"ready", "failed"} {
		reply, err := d.Pull(ctx, dispatcher.PullRequest{Queue: "q", Pilot: "p", Slot: job.Slot{Cores: 1}, WaitS: 10})
		if err != nil || reply.Leases[0].Job != ids[0] {
			t.Fatal(reply, err)
		}
		if _, err := d.Finish(ctx, dispatcher.FinishRequest{Pilot: "p", Results: []dispatcher.Result{{Lease: reply.Leases[0].Lease, Outcome: dispatcher.Failed}}}); err != nil {
			t.Fatal(err)
		}
		d.Settle()
		if j, err := d.Job(ctx, ids[0]); err != nil || j.State != want {
			t.Errorf("%+v %v, want %s", j, err, want)
		}
	}
	d.Step("survey")
	if c := d.Counts(); len(c) != 0 {
		t.Errorf("%+v", c)
	}
}
