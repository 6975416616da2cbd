package bench

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/divvyhq/divvy/dispatcher"
	"github.com/divvyhq/divvy/dispatcher/job"
)

// wholeLife is S3: whole lives over HTTP beside River's own bench.
func (s *stage) wholeLife(ctx context.Context, _ selection) error {
	floor, err := s.newRiver(ctx)
	if err != nil {
		return err
	}
	// In the end, not now: dropping a database writes out what all of them have changed.
	s.place.cleanup = append(s.place.cleanup, func(ctx context.Context) error { floor.remove(ctx); return nil })
	s.command(fmt.Sprintf("load process: divvy bench-load, %d keep-alive connections of %d slots each, POST /v1/pulls %s, then %s and %s with all of its leases",
		s.lifePilots(), lifeSlots, s.lifeBody(0), pathRenew, pathFinish))
	var floors, rates, slow, efforts []float64
	for r := range s.Rounds {
		s.say("round %d of %d: River", r+1, s.Rounds)
		rate, err := floor.measure(ctx)
		if err != nil {
			return err
		}
		floors = append(floors, rate)
		s.say("round %d of %d: whole lives over HTTP", r+1, s.Rounds)
		result, err := s.lifeRound(ctx)
		if err != nil {
			return err
		}
		rates, slow = append(rates, float64(result.Answers)/result.Elapsed.Seconds()), append(slow, result.P99)
		efforts = append(efforts, result.Effort)
	}
	if err := s.measured(ctx, "whole lives over HTTP"); err != nil {
		return err
	}
	top, f := newSeries("whole lives over HTTP", "jobs/s", rates), newSeries("River "+floor.version, "jobs/s", floors)
	s.figure(atLeast("S3", "ratio", top.Median/f.Median, 1.5, top, f, newSeries("p99 from a pull to its last verdict", "ms", slow)).with(s.effort(efforts)))
	return nil
}

// lifePilots is how many pilots there are: four times fewer than pullers elsewhere, with four times as many jobs.
// With 64 of them about a thousand jobs are held at a time, half of what River's workers hold.
func (s *stage) lifePilots() int { return max(1, s.Pullers/4) }

// lifeRound is one round, checked, with the data set restored.
func (s *stage) lifeRound(ctx context.Context) (outcome, error) {
	o := order{Mode: modeLife, Address: s.address(), WarmUp: warmUp(s.Round), Duration: s.Round, Most: int(enough * float64(s.Ready))}
	for i := range s.lifePilots() {
		o.Bodies, o.Pilots = append(o.Bodies, s.lifeBody(i)), append(o.Pilots, lifeName(i))
	}
	before := s.used()
	result, claims, err := s.runLoad(ctx, o)
	if err != nil {
		return result, err
	}
	if err := s.level(ctx); err != nil {
		return result, err
	}
	spent := s.used().since(before)
	result.Effort = micros(spent.own+spent.postgres, result.All)
	if result.All != len(claims) {
		return result, &CheckError{[]error{fmt.Errorf("%d jobs finished, %d named", result.All, len(claims))}}
	}
	if err := s.lived(ctx, claims); err != nil {
		return result, err
	}
	if result.Answers == 0 || result.Elapsed <= 0 {
		return result, &unmeasured{"no whole life over HTTP began after the warm-up of a round: " + tooShort}
	}
	n := s.missing(len(claims))
	if n > 0 {
		s.say("generating %d jobs", n)
	}
	return result, s.refill(ctx, n)
}

func lifeName(i int) string { return fmt.Sprint("life-", i) }

// lifeBody is what a pilot of 16 slots pulls with.
func (s *stage) lifeBody(i int) string {
	req := dispatcher.PullRequest{Queue: s.layout().queue(i), Pilot: lifeName(i), Node: fmt.Sprint("node", i),
		Slot: job.Slot{Cores: lifeSlots}, Max: lifeSlots, WaitS: 5}
	if s.RequestIDs {
		req.RequestID = fmt.Sprintf("%d-%d-%s", time.Now().UnixNano(), i, idPlace)
	}
	text, err := json.Marshal(req)
	if err != nil {
		panic(err) // a struct of ours
	}
	return string(text)
}

// lived checks jobs whose life is over: none was claimed before, and all are recorded as finished.
func (s *stage) lived(ctx context.Context, claims []claim) error {
	jobs, wrong := s.firstTime(claims)
	if err := s.level(ctx); err != nil {
		return err
	}
	var n int
	if err := s.place.pool.QueryRow(ctx, query["check_finished"], pgx.StrictNamedArgs{"jobs": jobs}).Scan(&n); err != nil {
		return err
	}
	if n != len(jobs) {
		wrong = append(wrong, fmt.Errorf("%d of %d jobs are recorded as finished by their first attempt", n, len(jobs)))
	}
	if len(wrong) > 0 {
		return &CheckError{wrong}
	}
	return nil
}
