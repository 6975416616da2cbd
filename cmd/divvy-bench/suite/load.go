package suite

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/divvyhq/divvy/cmd/divvy-bench/wire"
)

// order is what the load process is told, as JSON on its standard input.
type order struct {
	Mode     string        // pull, wait, submit or renew
	Address  string        // host:port; pull, wait: several by commas share the connections, each a block of them
	Bodies   []string      // pull, wait: of a request, one a connection
	WarmUp   time.Duration // pull: before Duration; its answers do not count
	Duration time.Duration // pull; 0 = until standard input ends
	Rate     float64       // pull: requests a second in all; 0 = each connection asks again at once
	Most     int           // pull: leases at the most; 0 = no bound
	Dry      bool          // pull: a connection ends when it is told that there is no job
	Stay     bool          // pull: connections do not go to the daemon that decides, as those of pilots do
	Share    string        // submit
	Inputs   int           // submit
	Renew    renewOrder    // renew
	Pilots   []string      // life: their names, one a connection
	Renews   int           // life: how often a job is renewed; 0 = once
}

// The modes.
const (
	modePull   = "pull"   // connections that ask for a while
	modeWait   = "wait"   // connections that wait for jobs, until standard input ends
	modeSubmit = "submit" // one task with many inputs
	modeRenew  = "renew"  // pilots that renew their leases, until standard input ends
)

// outcome is what the load process says in the end, as JSON behind "r ".
type outcome struct {
	Answers  int       // 200, those of the warm-up left out
	All      int       // with them
	Began    time.Time // pull: when they began to count
	Elapsed  time.Duration
	P50, P99 float64 // ms
	Effort   float64 `json:"-"` // processor time of divvy and PostgreSQL for each of All, us; the bench adds it
	Task     int64   // submit
	Renewed  renewOutcome
	Error    string
}

// Load is the load process: an order on in; claims and an outcome, a line each, on out.
func Load(ctx context.Context, in io.Reader, out io.Writer) error {
	lines := bufio.NewReader(in)
	text, err := lines.ReadBytes('\n')
	if err != nil {
		return fmt.Errorf("order: %w", err)
	}
	var o order
	if err := json.Unmarshal(text, &o); err != nil {
		return fmt.Errorf("order: %w", err)
	}
	w := bufio.NewWriter(out)
	defer w.Flush()
	var result outcome
	switch o.Mode {
	case modePull:
		result, err = o.pull(lines, w)
	case modeWait:
		result, err = o.wait(lines, w)
	case modeLife:
		result, err = o.life(w)
	case modeSubmit:
		result, err = o.submit(ctx)
	case modeRenew:
		result, err = o.renew(lines)
	default:
		err = fmt.Errorf("unknown mode %q", o.Mode)
	}
	if err != nil {
		result.Error = err.Error()
	}
	text, err = json.Marshal(result)
	fmt.Fprintf(w, "r %s\n", text)
	return err
}

