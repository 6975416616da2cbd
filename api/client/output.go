package client

import (
	"context"
	"errors"
	"iter"
	"net/http"
	"strconv"
	"time"

	"github.com/divvyhq/divvy/api/wire"
)

// OutputQuery asks for what a job wrote.
type OutputQuery struct {
	Job     int64
	Attempt int           // only this one; 0 = the last one and those after it
	From    string        // the Next of the previous answer; empty = from the beginning
	Wait    time.Duration // for something to be written, up to 30 s
}

// Output returns what a job wrote since the previous answer.
func (j Jobs) Output(ctx context.Context, q OutputQuery) (wire.Output, error) {
	wait := ""
	if q.Wait > 0 {
		wait = strconv.FormatFloat(q.Wait.Seconds(), 'f', -1, 64)
	}
	return send[wire.Output](ctx, j.c, call{
		method: http.MethodGet, path: under(jobsPath, q.Job, "/output"), query: params("attempt", number(q.Attempt), "from", q.From, "wait", wait), repeat: true, wait: q.Wait,
	})
}

// followWait is how long one question of Follow waits.
const followWait = 20 * time.Second

// Follow goes through what a job writes, as it is written, until the job has ended; with an attempt, until that has. Each
// answer has a chunk, or another State or Attempt than the one before, or is the last one (Over). While no
// daemon answers it asks on, from where it was. It ends with an error if the daemon refuses the question, ctx ends, or no
// daemon answers the first question.
//
//	for out, err := range cl.Jobs().Follow(ctx, id, 0) {
//		if err != nil {
//			return err
//		}
//		for _, c := range out.Chunks {
//			os.Stdout.Write(c.Data) // c.Stream says which stream; c.Missed, how many bytes before it are lost
//		}
//	}
//	job, err := cl.Jobs().Get(ctx, id) // how it ended
func (j Jobs) Follow(ctx context.Context, id int64, attempt int) iter.Seq2[wire.Output, error] {
	return func(yield func(wire.Output, error) bool) {
		q := OutputQuery{Job: id, Attempt: attempt} // the first question does not wait: it shows the state
		var last wire.Output
		for try := 0; ; {
			out, err := j.Output(ctx, q)
			switch {
			case err != nil && ctx.Err() == nil && IsUnavailable(err) && q.From != "":
				if sleep(ctx, backoff(try, RetryAfter(err))) {
					try++
					continue
				}
				err = errors.Join(ctx.Err(), err)
				fallthrough
			case err != nil:
				yield(wire.Output{}, err)
				return
			}
			try, q.From, q.Wait = 0, out.Next, followWait
			if len(out.Chunks) > 0 || out.Over || out.State != last.State || out.Attempt != last.Attempt {
				if !yield(out, nil) || out.Over {
					return
				}
			}
			last = out
		}
	}
}
