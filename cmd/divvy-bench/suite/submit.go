package suite

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/divvyhq/divvy/api/client"

	"github.com/divvyhq/divvy/cmd/divvy-bench/wire"
)

// submit is a task with streamed inputs, from the first request to the answer of the commit.
func (o order) submit(ctx context.Context) (outcome, error) {
	cl, err := client.New(client.Config{URL: "http://" + o.Address, UserAgent: "divvy-bench"})
	if err != nil {
		return outcome{}, err
	}
	defer cl.Close()
	began := time.Now()
	spec := work(o.Share, shapes[0], 0)
	spec.InputsStreamed = true
	spec.Command = []string{"/bin/reconstruct", "--input", "{{.Input}}"}
	task, err := cl.Submit(ctx, spec, "")
	if err != nil {
		return outcome{}, err
	}
	r := outcome{Task: task.ID}
	if _, err := cl.SendInputs(ctx, task.ID, 0, &wire.InputNames{N: o.Inputs}, nil); err != nil {
		return r, err
	}
	if _, err := cl.Commit(ctx, task.ID); err != nil {
		return r, err
	}
	r.Elapsed = time.Since(began)
	return r, nil
}

// bulk is what is left of S8 after the loading of the data set.
func (s *stage) bulk(ctx context.Context, _ selection) error {
	if err := s.submissions(ctx); err != nil {
		return err
	}
	return s.supply(ctx)
}

// submissions is the second part of S8.
func (s *stage) submissions(ctx context.Context) error {
	var took []float64
	s.command(fmt.Sprintf("load process: one task, %d inputs in chunks of the Go client (10,000 a request, one after the other), commit", s.Inputs))
	for r := range s.Submits {
		s.say("round %d of %d: submission of %d inputs", r+1, s.Submits, s.Inputs)
		result, _, err := s.runLoad(ctx, order{Mode: modeSubmit, Address: s.address(), Share: s.leaves[0].path, Inputs: s.Inputs})
		if err != nil {
			return err
		}
		var stored int64
		if err := s.place.pool.QueryRow(ctx, query["stored_inputs"], pgx.StrictNamedArgs{"task": result.Task}).Scan(&stored); err != nil {
			return err
		}
		if stored != int64(s.Inputs) {
			return &CheckError{[]error{fmt.Errorf("%d of %d inputs are stored", stored, s.Inputs)}}
		}
		took = append(took, result.Elapsed.Seconds())
		if err := s.kill(ctx, result.Task); err != nil {
			return err
		}
	}
	if err := s.measured(ctx, "submissions"); err != nil {
		return err
	}
	series := newSeries(fmt.Sprintf("submission of %d inputs", s.Inputs), "s", took)
	// The target is that of a million; fewer inputs have as much less time.
	s.figure(atMost("S8", "submit_"+count(s.Inputs)+"_s", series.Median, 10*float64(s.Inputs)/1e6, series))
	return nil
}

// count writes 1000000 as 1M.
func count(n int) string {
	switch {
	case n%1_000_000 == 0:
		return fmt.Sprintf("%dM", n/1_000_000)
	case n%1000 == 0:
		return fmt.Sprintf("%dk", n/1000)
	}
	return fmt.Sprint(n)
}

// kill ends a task and waits until it is over: the generator has begun on it.
func (s *stage) kill(ctx context.Context, task int64) error {
	if _, err := s.gen.Kill(ctx, task); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	for {
		t, err := s.gen.Task(ctx, task)
		if err != nil {
			return err
		}
		if t.State == "aborted" {
			return nil
		}
		select {
		case <-ctx.Done():
			return errors.New("the task that was killed does not end within a minute")
		case <-time.After(100 * time.Millisecond):
		}
	}
}
