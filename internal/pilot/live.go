package pilot

import (
	"context"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/divvyhq/divvy/api/wire"
	"github.com/divvyhq/divvy/internal/pilot/payload"
)

// Bounds of what is sent of followed jobs.
const (
	liveWindow = 1 << 20          // of each stream: a follower who comes late, or a server that was away, misses the rest
	liveChunk  = 256 << 10        // of a stream in one call
	liveCall   = 1 << 20          // in one call
	liveWait   = 45 * time.Second // for a job to be followed
	livePace   = 500 * time.Millisecond
	liveQuiet  = 10 * time.Minute // after a server said that it knows no such call
	liveEnd    = 3 * time.Second  // for the last bytes of followed jobs when the pilot leaves
)

// live sends what jobs write while they are followed. It runs beside the loop, and nothing waits for it: no job, no
// result.
//
// While jobs run it keeps one call open that waits until one is followed. Then it sends what is written, twice a second
// at the most if that is little, until the server wants nothing more.
type live struct {
	client Client
	pilot  string
	call   time.Duration // bound of a call, its wait not counted

	mu   sync.Mutex
	runs map[attempt]*voice
	wake chan struct{} // one place: there are jobs

	leaving context.Context // ends when the pilot leaves
	leave   context.CancelFunc
}

// attempt names a run.
type attempt struct {
	job int64
	n   int
}

// voice is one run.
type voice struct {
	lease   string
	job     *payload.Job
	ended   bool
	written *payload.Written // nil: it was not followed yet
}

func newLive(c Config) *live {
	v := &live{client: c.Client, pilot: c.Name, call: c.timing.Call, runs: map[attempt]*voice{}, wake: make(chan struct{}, 1)}
	v.leaving, v.leave = context.WithCancel(context.Background())
	return v
}

// add takes a run in when its process starts.
func (v *live) add(l wire.Lease, j *payload.Job) {
	v.mu.Lock()
	v.runs[attempt{l.Job, l.Attempt}] = &voice{lease: l.Lease, job: j}
	v.mu.Unlock()
	select {
	case v.wake <- struct{}{}:
	default:
	}
}

// ended notes that a run has ended. One that is followed is kept until its end is sent.
func (v *live) ended(l wire.Lease) {
	v.mu.Lock()
	defer v.mu.Unlock()
	key := attempt{l.Job, l.Attempt}
	if r := v.runs[key]; r != nil && r.written != nil {
		r.ended = true
	} else {
		delete(v.runs, key)
	}
}

// run is the goroutine of it. It ends with ctx, or at most liveEnd after the pilot leaves.
func (v *live) run(ctx context.Context) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(v.leaving, func() { pause(ctx, liveEnd); cancel() })()
	defer v.keep(nil)
	var again backoff
	var wanted []wire.OutputWanted
	for len(wanted) > 0 && ctx.Err() == nil && !v.over() || v.idle(ctx) {
		waits := len(wanted) == 0
		report, more := v.report(wanted)
		reply, err := v.say(ctx, report, waits)
		a := read(err)
		switch {
		case err == nil:
			again, wanted = backoff{}, reply.Wanted
			v.keep(wanted)
			if !more && !(waits && len(wanted) > 0) {
				pause(ctx, livePace)
			}
			continue
		case a.verdict == later:
			again.fail(time.Now(), a.after, usualTiming)
		default: // a server that knows no such call, or refuses it
			wanted = nil
			v.keep(nil)
			again.fail(time.Now(), liveQuiet, usualTiming)
		}
		pause(ctx, time.Until(again.at))
	}
}

// over says that the pilot leaves and has no end of a run to send any more.
func (v *live) over() bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.leaving.Err() != nil && len(v.runs) == 0
}

// idle waits until there are runs; false: the pilot leaves.
func (v *live) idle(ctx context.Context) bool {
	for ctx.Err() == nil && v.leaving.Err() == nil {
		v.mu.Lock()
		n := len(v.runs)
		v.mu.Unlock()
		if n > 0 {
			return true
		}
		select {
		case <-v.wake:
		case <-v.leaving.Done():
		case <-ctx.Done():
		}
	}
	return false
}

func pause(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}

// say makes one call. One that waits ends when the pilot leaves.
func (v *live) say(ctx context.Context, report wire.OutputReport, waits bool) (wire.OutputReply, error) {
	wait := time.Duration(0)
	if waits {
		wait = liveWait + rand.N(liveWait/4) //nolint:gosec // jitter
		report.WaitS = wait.Seconds()
	}
	ctx, cancel := context.WithTimeout(ctx, v.call+wait)
	defer cancel()
	if waits {
		defer context.AfterFunc(v.leaving, cancel)()
	}
	return v.client.Output(ctx, report)
}

// report is what there is of what is wanted; more: it was not all.
func (v *live) report(wanted []wire.OutputWanted) (report wire.OutputReport, more bool) {
	report.Pilot = v.pilot
	v.mu.Lock()
	defer v.mu.Unlock()
	size := 0
	for _, w := range wanted {
		r := v.runs[attempt{w.Job, w.Attempt}]
		if r == nil || r.written == nil {
			continue
		}
		if size >= liveCall {
			more = true
			break
		}
		stream := 0
		if w.Stream == wire.Stderr {
			stream = 1
		}
		data, at, end := r.written.Read(stream, w.From, liveWindow, liveChunk)
		if len(data) > 0 || end && r.ended {
			report.Chunks = append(report.Chunks, wire.OutputChunk{Lease: r.lease, Stream: w.Stream, Wanted: w.From, Offset: at, Data: data, End: end && r.ended})
		}
		size += len(data)
		more = more || !end
	}
	return report, more
}

// keep closes the files of runs that are not wanted any more, and opens those of runs that are.
func (v *live) keep(wanted []wire.OutputWanted) {
	v.mu.Lock()
	defer v.mu.Unlock()
	is := map[attempt]bool{}
	for _, w := range wanted {
		is[attempt{w.Job, w.Attempt}] = true
	}
	for key, r := range v.runs {
		if !is[key] && r.written != nil {
			r.written.Close()
			r.written = nil
		}
		if is[key] && r.written == nil {
			r.written = r.job.Written()
		}
		if r.ended && r.written == nil {
			delete(v.runs, key)
		}
	}
}