// worker is one connection of a load.
type worker struct {
	wire   *wire.Conn
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
func (w *worker) answer(status int, body []byte) {
	w.n++
	if status != 200 {
		w.err = fmt.Errorf("status %d: %.300s", status, body)
		return
	}
	if job, lease, ok := wire.LeaseIn(body); ok {
		w.jobs, w.leases = append(w.jobs, job), append(w.leases, lease...)
		w.ends = append(w.ends, len(w.leases))
	}
}

func (w *worker) print(out io.Writer) {
	from := 0
	for i, job := range w.jobs {
		fmt.Fprintf(out, "c %d %s\n", job, w.leases[from:w.ends[i]])
		from = w.ends[i]
	}
}

// pull asks on all connections at once.
func (o order) pull(in io.Reader, out io.Writer) (outcome, error) {
	workers, err := o.connect()
	if err != nil {
		return outcome{}, err
	}
	start := time.Now()
	began := start.Add(o.WarmUp)
	end := began.Add(o.Duration)
	var over atomic.Bool
	if o.Duration == 0 {
		end = began.Add(time.Hour)
		go func() { _, _ = io.Copy(io.Discard, in); over.Store(true) }()
	}
	var all sync.WaitGroup
	for i, w := range workers {
		w.from = began
		defer func() { w.wire.Net.Close() }()
		most := o.Most / len(workers)
		pace := pace{}
		if o.Rate > 0 {
			pace.every = time.Duration(float64(len(workers)) / o.Rate * float64(time.Second))
			pace.next = start.Add(pace.every * time.Duration(i) / time.Duration(len(workers)))
		}
		w.dry, w.wire.Follow = o.Dry, !o.Stay
		all.Go(func() { w.run(stop{end, &over}, most, pace) })
	}
	all.Wait()
	r := outcome{Began: began, Elapsed: time.Since(began)}
	var times []time.Duration
	for _, w := range workers {
		r.Answers += len(w.times)
		r.All += w.n
		times = append(times, w.times...)
		err = errors.Join(err, w.err)
		w.print(out)
	}
	r.P50, r.P99 = quantile(times, 0.5), quantile(times, 0.99)
	return r, err
}

func (o order) connect() ([]*worker, error) {
	var workers []*worker
	addresses := strings.Split(o.Address, ",")
	for i, body := range o.Bodies {
		w, err := wire.Dial(addresses[i*len(addresses)/len(o.Bodies)], "/v1/pulls", body)
		if err != nil {
			for _, w := range workers {
				w.wire.Net.Close()
			}
			return nil, err
		}
		workers = append(workers, &worker{wire: w})
	}
	return workers, nil
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
func (w *worker) run(until stop, most int, p pace) {
	for w.err == nil && (most == 0 || len(w.jobs) < most) && !until.over.Load() {
		now := time.Now()
		from := now
		if p.every > 0 {
			if p.next.After(until.at) {
				return
			}
			if wait := p.next.Sub(now); wait > 0 {
				<-time.After(wait)
				from = time.Now()
			} else {
				from = p.next
			}
			p.next = p.next.Add(p.every)
		} else if now.After(until.at) {
			return
		}
		status, body, err := w.wire.Exchange()
		if err != nil {
			w.err = err
			return
		}
		if status == 204 && w.dry {
			return
		}
		if wire.Shed(status, body) {
			<-time.After(wire.ShedPause)
			continue
		}
		if !from.Before(w.from) {
			w.times = append(w.times, time.Since(from))
		}
		w.answer(status, body)
	}
}

// wait long-polls on all connections and prints each lease at once, with the time of its arrival.
func (o order) wait(in io.Reader, out *bufio.Writer) (outcome, error) {
	workers, err := o.connect()
	if err != nil {
		return outcome{}, err
	}
	type arrival struct {
		at   time.Time
		text string
		err  error
	}
	arrivals := make(chan arrival, len(workers))
	over := make(chan struct{})
	for _, w := range workers {
		defer w.wire.Net.Close()
		go func() {
			for {
				status, body, err := w.wire.Exchange()
				a := arrival{at: time.Now(), err: err}
				switch job, lease, ok := wire.LeaseIn(body); {
				case err != nil:
				case ok:
					a.text = fmt.Sprintf("c %d %s", job, lease)
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
				if a.err != nil {
					return
				}
			}
		}()
	}
	defer close(over)
	ended := make(chan struct{})
	go func() { defer close(ended); _, _ = io.Copy(io.Discard, in) }()
	var r outcome
	for {
		select {
		case a := <-arrivals:
			if a.err != nil {
				return r, a.err
			}
			r.Answers++
			fmt.Fprintf(out, "%s %d\n", a.text, a.at.UnixNano())
			if err := out.Flush(); err != nil {
				return r, err
			}
		case <-ended:
			return r, nil
		}
	}
}
