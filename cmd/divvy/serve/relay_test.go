package serve

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/divvyhq/divvy/cmd/divvy/servetest"

	"github.com/divvyhq/divvy/api/client"
	"github.com/divvyhq/divvy/api/wire"
	"github.com/divvyhq/divvy/cmd/divvy/config"
	"github.com/divvyhq/divvy/internal/pgtest"
)

// together starts n daemons on one database; the first leads.
func together(t *testing.T, n int) (ds []*Daemon, cls []*client.Client) {
	t.Helper()
	dsn := pgtest.DSN(t)
	for i := range n {
		d, cl := startDaemon(t, func(c *config.Config) {
			c.Database.DSN = dsn
			if i > 0 {
				c.Generators = 0
			}
		})
		ds, cls = append(ds, d), append(cls, cl)
	}
	for _, d := range ds[1:] {
		if !follows(d, ds[0]) {
			t.Fatal("it does not follow from the start")
		}
	}
	return ds, cls
}

// follows says whether a daemon takes another one for the leader.
func follows(d, leader *Daemon) bool {
	return !d.dispatcher.Leads() && d.dispatcher.Leader() == leader.company.member.Self().ID
}

// decider is the daemon that leased a job.
func decider(t *testing.T, d *Daemon, job int64) (id int64) {
	t.Helper()
	if err := d.pool.QueryRow(t.Context(), "SELECT by FROM batches WHERE $1 = ANY (granted_jobs)", job).Scan(&id); err != nil {
		t.Fatal(err)
	}
	return id
}

// leader is the daemon that appended last.
func leader(t *testing.T, d *Daemon) (id int64) {
	t.Helper()
	if err := d.pool.QueryRow(t.Context(), "SELECT by FROM batches ORDER BY seq DESC LIMIT 1").Scan(&id); err != nil {
		t.Fatal(err)
	}
	return id
}

// Wherever a pull arrives the daemon that leads decides it, and ends follow; when it leaves, another one does, and a pull
// that waits does not notice.
func TestOneDecides(t *testing.T) {
	t.Parallel()
	ds, cls := together(t, 3)
	if _, err := cls[1].Tasks().Submit(t.Context(), servetest.Hello(6), ""); err != nil {
		t.Fatal(err)
	}
	for i, cl := range cls {
		got, err := cl.Pull(t.Context(), wire.PullRequest{Queue: "LOCAL", Pilot: "p", RequestID: fmt.Sprint(i), WaitS: 20})
		if err != nil {
			t.Fatal(err)
		}
		l := got.Leases[0]
		if by, want := decider(t, ds[2], l.Job), ds[0].company.member.Self().ID; by != want {
			t.Errorf("daemon %d decided, %d leads", by, want)
		}
		again, err := cls[(i+1)%3].Pull(t.Context(), wire.PullRequest{Queue: "LOCAL", Pilot: "p", RequestID: fmt.Sprint(i)})
		if err != nil || again.Leases[0].Lease != l.Lease {
			t.Errorf("the same request at another daemon: %+v, %v", again, err)
		}
		end, err := cl.Finish(t.Context(), wire.FinishRequest{Pilot: "p", Results: []wire.Result{{Lease: l.Lease, Outcome: "finished"}}})
		if err != nil || end.Verdicts[0].Verdict != "recorded" {
			t.Errorf("%+v, %v", end, err)
		}
	}
	if _, err := cls[2].Pull(t.Context(), wire.PullRequest{Queue: "nowhere", Pilot: "p"}); !client.IsCode(err, "unknown_queue") {
		t.Errorf("an error of the daemon that decides: %v", err)
	}

	for range 3 { // what is left of the task
		if _, err := cls[2].Pull(t.Context(), wire.PullRequest{Queue: "LOCAL", Pilot: "p", WaitS: 10}); err != nil {
			t.Fatal(err)
		}
	}
	waits := make(chan int64, 1)
	go func() {
		got, err := cls[2].Pull(t.Context(), wire.PullRequest{Queue: "LOCAL", Pilot: "p", RequestID: "waits", WaitS: 60})
		if err != nil {
			t.Error(err)
			waits <- 0
			return
		}
		waits <- got.Leases[0].Job
	}()
	servetest.Eventually(t, 10*time.Second, func() (bool, string) {
		s, err := cls[0].Daemon().Status(t.Context())
		return err == nil && s.Waiting == 1, "the pull does not wait at the leader"
	})
	if err := ds[0].Stop(t.Context()); err != nil {
		t.Error(err)
	}
	servetest.Eventually(t, 10*time.Second, func() (bool, string) {
		return ds[1].dispatcher.Leads() != ds[2].dispatcher.Leads(), "nobody leads, or two do"
	})
	// Nobody generates any more: a daemon that does comes last, and does not lead.
	_, cl := startDaemon(t, func(c *config.Config) { c.Database.DSN = ds[1].cfg.Database.DSN })
	if _, err := cl.Tasks().Submit(t.Context(), servetest.Hello(1), ""); err != nil {
		t.Fatal(err)
	}
	if job := <-waits; job != 0 {
		if by, want := decider(t, ds[1], job), leader(t, ds[1]); by != want {
			t.Errorf("daemon %d decided, %d leads", by, want)
		}
	}
}

