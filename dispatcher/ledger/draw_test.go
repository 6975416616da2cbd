package ledger_test

import (
	"reflect"
	"strings"
	"time"

	"pgregory.net/rapid"

	"github.com/divvyhq/divvy/dispatcher/entry"
	"github.com/divvyhq/divvy/shares"
)

// texts are what PostgreSQL can hold: all but NUL.
func texts() *rapid.Generator[string] {
	return rapid.Map(rapid.String(), func(s string) string { return strings.ReplaceAll(s, "\x00", "\"\\") })
}

// times are what a log has: UTC, to the microsecond.
func times() *rapid.Generator[time.Time] {
	return rapid.Map(rapid.Int64Range(0, 1<<52), func(us int64) time.Time { return time.UnixMicro(us).UTC() })
}

// drawn has every field of a kind filled by reflection: one that package entry gets and a column lacks fails the property.
func drawn[E entry.Entry]() *rapid.Generator[entry.Entry] {
	g := rapid.MakeCustom[E](rapid.MakeConfig{
		Types: map[reflect.Type]*rapid.Generator[any]{
			reflect.TypeFor[entry.Outcome]():   rapid.SampledFrom([]entry.Outcome{entry.Finished, entry.Failed, entry.Lost, entry.Cancelled, entry.Returned}).AsAny(),
			reflect.TypeFor[entry.Next]():      rapid.SampledFrom([]entry.Next{entry.Over, entry.Undone, entry.Again, entry.Waits}).AsAny(),
			reflect.TypeFor[*shares.Version](): rapid.Just((*shares.Version)(nil)).AsAny(),
			reflect.TypeFor[time.Time]():       times().AsAny(),
		},
		Kinds: map[reflect.Kind]*rapid.Generator[any]{reflect.String: texts().AsAny()},
	})
	return rapid.Map(g, func(e E) entry.Entry { return e })
}

// anyEntry is made anew for each batch: a generator is not for tests that run beside each other.
func anyEntry() *rapid.Generator[entry.Entry] {
	return rapid.OneOf(drawn[entry.Granted](), drawn[entry.Granted](), drawn[entry.Ended](), drawn[entry.Started](), drawn[entry.Enqueued](),
		drawn[entry.Revoked](), drawn[entry.Killed](), drawn[entry.Adopted](), drawn[entry.Leader](), drawn[entry.Tick](),
		drawn[entry.Expected](), drawn[entry.Shaped](), drawn[entry.Bounded](), drawn[entry.Polled](), drawn[entry.Moved](),
		drawn[entry.Claimed](), drawn[entry.Unclaimed](), drawn[entry.Joined](), drawn[entry.Dropped](), drawn[entry.Took](), drawn[entry.Asked](),
		drawn[entry.Paused](), drawn[entry.Resumed](), drawn[entry.Placed](), drawn[entry.Closed](), drawn[entry.Capped](), drawn[entry.Reported](), drawn[entry.Holed](),
		drawn[entry.Owed](), drawn[entry.Stood](), drawn[entry.Lasting](),
		drawn[entry.Wished](), drawn[entry.Heard]())
}

// drawEntries draws the entries of a batch; many are like an earlier one but for their job, as in real batches.
func drawEntries(r *rapid.T) (entries []entry.Entry) {
	of := anyEntry()
	for i := range rapid.IntRange(0, 12).Draw(r, "n") {
		if i == 0 || rapid.IntRange(0, 2).Draw(r, "alike") == 0 {
			entries = append(entries, of.Draw(r, "entry"))
			continue
		}
		job := rapid.Int64().Draw(r, "job")
		switch e := entries[rapid.IntRange(0, i-1).Draw(r, "like")].(type) {
		case entry.Granted:
			e.Job = job
			entries = append(entries, e)
		case entry.Ended:
			e.Job = job
			entries = append(entries, e)
		case entry.Started:
			e.Job = job
			entries = append(entries, e)
		default:
			entries = append(entries, e)
		}
	}
	return entries
}
