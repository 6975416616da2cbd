package intake_test

import (
	"context"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/divvyhq/divvy/dispatcher"
	"github.com/divvyhq/divvy/dispatcher/intake"
	"github.com/divvyhq/divvy/dispatcher/job"
	"github.com/divvyhq/divvy/dispatcher/lease"
	"github.com/divvyhq/divvy/internal/pg"
	"github.com/divvyhq/divvy/shares"
)

// Jobs that are made here are pulled from a dispatcher that leads on the same database.
func TestJobsReachAPilot(t *testing.T) {
	h := newHouse(t, 1000, 1000)
	ctx := t.Context()
	tree, err := shares.Build([]shares.Spec{{Name: "a", Plan: shares.DefaultPlan()}})
	if err != nil {
		t.Fatal(err)
	}
	tree.SetIDs(func(string) shares.ShareID { return 1 })
	slots := 100
	site := shares.Version{Number: 1, Tree: tree, Queues: []shares.Queue{{ID: 1, Name: "q", Pool: "main", State: shares.Online, Slots: &slots, CorePowerMilli: 1000, Cores: 8}}}
	h.in(t, func(tx pgx.Tx) error { return intake.Adopt(ctx, tx, 1) })
	h.in(t, func(tx pgx.Tx) error {
		return intake.AddPayload(ctx, tx, job.Payload{Task: 1, Command: []string{"run", "{{.Index}}"}})
	})
	ids := h.enqueue(t, some(5, intake.NewJob{Task: 1, Share: 1, Shape: h.shape(t, 1)})...)

	d, err := dispatcher.Open(ctx, dispatcher.Config{Pool: h.Pool, Outbox: intake.NewOutbox(h.Pool), Daemon: 1, Timing: lease.Timing{Silence: 300 * time.Millisecond, Fresh: 200 * time.Millisecond, Tick: 50 * time.Millisecond}, Site: func(context.Context, int64) (shares.Version, error) { return site, nil }})
	if err != nil {
		t.Fatal(err)
	}
	running, stop := context.WithCancel(context.Background())
	var all sync.WaitGroup
	all.Go(func() { d.Run(running) })
	defer all.Wait()
	defer stop()
	var got []int64
	for began := time.Now(); len(got) < 5 && time.Since(began) < 30*time.Second; {
		reply, err := d.Pull(ctx, dispatcher.PullRequest{Queue: "q", Slot: job.Slot{Cores: 8}, Max: 3, Pilot: "p", Node: "n", WaitS: 1})
		if err != nil {
			continue // nobody leads yet
		}
		for _, l := range reply.Leases {
			got = append(got, l.Job)
			if want := []string{"run", strconv.Itoa(len(got) - 1)}; !slices.Equal(l.Command, want) || l.Cores != 1 || l.Share != "a" {
				t.Errorf("%+v, want command %v", l, want)
			}
		}
	}
	slices.Sort(got)
	if !slices.Equal(got, ids) {
		t.Errorf("pilots got %v, want %v", got, ids)
	}
	h.says(t)
	if refused := one[int](t, h, "SELECT count(*) FROM outbox WHERE refused IS NOT NULL"); refused > 0 {
		t.Errorf("%d rows were refused", refused)
	}
}

// A payload is stored once a task, whole; one that no job could be filled with is refused.
func TestAddPayload(t *testing.T) {
	h := newHouse(t, 100, 100)
	ctx := t.Context()
	add := func(all ...job.Payload) error {
		return pg.InTx(ctx, h.Pool, func(tx pgx.Tx) error { return intake.AddPayload(ctx, tx, all...) })
	}
	full := job.Payload{Task: 1, Command: []string{"run", "{{.seed}}"}, Env: map[string]string{"A": "b"}, Matrix: []job.Axis{{Name: "seed", Values: []string{"1"}}},
		Roles: map[string][]string{"r": {"own"}}}
	if err := add(full, job.Payload{Task: 2, Command: []string{"run"}}); err != nil {
		t.Fatal(err)
	}
	if err := add(job.Payload{Task: 2, Command: []string{"other"}}); err != nil {
		t.Fatal(err)
	}
	got := one[string](t, h, "SELECT string_agg(concat_ws(' ', task_id, command[2], env, matrix, roles, retry), '; ' ORDER BY task_id) FROM payloads")
	if want := `1 {{.seed}} {"A": "b"} [{"name": "seed", "values": ["1"]}] {"r": ["own"]}; 2 {} []`; got != want {
		t.Errorf("payloads %s\nwant %s", got, want)
	}
	if err := add(job.Payload{Task: 3, Command: []string{"{{.seed}}"}}); err == nil {
		t.Error("a placeholder that no job has a value for was taken")
	}
}
