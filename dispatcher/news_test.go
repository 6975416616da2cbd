package dispatcher

import (
	"testing"
	"time"

	"github.com/divvyhq/divvy/dispatcher/entry"
	"github.com/divvyhq/divvy/dispatcher/fold"
)

// What the log says is news, and once more when the tables have it; that time passes, and where pools stand, is none.
func TestNewsIsToldOfLogAndTables(t *testing.T) {
	told := 0
	d := &Dispatcher{cfg: Config{News: func() { told++ }}}
	d.eye.told = d.cfg.News
	seq := int64(0)
	says := func(entries ...entry.Entry) func() {
		return func() { seq++; d.eye.heard(entry.Batch{Seq: seq, Entries: entries}) }
	}
	folds := func() { background{d}.reached(fold.Position{Seq: seq, At: time.Unix(seq, 0)}) }
	for i, c := range []struct {
		do   func()
		want int
	}{
		{says(entry.Tick{}), 0}, {says(), 0}, {folds, 0},
		{says(entry.Tick{}, entry.Enqueued{Low: 1, High: 1}), 1}, {says(entry.Stood{}), 0}, {folds, 1}, {folds, 0},
		{says(entry.Stood{}, entry.Tick{}), 0}, {folds, 0},
		{says(entry.Ended{}), 1}, {folds, 1}, {folds, 0},
	} {
		told = 0
		if c.do(); told != c.want {
			t.Errorf("%d: told %d times, want %d", i, told, c.want)
		}
	}
	if at := d.brake.now().at; at == nil || at.Seq != seq {
		t.Errorf("the tables are at %v, want %d", at, seq)
	}
}
