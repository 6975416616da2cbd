package dispatcher

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/divvyhq/divvy/internal/pg"
	"github.com/divvyhq/divvy/shares"
)

// pickRecord is the record of one decision: who got the slot, who was next, and how both stood. See shares.Contest for
// what the deficits are.
type pickRecord struct {
	at              time.Time
	job             int64
	queue           shares.QueueID
	share           shares.ShareID
	runnerUp        shares.ShareID // 0: nobody else had a job for the slot
	deficit         float32        // units
	runnerUpDeficit float32
	candidates      int32
	weight          int32 // it stands for so many decisions
	units           shares.Units
	round           shares.Units // R
	asked           asked
	version         int64
	number          int64 // which decision of the daemon it was
	kind            int64 // of the slot, as the diary has it
	shape           int32
	unfit           int32 // leaves with ready jobs of which none fits the slot
	barred          int32 // leaves that a limit keeps back
	floor           bool  // the winner came before its turn, since the queue has a floor for it
	attempt         int32
	levels          []float32 // deficits of the winner's path, in units: from the top level down to the share
	skipped         []skip    // the first of those that stood before the winner

	// Known when the grant has committed: its ledger row.
	daemon int64
	lane   int16
	seq    int64
}

// asked is what the pull has left to ask for.
type asked struct {
	pull  int64 // its number at this daemon
	cores int   // of the slot
	most  int   // jobs
}

// countOpen notes that a window of a leaf has something to give from now on, or not any more.
func (s *state) countOpen(leaf int, is bool) {
	l := &s.leaves[leaf]
	if is {
		if l.nOpen++; l.nOpen == 1 {
			s.nOpen++
		}
	} else if l.nOpen--; l.nOpen == 0 {
		s.nOpen--
	}
}

// note makes the record of a pick that was just made and not counted yet; nil when the sample leaves it out, which
// costs a counter, and ends the chapter of the diary. The second walk is taken for those in the sample only.
func (s *state) note(of *contenders, r shares.Units, q *queue, found choice, a asked) *pickRecord {
	weight := s.sample.next()
	if weight != 1 {
		s.diary.breakOff(notRecorded)
	}
	if weight == 0 {
		return nil
	}
	of.tell(&s.diary)
	c, _ := of.pool.book.Contest(r, &of.leaves)
	job := found.job
	if job == nil {
		job = &found.window.jobs[0]
	}
	e := &pickRecord{at: time.Now(), job: job.id, attempt: job.attempt, queue: q.ID, weight: int32(weight), units: found.units, round: r,
		candidates: int32(of.leaves.Len()), asked: a, version: s.version.Number, number: s.diary.number + 1, kind: of.kind,
		shape: found.window.key.shape, barred: int32(of.nKept())}
	e.unfit = max(0, int32(s.nOpen)-e.candidates-e.barred)
	if e.unfit+e.barred > 0 {
		e.skipped = s.skippedBefore(of, c.Winner)
	}
	if leaf := found.window.leaf; leaf != c.Winner { // it was owed the slot, or has a floor: the winner comes second
		e.kind, e.floor = -of.kind, found.floor
		c = of.owedBefore(r, leaf, c)
	} else if found.gang { // of its jobs only the first comes by itself
		e.kind = -of.kind
	}
	nodes := s.version.Tree.Nodes
	e.share, e.deficit, e.levels = nodes[c.Winner].ID, float32(c.Deficit/1000), s.levels(of.pool, c.Winner)
	if c.RunnerUp >= 0 {
		e.runnerUp, e.runnerUpDeficit = nodes[c.RunnerUp].ID, float32(c.RunnerUpDeficit/1000)
	}
	return e
}

// levels are the deficits of the winner's path in the contest that was just held.
func (s *state) levels(of *pool, winner int) []float32 {
	s.scratch.trail = of.book.Trail(winner, s.scratch.trail[:0])
	levels := make([]float32, len(s.scratch.trail))
	for i, thousandths := range s.scratch.trail {
		levels[i] = float32(thousandths / 1000)
	}
	return levels
}

// owedBefore is the contest of a leaf that was given its due with who would have won: deficits are those where their paths
// part, as ever.
func (c *contenders) owedBefore(r shares.Units, leaf int, won shares.Contest) shares.Contest {
	var two shares.Contenders
	c.pool.book.Contend(&two, leaf, true)
	c.pool.book.Contend(&two, won.Winner, true)
	due, _ := c.pool.book.Contest(r, &two)
	if due.Winner != leaf {
		due.Deficit, due.RunnerUpDeficit = due.RunnerUpDeficit, due.Deficit
	}
	due.Winner, due.RunnerUp = leaf, won.Winner
	return due
}