// A pilot that asks a daemon which follows is told where the leader is, and goes there; none is told by the leader.
func TestPilotsFindTheLeader(t *testing.T) {
	t.Parallel()
	ds, _ := together(t, 2)
	told := func(d *Daemon) string {
		resp, err := http.Post(d.URL()+"/v1/leases/renew", "application/json", strings.NewReader(`{"pilot":"p","leases":[]}`))
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		return resp.Header.Get("Divvy-Leader")
	}
	servetest.Eventually(t, 10*time.Second, func() (bool, string) {
		return told(ds[1]) == ds[0].URL(), "the daemon that follows names " + told(ds[1])
	})
	if got := told(ds[0]); got != "" {
		t.Errorf("the leader names %q", got)
	}
}

// A daemon that others cannot call is served all the same: it calls them.
func TestUnreachableLeader(t *testing.T) {
	t.Parallel()
	dsn := pgtest.DSN(t)
	_, far := startDaemon(t, func(c *config.Config) { c.Database.DSN, c.Advertise = dsn, "127.0.0.1:1" })
	d, near := startDaemon(t, func(c *config.Config) { c.Database.DSN = dsn })
	if d.dispatcher.Leads() {
		t.Error("two lead")
	}
	if _, err := far.Tasks().Submit(t.Context(), servetest.Hello(2), ""); err != nil {
		t.Fatal(err)
	}
	for i, cl := range []*client.Client{far, near} {
		if _, err := cl.Pull(t.Context(), wire.PullRequest{Queue: "LOCAL", Pilot: fmt.Sprint("p", i), WaitS: 10}); err != nil {
			t.Error(err)
		}
	}
	for _, cl := range []*client.Client{far, near} { // what only the leader knows is asked over the connection that it made
		if qs, err := cl.Queues().List(t.Context()); err != nil || len(qs) == 0 || qs[0].HeldJobs != 2 || qs[0].Pilots != 2 {
			t.Errorf("%+v, %v", qs, err)
		}
	}
}

// A pull that waits at the daemon that decides is answered when the one that it came to stops.
func TestStopOfADaemonThatHandsOn(t *testing.T) {
	t.Parallel()
	ds, cls := together(t, 2)
	answered := make(chan error, 1)
	go func() {
		impatient, err := client.New(client.Config{URL: ds[1].URL(), Patience: -1})
		if err == nil {
			_, err = impatient.Pull(t.Context(), wire.PullRequest{Queue: "LOCAL", Pilot: "p1", RequestID: "1", WaitS: 60})
			impatient.Close()
		}
		answered <- err
	}()
	servetest.Eventually(t, 10*time.Second, func() (bool, string) {
		s, err := cls[0].Daemon().Status(t.Context())
		return err == nil && s.Waiting == 1, "the pull does not wait"
	})
	if err := ds[1].Stop(context.Background()); err != nil {
		t.Error(err)
	}
	if err := <-answered; !client.IsCode(err, "stopping") {
		t.Errorf("the pull that waited got %v", err)
	}
	servetest.Eventually(t, 10*time.Second, func() (bool, string) {
		s, err := cls[0].Daemon().Status(t.Context())
		return err == nil && s.Waiting == 0, "nobody took it out of the line"
	})
}

// What the shares have is known to all, by the log, and which pilots ask to the daemon that leads: the others ask it.
func TestStandingOfAll(t *testing.T) {
	t.Parallel()
	_, cls := together(t, 2)
	if _, err := cls[0].Tasks().Submit(t.Context(), servetest.Hello(2), ""); err != nil {
		t.Fatal(err)
	}
	for _, cl := range cls {
		if _, err := cl.Pull(t.Context(), wire.PullRequest{Queue: "LOCAL", Pilot: "p", WaitS: 20}); err != nil {
			t.Fatal(err)
		}
	}
	for i, cl := range cls {
		st, err := cl.Shares().Standing(t.Context())
		if err != nil || st.Pools[0].Held != 2 {
			t.Errorf("daemon %d: %+v, %v", i+1, st, err)
		}
		qs, err := cl.Queues().List(t.Context())
		if err != nil || len(qs) == 0 || qs[0].HeldJobs != 2 || qs[0].Pilots != 1 {
			t.Errorf("daemon %d: %+v, %v", i+1, qs, err)
		}
	}
}
