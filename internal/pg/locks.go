package pg

import (
	"context"
	"maps"
	"slices"

	"github.com/jackc/pgx/v5"
)

// Classes of advisory locks: the first key of the pair, so that the ids of two classes never meet. A lock is
// a fast path; what proves ownership is an epoch in a row.
const (
	LockMigrate  int32 = 0x64760001 + iota // "dv": schema migrations
	LockSite                               // applying a site file
	LockShare                              // generating for a share; id = share id
	LockFold                               // folding the ledger into counters
	LockSettle                             // folding the ledger into tasks
	LockSample                             // writing share samples
	LockGrants                             // held shared by grants, exclusively by what must see none in flight
	LockPurge                              // dropping what is over
	LockDays                               // making the partitions of days
	LockReclaim                            // giving orders to reclaim
	LockThrottle                           // deciding what limits let tasks make
	LockAccount                            // adding what ended to the roll-ups
	LockIDs                                // taking ids of jobs: divvy_take_ids has its number
)

// lockNames are the names of the classes in metrics.
var lockNames = map[int32]string{LockMigrate: "migrate", LockSite: "site", LockShare: "share", LockFold: "fold", LockSettle: "settle",
	LockSample: "sample", LockGrants: "grants", LockPurge: "purge", LockDays: "days", LockReclaim: "reclaim", LockThrottle: "throttle",
	LockAccount: "account", LockIDs: "ids"}

// LockName is what a class is called in metrics; "other" for one that is not ours.
func LockName(class int32) string {
	if name, ok := lockNames[class]; ok {
		return name
	}
	return "other"
}

// LockNames are the names of all classes of ours, in order.
func LockNames() []string { return slices.Sorted(maps.Values(lockNames)) }

// TryLock takes the advisory lock (class, id) until the end of the transaction, or says false when somebody
// else holds it.
func TryLock(ctx context.Context, tx pgx.Tx, class, id int32) (bool, error) {
	var ok bool
	err := tx.QueryRow(ctx, "SELECT pg_try_advisory_xact_lock($1::int, $2::int)", class, id).Scan(&ok)
	return ok, Named("advisory lock", err)
}

// Lock takes the advisory lock (class, id) until the end of the transaction, and waits for it.
func Lock(ctx context.Context, tx pgx.Tx, class, id int32) error {
	_, err := tx.Exec(ctx, "SELECT pg_advisory_xact_lock($1::int, $2::int)", class, id)
	return Named("advisory lock", err)
}

// LockShared is Lock for those who may hold it together, against one who takes it with Lock.
func LockShared(ctx context.Context, tx pgx.Tx, class, id int32) error {
	_, err := tx.Exec(ctx, "SELECT pg_advisory_xact_lock_shared($1::int, $2::int)", class, id)
	return Named("shared advisory lock", err)
}
