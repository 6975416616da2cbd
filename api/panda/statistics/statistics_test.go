package statistics

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/divvyhq/divvy/api/panda/wire"
	"github.com/divvyhq/divvy/dispatcher"
	"github.com/divvyhq/divvy/dispatcher/job"
	"github.com/divvyhq/divvy/generator/view"
)

// Counts are split to the last job, in proportion.
func TestSplit(t *testing.T) {
	work := []view.Work{{Share: "A", ProcessingType: "x", Ready: 1}, {Share: "A", ProcessingType: "y", Ready: 2}, {Share: "B", ProcessingType: "z", Ready: 5}, {Share: "A", ProcessingType: "none"}}
	got := split(dispatcher.Count{Share: "A", State: "ready", N: 10}, work)
	if diff := cmp.Diff(map[string]int64{"x": 3, "y": 7}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got := split(dispatcher.Count{Share: "C", State: "leased", N: 4}, work); !cmp.Equal(got, map[string]int64{"unknown": 4}) {
		t.Errorf("of nobody's: %v", got)
	}
}

// The table written as it goes is the one that a tree of maps makes.
func TestTable(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		queues := rapid.SampledFrom([][]string{{"A"}, {"B"}, {"A", "B"}, {"C", "\"\xff"}, nil})
		counts := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) dispatcher.Count {
			return dispatcher.Count{Share: rapid.SampledFrom([]string{"P", "P/x", "Q"}).Draw(t, "share"), Class: rapid.SampledFrom(job.Classes).Draw(t, "class"),
				State:  rapid.SampledFrom([]string{"waiting", "ready", "leased", "finished", "failed", "cancelled"}).Draw(t, "state"),
				Queues: queues.Draw(t, "queues"), N: rapid.Int64Range(1, 9).Draw(t, "n")}
		}), 0, 12).Draw(t, "counts")
		share := rapid.Bool().Draw(t, "share")
		want := wire.Tally{}
		for _, c := range counts {
			for _, queue := range c.Queues {
				at := want.At(queue)
				if share {
					at = at.At(c.Share)
				}
				at.At(c.Class).Add(c.N, countState(c))
				at.At(c.Class).Fill(namedStates...)
			}
		}
		text, err := json.Marshal(want)
		if got := string(table(counts, share)); err != nil || got != string(text) {
			t.Fatalf("%v: got %s, want %s", err, got, text)
		}
	})
}

// Shares are summed up where they are not told apart, and only what is at the same queues.
func TestTogether(t *testing.T) {
	both, one := []string{"A", "B"}, []string{"A"}
	got := together([]dispatcher.Count{{Share: "P", Queues: both, State: "ready", N: 1}, {Share: "Q", Queues: both, State: "ready", N: 2}, {Share: "Q", Queues: both, State: "leased", N: 4},
		{Share: "P", Queues: one, State: "ready", N: 8}, {Share: "P", State: "ready", N: 16}, {Share: "P", Queues: both, State: "ready", Label: "user", N: 32}})
	want := []dispatcher.Count{{Share: "P", Queues: both, State: "ready", N: 3}, {Share: "Q", Queues: both, State: "leased", N: 4}, {Share: "P", Queues: one, State: "ready", N: 8},
		{Share: "P", Queues: both, State: "ready", Label: "user", N: 32}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
