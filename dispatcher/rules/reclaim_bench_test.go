package rules

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/divvyhq/divvy/dispatcher/entry"
	"github.com/divvyhq/divvy/dispatcher/job"
	"github.com/divvyhq/divvy/dispatcher/machine"
	"github.com/divvyhq/divvy/dispatcher/retry"
	"github.com/divvyhq/divvy/shares"
)

// How long the leader's machine is looked at for a round, with a million leases of twenty shares at ten queues.
func BenchmarkLook(b *testing.B) {
	const leases, leaves, queues = 1_000_000, 20, 10
	var root []shares.Spec
	for i := range leaves {
		root = append(root, node(fmt.Sprint("s", i), 1))
	}
	tree, err := shares.Build(root)
	if err != nil {
		b.Fatal(err)
	}
	id := shares.ShareID(0)
	tree.SetIDs(func(string) shares.ShareID { id++; return id })
	site := shares.Version{Number: 1, Tree: tree}
	ask := retry.Ask{Share: 1, Cores: 1}
	for i := range queues {
		q := slots(fmt.Sprint("q", i), leases)
		q.ID = shares.QueueID(i + 1)
		site.Queues, ask.Queues = append(site.Queues, q), append(ask.Queues, q.ID)
	}
	now := time.Now()
	r, err := machine.Restore(machine.Config{}, machine.Checkpoint{Version: 1, Now: now}, site, []entry.Shaped{{Shape: 1, Need: job.Requirements{Cores: 1}}})
	if err != nil {
		b.Fatal(err)
	}
	for i := range leases {
		l := machine.Lease{Granted: entry.Granted{Job: int64(i + 1), Attempt: 1, Nonce: int64(i), Task: int64(i / 1000), Share: tree.Nodes[tree.Leaves()[i%leaves]].ID, Shape: 1,
			Queue: shares.QueueID(1 + i/7%queues), Units: 1000, Pilot: fmt.Sprint("p", i/10), Node: fmt.Sprint("n", i/100)}}
		if err := r.Lease(l, now.Add(-time.Duration(i*7919%leases)*time.Millisecond)); err != nil {
			b.Fatal(err)
		}
	}
	m, err := r.Done()
	if err != nil {
		b.Fatal(err)
	}
	c := reclaiming{cores: widths(m.View()), Rules: New(Config{View: func(_ context.Context, look func(machine.View)) error {
		look(m.View())
		return nil
	}})}
	for b.Loop() {
		young := retry.NewYoung([]retry.Ask{ask})
		if err := c.look(b.Context(), young, nil); err != nil {
			b.Fatal(err)
		}
		if n := len(young.Among(ask, 10)); n != 10*(leaves-1) {
			b.Fatalf("%d candidates", n)
		}
	}
}
