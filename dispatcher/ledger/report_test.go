package ledger_test

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"pgregory.net/rapid"

	"github.com/divvyhq/divvy/dispatcher/entry"
	"github.com/divvyhq/divvy/shares"
)

// reported is a row of report.ledger.
type reported struct {
	Seq       int64
	Entry     int32
	At        time.Time
	By        int64
	Kind      string
	Job       *int64
	Attempt   *int32
	Task      *int64
	Share     *int32
	Shape     *int32
	Place     *int64
	Queue     *int32
	Units     *int64
	Pilot     *string
	Node      *string
	Outcome   *string
	Next      *string
	ExitCode  *int32
	CPUMilli  *int64 `db:"cpu_milli"`
	MemoryMB  *int64 `db:"memory_mb"`
	HasDetail bool
}

// shown is what the view has to show of an entry.
func shown(e entry.Entry) (v reported) {
	v.HasDetail = true
	switch e := e.(type) {
	case entry.Granted:
		v = reported{Kind: "granted", Job: &e.Job, Attempt: &e.Attempt, Task: &e.Task, Share: new32(e.Share), Shape: &e.Shape, Place: &e.Place,
			Queue: new32(e.Queue), Units: (*int64)(&e.Units), Pilot: &e.Pilot, Node: &e.Node}
	case entry.Ended:
		outcome, next := string(e.Outcome), string(e.Next)
		v = reported{Kind: "ended", Job: &e.Job, Attempt: &e.Attempt, Outcome: &outcome, Next: &next, ExitCode: &e.ExitCode,
			CPUMilli: &e.CPUMilli, MemoryMB: &e.MemoryMB}
	case entry.Started:
		v = reported{Kind: "started", Job: &e.Job, Attempt: &e.Attempt}
	case entry.Lasting:
		v.Kind, v.Job, v.Attempt = "lasting", &e.Job, &e.Attempt
	case entry.Enqueued:
		v.Kind, v.Task, v.Share, v.Shape, v.Place, v.Attempt = "enqueued", &e.Task, new32(e.Share), &e.Shape, &e.Place, &e.Attempt
	case entry.Killed:
		v.Kind, v.Task = "killed", &e.Task
	case entry.Expected:
		v.Kind, v.Share, v.Shape = "expected", new32(e.Share), &e.Shape
	case entry.Shaped:
		v.Kind, v.Shape = "shaped", &e.Shape
	case entry.Moved:
		v.Kind, v.Task, v.Share, v.Place = "moved", &e.Task, new32(e.Share), &e.Place
	case entry.Paused:
		v.Kind, v.Task = "paused", &e.Task
	case entry.Resumed:
		v.Kind, v.Task = "resumed", &e.Task
	case entry.Placed:
		v.Kind, v.Task, v.Place = "placed", &e.Task, &e.Place
	case entry.Closed:
		v.Kind, v.Task = "closed", &e.Task
	case entry.Capped:
		v.Kind = "capped"
	case entry.Reported:
		v.Kind = "reported"
	case entry.Holed:
		v.Kind = "holed"
	case entry.Owed:
		v.Kind, v.Share = "owed", new32(e.Share)
	case entry.Stood:
		v.Kind = "stood"
	case entry.Bounded:
		v.Kind = "bounded"
	case entry.Polled:
		v.Kind, v.Queue = "polled", new32(e.Queue)
	case entry.Revoked:
		v.Kind, v.Job, v.Attempt = "revoked", &e.Job, &e.Attempt
	case entry.Adopted:
		v.Kind = "adopted"
	case entry.Leader:
		v.Kind = "leader"
	case entry.Tick:
		v.Kind = "tick"
	case entry.Wished:
		v.Kind = "wished"
	case entry.Heard:
		v.Kind = "heard"
	case entry.Claimed:
		v.Kind = "claimed"
		if e.Task != 0 {
			v.Task = &e.Task
		}
	case entry.Unclaimed:
		v.Kind = "unclaimed"
	case entry.Joined:
		v.Kind, v.Task = "joined", &e.Task
	case entry.Dropped:
		v.Kind = "dropped"
	case entry.Took:
		v.Kind, v.Job = "took", &e.Job
	case entry.Asked:
		v.Kind = "asked"
	}
	return v
}

func new32[T shares.ShareID | shares.QueueID](id T) *int32 {
	n := int32(id)
	return &n
}

