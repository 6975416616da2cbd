package migrations

import "time"

// HurryLocks makes Up give way to others sooner.
func HurryLocks(timeout, pause time.Duration) { lockTimeout, lockPause = timeout, pause }
