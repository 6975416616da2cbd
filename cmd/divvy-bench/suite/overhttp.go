package suite

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"github.com/go-chi/chi/v5"

	"github.com/divvyhq/divvy/api"
	"github.com/divvyhq/divvy/dispatcher"
	"github.com/divvyhq/divvy/dispatcher/job"

	"github.com/divvyhq/divvy/cmd/divvy-bench/wire"
)

// address is host:port of the daemon.
func (s *stage) address() string { return strings.TrimPrefix(s.served.URL, "http://") }

// overHTTP is S2 and S4, and in a brief run S7: the claims of S2 are those without renewals then, and the ones before
// the snapshot of S6.
func (s *stage) overHTTP(ctx context.Context, chosen selection) error {
	empty, err := serveEmpty()
	if err != nil {
		return err
	}
	defer empty.Close()
	s.command(fmt.Sprintf("load process: divvy-bench-load, %d keep-alive connections, POST /v1/pulls %s", s.Pullers, s.body(0)))
	var beside *renewTurns
	if s.Brief && chosen["S7"] {
		if beside, err = s.newRenewTurns(ctx); err != nil {
			return err
		}
	}
	var floors, bare []float64
	var claims claimRounds
	for r := range s.Rounds {
		if chosen["S2"] {
			s.say("round %d of %d: empty handler", r+1, s.Rounds)
			before := s.used()
			result, _, err := s.runLoad(ctx, s.pullOrder(empty.Addr, 0))
			if err != nil {
				return err
			}
			if result.Answers == 0 {
				return &unmeasured{"the empty handler answered nothing after the warm-up of a round: " + tooShort}
			}
			floors = append(floors, float64(result.Answers)/result.Elapsed.Seconds())
			bare = append(bare, micros(s.used().since(before).own, result.All))
		}
		s.say("round %d of %d: claims over HTTP", r+1, s.Rounds)
		result, err := s.claimsOverHTTP(ctx, 0)
		if err != nil {
			return err
		}
		claims.add(result)
		if err := beside.round(ctx, r); err != nil {
			return err
		}
	}
	if err := s.measured(ctx, "claims over HTTP"); err != nil {
		return err
	}
	top := newSeries("claims over HTTP", "jobs/s", claims.rates)
	if chosen["S2"] {
		f := newSeries("empty handler", "requests/s", floors)
		s.figure(atLeast("S2", "ratio", top.Median/f.Median, 0.5, top, f, newSeries("p99 of a claim", "ms", claims.p99s),
			newSeries("processor time of the empty handler a request", "us", bare)).with(s.effort(claims.efforts)))
	}
	if err := s.shareRounds(ctx, claims, beside); err != nil || !chosen["S4"] {
		return err
	}
	if err := s.atHalf(ctx, top.Median/2); err != nil {
		return err
	}
	return s.wakes(ctx)
}

// shareRounds hands the rounds of a brief run on to S6 and, if it is measured, S7.
func (s *stage) shareRounds(ctx context.Context, claims claimRounds, beside *renewTurns) error {
	if s.Brief {
		s.before = claims
	}
	if beside == nil {
		return nil
	}
	beside.got.without = claims.rates
	return beside.end(ctx)
}

// atHalf is the first half of S4: claims at half of the top rate.
func (s *stage) atHalf(ctx context.Context, rate float64) error {
	var p99, p50, rates []float64
	for r := range s.Rounds {
		s.say("round %d of %d: half of the top rate", r+1, s.Rounds)
		result, err := s.claimsOverHTTP(ctx, rate)
		if err != nil {
			return err
		}
		p50, p99 = append(p50, result.P50), append(p99, result.P99)
		rates = append(rates, float64(result.Answers)/result.Elapsed.Seconds())
	}
	if err := s.measured(ctx, "half of the top rate"); err != nil {
		return err
	}
	slow := newSeries("p99 of a claim at half of the top rate", "ms", p99)
	s.figure(atMost("S4", "claim_p99_ms", slow.Median, 10, slow, newSeries("p50", "ms", p50), newSeries("rate", "jobs/s", rates)))
	return nil
}

// claimsOverHTTP is one round of the daemon under load, checked, and the data set restored.
func (s *stage) claimsOverHTTP(ctx context.Context, rate float64) (outcome, error) {
	result, err := s.claimsServed(ctx, rate)
	if err != nil {
		return result, err
	}
	return result, s.restore(ctx)
}

