package coming

import (
	"cmp"
	"context"
	"embed"
	"slices"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/divvyhq/divvy/dispatcher/entry"
	"github.com/divvyhq/divvy/dispatcher/intake"
	"github.com/divvyhq/divvy/internal/pg"
	"github.com/divvyhq/divvy/shares"
)

//go:embed sql/*.sql
var sqlFiles embed.FS

var query = pg.MustLoad(sqlFiles)

// Jobs are so many of a share and shape.
type Jobs struct {
	Share shares.ShareID
	Shape int32
	N     int64
}

type key struct {
	share shares.ShareID
	shape int32
}

// Say tells the log that jobs come.
func Say(ctx context.Context, tx pgx.Tx, jobs []Jobs) error {
	more := map[key]int64{}
	for _, j := range jobs {
		more[key{j.Share, j.Shape}] += j.N
	}
	all := make([]entry.Expected, 0, len(more))
	for k, n := range more {
		all = append(all, entry.Expected{Share: k.share, Shape: k.shape, Jobs: n, More: true})
	}
	slices.SortFunc(all, func(a, b entry.Expected) int {
		return cmp.Or(cmp.Compare(a.Share, b.Share), cmp.Compare(a.Shape, b.Shape))
	})
	return intake.Expect(ctx, tx, all...)
}

// Teller corrects what the log has. It is used by one at a time of all daemons.
type Teller struct {
	mu   sync.Mutex
	next time.Time
	seen map[key]time.Time // since when the log has another number
}

// How often it is looked at how many there are, and how long the log may have another number: it takes off what was made as soon as that is
// folded. A look takes a twentieth of the time at most.
const (
	every = time.Second
	lag   = 1500 * time.Millisecond
	ease  = 20
)

// Correct tells the log what it has wrong; told: it was told something.
func (t *Teller) Correct(ctx context.Context, tx pgx.Tx, now time.Time) (told bool, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if now.Before(t.next) {
		return false, nil
	}
	type number struct {
		Share shares.ShareID
		Shape int32
		Jobs  int64
	}
	numbers, err := pg.Collect[number](ctx, tx, query["unsaid"])
	if err != nil {
		return false, err
	}
	t.next = now.Add(max(every, ease*time.Since(now)))
	seen := map[key]time.Time{}
	var all []entry.Expected
	for _, n := range numbers {
		k := key{n.Share, n.Shape}
		since, was := t.seen[k]
		if !was {
			since = now
		}
		if now.Sub(since) >= lag {
			all = append(all, entry.Expected{Share: n.Share, Shape: n.Shape, Jobs: n.Jobs})
		} else {
			seen[k] = since
		}
	}
	t.seen = seen
	return len(all) > 0, intake.Expect(ctx, tx, all...)
}
