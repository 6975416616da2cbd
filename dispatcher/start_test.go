package dispatcher

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/divvyhq/divvy/dispatcher/entry"
	"github.com/divvyhq/divvy/dispatcher/lease"
	"github.com/divvyhq/divvy/dispatcher/machine"
	"github.com/divvyhq/divvy/dispatcher/start"
	"github.com/divvyhq/divvy/shares"
)

// What a daemon starts from is what the log says: jobs that are ready, leases and all that decisions go by.
func TestStartIsTheLog(t *testing.T) {
	v := siteOf(20, 2)
	s := newTables(t)
	empty := s.made(t, v)
	if seq, _ := empty.Stand(); seq != 0 {
		t.Fatalf("a database without a batch is at batch %d", seq)
	}
	s.open(t, v)
	defer func() { s.stop() }()
	s.stock(t, v, 5000)
	var keys []lease.Key
	for n := range 200 {
		leases, err := s.pull(t.Context(), pullOf(n, 2), time.Second)
		if err != nil {
			t.Fatal(err)
		}
		keys = append(keys, lease.Key{Job: leases[0].Job, Attempt: leases[0].Attempt, Nonce: leases[0].Nonce})
	}
	if _, err := s.renew(t.Context(), []lease.Renewal{{Key: keys[0], TTL: time.Hour}}); err != nil {
		t.Fatal(err)
	}
	for i, key := range keys {
		if i%3 > 0 {
			if _, err := s.finish(t.Context(), []lease.End{{Key: key, Outcome: []entry.Outcome{entry.Finished, entry.Failed}[i%2]}}); err != nil {
				t.Fatal(err)
			}
		}
	}
	s.stop()
	for n := 1; n > 0; {
		var err error
		if n, err = s.Fold(t.Context(), 100); err != nil {
			t.Fatal(err)
		}
	}
	whole := machine.New(machine.Config{})
	for seq := int64(0); ; {
		batches, err := world{s.Dispatcher}.Read(t.Context(), seq)
		if err != nil {
			t.Fatal(err)
		}
		if len(batches) == 0 {
			break
		}
		for _, b := range batches {
			if err := whole.Advance(b); err != nil {
				t.Fatal(err)
			}
			seq = b.Seq
		}
	}
	if diff := cmp.Diff(map[int64]int32{keys[0].Job: 3600}, ttlsOf(t, s)); diff != "" {
		t.Errorf("TTLs that renewals asked for, by job:\n%s", diff)
	}
	made := s.made(t, v)
	if seq, id := made.Stand(); seq == 0 {
		t.Error("nothing was folded")
	} else if want, wantID := whole.Stand(); seq != want || id != wantID {
		t.Errorf("the start is at batch %d, the log at %d", seq, want)
	}
	if diff := cmp.Diff(readyOf(whole), readyOf(made)); diff != "" {
		t.Errorf("ready by share and shape, the log (-) and the start (+):\n%s", diff)
	}
	if n := len(slices.Collect(made.Leases())); n == 0 || n != len(slices.Collect(whole.Leases())) {
		t.Errorf("the start has %d leases", n)
	}
	for l := range whole.Leases() {
		if got, ok := made.Lease(l.Job); !ok || got.Granted != l.Granted || got.User != l.User {
			t.Errorf("lease %+v starts as %+v", l, got)
		}
	}
}

// ttlsOf are the TTLs that a start knows.
func ttlsOf(t *testing.T, s *stage) map[int64]int32 {
	t.Helper()
	r := world{s.Dispatcher}.Reload(t.Context())
	if r.Err != nil {
		t.Fatal(r.Err)
	}
	return r.TTLs
}

// A daemon that starts long after the lead was taken knows who leads.
func TestEachBatchSaysWhoLeads(t *testing.T) {
	v := siteOf(20, 2)
	s := newTables(t)
	s.open(t, v)
	defer func() { s.stop() }()
	s.stock(t, v, 1000)
	for n := range recalled + 10 {
		if _, err := s.pull(t.Context(), pullOf(n, 2), time.Second); err != nil {
			t.Fatal(err)
		}
	}
	for n := 1; n > 0; {
		var err error
		if n, err = s.Fold(t.Context(), 100); err != nil {
			t.Fatal(err)
		}
	}
	r := world{s.Dispatcher}.Reload(t.Context())
	if r.Err != nil || r.Leader != s.cfg.Daemon || r.At.IsZero() {
		t.Errorf("%v: daemon %d leads since %v, want %d", r.Err, r.Leader, r.At, s.cfg.Daemon)
	}
}

// made is the machine that a daemon would start with now.
func (s *stage) made(t *testing.T, v shares.Version) *machine.Machine {
	d, err := Open(t.Context(), Config{Pool: s.db, Outbox: s.outbox, Daemon: 99, Site: func(context.Context, int64) (shares.Version, error) { return v, nil }})
	if err != nil {
		t.Fatal(err)
	}
	m, _, err := start.Load(t.Context(), s.db, d.cfg.Site, d.cfg.Machine)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// readyOf is the number of jobs that are ready, and the first of them, by share and shape.
func readyOf(m *machine.Machine) map[[2]int32][2]int64 {
	all := map[[2]int32][2]int64{}
	for r := range m.View().Ready() {
		if r.Ready > 0 {
			all[[2]int32{int32(r.Share), r.Shape}] = [2]int64{r.Ready, r.First}
		}
	}
	return all
}

// A daemon that has not read its state says so.
func TestLoaded(t *testing.T) {
	s := newTables(t)
	d, err := Open(t.Context(), Config{Pool: s.db, Outbox: s.outbox, Daemon: 99, Site: func(context.Context, int64) (shares.Version, error) { return siteOf(2, 1), nil }})
	if err != nil {
		t.Fatal(err)
	}
	if err := d.Loaded(t.Context()); !errors.Is(err, ErrUnavailable) {
		t.Errorf("%v, want ErrUnavailable", err)
	}
}
