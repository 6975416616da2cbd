package load

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/divvyhq/divvy/api/client"
	"github.com/divvyhq/divvy/api/wire"
	"github.com/divvyhq/divvy/generator/spec"
)

// Order is the task of a load process.
type Order struct {
	Mode     string        // Pull, Wait, Life, Submit or Renew
	Address  string        // host:port; pull, wait: several by commas share the connections, each a block of them
	Bodies   []string      // pull, wait, life: of a request, one a connection
	WarmUp   time.Duration // pull, life: before Duration; its answers do not count
	Duration time.Duration // pull, life; 0 = until standard input ends
	Rate     float64       // pull: requests a second in all; 0 = each connection asks again at once
	Most     int           // pull, life: leases at the most; 0 = no bound
	Dry      bool          // pull: a connection ends when it is told that there is no job
	Stay     bool          // pull: connections do not go to the daemon that decides, as those of pilots do
	Pilots   []string      // life: their names, one a connection
	Renews   int           // life: how often a job is renewed; 0 = once
	Renew    Renewals      // renew
	Inputs   int           // submit
	Task     spec.Spec
}

// The modes.
const (
	Pull   = "pull"   // connections that ask for a while
	Wait   = "wait"   // connections that wait for jobs, until standard input ends
	Life   = "life"   // pilots that take jobs through their whole life: pull, renew, finish
	Submit = "submit" // one task with many inputs
	Renew  = "renew"  // pilots that renew their leases, until standard input ends
)

// The paths of a job's life behind its pull.
const (
	PathRenew  = "/v1/leases/renew"
	PathFinish = "/v1/leases/finish"
)

// Claim is a lease that a client was given.
type Claim struct {
	Job   int64
	Lease string
}

// Outcome is what a load process says in the end, as JSON behind "r ".
type Outcome struct {
	Answers  int       // 200, those of the warm-up left out
	All      int       // with them
	Began    time.Time // pull: when they began to count
	Elapsed  time.Duration
	P50, P99 float64 // ms
	Task     int64   // submit
	Renewed  Renewed // renew
	Error    string
}

// Rate is answers a second.
func (o Outcome) Rate() float64 { return float64(o.Answers) / o.Elapsed.Seconds() }

// Run is the load process: an order on in; claims and an outcome, a line each, on out.
func Run(ctx context.Context, in io.Reader, out io.Writer) error {
	lines := bufio.NewReader(in)
	text, err := lines.ReadBytes('\n')
	if err != nil {
		return fmt.Errorf("order: %w", err)
	}
	var o Order
	if err := json.Unmarshal(text, &o); err != nil {
		return fmt.Errorf("order: %w", err)
	}
	w := bufio.NewWriter(out)
	defer w.Flush()
	var result Outcome
	switch o.Mode {
	case Pull:
		result, err = o.pull(lines, w)
	case Wait:
		result, err = o.wait(lines, w)
	case Life:
		result, err = o.life(w)
	case Submit:
		result, err = o.submit(ctx)
	case Renew:
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

// connect opens the connections; the returned function closes them.
func (o Order) connect() (all []*conn, closeAll func(), err error) {
	closeAll = func() {
		for _, c := range all {
			c.net.Close()
		}
	}
	addresses := strings.Split(o.Address, ",")
	for i, body := range o.Bodies {
		c, err := dial(addresses[i*len(addresses)/len(o.Bodies)], "/v1/pulls", body)
		if err != nil {
			closeAll()
			return nil, nil, err
		}
		all = append(all, c)
	}
	return all, closeAll, nil
}

// submit is a task with streamed inputs, from the first request to the answer of the commit.
func (o Order) submit(ctx context.Context) (r Outcome, err error) {
	cl, err := client.New(client.Config{URL: "http://" + o.Address, UserAgent: "divvy-bench"})
	if err != nil {
		return r, err
	}
	defer cl.Close()
	began := time.Now()
	task, err := cl.Tasks().Submit(ctx, wire.As[wire.TaskSpec](o.Task), "")
	if err != nil {
		return r, err
	}
	r.Task = task.ID
	if _, err := cl.Tasks().SendInputs(ctx, task.ID, 0, &inputNames{n: o.Inputs}, nil); err != nil {
		return r, err
	}
	_, err = cl.Tasks().Commit(ctx, task.ID)
	r.Elapsed = time.Since(began)
	return r, err
}

// inputNames is n lines of NDJSON with names as long as files have.
type inputNames struct {
	n    int
	next int
	rest []byte
}

// Read is io.Reader.
func (r *inputNames) Read(p []byte) (int, error) {
	if len(r.rest) == 0 {
		if r.next == r.n {
			return 0, io.EOF
		}
		for end := min(r.next+1000, r.n); r.next < end; r.next++ {
			r.rest = fmt.Appendf(r.rest, "\"mc23_13p6TeV:AOD.%08d._%06d.pool.root.1\"\n", 38_000_000+r.next/1000, r.next)
		}
	}
	n := copy(p, r.rest)
	r.rest = r.rest[n:]
	return n, nil
}
