package machine

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/divvyhq/divvy/dispatcher/entry"
	"github.com/divvyhq/divvy/shares"
)

// stand has the leader say where pools stand: nothing changes for those who have seen everything.
func (w *world) stand(t *rapid.T) {
	before, told := w.leader.Digest(), w.leader.told()
	for _, e := range w.leader.Stood() {
		w.apply(t, throughLog(t, e))
	}
	if w.leader.Digest() != before {
		t.Fatalf("its own values change the state:\n%s", cmp.Diff(told, w.leader.told()))
	}
}

func throughLog(t *rapid.T, e entry.Stood) (read entry.Stood) {
	text, err := json.Marshal(e)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &read); err != nil {
		t.Fatal(err)
	}
	return read
}

// stoodAgain makes a machine of tables alone, or of values that were true before. It has the state of the others as soon as the leader
// says where pools stand, and decides the same from then on.
func (w *world) stoodAgain(t *rapid.T) {
	c := w.leader.Checkpoint()
	now := c.Stood
	switch c.Stood = nil; rapid.IntRange(0, 2).Draw(t, "knows") {
	case 1:
		c.Stood = strangers(t, now)
	case 2:
		c.Stood = now[:rapid.IntRange(0, len(now)).Draw(t, "pools")]
	}
	m := w.restored(t, c)
	for _, e := range now {
		if err := m.Apply(throughLog(t, e)); err != nil {
			t.Fatal(err)
		}
	}
	if m.Digest() != w.leader.Digest() {
		t.Fatalf("the state after Stood is another:\n%s", cmp.Diff(w.leader.told(), m.told()))
	}
	same := w.restored(t, w.leader.Checkpoint())
	for range rapid.IntRange(0, 5).Draw(t, "pulls") {
		p := w.drawPull(t)
		want, got := same.Decide(p), m.Decide(p)
		if diff := cmp.Diff(want.Entries, got.Entries); diff != "" || m.Digest() != same.Digest() {
			t.Fatalf("another decision for %+v:\n%s", p, diff)
		}
	}
}

// strangers are values that nobody has: other shares were granted something, and all of them missed something.
func strangers(t *rapid.T, list []entry.Stood) (others []entry.Stood) {
	for _, e := range list {
		e = throughLog(t, e)
		e.Grants += 5
		e.Shares = nil
		for _, share := range []shares.ShareID{10, 11, 21} {
			e.Shares = append(e.Shares, entry.Standing{Share: share, Lag: 1, Grant: rapid.Uint64Range(0, 5).Draw(t, "grant")})
			e.Users = append(e.Users, entry.Serving{Share: share, User: "eve", Grant: 7}, entry.Serving{Share: share, User: "ann", Grant: 8})
		}
		if e.Rest != nil {
			e.Rest.Servings += 9
			e.Rest.Holes = []entry.Hole{{Queue: 2, ProbeS: 9, Next: e.Rest.PlansAt}}
			e.Shares, e.Users, e.Grants = nil, nil, 0
		}
		others = append(others, e)
	}
	return others
}

// Values of a pool that the site does not have, and entries of a machine without a site, change nothing.
func TestStoodOfNothing(t *testing.T) {
	t.Parallel()
	m := New(Config{})
	before := m.Digest()
	for _, e := range append(m.Stood(), entry.Stood{Pool: "gone", Grants: 3}) {
		if err := m.Apply(e); err != nil {
			t.Fatal(err)
		}
	}
	if m.Digest() != before {
		t.Error("the state is another")
	}
}