// claimsServed is the same with the claims left open.
func (s *stage) claimsServed(ctx context.Context, rate float64) (outcome, error) {
	s.profile.On()
	before := s.used()
	result, claims, err := s.runLoad(ctx, s.pullOrder(s.address(), rate))
	s.profile.Off()
	if err != nil {
		return result, err
	}
	if err := s.level(ctx); err != nil {
		return result, err
	}
	spent := s.used().since(before)
	result.Effort = micros(spent.own+spent.postgres, result.All)
	if result.All != len(claims) {
		return result, &CheckError{[]error{fmt.Errorf("%d answers with %d leases", result.All, len(claims))}}
	}
	if err := s.took(ctx, claims); err != nil {
		return result, err
	}
	if result.Answers == 0 {
		return result, &unmeasured{"no claim over HTTP began after the warm-up of a round: " + tooShort}
	}
	return result, nil
}

// pullOrder is claims on all connections for a round.
func (s *stage) pullOrder(address string, rate float64) order {
	o := order{Mode: modePull, Address: address, WarmUp: warmUp(s.Round), Duration: s.Round, Rate: rate, Most: int(enough * float64(s.Ready))}
	for i := range s.Pullers {
		o.Bodies = append(o.Bodies, s.body(i))
	}
	return o
}

// body is what a pilot sends.
func (s *stage) body(i int) string { return s.bodyThatWaits(i, 5) }

// bodyThatWaits is one of a pilot that waits so many seconds for a job.
func (s *stage) bodyThatWaits(i int, wait float64) string {
	req := dispatcher.PullRequest{Queue: s.layout().queue(i), Pilot: fmt.Sprint("p", i), Node: fmt.Sprint("node", i/8),
		Slot: job.Slot{Cores: 1}, Max: 1, WaitS: wait}
	if s.RequestIDs {
		req.RequestID = fmt.Sprintf("%d-%d-%s", time.Now().UnixNano(), i, wire.IDPlace)
	}
	text, err := json.Marshal(req)
	if err != nil {
		panic(err) // a struct of ours
	}
	return string(text)
}

// runLoad runs the load process to its end.
func (s *stage) runLoad(ctx context.Context, o order) (result outcome, claims []claim, err error) {
	l, err := s.startLoad(ctx, o)
	if err != nil {
		return result, nil, err
	}
	result, err = l.read(func(c claim, _ time.Time) { claims = append(claims, c) })
	return result, claims, err
}

// loader is a load process that runs.
type loader struct {
	cmd *exec.Cmd
	in  io.WriteCloser // closing it ends a load that waits
	out io.Reader
}

func (s *stage) startLoad(ctx context.Context, o order) (l *loader, err error) {
	text, err := json.Marshal(o)
	if err != nil {
		return nil, err
	}
	l = &loader{cmd: exec.CommandContext(ctx, s.cfg.LoadCommand[0], s.cfg.LoadCommand[1:]...)}
	l.cmd.Stderr = os.Stderr
	if l.in, err = l.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	if l.out, err = l.cmd.StdoutPipe(); err != nil {
		return nil, err
	}
	if err := l.cmd.Start(); err != nil {
		return nil, fmt.Errorf("load process: %w", err)
	}
	if _, err := l.in.Write(append(text, '\n')); err != nil {
		return nil, fmt.Errorf("load process: %w", errors.Join(err, l.cmd.Wait()))
	}
	return l, nil
}

// read calls each with every claim and returns the outcome when the process has ended.
func (l *loader) read(each func(c claim, at time.Time)) (result outcome, err error) {
	lines := bufio.NewScanner(l.out)
	said := false
	for lines.Scan() {
		text := lines.Text()
		if f := strings.Fields(text); len(f) >= 3 && f[0] == "c" {
			job, _ := strconv.ParseInt(f[1], 10, 64)
			var nanos int64
			if len(f) > 3 {
				nanos, _ = strconv.ParseInt(f[3], 10, 64)
			}
			each(claim{job, f[2]}, time.Unix(0, nanos))
		} else if rest, ok := strings.CutPrefix(text, "r "); ok {
			said = true
			if err := json.Unmarshal([]byte(rest), &result); err != nil {
				return result, fmt.Errorf("load process: %w", err)
			}
		}
	}
	err = errors.Join(lines.Err(), l.cmd.Wait())
	switch {
	case result.Error != "":
		err = fmt.Errorf("load process: %s", result.Error)
	case err == nil && !said:
		err = errors.New("load process: ended without an outcome")
	}
	return result, err
}

// emptyServer is the floor of S2.
type emptyServer struct {
	*http.Server
	Addr string
}

// serveEmpty serves a chi handler that reads the body and answers a constant JSON document, with the deadlines of
// the daemon's own server.
func serveEmpty() (*emptyServer, error) {
	mux := chi.NewMux()
	mux.Post("/v1/pulls", func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header()["Content-Type"] = []string{"application/json"}
		_, _ = io.WriteString(w, `{"leases":[],"renew_after_s":60}`)
	})
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	srv := api.NewServer(mux, nil)
	go func() { _ = srv.Serve(l) }() // until Close
	return &emptyServer{srv.Server, l.Addr().String()}, nil
}
