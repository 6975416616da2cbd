package dispatcher

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/divvyhq/divvy/dispatcher/job"
	"github.com/divvyhq/divvy/shares"
)

// A caller goes away while a batch has its pull, and the batch comes to nothing: the pull ends, and a repeat of
// the request does not wait for it for ever.
func TestCallerLeavesDuringAGrant(t *testing.T) {
	f := newFixture(t, []shares.Spec{node("A", 1)}, slots("q", 10))
	d := f.daemon()
	req := PullRequest{Queue: "q", Pilot: "p", Slot: job.Slot{Cores: 1}, RequestID: "r1", WaitS: 60}
	p, err := newPull(req)
	if err != nil {
		t.Fatal(err)
	}
	if first, err := d.admit(p); err != nil || first != p {
		t.Fatal(first, err)
	}
	d.mu.Lock()
	d.line.takeOff(d.line.classes[p.class], p)
	d.mu.Unlock()

	ctx, leave := context.WithCancel(context.Background())
	gone, repeated := make(chan error, 1), make(chan error, 1)
	go func() { gone <- d.await(ctx, p) }()
	leave()
	req.WaitS = 0
	go func() {
		_, err := d.Pull(context.Background(), req)
		repeated <- err
	}()
	deadline := time.Now().Add(patience)
	for left := false; !left; {
		if time.Now().After(deadline) {
			t.Fatal("the pull does not know that its caller left")
		}
		d.mu.Lock()
		left = p.left
		d.mu.Unlock()
	}
	d.tryAgain(leaseBatch{pulls: []*pull{p}})
	for what, c := range map[string]struct {
		got  chan error
		want error
	}{"the caller": {gone, context.Canceled}, "the repeat": {repeated, ErrNoJobs}} {
		select {
		case err := <-c.got:
			if !errors.Is(err, c.want) {
				t.Errorf("%s got %v, want %v", what, err, c.want)
			}
		case <-time.After(patience):
			t.Errorf("%s waits for ever", what)
		}
	}
}
