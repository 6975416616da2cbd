package e2e

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/divvyhq/divvy/api/client"
	"github.com/divvyhq/divvy/api/wire"
	"github.com/divvyhq/divvy/internal/pgtest"
)

const threeBranches = `
shares:
  - {name: A, reclaim: {grace: 120s, scope: %[1]s}, children: [{name: "1"}, {name: "2"}]}
  - {name: B, reclaim: {grace: 120s, scope: %[1]s}, children: [{name: "1"}, {name: "2"}]}
  - {name: C, reclaim: {grace: 120s, scope: %[1]s}, children: [{name: "1"}, {name: "2"}]}
on_no_match: reject
queues: [{name: Q, slots: 120}]
`

const threeRanked = `
shares:
  - {name: A, rank: %[2]d}
  - {name: B, rank: %[3]d}
  - {name: C, reclaim: {grace: 120s, by: %[1]s}}
on_no_match: reject
queues: [{name: Q, slots: 18}]
`

// E3 and E4: all slots are held, one share asks. Pilots hear in their renewals which jobs are to end, say that they
// did, and pull again.
func TestReclaim(t *testing.T) {
	t.Parallel()
	type held = map[string]int
	for _, c := range []struct {
		name, site   string
		before, want held
		claimer      string
		n            int
	}{
		{"E3 leaf", fmt.Sprintf(threeBranches, "leaf"), held{"A/1": 40, "B/1": 20, "C/1": 40, "C/2": 20},
			held{"A/1": 30, "B/1": 20, "B/2": 20, "C/1": 30, "C/2": 20}, "B/2", 20},
		{"E3 parent", fmt.Sprintf(threeBranches, "parent"), held{"A/1": 40, "B/1": 20, "C/1": 40, "C/2": 20},
			held{"A/1": 40, "B/1": 20, "B/2": 20, "C/1": 20, "C/2": 20}, "B/2", 20},
		{"E3 lca", fmt.Sprintf(threeBranches, "lca"), held{"A/1": 40, "B/1": 20, "C/1": 40, "C/2": 20},
			held{"A/1": 40, "B/1": 20, "B/2": 20, "C/1": 20, "C/2": 20}, "B/2", 20},
		{"E4 ratio", fmt.Sprintf(threeRanked, "ratio", 10000, 20000), held{"A": 9, "B": 9}, held{"A": 8, "B": 8, "C": 2}, "C", 2},
		{"E4 rank of B", fmt.Sprintf(threeRanked, "rank", 10000, 20000), held{"A": 9, "B": 9}, held{"A": 9, "B": 7, "C": 2}, "C", 2},
		{"E4 rank of A", fmt.Sprintf(threeRanked, "rank", 20000, 10000), held{"A": 9, "B": 9}, held{"A": 7, "B": 9, "C": 2}, "C", 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			d := serve(t, pgtest.DSN(t))
			apply(t, d.client, c.site)
			leases := map[string]wire.Lease{}
			for _, share := range slices.Sorted(maps.Keys(c.before)) {
				submit(t, d.client, share, int64(c.before[share]), nil)
				waitReady(t, d.client, map[string]int64{share: int64(c.before[share])})
				for range c.before[share] {
					l := pullOne(t, d.client, nil)
					leases[l.Lease] = l
				}
			}
			submit(t, d.client, c.claimer, int64(c.n), nil)
			ended := 0
			eventually(t, 2*time.Minute, fmt.Sprintf("%d jobs are reclaimed", c.n), func() bool {
				for _, token := range ordered(t, d.client, leases) {
					give(t, d.client, leases[token])
					delete(leases, token)
					l := pullOne(t, d.client, nil)
					leases[l.Lease] = l
					ended++
				}
				return ended >= c.n
			})
			now := held{}
			for _, l := range leases {
				now[l.Share]++
			}
			if diff := cmp.Diff(c.want, now); diff != "" {
				t.Errorf("held (-want +got):\n%s", diff)
			}
		})
	}
}

// ordered renews leases and returns those that are to end.
func ordered(t testing.TB, c *client.Client, leases map[string]wire.Lease) (tokens []string) {
	t.Helper()
	req := wire.RenewRequest{Pilot: "p"}
	for token := range leases {
		req.Leases = append(req.Leases, wire.Renewal{Lease: token, State: "running"})
	}
	reply, err := c.Renew(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range reply.Cancel {
		if o.Reason != "reclaim" || o.GraceS <= 0 || o.GraceS > 120 {
			t.Errorf("order %+v, want reason reclaim and at most 120 s", o)
		}
		tokens = append(tokens, o.Lease)
	}
	return tokens
}

// give reports a reclaimed job cancelled: it is ready again, and no attempt was charged.
func give(t testing.TB, c *client.Client, l wire.Lease) {
	t.Helper()
	reply, err := c.Finish(t.Context(), wire.FinishRequest{Pilot: "p", Results: []wire.Result{{Lease: l.Lease, Outcome: "cancelled"}}})
	if err != nil || reply.Verdicts[0].Verdict != "recorded" || reply.Verdicts[0].JobState != "ready" {
		t.Fatalf("%+v, %v; want recorded, job ready", reply, err)
	}
	eventually(t, 30*time.Second, "three attempts are left, the first is revoked", func() bool { // as of the fold
		job, err := c.Jobs().Get(t.Context(), l.Job)
		return err == nil && job.MaxAttempts-job.Attempt == 2 && len(job.Attempts) > 0 && job.Attempts[0].State == "revoked"
	})
}

// A real pilot ends a job that is reclaimed: SIGTERM, and SIGKILL after the grace where that does not help; the other
// share's job runs in its slot.
func TestReclaimWithPilot(t *testing.T) {
	t.Parallel()
	for name, command := range map[string]string{
		"ends on SIGTERM": "exec sleep 600",
		"ignores SIGTERM": "trap '' TERM; while :; do sleep 0.1; done",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := serve(t, pgtest.DSN(t), "--lease-renew", "200ms")
			apply(t, d.client, `
shares: [{name: A}, {name: B, reclaim: {grace: 1s}}]
on_no_match: reject
queues: [{name: Q, slots: 2}]
`)
			victim := submit(t, d.client, "A", 2, func(s *wire.TaskSpec) { s.Command = []string{"sh", "-c", command} })
			start(t, environment(), "pilot", "--server", d.client.URL(), "--queue", "Q", "--slots", "2", "--work-dir", filepath.Join(t.TempDir(), "w"))
			eventually(t, 30*time.Second, "both slots run A", func() bool { return standing(t, d.client)["A"].Held == 2 })
			task := submit(t, d.client, "B", 1, nil)
			eventually(t, 30*time.Second, "B's job has finished", func() bool {
				now, err := d.client.Tasks().Get(t.Context(), task.ID)
				if err != nil {
					t.Fatal(err)
				}
				return now.Jobs.Finished == 1
			})
			if a, err := d.client.Tasks().Get(t.Context(), victim.ID); err != nil || a.Jobs.Failed != 0 || a.Jobs.Cancelled != 0 {
				t.Errorf("A's task: %+v, %v; want no job failed or cancelled", a.Jobs, err)
			}
		})
	}
}
