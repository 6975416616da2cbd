package load

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/divvyhq/divvy/api/wire"
	"github.com/divvyhq/divvy/cmd/divvy-bench/figure"
)

// Renewals is the load of pilots that renew: all leases of a pilot in one call, the pilots spread evenly over the
// period. The leases follow the order on standard input, a line each.
type Renewals struct {
	Every       time.Duration // the period
	Leases      int
	Slots       int // leases of a pilot
	First       int // the pilot that begins
	Connections int // over which the calls go, whoever's they are
}

// Renewed is what became of it.
type Renewed struct {
	Next   int           // the pilot that would be next; all before it were answered
	Kept   int           // leases
	Lost   int           // leases that an answer did not name as kept
	Latest time.Duration // after it was due, the last answer
	Began  time.Time     // of the first tenth
	Tenths []int         // leases kept in each tenth of a second
}

// renewLoad is a renewing load under way.
type renewLoad struct {
	Renewals
	address string
	leases  []string
	pilots  int
	began   time.Time
	next    atomic.Int64
	over    chan struct{}
	ended   time.Time // when over was closed
}

// renewing is one connection of it.
type renewing struct {
	Renewed
	conn  *conn
	times []time.Duration
	err   error
}

// renew renews until standard input ends.
func (o Order) renew(in *bufio.Reader) (Outcome, error) {
	l := &renewLoad{Renewals: o.Renew, address: o.Address, over: make(chan struct{})}
	if l.Slots < 1 || l.Connections < 1 || l.Leases < 1 || l.Every <= 0 {
		return Outcome{}, fmt.Errorf("renew: the order makes no sense: %+v", o.Renew)
	}
	for range l.Leases {
		line, err := in.ReadString('\n')
		if err != nil {
			return Outcome{}, fmt.Errorf("leases: %w", err)
		}
		l.leases = append(l.leases, strings.TrimSuffix(line, "\n"))
	}
	l.pilots = (len(l.leases) + l.Slots - 1) / l.Slots
	l.next.Store(int64(l.First))
	var connections []*renewing
	for range l.Connections {
		w, err := dial(l.address, PathRenew, "")
		if err != nil {
			return Outcome{}, err
		}
		defer w.net.Close()
		connections = append(connections, &renewing{conn: w})
	}
	l.began = time.Now()
	var all sync.WaitGroup
	for _, c := range connections {
		all.Go(func() { l.run(c) })
	}
	_, err := io.Copy(io.Discard, in)
	l.ended = time.Now()
	close(l.over)
	all.Wait()
	return l.outcome(connections, err)
}

func (l *renewLoad) outcome(connections []*renewing, err error) (Outcome, error) {
	r := Outcome{Elapsed: time.Since(l.began), Renewed: Renewed{Next: l.First, Began: l.began}}
	var times []time.Duration
	for _, c := range connections {
		r.Renewed.add(c.Renewed)
		r.Answers += len(c.times)
		times, err = append(times, c.times...), errors.Join(err, c.err)
	}
	r.All = r.Answers
	r.Renewed.Latest = max(r.Renewed.Latest, l.ended.Sub(l.due(int64(l.First+r.Answers)))) // the first that had no answer
	r.Renewed.Next = (l.First + r.Answers) % l.pilots
	r.P50, r.P99 = figure.Quantile(times, 0.5), figure.Quantile(times, 0.99)
	return r, err
}

// due is when the call of the nth pilot is; n goes on counting from one period to the next.
func (l *renewLoad) due(n int64) time.Time {
	return l.began.Add(time.Duration(float64(n-int64(l.First)) / float64(l.pilots) * float64(l.Every)))
}

// run takes the next pilot, waits until its call is due, calls. At the end those that were due are called still, so
// that the pilots before the next one have all been answered.
func (l *renewLoad) run(c *renewing) {
	for c.err == nil {
		select {
		case <-l.over:
			return
		default:
		}
		n := l.next.Add(1) - 1
		due := l.due(n)
		if wait := time.Until(due); wait > 0 {
			timer := time.NewTimer(wait)
			select {
			case <-timer.C:
			case <-l.over:
				timer.Stop()
				if due.After(l.ended) {
					return
				}
			}
		}
		first := int(n%int64(l.pilots)) * l.Slots
		c.err = l.call(c, n, due, l.leases[first:min(first+l.Slots, len(l.leases))])
	}
}

func (l *renewLoad) call(c *renewing, n int64, due time.Time, leases []string) error {
	c.conn.request = l.request(n, due, leases)
	status, body, err := c.conn.exchange()
	if err != nil {
		return err
	}
	if status != 200 {
		return fmt.Errorf("renew: status %d: %.300s", status, body)
	}
	var reply wire.RenewReply
	if err := json.Unmarshal(body, &reply); err != nil {
		return fmt.Errorf("renew: %w", err)
	}
	now := time.Now()
	c.times = append(c.times, now.Sub(due))
	kept := 0
	for _, lease := range leases {
		if slices.Contains(reply.Kept, lease) {
			kept++
		}
	}
	c.Latest = max(c.Latest, now.Sub(due))
	c.Lost += len(leases) - kept
	c.note(int(now.Sub(l.began)/(time.Second/10)), kept)
	return nil
}

// request is the call as bytes. What an attempt has used grows from one call to the next.
func (l *renewLoad) request(n int64, due time.Time, leases []string) []byte {
	body := fmt.Appendf(nil, `{"pilot":"held-%d","leases":[`, n%int64(l.pilots))
	for i, lease := range leases {
		if i > 0 {
			body = append(body, ',')
		}
		body = fmt.Appendf(body, `{"lease":%q,"state":"running","usage":{"cpu_s":%.2f,"memory_mb":%d}}`,
			lease, due.Sub(l.began).Seconds(), 1500+due.Sub(l.began)/time.Second)
	}
	return requestOf(PathRenew, l.address, append(body, "]}"...))
}

// note counts leases that were kept in a tenth of a second.
func (r *Renewed) note(tenth, kept int) {
	for len(r.Tenths) <= tenth {
		r.Tenths = append(r.Tenths, 0)
	}
	r.Tenths[tenth] += kept
	r.Kept += kept
}

// add counts what another connection did.
func (r *Renewed) add(o Renewed) {
	r.Lost, r.Latest = r.Lost+o.Lost, max(r.Latest, o.Latest)
	for tenth, kept := range o.Tenths {
		r.note(tenth, kept)
	}
}

// Rate is how many leases were kept a second in the whole tenths of a span of time; 0 if it has none.
func (r *Renewed) Rate(from time.Time, span time.Duration) float64 {
	const tenth = time.Second / 10
	first := max(0, int((from.Sub(r.Began)+tenth-1)/tenth))
	last := int(from.Add(span).Sub(r.Began) / tenth)
	sum := 0
	for i := first; i < min(last, len(r.Tenths)); i++ {
		sum += r.Tenths[i]
	}
	if last <= first {
		return 0
	}
	return float64(sum) / (time.Duration(last-first) * tenth).Seconds()
}
