package dispatcher

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/divvyhq/divvy/shares"
)

// pullOnly asks for one job among some; it does not wait.
func pullOnly(d *Dispatcher, only Only) (Lease, error) {
	reply, err := d.Pull(context.Background(), PullRequest{Queue: "q", Pilot: "p", Slot: Slot{Cores: 1}, Only: only})
	if err != nil {
		return Lease{}, err
	}
	return reply.Leases[0], nil
}

// atOnce has 500 pilots pull at one queue at the same instant; nobody waits for a job. It returns what each was given.
func atOnce(t *testing.T, d *Dispatcher, only Only) map[int64]bool {
	t.Helper()
	const pilots = 500
	var begin, all sync.WaitGroup
	var mu sync.Mutex
	given := map[int64]bool{}
	begin.Add(1)
	for range pilots {
		all.Go(func() {
			begin.Wait()
			l, err := pullOnly(d, only)
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				t.Errorf("%d of %d have a job, and one gets: %v", len(given), pilots, err)
			} else if given[l.Job] {
				t.Errorf("job %d was given twice", l.Job)
			}
			given[l.Job] = true
		})
	}
	begin.Done()
	all.Wait()
	return given
}

func TestOnlyLabels(t *testing.T) {
	f := newFixture(t, []shares.Spec{node("A", 1), node("B", 3)}, slots("q", 5000))
	d := f.daemon()
	byLabel := map[string][]int64{}
	for _, label := range []string{"", "user", "managed"} {
		for _, share := range []string{"A", "B"} {
			byLabel[label] = append(byLabel[label], f.enqueue(batch{share: share, n: 1, need: Requirements{Label: label}})...)
		}
	}
	for _, c := range []struct {
		labels []string
		share  string // of the job that it gets; empty: none
	}{
		{[]string{"test"}, ""},
		{[]string{"managed", "test"}, "B"}, {[]string{"test", "managed"}, "A"}, {[]string{"managed"}, ""},
		{[]string{""}, "B"}, {[]string{"", "managed"}, "A"},
		{nil, "B"}, {[]string{}, "A"}, {nil, ""},
	} {
		l, err := pullOnly(d, Only{Labels: c.labels})
		if errors.Is(err, ErrNoJobs) && c.share == "" {
			continue
		}
		if err != nil || l.Share != c.share {
			t.Errorf("%q: share %s, %v; want %q", c.labels, l.Share, err, c.share)
		}
	}
	f.recount()
}

func TestManyPilotsOfOneLabel(t *testing.T) {
	f := newFixture(t, []shares.Spec{node("A", 1), node("B", 3)}, slots("q", 5000))
	d := f.daemon()
	want := map[int64]bool{}
	for i, label := range []string{"managed", "user", "managed", "user", ""} {
		for _, id := range f.enqueue(batch{share: []string{"A", "B"}[i%2], n: 250, priority: i, need: Requirements{Label: label}}) {
			want[id] = label == "managed"
		}
	}
	for job := range atOnce(t, d, Only{Labels: []string{"managed"}}) {
		if !want[job] {
			t.Errorf("job %d has another label", job)
		}
	}
	f.recount()
}

func TestOnlyIsChecked(t *testing.T) {
	f := newFixture(t, []shares.Spec{node("A", 1)}, slots("q", 5))
	d := f.daemon()
	many := make([]string, mostLabels+1)
	for i := range many {
		many[i] = fmt.Sprint(i)
	}
	for field, only := range map[string]Only{"only.labels": {Labels: many}, "only.task": {Task: -1}} {
		_, err := pullOnly(d, only)
		if bad := (*FieldError)(nil); !errors.As(err, &bad) || bad.Field != field {
			t.Errorf("%s: %v", field, err)
		}
	}
}
