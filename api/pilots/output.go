package pilots

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/divvyhq/divvy/api/edge"
	"github.com/divvyhq/divvy/api/problem"
	"github.com/divvyhq/divvy/dispatcher"
	"github.com/divvyhq/divvy/internal/access"
	"github.com/divvyhq/divvy/internal/door"
	"github.com/divvyhq/divvy/internal/live"
)

// Outputs keeps what attempts write while they are followed.
type Outputs interface {
	// Exchange is that of live.Outputs.
	Exchange(pilot string, chunks []live.Chunk, until time.Time, told func()) (wanted []live.OutputWanted, leave func() bool)
	// Wait is Exchange that waits itself.
	Wait(ctx context.Context, pilot string, chunks []live.Chunk, wait time.Duration) (wanted []live.OutputWanted)
	// Elsewhere has the leader take the chunks, and waits; false if this daemon leads, or the leader cannot be asked.
	Elsewhere(ctx context.Context, said Said) (live.OutputReply, bool)
}

// Said is an OutputReport whose leases were looked up.
type Said struct {
	Pilot  string
	Chunks []live.Chunk
	WaitS  float64
}

// Bounds of an OutputReport. A wait outlives the credential that let it in, so it is short.
const (
	maxOutputWaitS = 60
	maxOutputBytes = 2 << 20
)

// output is POST /v1/leases/output. One that waits keeps no goroutine meanwhile.
func (c *Calls) output(w http.ResponseWriter, r *http.Request) {
	req, err := decode[live.OutputReport](w, r, edge.MaxBody)
	if err == nil {
		err = checkOutput(req)
	}
	if err != nil {
		c.edge.Fail(w, err)
		return
	}
	within := c.timeout + time.Duration(req.WaitS*float64(time.Second))
	if req.WaitS > longWait {
		edge.Extend(w, within+edge.Slack)
	}
	ctx, term := door.Begin(r.Context(), within, c.timeout)
	said := Said{Pilot: req.Pilot, WaitS: req.WaitS}
	if said.Chunks, err = c.known(ctx, edge.CallerOf(w), req.Chunks); err != nil {
		c.edge.Fail(w, term.End(w, err))
		return
	}
	if reply, ok := c.Outputs.Elsewhere(ctx, said); ok {
		term.Stop()
		answerOutput(w, reply.Wanted)
		return
	}
	c.exchange(ctx, w, said, term)
}

// exchange hands chunks over here, and waits until something is wanted.
func (c *Calls) exchange(ctx context.Context, w http.ResponseWriter, said Said, term door.Term) {
	x, wait := edge.Parker(w), time.Duration(said.WaitS*float64(time.Second))
	if x == nil || wait <= 0 {
		wanted := c.Outputs.Wait(ctx, said.Pilot, said.Chunks, wait)
		term.Stop()
		answerOutput(w, wanted)
		return
	}
	var resume func(func())
	var stop func() bool
	parked := make(chan struct{})
	goOn := func() {
		<-parked
		stop()
		resume(func() {
			term.Stop()
			wanted, _ := c.Outputs.Exchange(said.Pilot, nil, time.Time{}, nil)
			answerOutput(w, wanted)
		})
	}
	wanted, leave := c.Outputs.Exchange(said.Pilot, said.Chunks, time.Now().Add(wait), goOn)
	if leave == nil {
		term.Stop()
		answerOutput(w, wanted)
		return
	}
	resume = x.Park()
	stop = context.AfterFunc(ctx, func() { // the client has gone, or the daemon stops
		if leave() {
			goOn()
		}
	})
	close(parked)
}

func answerOutput(w http.ResponseWriter, wanted []live.OutputWanted) {
	edge.ExtendWrite(w, edge.Slack)
	edge.Reply(w, live.OutputReply{Wanted: edge.List(wanted)})
}

// known looks up the leases of chunks. A chunk of a lease that is over, or at a queue at which the caller may not pull, is
// taken only if others of it came before.
func (c *Calls) known(ctx context.Context, who *access.Caller, chunks []live.OutputChunk) (all []live.Chunk, err error) {
	if len(chunks) == 0 {
		return nil, nil
	}
	leases := make([]string, len(chunks))
	for i := range chunks {
		leases[i] = chunks[i].Lease
	}
	at, err := c.dispatcher.LeaseQueues(ctx, leases)
	for _, chunk := range chunks {
		if job, attempt, ok := dispatcher.AttemptOf(chunk.Lease); ok {
			queue, runs := at[chunk.Lease]
			all = append(all, live.Chunk{OutputChunk: chunk, Key: live.Key{Job: job, Attempt: attempt}, Runs: runs && who.MayPull(queue)})
		}
	}
	return all, err
}

// checkOutput names everything that is wrong with req.
func checkOutput(req *live.OutputReport) error {
	var f wrong
	f.name("body.pilot", req.Pilot, "the pilot's name")
	f.text("body.pilot", req.Pilot)
	if req.WaitS < 0 || req.WaitS > maxOutputWaitS {
		f.Add("body.wait_s", fmt.Sprintf("expected 0 to %d seconds", maxOutputWaitS), req.WaitS)
	}
	size := 0
	for i := range f.items("body.chunks", false, len(req.Chunks)) {
		chunk := &req.Chunks[i]
		size += len(chunk.Data)
		if chunk.Lease == "" {
			f.name(problem.ItemField("chunks", i, "lease"), chunk.Lease, "a lease token")
		}
		if chunk.Stream != live.Stdout && chunk.Stream != live.Stderr {
			f.Add(problem.ItemField("chunks", i, "stream"), "expected stdout or stderr", string(chunk.Stream))
		}
		if chunk.Offset < 0 {
			f.positive(problem.ItemField("chunks", i, "offset"), chunk.Offset)
		}
	}
	if size > maxOutputBytes {
		f.Add("body.chunks", fmt.Sprintf("expected at most %d bytes of data together", maxOutputBytes), size)
	}
	return f.Problem()
}
