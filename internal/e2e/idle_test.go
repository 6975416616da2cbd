package e2e

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/divvyhq/divvy/api/client"
	"github.com/divvyhq/divvy/api/wire"
	"github.com/divvyhq/divvy/internal/pgtest"
)

// A pilot that waits at daemon A has a job soon after it became ready, though its task was submitted at daemon B.
// The rule is 100 ms; the bound of the test leaves room for a machine that is busy with other tests.
func TestIdlePilot(t *testing.T) {
	dsn := pgtest.DSN(t)
	a, b := serve(t, dsn).client, serve(t, dsn).client
	apply(t, b, "shares: [{name: A}]\nqueues: [{name: Q}]\n")
	eventually(t, 10*time.Second, "daemon A knows the queue", func() bool {
		_, err := a.Pull(t.Context(), wire.PullRequest{Queue: "Q", Pilot: "p"})
		return errors.Is(err, client.ErrNoJobs)
	})
	tries := 20
	if testing.Short() {
		tries = 10
	}
	var fromReady, fromSubmit []time.Duration
	for range tries {
		got, lease := make(chan error, 1), wire.Lease{}
		go func() {
			reply, err := a.Pull(t.Context(), wire.PullRequest{Queue: "Q", Pilot: "p", WaitS: 30})
			if err == nil {
				lease = reply.Leases[0]
			}
			got <- err
		}()
		eventually(t, 10*time.Second, "the pull waits", func() bool {
			s, err := a.Daemon().Status(t.Context())
			return err == nil && s.Waiting == 1
		})
		submitted := time.Now()
		submit(t, b, "A", 1, nil)
		if err := <-got; err != nil {
			t.Fatal(err)
		}
		now := time.Now()
		job, err := a.Jobs().Get(t.Context(), lease.Job)
		if err != nil {
			t.Fatal(err)
		}
		fromReady, fromSubmit = append(fromReady, now.Sub(job.CreatedAt)), append(fromSubmit, now.Sub(submitted))
		finishAll(t, a, lease)
	}
	p50, p99 := quantiles(fromReady)
	t.Logf("from ready (begin of the transaction that made it so) to the pilot: p50 %v, p99 %v", p50, p99)
	q50, q99 := quantiles(fromSubmit)
	t.Logf("from the call that submitted it to the pilot: p50 %v, p99 %v", q50, q99)
	if p50 > time.Second {
		t.Errorf("half of the jobs waited %v and longer for an idle pilot", p50)
	}
}

func quantiles(d []time.Duration) (p50, p99 time.Duration) {
	slices.Sort(d)
	return d[len(d)/2].Round(100 * time.Microsecond), d[len(d)*99/100].Round(100 * time.Microsecond)
}