// Bounds of what waits to be written, and of a row. Where all are recorded there is room for some seconds at the rate that
// a daemon can reach; of a sample a row has a second's.
const (
	mostRecords    = 16 * decisionsPerSecond
	mostRecordsAll = 1 << 18
	rowRecords     = decisionsPerSecond
)

// records are decisions that committed and are not written yet.
type records struct {
	writing sync.Mutex // one Record at a time; what it writes stays at the head until it is written
	mu      sync.Mutex
	waiting []pickRecord
	most    int   // that may wait
	nth     int64 // rows of the diary that were written, by the daemon of
	of      int64
}

// keepNotes takes over the records of a batch whose row in the ledger is the lane's last. Those of grants that took
// nothing are forgotten.
func (d *Dispatcher) keepNotes(l *lane, b leaseBatch, took func(nonce int64) bool) {
	rs := &d.records
	rs.mu.Lock()
	defer rs.mu.Unlock()
	for _, p := range b.pulls {
		for _, g := range p.grants {
			if g.note == nil || !took(g.nonce) {
				continue
			}
			if len(rs.waiting) >= max(rs.most, mostRecords) {
				d.metrics.unwritten.Inc()
				continue
			}
			g.note.daemon, g.note.lane, g.note.seq = l.daemon, int16(l.no), l.seq
			rs.waiting = append(rs.waiting, *g.note)
		}
	}
}

// head is what fits into the next row: of one daemon and version.
func (rs *records) head() []pickRecord {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	n := 0
	for n < min(len(rs.waiting), rowRecords) && rs.waiting[n].daemon == rs.waiting[0].daemon && rs.waiting[n].version == rs.waiting[0].version {
		n++
	}
	return rs.waiting[:n:n]
}

func (rs *records) drop(n int) {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	if rs.waiting = rs.waiting[n:]; len(rs.waiting) == 0 {
		rs.waiting = nil
	}
}

// Record writes the decisions that were committed since the last time, and what the daemon took into account beside
// them, and returns how many decisions: all of them up to a thousand a second, above that, unless Config.RecordAll is
// set, a uniform sample of about as many, in which each record says how many grants it stands for.
// They are in memory until then, so a daemon that is killed takes the last second's with it. While the
// database is away they wait; beyond sixteen seconds' worth they are dropped and counted. No record is written twice:
// those of a row whose fate is unknown are dropped as well.
func (d *Dispatcher) Record(ctx context.Context) (n int, err error) {
	rs := &d.records
	rs.writing.Lock()
	defer rs.writing.Unlock()
	now := time.Now()
	d.mu.Lock()
	d.state.sample.begin(now)
	diary := diaryPage{daemon: d.id, entries: d.takeDiary(now)}
	d.mu.Unlock()
	if err := d.writeDiary(ctx, diary); err != nil {
		return 0, fmt.Errorf("record what was counted: %w", err)
	}
	for {
		row := rs.head()
		if len(row) == 0 {
			return n, nil
		}
		if err := ctx.Err(); err != nil {
			return n, err // Close writes the rest
		}
		err := d.onDay(ctx, func() error { return d.writeRecords(ctx, row) })
		switch {
		case err == nil:
			n += len(row)
			rs.drop(len(row))
		case uncertain(err) && !errors.Is(err, errNotSent) && !pgconn.SafeToRetry(err):
			rs.drop(len(row))
			d.metrics.unwritten.Add(float64(len(row)))
			fallthrough
		default:
			return n, fmt.Errorf("record decisions: %w", err)
		}
	}
}

// onDay writes into a table that is partitioned by day, and makes the day where it is not there yet.
func (d *Dispatcher) onDay(ctx context.Context, write func() error) error {
	err := write()
	if pg.Code(err) != pg.CodeCheckViolation {
		return err
	}
	if _, err := d.Partition(ctx); err != nil {
		return err
	}
	return write()
}

// errNotSent: the records are still ours alone.
var errNotSent = errors.New("no connection")

// write runs a statement that must not be repeated when it is unknown whether it was executed. Therefore it is not
// interrupted either: a daemon that stops would lose what it was just writing.
func (d *Dispatcher) write(ctx context.Context, verb string, args pgx.StrictNamedArgs) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), d.cfg.Timing.Statement)
	defer cancel()
	conn, err := d.cfg.Pool.Acquire(ctx)
	if err != nil {
		return fmt.Errorf("%w: %w", errNotSent, err)
	}
	defer conn.Release()
	_, err = conn.Exec(ctx, query[verb], args)
	return err
}
