package generator

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/divvyhq/divvy/dispatcher/entry"
	"github.com/divvyhq/divvy/dispatcher/intake"
	"github.com/divvyhq/divvy/shares"
)

// unmade corrects what the log knows of how many jobs are still to be made. Whoever submits tasks says at once what comes with them (come), so
// that no slot goes past them; what changes else is corrected here. Used under LockSettle.
type unmade struct {
	mu   sync.Mutex
	next time.Time
	seen map[unmadeKey]time.Time // since when the log has another number
}

type unmadeKey struct {
	share shares.ShareID
	shape int32
}

// come says how many jobs come with tasks that were inserted. Those of lots have shapes of their own, and are left to unmade.
func come(ctx context.Context, tx pgx.Tx, entries []taskEntry, ids []int64) error {
	more := map[unmadeKey]int64{}
	for i, e := range entries {
		if ids[i] == 0 || e.Share == nil || e.Lots != nil || e.State != "ready" && e.State != "scouting" {
			continue
		}
		n := e.Jobs
		if e.Scouts != nil {
			n = min(n, int64(*e.Scouts))
		}
		if n > 0 {
			more[unmadeKey{shares.ShareID(*e.Share), e.Shape}] += n
		}
	}
	all := make([]entry.Expected, 0, len(more))
	for key, n := range more {
		all = append(all, entry.Expected{Share: key.share, Shape: key.shape, Jobs: n, More: true})
	}
	slices.SortFunc(all, func(a, b entry.Expected) int {
		return cmp.Or(cmp.Compare(a.Share, b.Share), cmp.Compare(a.Shape, b.Shape))
	})
	return intake.Expect(ctx, tx, all...)
}

// How often it is looked at how many there are, and how long the log may have another number: it takes off by itself what was made, as soon
// as that is folded. A look takes a twentieth of the time at most.
const (
	unmadeEvery = time.Second
	unmadeLag   = 1500 * time.Millisecond
	unmadeEase  = 20
)

// say tells the log what it does not know; told: it was told something.
func (u *unmade) say(ctx context.Context, tx pgx.Tx, now time.Time) (told bool, err error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if now.Before(u.next) {
		return false, nil
	}
	rows, err := tx.Query(ctx, query["unsaid"])
	if err != nil {
		return false, err
	}
	type number struct {
		Share shares.ShareID
		Shape int32
		Jobs  int64
	}
	numbers, err := pgx.CollectRows(rows, pgx.RowToStructByName[number])
	if err != nil {
		return false, err
	}
	u.next = now.Add(max(unmadeEvery, unmadeEase*time.Since(now)))
	seen := map[unmadeKey]time.Time{}
	var all []entry.Expected
	for _, n := range numbers {
		key := unmadeKey{n.Share, n.Shape}
		since, was := u.seen[key]
		if !was {
			since = now
		}
		if now.Sub(since) >= unmadeLag {
			all = append(all, entry.Expected{Share: n.Share, Shape: n.Shape, Jobs: n.Jobs})
		} else {
			seen[key] = since
		}
	}
	u.seen = seen
	if len(all) == 0 {
		return false, nil
	}
	return true, intake.Expect(ctx, tx, all...)
}
