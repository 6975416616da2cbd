package link

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/divvyhq/divvy/dispatcher/entry"
	"github.com/divvyhq/divvy/dispatcher/job"
	"github.com/divvyhq/divvy/dispatcher/lease"
	"github.com/divvyhq/divvy/dispatcher/ledger"
	"github.com/divvyhq/divvy/dispatcher/machine"
	"github.com/divvyhq/divvy/shares"
)

// A message is the same on the other side, but for sites, and batches that need one.
func TestLetters(t *testing.T) {
	at := time.Date(2026, 1, 2, 3, 4, 5, 6000, time.UTC)
	l := machine.Lease{Granted: entry.Granted{Job: 1 << 60, Attempt: 2, Nonce: -1 << 62, Pilot: "é\x01", Request: entry.ID{1, 255}}, User: "u", Order: &machine.Order{Reason: "r", GraceS: 3}}
	batch := entry.Batch{Seq: 7, ID: entry.ID{7}, After: entry.ID{6}, At: at, By: 3, Entries: []entry.Entry{l.Granted, entry.Tick{Now: at}, entry.Ended{Job: 1, Outcome: entry.Lost, Next: entry.Again}}}
	m := lease.Message{HandOn: true, Written: true, Batches: []entry.Batch{batch},
		Asks: []lease.Ask{{Call: lease.Call{Number: 1 << 63}, Pull: &machine.Pull{Queue: 1, Slot: job.Slot{Cores: 2, Labels: map[string]string{"a": "b"}}, Only: job.Only{Task: 3}, Request: entry.ID{9}, Nonce: -5}, Wait: time.Second},
			{Finish: []lease.End{{Key: lease.Key{Job: 1}, Outcome: entry.Failed, Text: &ledger.Text{Job: 1, Reason: "r", Outputs: []byte("{}")}}}}, {Left: true}, {Seen: []int64{1}}, {Renew: []lease.Renewal{{TTL: 5, State: lease.Draining}}}},
		Answers: []lease.Answer{{Status: lease.Over}, {Leases: []machine.Lease{l}, Renewed: []lease.Renewed{{Kept: true, Order: l.Order}}, Verdicts: []lease.Recorded{{Is: true, Outcome: 'f', Next: '.'}}, Seen: []lease.Seen{{At: at, State: lease.Running}}}}}
	k := &sheets{}
	for _, compact := range []bool{false, true, true} { // the last of them by the sheets of the one before
		text, err := k.pack(4, []lease.Message{m, {}}, compact)
		if err != nil {
			t.Fatal(err)
		}
		from, got, err := unpack(text)
		if diff := cmp.Diff([]lease.Message{m, {}}, got, cmpopts.EquateEmpty()); diff != "" || from != 4 || err != nil {
			t.Errorf("%d, %v, sent (-) and received (+):\n%s", from, err, diff)
		}
		if text := got[0].Asks[1].Finish[0].Text; text.Report != nil || text.Check() != nil {
			t.Errorf("the log does not take %+v: %v", text, text.Check())
		}
		adopts := batch
		adopts.Seq, adopts.ID = 8, entry.ID{8}
		adopts.Entries = []entry.Entry{entry.Adopted{Number: 5, Site: &shares.Version{Number: 5}}}
		if text, err = k.pack(4, []lease.Message{{Batches: []entry.Batch{batch, adopts, batch}}}, compact); err != nil {
			t.Fatal(err)
		}
		if _, got, err = unpack(text); err != nil || len(got[0].Batches) != 1 {
			t.Errorf("%v: %+v", err, got)
		}
		for n := range len(text) { // never a panic
			if _, _, err := unpack(text[:n]); err == nil {
				t.Errorf("%d of %d bytes are taken", n, len(text))
			}
		}
	}
	other := append([]byte{0}, "12345678..."...)
	if _, _, err := unpack(other); !errors.Is(err, errForm) {
		t.Errorf("a message of another form: %v", err)
	}
	for _, broken := range []string{`{}`, `{"Columns":{"Kinds":"g"}}`} {
		if _, _, err := unpack([]byte(`{"Letters":[{"Sheets":[` + broken + `]}]}`)); err == nil {
			t.Errorf("a broken batch is taken: %s", broken)
		}
	}
}

// BenchmarkFollower is what a claim and its end cost on the way to a follower, in batches of 100.
func BenchmarkFollower(b *testing.B) {
	batch, names := entry.Batch{Seq: 7, ID: entry.ID{7}, By: 3}, [100]string{}
	for i := range names {
		names[i] = fmt.Sprint("pilot-", 1000+i)
	}
	for i := range int64(100) {
		batch.Entries = append(batch.Entries, entry.Granted{Job: 1e9 + i, Attempt: 1, Nonce: -1<<60 + i, Task: i / 10, Share: 4, Pilot: names[i], Node: names[i], Units: 1000, Request: entry.ID{1, byte(i)}},
			entry.Ended{Job: 1e9 + i, Attempt: 1, Outcome: entry.Finished, Next: entry.Over, CPUMilli: 123456})
	}
	k := &sheets{}
	for n := 0; n < b.N; n += 100 {
		batch.ID[1]++
		text, err := k.pack(1, []lease.Message{{Batches: []entry.Batch{batch}}}, true)
		if err == nil {
			_, _, err = unpack(text)
		}
		if err != nil {
			b.Fatal(err)
		}
	}
}
