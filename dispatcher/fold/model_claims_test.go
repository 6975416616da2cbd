package fold

import (
	"context"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/divvyhq/divvy/dispatcher/entry"
	"github.com/divvyhq/divvy/dispatcher/gate"
	"github.com/divvyhq/divvy/dispatcher/resource"
	"github.com/divvyhq/divvy/shares"
)

// modelClaims are all claims of a log, followed as the machine does: whatever is odd about them would panic.
type modelClaims struct {
	*gate.Claims
	ids  []int64 // that were made for tasks, and not unclaimed
	last int64
	now  time.Time
}

func newModelClaims() modelClaims { return modelClaims{Claims: gate.NewClaims()} }

func queueName(id shares.QueueID) string { return map[shares.QueueID]string{1: "q1", 2: "q2"}[id] }

func (m *modelClaims) apply(e entry.Entry) error {
	_, err := m.Apply(e, queueName)
	return err
}

func (m *modelClaims) tick(e entry.Tick) {
	if e.Now.After(m.now) {
		m.now = e.Now
		_ = m.apply(e)
	}
}

func (m *modelClaims) adopt(number int64) {
	v, _ := siteOf(context.Background(), number)
	if err := m.apply(entry.Adopted{Number: number, Site: &v}); err != nil {
		panic(err)
	}
}

// grant says whether the job may have its claims there.
func (m *modelClaims) grant(e entry.Granted) bool {
	_, err := m.Granted(gate.Grant{Job: e.Job, Place: resource.Place{Queue: queueName(e.Queue), Node: e.Node}, Queue: e.Queue, Share: e.Share})
	return err == nil
}

func (m *modelClaims) end(e entry.Ended) {
	if _, err := m.Ended(gate.End{Job: e.Job, Lost: e.Outcome == entry.Lost, Again: !e.Next.Final()}); err != nil {
		panic(err)
	}
}

func (m *modelClaims) drop(job int64) {
	if m.Of(job) != nil {
		if err := m.apply(entry.Dropped{Low: job, High: job}); err != nil {
			panic(err)
		}
	}
}

// claimed makes a claim: for a task, or by people, with a template or without.
func (h *history) claimed(r *rapid.T) {
	h.claims.last++
	e := entry.Claimed{Claim: h.claims.last, Task: rapid.Int64Range(0, 4).Draw(r, "task"), Key: "k", Jobs: 1000, Missing: rapid.IntRange(0, 2).Draw(r, "missing") == 0,
		Template: shares.ClaimTemplate{Name: "late", Node: rapid.Bool().Draw(r, "node"), Linger: rapid.SampledFrom([]time.Duration{0, time.Second, time.Hour}).Draw(r, "linger"),
			MaxSharers: rapid.IntRange(0, 3).Draw(r, "most"), Resources: map[string]int64{"db": 1}}}
	if e.Outside() {
		e.Jobs, e.Queue, e.Node = 0, 1, "n1"
	}
	if err := h.claims.apply(e); err == nil {
		h.add(e)
		h.claims.ids = append(h.claims.ids, e.Claim)
	}
}

func (h *history) unclaimed(r *rapid.T) {
	if len(h.claims.ids) == 0 || rapid.IntRange(0, 3).Draw(r, "really") > 0 {
		return
	}
	e := entry.Unclaimed{Claim: rapid.SampledFrom(h.claims.ids).Draw(r, "claim")}
	if h.claims.apply(e) == nil {
		h.add(e)
	}
}

// join has jobs hold claims before they are ready.
func (h *history) join(r *rapid.T, jobs entry.Enqueued) {
	if len(h.claims.ids) == 0 {
		return
	}
	e := entry.Joined{Task: jobs.Task, Low: jobs.Low, High: jobs.High, Claims: []int64{rapid.SampledFrom(h.claims.ids).Draw(r, "claim")}}
	if more := rapid.SampledFrom(h.claims.ids).Draw(r, "another"); more != e.Claims[0] {
		e.Claims = append(e.Claims, more)
	}
	if h.claims.apply(e) == nil {
		h.add(e)
	}
}

// claimsDiffer is how a start's claims differ from those of the log.
func (h *history) claimsDiffer(got *gate.Saved) string {
	want := h.claims.Save()
	if want == nil {
		want = &gate.Saved{}
	}
	return cmp.Diff(want, got, cmpopts.EquateEmpty())
}
