package dispatcher

import "errors"

// ErrNoClaim is the error for an id that no claim has, or has any more.
var ErrNoClaim = errors.New("no such claim")

// ClaimFilter selects claims; the zero one all that are not over.
type ClaimFilter struct {
	Task     int64
	State    string // released: those that are over
	Node     string
	Resource string // that it takes units of
	After    int64  // ids above this one: the cursor
	Limit    int    // 1 … 1000; 0 = 100
}