// report.ledger has a row an entry, in their order, whatever is in a batch.
func TestReport(t *testing.T) {
	t.Parallel()
	table, db := ofTable(t, 100)
	var last entry.Batch
	rapid.Check(t, func(r *rapid.T) {
		b := after(last, 1)
		b.Entries = drawEntries(r)
		at, err := table.Append(t.Context(), b)
		if err != nil {
			r.Fatal(err)
		}
		var want []reported
		for i, e := range b.Entries {
			v := shown(e)
			v.Seq, v.Entry, v.At, v.By = b.Seq, int32(i+1), at, b.By
			want = append(want, v)
		}
		last = b
		rows, err := db.Query(t.Context(), `SELECT seq, entry, at, by, kind, job, attempt, task, share, shape, place, queue, units, pilot, node,
			outcome, next, exit_code, cpu_milli, memory_mb, detail IS NOT NULL AS has_detail FROM report.ledger WHERE seq = $1 ORDER BY entry`, b.Seq)
		if err != nil {
			r.Fatal(err)
		}
		got, err := pgx.CollectRows(rows, pgx.RowToStructByName[reported])
		for i := range got {
			got[i].At = got[i].At.UTC()
		}
		if diff := differ(want, got); diff != "" || err != nil {
			r.Fatalf("%v, appended (-) and reported (+):\n%s", err, diff)
		}
	})
}

// Bounds of seq or, by ledger_seq, of time read the partitions between them alone.
func TestReportReadsFewPartitions(t *testing.T) {
	t.Parallel()
	table, db := ofTable(t, 10) // ten partitions
	grow(t, table, entry.Batch{}, 1, 95)
	if _, err := db.Exec(t.Context(), "UPDATE batches SET at = '2001-01-01Z'::timestamptz + seq * interval '1 minute'"); err != nil {
		t.Fatal(err)
	}
	for where, want := range map[string][]string{
		"seq BETWEEN 25 AND 34": {"batches_21", "batches_31"},
		"seq >= report.ledger_seq('2001-01-01 00:25Z') AND seq < report.ledger_seq('2001-01-01 00:35Z')": {"batches_21", "batches_31"},
		"seq >= report.ledger_seq('2001-01-01 01:35Z')":                                                  {"batches_91"},
	} {
		if got := partitionsRead(t, db, where); !slices.Equal(got, want) {
			t.Errorf("%s: read %v, want %v", where, got, want)
		}
	}
	for since, want := range map[string]int64{"2000-01-01Z": 1, "2001-01-01 00:25Z": 25, "2001-01-01 00:25:01Z": 26, "2001-01-01 01:35Z": 95, "2002-01-01Z": 96} {
		var got int64
		if err := db.QueryRow(t.Context(), "SELECT report.ledger_seq($1::text::timestamptz)", since).Scan(&got); got != want || err != nil {
			t.Errorf("since %s: seq %d, %v, want %d", since, got, err, want)
		}
	}
}

// No token of a lease can be made from what the view shows.
func TestReportKeepsSecrets(t *testing.T) {
	t.Parallel()
	table, db := ofTable(t, 10)
	b := after(entry.Batch{}, 1)
	b.Entries = []entry.Entry{entry.Granted{Job: 1, Attempt: 1, Nonce: 7654321987, Request: entry.ID{0: 0xab, 15: 0xcd}}}
	if _, err := table.Append(t.Context(), b); err != nil {
		t.Fatal(err)
	}
	var text string
	if err := db.QueryRow(t.Context(), "SELECT to_jsonb(l)::text FROM report.ledger l").Scan(&text); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(text, `"granted"`) || strings.Contains(text, "7654321987") || strings.Contains(text, "ab000000-") {
		t.Errorf("the view shows %s", text)
	}
}

// partitionsRead are the partitions that were read for rows of the view.
func partitionsRead(t *testing.T, db *pgxpool.Pool, where string) (names []string) {
	t.Helper()
	rows, err := db.Query(t.Context(), fmt.Sprintf("EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF) SELECT * FROM report.ledger WHERE %s", where))
	if err != nil {
		t.Fatal(err)
	}
	lines, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range lines {
		if name := regexp.MustCompile(` on (batches_\d+)`).FindStringSubmatch(line); name != nil && !strings.Contains(line, "never executed") {
			names = append(names, name[1])
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}
