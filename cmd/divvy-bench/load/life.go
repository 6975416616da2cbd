package load

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"github.com/divvyhq/divvy/cmd/divvy-bench/figure"
)

// Slots is how many jobs a pilot of a life load holds at a time.
const Slots = 16

// lives is what the pilots of a life load have in common.
type lives struct {
	from, until time.Time
	most        int64        // jobs, all pilots together; 0 = no bound
	renews      int          // of each job
	n           atomic.Int64 // jobs that are finished
	early       atomic.Int64 // when most was reached, in Unix nanoseconds; 0: it was not
}

// over says whether no more jobs are to be pulled.
func (l *lives) over() bool { return l.early.Load() != 0 || time.Now().After(l.until) }

// finished counts jobs and says whether they were finished in the time that counts.
func (l *lives) finished(n int, at time.Time) bool {
	over := l.early.Load() != 0
	if all := l.n.Add(int64(n)); l.most > 0 && all >= l.most {
		l.early.CompareAndSwap(0, at.UnixNano())
	}
	return !over && !at.Before(l.from) && !at.After(l.until)
}

// end is when the time that counts was over.
func (l *lives) end() time.Time {
	if early := l.early.Load(); early != 0 {
		return time.Unix(0, early)
	}
	return l.until
}

// pilot is one connection of a life load.
type pilot struct {
	*lives
	conn    *conn
	address string
	name    string
	pull    []byte   // the request
	pullID  []byte   // the part of it that changes, see conn
	jobs    []int64  // finished
	leases  [][]byte // held now
	counted int
	times   []time.Duration // from a pull to its last verdict
	err     error
}

// life runs all pilots until the time is over. What they pulled they finish, so that nothing is left behind; what was
// finished before and after the time that counts does not count.
func (o Order) life(out io.Writer) (Outcome, error) {
	conns, closeAll, err := o.connect()
	if err != nil {
		return Outcome{}, err
	}
	defer closeAll()
	from := time.Now().Add(o.WarmUp)
	shared := &lives{from: from, until: from.Add(o.Duration), most: int64(o.Most), renews: max(1, o.Renews)}
	pilots := make([]*pilot, len(conns))
	var all sync.WaitGroup
	for i, c := range conns {
		pilots[i] = &pilot{lives: shared, conn: c, address: o.Address, name: o.Pilots[i], pull: c.request, pullID: c.id}
		all.Go(pilots[i].run)
	}
	all.Wait()
	r := Outcome{Elapsed: shared.end().Sub(from)}
	var times []time.Duration
	for _, p := range pilots {
		r.Answers += p.counted
		r.All += len(p.jobs)
		times = append(times, p.times...)
		err = errors.Join(err, p.err)
		for _, job := range p.jobs {
			fmt.Fprintf(out, "c %d -\n", job) // the lease is not needed any more
		}
	}
	r.P50, r.P99 = figure.Quantile(times, 0.5), figure.Quantile(times, 0.99)
	return r, err
}

func (p *pilot) run() {
	for p.err == nil && !p.over() {
		p.err = p.once()
	}
}

// once is one life: of as many jobs as a pull gives.
func (p *pilot) once() error {
	began := time.Now()
	p.conn.request, p.conn.id = p.pull, p.pullID
	status, body, err := p.conn.exchange()
	switch {
	case err != nil:
		return err
	case shed(status, body):
		<-time.After(shedPause)
		return nil
	case status == 204:
		return errors.New("pull: no job, though there are plenty")
	case status != 200:
		return fmt.Errorf("pull: status %d: %.300s", status, body)
	}
	held := len(p.jobs)
	if p.jobs, p.leases, err = leasesIn(body, p.jobs, p.leases[:0]); err != nil {
		p.jobs = p.jobs[:held]
		return fmt.Errorf("pull: %w", err)
	}
	for range p.renews {
		err := p.say(PathRenew, "leases", `","state":"running","usage":{"cpu_s":1.5,"memory_mb":900}}`, answerOf{`{"kept":["`, "", "", `","`, `"],"lost":[],"cancel":[],`})
		if err != nil {
			return err
		}
	}
	if err := p.say(PathFinish, "results", `","outcome":"finished","exit_code":0,"usage":{"cpu_s":3.5,"memory_mb":1100}}`,
		answerOf{`{"verdicts":[`, `{"lease":"`, `","verdict":"recorded","job_state":"finished"}`, ",", "]}"}); err != nil {
		return err
	}
	now := time.Now()
	if p.finished(len(p.leases), now) {
		p.counted += len(p.leases)
		p.times = append(p.times, now.Sub(began))
	}
	return nil
}

// say sends one call about all leases that are held, and checks that its answer takes all of them as it should.
func (p *pilot) say(path, list, each string, good answerOf) error {
	body := fmt.Appendf(nil, `{"pilot":%q,%q:[`, p.name, list)
	for i, lease := range p.leases {
		if i > 0 {
			body = append(body, ',')
		}
		body = append(append(append(body, `{"lease":"`...), lease...), each...)
	}
	p.conn.request, p.conn.id = requestOf(path, p.address, append(body, "]}"...)), nil
	status, answer, err := p.conn.exchange()
	switch {
	case err != nil:
	case status != 200:
		err = fmt.Errorf("status %d: %.300s", status, answer)
	case !good.fits(answer, p.leases):
		err = fmt.Errorf("not all of %d leases were kept or recorded: %.400s", len(p.leases), answer)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

// answerOf is how an answer that takes every lease is written: a renewal that keeps all, and has none lost or to be cancelled; a finish whose
// outcomes are all recorded, with the jobs finished by them.
type answerOf struct{ begin, before, behind, between, end string }

func (a answerOf) fits(answer []byte, leases [][]byte) bool {
	want := []byte(a.begin)
	for i, lease := range leases {
		if i > 0 {
			want = append(want, a.between...)
		}
		want = append(append(append(want, a.before...), lease...), a.behind...)
	}
	return bytes.HasPrefix(answer, append(want, a.end...))
}

// leasesIn finds the leases of a pull's answer, by the two fields that each begins with. The leases are copies: the
// body is good until the next exchange only.
func leasesIn(body []byte, jobs []int64, leases [][]byte) ([]int64, [][]byte, error) {
	for {
		job, lease, ok := leaseIn(body)
		if !ok {
			break
		}
		jobs, leases = append(jobs, job), append(leases, bytes.Clone(lease))
		body = body[bytes.Index(body, lease):]
	}
	if n := len(leases); n < 1 || n > Slots {
		return jobs, leases, fmt.Errorf("%d leases, asked for 1 to %d", n, Slots)
	}
	return jobs, leases, nil
}
