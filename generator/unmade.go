package generator

import (
	"context"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/divvyhq/divvy/dispatcher/entry"
	"github.com/divvyhq/divvy/dispatcher/intake"
	"github.com/divvyhq/divvy/shares"
)

// unmade tells the log how many jobs are still to be made. Used under LockSettle.
type unmade struct {
	mu    sync.Mutex
	next  time.Time
	seen  map[unmadeKey]time.Time // since when the log has another number
	tells map[unmadeKey]time.Time // when it was told last
}

type unmadeKey struct {
	share shares.ShareID
	shape int32
}

// How often it is looked at how many there are, and how long the log may have another number: it takes off by itself what was made, as soon
// as that is folded. What it knows nothing of it is told at once. A look takes a twentieth of the time at most.
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
		Said  int64
	}
	numbers, err := pgx.CollectRows(rows, pgx.RowToStructByName[number])
	if err != nil {
		return false, err
	}
	u.next = now.Add(max(unmadeEvery, unmadeEase*time.Since(now)))
	seen, tells := map[unmadeKey]time.Time{}, map[unmadeKey]time.Time{}
	var all []entry.Expected
	for _, n := range numbers {
		key := unmadeKey{n.Share, n.Shape}
		since, was := u.seen[key]
		if !was {
			since = now
		}
		seen[key] = since
		at := u.tells[key]
		if n.Said == 0 && now.Sub(at) >= 2*unmadeLag || n.Said != 0 && now.Sub(since) >= unmadeLag {
			all, at = append(all, entry.Expected{Share: n.Share, Shape: n.Shape, Jobs: n.Jobs}), now
			delete(seen, key)
		}
		tells[key] = at
	}
	u.seen, u.tells = seen, tells
	if len(all) == 0 {
		return false, nil
	}
	return true, intake.Expect(ctx, tx, all...)
}
