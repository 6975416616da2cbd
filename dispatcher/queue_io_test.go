package dispatcher

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/divvyhq/divvy/dispatcher/job"
	"github.com/divvyhq/divvy/shares"
)

// bounded is a queue of n cores whose jobs may read and write so many kB/s together.
func bounded(name string, n int, kbs int64) shares.Queue {
	q := slots(name, n)
	q.MaxIO = kbs
	return q
}

// ioSite is a site as internal/site makes it of its file.
func ioSite(t testing.TB, queues ...shares.Queue) *fixture {
	t.Helper()
	f := newFixture(t, []shares.Spec{node("A", 1), node("B", 1)}, queues...)
	f.apply(func(v *shares.Version) { *v = v.WithIO() })
	return f
}

// setIO bounds a queue anew.
func (f *fixture) setIO(queue string, kbs int64) {
	f.t.Helper()
	f.apply(func(v *shares.Version) {
		for i := range v.Queues {
			if v.Queues[i].Name == queue {
				v.Queues[i].MaxIO = kbs
			}
		}
		v.Resources = nil
		*v = v.WithIO()
	})
}

// reading enqueues jobs that read and write so many kB/s each.
func (f *fixture) reading(share string, n int, kbs int64) []int64 {
	f.t.Helper()
	return f.enqueue(batch{share: share, n: n, need: job.Requirements{Resources: map[string]int64{shares.IO: kbs}}})
}

// heldIO sums what the leases of each queue read and write, by the tables.
func (f *fixture) heldIO() map[string]int64 {
	f.t.Helper()
	rows, err := f.pool.Query(context.Background(), `SELECT q.name, sum((s.resources ->> 'io')::bigint)::bigint FROM leases l JOIN queues q ON q.id = l.queue_id
		JOIN shapes s ON s.id = l.shape_id WHERE s.resources ? 'io' GROUP BY 1`)
	if err != nil {
		f.t.Fatal(err)
	}
	held := map[string]int64{}
	var queue string
	var kbs int64
	for rows.Next() {
		if err := rows.Scan(&queue, &kbs); err != nil {
			f.t.Fatal(err)
		}
		held[queue] = kbs
	}
	return held
}

// What the jobs of a queue read and write stays below its max_io; nobody else is kept back, and other queues have no bound.
func TestQueueIO(t *testing.T) {
	f := ioSite(t, bounded("q", 50, 1000), slots("p", 4))
	reg := prometheus.NewRegistry()
	d, stop := f.runWith(Config{Pool: f.pool, Load: f.load, Metrics: reg})
	t.Cleanup(stop)
	f.reading("A", 8, 300)
	large := f.reading("B", 1, 1001)[0]
	leases := takeAll(t, d, "q")
	if diff := cmp.Diff(map[string]int64{"q": 900}, f.heldIO()); diff != "" || len(leases) != 3 {
		t.Errorf("%d leases, (-want +got):\n%s", len(leases), diff)
	}
	f.enqueue(batch{share: "A", n: 5})
	if got := takeAll(t, d, "q"); len(got) != 5 {
		t.Errorf("%d jobs that say nothing of I/O were given, want all 5", len(got))
	}
	e := explained(t, d, large, func(e Explanation) bool { return gateAt(e, "q").Gate == GateResourceIO })
	if why := gateAt(e, "q").Reason; !strings.Contains(why, "it needs 1.001 MB/s, and all jobs there may have 1: no end of a job helps") {
		t.Errorf("explained as %q", why)
	}
	if got := gateAt(e, "p").Gate; got != GateNone && got != GateShare {
		t.Errorf("gate %s at the queue without a bound", got)
	}
	waits := f.reading("A", 1, 200)[0]
	e = explained(t, d, waits, func(e Explanation) bool { return gateAt(e, "q").Gate == GateResourceIO })
	if why := gateAt(e, "q").Reason; why != "max_io of the queue: its jobs have 0.9 of 1 MB/s, it needs 0.2" {
		t.Errorf("explained as %q", why)
	}
	for _, q := range d.Queues() {
		if want := map[string]int64{"q": 900}[q.Name]; q.HeldIO != want {
			t.Errorf("queue %s holds %d kB/s, want %d", q.Name, q.HeldIO, want)
		}
	}
	if got := metricOf(t, reg, "divvy_queue_io_held_bytes_per_second"); !cmp.Equal(got, map[string]float64{"q": 900_000}) {
		t.Errorf("metric %v", got)
	}
	all, err := d.Resources(t.Context(), shares.IO)
	if err != nil || len(all) != 1 || all[0].Queue != "q" || all[0].Capacity != 1000 || all[0].FileCapacity != 1000 || all[0].Held != 900 ||
		all[0].Wanted != 5*300+1001+200 || all[0].SplitBy != shares.SplitByNone {
		t.Errorf("%+v, %v", all, err)
	}
	finish(t, d, Finished, leases[0])
	if got := takeAll(t, d, "q"); len(got) != 1 {
		t.Errorf("%d jobs after an end, want 1", len(got))
	}
	takeAll(t, d, "p")
	if got := f.heldIO(); got["q"] > 1000 || got["p"] != 3*300+1001 {
		t.Errorf("held %v", got)
	}
	f.recount()
}

