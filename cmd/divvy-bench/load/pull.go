package load

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"github.com/divvyhq/divvy/cmd/divvy-bench/figure"
)

// puller is one connection that asks for a while.
type puller struct {
	conn   *conn
	n      int // answers
	dry    bool
	jobs   []int64
	leases []byte    // one behind the other
	ends   []int     // where each ends
	from   time.Time // requests before it are the warm-up
	times  []time.Duration
	err    error
}

// answer keeps the lease of an answer. An empty handler has none.
func (p *puller) answer(status int, body []byte) {
	p.n++
	if status != 200 {
		p.err = fmt.Errorf("status %d: %.300s", status, body)
		return
	}
	if job, lease, ok := leaseIn(body); ok {
		p.jobs, p.leases = append(p.jobs, job), append(p.leases, lease...)
		p.ends = append(p.ends, len(p.leases))
	}
}

func (p *puller) print(out io.Writer) {
	from := 0
	for i, job := range p.jobs {
		fmt.Fprintf(out, "c %d %s\n", job, p.leases[from:p.ends[i]])
		from = p.ends[i]
	}
}

// pull asks on all connections at once.
func (o Order) pull(in io.Reader, out io.Writer) (Outcome, error) {
	conns, closeAll, err := o.connect()
	if err != nil {
		return Outcome{}, err
	}
	defer closeAll()
	start := time.Now()
	began := start.Add(o.WarmUp)
	until := stop{at: began.Add(o.Duration), over: new(atomic.Bool)}
	if o.Duration == 0 {
		until.at = began.Add(time.Hour)
		go func() { _, _ = io.Copy(io.Discard, in); until.over.Store(true) }()
	}
	var all sync.WaitGroup
	pullers := make([]*puller, len(conns))
	for i, c := range conns {
		c.follow = !o.Stay
		p := &puller{conn: c, from: began, dry: o.Dry}
		pullers[i] = p
		pace := pace{}
		if o.Rate > 0 {
			pace.every = time.Duration(float64(len(conns)) / o.Rate * float64(time.Second))
			pace.next = start.Add(pace.every * time.Duration(i) / time.Duration(len(conns)))
		}
		all.Go(func() { p.run(until, o.Most/len(conns), pace) })
	}
	all.Wait()
	r := Outcome{Began: began, Elapsed: time.Since(began)}
	var times []time.Duration
	for _, p := range pullers {
		r.Answers += len(p.times)
		r.All += p.n
		times = append(times, p.times...)
		err = errors.Join(err, p.err)
		p.print(out)
	}
	r.P50, r.P99 = figure.Quantile(times, 0.5), figure.Quantile(times, 0.99)
	return r, err
}

// pace is when a connection is to ask next; zero: at once.
type pace struct {
	every time.Duration
	next  time.Time
}

// stop is when a load ends.
type stop struct {
	at   time.Time
	over *atomic.Bool // before that, where it is set
}

// run asks until the time is over or so many leases are there. With a pace, the time of a request that had to wait
// for the answer before it counts from when it should have been sent.
func (p *puller) run(until stop, most int, pace pace) {
	for p.err == nil && (most == 0 || len(p.jobs) < most) && !until.over.Load() {
		from := time.Now()
		if pace.every > 0 {
			if pace.next.After(until.at) {
				return
			}
			if wait := pace.next.Sub(from); wait > 0 {
				<-time.After(wait)
				from = time.Now()
			} else {
				from = pace.next
			}
			pace.next = pace.next.Add(pace.every)
		} else if from.After(until.at) {
			return
		}
		status, body, err := p.conn.exchange()
		switch {
		case err != nil:
			p.err = err
			return
		case status == 204 && p.dry:
			return
		case shed(status, body):
			<-time.After(shedPause)
			continue
		}
		if !from.Before(p.from) {
			p.times = append(p.times, time.Since(from))
		}
		p.answer(status, body)
	}
}

// wait long-polls on all connections and prints each lease at once, with the time of its arrival.
func (o Order) wait(in io.Reader, out *bufio.Writer) (r Outcome, err error) {
	conns, closeAll, err := o.connect()
	if err != nil {
		return r, err
	}
	defer closeAll()
	type arrival struct {
		text string
		err  error
	}
	arrivals := make(chan arrival, len(conns))
	over := make(chan struct{})
	defer close(over)
	for _, c := range conns {
		go func() {
			for a := (arrival{}); a.err == nil; {
				status, body, err := c.exchange()
				at := time.Now().UnixNano()
				switch job, lease, ok := leaseIn(body); {
				case err != nil:
					a.err = err
				case ok:
					a.text = fmt.Sprintf("c %d %s %d", job, lease, at)
				case status == 204:
					continue
				default:
					a.err = fmt.Errorf("status %d: %.300s", status, body)
				}
				select {
				case arrivals <- a:
				case <-over:
					return
				}
			}
		}()
	}
	ended := make(chan struct{})
	go func() { defer close(ended); _, _ = io.Copy(io.Discard, in) }()
	for {
		select {
		case a := <-arrivals:
			if a.err != nil {
				return r, a.err
			}
			r.Answers++
			fmt.Fprintln(out, a.text)
			if err := out.Flush(); err != nil {
				return r, err
			}
		case <-ended:
			return r, nil
		}
	}
}
