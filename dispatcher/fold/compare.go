package fold

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/divvyhq/divvy/dispatcher/entry"
	"github.com/divvyhq/divvy/shares"
)

// Difference is a row that a table should have, or should not.
type Difference struct {
	Table  string
	IsMore bool   // the table has it; false: it lacks it
	Row    string // without the secrets of leases
}

// String says it in a line.
func (d Difference) String() string {
	if d.IsMore {
		return fmt.Sprintf("%s has %s, which the log does not tell", d.Table, d.Row)
	}
	return fmt.Sprintf("%s lacks %s", d.Table, d.Row)
}

// comparedPage is how many batches Compare reads at once.
const comparedPage = 500

// mostDifferences bounds what Compare returns of a table.
const mostDifferences = 20

// Compare folds the log from its first batch in memory and returns where the tables differ from that, at most twenty rows a table.
// Of history it compares what a task has in a day. ledger.ErrDropped when the log does not have its beginning any more. Its memory is
// that of the live jobs, the tasks and the rows of usage.
func (f *Folder) Compare(ctx context.Context) ([]Difference, error) { return f.compare(ctx, nil) }

func (f *Folder) compare(ctx context.Context, since *Since) ([]Difference, error) {
	tx, err := f.db.BeginTx(ctx, pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly})
	if err != nil {
		return nil, fmt.Errorf("compare the fold: %w", err)
	}
	defer tx.Rollback(ctx)
	p, err := position(ctx, tx)
	if err != nil {
		return nil, err
	}
	c := comparison{tx: tx, step: newStep(Known{Users: map[int64]string{}, Cores: map[int32]int64{}}), days: map[dayTask]digest{}, nodes: usages{}}
	if err := tx.QueryRow(ctx, query["rolled"]).Scan(&c.rolled); err != nil {
		return nil, fmt.Errorf("compare the fold: %w", err)
	}
	if err := c.begin(ctx, f, since); err != nil {
		return nil, fmt.Errorf("compare the fold: %w", err)
	}
	if err := c.replay(ctx, f, p); err != nil {
		return nil, fmt.Errorf("compare the fold: %w", err)
	}
	if err := c.tables(ctx); err != nil {
		return nil, fmt.Errorf("compare the fold: %w", err)
	}
	return c.found, nil
}

// comparison is a Compare.
type comparison struct {
	tx    pgx.Tx
	step  *step
	days  map[dayTask]digest
	nodes usages
	begun

	rolled time.Time
	found  []Difference
}

// dayTask is a part of history.
type dayTask struct {
	dayMS int64
	task  int64
}

// digest is of attempts in any order.
type digest struct {
	n    int64
	hash uint64
}

func (d digest) with(a Attempt) digest {
	h := fnv.New64a()
	fmt.Fprint(h, a.Job, a.Nonce, a.Task, a.Units, a.GrantedAt.UnixMicro(), a.EndedAt.UnixMicro(), a.CPUMilli, a.Attempt, a.Share, a.Shape,
		a.Queue, a.StartDelayMS, a.ExitCode, a.MemoryMB, a.Outcome, a.State, len(a.Pilot), a.Pilot, a.Node)
	return digest{d.n + 1, d.hash + h.Sum64()}
}

func (c *comparison) add(days map[dayTask]digest, a Attempt) {
	a, ok := c.attempt(a)
	if !ok {
		return
	}
	key := dayTask{floor(a.EndedAt.UnixMilli(), dayMS), a.Task}
	days[key] = days[key].with(a)
}

// replay folds the log up to a batch.
func (c *comparison) replay(ctx context.Context, f *Folder, p Position) error {
	last := c.from
	if last.Seq > p.Seq || last.Seq == p.Seq && last.ID != p.ID {
		return ErrElsewhere
	}
	for last.Seq < p.Seq {
		batches, err := f.batches(ctx, last.Seq, int(min(comparedPage, p.Seq-last.Seq)))
		if err != nil {
			return err
		}
		if len(batches) == 0 {
			break
		}
		if last.Seq == c.from.Seq && batches[0].After != last.ID {
			return ErrElsewhere
		}
		for _, b := range batches {
			c.step.batch(b)
			last = Position{b.Seq, b.ID, b.At}
		}
		for _, a := range c.step.history {
			c.add(c.days, a)
			u := a.nodeUsage(c.step.known.Cores[a.Shape])
			switch {
			case c.isOld(a.GrantedAt):
				c.unknown[u.UsageKey] = true
			case a.EndedAt.Before(c.rolled):
				c.nodes.of(u.UsageKey).add(u)
			}
		}
		c.step.history, c.step.ended = nil, nil // over stays: ranges of it are as few as the verbs
	}
	if last.Seq != p.Seq || last.ID != p.ID {
		return ErrDiverged
	}
	return nil
}

