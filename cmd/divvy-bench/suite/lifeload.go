package suite

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/divvyhq/divvy/cmd/divvy-bench/wire"
)

// modeLife is pilots that take jobs through their whole life: pull, renew once, finish.
const modeLife = "life"

// lifeSlots is how many jobs a pilot of S3 holds at a time.
const lifeSlots = 16

// The paths of a job's life behind its pull.
const (
	pathRenew  = "/v1/leases/renew"
	pathFinish = "/v1/leases/finish"
)

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

// lifePilot is one connection of a life load.
type lifePilot struct {
	*lives
	wire    *wire.Conn
	address string
	name    string
	pull    []byte   // the request
	pullID  []byte   // the part of it that changes, see wire.Conn
	jobs    []int64  // finished
	leases  [][]byte // held now
	counted int
	times   []time.Duration // from a pull to its last verdict
	request bytes.Buffer
	err     error
}

// life runs all pilots until the time is over. What they pulled they finish, so that nothing is left behind; what was
// finished before and after the time that counts does not count.
func (o order) life(out io.Writer) (outcome, error) {
	workers, err := o.connect()
	if err != nil {
		return outcome{}, err
	}
	from := time.Now().Add(o.WarmUp)
	shared := &lives{from: from, until: from.Add(o.Duration), most: int64(o.Most), renews: max(1, o.Renews)}
	pilots := make([]*lifePilot, len(workers))
	var all sync.WaitGroup
	for i, w := range workers {
		defer w.wire.Net.Close()
		pilots[i] = &lifePilot{lives: shared, wire: w.wire, address: o.Address, name: o.Pilots[i], pull: w.wire.Request, pullID: w.wire.ID}
		all.Go(pilots[i].run)
	}
	all.Wait()
	r := outcome{Elapsed: shared.end().Sub(from)}
	var times []time.Duration
	for _, p := range pilots {
		r.Answers += p.counted
		r.All += len(p.jobs)
		times = append(times, p.times...)
		err = errors.Join(err, p.err)
		for _, job := range p.jobs {
			fmt.Fprintf(out, "c %d -\n", job) // nobody needs the lease any more
		}
	}
	r.P50, r.P99 = quantile(times, 0.5), quantile(times, 0.99)
	return r, err
}

func (p *lifePilot) run() {
	for p.err == nil && !p.over() {
		p.err = p.once()
	}
}

// once is one life: of as many jobs as a pull gives.
func (p *lifePilot) once() error {
	began := time.Now()
	p.wire.Request, p.wire.ID = p.pull, p.pullID
	status, body, err := p.wire.Exchange()
	switch {
	case err != nil:
		return err
	case wire.Shed(status, body):
		<-time.After(wire.ShedPause)
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
		if err := p.say(pathRenew, "leases", `","state":"running","usage":{"cpu_s":1.5,"memory_mb":900}}`, p.kept); err != nil {
			return err
		}
	}
	if err := p.say(pathFinish, "results", `","outcome":"finished","exit_code":0,"usage":{"cpu_s":3.5,"memory_mb":1100}}`, p.recorded); err != nil {
		return err
	}
	now := time.Now()
	if p.finished(len(p.leases), now) {
		p.counted += len(p.leases)
		p.times = append(p.times, now.Sub(began))
	}
	return nil
}

// say sends one call about all leases that are held, and has its answer checked.
func (p *lifePilot) say(path, list, each string, check func(answer []byte) error) error {
	var body strings.Builder
	fmt.Fprintf(&body, `{"pilot":%q,%q:[`, p.name, list)
	for i, lease := range p.leases {
		if i > 0 {
			body.WriteByte(',')
		}
		body.WriteString(`{"lease":"`)
		body.Write(lease)
		body.WriteString(each)
	}
	body.WriteString("]}")
	p.request.Reset()
	writeRequest(&p.request, path, p.address, body.String())
	p.wire.Request, p.wire.ID = p.request.Bytes(), nil
	status, answer, err := p.wire.Exchange()
	if err == nil && status != 200 {
		err = fmt.Errorf("status %d: %.300s", status, answer)
	}
	if err == nil {
		err = check(answer)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

// kept checks the answer to a renewal: every lease is kept, none is lost or to be cancelled.
func (p *lifePilot) kept(answer []byte) error {
	rest, ok := bytes.CutPrefix(answer, []byte(`{"kept":["`))
	for i, lease := range p.leases {
		if i > 0 {
			rest, ok = cutAll(rest, ok, `","`)
		}
		rest, ok = cutAll(rest, ok, string(lease))
	}
	if _, ok = cutAll(rest, ok, `"],"lost":[],"cancel":[],`); !ok {
		return fmt.Errorf("not all of %d leases were kept: %.400s", len(p.leases), answer)
	}
	return nil
}

// recorded checks the answer to a finish: every outcome is recorded, and every job finished by it.
func (p *lifePilot) recorded(answer []byte) error {
	rest, ok := bytes.CutPrefix(answer, []byte(`{"verdicts":[`))
	for i, lease := range p.leases {
		if i > 0 {
			rest, ok = cutAll(rest, ok, ",")
		}
		rest, ok = cutAll(rest, ok, `{"lease":"`)
		rest, ok = cutAll(rest, ok, string(lease))
		rest, ok = cutAll(rest, ok, `","verdict":"recorded","job_state":"finished"}`)
	}
	if _, ok = cutAll(rest, ok, "]}"); !ok {
		return fmt.Errorf("not all of %d outcomes were recorded: %.400s", len(p.leases), answer)
	}
	return nil
}

// writeRequest writes a whole request, as dial does for one that stays the same.
func writeRequest(to *bytes.Buffer, path, address, body string) {
	fmt.Fprintf(to, "POST %s HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s",
		path, address, len(body), body)
}

// cutAll goes on where a cut before was right.
func cutAll(text []byte, ok bool, prefix string) ([]byte, bool) {
	if !ok {
		return nil, false
	}
	return bytes.CutPrefix(text, []byte(prefix))
}

// leasesIn finds the leases of a pull's answer, by the two fields that each begins with. The leases are copies: the
// body is good until the next exchange only.
func leasesIn(body []byte, jobs []int64, leases [][]byte) ([]int64, [][]byte, error) {
	for {
		job, lease, ok := wire.LeaseIn(body)
		if !ok {
			break
		}
		jobs, leases = append(jobs, job), append(leases, bytes.Clone(lease))
		body = body[bytes.Index(body, lease):]
	}
	if n := len(leases); n < 1 || n > lifeSlots {
		return jobs, leases, fmt.Errorf("%d leases, asked for 1 to %d", n, lifeSlots)
	}
	return jobs, leases, nil
}
