package generator

import (
	"errors"
	"fmt"
)

// Sentinels of the package; api/problem maps each to a status.
var (
	// ErrKeyReused: the Idempotency-Key was used before with another body. (422)
	ErrKeyReused = errors.New("idempotency key used before with another body")
	// ErrSiteChanged: the task's share was removed by a site version that this daemon does not see yet. (503: again)
	ErrSiteChanged = errors.New("the site has just changed, try again")
	// ErrOffset: inputs were sent for another place than the next; see OffsetError. (409)
	ErrOffset = errors.New("wrong offset")
)

// OffsetError is an ErrOffset that names the offset to go on from.
type OffsetError struct {
	Sent int64
	Want int64 // inputs stored so far
}

func (e *OffsetError) Error() string {
	return fmt.Sprintf("offset %d does not go on from the %d inputs stored: send from offset %d", e.Sent, e.Want, e.Want)
}

// Unwrap makes errors.Is(err, ErrOffset) true.
func (e *OffsetError) Unwrap() error { return ErrOffset }
