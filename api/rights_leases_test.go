package api

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/divvyhq/divvy/dispatcher"
	"github.com/divvyhq/divvy/internal/access"
)

// A pilot's token that is for some queues keeps and ends leases at these only: others are lost to it, and its own do not suffer.
func TestPilotsTokenIsForItsQueues(t *testing.T) {
	b := newBench(t, withRoles)
	call := func(path, body string, reply any) {
		t.Helper()
		w := b.call("POST", path, body, "Authorization", bearer(access.Pilot))
		if err := json.Unmarshal(w.Body.Bytes(), reply); err != nil || w.Code != 200 {
			t.Fatalf("%s: %d %s %v", path, w.Code, w.Body, err)
		}
	}
	var kept dispatcher.RenewReply // leases of the fake are called like their queues
	call("/v1/leases/renew", `{"pilot":"p","leases":[{"lease":"BNL"},{"lease":"CERN"},{"lease":"unknown"}]}`, &kept)
	slices.Sort(kept.Lost)
	if r := b.dispatcher.renewed.Leases; !slices.Equal(kept.Lost, []string{"BNL", "unknown"}) || len(r) != 1 || r[0].Lease != "CERN" {
		t.Errorf("lost %v, renewed %+v", kept.Lost, r)
	}
	var ended dispatcher.FinishReply
	call("/v1/leases/finish", `{"pilot":"p","results":[{"lease":"BNL","outcome":"finished"},{"lease":"CERN","outcome":"finished"},{"lease":"unknown","outcome":"failed"}]}`, &ended)
	want := []dispatcher.Verdict{{Lease: "BNL", Verdict: dispatcher.LeaseLost}, {Lease: "CERN", Verdict: dispatcher.Recorded, JobState: "finished"}, {Lease: "unknown", Verdict: dispatcher.LeaseLost}}
	if r := b.dispatcher.ended.Results; !slices.Equal(ended.Verdicts, want) || len(r) != 1 || r[0].Lease != "CERN" {
		t.Errorf("verdicts %+v, ended %+v", ended.Verdicts, r)
	}
}
