package sim

import (
	"fmt"
	"slices"
	"strings"
	"sync"
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

// counts has the entries of histories by their kinds. It may be counted into by several at once.
type counts struct {
	mu sync.Mutex
	n  map[string]int
}

// counted has appends of a daemon counted.
func (k *counts) counted(w Wiring) Wiring {
	inner := w.Append
	w.Append = func(l *ledgertest.Memory, b entry.Batch, beside ledger.Beside) (time.Time, error) {
		k.mu.Lock()
		for _, e := range b.Entries {
			k.n[fmt.Sprintf("%T", e)]++
		}
		k.mu.Unlock()
		return inner(l, b, beside)
	}
	return w
}

// check fails the test where histories lack a kind of which somebody says that they have it.
func (k *counts) check(t *testing.T) {
	t.Helper()
	never := []string{}
	for _, e := range slices.Concat(made, others) {
		if name := fmt.Sprintf("%T", e); k.n[name] == 0 {
			never = append(never, name)
		}
	}
	t.Logf("%v; never %s", k.n, strings.Join(never, ", "))
	for _, e := range made {
		if name := fmt.Sprintf("%T", e); slices.Contains(never, name) {
			t.Errorf("no history has %s", name)
		}
	}
}
