package dispatcher

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/divvyhq/divvy/internal/pgtest"
	"github.com/divvyhq/divvy/shares"
)

// A payload's log is kept while its attempt runs and for a while after its end, once, and by its own key only.
func TestPayloadLog(t *testing.T) {
	f := newFixture(t, []shares.Spec{node("A", 1)}, slots("q", 2))
	d := f.daemon()
	f.enqueue(batch{share: "A", n: 2, attempts: 2})
	ctx := context.Background()
	log := func(job int64, attempt int) string {
		t.Helper()
		text, err := d.JobLog(ctx, job, attempt)
		if err != nil && !errors.Is(err, ErrNoAttempt) {
			t.Fatal(err)
		}
		return text
	}
	keep := func(key, text string, want error) {
		t.Helper()
		if err := d.KeepLog(ctx, key, text); !errors.Is(err, want) {
			t.Errorf("%q: %v, want %v", text, err, want)
		}
	}
	first, second := pull1(t, d, "q"), pull1(t, d, "q")

	keep(LogKey(first.Lease), "run\x00ning\xff", nil)
	keep(LogKey(first.Lease), "again", nil) // the answer to the first got lost
	if got := log(first.Job, 0); got != "run\ufffdning\ufffd" {
		t.Errorf("while it runs: %q", got)
	}
	if _, err := d.Finish(ctx, FinishRequest{Results: []Result{{Lease: first.Lease, Outcome: Failed, LogTail: "of the pilot"}}}); err != nil {
		t.Fatal(err)
	}
	if got := log(first.Job, 1); got != "run\ufffdning\ufffd\n--- pilot\nof the pilot" {
		t.Errorf("of both: %q", got)
	}
	again := pull1(t, d, "q")
	if again.Job != first.Job || again.Attempt != 2 {
		t.Fatalf("%+v", again)
	}
	if got := log(first.Job, 0); !strings.HasPrefix(got, "run") {
		t.Errorf("beside an attempt that has no log yet: %q", got)
	}

	finish(t, d, Finished, second)
	other := LogKey(again.Lease)
	for _, key := range []string{"", "short", strings.Repeat("A", logKeyLen), second.Lease, LogKey("no lease"), other[:17] + "AAAAA" + other[22:]} {
		keep(key, "not mine", ErrNoAttempt)
	}
	if got := log(second.Job, 0) + log(again.Job, 2); got != "" {
		t.Errorf("by foreign keys: %q", got)
	}
	keep(LogKey(second.Lease), strings.Repeat("x", 10)+strings.Repeat("y", MaxPayloadLog), nil)
	if got := log(second.Job, 0); got != strings.Repeat("y", MaxPayloadLog) {
		t.Errorf("late and long: %d bytes", len(got))
	}
	finish(t, d, Finished, again)
	pgtest.Age(t, f.pool, "attempts", "ended_at", lateLog)
	keep(LogKey(again.Lease), "too late", ErrNoAttempt)
	f.recount()
}

// A day of payload logs is made when the first one comes, where the step that makes days has not; it is kept as long as history is.
func TestPayloadLogsByDay(t *testing.T) {
	f := dayless(t)
	d := f.daemon()
	f.enqueue(batch{share: "A", n: 1, attempts: 1})
	f.exec("SELECT divvy_drop_days('payload_logs', (now() AT TIME ZONE 'UTC')::date + 10)")
	if days := f.days("payload_logs"); len(days) != 0 {
		t.Fatalf("days %v", days)
	}
	l := pull1(t, d, "q")
	if err := d.KeepLog(context.Background(), LogKey(l.Lease), "out"); err != nil {
		t.Fatal(err)
	}
	if days := f.days("payload_logs"); len(days) == 0 || days[0] != 0 { // those to come may be left out on a busy machine
		t.Errorf("days %v", days)
	}
	if c := (Config{KeepHistory: 400 * 24 * time.Hour, KeepSamples: time.Hour}); c.keepDays("payload_logs") != 400 {
		t.Errorf("kept for %d days", c.keepDays("payload_logs"))
	}
}

// Bringing a log plans for and locks the days of its attempt alone, however long history is kept: before the end, after it, and with
// a key of none. The days before yesterday are locked by somebody else.
func TestPayloadLogReadsItsDays(t *testing.T) {
	f := newFixture(t, []shares.Spec{node("A", 1)}, slots("q", 20))
	d := f.daemon()
	for _, table := range []string{"attempts", "payload_logs"} {
		f.exec("SELECT divvy_make_days($1::text, (now() AT TIME ZONE 'UTC')::date - 40, 40)", table)
	}
	f.enqueue(batch{share: "A", n: 16, attempts: 1})
	leases := make([]Lease, 16)
	for i := range leases {
		leases[i] = pull1(t, d, "q")
	}
	tx, err := f.pool.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tx.Rollback(context.Background()) }()
	var old string
	f.scan(&old, `SELECT string_agg(inhrelid::regclass::text, ', ') FROM pg_inherits
		WHERE inhparent IN ('attempts'::regclass, 'payload_logs'::regclass)
			AND right(inhrelid::regclass::text, 8) < to_char((now() AT TIME ZONE 'UTC')::date - 1, 'YYYYMMDD') AND inhrelid::regclass::text ~ '_[0-9]{8}$'`)
	if n := strings.Count(old, ","); n < 75 {
		t.Fatalf("%d days: %s", n, old)
	}
	if _, err := tx.Exec(t.Context(), "LOCK TABLE "+old+" IN ACCESS EXCLUSIVE MODE"); err != nil {
		t.Fatal(err)
	}
	for i, l := range leases { // often enough for a plan that is made once for all
		if i >= len(leases)/2 {
			finish(t, d, Finished, l)
		}
		if err := d.KeepLog(t.Context(), LogKey(l.Lease), "out"); err != nil {
			t.Fatalf("%d: %v", i, err)
		}
	}
	if err := d.KeepLog(t.Context(), strings.Repeat("A", logKeyLen), "out"); !errors.Is(err, ErrNoAttempt) {
		t.Errorf("a key of none: %v", err)
	}
}
