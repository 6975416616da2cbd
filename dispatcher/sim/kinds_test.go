package sim

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/divvyhq/divvy/dispatcher/entry"
	"github.com/divvyhq/divvy/dispatcher/ledger"
	"github.com/divvyhq/divvy/internal/ledgertest"
)

// made are the kinds of entries that histories have.
var made = []entry.Entry{
	entry.Enqueued{}, entry.Granted{}, entry.Started{}, entry.Ended{}, entry.Revoked{}, entry.Shaped{}, entry.Adopted{}, entry.Polled{}, entry.Leader{},
	entry.Wished{}, entry.Tick{}, entry.Asked{}, entry.Killed{}, entry.Moved{}, entry.Placed{}, entry.Capped{}, entry.Reported{}, entry.Owed{}, entry.Stood{},
	entry.Claimed{}, entry.Unclaimed{}, entry.Joined{}, entry.Took{}, entry.Paused{}, entry.Resumed{}, entry.Closed{}, entry.Dropped{},
}

// others are those that there are beside them.
var others = []entry.Entry{
	entry.Lasting{}, entry.Expected{}, entry.Bounded{}, entry.Heard{}, entry.Holed{},
}

// Histories have entries of each kind of which somebody says that they do.
func TestKindsOfEntries(t *testing.T) {
	t.Parallel()
	n := map[string]int{}
	w := sound()
	inner := w.Append
	w.Append = func(l *ledgertest.Memory, b entry.Batch, beside ledger.Beside) (time.Time, error) {
		for _, e := range b.Entries {
			n[fmt.Sprintf("%T", e)]++
		}
		return inner(l, b, beside)
	}
	for seed := range uint64(mostUntilFound / 2) {
		Run(Draw(seed), w, nil)
	}
	never := []string{}
	for _, e := range slices.Concat(made, others) {
		if name := fmt.Sprintf("%T", e); n[name] == 0 {
			never = append(never, name)
		}
	}
	t.Logf("%v; never %s", n, strings.Join(never, ", "))
	for _, e := range made {
		if name := fmt.Sprintf("%T", e); slices.Contains(never, name) {
			t.Errorf("no history has %s", name)
		}
	}
}
