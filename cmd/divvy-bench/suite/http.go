package suite

import (
	"context"
	"io"
	"net"
	"net/http"

	"github.com/go-chi/chi/v5"

	"github.com/divvyhq/divvy/api"
	"github.com/divvyhq/divvy/cmd/divvy-bench/figure"
	"github.com/divvyhq/divvy/cmd/divvy-bench/load"
	"github.com/divvyhq/divvy/cmd/divvy-bench/stage"
)

func note(rounds *figure.Rounds, name string, c stage.Round) {
	rounds.Add(name, "jobs/s", c.Rate())
}

// overHTTP is S2 and S4, and in a brief run S7: the claims of S2 are those without renewals then, and the ones before
// the snapshot of S6.
func overHTTP(ctx context.Context, r *run) error {
	empty, address, err := serveEmpty()
	if err != nil {
		return err
	}
	defer empty.Close()
	r.Book.Command("load process: divvy-bench-load, %d keep-alive connections, POST /v1/pulls %s", r.Pullers, r.PullOrder("", 0).Bodies[0])
	var beside *turns
	if r.Brief && r.chosen["S7"] {
		if beside, err = newTurns(ctx, r); err != nil {
			return err
		}
	}
	var rounds figure.Rounds
	for i := range r.Rounds {
		if r.chosen["S2"] {
			r.Book.Say("round %d of %d: empty handler", i+1, r.Rounds)
			if err := emptyRound(ctx, r, address, &rounds); err != nil {
				return err
			}
		}
		r.Book.Say("round %d of %d: claims over HTTP", i+1, r.Rounds)
		c, err := r.Claims(ctx, 0)
		if err != nil {
			return err
		}
		note(&rounds, "claims over HTTP", c)
		rounds.Add("p99 of a claim", "ms", c.P99)
		rounds.Add(r.Place.Effort(), "us", c.Effort)
		if beside != nil {
			if err := beside.round(ctx, i); err != nil {
				return err
			}
		}
	}
	if err := r.Measured(ctx, "claims over HTTP"); err != nil {
		return err
	}
	top := rounds.Of("claims over HTTP")
	if r.chosen["S2"] {
		f := rounds.Of("empty handler")
		r.Book.Add(figure.AtLeast("S2", "ratio", top.Median/f.Median, 0.5, top, f, rounds.Of("p99 of a claim"),
			rounds.Of("processor time of the empty handler a request")).With(rounds.Of(r.Place.Effort())))
	}
	if r.Brief {
		r.claims = &rounds
	}
	if beside != nil {
		if err := beside.end(ctx, top); err != nil {
			return err
		}
	}
	if !r.chosen["S4"] {
		return nil
	}
	if err := atHalf(ctx, r, top.Median/2); err != nil {
		return err
	}
	return wakes(ctx, r)
}

func emptyRound(ctx context.Context, r *run, address string, rounds *figure.Rounds) error {
	before := r.Place.Used()
	result, _, err := load.Do(ctx, r.Config.Load, r.PullOrder(address, 0))
	if err != nil {
		return err
	}
	if result.Answers == 0 {
		return figure.TooShort("the empty handler answered nothing after the warm-up of a round")
	}
	rounds.Add("empty handler", "requests/s", result.Rate())
	rounds.Add("processor time of the empty handler a request", "us", stage.Micros(r.Place.Used().Since(before).Own, result.All))
	return nil
}

// atHalf is the first half of S4: claims at half of the top rate.
func atHalf(ctx context.Context, r *run, rate float64) error {
	var rounds figure.Rounds
	for i := range r.Rounds {
		r.Book.Say("round %d of %d: half of the top rate", i+1, r.Rounds)
		c, err := r.Claims(ctx, rate)
		if err != nil {
			return err
		}
		rounds.Add("p99 of a claim at half of the top rate", "ms", c.P99)
		rounds.Add("p50", "ms", c.P50)
		note(&rounds, "rate", c)
	}
	if err := r.Measured(ctx, "half of the top rate"); err != nil {
		return err
	}
	slow := rounds.Of("p99 of a claim at half of the top rate")
	r.Book.Add(figure.AtMost("S4", "claim_p99_ms", slow.Median, 10, slow, rounds.Of("p50"), rounds.Of("rate")))
	return nil
}

// serveEmpty is the floor of S2: a chi handler that reads the body and answers a constant JSON document, with the deadlines of
// the daemon's own server.
func serveEmpty() (io.Closer, string, error) {
	mux := chi.NewMux()
	mux.Post("/v1/pulls", func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header()["Content-Type"] = []string{"application/json"}
		_, _ = io.WriteString(w, `{"leases":[],"renew_after_s":60}`)
	})
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, "", err
	}
	srv := api.NewServer(mux, nil)
	go func() { _ = srv.Serve(l) }() // until Close
	return srv.Server, l.Addr().String(), nil
}
