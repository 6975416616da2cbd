package suite

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/divvyhq/divvy/dispatcher"
	"github.com/divvyhq/divvy/dispatcher/job"

	"github.com/divvyhq/divvy/cmd/divvy-bench/wire"
)

// wholeLife is S3: whole lives over HTTP beside River's own bench.
func (s *stage) wholeLife(ctx context.Context, _ selection) error {
	floor, err := s.newRiver(ctx)
	if err != nil {
		return err
	}
	// In the end, not now: dropping a database writes out what all of them have changed.
	s.place.cleanup = append(s.place.cleanup, func(ctx context.Context) error { floor.remove(ctx); return nil })
	s.command(fmt.Sprintf("load process: divvy-bench-load, %d keep-alive connections of %d slots each, POST /v1/pulls %s, then %s and %s with all of its leases",
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
	result, err := s.lives(ctx, 1)
	if err != nil {
		return result, err
	}
	if result.Answers == 0 || result.Elapsed <= 0 {
		return result, &unmeasured{"no whole life over HTTP began after the warm-up of a round: " + tooShort}
	}
	n := s.missing(result.All)
	if n > 0 {
		s.say("generating %d jobs", n)
	}
	return result, s.refill(ctx, n)
}

// lives is a round of whole lives with so many renewals each, until all of it is in the tables, checked.
func (s *stage) lives(ctx context.Context, renews int) (outcome, error) {
	o := order{Mode: modeLife, Address: s.address(), WarmUp: warmUp(s.Round), Duration: s.Round, Most: int(enough * float64(s.Ready)), Renews: renews}
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
	return result, s.lived(ctx, claims)
}

// What a whole life may write, in bytes of WAL, and what may be left of it, in bytes of disk.
const (
	lifeWAL  = 600
	lifeDisk = 300
)

// lifeBytes is S11: the WAL of whole lives, with one renewal and with ten, and the disk of jobs that are over. Before each round there is one
// that does not count: pages that a checkpoint or the stage has left behind go into the WAL as a whole once.
func (s *stage) lifeBytes(ctx context.Context, _ selection) error {
	wal, disk := map[int][]float64{}, []float64{}
	for r := range s.Rounds {
		for _, renews := range []int{1, 10} {
			if _, err := s.lifeRound(ctx); err != nil {
				return err
			}
			s.say("round %d of %d: bytes of whole lives with %d renewals", r+1, s.Rounds, renews)
			before, err := s.place.bytes(ctx)
			if err != nil {
				return err
			}
			result, err := s.lives(ctx, renews)
			if err != nil {
				return err
			}
			after, err := s.place.bytes(ctx)
			if err != nil {
				return err
			}
			n := float64(max(1, result.All))
			wal[renews] = append(wal[renews], (after.WAL-before.WAL)/n)
			disk = append(disk, (after.History-before.History)/n+after.Job)
			if err := s.refill(ctx, s.missing(result.All)); err != nil {
				return err
			}
		}
	}
	if err := s.measured(ctx, "bytes of whole lives"); err != nil {
		return err
	}
	once, often := newSeries("WAL of a life with one renewal", "B", wal[1]), newSeries("WAL of a life with ten renewals", "B", wal[10])
	s.figure(atMost("S11", "wal_bytes_a_life", once.Median, lifeWAL, once))
	s.figure(atMost("S11", "wal_bytes_renewed_often", often.Median, lifeWAL, often))
	left := newSeries("disk of a job that is over, with its attempt", "B", disk)
	s.figure(atMost("S11", "disk_bytes_a_job", left.Median, lifeDisk, left))
	return nil
}

// lifeBytes is what was written by a moment.
type lifeBytes struct {
	WAL     float64
	History float64 // disk of attempts that are over, with their texts
	Job     float64 // disk of a job with its part of a block
}

func (p *place) bytes(ctx context.Context) (b lifeBytes, err error) {
	err = p.pool.QueryRow(ctx, query["life_bytes"]).Scan(&b.WAL, &b.History, &b.Job)
	return b, err
}

func lifeName(i int) string { return fmt.Sprint("life-", i) }

// lifeBody is what a pilot of 16 slots pulls with.
func (s *stage) lifeBody(i int) string {
	req := dispatcher.PullRequest{Queue: s.layout().queue(i), Pilot: lifeName(i), Node: fmt.Sprint("node", i),
		Slot: job.Slot{Cores: lifeSlots}, Max: lifeSlots, WaitS: 5}
	if s.RequestIDs {
		req.RequestID = fmt.Sprintf("%d-%d-%s", time.Now().UnixNano(), i, wire.IDPlace)
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