// metricOf is a metric by the values of its labels.
func metricOf(t testing.TB, reg *prometheus.Registry, name string) map[string]float64 {
	t.Helper()
	families, err := reg.Gather()
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]float64{}
	for _, family := range families {
		for _, m := range family.Metric {
			if family.GetName() == name {
				var labels []string
				for _, l := range m.Label {
					labels = append(labels, l.GetValue())
				}
				got[strings.Join(labels, " ")] = m.Gauge.GetValue() + m.Counter.GetValue()
			}
		}
	}
	return got
}

// A bound that changes kills nothing: below what is held nobody gets anything until enough has ended. A queue that had none
// counts what runs there already.
func TestQueueIOChanges(t *testing.T) {
	f := ioSite(t, bounded("q", 50, 1000), slots("p", 50))
	d := f.daemon()
	f.reading("A", 40, 100)
	leases := takeAll(t, d, "q")
	if len(leases) != 10 {
		t.Fatalf("%d leases, want 10", len(leases))
	}
	f.setIO("q", 500)
	for i, l := range leases[:6] {
		if got := takeAll(t, d, "q"); len(got) != 0 {
			t.Fatalf("%d leases with %d kB/s held", len(got), 1000-100*i)
		}
		finish(t, d, Finished, l)
	}
	if got := takeAll(t, d, "q"); len(got) != 1 {
		t.Errorf("%d leases, want 1", len(got))
	}
	for range 4 {
		pull1(t, d, "p")
	}
	f.setIO("p", 600)
	if got := takeAll(t, d, "p"); len(got) != 2 {
		t.Errorf("%d leases at a queue with 400 of 600 held, want 2", len(got))
	}
	f.setIO("q", 0)
	if got := takeAll(t, d, "q"); len(got) != 40-10-1-6 {
		t.Errorf("%d leases without a bound, want the rest", len(got))
	}
	f.recount()
}

// A job that asks for much is not passed over for ever by those that ask for little.
func TestMuchIOHasItsTurn(t *testing.T) {
	f := ioSite(t, bounded("q", 500, 1000))
	d := f.daemon()
	f.reading("A", 1000, 100)
	leases := takeAll(t, d, "q")
	large := f.enqueue(batch{share: "A", n: 1, priority: 5, need: job.Requirements{Resources: map[string]int64{shares.IO: 900}}})[0]
	for nSmall := 0; len(leases) > 0; {
		finish(t, d, Finished, leases[0])
		next := takeAll(t, d, "q")
		if slices.ContainsFunc(next, func(l Lease) bool { return l.Job == large }) {
			f.recount()
			return
		}
		if nSmall += len(next); nSmall > 101 {
			break
		}
		leases = append(leases[1:], next...)
	}
	t.Error("after 100 grants of what is small the large job still waits")
}

// Several daemons together stay below every bound, whoever pulls and ends where; at rest nothing is left that fits.
func TestQueueIOOfSeveralDaemons(t *testing.T) {
	f := ioSite(t, bounded("q", 200, 1000), bounded("r", 200, 700), slots("p", 8))
	f.exec(`CREATE FUNCTION io_within() RETURNS trigger LANGUAGE plpgsql AS $$
		DECLARE held bigint;
		BEGIN
			SELECT sum((s.resources ->> 'io')::bigint) INTO held FROM leases l JOIN shapes s ON s.id = l.shape_id WHERE l.queue_id = NEW.queue_id;
			IF held > (SELECT CASE name WHEN 'q' THEN 1000 WHEN 'r' THEN 700 ELSE 1000000 END FROM queues WHERE id = NEW.queue_id) THEN
				RAISE EXCEPTION 'held % kB/s', held;
			END IF;
			RETURN NULL;
		END $$`)
	f.exec("CREATE CONSTRAINT TRIGGER io_within AFTER INSERT ON leases DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION io_within()")
	daemons := []*Dispatcher{f.daemon(), f.daemon(), f.daemon()}
	for i, kbs := range []int64{50, 130, 300, 700} {
		f.reading([]string{"A", "B"}[i%2], 40, kbs)
	}
	f.enqueue(batch{share: "A", n: 40})
	var pilots sync.WaitGroup
	for i, d := range daemons {
		for k := range 3 {
			pilots.Go(func() { f.ioLife(d, daemons[(i+k)%len(daemons)], uint64(10*i+k)) })
		}
	}
	pilots.Wait()
	for queue, most := range map[string]int64{"q": 1000, "r": 700} {
		if held := f.heldIO()[queue]; held > most {
			t.Errorf("%d kB/s held at %s, there are %d", held, queue, most)
		}
	}
	f.recount()
}

// ioLife pulls at one daemon and ends at another one, and gives back all in the end.
func (f *fixture) ioLife(d, other *Dispatcher, seed uint64) {
	random := rand.New(rand.NewPCG(seed, 1))
	var held []Lease
	for range 60 {
		queue := []string{"q", "r", "q", "r", "p"}[random.IntN(5)]
		reply, err := d.Pull(context.Background(), PullRequest{Queue: queue, Pilot: "p", Slot: job.Slot{Cores: 1}})
		if err != nil && !errors.Is(err, ErrNoJobs) {
			f.t.Error(err)
			return
		}
		held = append(held, reply.Leases...)
		for len(held) > 0 && (random.IntN(3) > 0 || len(held) > 4) {
			finish(f.t, other, Finished, held[0])
			held = held[1:]
		}
	}
	if len(held) > 0 {
		finish(f.t, d, Finished, held...)
	}
}
