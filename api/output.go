package api

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/divvyhq/divvy/api/pilots"
	"github.com/divvyhq/divvy/api/problem"
	"github.com/divvyhq/divvy/api/wire"
	"github.com/divvyhq/divvy/dispatcher"
	"github.com/divvyhq/divvy/dispatcher/lookup"
	"github.com/divvyhq/divvy/internal/live"
)

// outputs are the live outputs of the site. The leader has them: pilots and readers at other daemons are relayed to it.
type outputs struct {
	*live.Outputs
	relay *Relay
}

// Elsewhere has the leader take the chunks of a pilot, and waits until this daemon stops at the latest.
func (o outputs) Elsewhere(ctx context.Context, said pilots.Said) (live.OutputReply, bool) {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	defer context.AfterFunc(o.Open(), stop)()
	return askLead[live.OutputReply](ctx, o.relay, askOutputReport, said)
}

// report answers Elsewhere of another daemon.
func (o outputs) report(ctx context.Context, said pilots.Said) (live.OutputReply, error) {
	return live.OutputReply{Wanted: o.Wait(ctx, said.Pilot, said.Chunks, time.Duration(said.WaitS*float64(time.Second)))}, nil
}

// read asks the leader for the output of an attempt.
func (o outputs) read(ctx context.Context, q live.Question) live.Answer {
	if there, ok := askLead[live.Answer](ctx, o.relay, askOutput, q); ok {
		return there
	}
	return o.Read(ctx, q)
}

// outputPiece is how long a read waits before the job is looked at again.
const outputPiece = time.Second

type jobOutputInput struct {
	ID      int64   `path:"id" minimum:"1" doc:"Id of the job."`
	Attempt int     `query:"attempt" minimum:"1" maximum:"2147483647" doc:"Only this attempt; when absent, the last one and those after it."`
	From    string  `query:"from" doc:"The next of the previous answer; when absent, from the beginning, or the last MiB of each stream."`
	WaitS   float64 `query:"wait" minimum:"0" maximum:"30" doc:"Seconds to wait until something was written."`
}

// position is how far a reader is. Attempt 0: before the first one.
type position struct {
	attempt int
	from    [2]int64
}

func (p position) String() string { return fmt.Sprintf("%d.%d.%d", p.attempt, p.from[0], p.from[1]) }

// position reads the cursor.
func (in *jobOutputInput) position() (p position, err error) {
	if in.From != "" {
		if n, err := fmt.Sscanf(in.From, "%d.%d.%d", &p.attempt, &p.from[0], &p.from[1]); n != 3 || err != nil || min(int64(p.attempt), p.from[0], p.from[1]) < 0 || p.String() != in.From {
			var f problem.Faults
			f.Add("query.from", "expected the next of the previous answer", in.From)
			return p, f.Problem()
		}
	}
	if in.Attempt != 0 && in.Attempt != p.attempt {
		p = position{attempt: in.Attempt}
	}
	return p, nil
}

func (s *jobCalls) outputRoutes() {
	route(s.doc, huma.Operation{
		OperationID: "get-job-output", Method: http.MethodGet, Path: "/v1/jobs/{id}/output", Tags: []string{"jobs"}, Summary: "Follow what a job writes",
		Description: "What an attempt wrote to stdout and stderr since the previous answer, while it runs too. Ask again with from = next until over is true: then the job has ended and all was sent, " +
			"for a job of several attempts one attempt after the other. Of a running attempt the last MiB of each stream can be had; missed says how many bytes before a chunk cannot. " +
			"Of an ended attempt that was not followed the end is sent that is kept (stream tail), as GET /v1/jobs/{id}/log has it.",
	}, s.output)
}

// output is GET /v1/jobs/{id}/output.
func (s *jobCalls) output(ctx context.Context, in *jobOutputInput) (out wire.Output, err error) {
	p, err := in.position()
	until := time.Now().Add(time.Duration(in.WaitS * float64(time.Second)))
	for err == nil {
		var job dispatcher.JobRow
		if job, err = s.dispatcher.Job(ctx, in.ID); err != nil {
			break
		}
		wait := max(0, min(outputPiece, time.Until(until)))
		began := time.Now()
		if out, err = s.outputOf(ctx, job, in.Attempt, p, wait); err != nil || len(out.Chunks) > 0 || out.Over || out.Next != p.String() {
			break
		}
		if !time.Now().Before(until) {
			break
		}
		select {
		case <-time.After(wait - time.Since(began)): // of a job that does not run
		case <-s.outputs.Open().Done():
			until = began
		case <-ctx.Done():
			err = ctx.Err()
		}
	}
	return out, err
}

// outputOf is what there is of a job's output behind a position. only: of this attempt alone.
func (s *jobCalls) outputOf(ctx context.Context, job dispatcher.JobRow, only int, p position, wait time.Duration) (wire.Output, error) {
	if p.attempt == 0 && len(job.Attempts) > 0 {
		p.attempt = job.Attempts[len(job.Attempts)-1].Attempt
	}
	out := wire.Output{Job: job.ID, Attempt: p.attempt, State: job.State, Chunks: []wire.OutputPiece{}, Next: p.String()}
	a := attemptOf(job, p.attempt)
	if a == nil {
		out.Over = job.EndedAt != nil
		if out.Over && only != 0 {
			return out, fmt.Errorf("%w: job %d has no attempt %d", lookup.ErrNoAttempt, job.ID, only)
		}
		return out, nil
	}
	q := live.Question{Key: live.Key{Job: job.ID, Attempt: a.Attempt}, From: p.from, Wait: wait}
	if a.EndedAt == nil {
		q.Pilot = a.Pilot
	}
	got := s.outputs.read(ctx, q)
	for _, piece := range got.Pieces {
		at := &p.from[0]
		if piece.Stream == live.Stderr {
			at = &p.from[1]
		}
		out.Chunks = append(out.Chunks, wire.OutputPiece{Stream: string(piece.Stream), Offset: piece.Offset, Missed: piece.Offset - *at, Data: piece.Data})
		*at = piece.Offset + int64(len(piece.Data))
	}
	if out.Next = p.String(); a.EndedAt == nil || got.Known && !got.Ended {
		return out, nil
	}
	if !got.Ended {
		tail, err := s.dispatcher.JobLog(ctx, job.ID, a.Attempt)
		if err != nil && !errors.Is(err, lookup.ErrNoAttempt) {
			return out, err
		}
		if tail != "" {
			out.Chunks = append(out.Chunks, wire.OutputPiece{Stream: wire.Tail, Data: []byte(tail)})
		}
	}
	if out.Over = only != 0 || job.EndedAt != nil && attemptOf(job, a.Attempt+1) == nil; !out.Over {
		out.Next = position{attempt: a.Attempt + 1}.String()
	}
	return out, nil
}

func attemptOf(job dispatcher.JobRow, n int) *dispatcher.Attempt {
	for i := range job.Attempts {
		if job.Attempts[i].Attempt == n {
			return &job.Attempts[i]
		}
	}
	return nil
}