func (c *comparison) tables(ctx context.Context) error {
	want := c.step.changes()
	sums := want.Sums
	held, err := c.held(ctx, want.Granted)
	return cmp.Or(err, // after a failure none of the others reads anything
		compareRows(ctx, c, "held", held, func(r *row) Holding { return c.holding(r.lease(), c.moves) }, all),
		compareRows(ctx, c, "idle_ranges", want.Ranges.Added, (*row).idle, all),
		compareRows(ctx, c, "over_ranges", want.Over, (*row).overRange, func(o Over) (Over, bool) { return o, c.isNew(o.Nth) }),
		compareRows(ctx, c, "kills", want.Tasks.Kills, (*row).kill, func(k Kill) (Kill, bool) { return k, c.isNew(k.Nth) }),
		compareRows(ctx, c, "moves", want.Tasks.Moves, (*row).move, func(m Move) (Move, bool) { return m, c.isNew(m.Nth) }),
		compareRows(ctx, c, "paused_tasks", want.Tasks.Paused, (*row).int64, all),
		compareTexts(ctx, c, "claims", want.Claims.Rows, (*row).claim, c.claim),
		compareTexts(ctx, c, "claim_parties", want.Claims.Parties, (*row).party, c.party),
		compareRows(ctx, c, "claim_jobs", want.Claims.Spans, (*row).partySpan, c.span),
		compareRows(ctx, c, "task_counts", sums.Tasks, (*row).taskCount, c.taskCount),
		compareRows(ctx, c, "share_counts", sums.Shares, (*row).shareCount, all),
		compareRows(ctx, c, "end_counts", sums.Ends, (*row).endCount, func(e EndCount) (EndCount, bool) { return e, c.isAfter(e.HourMS, hourMS) }),
		compareRows(ctx, c, "hour_usage", sums.Hours, (*row).usage, func(u Usage) (Usage, bool) { return u, c.isAfter(u.AtMS, hourMS) }),
		compareRows(ctx, c, "day_usage", sums.Days, (*row).usage, c.dayUsage),
		compareRows(ctx, c, "task_usage", sums.TaskUsage, (*row).usage, c.dayUsage),
		compareRows(ctx, c, "node_usage", c.nodes.list(), (*row).usage, c.nodeUsage),
		compareRows(ctx, c, "expected", expectedOf(want.Expected), (*row).expected, all),
		compareRows(ctx, c, "latest", want.Latest, (*row).latestAsWritten, c.latest(want.Latest)),
		c.history(ctx),
	)
}

// all compares all of a row, whatever is known of it.
func all[R any](r R) (R, bool) { return r, true }

// compareTexts is compareRows for rows that have lists. A row of which nothing is known has no text.
func compareTexts[R any](ctx context.Context, c *comparison, table string, want []R, read func(*row) R, known func(R) string) error {
	return compareRows(ctx, c, table, list(want, known), func(r *row) string { return known(read(r)) }, func(text string) (string, bool) { return text, text != "" })
}

// compareRows compares what is known of the rows of a table with those that it should have. A row that counts nothing is as good as none.
func compareRows[R comparable](ctx context.Context, c *comparison, table string, want []R, read func(*row) R, known func(R) (R, bool)) error {
	lacking, n := map[R]int{}, 0
	for _, r := range want {
		if v, ok := known(r); ok && !countsNothing(v) {
			lacking[v]++
		}
	}
	note := func(isMore bool, r R) {
		if n++; n <= mostDifferences {
			c.found = append(c.found, Difference{table, isMore, show(r)})
		}
	}
	err := askAll(ctx, c.tx, table, func(r *row) {
		switch v, ok := known(read(r)); {
		case !ok, countsNothing(v):
		case lacking[v] > 0:
			lacking[v]--
		default:
			note(true, v)
		}
	})
	for _, r := range want {
		if v, _ := known(r); lacking[v] > 0 {
			lacking[v]--
			note(false, v)
		}
	}
	return err
}

