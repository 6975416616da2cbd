package dispatcher

import (
	"testing"
	"time"

	"github.com/divvyhq/divvy/dispatcher/entry"
	"github.com/divvyhq/divvy/dispatcher/lease"
	"github.com/divvyhq/divvy/dispatcher/ledger"
)

// What people read of an attempt is written with its end, once, and what no table could hold is refused before.
func TestTextsOfEnds(t *testing.T) {
	v := siteOf(20, 2)
	s := newStage(t, v)
	defer s.stop()
	s.stock(t, v, 1000)
	leases, err := s.pull(t.Context(), pullOf(1, 2), time.Second)
	if err != nil {
		t.Fatal(err)
	}
	end := lease.End{Key: lease.Key{Job: leases[0].Job, Attempt: leases[0].Attempt, Nonce: leases[0].Nonce}, Outcome: entry.Failed,
		Text: &ledger.Text{Report: []byte(`{"why": "\u0000"}`)}}
	if _, err := s.finish(t.Context(), []lease.End{end}); err == nil {
		t.Error("NUL is taken")
	}
	end.Text = &ledger.Text{Report: []byte(`{"why": "disk"}`), Log: "last words", Reason: "it failed"}
	const sleep = `DO $$ DECLARE c regclass; BEGIN
		FOR c IN SELECT inhrelid FROM pg_inherits WHERE inhparent = 'attempt_texts'::regclass LOOP EXECUTE 'DROP TABLE ' || c; END LOOP;
	END $$` // for longer than days are made ahead
	if _, err := s.db.Exec(t.Context(), sleep); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		out, err := s.finish(t.Context(), []lease.End{end})
		if err != nil || !out[0].Is {
			t.Fatalf("%+v, %v", out, err)
		}
	}
	var n int
	var job int64
	var why, log, reason string
	err = s.db.QueryRow(t.Context(), "SELECT count(*) OVER (), job_id, report ->> 'why', log, reason FROM attempt_texts").Scan(&n, &job, &why, &log, &reason)
	if err != nil || n != 1 || job != leases[0].Job || why != "disk" || log != "last words" || reason != "it failed" {
		t.Errorf("%v: %d rows, job %d, %q, %q, %q", err, n, job, why, log, reason)
	}
}