func countsNothing(row any) bool {
	switch c := row.(type) {
	case TaskCount:
		return c.none()
	case ShareCount:
		return c.none()
	}
	return false
}

// show shows no secret of a lease.
func show(row any) string {
	if l, ok := row.(Holding); ok {
		l.Nonce, l.Request = 0, entry.ID{}
		row = l
	}
	return fmt.Sprintf("%+v", row)
}

// expectedOf are what table expected has, from the beginning of the log.
func expectedOf(all []Expected) (left []entry.Expected) {
	for _, e := range all {
		if n := max(e.Least, e.Jobs); n > 0 {
			left = append(left, entry.Expected{Share: e.Share, Shape: e.Shape, Jobs: n})
		}
	}
	return left
}

// latestAsWritten is a row of latest with its entry as it was written: jsonb has names in another order, and numbers in another way.
func (r *row) latestAsWritten() Latest {
	l := r.latest()
	if e, err := decode(l); err == nil && e != nil {
		text, _ := json.Marshal(e)
		l.Entry = string(text)
	}
	return l
}

func (c *comparison) history(ctx context.Context) error {
	got := map[dayTask]digest{}
	if err := askAll(ctx, c.tx, "history", func(r *row) { c.add(got, r.attempt()) }); err != nil {
		return err
	}
	var found []Difference
	for key, want := range c.days {
		if got[key] != want {
			found = append(found, key.differs(want, false), key.differs(got[key], true))
		}
	}
	for key, d := range got {
		if _, ok := c.days[key]; !ok {
			found = append(found, key.differs(d, true))
		}
	}
	slices.SortFunc(found, func(a, b Difference) int { return strings.Compare(a.Row, b.Row) })
	c.found = append(c.found, found[:min(len(found), mostDifferences)]...)
	return nil
}

func (k dayTask) differs(d digest, isMore bool) Difference {
	return Difference{"history", isMore, fmt.Sprintf("%d attempts of task %d in the day %d, with the sum %016x", d.n, k.task, k.dayMS/dayMS, d.hash)}
}

func (r *row) taskCount() TaskCount {
	return TaskCount{r.int64(), r.text(), r.int64(), r.int64(), r.int64(), r.int64(), r.int64(), r.int64(), r.int64(), r.int64(), r.int64()}
}

func (p Party) text() string { return fmt.Sprint(p.Nth, p.Task, p.Claims, p.Jobs) }

func (r *row) shareCount() ShareCount {
	return ShareCount{shares.ShareID(r.int32()), r.int32(), shares.QueueID(r.int32()), r.int64(), r.int64(), shares.Units(r.int64())}
}

func (r *row) endCount() EndCount {
	return EndCount{r.int64(), shares.ShareID(r.int32()), r.int32(), shares.QueueID(r.int32()), entry.Outcome(r.char()), State(r.char()), r.int64()}
}

func (r *row) usage() (u Usage) {
	u.UsageKey = UsageKey{r.int64(), r.int64(), shares.ShareID(r.int32()), shares.QueueID(r.int32()), r.text()}
	u.SlotMS, u.UnitMS, u.WastedMS, u.CPUMilli = r.int64(), r.int64(), r.int64(), r.int64()
	u.Finished, u.Failed, u.Lost, u.Cancelled, u.Returned = r.int64(), r.int64(), r.int64(), r.int64(), r.int64()
	return u
}

func (r *row) attempt() (a Attempt) {
	a.Job, a.Nonce, a.Task, a.Units = r.int64(), r.int64(), r.int64(), shares.Units(r.int64())
	a.GrantedAt, a.EndedAt, a.CPUMilli, a.Attempt = r.time(), r.time(), r.int64(), r.int32()
	a.Share, a.Shape, a.Queue = shares.ShareID(r.int32()), r.int32(), shares.QueueID(r.int32())
	a.StartDelayMS, a.ExitCode, a.MemoryMB = r.int32(), r.int32(), r.int32()
	a.Outcome, a.State = entry.Outcome(r.char()), State(r.char())
	a.Pilot, a.Node = r.text(), r.text()
	return a
}
